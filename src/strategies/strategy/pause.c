#include "strategy/pause.h"

#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "strategy/shared.h"

/* One of each worker, those that wait to be handed out again, and in Hogwild one of each life that
 * ended since the last cut. */
size_t hr_pause_room(const struct hr_shared_state *shared)
{
    const size_t span = hr_batch_schedule_longest_span(&shared->schedule);
    const size_t lives = shared->workers + shared->options->max_restarts;
    return shared->workers + hr_returned_room(shared) +
           (shared->outlives ? hr_min_size(lives, span) : 0);
}

void hr_pause_in_hand(const struct hr_standing *at, size_t worker, uint64_t batch,
                      struct hr_pause *to)
{
    if (at->stands[worker] == HR_STANDS_HAS)
        to->worker[worker].undone = batch;
    hr_pause_add_hand(to, batch, 1);
}

void hr_pause_copy_state(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_snapshot *then = &at->shared->snapshot;
    const struct hr_worker *w = at->worker[worker];
    const size_t floats = hr_state_floats(at->shared);
    memcpy(to->snapshot.state + worker * floats, w ? w->state : then->state + worker * floats,
           floats * sizeof(float));
    to->snapshot.applied[worker] = w ? w->applied : then->applied[worker];
}

/* --- counters --- */

static void copy_counters(const struct hr_worker_stats *stats, struct hr_paused_worker *to)
{
    to->updates = stats->updates;
    to->undone = UINT64_MAX;
    to->samples = stats->samples;
    to->epoch_samples = stats->epoch_samples;
    to->epoch_loss = stats->epoch_loss;
}

/* Without the last gradient. */
static void go_back(const struct hr_gradient_counters *before, struct hr_paused_worker *to)
{
    to->samples = before->samples;
    to->epoch_samples = before->epoch_samples;
    to->epoch_loss = before->epoch_loss;
}

/* While a gradient is computed its worker's counters may change: they are not read. */
static void count(const struct hr_standing *at, size_t worker, struct hr_paused_worker *to)
{
    const struct hr_worker_stats *stats = &at->shared->stats[worker];
    const struct hr_paused_worker had = *to;
    if (at->before[worker]) {
        go_back(at->before[worker], to);
        return;
    }
    copy_counters(stats, to);
    to->updates = had.updates;
    if (had.undone != UINT64_MAX && stats->last.any && stats->last.index == had.undone)
        go_back(&stats->last.before, to);
}

bool hr_pause_copy(const struct hr_standing *at, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    to->hands = 0;
    for (size_t w = 0; w < shared->workers; w++)
        to->worker[w] =
            (struct hr_paused_worker){.updates = shared->stats[w].updates, .undone = UINT64_MAX};
    *to->snapshot.losses = *shared->snapshot.losses;
    if (!shared->strategy->pause(at, to))
        return false;
    for (uint64_t i = 0, index; hr_returned_look(shared->returned, i, &index); i++)
        hr_pause_add_hand(to, index, 1);
    for (size_t w = 0; w < shared->workers; w++) {
        count(at, w, &to->worker[w]);
        to->snapshot.shares[w] =
            (struct hr_epoch_share){to->worker[w].epoch_loss, (double)to->worker[w].epoch_samples};
    }
    return true;
}
