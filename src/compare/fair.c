/* What claims of a comparison hold at, and the command that compares fairly. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "compare/compare.h"
#include "compare/tune.h"
#include "optim/optimizer.h"

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
                 !strcmp(o->async_lr, "divide") ? " (async-lr divide)" : "",
                 strcmp(o->scale_lr, "none") != 0 ? " (scale-lr)" : "");
    if (isfinite(all.momentum))
        snprintf(at + strlen(at), size - strlen(at), "%smomentum %.4g", at[0] ? ", " : "",
                 all.momentum);
    if (!at[0])
        snprintf(at, size, "the values listed");
}

/* --tune refuses it where strategies side by side have another staleness than alone. */
static bool is_refused_by_tune(const struct hr_cli *cli, const char *word)
{
    return !strncmp(word, "--conc", 6) && strcmp(cli->train.clock, "virtual") != 0;
}

/* The words of the command, as a shell reads them. */
static void write_command(const struct hr_cli *cli, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "hogring compare");
    for (size_t i = 0; i < cli->nwords; i++) {
        if (is_refused_by_tune(cli, cli->words[i]))
            continue;
        if (used + HR_SHELL_WORD(strlen(cli->words[i])) + sizeof "  --tune" > size) {
            text[0] = '\0'; /* half a command is none */
            return;
        }
        text[used++] = ' ';
        used += strlen(hr_shell_word(cli->words[i], text + used));
    }
    snprintf(text + used, size - used, " --tune");
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

static double fair_seconds(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                           size_t good)
{
    double in_turn = 0, by_themselves = 0;
    for (size_t i = 0; i < runs->n; i++)
        in_turn += runs->remaining.seconds[i];
    for (size_t i = 0; i < good; i++)
        by_themselves += runs->results[i].wall_s;
    const double all = fmax(in_turn, by_themselves);
    const double trainings = (double)(hr_tune_trainings(cli, runs) * count_searches(runs, good));
    return good ? all * (1 + trainings / (double)good) : 0;
}

static const char *length_of(const struct hr_train_options *o)
{
    return o->budget[0]         ? "--budget has it"
           : o->early_stop[0]   ? "--early-stop has it"
           : o->max_seconds > 0 ? "--max-seconds has it"
                                : NULL;
}

struct hr_verdict_wish hr_compare_wish(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                                       size_t good, bool tuned, struct hr_fair_text *text)
{
    write_at(runs, good, text->at, sizeof text->at);
    text->command[0] = '\0';
    if (!tuned && !hr_cli_was_given(cli, "resume")) /* what goes on has its values */
        write_command(cli, text->command, sizeof text->command);
    return (struct hr_verdict_wish){.target = hr_target_asked(&cli->train),
                                    .margin = cli->margin,
                                    .at = tuned ? "the values chosen" : text->at,
                                    .tuned = tuned,
                                    .length = length_of(&cli->train),
                                    .fair = text->command,
                                    .fair_s = fair_seconds(cli, runs, good)};
}
