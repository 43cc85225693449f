/* Synchronous steps that do not wait for the slowest: backup workers.
 *
 *   Story    one server. Step t's global batch is split into shares, one a worker. The update is
 *            made when n - k gradients of step t are in (--backups k); later ones are dropped, and
 *            their workers go on with the current step. A worker that has delivered waits for the
 *            step's end. k = 0 is ps-sync.
 *   Promise  every update is made of n - k gradients of its own step: none is stale. Only the order
 *            in which the server takes its inputs decides which gradients are dropped.
 *   Order    the gradients that are in are added in T(n - k), in rank order, and divided by their
 *            true number of samples.
 *   Account  dropped gradients are counted, in all and by worker; their samples do not count as
 *            trained on, nor do those of a share that a worker never began, because it was late for
 *            a whole step. Both are told. The clock is the step: the skew is how many steps behind
 *            the slowest is.
 *   Losses   a lost worker's share of the step in hand is lost, unless its gradient is in: that is
 *            summed as if nothing had happened. From the next step on those who live share the
 *            batch, and the server waits for k fewer than they are, but for one at least. A worker
 *            that comes back has a share of the next step.
 *   Source   Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous SGD",
 *            arXiv 1604.00981.
 *
 * A step that has been begun is finished: a request to stop holds from the next one on, or those
 * who have delivered would wait for ever.
 */
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "server/push_parts.h"
#include "server/server_losses.h"
#include "strategies/backup_shard.h"
#include "server/staleness.h"
#include "strategies/strategies.h"

static enum hr_status prepare(struct hr_shared_state *shared)
{
    const size_t backups = shared->options->backups;
    if (backups >= shared->workers)
        return hr_fail(HR_E_USAGE, "--backups %zu: expected fewer than the %zu worker%s", backups,
                       shared->workers, shared->workers == 1 ? "" : "s");
    return HR_OK;
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    snprintf(text, size, "backups %zu", shared->options->backups);
}

/* --- the worker --- */

/* A worker's own. */
struct backup_worker {
    bool shares;        /* it sits where the server said; else, at a cut, */
    size_t seat, seats; /* where it did before */
};

/* Its share is that of the step in hand, until the cut. */
static void take_seat(struct hr_worker *worker, const struct hr_message *reply)
{
    struct backup_worker *own = worker->own;
    const uint64_t word = reply->word[HR_REPLY_SEAT];
    const bool batch = reply->kind == HR_WEIGHTS;
    if (batch && !own->shares) {
        own->seat = worker->seat;
        own->seats = worker->seats;
    }
    if (batch || own->shares) {
        worker->seat = batch ? (size_t)(uint32_t)word : own->seat;
        worker->seats = batch ? (size_t)(word >> 32) : own->seats;
    }
    own->shares = batch;
}

/* What became of its push. */
static void count_push(struct hr_worker *worker, enum hr_push_fate fate)
{
    if (fate == HR_FATE_DROPPED)
        hr_stats_drop(worker->stats);
    worker->stats->updates += fate == HR_FATE_SUMMED_LAST;
}

static bool next_batch(struct hr_worker *worker, const struct hr_message *reply)
{
    if (hr_server_takes_losses(worker->shared))
        take_seat(worker, reply);
    worker->index = reply->word[HR_REPLY_INDEX];
    return reply->kind != HR_NO_BATCH;
}

static enum hr_status span(struct hr_rank *rank)
{
    static const struct hr_gradient_hooks hooks = {.final = hr_push_parts_final};
    struct hr_worker *worker = rank->worker;
    struct hr_message reply;
    HR_TRY(hr_server_pull(rank, &reply));
    while (next_batch(worker, &reply)) {
        HR_TRY(hr_rank_gradient(rank, worker->index, &hooks));
        hr_server_push(worker, worker->index);
        HR_TRY(hr_server_pull(rank, &reply));
        count_push(worker, (enum hr_push_fate)reply.word[HR_REPLY_FATE]);
    }
    return hr_server_cut(rank, worker->index);
}

const struct hr_strategy hr_strategy_backup_workers = {
    .name = "backup-workers",
    .guarantee = "each update is made of n - k gradients of its own step; the others are dropped, "
                 "and counted",
    .options = (const char *const[]){"servers", "placement", "server-placement", "server-time",
                                     "backups", "compress", "link", "topology", NULL},
    .rows = HR_SERVED_ROWS,
    .shares_batch = true,
    .losses_are_inputs = true,
    .one_shard = true,
    .order = "T(n) over those that are in, in rank order",
    .prepare = prepare,
    .describe = describe,
    .worker_own = sizeof(struct backup_worker),
    .bytes = hr_server_bytes,
    .init = hr_server_init,
    .start = hr_server_start,
    .leave = hr_server_leave,
    .span = span,
    .pause = hr_backup_pause,
    .shard_start = hr_shard_start,
    .shard_stop = hr_shard_stop,
    .enabled = hr_backup_enabled,
    .take = hr_backup_take,
    .over = hr_shard_over,
};
