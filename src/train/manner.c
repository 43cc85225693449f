/* What the strategy is to do exactly: its own options, checked and handed over. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "train/recipe.h"
#include "train/run.h"

/* One of two words: is it the second? */
static enum hr_status read_choice(const char *flag, const char *value, const char *const words[2],
                                  bool *second)
{
    *second = !strcmp(value, words[1]);
    if (*second || !strcmp(value, words[0]))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s %s: expected %s or %s", flag, value, words[0], words[1]);
}

/* Who is dropped is decided by whoever takes gradients in: two servers might differ. */
static enum hr_status check_backups(const struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    if (!shared->strategy->drops)
        return HR_OK;
    if (shared->options.backups >= shared->workers)
        return hr_fail(HR_E_USAGE, "--backups %zu: expected fewer than the %zu worker%s",
                       shared->options.backups, shared->workers, shared->workers == 1 ? "" : "s");
    if (shared->servers != 1)
        return hr_fail(HR_E_USAGE,
                       "--servers %zu: %s has one server, which decides whose gradients are too "
                       "late; expected --servers 1",
                       shared->servers, shared->strategy->name);
    return HR_OK;
}

/* In floats, whole lines. */
static enum hr_status read_block(const char *text, size_t *floats)
{
    uint64_t bytes;
    if (!hr_parse_size(text, &bytes) || bytes < 4096 || bytes > 65536)
        return hr_fail(HR_E_USAGE, "--record-block %s: expected 4K to 64K", text);
    *floats = bytes / HR_LINE * (HR_LINE / sizeof(float));
    return HR_OK;
}

enum hr_status hr_manner_prepare(struct hr_run *run)
{
    static const char *const rates[] = {"none", "inverse"};
    const struct hr_train_options *o = run->options;
    struct hr_strategy_options *options = &run->shared.options;
    *options = (struct hr_strategy_options){
        .staleness = o->staleness,
        .sync_every = o->sync_every,
        .adaptive_sync = o->adaptive_sync,
        .moving_rate = o->moving_rate > 0 ? o->moving_rate : 0.9 / (double)run->shared.workers,
        .backups = o->backups,
        .delay_compensation = o->delay_compensation,
    };
    HR_TRY(read_block(o->record_block, &options->record_block));
    HR_TRY(hr_check_range("sync-every", (double)o->sync_every, 1, 1 << 20));
    HR_TRY(hr_check_range("moving-rate", o->moving_rate, 0, 1));
    HR_TRY(hr_check_range("delay-compensation", o->delay_compensation, 0, 1e6));
    HR_TRY(check_backups(run));
    return read_choice("staleness-lr", o->staleness_lr, rates, &options->inverse_staleness);
}

void hr_manner_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_strategy *strategy = run->shared.strategy;
    const struct hr_strategy_options *options = &run->shared.options;
    const bool slower = !strategy->shares_batch && options->inverse_staleness;
    text[0] = '\0';
    if (strategy->averages)
        snprintf(text, size, "sync-every %zu%s", options->sync_every,
                 options->adaptive_sync ? ", adaptive" : "");
    else if (strategy->exchanges)
        snprintf(text, size, "sync-every %zu, moving-rate %g", options->sync_every,
                 options->moving_rate);
    else if (strategy->drops)
        snprintf(text, size, "backups %zu", options->backups);
    else if (!strategy->shares_batch && options->delay_compensation > 0)
        snprintf(text, size, "%sdelay-compensation %g", slower ? "lr / (1 + staleness), " : "",
                 options->delay_compensation);
    else if (slower)
        snprintf(text, size, "lr / (1 + staleness)");
}
