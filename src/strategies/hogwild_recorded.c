/* Hogwild by blocks, for runs that are recorded or replayed; others use hogwild.c.
 *
 *   Story    the shared weights are split into blocks of --record-block bytes, each with a word of
 *            tickets (tickets.h). A worker takes a block for itself, copies it out (pull) or
 *            updates it (push), and gives it back; the word then counts one ticket more. Tickets
 *            are the order in which workers took a block, which alone decides the block's bits.
 *   Waiting  a block that another worker has is left for later. Only when no block left is free
 *            the worker waits (shm/wait.h). Giving back a wanted block rings all workers.
 *   Log      each worker's own (replay_log.h), per step: BATCH (value: its index), SKEW, PULL for
 *            each block (value: the ticket), STALENESS (duration: of the gradient), PUSH for each
 *            block; CUT where it was given no batch.
 *   Replay   a worker follows the log: its next operation on a block is enabled when the block's
 *            count reaches the recorded ticket. Counts that tickets do not decide (index, skew,
 *            staleness) are taken from the log.
 *   Losses   as hogwild.c. A block that a lost worker had is given back. It may be updated in part:
 *            the push is counted as partial.
 *   Promise  no torn blocks, and no lost update. Recording changes only that, and adds the cost of
 *            tickets (ticket_ns).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "trace/trace_log.h"
#include "strategies/hogwild_blocks.h"
#include "strategies/hogwild_passage.h"
#include "strategies/hogwild_recorded.h"
#include "strategies/pushes.h"
#include "strategies/strategies.h"

static size_t worker_bytes(const struct hr_shared_state *shared)
{
    return hr_state_bytes(shared) + hr_blocks_count(shared) * (1 + sizeof(uint64_t));
}

static struct hr_passage *passage_of(const struct hr_worker *worker)
{
    return worker->own;
}

static void stop(struct hr_worker *worker)
{
    free(passage_of(worker)->done);
    free(passage_of(worker)->ticket);
    hr_state_stop(worker);
}

static enum hr_status start(struct hr_worker *worker)
{
    const size_t n = hr_blocks_count(worker->shared);
    struct hr_passage *passage = passage_of(worker);
    worker->bell = &worker->shared->control->rank[worker->rank].bell;
    if (worker->back)
        hr_pushes_come_back(worker);
    passage->done = calloc(n, sizeof *passage->done);
    passage->ticket = calloc(n, sizeof *passage->ticket);
    enum hr_status status = passage->done && passage->ticket
                                ? hr_state_start(worker, worker->rank)
                                : hr_fail(HR_E_NOMEM, "no memory for %zu tickets", n);
    if (status != HR_OK)
        stop(worker);
    return status;
}

static struct hr_replay_log *replay_log(struct hr_worker *worker)
{
    return &passage_of(worker)->replay;
}

/* --- the log, and following one --- */

static void note(const struct hr_worker *worker, enum hr_hogwild_input kind, uint64_t value)
{
    if (!passage_of(worker)->replay.log)
        return;
    hr_trace_append(passage_of(worker)->replay.log,
                    &(struct hr_trace_entry){
                        .kind = kind,
                        .rank = (uint32_t)worker->rank,
                        .step = worker->steps,
                        .value = value,
                        .duration_ns = kind == HR_HOGWILD_STALENESS ? (uint64_t)worker->took_ns : 0,
                    });
}

/* The log is of another run. */
static void complain(struct hr_worker *worker, const char *wanted)
{
    struct hr_passage *passage = passage_of(worker);
    const struct hr_trace_entry *entry = hr_trace_peek(passage_of(worker)->replay.recorded);
    passage->stage = HR_ASTRAY;
    snprintf(passage->complaint, sizeof passage->complaint,
             "worker %zu at step %llu wants %s, its log has %s %llu", worker->rank,
             (unsigned long long)worker->steps, wanted,
             entry ? hr_hogwild_input_name(entry->kind) : "nothing more",
             (unsigned long long)(entry ? entry->value : 0));
}

/* The value of the next entry recorded, which must be of this kind. */
static bool follow(struct hr_worker *worker, enum hr_hogwild_input kind, uint64_t *value)
{
    const struct hr_trace_entry *entry = hr_trace_peek(passage_of(worker)->replay.recorded);
    if (!entry || entry->kind != kind || entry->step != worker->steps) {
        complain(worker, hr_hogwild_input_name(kind));
        return false;
    }
    *value = entry->value;
    hr_trace_next(passage_of(worker)->replay.recorded);
    return true;
}

/* --- blocks --- */

/* Pull or push one block that this worker has taken. */
static void operate(struct hr_worker *worker, size_t number)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t at = number * hr_hogwild_block(shared);
    const size_t count = hr_min_size(hr_hogwild_block(shared), shared->params - at);
    float *live = hr_blocks_weights(shared) + at;
    if (passage_of(worker)->stage == HR_PULLING)
        memcpy(worker->weights + at, live, count * sizeof *live);
    else
        hr_push_update(worker, &passage_of(worker)->push, at, count, worker->weights + at, live);
}

static bool may_take(const struct hr_worker *worker, size_t number)
{
    const struct hr_passage *passage = passage_of(worker);
    const struct hr_ticket_word *block = &hr_blocks_words(worker->shared)[number];
    return !passage->replay.recorded || hr_ticket_count(block) == passage->ticket[number];
}

/* Do one block, if it is free and (replaying) this worker's turn. Returns the time of the work. */
static int64_t try_block(struct hr_worker *worker, size_t number)
{
    struct hr_passage *passage = passage_of(worker);
    struct hr_ticket_word *block = &hr_blocks_words(worker->shared)[number];
    if (passage->done[number] || !may_take(worker, number) ||
        !hr_ticket_try_take(block, worker->rank, &passage->ticket[number]))
        return 0;
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    const int64_t began = hr_clock_ns();
    operate(worker, number);
    const int64_t took = hr_clock_ns() - began;
    hr_blocks_give_back(worker->shared, worker->rank, number);
    passage->done[number] = 1;
    passage->left--;
    passage->replay.moved++;
    return took;
}

/* Do what is possible now of the pull or push, from the worker's own stripe on, so that two rarely
 * want one block. Time without copying or updating is the tickets' cost. Returns: all is done. */
static bool go_on(struct hr_worker *worker)
{
    struct hr_passage *passage = passage_of(worker);
    const size_t n = hr_blocks_count(worker->shared);
    const size_t first = worker->rank * n / worker->shared->workers;
    const int64_t began = hr_clock_ns();
    int64_t worked = 0;
    for (size_t i = 0; i < n && passage->left > 0; i++)
        worked += try_block(worker, (first + i) % n);
    const int64_t now = hr_clock_ns();
    hr_pushes_counts(worker->shared, worker->rank)->ticket_ns +=
        now - (passage->blocked_since ? passage->blocked_since : began) - worked;
    passage->blocked_since = passage->left > 0 ? now : 0;
    return passage->left == 0;
}

static void begin(struct hr_worker *worker, enum hr_hogwild_stage stage)
{
    struct hr_passage *passage = passage_of(worker);
    const size_t n = hr_blocks_count(worker->shared);
    const enum hr_hogwild_input kind = stage == HR_PULLING ? HR_HOGWILD_PULL : HR_HOGWILD_PUSH;
    passage->stage = stage;
    passage->left = n;
    passage->replay.busy = true;
    memset(passage->done, 0, n);
    for (size_t i = 0; passage_of(worker)->replay.recorded && i < n; i++)
        if (!follow(worker, kind, &passage->ticket[i]))
            return;
}

/* Write tickets in the order of the blocks, not in that of taking them. */
static void end(struct hr_worker *worker, enum hr_hogwild_input kind)
{
    const int64_t began = hr_clock_ns();
    for (size_t i = 0; passage_of(worker)->replay.log && i < hr_blocks_count(worker->shared); i++)
        note(worker, kind, passage_of(worker)->ticket[i]);
    passage_of(worker)->replay.busy = false;
    hr_pushes_counts(worker->shared, worker->rank)->ticket_ns += hr_clock_ns() - began;
}

/* --- what comes next --- */

static void decide(struct hr_worker *worker, enum hr_task_kind kind, uint64_t index)
{
    passage_of(worker)->task = (struct hr_task){kind, index};
    passage_of(worker)->stage = HR_DECIDED;
}

static void take_batch(struct hr_worker *worker, uint64_t index)
{
    uint64_t skew = hr_pushes_skew(worker);
    worker->index = index;
    if (worker->shared->outlives)
        hr_ledger_draw(hr_blocks_ledger(worker->shared), worker->rank, index);
    note(worker, HR_HOGWILD_BATCH, index);
    if (passage_of(worker)->replay.recorded && !follow(worker, HR_HOGWILD_SKEW, &skew))
        return;
    note(worker, HR_HOGWILD_SKEW, skew);
    if (skew > worker->stats->max_skew)
        worker->stats->max_skew = skew;
    passage_of(worker)->pushes_seen = hr_pushes_of_others(worker);
    begin(worker, HR_PULLING);
}

/* A batch of a lost worker comes first, even where the run is asked to stop. */
static bool draw_again(const struct hr_worker *worker, uint64_t *index)
{
    return hr_fates_take(worker->shared->fates, index);
}

/* As recorded; the dispenser counts along, so that a cut finds its index. Which of several batches
 * that are handed out again is in the log: here one of them is one less. */
static void draw_as_recorded(struct hr_worker *worker, uint64_t cut)
{
    const struct hr_trace_entry *entry = hr_trace_peek(passage_of(worker)->replay.recorded);
    uint64_t value, any;
    const bool ends = entry && entry->kind == HR_HOGWILD_CUT;
    if (!follow(worker, ends ? HR_HOGWILD_CUT : HR_HOGWILD_BATCH, &value))
        return;
    if (ends || value >= cut) { /* more than this run has: the driver decides */
        passage_of(worker)->replay.beyond = passage_of(worker)->replay.beyond || !ends;
        decide(worker, HR_TASK_CUT, cut);
        return;
    }
    if (!draw_again(worker, &any))
        hr_atom64_fetch_add_acq_rel(&worker->shared->dispenser->next, 1);
    take_batch(worker, value);
}

static void draw(struct hr_worker *worker)
{
    struct hr_dispenser *dispenser = worker->shared->dispenser;
    const uint64_t cut = hr_atom64_load_acquire(&dispenser->cut); /* partner: the leader at a cut */
    if (passage_of(worker)->replay.recorded) {
        draw_as_recorded(worker, cut);
        return;
    }
    uint64_t index = cut;
    if (!draw_again(worker, &index) &&
        !hr_shared_rests(worker->shared, hr_atom64_load_acquire(&dispenser->next)))
        index = hr_atom64_fetch_add_acq_rel(&dispenser->next, 1);
    if (index < cut) {
        take_batch(worker, index);
        return;
    }
    note(worker, HR_HOGWILD_CUT, 0);
    decide(worker, HR_TASK_CUT, index);
}

static void end_push(struct hr_worker *worker)
{
    end(worker, HR_HOGWILD_PUSH);
    if (worker->shared->outlives)
        hr_ledger_end_push(hr_blocks_ledger(worker->shared), worker->rank, worker->index);
    hr_pushes_add(worker);
    passage_of(worker)->stage = HR_DRAWING;
}

static void end_pull(struct hr_worker *worker)
{
    end(worker, HR_HOGWILD_PULL);
    worker->stats->bytes_received += worker->shared->params * sizeof(float);
    decide(worker, HR_TASK_BATCH, worker->index);
}

static bool ready(void *arg)
{
    struct hr_worker *worker = arg;
    struct hr_passage *passage = passage_of(worker);
    for (;;) {
        if (passage->stage == HR_DECIDED || passage->stage == HR_ASTRAY)
            return true;
        if (passage->stage == HR_DRAWING && hr_replay_log_ends(&passage->replay))
            return false;
        if (passage->stage == HR_DRAWING)
            draw(worker);
        else if (!go_on(worker))
            return false;
        else if (passage->stage == HR_PUSHING)
            end_push(worker);
        else
            end_pull(worker);
    }
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    struct hr_passage *passage = passage_of(worker);
    if (passage->stage == HR_ASTRAY)
        return hr_fail(HR_E_FORMAT, "the trace does not fit the run that it describes: %s",
                       passage->complaint);
    *task = passage->task;
    passage->stage = HR_DRAWING;
    return HR_OK;
}

static void offer(struct hr_worker *worker)
{
    struct hr_passage *passage = passage_of(worker);
    uint64_t staleness = hr_pushes_of_others(worker) - passage_of(worker)->pushes_seen;
    if (passage_of(worker)->replay.recorded && !follow(worker, HR_HOGWILD_STALENESS, &staleness))
        return; /* ready and accept tell */
    note(worker, HR_HOGWILD_STALENESS, staleness);
    hr_stale_count(&worker->stats->stale, staleness);
    passage->push = hr_push_begin(worker, staleness);
    if (worker->shared->outlives)
        hr_ledger_begin_push(hr_blocks_ledger(worker->shared), worker->rank, worker->index);
    begin(worker, HR_PUSHING);
    if (passage->stage == HR_PUSHING && go_on(worker))
        end_push(worker);
}

/* Nothing to wait for but the cut's barrier: a worker that has arrived has pushed. */
static void export_part(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    hr_pushes_go_on(worker);
    memcpy(worker->weights, hr_blocks_weights(shared), shared->params * sizeof(float));
    hr_export_stripe(worker);
    hr_export_own_state(worker);
}

static void lost(struct hr_shared_state *shared, size_t worker)
{
    hr_ledger_lose(hr_blocks_ledger(shared), shared, worker);
    hr_pushes_lose(shared, worker);
    hr_blocks_lose(shared, worker);
}

static void missing(struct hr_shared_state *shared)
{
    hr_ledger_missing(hr_blocks_ledger(shared), shared);
}

const char *hr_hogwild_input_name(uint32_t kind)
{
    static const char *const names[] = {"batch", "skew", "pull", "staleness", "push", "cut"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const struct hr_strategy hr_strategy_hogwild_recorded = {
    .name = "hogwild",
    .guarantee = "recorded: a block at a time, no update lost; staleness unbounded, measured",
    .options = (const char *const[]){"async-lr", "staleness-lr", "delay-compensation",
                                     "record-block", NULL},
    .private_state = true,
    .losses_are_inputs = true,
    .order = hr_order_of_arrival,
    .prepare = hr_hogwild_prepare,
    .describe = hr_stale_describe,
    .bytes = hr_blocks_bytes,
    .init = hr_blocks_init,
    .report = hr_pushes_report,
    .worker_own = sizeof(struct hr_passage),
    .replay_log = replay_log,
    .worker_bytes = worker_bytes,
    .start = start,
    .stop = stop,
    .request = hr_tell_nobody,
    .ready = ready,
    .accept = accept,
    .offer = offer,
    .arrive = hr_pushes_arrive,
    .arrived = hr_always_ready,
    .export_part = export_part,
    .verify = hr_verify_nothing,
    .lost = lost,
    .missing = missing,
    .pause = hr_passages_pause,
};
