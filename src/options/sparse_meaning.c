/* Sparse models: which options they have, and what those are when nobody says it. */
#include <string.h>

#include "hogring/sparse.h"
#include "options/meaning.h"

/* What costs a sparse step its time is the memory that workers share, and of that the simulated
 * network knows nothing: any number of workers would come out as so many times as fast. */
static enum hr_status check_clock(const struct hr_train_options *o)
{
    if (strcmp(o->clock, "virtual") != 0)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--clock virtual: means nothing with --model %s: its steps wait for the memory "
                   "that workers share, and virtual time is of gradients and messages alone",
                   o->model);
}

static enum hr_status check_given(const struct hr_cli *cli, const struct hr_train_options *o)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (cli->given[i] && row->models == HR_OF_NETWORKS)
            return hr_fail(HR_E_USAGE, "--%s: means nothing with --model %s", row->name, o->model);
    return HR_OK;
}

static enum hr_status check_meaning(const struct hr_cli *cli, const struct hr_train_options *o)
{
    static const char *const rates[] = {"lr", "lr-gamma", "lr-schedule", "warmup-epochs",
                                        "lr-step-epochs"};
    const bool mf = !strcmp(o->model, "mf"), dual = strcmp(o->solver, "sgd") && !mf;
    if (hr_cli_was_given(cli, "hot-copies") &&
        (mf || dual || o->workers < 2 || !strcmp(o->strategy, "locked")))
        return hr_fail(HR_E_USAGE,
                       "--hot-copies: means nothing here (it belongs to --model logistic "
                       "or svm, --solver sgd, --strategy hogwild, several workers)");
    if (hr_cli_was_given(cli, "lr-schedule") && strcmp(o->lr_schedule, "step") != 0 &&
        (hr_cli_was_given(cli, "lr-gamma") || hr_cli_was_given(cli, "lr-step-epochs")))
        return hr_fail(HR_E_USAGE, "--%s: means nothing with --lr-schedule %s (it belongs to step)",
                       hr_cli_was_given(cli, "lr-gamma") ? "lr-gamma" : "lr-step-epochs",
                       o->lr_schedule);
    for (size_t i = 0; dual && i < sizeof rates / sizeof *rates; i++)
        if (hr_cli_was_given(cli, rates[i]))
            return hr_fail(HR_E_USAGE, "--%s: means nothing with --solver dual (it belongs to sgd)",
                           rates[i]);
    if (hr_cli_was_given(cli, "factors") && !mf)
        return hr_fail(HR_E_USAGE, "--factors: means nothing with --model %s (it belongs to mf)",
                       o->model);
    if (mf &&
        (hr_cli_was_given(cli, "expect-accuracy") || hr_cli_was_given(cli, "target-accuracy")))
        return hr_fail(HR_E_USAGE, "--model mf: has no accuracy to expect, it predicts numbers");
    return HR_OK;
}

enum hr_status hr_sparse_meaning_check(const struct hr_cli *cli, const struct hr_train_options *o)
{
    HR_TRY(check_given(cli, o));
    HR_TRY(check_clock(o));
    return check_meaning(cli, o);
}

void hr_cli_settle_model(struct hr_cli *cli, unsigned command, const bool *given)
{
    const bool sparse = hr_sparse_is_model(cli->train.model);
    struct hr_cli_option option;
    for (size_t i = 0; (option = hr_cli_option_at(i)).row != NULL; i++) {
        const struct hr_option *row = option.row;
        if (row->sparse_usual && hr_option_is_of(row, command) && !cli->given[i] && !given[i])
            hr_option_store(row, (char *)cli + option.base,
                            sparse ? row->sparse_usual : row->usual);
    }
}
