/* Hogwild: no server; workers read and update the shared weights without locks.
 *
 *   Story    a worker draws the index of a batch and computes a gradient from its private copy of
 *            the weights. Then it passes over the shared weights, block by block: it takes the
 *            block, loads it, updates what it loaded, stores that, and gives the block back. It
 *            copies what it stores, for its next gradient: a push and the next pull are one pass,
 *            so a line that others wrote is fetched once a step. Only at the start and after a cut
 *            it pulls alone. Each worker has an optimiser state of its own; norms (--clip-norm,
 *            lars, lamb) are of its own gradient, state and copy.
 *            The rate (--staleness-lr) and the gradient (--delay-compensation) may follow the
 *            staleness at the push's start; compensation is with each block's weights as loaded,
 *            norms are those of the uncompensated gradient.
 *   Live     there is one block, which all have at once (hogwild_weights.h): loads and stores are
 *            relaxed atomic pairs of floats, and BLAS reads only the copy.
 *   Promise  no torn values; an update that meets another's between its load and its store is lost
 *            (lost.h samples how many are).
 *   Order    each worker starts a pass at its own stripe, so that two rarely meet on one line.
 *   By ticket  a run that is recorded or replayed is another Hogwild: a block is one worker's at a
 *            time, and the worker notes its ticket, so that no update is lost. A block that another
 *            has is left for later; only when none that is left is free the worker waits. It pulls
 *            at each step, since a push and a pull are noted apart. That costs what ticket_ns says.
 *   Log      each worker's own (replay_log.h), per step: BATCH (value: its index), SKEW, PULL for
 *            each block (value: the ticket), STALENESS (duration: of the gradient), PUSH for each
 *            block; CUT where it was given no batch. Tickets stand in the order of the blocks.
 *   Replay   a worker follows its log: a block is free to it when the block's count has reached the
 *            ticket that was recorded. What tickets do not decide (index, skew, staleness) it takes
 *            from the log.
 *   Losses   a lost worker is missed by nobody: what it had in its hands comes out at the cut
 *            (ledger.h), a push that its death has torn is counted as partial; a block that it had
 *            is given back. One that comes back begins with the weights as they are.
 *   Machines  each of several has weights of its own, and they are averaged: hogwild_averaged.c.
 *   Source   Niu, Recht, Re, Wright, "Hogwild!", NIPS 2011.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/size.h"
#include "trace/trace_log.h"
#include "strategy/rank.h"
#include "strategies/hogwild.h"
#include "strategies/hogwild_averaged.h"
#include "strategies/hogwild_weights.h"
#include "strategies/pushes.h"
#include "strategies/strategies.h"
#include "strategy/ledger.h"
#include "strategy/pause.h"

/* Weights that are loaded, updated and stored at a time: enough that loads do not stall on stores
 * that are not yet in the cache, and few enough that another's update rarely falls between load and
 * store. */
enum { PIECE = 512 };

/* What a worker does, or does next. */
enum stage {
    DRAWS,   /* it has handed in its gradient */
    PULLS,   /* a pass over the blocks: loads them into its copy */
    DECIDED, /* it has a batch, or has come to a cut */
    PUSHES,  /* a pass: updates them */
};

struct own {
    struct hr_hogwild_weights live;
    struct hr_replay_log replay;
    enum stage stage;
    struct hr_task task;            /* DECIDED: that */
    uint64_t seen;                  /* pushes of others when its copy was read */
    bool pulls;                     /* its copy is not the weights as it left them */
    struct hr_push push;            /* PUSHES */
    size_t watched;                 /* of its weights, the line that begins here; SIZE_MAX: none */
    struct hr_averaging *averaging; /* NULL: there is one machine */
    uint64_t *ticket;    /* (blocks) owned: got, or to be waited for; NULL: live. By ticket: */
    unsigned char *done; /* (blocks) behind it: of the pass in hand */
    size_t left;         /* blocks that are not */
    int64_t since;       /* of the time, what is not yet in ticket_ns */
    char complaint[160]; /* not "": the log is of another run */
};

static struct own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

/* --- the log: values that are no function of the run's inputs --- */

const char *hr_hogwild_input_name(uint32_t kind)
{
    static const char *const names[] = {"batch", "skew", "pull", "staleness", "push", "cut"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static struct hr_replay_log *replay_log(struct hr_worker *worker)
{
    return &own_of(worker)->replay;
}

static void append(const struct hr_worker *worker, enum hr_hogwild_input kind, uint64_t value)
{
    hr_trace_append(own_of(worker)->replay.log,
                    &(struct hr_trace_entry){
                        .kind = kind,
                        .rank = (uint32_t)worker->rank,
                        .step = worker->steps,
                        .value = value,
                        .duration_ns = kind == HR_HOGWILD_STALENESS ? (uint64_t)worker->took_ns : 0,
                    });
}

static void note(const struct hr_worker *worker, enum hr_hogwild_input kind, uint64_t value)
{
    if (own_of(worker)->replay.log)
        append(worker, kind, value);
}

/* The log is of another run. */
static void complain(struct hr_worker *worker, const char *wanted)
{
    struct own *own = own_of(worker);
    const struct hr_trace_entry *entry = hr_trace_peek(own->replay.recorded);
    snprintf(own->complaint, sizeof own->complaint,
             "worker %zu at step %llu wants %s, its log has %s %llu", worker->rank,
             (unsigned long long)worker->steps, wanted,
             entry ? hr_hogwild_input_name(entry->kind) : "nothing more",
             (unsigned long long)(entry ? entry->value : 0));
}

/* The value of the next entry recorded, which must be of this kind. */
static bool follow(struct hr_worker *worker, enum hr_hogwild_input kind, uint64_t *value)
{
    struct own *own = own_of(worker);
    const struct hr_trace_entry *entry = hr_trace_peek(own->replay.recorded);
    if (own->complaint[0])
        return false;
    if (!entry || entry->kind != kind || entry->step != worker->steps) {
        complain(worker, hr_hogwild_input_name(kind));
        return false;
    }
    *value = entry->value;
    hr_trace_next(own->replay.recorded);
    return true;
}

/* What is seen, or in a replay was. */
static uint64_t observe(struct hr_worker *worker, enum hr_hogwild_input kind, uint64_t seen)
{
    if (own_of(worker)->replay.recorded)
        follow(worker, kind, &seen);
    note(worker, kind, seen);
    return seen;
}

/* --- a block, taken and given back --- */

static void count_tickets(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    const int64_t now = hr_clock_ns();
    worker->stats->ticket_ns += now - own->since;
    own->since = now;
}

static bool is_its_turn(const struct own *own, const struct hr_ticket_word *word, size_t block)
{
    return !own->replay.recorded || hr_ticket_count(word) == own->ticket[block];
}

static bool take(struct hr_worker *worker, size_t block)
{
    struct own *own = own_of(worker);
    if (!own->ticket)
        return true;
    struct hr_ticket_word *word = &own->live.words[block];
    if (own->done[block] || !is_its_turn(own, word, block) ||
        !hr_ticket_try_take(word, worker->rank, &own->ticket[block]))
        return false;
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    count_tickets(worker);
    return true;
}

static void give(struct hr_worker *worker, size_t block)
{
    struct own *own = own_of(worker);
    if (!own->ticket)
        return;
    own->since = hr_clock_ns();
    hr_hogwild_give_back(worker->shared, worker->rank, block);
    own->done[block] = 1;
    own->left--;
    own->replay.moved++;
}

/* --- a pass over the blocks: a pull, or a push --- */

/* Load some weights into the copy, update them there with the vector kernel, and store them. The
 * watched line is checked before it is overwritten. */
static void update_piece(struct hr_worker *worker, size_t at, size_t count)
{
    const struct own *own = own_of(worker);
    float *w = worker->weights + at, pulled[PIECE], loaded[HR_LOST_FLOATS];
    const bool watched = own->watched >= at && own->watched < at + count;
    const size_t before = watched ? own->watched - at : count;
    const size_t length = hr_min_size(HR_LOST_FLOATS, count - before), behind = before + length;
    if (own->push.lambda > 0)
        memcpy(pulled, w, count * sizeof *w);
    hr_hogwild_load(&own->live, at, count, w);
    if (watched)
        memcpy(loaded, w + before, length * sizeof *w);
    hr_push_update(worker, &own->push, at, count, pulled, w);
    hr_hogwild_store(&own->live, at, before, w);
    if (!watched)
        return;
    hr_lost_store(&worker->stats->lost, own->live.pairs + own->watched / 2, loaded, w + before,
                  length);
    hr_hogwild_store(&own->live, at + behind, count - behind, w + behind);
}

static void update(struct hr_worker *worker, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at += PIECE)
        update_piece(worker, at, hr_min_size(PIECE, end - at));
}

/* From the worker's own stripe on, where that begins in the block. */
static void operate(struct hr_worker *worker, size_t block)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct own *own = own_of(worker);
    const size_t begin = block * own->live.block;
    const size_t end = hr_min_size(begin + own->live.block, shared->params);
    if (own->stage == PULLS) {
        hr_hogwild_load(&own->live, begin, end - begin, worker->weights + begin);
        return;
    }
    const size_t stripe = hr_stripe_begin(shared->params, shared->workers, worker->rank);
    const size_t from = stripe > begin && stripe < end ? stripe : begin;
    update(worker, from, end);
    update(worker, begin, from);
}

static void begin_pass(struct hr_worker *worker, enum stage stage)
{
    struct own *own = own_of(worker);
    const enum hr_hogwild_input kind = stage == PULLS ? HR_HOGWILD_PULL : HR_HOGWILD_PUSH;
    own->stage = stage;
    if (!own->ticket)
        return;
    own->left = own->live.blocks;
    own->since = hr_clock_ns();
    own->replay.busy = true;
    memset(own->done, 0, own->left);
    for (size_t i = 0; own->replay.recorded && i < own->left; i++)
        if (!follow(worker, kind, &own->ticket[i]))
            return;
}

static void end_pass(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    const bool pushed = own->stage == PUSHES;
    if (own->ticket) {
        for (size_t i = 0; own->replay.log && i < own->live.blocks; i++)
            note(worker, pushed ? HR_HOGWILD_PUSH : HR_HOGWILD_PULL, own->ticket[i]);
        own->replay.busy = false;
        count_tickets(worker);
    }
    own->pulls = own->ticket != NULL;
    own->stage = pushed ? DRAWS : DECIDED;
    if (!pushed)
        return;
    hr_ledger_end_push(worker->shared, worker->rank, worker->index);
    hr_pushes_add(worker);
}

/* Do what is possible now of the pass in hand, from the worker's own stripe on. Returns: all is
 * done. */
static bool go_on(struct hr_worker *worker)
{
    const struct own *own = own_of(worker);
    const size_t n = own->live.blocks;
    size_t block = worker->rank * n / worker->shared->workers;
    for (size_t i = 0; i < n; i++) {
        if (take(worker, block)) {
            operate(worker, block);
            give(worker, block);
        }
        block = block + 1 < n ? block + 1 : 0;
    }
    if (own->ticket && own->left > 0)
        return false;
    end_pass(worker);
    return true;
}

/* --- a step --- */

/* As recorded. False: the log says that it draws none, or one that this run has not; then the
 * driver decides. */
static bool recorded_index(struct hr_worker *worker, uint64_t cut, uint64_t *index)
{
    struct own *own = own_of(worker);
    const struct hr_trace_entry *entry = hr_trace_peek(own->replay.recorded);
    const bool ends = entry && entry->kind == HR_HOGWILD_CUT;
    if (!follow(worker, ends ? HR_HOGWILD_CUT : HR_HOGWILD_BATCH, index))
        return false;
    own->replay.beyond = own->replay.beyond || (!ends && *index >= cut);
    return !ends && *index < cut;
}

/* The index of its next batch, or one that is not below the cut. Those of lost workers come first,
 * even where the run is asked to stop. In a replay the log has the index, and here one is one less:
 * so a cut finds its index. */
static uint64_t draw_index(struct hr_worker *worker, uint64_t cut)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_dispenser *dispenser = shared->dispenser;
    const bool repeats = own_of(worker)->replay.recorded;
    uint64_t recorded, index;
    if (repeats && !recorded_index(worker, cut, &recorded))
        return cut;
    if (!hr_fates_take(shared->fates, &index)) {
        if (!repeats && hr_shared_rests(shared, hr_atom64_load_acquire(&dispenser->next)))
            return cut;
        index = hr_atom64_fetch_add_acq_rel(&dispenser->next, 1);
    }
    return repeats ? recorded : index;
}

static void begin_batch(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct own *own = own_of(worker);
    worker->index = own->task.index;
    hr_ledger_draw(shared, worker->rank, worker->index);
    note(worker, HR_HOGWILD_BATCH, worker->index);
    const uint64_t skew = observe(worker, HR_HOGWILD_SKEW, hr_pushes_skew(worker));
    if (skew > worker->stats->max_skew)
        worker->stats->max_skew = skew;
    worker->stats->bytes_received += shared->params * sizeof(float);
    if (!own->pulls) {
        own->stage = DECIDED;
        return;
    }
    own->seen = hr_pushes_of_others(worker); /* before it loads: later ones it may not see */
    begin_pass(worker, PULLS);
}

/* False: it waits for other machines, or dies here. */
static bool draw(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    if (own->averaging) {
        if (!hr_averaging_next(own->averaging, worker, &own->task, &own->pulls))
            return false;
    } else if (hr_replay_log_ends(&own->replay)) {
        return false;
    } else {
        /* Partner: the leader, at a cut. */
        const uint64_t cut = hr_atom64_load_acquire(&worker->shared->dispenser->cut);
        const uint64_t index = draw_index(worker, cut);
        own->task = (struct hr_task){index < cut ? HR_TASK_BATCH : HR_TASK_CUT, index};
    }
    own->stage = DECIDED;
    if (own->task.kind == HR_TASK_BATCH)
        begin_batch(worker);
    else
        note(worker, HR_HOGWILD_CUT, 0);
    return true;
}

static bool has_decided(void *arg)
{
    struct hr_worker *worker = arg;
    const struct own *own = own_of(worker);
    while (own->stage != DECIDED && !own->complaint[0])
        if (own->stage == DRAWS ? !draw(worker) : !go_on(worker))
            return false;
    return true;
}

/* Wait for what comes next, a batch or a cut. */
static enum hr_status decide(struct hr_rank *rank)
{
    struct own *own = own_of(rank->worker);
    HR_TRY(hr_rank_meet(rank, NULL, has_decided, rank->worker));
    if (own->complaint[0])
        return hr_fail(HR_E_FORMAT, "the trace does not fit the run that it describes: %s",
                       own->complaint);
    if (own->averaging)
        HR_TRY(hr_averaging_status(own->averaging));
    own->stage = DRAWS;
    return HR_OK;
}

static void push(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct own *own = own_of(worker);
    const uint64_t pushes = hr_pushes_of_others(worker);
    const uint64_t staleness = observe(worker, HR_HOGWILD_STALENESS, pushes - own->seen);
    own->seen = pushes; /* what it loads for its update it has for its next gradient */
    hr_stale_count(&worker->stats->stale, staleness);
    own->push = hr_push_begin(worker, staleness);
    own->watched =
        own->ticket ? SIZE_MAX : hr_lost_line(shared->params, worker->rank, worker->applied);
    hr_ledger_begin_push(shared, worker->rank, worker->index);
    begin_pass(worker, PUSHES);
    go_on(worker);
}

static enum hr_status span(struct hr_rank *rank)
{
    const struct own *own = own_of(rank->worker);
    HR_TRY(decide(rank));
    while (own->task.kind == HR_TASK_BATCH) {
        HR_TRY(hr_rank_gradient(rank, own->task.index, NULL));
        push(rank->worker);
        HR_TRY(decide(rank));
    }
    HR_TRY(hr_rank_come_to_cut(rank, own->task.index));
    hr_pushes_arrive(rank->worker);
    return hr_rank_await_cut(rank, hr_always_ready, rank->worker);
}

/* --- its start, and cuts --- */

static void copy_all(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    own->seen = hr_pushes_of_others(worker);
    hr_hogwild_load(&own->live, 0, worker->shared->params, worker->weights);
}

static size_t worker_bytes(const struct hr_shared_state *shared)
{
    const struct hr_hogwild_setup *setup = shared->setup;
    const size_t blocks = setup->by_ticket ? hr_hogwild_blocks(shared) : 0;
    return blocks * (sizeof(uint64_t) + 1);
}

static void stop(struct hr_worker *worker)
{
    free(own_of(worker)->ticket);
    hr_averaging_stop(own_of(worker)->averaging);
}

static enum hr_status take_tickets(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    const size_t n = own->live.blocks;
    if (!own->live.words)
        return HR_OK;
    own->ticket = calloc(n, sizeof *own->ticket + 1);
    if (!own->ticket)
        return hr_fail(HR_E_NOMEM, "no memory for %zu tickets", n);
    own->done = (unsigned char *)(own->ticket + n);
    own->pulls = true;
    return HR_OK;
}

static enum hr_status start(struct hr_worker *worker)
{
    if (worker->back)
        hr_pushes_come_back(worker);
    own_of(worker)->live = hr_hogwild_weights_of(worker->shared);
    copy_all(worker);
    enum hr_status status = take_tickets(worker);
    if (status == HR_OK)
        status = hr_averaging_start(worker, &own_of(worker)->averaging);
    if (status != HR_OK)
        stop(worker);
    return status;
}

/* Nothing to wait for but the cut's barrier: a worker that has arrived has pushed, and all rest. */
static void catch_up(struct hr_worker *worker)
{
    const struct hr_averaging *averaging = own_of(worker)->averaging;
    hr_pushes_go_on(worker);
    if (averaging)
        hr_averaging_take_mean(averaging, worker);
    else
        copy_all(worker);
}

static float *at_rest(const struct hr_shared_state *shared)
{
    return (float *)(void *)hr_hogwild_weights_of(shared).pairs;
}

/* --- losses, and the state between two events --- */

static void lost(struct hr_shared_state *shared, size_t worker)
{
    hr_pushes_lose(shared, worker);
    hr_hogwild_lose(shared, worker);
}

/* The blocks that its push has not come to, on the copy of weights and state. */
static void finish_push(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    const struct own *own = own_of(at->worker[worker]);
    const size_t block = own->live.block;
    struct hr_worker copy = *at->worker[worker];
    copy.state = to->snapshot.state + worker * hr_state_floats(shared);
    for (size_t i = 0; i < own->live.blocks; i++) {
        const size_t first = i * block, count = hr_min_size(block, shared->params - first);
        if (!own->done[i])
            hr_push_update(&copy, &own->push, first, count, copy.weights + first,
                           to->snapshot.weights + first);
    }
    to->worker[worker].updates++;
}

/* Has it a batch, drawn or computed, whose push is not begun? */
static bool is_in_hand(const struct hr_standing *at, size_t worker)
{
    const struct own *own = own_of(at->worker[worker]);
    return at->stands[worker] == HR_STANDS_HAS || own->stage == PULLS ||
           (own->stage == DECIDED && own->task.kind == HR_TASK_BATCH);
}

/* A replay's workers draw what their logs say, each at its own pace. Has nobody drawn a batch that
 * is not among the first `next`, and so all of these were drawn? Of those that wait to be handed
 * out again it knows how many, not which. */
static bool has_no_gap(const struct hr_standing *at)
{
    const struct hr_shared_state *shared = at->shared;
    const uint64_t next = hr_atom64_load_relaxed(&shared->dispenser->next); /* one thread */
    for (size_t w = 0; w < shared->workers; w++)
        if (at->worker[w] && at->worker[w]->index >= next)
            return false;
    return !shared->repeats || !hr_fates_waiting(shared->fates);
}

/* A push by ticket that has updated some blocks is finished on the copy; any other is one act. */
static bool pause(const struct hr_standing *at, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    const struct hr_hogwild_weights live = hr_hogwild_weights_of(shared);
    if (live.words && !has_no_gap(at))
        return false;
    hr_hogwild_load(&live, 0, shared->params, to->snapshot.weights);
    for (size_t w = 0; w < shared->workers; w++) {
        hr_pause_copy_state(at, w, to);
        if (!at->worker[w])
            continue;
        if (own_of(at->worker[w])->stage == PUSHES)
            finish_push(at, w, to);
        else if (is_in_hand(at, w))
            hr_pause_in_hand(at, w, at->worker[w]->index, to);
    }
    hr_ledger_pause(at, to);
    return true;
}

/* --- the run --- */

static enum hr_status prepare(struct hr_shared_state *shared)
{
    const struct hr_train_options *o = shared->options;
    uint64_t bytes;
    if (shared->outlives && o->record[0] && !strcmp(o->launch, "process"))
        return hr_fail(HR_E_USAGE, "--record: a process of hogwild may be lost in the middle of a "
                                   "push; expected --launch thread, or --on-loss stop");
    if (!hr_parse_size(o->record_block, &bytes) || bytes < 4096 || bytes > 65536)
        return hr_fail(HR_E_USAGE, "--record-block %s: expected 4K to 64K", o->record_block);
    HR_TRY(hr_setup_take(shared, sizeof(struct hr_hogwild_setup)));
    struct hr_hogwild_setup *setup = shared->setup;
    setup->by_ticket = o->record[0] || shared->repeats;
    setup->block = setup->by_ticket ? bytes / HR_LINE * (HR_LINE / sizeof(float)) : shared->params;
    if (setup->by_ticket)
        shared->guarantee = "recorded: a block at a time, no update lost; staleness unbounded, "
                            "measured";
    if (hr_shared_is_apart(shared))
        shared->guarantee = "machines' weights bit-equal after each averaging; on each no torn "
                            "values, updates may be lost; staleness unbounded, measured";
    return hr_stale_prepare(shared);
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    char stale[64] = "";
    hr_stale_describe(shared, stale, sizeof stale);
    if (hr_shared_is_apart(shared))
        snprintf(text, size, "sync-every %zu, machines averaged%s%s", shared->options->sync_every,
                 stale[0] ? ", " : "", stale);
    else
        snprintf(text, size, "%s", stale);
}

static size_t bytes(const struct hr_shared_state *shared)
{
    return hr_hogwild_bytes(shared) + hr_averaging_bytes(shared);
}

static void init(struct hr_shared_state *shared)
{
    hr_hogwild_init(shared);
    hr_averaging_init(shared);
}

const struct hr_strategy hr_strategy_hogwild = {
    .name = "hogwild",
    .guarantee = "no torn values; updates may be lost; staleness unbounded, measured",
    .options = (const char *const[]){"async-lr", "staleness-lr", "delay-compensation",
                                     "record-block", NULL},
    .rows = {HR_KEPT_SHARED, HR_KEPT_OWN, .memory = at_rest},
    .order = hr_order_of_arrival,
    .losses_are_inputs = true,
    .prepare = prepare,
    .describe = describe,
    .bytes = bytes,
    .init = init,
    .worker_own = sizeof(struct own),
    .replay_log = replay_log,
    .worker_bytes = worker_bytes,
    .start = start,
    .stop = stop,
    .span = span,
    .catch_up = catch_up,
    .lost = lost,
    .pause = pause,
};
