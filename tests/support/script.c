#include "support/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "options/choices.h"
#include "shm/control.h"
#include "server/server.h"
#include "strategies/hogwild.h"
#include "strategies/strategies.h"
#include "strategy/lost_batches.h"
#include "strategy/peers.h"
#include "support/check.h"

static void *carve(struct script *script, size_t bytes)
{
    void *at = script->arena + script->used * HR_LINE;
    script->used += (bytes + HR_LINE - 1) / HR_LINE;
    assert_true(script->used <= SCRIPT_LINES);
    return at;
}

static void lay_out(struct script *script)
{
    struct hr_shared_state *shared = &script->shared;
    shared->dispenser = carve(script, sizeof *shared->dispenser);
    shared->stats = carve(script, shared->workers * sizeof *shared->stats);
    shared->active =
        carve(script, sizeof *shared->active + sizeof *shared->active->rank * SCRIPT_WORKERS);
    shared->returned = carve(script, hr_returned_bytes(SCRIPT_FATES));
    shared->lost_work = carve(script, shared->workers * sizeof *shared->lost_work);
    shared->control = carve(script, hr_control_bytes(shared->workers + shared->servers));
    shared->weights = script->pointers;
    shared->grads = script->pointers + SCRIPT_WORKERS;
    for (size_t w = 0; w < shared->workers; w++) {
        shared->weights[w] = carve(script, shared->params * sizeof(float));
        shared->grads[w] = carve(script, shared->params * sizeof(float));
    }
    shared->snapshot.weights = carve(script, shared->params * sizeof(float));
    shared->snapshot.state =
        carve(script, hr_state_floats(shared) * shared->snapshot.state_copies * sizeof(float));
    shared->snapshot.applied = carve(script, shared->snapshot.state_copies * sizeof(uint64_t));
    shared->snapshot.replicas =
        carve(script, shared->snapshot.replica_copies * shared->params * sizeof(float));
    shared->snapshot.apart = carve(script, sizeof *shared->snapshot.apart);
    shared->snapshot.losses = &script->losses;
    shared->staleness = carve(script, hr_staleness_bytes(shared));
    shared->stragglers = carve(script, hr_stragglers_bytes(shared->workers));
    if (shared->strategy->bytes)
        shared->own = carve(script, shared->strategy->bytes(shared));
    if (hr_peers_bytes(shared))
        shared->peers = carve(script, hr_peers_bytes(shared));
    if (hr_batch_states_bytes(shared))
        shared->batch_states = carve(script, hr_batch_states_bytes(shared));
}

static void start_worker(struct script *script, size_t w)
{
    struct hr_shared_state *shared = &script->shared;
    script->worker[w] = (struct hr_worker){.shared = shared,
                                           .rank = w,
                                           .group_rank = w,
                                           .group_size = shared->workers,
                                           .back = hr_roster_lost(shared->control, w) > 0,
                                           .stats = &shared->stats[w],
                                           .weights = shared->weights[w],
                                           .grads = shared->grads[w],
                                           .steps = shared->stats[w].steps,
                                           .cut = shared->schedule.end};
    CHECK_OK(hr_worker_start(&script->worker[w]));
}

static void start_ranks(struct script *script)
{
    struct hr_shared_state *shared = &script->shared;
    for (size_t w = 0; w < shared->workers; w++)
        start_worker(script, w);
    for (size_t s = 0; s < shared->servers; s++)
        CHECK_OK(hr_shard_start(&script->shard[s], shared, s));
}

static struct hr_optimizer cut_into_keys(struct script *script, const struct script_plan *plan)
{
    static const size_t whole = 0;
    const size_t *begins = plan->nkeys ? plan->begins : &whole;
    const size_t params = plan->params ? plan->params : SCRIPT_PARAMS;
    const size_t nkeys = plan->nkeys ? plan->nkeys : 1;
    assert_true(nkeys <= SCRIPT_KEYS);
    for (size_t i = 0; i < nkeys; i++) {
        const size_t end = i + 1 < nkeys ? begins[i + 1] : params;
        script->segment[i] = (struct hr_param_segment){
            begins[i], end - begins[i], plan->roles ? plan->roles[i] : HR_SEGMENT_TRAINED};
    }
    return (struct hr_optimizer){.rule = hr_rule_at(0) /* sgd */,
                                 .segments = script->segment,
                                 .nsegments = nkeys,
                                 .params = params};
}

void script_open(struct script *script, const struct hr_strategy *strategy, struct script_plan plan)
{
    assert_true(plan.workers <= SCRIPT_WORKERS && plan.servers <= SCRIPT_SERVERS);
    memset(script, 0, sizeof *script);
    script->arena = aligned_alloc(HR_LINE, SCRIPT_LINES * HR_LINE);
    assert_non_null(script->arena);
    memset(script->arena, 0, SCRIPT_LINES * HR_LINE);
    hr_train_defaults(&script->options);
    if (plan.options)
        script->options = *plan.options;
    const struct hr_choices choices = hr_choices_of(&script->options);
    const struct hr_optimizer optimizer = cut_into_keys(script, &plan);
    const uint64_t batch = strategy->shares_batch ? plan.workers : 1;
    script->shared = (struct hr_shared_state){
        .strategy = strategy,
        .options = &script->options,
        .optimizer = optimizer,
        .schedule = {.samples = batch * plan.batches,
                     .pass = batch * plan.batches,
                     .batch = batch,
                     .batches_per_epoch = plan.batches,
                     .levels = plan.outlives,
                     .end = plan.batches,
                     .lr = {.kind = HR_LR_CONSTANT, .peak = 1, .epochs = 1},
                     .lr_factor = 1},
        .workers = plan.workers,
        .servers = plan.servers,
        .params = optimizer.params,
        .node_workers = plan.node_workers,
        .hosts = plan.hosts,
        .outlives = plan.outlives,
        .overlaps = choices.overlap == HR_OVERLAP_ON,
        .slows = choices.staleness_lr == HR_STALENESS_LR_INVERSE,
        .reissues = plan.reissues,
        .snapshot = {.state_copies = strategy->rows.state == HR_KEPT_OWN ? plan.workers : 1,
                     .replica_copies = strategy->rows.weights == HR_KEPT_MEAN || strategy->rows.due
                                           ? plan.workers
                                           : 0},
    };
    CHECK_OK(hr_strategy_prepare(&script->shared));
    if (script->options.compress[0])
        CHECK_OK(hr_compression_begin(&script->shared, &script->compression));
    lay_out(script);
    hr_control_init(script->shared.control, plan.workers + script->shared.servers);
    hr_atom64_store_relaxed(&script->shared.dispenser->cut, plan.batches);
    hr_atom64_store_relaxed(&script->shared.dispenser->stop_at, UINT64_MAX);
    hr_active_fill(&script->shared);
    script->shared.returned->room = SCRIPT_FATES;
    hr_strategy_init(&script->shared);
    hr_staleness_init(&script->shared);
    CHECK_OK(hr_fibres_open(plan.workers, 0, &script->fibres));
    start_ranks(script);
}

void script_close(struct script *script)
{
    hr_fibres_close(script->fibres);
    for (size_t w = 0; w < script->shared.workers; w++)
        if (!script->gone[w])
            hr_worker_stop(&script->worker[w]);
    for (size_t s = 0; s < script->shared.servers; s++)
        hr_shard_stop(&script->shard[s]);
    hr_strategy_forget(&script->shared);
    hr_compression_fini(&script->compression);
    free(script->arena);
}

/* --- a worker's span: from one word of the test to the next --- */

static enum hr_status stand(struct hr_rank *rank)
{
    if (rank->where != HR_ARRIVED)
        hr_fibre_wait();
    return HR_OK;
}

static enum hr_status wait_until(struct hr_rank *rank, struct hr_bell *bell)
{
    (void)bell;
    while (!rank->ready(rank->arg))
        hr_fibre_wait();
    return HR_OK;
}

static enum hr_status repeat(struct hr_rank *rank)
{
    (void)rank;
    return hr_fail(HR_E_FAILED, "no script loses pushes");
}

/* script_compute has computed it. */
static enum hr_status has_gradient(struct hr_rank *rank)
{
    (void)rank;
    return HR_OK;
}

static bool may_arrive(void *arg)
{
    (void)arg;
    return true;
}

static enum hr_status live(void *rank)
{
    return hr_rank_span(rank);
}

static void go_on(struct script *script, size_t w)
{
    enum hr_status status = HR_OK;
    (void)hr_fibre_run(script->fibres, w, &status);
    CHECK_OK(status);
}

static enum hr_stand stands(struct script *script, size_t w)
{
    static const struct hr_rank_ways ways = {stand, wait_until, repeat, has_gradient};
    if (hr_fibre_lives(script->fibres, w))
        return script->rank[w].where;
    script->rank[w] = (struct hr_rank){.ways = &ways,
                                       .worker = &script->worker[w],
                                       .task = &script->task[w],
                                       .may_arrive = may_arrive};
    hr_fibre_start(script->fibres, w, live, &script->rank[w]);
    go_on(script, w);
    return script->rank[w].where;
}

/* Where a test leaves out what would come before, a gradient or a cut, a span begins anew. */
void script_ask(struct script *script, size_t w)
{
    if (stands(script, w) != HR_WANTS)
        hr_fibre_drop(script->fibres, w);
    assert_int_equal(stands(script, w), HR_WANTS);
    go_on(script, w);
}

bool script_ready(struct script *script, size_t w)
{
    if (stands(script, w) != HR_ASKED)
        script_ask(script, w);
    return script->rank[w].ready(script->rank[w].arg);
}

bool script_look(struct script *script, size_t w)
{
    bool asked = true;
    while (asked && script_ready(script, w)) {
        go_on(script, w);
        asked = script->rank[w].where == HR_ASKED;
    }
    return !asked;
}

struct hr_task script_get(struct script *script, size_t w)
{
    assert_true(script_look(script, w));
    script->index[w] = script->task[w].index;
    return script->task[w];
}

void script_offer(struct script *script, size_t w)
{
    assert_int_equal(stands(script, w), HR_HAS);
    go_on(script, w);
}

void script_arrive(struct script *script, size_t w)
{
    assert_int_equal(stands(script, w), HR_AT_CUT);
    go_on(script, w);
}

bool script_has_arrived(struct script *script, size_t w)
{
    const struct hr_rank *rank = &script->rank[w];
    assert_int_equal(stands(script, w), HR_ARRIVING);
    if (!rank->ready(rank->arg))
        return false;
    go_on(script, w);
    return true;
}

static size_t share_of(const struct script *script, size_t w)
{
    const struct hr_shared_state *shared = &script->shared;
    const struct hr_worker *worker = &script->worker[w];
    const size_t n = hr_batch_schedule_batch(&shared->schedule, script->index[w]).count;
    return shared->strategy->shares_batch
               ? hr_split_begin(n, worker->group_size, worker->group_rank + 1) -
                     hr_split_begin(n, worker->group_size, worker->group_rank)
               : 1;
}

void script_compute(struct script *script, size_t w, float g)
{
    struct hr_worker *worker = &script->worker[w];
    const size_t samples = share_of(script, w);
    for (size_t i = 0; i < script->shared.params; i++)
        worker->grads[i] = g * (float)samples;
    hr_stats_begin(worker->stats, script->index[w]);
    worker->stats->steps = ++worker->steps;
    worker->samples = samples;
    worker->epoch_loss = worker->stats->epoch_loss;
    worker->stats->samples += samples;
    worker->stats->epoch_samples += samples;
    worker->stats->epoch_loss += (double)g;
    hr_atom64_store_relaxed(&worker->stats->seen, worker->stats->samples);
    hr_stats_end(worker->stats);
}

void script_give(struct script *script, size_t w, float g)
{
    script_compute(script, w, g);
    script_offer(script, w);
}

void script_lose(struct script *script, size_t w)
{
    struct hr_shared_state *shared = &script->shared;
    script->gone[w] = true;
    hr_fibre_drop(script->fibres, w);
    hr_worker_drop(&script->worker[w]);
    hr_stats_mend(&shared->stats[w]);
    if (shared->strategy->lost)
        shared->strategy->lost(shared, w);
    hr_roster_lose(shared->control, w, shared->strategy->synchronous);
}

void script_return(struct script *script, size_t w)
{
    assert_true(hr_server_may_join(&script->shared, w));
    start_worker(script, w);
    hr_roster_welcome(script->shared.control, w);
    script->gone[w] = false;
}

bool script_enabled(struct script *script, size_t s, size_t w)
{
    unsigned char enabled[SCRIPT_WORKERS] = {0};
    enabled[w] = 1;
    script->shared.strategy->enabled(&script->shard[s], enabled);
    for (size_t i = 0; i < SCRIPT_WORKERS; i++)
        assert_true(i == w || !enabled[i]); /* it is not asked about them, and does not look */
    return enabled[w];
}

void script_serve(struct script *script, size_t s, size_t w)
{
    assert_true(script_enabled(script, s, w));
    script->shared.strategy->take(&script->shard[s], w);
}

void script_serve_all(struct script *script, size_t w)
{
    for (size_t s = 0; s < script->shared.servers; s++)
        script_serve(script, s, w);
}

struct hr_task script_read(struct script *script, size_t w)
{
    script_ask(script, w);
    script_serve_all(script, w);
    return script_get(script, w);
}

void script_push(struct script *script, size_t w, float g)
{
    script_give(script, w, g);
    script_serve_all(script, w);
}

void script_reactivate(struct script *script)
{
    struct hr_active *active = script->shared.active;
    active->n = 0;
    for (size_t w = 0; w < script->shared.workers; w++)
        if (!script->gone[w])
            active->rank[active->n++] = (uint16_t)w;
    for (size_t i = 0; i < active->n; i++) {
        script->worker[active->rank[i]].group_rank = i;
        script->worker[active->rank[i]].group_size = active->n;
    }
}

void script_restart(struct script *script, uint64_t index)
{
    struct hr_shared_state *shared = &script->shared;
    memset(shared->own, 0, shared->strategy->bytes(shared));
    hr_strategy_init(shared);
    for (size_t i = 0; i < shared->active->n; i++) {
        struct hr_worker *worker = &script->worker[shared->active->rank[i]];
        hr_fibre_drop(script->fibres, shared->active->rank[i]);
        hr_worker_drop(worker);
        CHECK_OK(hr_worker_start(worker));
        worker->index = index;
    }
}

/* Where the test says that there is a cut, and not its task: beside its span. */
static void arrive(struct script *script, size_t w)
{
    const struct hr_strategy *strategy = script->shared.strategy;
    if (stands(script, w) == HR_AT_CUT)
        script_arrive(script, w);
    else if (strategy == &hr_strategy_hogwild)
        hr_pushes_arrive(&script->worker[w]);
    else if (hr_strategy_is_served(strategy))
        hr_server_ask(&script->worker[w], HR_CUT, 0);
    script_serve_all(script, w);
}

static void leave_cut(struct script *script, size_t w)
{
    struct hr_worker *worker = &script->worker[w];
    if (stands(script, w) == HR_ARRIVING) {
        assert_true(script_has_arrived(script, w));
    } else if (hr_strategy_is_served(script->shared.strategy)) {
        assert_true(hr_server_ready(worker));
        hr_server_collect(worker);
    }
    hr_worker_export(worker);
}

void script_cut(struct script *script)
{
    for (size_t w = 0; w < script->shared.workers; w++)
        if (!script->gone[w])
            arrive(script, w);
    for (size_t w = 0; w < script->shared.workers; w++)
        if (!script->gone[w])
            leave_cut(script, w);
}

void script_unsend(struct script *script, size_t w, size_t n)
{
    const size_t servers = script->shared.servers;
    for (size_t k = n; k < servers; k++) {
        struct hr_ring *ring = hr_server_requests(&script->shared, w, (k + w) % servers);
        hr_atom64_store_relaxed(&ring->tail, hr_atom64_load_relaxed(&ring->tail) - 1);
    }
}
