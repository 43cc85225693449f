/* Runs that must be one another: small networks on the digits. */
#include <stdio.h>
#include <string.h>

#include "options/train_options.h"
#include "strategies/find.h"
#include "verify/check.h"

/* Dense layers of odd sizes, whole images, statistics of a batch, units that are dropped. */
static const char *const models[] = {
    "flatten, dense 11, relu, dense 10",
    "flatten, dense 33, gelu, dropout 0.2, dense 10",
    "conv 4 3x3 pad 1, relu, maxpool 2, flatten, dense 10",
    "conv 3 3x3, batchnorm, relu, flatten, dense 17, tanh, dense 10",
    NULL,
};
static const char *const optimizers[] = {"sgd", "sgd", "adam", "adagrad", "adamw", NULL};
static const char *const schedules[] = {"constant", "cosine", "linear", NULL};

static void draw_base(struct hr_trial *trial)
{
    struct hr_train_options *base = &trial->base;
    hr_train_defaults(base);
    HR_SAY(base->model, "%s", hr_trial_pick(trial, models));
    HR_SAY(base->optimizer, "%s", hr_trial_pick(trial, optimizers));
    HR_SAY(base->lr_schedule, "%s", hr_trial_pick(trial, schedules));
    base->lr = strcmp(base->optimizer, "sgd") ? 0.003 : 0.05;
    base->seed = 1 + hr_trial_draw(trial, 1 << 30);
    base->batch_size = 3 + hr_trial_draw(trial, 14);
    base->epoch_size = 130 + hr_trial_draw(trial, 90); /* the last batch of an epoch is smaller */
    base->epochs = 2;
    base->backups = 0;
    base->stall_warn = 0;
    base->timeout = 60;
}

struct hr_train_options hr_trial_options(struct hr_trial *trial, const char *strategy,
                                         size_t workers)
{
    if (!trial->base.epochs)
        draw_base(trial);
    struct hr_train_options options = trial->base;
    HR_SAY(options.strategy, "%s", strategy);
    options.workers = workers;
    return options;
}

/* Options in which a run differs from another, as they would be typed. */
static void write_differences(char *text, size_t size, const struct hr_train_options *options,
                              const struct hr_train_options *other)
{
    const struct hr_option *row;
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; (row = hr_train_option_at(i)) && used < size; i++) {
        char value[256];
        if (hr_option_equal(row, options, other))
            continue;
        hr_option_text(row, options, value, sizeof value);
        const char *quote = strchr(value, ' ') ? "'" : "";
        used += (size_t)snprintf(text + used, size - used, "%s--%s %s%s%s", used ? " " : "",
                                 row->name, quote, value, quote);
    }
}

static bool is_of(const struct hr_strategy *strategy, enum hr_trial_of of)
{
    const struct hr_rows *rows = &strategy->rows;
    switch (of) {
    case HR_TRIAL_IN_STEP:
        return strategy->synchronous;
    case HR_TRIAL_TOGETHER:
        return strategy->shares_batch;
    case HR_TRIAL_ORDERED:
        return !strategy->synchronous;
    default:
        return !rows->more && !rows->since;
    }
}

const char *hr_trial_strategy(enum hr_trial_of of, size_t i)
{
    const struct hr_strategy *strategy;
    for (size_t at = 0; (strategy = hr_strategy_at(at)); at++)
        if (is_of(strategy, of) && i-- == 0)
            return strategy->name;
    return NULL;
}

const char *hr_trial_pick_strategy(struct hr_trial *trial, enum hr_trial_of of)
{
    size_t n = 0;
    while (hr_trial_strategy(of, n))
        n++;
    return hr_trial_strategy(of, hr_trial_draw(trial, n));
}

static const struct hr_strategy *table_of(const char *strategy)
{
    const struct hr_strategy *table = NULL;
    return hr_strategy_find(strategy, 1, &table) == HR_OK ? table : NULL;
}

bool hr_trial_served(const char *strategy)
{
    const struct hr_strategy *table = table_of(strategy);
    return table && hr_strategy_is_served(table) && !table->one_shard;
}

bool hr_trial_obeys(const char *strategy, const char *option)
{
    const struct hr_strategy *table = table_of(strategy);
    return table && hr_strategy_obeys(table, option);
}

enum hr_status hr_trial_same_digest(struct hr_trial *trial, const struct hr_train_options *options,
                                    const char *how, const char *digest)
{
    char mine[220], theirs[220];
    trial->compared++;
    if (!trial->want[0]) {
        HR_SAY(trial->want, "%s", digest);
        trial->first = *options;
        return HR_OK;
    }
    if (!strcmp(trial->want, digest))
        return HR_OK;
    write_differences(mine, sizeof mine, options, &trial->first);
    write_differences(theirs, sizeof theirs, &trial->first, options);
    return hr_fail(HR_E_FAILED, "%s%s%s gives %.8s, and %s %.8s (%s, %zu workers)", mine,
                   how[0] && mine[0] ? " " : "", how, digest, theirs[0] ? theirs : "before",
                   trial->want, options->strategy, options->workers);
}

enum hr_status hr_trial_same(struct hr_trial *trial, const struct hr_train_options *options)
{
    struct hr_run_result result;
    char why[300], mine[160];
    const enum hr_status status = hr_train(options, trial->dataset, NULL, &result);
    if (status != HR_OK) {
        snprintf(why, sizeof why, "%s", hr_error_message());
        write_differences(mine, sizeof mine, options, &trial->base);
        return hr_fail(status, "%s%s%s", mine, mine[0] ? ": " : "", why);
    }
    const enum hr_status same = hr_trial_same_digest(trial, options, "", result.weights_digest);
    hr_run_result_free(&result);
    return same;
}

void hr_trial_anew(struct hr_trial *trial)
{
    trial->want[0] = 0;
}
