#include "strategies/hogwild_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/size.h"
#include "shm/control.h"
#include "strategies/hogwild_averaged.h"
#include "strategy/ledger.h"

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

enum hr_status hr_hogwild_prepare(struct hr_shared_state *shared)
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
    if (hr_shared_is_apart(shared))
        shared->guarantee = "machines' weights bit-equal after each averaging; on each no torn "
                            "values, updates may be lost; staleness unbounded, measured";
    return hr_stale_prepare(shared);
}

void hr_hogwild_describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    char stale[64] = "";
    hr_stale_describe(shared, stale, sizeof stale);
    if (hr_shared_is_apart(shared))
        snprintf(text, size, "sync-every %zu, machines averaged%s%s", shared->options->sync_every,
                 stale[0] ? ", " : "", stale);
    else
        snprintf(text, size, "%s", stale);
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
        .pushes = hr_pushes_bytes(shared),
        .weights = hr_round_up(pairs * sizeof(struct hr_atom64), HR_LINE),
        .words = setup->by_ticket ? blocks_of(shared) * sizeof(struct hr_ticket_word) : 0,
    };
}

size_t hr_hogwild_bytes(const struct hr_shared_state *shared)
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

void hr_hogwild_init(struct hr_shared_state *shared)
{
    const struct hr_hogwild_weights weights = hr_hogwild_weights_of(shared);
    if (!shared->snapshot.live)
        hr_hogwild_store(&weights, 0, shared->params, shared->snapshot.weights);
    hr_averaging_init(shared, weights.end);
}

float *hr_hogwild_at_rest(const struct hr_shared_state *shared)
{
    return (float *)(void *)hr_hogwild_weights_of(shared).pairs;
}

/* --- a worker's start, and cuts --- */

static void copy_all(struct hr_worker *worker)
{
    struct hr_hogwild *own = own_of(worker);
    own->seen = hr_pushes_of_others(worker);
    hr_hogwild_load(&own->weights, 0, worker->shared->params, worker->weights);
}

size_t hr_hogwild_worker_bytes(const struct hr_shared_state *shared)
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

enum hr_status hr_hogwild_start(struct hr_worker *worker)
{
    struct hr_hogwild *own = own_of(worker);
    if (worker->back)
        hr_pushes_come_back(worker);
    own->weights = hr_hogwild_weights_of(worker->shared);
    copy_all(worker);
    enum hr_status status = take_tickets(own);
    if (status == HR_OK)
        status = hr_averaging_start(worker, &own->averaging);
    if (status != HR_OK)
        hr_hogwild_stop(worker);
    return status;
}

void hr_hogwild_stop(struct hr_worker *worker)
{
    free(own_of(worker)->ticket);
    hr_averaging_stop(own_of(worker)->averaging);
}

/* Nothing to wait for but the cut's barrier: a worker that has arrived has pushed, and all rest. */
void hr_hogwild_catch_up(struct hr_worker *worker)
{
    const struct hr_averaging *averaging = own_of(worker)->averaging;
    hr_pushes_go_on(worker);
    if (averaging)
        hr_averaging_take_mean(averaging, worker);
    else
        copy_all(worker);
}

/* --- the next batch --- */

/* The index of its next batch, or one that is not below the cut. Those of lost workers come first,
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
    if (!hr_fates_take(shared->fates, &index)) {
        if (!repeats && hr_shared_rests(shared, hr_atom64_load_acquire(&dispenser->next)))
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
    hr_ledger_draw(worker->shared, worker->rank, index);
    hr_note(worker, HR_NOTED_BATCH, index);
    const uint64_t skew = hr_observe(worker, HR_NOTED_SKEW, hr_pushes_skew(worker));
    if (skew > worker->stats->max_skew)
        worker->stats->max_skew = skew;
    worker->stats->bytes_received += worker->shared->params * sizeof(float);
}

enum hr_status hr_hogwild_draw(struct hr_rank *rank, uint64_t *index, bool *batch)
{
    struct hr_worker *worker = rank->worker;
    struct hr_hogwild *own = own_of(worker);
    HR_TRY(hr_rank_meet(rank, NULL, may_draw, worker));
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

void hr_hogwild_lose(struct hr_shared_state *shared, size_t worker)
{
    const struct hr_hogwild_weights weights = hr_hogwild_weights_of(shared);
    hr_pushes_lose(shared, worker);
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

enum hr_status hr_hogwild_pass(struct hr_rank *rank, bool pushes, hr_hogwild_fn act)
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

void hr_hogwild_begin_push(struct hr_worker *worker)
{
    struct hr_hogwild *own = own_of(worker);
    const uint64_t pushes = hr_pushes_of_others(worker);
    const uint64_t staleness = hr_observe(worker, HR_NOTED_STALENESS, pushes - own->seen);
    own->seen = pushes; /* what it loads for its update it has for its next gradient */
    hr_stale_count(&worker->stats->stale, staleness);
    own->push = hr_push_begin(worker, staleness);
    hr_ledger_begin_push(worker->shared, worker->rank, worker->index);
}

void hr_hogwild_end_push(struct hr_worker *worker)
{
    own_of(worker)->pulls = own_of(worker)->ticket;
    hr_ledger_end_push(worker->shared, worker->rank, worker->index);
    hr_pushes_add(worker);
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
            hr_push_update(&copy, &own->push, first, count, copy.weights + first,
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
    return !shared->repeats || !hr_fates_waiting(shared->fates);
}

/* A push by ticket that has updated some blocks is finished on the copy; any other is one act. A
 * batch is in hand from its draw to its push. */
bool hr_hogwild_pause(const struct hr_standing *at, struct hr_pause *to)
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
    hr_ledger_pause(at, to);
    return true;
}
