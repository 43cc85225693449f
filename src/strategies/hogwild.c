/* Hogwild: no server; workers read and update the shared weights without locks.
 *
 *   Story    a worker draws the index of a batch and computes a gradient from its private copy of
 *            the weights. Then it passes over the shared weights: it loads some, updates what it
 *            loaded, and stores that. It copies what it stores, for its next gradient: a push and
 *            the next pull are one pass, so a line that others wrote is fetched once per step. Only
 *            at the start and after a cut it pulls alone. Each worker has an optimiser state of its
 *            own; norms (--clip-norm, lars, lamb) are of its own gradient, state and copy.
 *            The rate and the gradient (--async-lr) may follow the
 *            staleness at the push's start; compensation is with each block's weights as loaded,
 *            norms are those of the uncompensated gradient.
 *   Promise  no torn values; an update that meets another's between its load and its store is lost
 *            (a sample says how many).
 *   Order    each worker starts a pass at its own stripe, so that two rarely meet on one line.
 *   Blocks   the weights, and how they are taken where none of it may be lost: hogwild.h.
 *   Source   Niu, Recht, Re, Wright, "Hogwild!", NIPS 2011.
 */
#include "strategies/hogwild.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/philox.h"
#include "base/size.h"
#include "shm/control.h"
#include "strategies/hogwild_averaged.h"
#include "strategies/strategies.h"
#include "strategy/lost_batches.h"

/* --- lost updates --- */

size_t hr_lost_line(size_t params, size_t worker, uint64_t push)
{
    const uint64_t lines = (params + HR_LOST_FLOATS - 1) / HR_LOST_FLOATS;
    const struct hr_philox drawn = hr_random_block(0, HR_STREAM_LOST, push, (uint32_t)worker);
    return (size_t)(drawn.v[0] * lines >> 32) * HR_LOST_FLOATS;
}

/* Store a pair; did it overwrite another one than `loaded`? */
static bool overwrites(struct hr_atom64 *live, struct hr_float_pair loaded,
                       struct hr_float_pair next)
{
    const struct hr_float_pair found = hr_hogwild_exchange_relaxed(live, next);
    return memcmp(&found, &loaded, sizeof found) != 0;
}

void hr_lost_store(struct hr_lost *lost, struct hr_atom64 *live, const float *loaded,
                   const float *next, size_t count)
{
    const size_t whole = count / 2;
    struct hr_float_pair before, after;
    uint64_t overwritten = 0;
    for (size_t i = 0; i < whole; i++) {
        memcpy(&before, loaded + 2 * i, sizeof before);
        memcpy(&after, next + 2 * i, sizeof after);
        overwritten += overwrites(&live[i], before, after);
    }
    if (count % 2)
        overwritten += overwrites(&live[whole], (struct hr_float_pair){loaded[count - 1], 0},
                                  (struct hr_float_pair){next[count - 1], 0});
    lost->lost += overwritten;
    lost->pairs += (count + 1) / 2;
    lost->lines++;
}

/* The next update of this worker's state, with its gradient. */
static struct hr_push push_begin(struct hr_worker *worker, uint64_t staleness)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_stale_updates *stale = shared->setup;
    struct hr_push push = {
        .step = hr_step_stale(shared, worker->index, worker->samples, ++worker->applied, staleness),
        .lambda = staleness ? stale->compensation : 0,
    };
    hr_step_measure(&push.step, worker->weights, worker->state, worker->grads, worker->ratio);
    return push;
}

/* Update w (count), which are weights [at, at + count).
 *   pulled  (count) the weights that the gradient was computed from; read if it is compensated */
static void push_update(struct hr_worker *worker, const struct hr_push *push, size_t at,
                        size_t count, const float *pulled, float *w)
{
    enum { SOME = 256 };
    const float *g = worker->grads + at;
    float carried[SOME];
    if (push->lambda <= 0) {
        hr_step_update(&push->step, at, count, w, worker->state, g);
        return;
    }
    for (size_t i = 0; i < count; i += SOME) {
        const size_t some = hr_min_size(SOME, count - i);
        const struct hr_drift drift = {pulled + i, w + i, push->lambda};
        hr_step_compensate(&push->step, at + i, some, carried, g + i, &drift);
        hr_step_update(&push->step, at + i, some, w + i, worker->state, carried);
    }
}

/* --- how many there were --- */

/* A worker's line. */
struct pushes {
    alignas(HR_LINE) struct hr_atom64 count; /* pushes completed */
    struct hr_atom64 clock;                  /* those since the last epoch's end, or AT_CUT */
    uint64_t came;                           /* clock, with which it has come to a cut */
};

static const uint64_t AT_CUT = UINT64_MAX; /* at a cut: left out of the skew */

static struct pushes *line_of(const struct hr_shared_state *shared, size_t worker)
{
    return (struct pushes *)shared->own + worker;
}

/* (workers) such lines. */
static size_t pushes_bytes(const struct hr_shared_state *shared)
{
    return shared->workers * sizeof(struct pushes);
}

static uint64_t pushes_of_others(const struct hr_worker *worker)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < worker->shared->workers; w++)
        if (w != worker->rank) /* those of other machines are 0 here: they do not meet ours */
            sum += hr_atom64_load_relaxed(&line_of(worker->shared, w)->count);
    return sum;
}

static uint64_t slowest_of(const struct hr_shared_state *shared, uint64_t most)
{
    uint64_t slowest = most;
    for (size_t w = 0; w < shared->workers; w++) {
        if (!hr_hosts_here(&shared->hosts, w))
            continue;
        const uint64_t clock = hr_atom64_load_relaxed(&line_of(shared, w)->clock);
        slowest = clock < slowest ? clock : slowest;
    }
    return slowest;
}

uint64_t hr_pushes_skew(const struct hr_worker *worker)
{
    const uint64_t mine = hr_atom64_load_relaxed(&line_of(worker->shared, worker->rank)->clock);
    return mine - slowest_of(worker->shared, mine);
}

/* Partners: the two above; counts, which order nothing. */
static void pushes_add(struct hr_worker *worker)
{
    struct pushes *mine = line_of(worker->shared, worker->rank);
    hr_atom64_store_relaxed(&mine->count, hr_atom64_load_relaxed(&mine->count) + 1);
    hr_atom64_store_relaxed(&mine->clock, hr_atom64_load_relaxed(&mine->clock) + 1);
    worker->stats->updates++;
    worker->stats->bytes_sent += worker->shared->params * sizeof(float);
}

void hr_pushes_arrive(struct hr_worker *worker)
{
    struct pushes *mine = line_of(worker->shared, worker->rank);
    if (hr_atom64_load_relaxed(&mine->clock) != AT_CUT) /* it may come to a cut again */
        mine->came = hr_atom64_load_relaxed(&mine->clock);
    hr_atom64_store_relaxed(&mine->clock, AT_CUT);
}

static void pushes_go_on(struct hr_worker *worker)
{
    struct pushes *mine = line_of(worker->shared, worker->rank);
    hr_atom64_store_relaxed(&mine->clock, hr_cut_only_quiesces(worker->shared) ? mine->came : 0);
}

static void pushes_lose(const struct hr_shared_state *shared, size_t worker)
{
    hr_atom64_store_relaxed(&line_of(shared, worker)->clock, AT_CUT);
}

/* A worker is lost: nobody is ahead of it any more. It comes back, level with the slowest. */
static void pushes_come_back(struct hr_worker *worker)
{
    const uint64_t slowest = slowest_of(worker->shared, AT_CUT);
    hr_atom64_store_relaxed(&line_of(worker->shared, worker->rank)->clock,
                            slowest == AT_CUT ? 0 : slowest);
}

static struct hr_hogwild *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

/* --- the run --- */

/* What prepare makes of the options. */
struct setup {
    struct hr_stale_updates stale; /* first: hr_step_stale */
    bool by_ticket;
    size_t block; /* floats of one, whole lines */
};

static enum hr_status hogwild_prepare(struct hr_shared_state *shared)
{
    const struct hr_train_options *o = shared->options;
    uint64_t bytes;
    if (!hr_parse_size(o->record_block, &bytes) || bytes < 4096 || bytes > 65536)
        return hr_fail(HR_E_USAGE, "--record-block %s: expected 4K to 64K", o->record_block);
    HR_TRY(hr_setup_take(shared, sizeof(struct setup)));
    struct setup *setup = shared->setup;
    setup->by_ticket = o->record[0] || shared->repeats;
    setup->block = setup->by_ticket ? bytes / HR_LINE * (HR_LINE / sizeof(float)) : shared->params;
    if (setup->by_ticket)
        shared->guarantee = "recorded: a block at a time, no update lost; staleness unbounded, "
                            "measured";
    if (hr_shared_is_multinode(shared))
        shared->guarantee = "machines' weights bit-equal after each averaging; on each no torn "
                            "values, updates may be lost; staleness unbounded, measured";
    return hr_stale_prepare(shared);
}

static void hogwild_describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    char stale[64] = "", every[60] = "";
    const bool moments = hr_state_floats(shared) > shared->params;
    hr_stale_describe(shared, stale, sizeof stale);
    if (hr_shared_is_multinode(shared))
        snprintf(every, sizeof every, "sync-every %zu, machines averaged",
                 shared->options->sync_every);
    snprintf(text, size, "%s%s%s%s%s", every, *every && *stale ? ", " : "", stale,
             moments && (*every || *stale) ? ", " : "", moments ? "private moments" : "");
}

/* Each part's bytes. */
struct sizes {
    size_t pushes, weights, words;
};

static size_t blocks_of(const struct hr_shared_state *shared)
{
    const struct setup *setup = shared->setup;
    return (shared->params + setup->block - 1) / setup->block;
}

static struct sizes sizes_of(const struct hr_shared_state *shared)
{
    const struct setup *setup = shared->setup;
    const size_t pairs = (shared->params + 1) / 2;
    return (struct sizes){
        .pushes = pushes_bytes(shared),
        .weights = hr_round_up(pairs * sizeof(struct hr_atom64), HR_LINE),
        .words = setup->by_ticket ? blocks_of(shared) * sizeof(struct hr_ticket_word) : 0,
    };
}

static size_t hogwild_bytes(const struct hr_shared_state *shared)
{
    const struct sizes sizes = sizes_of(shared);
    return sizes.pushes + sizes.weights + sizes.words + hr_averaging_bytes(shared);
}

struct hr_hogwild_weights hr_hogwild_weights_of(const struct hr_shared_state *shared)
{
    const struct setup *setup = shared->setup;
    const struct sizes sizes = sizes_of(shared);
    unsigned char *pairs = (unsigned char *)shared->own + sizes.pushes;
    unsigned char *words = pairs + sizes.weights;
    return (struct hr_hogwild_weights){
        .pairs = (void *)pairs,
        .block = setup->block,
        .blocks = blocks_of(shared),
        .words = setup->by_ticket ? (void *)words : NULL,
        .end = words + sizes.words,
    };
}

static void hogwild_init(struct hr_shared_state *shared)
{
    const struct hr_hogwild_weights weights = hr_hogwild_weights_of(shared);
    if (!shared->snapshot.live)
        hr_hogwild_store(&weights, 0, shared->params, shared->snapshot.weights);
    hr_averaging_init(shared, weights.end);
    hr_batch_states_init(shared);
}

/* While all are quiescent. */
static float *hogwild_quiescent(const struct hr_shared_state *shared)
{
    return (float *)(void *)hr_hogwild_weights_of(shared).pairs;
}

/* --- a worker's start, and cuts --- */

static void copy_all(struct hr_worker *worker)
{
    struct hr_hogwild *own = own_of(worker);
    own->seen = pushes_of_others(worker);
    hr_hogwild_load(&own->weights, 0, worker->shared->params, worker->weights);
}

static size_t hogwild_worker_bytes(const struct hr_shared_state *shared)
{
    const struct setup *setup = shared->setup;
    return setup->by_ticket ? blocks_of(shared) * (sizeof(uint64_t) + 1) : 0;
}

static enum hr_status take_tickets(struct hr_hogwild *own)
{
    const size_t n = own->weights.blocks;
    if (!own->weights.words)
        return HR_OK;
    own->ticket = calloc(n, sizeof *own->ticket + 1);
    if (!own->ticket)
        return hr_fail(HR_E_NOMEM, "no memory for %zu tickets", n);
    own->done = (unsigned char *)(own->ticket + n);
    own->pulls = true; /* at each step, since a push and a pull are noted apart */
    return HR_OK;
}

static void hogwild_stop(struct hr_worker *worker)
{
    free(own_of(worker)->ticket);
    hr_averaging_stop(own_of(worker)->averaging);
}

static enum hr_status hogwild_start(struct hr_worker *worker)
{
    struct hr_hogwild *own = own_of(worker);
    if (worker->back)
        pushes_come_back(worker);
    own->weights = hr_hogwild_weights_of(worker->shared);
    copy_all(worker);
    enum hr_status status = take_tickets(own);
    if (status == HR_OK)
        status = hr_averaging_start(worker, &own->averaging);
    if (status != HR_OK)
        hogwild_stop(worker);
    return status;
}

/* Nothing to wait for but the cut's barrier: a worker that has arrived has pushed, and all are
 * quiescent. */
static void hogwild_catch_up(struct hr_worker *worker)
{
    const struct hr_averaging *averaging = own_of(worker)->averaging;
    pushes_go_on(worker);
    if (averaging)
        hr_averaging_take_mean(averaging, worker);
    else
        copy_all(worker);
}

/* --- the next batch --- */

/* The index of its next batch, or one that is not below the cut. Those that came back come first,
 * even where the run is asked to stop. In a replay the log has the index, and here one is one less:
 * so a cut finds its index. */
static uint64_t draw_index(struct hr_worker *worker, uint64_t cut)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_dispenser *dispenser = shared->dispenser;
    const bool repeats = worker->replay.recorded;
    uint64_t recorded, index;
    if (repeats && !hr_follow_draw(worker, cut, &recorded))
        return cut;
    if (!hr_returned_take(shared->returned, &index)) {
        if (!repeats && hr_shared_quiesces(shared, hr_atom64_load_acquire(&dispenser->next)))
            return cut;
        index = hr_atom64_fetch_add_acq_rel(&dispenser->next, 1);
    }
    return repeats ? recorded : index;
}

/* False: it dies here. */
static bool may_draw(void *arg)
{
    const struct hr_worker *worker = arg;
    return !hr_replay_log_ends(&worker->replay);
}

static void begin_batch(struct hr_worker *worker, uint64_t index)
{
    worker->index = index;
    hr_batch_states_draw(worker->shared, worker->rank, index);
    hr_note(worker, HR_NOTED_BATCH, index);
    const uint64_t skew = hr_observe(worker, HR_NOTED_SKEW, hr_pushes_skew(worker));
    if (skew > worker->stats->max_skew)
        worker->stats->max_skew = skew;
    worker->stats->bytes_received += worker->shared->params * sizeof(float);
}

/* Ask, and draw the next batch: worker->index is *index; or come to a cut there: *batch false. */
static enum hr_status hogwild_draw(struct hr_rank *rank, uint64_t *index, bool *batch)
{
    struct hr_worker *worker = rank->worker;
    struct hr_hogwild *own = own_of(worker);
    HR_TRY(hr_rank_barrier(rank, NULL, may_draw, worker));
    if (own->averaging) {
        HR_TRY(hr_averaging_draw(own->averaging, rank, index, batch, &own->pulls));
    } else {
        /* Partner: the leader, at a cut. */
        const uint64_t cut = hr_atom64_load_acquire(&worker->shared->dispenser->cut);
        *index = draw_index(worker, cut);
        *batch = *index < cut;
    }
    if (*batch)
        begin_batch(worker, *index);
    else
        hr_note(worker, HR_NOTED_CUT, 0);
    return hr_replay_log_fits(worker);
}

/* --- a block, taken by ticket and given back --- */

static void count_tickets(struct hr_worker *worker)
{
    struct hr_hogwild *own = own_of(worker);
    const int64_t now = hr_clock_ns();
    worker->stats->ticket_ns += now - own->since;
    own->since = now;
}

static bool take(struct hr_worker *worker, size_t block)
{
    struct hr_hogwild *own = own_of(worker);
    struct hr_ticket_word *word = &own->weights.words[block];
    const bool turn = !worker->replay.recorded || hr_ticket_count(word) == own->ticket[block];
    if (own->done[block] || !turn || !hr_ticket_try_take(word, worker->rank, &own->ticket[block]))
        return false;
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    count_tickets(worker);
    return true;
}

/* Others may wait for it. */
static void give_back(const struct hr_shared_state *shared, size_t worker, size_t block)
{
    if (!hr_ticket_give_back(&hr_hogwild_weights_of(shared).words[block], worker))
        return;
    for (size_t w = 0; w < shared->workers; w++)
        if (w != worker)
            hr_bell_ring(&shared->control->rank[w].bell);
}

static void give(struct hr_worker *worker, size_t block)
{
    struct hr_hogwild *own = own_of(worker);
    own->since = hr_clock_ns();
    give_back(worker->shared, worker->rank, block);
    own->done[block] = 1;
    own->left--;
    worker->replay.moved++;
}

static void hogwild_lose(struct hr_shared_state *shared, size_t worker)
{
    const struct hr_hogwild_weights weights = hr_hogwild_weights_of(shared);
    hr_batch_states_lose(shared, worker);
    pushes_lose(shared, worker);
    for (size_t i = 0; weights.words && i < weights.blocks; i++)
        if (hr_ticket_is_of(&weights.words[i], worker))
            give_back(shared, worker, i);
}

/* --- a pass over the blocks --- */

/* Do what is possible now, from the worker's own place on. True: all is done. (hr_ready_fn) */
static bool go_on(void *arg)
{
    struct hr_worker *worker = arg;
    const struct hr_hogwild *own = own_of(worker);
    const size_t n = own->weights.blocks;
    size_t block = worker->rank * n / worker->shared->workers;
    for (size_t i = 0; i < n; i++) {
        const size_t begin = block * own->weights.block;
        const size_t end = hr_min_size(begin + own->weights.block, worker->shared->params);
        if (take(worker, block)) {
            own->act(worker, begin, end);
            give(worker, block);
        }
        block = block + 1 < n ? block + 1 : 0;
    }
    return own->left == 0;
}

static enum hr_status pass_by_ticket(struct hr_rank *rank, enum hr_noted kind)
{
    struct hr_worker *worker = rank->worker;
    struct hr_hogwild *own = own_of(worker);
    own->left = own->weights.blocks;
    own->since = hr_clock_ns();
    worker->replay.busy = true;
    memset(own->done, 0, own->left);
    for (size_t i = 0; worker->replay.recorded && i < own->left; i++)
        hr_follow(worker, kind, &own->ticket[i]);
    HR_TRY(hr_replay_log_fits(worker));
    hr_control_phase(worker->shared->control, worker->rank, HR_PHASE_COMMUNICATE);
    if (!go_on(worker))
        HR_TRY(hr_rank_await(rank, NULL, go_on, worker));
    for (size_t i = 0; i < own->weights.blocks; i++)
        hr_note(worker, kind, own->ticket[i]);
    worker->replay.busy = false;
    count_tickets(worker);
    return HR_OK;
}

/* Act on all weights, a block at a time, in any order: a pull, which reads them, or a push. May
 * wait by ticket only. */
static enum hr_status hogwild_pass(struct hr_rank *rank, bool pushes, hr_hogwild_fn act)
{
    struct hr_hogwild *own = own_of(rank->worker);
    if (!own->ticket) {
        act(rank->worker, 0, rank->worker->shared->params);
        return HR_OK;
    }
    own->act = act;
    own->pass = pushes ? HR_HOGWILD_PUSHES : HR_HOGWILD_PULLS;
    HR_TRY(pass_by_ticket(rank, pushes ? HR_NOTED_PUSH : HR_NOTED_PULL));
    own->pass = HR_HOGWILD_BETWEEN;
    return HR_OK;
}

static void hogwild_begin_push(struct hr_worker *worker)
{
    struct hr_hogwild *own = own_of(worker);
    const uint64_t pushes = pushes_of_others(worker);
    const uint64_t staleness = hr_observe(worker, HR_NOTED_STALENESS, pushes - own->seen);
    own->seen = pushes; /* what it loads for its update it has for its next gradient */
    hr_stale_count(&worker->stats->stale, staleness);
    own->push = push_begin(worker, staleness);
    hr_batch_states_begin_push(worker->shared, worker->rank, worker->index);
}

static void hogwild_end_push(struct hr_worker *worker)
{
    own_of(worker)->pulls = own_of(worker)->ticket;
    hr_batch_states_end_push(worker->shared, worker->rank, worker->index);
    pushes_add(worker);
}

/* --- the state between two events --- */

/* The blocks that its push has not come to, on the copy of weights and state. */
static void finish_push(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    const struct hr_hogwild *own = own_of(at->worker[worker]);
    const size_t block = own->weights.block;
    struct hr_worker copy = *at->worker[worker];
    copy.state = to->snapshot.state + worker * hr_state_floats(shared);
    for (size_t i = 0; i < own->weights.blocks; i++) {
        const size_t first = i * block, count = hr_min_size(block, shared->params - first);
        if (!own->done[i])
            push_update(&copy, &own->push, first, count, copy.weights + first,
                        to->snapshot.weights + first);
    }
    to->worker[worker].updates++;
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
    return !shared->repeats || !hr_returned_any(shared->returned);
}

/* A push by ticket that has updated some blocks is finished on the copy; any other is one act. A
 * batch is in hand from its draw to its push. */
static bool hogwild_pause(const struct hr_standing *at, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    const struct hr_hogwild_weights weights = hr_hogwild_weights_of(shared);
    if (weights.words && !has_no_gap(at))
        return false;
    hr_hogwild_load(&weights, 0, shared->params, to->snapshot.weights);
    for (size_t w = 0; w < shared->workers; w++) {
        hr_pause_copy_state(at, w, to);
        if (!at->worker[w])
            continue;
        const struct hr_hogwild *own = own_of(at->worker[w]);
        if (own->pass == HR_HOGWILD_PUSHES)
            finish_push(at, w, to);
        else if (at->stands[w] == HR_STANDS_HAS || own->pass == HR_HOGWILD_PULLS)
            hr_pause_in_hand(at, w, at->worker[w]->index, to);
    }
    hr_batch_states_pause(at, to);
    return true;
}

/* Weights that are loaded, updated and stored at a time: enough that loads do not stall on stores
 * that are not yet in the cache, and few enough that another's update rarely falls between load and
 * store. */
enum { PIECE = 512 };

/* Load some weights into the copy, update them there with the vector kernel, and store them. The
 * watched line is checked before it is overwritten. */
static void update_piece(struct hr_worker *worker, size_t at, size_t count)
{
    const struct hr_hogwild *own = worker->own;
    float *w = worker->weights + at, pulled[PIECE], loaded[HR_LOST_FLOATS];
    const bool watched = own->watched >= at && own->watched < at + count;
    const size_t before = watched ? own->watched - at : count;
    const size_t length = hr_min_size(HR_LOST_FLOATS, count - before), behind = before + length;
    if (own->push.lambda > 0)
        memcpy(pulled, w, count * sizeof *w);
    hr_hogwild_load(&own->weights, at, count, w);
    if (watched)
        memcpy(loaded, w + before, length * sizeof *w);
    push_update(worker, &own->push, at, count, pulled, w);
    hr_hogwild_store(&own->weights, at, before, w);
    if (!watched)
        return;
    hr_lost_store(&worker->stats->lost, own->weights.pairs + own->watched / 2, loaded, w + before,
                  length);
    hr_hogwild_store(&own->weights, at + behind, count - behind, w + behind);
}

static void update_pieces(struct hr_worker *worker, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at += PIECE)
        update_piece(worker, at, hr_min_size(PIECE, end - at));
}

/* From the worker's own stripe on, where that begins in the block. */
static void update(struct hr_worker *worker, size_t begin, size_t end)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t stripe = hr_stripe_begin(shared->params, shared->workers, worker->rank);
    const size_t from = stripe > begin && stripe < end ? stripe : begin;
    update_pieces(worker, from, end);
    update_pieces(worker, begin, from);
}

static enum hr_status push(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    struct hr_hogwild *own = worker->own;
    hogwild_begin_push(worker);
    own->watched = own->ticket
                       ? SIZE_MAX /* none is lost */
                       : hr_lost_line(worker->shared->params, worker->rank, worker->applied);
    HR_TRY(hogwild_pass(rank, true, update));
    hogwild_end_push(worker);
    return HR_OK;
}

static void load(struct hr_worker *worker, size_t begin, size_t end)
{
    const struct hr_hogwild *own = worker->own;
    hr_hogwild_load(&own->weights, begin, end - begin, worker->weights + begin);
}

static enum hr_status pull(struct hr_rank *rank)
{
    struct hr_hogwild *own = rank->worker->own;
    if (!own->pulls)
        return HR_OK;
    own->seen = pushes_of_others(rank->worker); /* before it loads: later ones it may not see */
    HR_TRY(hogwild_pass(rank, false, load));
    own->pulls = own->ticket;
    return HR_OK;
}

static enum hr_status span(struct hr_rank *rank)
{
    uint64_t index;
    bool batch;
    HR_TRY(hogwild_draw(rank, &index, &batch));
    while (batch) {
        HR_TRY(pull(rank));
        HR_TRY(hr_rank_gradient(rank, index, NULL));
        HR_TRY(push(rank));
        HR_TRY(hogwild_draw(rank, &index, &batch));
    }
    HR_TRY(hr_rank_come_to_cut(rank, index));
    hr_pushes_arrive(rank->worker);
    return hr_rank_await_cut(rank, hr_always_ready, rank->worker);
}

const struct hr_strategy hr_strategy_hogwild = {
    .name = "hogwild",
    .guarantee = "no torn values; updates may be lost; staleness unbounded, measured",
    .options = (const char *const[]){"async-lr", "staleness-lr", "delay-compensation", NULL},
    .rows = {HR_KEPT_SHARED, HR_KEPT_OWN, .memory = hogwild_quiescent},
    .order = hr_order_of_arrival,
    .prepare = hogwild_prepare,
    .describe = hogwild_describe,
    .bytes = hogwild_bytes,
    .init = hogwild_init,
    .worker_own = sizeof(struct hr_hogwild),
    .worker_bytes = hogwild_worker_bytes,
    .start = hogwild_start,
    .stop = hogwild_stop,
    .span = span,
    .catch_up = hogwild_catch_up,
    .lost = hogwild_lose,
    .pause = hogwild_pause,
};
