#include "options/meaning.h"

#include <stdio.h>
#include <string.h>

#include "hogring/sparse.h"
#include "base/text.h"
#include "options/choices.h"
#include "options/pairs.h"
#include "options/train_options.h"
#include "strategies/strategies.h"

#define SPARSE_MODELS "logistic, svm, linear and mf"

/* --- lists of names, as "a, b and c" --- */

struct names {
    size_t n;
    char text[400], last[64];
};

static void add(struct names *names, const char *name, size_t length)
{
    if (names->n)
        hr_append(names->text, sizeof names->text, "%s%s", names->n > 1 ? ", " : "", names->last);
    snprintf(names->last, sizeof names->last, "%.*s", (int)length, name);
    names->n++;
}

static enum hr_status refuse(const struct hr_option *row, const char *chooser, const char *choice,
                             const struct names *belongs)
{
    const bool why = row->otherwise && !strcmp(chooser, "strategy");
    return hr_fail(HR_E_USAGE, "%s: is not supported with %s (it belongs to %s%s%s%s%s)",
                   hr_option_name(row).text,
                   hr_option_said(hr_train_option_find(chooser), choice).text, belongs->text,
                   belongs->n > 1 ? " and " : "", belongs->last, why ? ": " : "",
                   why ? row->otherwise : "");
}

/* --- with other options --- */

static bool is_off(const struct hr_option *row, const struct hr_train_options *o)
{
    char text[32];
    hr_option_text(row, o, text, sizeof text);
    return !strcmp(text, "0") || !strcmp(text, "off");
}

static bool is_of_model(const struct hr_option *row, bool sparse)
{
    return row->models != (sparse ? HR_OF_NETWORKS : HR_OF_SPARSE_MODELS);
}

/* One of "sum|repro"? All of them go to `names`. */
static bool is_among(const char *value, const char *words, struct names *names)
{
    bool found = false;
    for (size_t length; *words; words += length + (words[length] == '|')) {
        length = strcspn(words, "|");
        found = found || (strlen(value) == length && !strncmp(value, words, length));
        add(names, words, length);
    }
    return found;
}

/* What it goes with, where that is an option of this model. */
static enum hr_status check_with(const struct hr_option *row, const struct hr_train_options *o,
                                 bool sparse)
{
    enum { MOST = sizeof row->with / sizeof *row->with };
    for (size_t i = 0; i < MOST && row->with[i].option; i++) {
        const struct hr_option *other = hr_train_option_find(row->with[i].option);
        struct names names = {0};
        char value[sizeof o->model];
        if (((row->of_any || row->part) && i == 0) || !is_of_model(other, sparse) ||
            (row->zero_is_off && is_off(row, o)))
            continue;
        const bool drawn = !strcmp(other->name, "clock") && hr_choices_of(o).explored;
        hr_option_text(other, o, value, sizeof value);
        if (!is_among(drawn ? "explore" : value, row->with[i].values, &names))
            return refuse(row, other->name, drawn ? o->schedule : value, &names);
    }
    return HR_OK;
}

static enum hr_status check_needs(const struct hr_option *row, const struct hr_train_options *o)
{
    char value[sizeof o->checkpoint_dir];
    if (!row->needs.option)
        return HR_OK;
    const struct hr_option *other = hr_train_option_find(row->needs.option);
    const bool own = hr_option_is_own_part(row);
    hr_option_text(other, o, value, sizeof value);
    return value[0] && strcmp(value, "0")
               ? HR_OK
               : hr_fail(HR_E_USAGE, "%s: %s give --%s%s%s too", hr_option_name(row).text,
                         row->needs.question, other->name, own ? " " : "",
                         own ? other->metavar : "");
}

/* --- with strategies --- */

static const struct hr_strategy *strategy_of(const char *name, uint64_t staleness)
{
    const struct hr_strategy *strategy = NULL;
    return hr_strategy_find(name, staleness, &strategy) == HR_OK ? strategy : NULL;
}

/* Does it mean nothing on one machine, but something on several, where each has weights? */
static bool obeys_multinode(const struct hr_strategy *strategy, const struct hr_option *row)
{
    return hr_strategy_shares_weights(strategy) && !strcmp(row->name, "sync-every");
}

/* Emulated links, which several machines refuse whatever the clock and the strategy. */
static bool is_of_links(const struct hr_option *row)
{
    return !strcmp(row->name, "link") || !strcmp(row->name, "topology");
}

/* --staleness itself may be 0, which makes ssp another strategy; what else ssp obeys, that does
 * not. */
static enum hr_status check_strategy(const struct hr_option *row, const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    const bool bound = !strcmp(row->name, "staleness");
    const uint64_t staleness = bound ? 1 : o->staleness;
    char choice[sizeof o->strategy + 16];
    struct names names = {0};
    for (size_t i = 0; (strategy = hr_strategy_at(i)) != NULL; i++) {
        char name[64];
        const bool apart = !hr_strategy_obeys(strategy, row->name);
        if (apart && !obeys_multinode(strategy, row))
            continue;
        const bool always = bound || hr_strategy_obeys(strategy_of(strategy->name, 0), row->name);
        snprintf(name, sizeof name, "%s%s", strategy->name,
                 apart    ? " on several machines"
                 : always ? ""
                          : " of --staleness 1 or more");
        add(&names, name, sizeof name);
    }
    if (!names.n || hr_strategy_obeys(strategy_of(o->strategy, staleness), row->name))
        return HR_OK;
    snprintf(choice, sizeof choice, "%s%s", o->strategy,
             obeys_multinode(strategy_of(o->strategy, staleness), row) ? " on one machine" : "");
    return refuse(row, "strategy", choice, &names);
}

static enum hr_status check_ranks(const struct hr_option *row, const struct hr_train_options *o)
{
    const struct hr_choices choice = hr_choices_of(o);
    const bool server = hr_strategy_is_served(strategy_of(o->strategy, o->staleness)) &&
                        choice.placement == HR_PLACEMENT_DEDICATED;
    const bool stages = row->or_stages && o->pipeline > 1 && choice.clock == HR_CLOCK_VIRTUAL;
    if (!row->between_ranks || o->workers != 1 || server || stages)
        return HR_OK;
    return refuse(row, "workers", "1",
                  &(struct names){1, "", "several workers: one alone sends no messages"});
}

/* --- all of it --- */

static enum hr_status check_beside(const struct hr_option *row, const struct hr_train_options *o,
                                   bool sparse)
{
    if (!is_of_model(row, sparse))
        return hr_fail(HR_E_USAGE, "%s: is not supported with --model %s%s",
                       hr_option_name(row).text, o->model,
                       sparse ? "" : " (it belongs to " SPARSE_MODELS ")");
    if (row != hr_train_option_find(row->name))
        return HR_OK; /* no option of training */
    HR_TRY(check_with(row, o, sparse));
    if (!sparse) {
        HR_TRY(check_strategy(row, o));
        HR_TRY(check_ranks(row, o));
    }
    return HR_OK;
}

static enum hr_status check_option(const struct hr_option *row, const struct hr_train_options *o,
                                   bool sparse)
{
    HR_TRY(check_beside(row, o, sparse));
    if (row != hr_train_option_find(row->name))
        return HR_OK;
    HR_TRY(check_needs(row, o));
    const struct hr_pair_run run = hr_pair_run_of(o, NULL);
    HR_TRY(hr_pairs_check_option(row->name, &run));
    return row->check ? row->check(o) : HR_OK;
}

/* --solver auto of a sparse model. */
static struct hr_train_options with_solver(const struct hr_train_options *o)
{
    struct hr_train_options chosen = *o;
    const enum hr_sparse_model model = hr_sparse_model_of(o->model);
    if (model != HR_SPARSE_NONE && !strcmp(o->solver, "auto"))
        snprintf(chosen.solver, sizeof chosen.solver, "%s", model == HR_SPARSE_MF ? "sgd" : "dual");
    return chosen;
}

bool hr_option_is_obeyed(const struct hr_option *row, const struct hr_train_options *o)
{
    const bool sparse = hr_sparse_is_model(o->model); /* they have a strategy of their own, too */
    const struct hr_train_options chosen = with_solver(o);
    return (sparse || strategy_of(o->strategy, o->staleness)) &&
           check_beside(row, &chosen, sparse) == HR_OK;
}

enum hr_status hr_meaning_check_link(const struct hr_cli *cli, const char *topology)
{
    const bool family = !strncmp(topology, "star:", 5) || !strncmp(topology, "ring:", 5);
    if (topology[0] && !family && hr_cli_was_given(cli, "link"))
        return hr_fail(HR_E_USAGE, "--link: the file %s says how fast its links are", topology);
    return HR_OK;
}

enum hr_status hr_meaning_check(const struct hr_cli *cli, const struct hr_train_options *o)
{
    const bool sparse = hr_sparse_is_model(o->model);
    const struct hr_strategy *strategy = NULL;
    const struct hr_option *row;
    const struct hr_train_options chosen = with_solver(o);
    if (!sparse)
        HR_TRY(hr_strategy_find(o->strategy, o->staleness, &strategy));
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (cli->given[i] &&
            !(strategy && cli->machines && (obeys_multinode(strategy, row) || is_of_links(row))))
            HR_TRY(check_option(row, &chosen, sparse));
    return hr_meaning_check_link(cli, o->topology);
}

enum hr_status hr_meaning_check_some(const struct hr_cli *cli, const struct hr_train_options *first,
                                     size_t n, size_t bytes)
{
    static struct hr_cli one;
    for (size_t option = 0; option < HR_CLI_OPTIONS; option++) {
        enum hr_status status = HR_E_USAGE;
        memset(one.given, 0, sizeof one.given);
        one.given[option] = cli->given[option];
        for (size_t i = 0; i < n && status != HR_OK; i++)
            status = hr_meaning_check(
                &one,
                (const struct hr_train_options *)(const void *)((const char *)first + i * bytes));
        HR_TRY(status);
    }
    return HR_OK;
}

void hr_cli_resolve_model(struct hr_cli *cli, unsigned command, const bool *given)
{
    const bool sparse = hr_sparse_is_model(cli->train.model);
    const bool gpt = !strncmp(cli->train.model, "gpt-", 4);
    struct hr_cli_option option;
    for (size_t i = 0; (option = hr_cli_option_at(i)).row != NULL; i++) {
        const struct hr_option *row = option.row;
        const char *usual = sparse ? row->sparse_usual : gpt ? row->gpt_usual : NULL;
        if ((!row->sparse_usual && !row->gpt_usual) || !hr_option_is_of(row, command) ||
            cli->given[i] || given[i])
            continue;
        hr_option_default(row, (char *)cli + option.base);
        if (usual)
            hr_option_store(row, (char *)cli + option.base, usual);
    }
    hr_task_resolve(&cli->train, &cli->data_options);
}
