/* Entries x seeds -> runs: each entry of --strategies is read on top of the command line, at each
 * point of the options that have a list, with each seed; its checkpoint, where it goes on from one,
 * says what nobody gave. Folders and files of runs are told apart by strategy, place in the list,
 * and seed. */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "hogring/checkpoint.h"
#include "compare/compare.h"
#include "data/hold_out.h"
#include "options/choices.h"
#include "options/meaning.h"
#include "options/pairs.h"
#include "options/sweep.h"
#include "options/train_options.h"
#include "watch/watch.h"

/* All entries with one seed, in one order of events. */
struct repetition {
    size_t seed, order, first; /* the seed and the order from 0; the first of the runs */
};

/* An option for all runs has to mean something in one of them. */
static enum hr_status check_shared(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    HR_TRY(hr_meaning_check_some(cli, runs->options, runs->per_seed, sizeof *runs->options));
    return hr_timeline_check(cli);
}

/* Checkpoints of each strategy, and of each seed where there are several, go to folders of their
 * own: DIR/ssp, DIR/ssp-2 (the second ssp of the list), DIR/ssp/seed-7, DIR/ssp/seed-7-order-2. */
static enum hr_status own_folder(const struct hr_cli *cli, const struct hr_train_options *options,
                                 size_t twins, char *path, size_t size)
{
    char own[1200], twin[24] = "", seed[32] = "", order[32] = "";
    if (!path[0])
        return HR_OK;
    if (twins)
        snprintf(twin, sizeof twin, "-%zu", twins + 1);
    if (cli->seeds > 1)
        snprintf(seed, sizeof seed, "/seed-%llu", (unsigned long long)options->seed);
    if (options->event_order > 1)
        snprintf(order, sizeof order, "-order-%zu", options->event_order);
    const int length =
        snprintf(own, sizeof own, "%s/%s%s%s%s", path, options->strategy, twin, seed, order);
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
    const enum hr_status status = hr_cli_resume(own);
    if (status == HR_E_IO && !hr_checkpoint_any(options->resume))
        return hr_fail(status, "--resume %s: holds no checkpoint; --resume auto begins there",
                       options->resume);
    HR_TRY(status);
    *options = own->train;
    memcpy(cli->otherwise, own->otherwise, sizeof cli->otherwise);
    if (first) {
        memcpy(cli->data, own->data, sizeof cli->data);
        cli->data_options = own->data_options;
    }
    return HR_OK;
}

/* The runs of other orders than the first are called by it, in files too. */
static void append_order(char *name, size_t size, const char *form, size_t order)
{
    char text[40];
    const int length = snprintf(text, sizeof text, form, order + 1);
    const size_t used = strnlen(name, size - 1 - (size_t)length); /* names are cut, orders not */
    memcpy(name + used, text, (size_t)length + 1);
}

static enum hr_status set_order(struct hr_compare_runs *runs, size_t i, size_t order)
{
    runs->options[i].event_order = order + 1;
    runs->spared[i] = order > 0 && !hr_train_has_orders(&runs->options[i]);
    if (order == 0)
        return HR_OK;
    append_order(runs->name[i], sizeof runs->name[i], "-order-%zu", order);
    append_order(runs->entry[i], sizeof runs->entry[i], " order %zu", order);
    return HR_OK;
}

/* own: an entry, with a value for each option that has a list. */
static enum hr_status add_run(struct hr_cli *cli, struct hr_cli *own, struct repetition which,
                              struct hr_compare_runs *runs)
{
    bool given[HR_CLI_OPTIONS];
    struct hr_train_options *options = &runs->options[runs->n++];
    *options = own->train;
    options->seed = cli->train.seed + which.seed;
    const size_t twins = count_twins(runs, which.first, options);
    hr_watch_name(options, twins, runs->name[runs->n - 1]);
    if (cli->orders > 1)
        HR_TRY(set_order(runs, runs->n - 1, which.order));
    HR_TRY(hr_pairs_check_of(options, cli));
    HR_TRY(
        own_folder(cli, options, twins, options->checkpoint_dir, sizeof options->checkpoint_dir));
    if (!hr_choices_of(options).resumes_if_any)
        HR_TRY(own_folder(cli, options, twins, options->resume, sizeof options->resume));
    memcpy(given, own->given, sizeof given);
    memcpy(runs->given[runs->n - 1], given, sizeof given);
    HR_TRY(resume_entry(cli, own, options, runs->n == 1));
    memcpy(own->given, given, sizeof given);
    return hr_meaning_check(own, options);
}

static enum hr_status add_entry(struct hr_cli *cli, char *entry, struct repetition which,
                                struct hr_compare_runs *runs)
{
    static struct hr_cli read, own;
    char shown[sizeof runs->entry[0]], swept[256], whole[sizeof runs->text[0]];
    if (strlen(entry) >= sizeof whole)
        return hr_fail(HR_E_USAGE,
                       "--strategies: %.40s...: an entry of less than %zu characters "
                       "is expected",
                       hr_printable(entry).text, sizeof whole);
    snprintf(whole, sizeof whole, "%s", entry);
    snprintf(shown, sizeof shown, "%.63s", hr_printable(entry).text);
    HR_TRY(hr_entry_parse(cli, entry, &read));
    for (size_t k = 0; k < hr_sweep_points(cli); k++) {
        bool wanted;
        own = read;
        HR_TRY(hr_sweep_point(cli, HR_COMPARE, k, &own, &wanted, swept, sizeof swept));
        if (!wanted)
            continue;
        if (runs->n == HR_COMPARE_RUNS_MAX)
            return hr_fail(
                HR_E_USAGE,
                "more than %d runs: expected shorter lists, or fewer --seeds or --orders",
                HR_COMPARE_RUNS_MAX);
        char *name = runs->entry[runs->n];
        snprintf(name, sizeof shown, "%s", shown);
        snprintf(name + strlen(name), sizeof shown - strlen(name), "%s", swept);
        snprintf(runs->text[runs->n], sizeof whole, "%.*s%s", (int)(sizeof whole - sizeof swept),
                 whole, swept);
        HR_TRY(add_run(cli, &own, which, runs));
    }
    return HR_OK;
}

static enum hr_status add_repetition(struct hr_cli *cli, size_t seed, size_t order,
                                     struct hr_compare_runs *runs)
{
    char list[sizeof cli->strategies];
    char *rest = list, *entry;
    const struct repetition which = {seed, order, runs->n};
    memcpy(list, cli->strategies, sizeof list);
    while (rest) {
        HR_TRY(hr_entry_cut(&rest, ',', &entry));
        HR_TRY(add_entry(cli, entry, which, runs));
    }
    return HR_OK;
}

/* A checkpoint holds what defaults came to; an entry that begins anew has them open. Labels tell
 * what differs, and that does not. */
static void leave_defaults_open(struct hr_train_options *options)
{
    static const char *const settled[] = {"weight-decay", "eps", "loss", "transport"};
    static struct hr_train_options by_default;
    by_default = *options;
    by_default.lr = HR_BY_OPTIMIZER;
    for (size_t i = 0; i < sizeof settled / sizeof *settled; i++)
        hr_option_default(hr_train_option_find(settled[i]), &by_default);
    if (hr_train_complete(&by_default) != HR_OK)
        return; /* there is no such optimizer, as will be said */
    for (size_t i = 0; i < sizeof settled / sizeof *settled; i++) {
        const struct hr_option *row = hr_train_option_find(settled[i]);
        if (hr_option_equal(row, options, &by_default))
            hr_option_default(row, options);
    }
}

/* A margin is shown by the spread of differences over seeds. */
static enum hr_status check_margin(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    if (!hr_cli_was_given(cli, "margin"))
        return HR_OK;
    if (cli->seeds < 2)
        return hr_fail(HR_E_USAGE,
                       "--margin %g: is not supported with one seed; expected --seeds 2 "
                       "or more, over which differences vary",
                       cli->margin);
    if (runs->per_seed < 2)
        return hr_fail(HR_E_USAGE,
                       "--margin %g: there is nothing to compare %s with; expected "
                       "several --strategies, or an option with a list",
                       cli->margin, runs->entry[0]);
    return HR_OK;
}

/* Before runs are planned. Two seeds: orders alone would leave nothing to split. */
static enum hr_status check_orders(const struct hr_cli *cli)
{
    if (!hr_cli_was_given(cli, "orders"))
        return HR_OK;
    if (cli->orders < 2)
        return hr_fail(HR_E_USAGE,
                       "--orders %zu: one order says nothing of others; expected 2 or "
                       "more",
                       cli->orders);
    if (cli->seeds < 2)
        return hr_fail(HR_E_USAGE,
                       "--orders %zu: is not supported with one seed; expected --seeds 2 or more, "
                       "that a spread can be split into seeds and orders",
                       cli->orders);
    return HR_OK;
}

/* Orders have to mean something to an entry. */
static enum hr_status check_ordered(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    bool some = false;
    if (cli->orders < 2)
        return HR_OK;
    for (size_t i = 0; i < runs->per_seed; i++)
        some |= hr_train_has_orders(&runs->options[i]);
    return some ? HR_OK
                : hr_fail(HR_E_USAGE,
                          "--orders %zu: no entry depends on the order of events; expected an "
                          "asynchronous strategy, as ssp, with several workers",
                          cli->orders);
}

/* Each fold is a seed, too. The data are opened with the test samples of the first. */
static enum hr_status plan_folds(struct hr_cli *cli, struct hr_compare_runs *runs)
{
    static const char *const not_with[] = {"seeds", "orders", "tune", "resume"};
    struct hr_data_options *data = &cli->data_options;
    if (!hr_cli_was_given(cli, "folds"))
        return HR_OK;
    if (cli->folds < 2 || cli->folds > HR_COMPARE_RUNS_MAX)
        return hr_fail(HR_E_USAGE, "--folds %zu: expected 2 to %d", cli->folds,
                       HR_COMPARE_RUNS_MAX);
    for (size_t i = 0; i < sizeof not_with / sizeof *not_with; i++)
        if (hr_cli_was_given(cli, not_with[i]))
            return hr_fail(HR_E_USAGE, "--folds: is not supported with --%s", not_with[i]);
    cli->seeds = runs->folds = cli->folds;
    memcpy(runs->split, data->split, sizeof runs->split);
    return hr_split_with_fold(runs->split, (struct hr_cv_fold){1, cli->folds}, data->split,
                              sizeof data->split);
}

enum hr_status hr_compare_plan(struct hr_cli *cli, struct hr_compare_runs *runs)
{
    HR_TRY(plan_folds(cli, runs));
    if (cli->seeds < 1)
        return hr_fail(HR_E_USAGE, "--seeds 0: expected at least 1");
    HR_TRY(check_orders(cli));
    runs->orders = cli->orders;
    for (size_t seed = 0; seed < cli->seeds; seed++)
        for (size_t order = 0; order < cli->orders; order++)
            HR_TRY(add_repetition(cli, seed, order, runs));
    runs->per_seed = runs->n / (cli->seeds * cli->orders);
    for (size_t i = 0; i < runs->n; i++)
        leave_defaults_open(&runs->options[i]);
    HR_TRY(check_margin(cli, runs));
    HR_TRY(check_ordered(cli, runs));
    return check_shared(cli, runs);
}
