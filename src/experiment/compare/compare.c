/* What could only fail after hours is refused before the first run; then they run. */
#include "compare/compare.h"

#include "checkpoint/claim.h"
#include "hogring/checkpoint.h"
#include "train/needs.h"
#include "watch/watch.h"

/* Runs side by side take what they take at the same time. */
static enum hr_status check_together(const struct hr_compare_runs *runs,
                                     const struct hr_dataset *dataset)
{
    struct hr_needs all = {0};
    for (size_t i = 0; i < runs->per_seed; i++) {
        struct hr_needs one = {0};
        HR_TRY(hr_train_needs(&runs->options[i], dataset, &one));
        hr_needs_join(&all, &one);
    }
    return hr_needs_check(&all, "--concurrent: the runs of a seed together need",
                          "without --concurrent they would fit");
}

enum hr_status hr_compare_admit(const void *arg, struct hr_shape shape)
{
    const struct hr_compare_runs *runs = arg;
    for (size_t i = 0; i < runs->per_seed; i++)
        HR_TRY(hr_train_admit(&(struct hr_train_plan){&runs->options[i], NULL}, shape));
    return HR_OK;
}

/* What could only fail after the runs before it. */
static enum hr_status check_folder(const struct hr_train_options *options)
{
    const struct hr_claimant claimant = {options->checkpoint_dir, NULL, options->overwrite};
    if (!options->checkpoint_dir[0])
        return HR_OK;
    if (!options->resume[0])
        HR_TRY(hr_claim_check(&claimant));
    return hr_checkpoint_prepare(options->checkpoint_dir, 0);
}

static enum hr_status check_outputs(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct hr_metrics_wish wish =
            hr_watch_wish(cli, &runs->options[i], NULL, runs->name[i]);
        HR_TRY(check_folder(&runs->options[i]));
        HR_TRY(hr_metrics_check(&wish));
    }
    return HR_OK;
}

enum hr_status hr_compare_check(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                                const struct hr_dataset *dataset)
{
    for (size_t i = 0; i < runs->n; i++)
        HR_TRY(hr_train_check(&runs->options[i], dataset));
    if (cli->concurrent)
        HR_TRY(check_together(runs, dataset));
    return check_outputs(cli, runs);
}

enum hr_status hr_compare_run(const struct hr_cli *cli, const struct hr_dataset *dataset,
                              struct hr_compare_runs *runs)
{
    hr_compare_runs_begin(runs, cli->concurrent);
    return cli->concurrent ? hr_compare_side_by_side(cli, dataset, runs)
                           : hr_compare_in_turn(cli, dataset, runs);
}
