/* What claims of a comparison hold at, and the command that compares fairly. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/text.h"
#include "compare/compare.h"
#include "compare/tune.h"
#include "optim/optimizer.h"
#include "options/choices.h"

struct rates {
    double lr, momentum; /* NaN: entries differ in it, or obey none */
};

static struct rates rates_of(const struct hr_train_options *options)
{
    static struct hr_train_options whole;
    struct rates rates = {NAN, NAN};
    const struct hr_rule *rule;
    whole = *options;
    if (hr_train_complete(&whole) != HR_OK || hr_rule_find(whole.optimizer, &rule) != HR_OK)
        return rates;
    rates.lr = whole.lr;
    if (rule->momentum_option && !strcmp(rule->momentum_option, "momentum") &&
        !hr_sparse_is_model(whole.model))
        rates.momentum = whole.momentum;
    return rates;
}

/* Of the runs that trained by a rate: sparse models may have a solver that needs none. */
static bool any_rate(const struct hr_compare_runs *runs, size_t good)
{
    bool any = false;
    for (size_t i = 0; i < good; i++)
        any |= isfinite(runs->results[i].lr);
    return any;
}

/* "lr 0.05, momentum 0.9", of what all entries share: rows are called by what they do not. */
static void write_at(const struct hr_compare_runs *runs, size_t good, char *at, size_t size)
{
    const struct hr_train_options *o = &runs->options[0];
    struct rates all = rates_of(o);
    for (size_t i = 1; i < runs->per_seed; i++) {
        const struct rates one = rates_of(&runs->options[i]);
        all.lr = fabs(one.lr - all.lr) > 0 ? NAN : all.lr;
        all.momentum =
            fabs(one.momentum - all.momentum) > 0 || isnan(one.momentum) ? NAN : all.momentum;
    }
    at[0] = '\0';
    if (!any_rate(runs, good))
        return;
    if (isfinite(all.lr))
        snprintf(at, size, "lr %.4g%s%s", all.lr,
                 hr_choices_of(o).async_lr == HR_ASYNC_LR_DIVIDE ? " (async-lr divide)" : "",
                 hr_choices_of(o).scale_lr != HR_SCALE_LR_NONE ? " (scale-lr)" : "");
    if (isfinite(all.momentum))
        snprintf(at + strlen(at), size - strlen(at), "%smomentum %.4g", at[0] ? ", " : "",
                 all.momentum);
    if (!at[0])
        snprintf(at, size, "the values listed");
}

/* --tune leaves a rate alone that an entry, or a list of values, has. */
static bool rates_are_free(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    const size_t lr = hr_cli_option_find("lr", HR_COMPARE);
    for (size_t a = 0; a < cli->naxes; a++)
        if (cli->axes[a].option == lr)
            return false;
    for (size_t i = 0; i < runs->per_seed; i++)
        if (runs->given[i][lr] && !cli->given[lr])
            return false;
    return true;
}

/* How many words, from this one on, are not the fair command's: side by side strategies have
 * another staleness than alone, which --tune refuses, and results of this comparison stay. */
static size_t words_left_out(const struct hr_cli *cli, size_t at)
{
    char name[64];
    const char *word = cli->words[at];
    const size_t length = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0 || length - 2 >= sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)(length - 2), word + 2);
    if (!strcmp(name, "concurrent") || !strcmp(name, "overwrite"))
        return !strcmp(name, "overwrite") || hr_choices_of(&cli->train).clock == HR_CLOCK_REAL;
    const struct hr_option *row = hr_cli_option_at(hr_cli_option_find(name, HR_COMPARE)).row;
    if (!row || !row->written)
        return 0;
    return word[length] || at + 1 == cli->nwords ? 1 : 2;
}

/* Of a comparison that said nothing of seeds: without several there is no verdict. */
static const char *more_seeds(const struct hr_cli *cli)
{
    return hr_cli_was_given(cli, "seeds") || cli->folds ? "" : " --seeds 5";
}

/* The words of the command, as a shell reads them, and what it had not. */
static void write_command(const struct hr_cli *cli, const char *added, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "hogring compare");
    for (size_t i = 0, left_out; i < cli->nwords; i++) {
        if ((left_out = words_left_out(cli, i)) > 0) {
            i += left_out - 1;
            continue;
        }
        if (used + HR_SHELL_WORD(strlen(cli->words[i])) + sizeof "  --tune --seeds 5" > size) {
            text[0] = '\0'; /* half a command is none */
            return;
        }
        text[used++] = ' ';
        used += strlen(hr_shell_word(cli->words[i], text + used));
    }
    snprintf(text + used, size - used, "%s%s", added, more_seeds(cli));
}

/* The same by what it changes: "with --tune --seeds 5, without --concurrent". */
static void write_change(const struct hr_cli *cli, const char *added, char *text, size_t size)
{
    const char *before = ", without ";
    snprintf(text, size, "with%s%s", added, more_seeds(cli));
    for (size_t i = 0, left_out; i < cli->nwords; i++) {
        if ((left_out = words_left_out(cli, i)) == 0)
            continue;
        hr_append(text, size, "%s%.*s", before, (int)strcspn(cli->words[i], "="), cli->words[i]);
        before = ", ";
        i += left_out - 1;
    }
}

/* Strategies whose weights are the same share a search. */
static size_t count_searches(const struct hr_compare_runs *runs, size_t good)
{
    size_t n = 0;
    for (size_t i = 0; i < good; i++) {
        bool first = runs->results[i].seed == runs->results[0].seed;
        for (size_t k = 0; k < i && first; k++)
            first = strcmp(runs->results[k].weights_digest, runs->results[i].weights_digest) != 0;
        n += first;
    }
    return n;
}

/* All runs as often as there will be seeds, and the trials of --tune. */
static double seconds_of(const struct hr_cli *cli, const struct hr_compare_runs *runs, size_t good,
                         bool tuned)
{
    double in_turn = 0, by_themselves = 0;
    for (size_t i = 0; i < runs->n; i++)
        in_turn += runs->remaining.seconds[i];
    for (size_t i = 0; i < good; i++)
        by_themselves += runs->results[i].wall_s;
    const double all = fmax(in_turn, by_themselves);
    const double seeds = more_seeds(cli)[0] ? 5 : 1;
    const double trainings =
        tuned ? (double)(hr_tune_trainings(cli, runs) * count_searches(runs, good)) : 0;
    return good ? all * (seeds + trainings / (double)good) : 0;
}

static const char *length_of(const struct hr_train_options *o)
{
    return o->budget[0]         ? "--budget has it"
           : o->early_stop[0]   ? "--early-stop has it"
           : o->max_seconds > 0 ? "--max-seconds has it"
                                : NULL;
}

struct hr_verdict_request hr_compare_request(const struct hr_cli *cli,
                                             const struct hr_compare_runs *runs, size_t good,
                                             bool tuned, struct hr_fair_text *text)
{
    write_at(runs, good, text->at, sizeof text->at);
    text->fair[0] = text->more[0] = '\0';
    if (!tuned && !cli->folds && rates_are_free(cli, runs) &&
        !hr_cli_was_given(cli, "resume")) /* has its values */
        write_command(cli, " --tune", text->fair, sizeof text->fair);
    if (more_seeds(cli)[0])
        write_command(cli, "", text->more, sizeof text->more);
    write_change(cli, " --tune", text->fair_change, sizeof text->fair_change);
    write_change(cli, "", text->more_change, sizeof text->more_change);
    return (struct hr_verdict_request){
        .target = hr_target_asked(&cli->train),
        .margin = cli->margin,
        .at = tuned ? "the values chosen" : text->at,
        .tuned = tuned,
        .length = length_of(&cli->train),
        .fair = {text->fair, text->fair_change, seconds_of(cli, runs, good, true)},
        .more = {text->more, text->more_change, seconds_of(cli, runs, good, false)}};
}
