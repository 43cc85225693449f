/* hogring compare - the main job: the same training under several strategies, side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "checkpoint/claim.h"
#include "checkpoint/safetensors.h"
#include "options/meaning.h"
#include "options/metric.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/compare_runs.h"
#include "cli/hints.h"
#include "options/entries.h"
#include "options/sweep.h"
#include "cli/outcome.h"
#include "cli/resume.h"
#include "base/signals.h"
#include "cli/watch.h"
#include "hogring/checkpoint.h"
#include "report/report.h"
#include "train/needs.h"

/* --- which runs --- */

/* An option for all runs has to mean something in one of them. */
static enum hr_status check_shared(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    static struct hr_cli one;
    for (size_t option = 0; option < HR_CLI_OPTIONS; option++) {
        enum hr_status status = HR_E_USAGE;
        memset(one.given, 0, sizeof one.given);
        one.given[option] = cli->given[option];
        for (size_t i = 0; i < runs->per_seed && status != HR_OK; i++)
            status = hr_meaning_check(&one, &runs->options[i]);
        HR_TRY(status);
    }
    for (size_t i = 0; i < runs->per_seed; i++)
        HR_TRY(hr_timeline_check(cli, &runs->options[i]));
    return HR_OK;
}

/* Checkpoints of each strategy, and of each seed where there are several, go to folders of their
 * own: DIR/ssp, DIR/ssp-2 (the second ssp of the list), DIR/ssp/seed-7. */
static enum hr_status own_folder(const struct hr_cli *cli, const struct hr_train_options *options,
                                 size_t twins, char *path, size_t size)
{
    char own[1200], twin[24] = "", seed[32] = "";
    if (!path[0])
        return HR_OK;
    if (twins)
        snprintf(twin, sizeof twin, "-%zu", twins + 1);
    if (cli->seeds > 1)
        snprintf(seed, sizeof seed, "/seed-%llu", (unsigned long long)options->seed);
    const int length = snprintf(own, sizeof own, "%s/%s%s%s", path, options->strategy, twin, seed);
    if ((size_t)length >= size)
        return hr_fail(HR_E_USAGE, "%s: too long for a folder's name", path);
    memcpy(path, own, (size_t)length + 1);
    return HR_OK;
}

/* How many earlier runs of this seed have this strategy too. */
static size_t count_twins(const struct hr_compare_runs *runs, size_t first,
                          const struct hr_train_options *options)
{
    size_t twins = 0;
    for (size_t i = first; &runs->options[i] != options; i++)
        twins += !strcmp(runs->options[i].strategy, options->strategy);
    return twins;
}

/* What neither the entry nor the command line gives comes from the entry's own checkpoint; data
 * from the first one's, since there is one for all. */
static enum hr_status resume_entry(struct hr_cli *cli, struct hr_cli *own,
                                   struct hr_train_options *options, bool first)
{
    if (!options->resume[0])
        return HR_OK;
    own->train = *options;
    memcpy(own->otherwise, cli->otherwise, sizeof own->otherwise);
    for (size_t i = 0; i < HR_CLI_OPTIONS; i++)
        own->given[i] |= cli->given[i];
    HR_TRY(hr_cli_set(own, HR_TRAIN, "strategy", options->strategy, ""));
    if (cli->seeds > 1) /* the folder's name says which */
        hr_cli_mark_given(own, "seed");
    HR_TRY(hr_cli_resume(own));
    *options = own->train;
    memcpy(cli->otherwise, own->otherwise, sizeof cli->otherwise);
    if (first) {
        memcpy(cli->data, own->data, sizeof cli->data);
        cli->data_options = own->data_options;
    }
    return HR_OK;
}

/* own: an entry, with a value for each option that has a list. */
static enum hr_status add_run(struct hr_cli *cli, struct hr_cli *own, size_t seed, size_t first,
                              struct hr_compare_runs *runs)
{
    bool given[HR_CLI_OPTIONS];
    struct hr_train_options *options = &runs->options[runs->n++];
    *options = own->train;
    options->seed = cli->train.seed + seed;
    const size_t twins = count_twins(runs, first, options);
    hr_watch_name(options, twins, runs->name[runs->n - 1]);
    HR_TRY(
        own_folder(cli, options, twins, options->checkpoint_dir, sizeof options->checkpoint_dir));
    if (strcmp(options->resume, "auto") != 0)
        HR_TRY(own_folder(cli, options, twins, options->resume, sizeof options->resume));
    memcpy(given, own->given, sizeof given);
    HR_TRY(resume_entry(cli, own, options, runs->n == 1));
    memcpy(own->given, given, sizeof given);
    return hr_meaning_check(own, options);
}

static enum hr_status add_entry(struct hr_cli *cli, char *entry, size_t seed, size_t first,
                                struct hr_compare_runs *runs)
{
    static struct hr_cli read, own;
    char shown[sizeof runs->entry[0]], swept[sizeof runs->entry[0]];
    snprintf(shown, sizeof shown, "%.63s", hr_printable(entry).text);
    HR_TRY(hr_entry_parse(cli, entry, &read));
    for (size_t k = 0; k < hr_sweep_points(cli); k++) {
        bool wanted;
        own = read;
        HR_TRY(hr_sweep_point(cli, HR_COMPARE, k, &own, &wanted, swept, sizeof swept));
        if (!wanted)
            continue;
        if (runs->n == HR_COMPARE_RUNS_MAX)
            return hr_fail(HR_E_USAGE,
                           "more than %d runs: expected shorter lists, or fewer --seeds",
                           HR_COMPARE_RUNS_MAX);
        char *name = runs->entry[runs->n];
        snprintf(name, sizeof shown, "%s", shown);
        snprintf(name + strlen(name), sizeof shown - strlen(name), "%s", swept);
        HR_TRY(add_run(cli, &own, seed, first, runs));
    }
    return HR_OK;
}

static enum hr_status add_runs_of_seed(struct hr_cli *cli, size_t seed,
                                       struct hr_compare_runs *runs)
{
    char list[sizeof cli->strategies];
    char *rest = list, *entry;
    const size_t first = runs->n;
    memcpy(list, cli->strategies, sizeof list);
    while (rest) {
        HR_TRY(hr_entry_cut(&rest, ',', &entry));
        HR_TRY(add_entry(cli, entry, seed, first, runs));
    }
    return HR_OK;
}

/* A checkpoint holds what the optimizer's defaults came to; an entry that begins anew has them
 * open. Labels tell what differs, and that does not. */
static void leave_defaults_open(struct hr_train_options *options)
{
    static struct hr_train_options by_optimizer;
    double *const mine[] = {&options->weight_decay, &options->eps};
    const double *const defaults[] = {&by_optimizer.weight_decay, &by_optimizer.eps};
    by_optimizer = *options;
    by_optimizer.lr = by_optimizer.weight_decay = by_optimizer.eps = HR_BY_OPTIMIZER;
    if (hr_train_complete(&by_optimizer) != HR_OK)
        return; /* there is no such optimizer, as will be said */
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
        if (!memcmp(mine[i], defaults[i], sizeof *mine[i]))
            *mine[i] = HR_BY_OPTIMIZER;
}

static enum hr_status plan_runs(struct hr_cli *cli, struct hr_compare_runs *runs)
{
    if (cli->seeds < 1)
        return hr_fail(HR_E_USAGE, "--seeds 0: expected at least 1");
    for (size_t seed = 0; seed < cli->seeds; seed++)
        HR_TRY(add_runs_of_seed(cli, seed, runs));
    runs->per_seed = runs->n / cli->seeds;
    for (size_t i = 0; i < runs->n; i++)
        leave_defaults_open(&runs->options[i]);
    return check_shared(cli, runs);
}

/* --- running them one after another --- */

static enum hr_status run_in_turn(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                  struct hr_compare_runs *runs)
{
    struct hr_timeline_watch lines = {.cli = cli};
    for (size_t i = 0; i < runs->n && !hr_signals_seen(NULL); i++) {
        struct hr_watch watch;
        const struct hr_train_options *options = &runs->options[i];
        const struct hr_progress_subject subject = hr_compare_runs_subject(runs, i);
        const struct hr_metrics_wish wish = hr_watch_wish(cli, options, dataset, runs->name[i]);
        struct hr_observer observer =
            hr_watch_begin(&watch, options, cli->data, &subject, cli->quiet);
        const int64_t began = hr_clock_ns();
        watch.banner = !cli->quiet && i < runs->per_seed; /* other seeds differ by that alone */
        watch.share = &runs->share;
        hr_watch_timeline(&watch, &lines, &observer);
        hr_watch_write(&watch, &wish, &observer);
        const enum hr_status status = hr_train(options, dataset, &observer, &runs->results[i]);
        runs->remaining.seconds[i] = status == HR_OK ? hr_seconds(hr_clock_ns() - began) : 0;
        hr_watch_end(&watch, status == HR_OK ? &runs->results[i] : NULL);
        hr_compare_runs_note(runs, i, status, hr_error_message());
        runs->unwritten |=
            hr_watch_close(&watch, status == HR_OK ? &runs->results[i] : NULL, status) != status;
    }
    return hr_timeline_end(&lines, HR_OK);
}

/* --- results --- */

/* What tells the run from those of other entries. */
static void name_setting(struct hr_compare_runs *runs, size_t i)
{
    const size_t entry = i % runs->per_seed;
    struct hr_run_result *result = &runs->results[i];
    hr_entry_setting(runs->options + i - entry, runs->per_seed, entry, result->setting,
                     sizeof result->setting);
}

/* The runs that ended well, next to one another; the others are named on stderr. */
static enum hr_status sort_out(struct hr_compare_runs *runs, size_t *good)
{
    enum hr_status first = HR_OK;
    *good = 0;
    for (size_t i = 0; i < runs->n; i++) {
        if (!runs->ran[i])
            continue;
        if (runs->status[i] == HR_OK) {
            name_setting(runs, i);
            const struct hr_run_result result = runs->results[i];
            runs->results[i] = runs->results[*good];
            runs->results[(*good)++] = result;
            continue;
        }
        hr_log(HR_LOG_ERROR, "%s, seed %llu: %s", runs->entry[i],
               (unsigned long long)runs->options[i].seed, runs->message[i]);
        runs->failed[runs->nfailed++] =
            (struct hr_failed_run){.label = runs->entry[i],
                                   .strategy = runs->options[i].strategy,
                                   .message = runs->message[i],
                                   .seed = runs->options[i].seed};
        first = first ? first : runs->status[i];
    }
    return first;
}

static enum hr_status write_outcome(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                    const struct hr_compare_runs *runs, size_t good)
{
    json_t *lists = hr_sweep_json(cli, HR_COMPARE);
    const enum hr_status status = hr_outcome_write(cli, dataset,
                                                   &(struct hr_endings){.runs = runs->results,
                                                                        .n = good,
                                                                        .failed = runs->failed,
                                                                        .nfailed = runs->nfailed,
                                                                        .lists = lists});
    json_decref(lists);
    return status;
}

static enum hr_status report(const struct hr_cli *cli, const struct hr_dataset *dataset,
                             struct hr_compare_runs *runs)
{
    FILE *out = hr_outcome_stream(cli);
    size_t good;
    const enum hr_status failed = sort_out(runs, &good);
    if (good) {
        hr_table_print(out, runs->results, good, hr_target_asked(&cli->train), hr_output_width());
        hr_verdict_print(out, runs->results, good, hr_target_asked(&cli->train));
    }
    HR_TRY(write_outcome(cli, dataset, runs, good));
    if (cli->plot[0] && good)
        fprintf(out, "\npicture: %s\n", cli->plot);
    if (failed)
        return hr_fail(failed, "not every run ended well: see above");
    if (runs->unwritten)
        return hr_fail(HR_E_IO, "not all of --log or --tensorboard is written: see above");
    if (hr_signals_seen(NULL))
        return hr_fail(HR_E_INTERRUPTED, "interrupted: the table shows what was finished");
    return hr_outcome_expect(cli, runs->results, good);
}

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

/* May samples of this shape be read? */
static enum hr_status admit(const void *arg, struct hr_shape shape)
{
    const struct hr_compare_runs *runs = arg;
    for (size_t i = 0; i < runs->per_seed; i++)
        HR_TRY(hr_train_admit(&runs->options[i], shape));
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

static enum hr_status compare(struct hr_cli *cli, struct hr_dataset *dataset,
                              struct hr_compare_runs *runs)
{
    HR_TRY(plan_runs(cli, runs));
    HR_TRY(hr_train_complete(&cli->train)); /* what the settings of each strategy stand upon */
    cli->data_options.admit = admit;
    cli->data_options.admit_arg = runs;
    HR_TRY(hr_dataset_open_with(cli->data, &cli->data_options, dataset));
    HR_TRY(hr_outcome_check_task(cli, dataset));
    for (size_t i = 0; i < runs->n; i++) /* before the first is trained */
        HR_TRY(hr_train_check(&runs->options[i], dataset));
    if (cli->concurrent)
        HR_TRY(check_together(runs, dataset));
    HR_TRY(check_outputs(cli, runs));
    hr_hints_print(cli, dataset);
    HR_TRY(hr_watch_forget(cli, &runs->options[0]));
    hr_compare_runs_begin(runs, cli->concurrent);
    HR_TRY(cli->concurrent ? hr_compare_runs_side_by_side(cli, dataset, runs)
                           : run_in_turn(cli, dataset, runs));
    return report(cli, dataset, runs);
}

static int run(struct hr_cli *cli)
{
    struct hr_dataset dataset = {0};
    struct hr_compare_runs *runs = calloc(1, sizeof *runs);
    const enum hr_status status = runs ? compare(cli, &dataset, runs)
                                       : hr_fail(HR_E_NOMEM, "no memory to compare anything in");
    for (size_t i = 0; runs && i < runs->n; i++)
        hr_run_result_free(&runs->results[i]);
    if (runs)
        hr_banner_share_free(&runs->share);
    free(runs);
    hr_dataset_close(&dataset);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_compare = {
    .name = "compare",
    .summary = "train under several strategies and show them side by side",
    .bit = HR_COMPARE,
    .usage = "[OPTIONS]",
    .story = "Every strategy gets the same model, data, initial weights and order of samples, and "
             "is evaluated at\n"
             "the same places. Synchronous ones make one update a step with the mean gradient of "
             "the global batch;\n"
             "asynchronous ones make one update a worker's minibatch, at the same --lr (--async-lr "
             "divide: at lr /\n"
             "workers). They run one after another, so that timings are fair, or all at once "
             "(--concurrent).\n"
             "An entry of --strategies has any settings of its own but those that all share: data, "
             "seed, clock,\n"
             "--target-accuracy, and where results go. Values that have commas or colons stand in "
             "quotes or parentheses.\n"
             "An option that is given several values, as --lr 0.01,0.02, makes a row of each.\n",
    .examples = "  hogring compare\n"
                "  hogring compare --data fashion-mnist --batch-size 64 --lr 0.02 \\\n"
                "    --epochs 5 --seeds 3 --plot mlp.svg\n"
                "  hogring compare --strategies allreduce,ssp:staleness=1,ssp:staleness=8\n"
                "  hogring compare --strategies 'ssp,ssp:inject=\"slow:0x4\":lr=0.01'\n"
                "  hogring compare --strategies ssp --staleness 1,8 --workers 2,4\n"
                "  hogring compare --concurrent --json results.json\n",
    .run = run,
};
