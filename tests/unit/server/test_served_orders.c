/* Workers of parameter servers die and come back anywhere, in orders drawn from seeds: every sample
 * is accounted for, nothing is applied twice, and the weights are those of a plain serial model
 * that is told in which order the shards took their inputs. */
#include <string.h>

#include "base/philox.h"
#include "base/size.h"
#include "shm/control.h"
#include "server/server.h"
#include "strategies/strategies.h"
#include "unit/server/served_twin.h"

enum {
    BATCHES = TWIN_BATCHES, /* in two spans */
    LIVES = 3,              /* a worker's, at most */
    SHARED_BATCH = 7,
    ACTS = 20000
};

enum state { WANTS, ASKED, HAS, COUNTED, AT_CUT, ARRIVING, RESTS, DEAD };

/* What the run under test is. */
struct kind {
    const struct hr_strategy *strategy;
    size_t servers, backups;
    bool exchanges; /* elastic-averaging */
};

struct sim {
    struct script script;
    struct kind kind;
    struct twin twin;
    enum state state[SCRIPT_WORKERS];
    size_t lives[SCRIPT_WORKERS], deaths;
    bool stops; /* the run is asked to */
    uint64_t seed, drawn, span;
    bool running;
};

static struct sim sim;

static size_t draw(size_t n)
{
    const struct hr_philox drawn = hr_random_block(sim.seed, HR_STREAM_LOST, sim.drawn++, 0);
    return drawn.v[0] % n;
}

static const struct hr_shared_state *shared(void)
{
    return &sim.script.shared;
}

static void take(size_t s, size_t w)
{
    script_serve(&sim.script, s, w);
    twin_take(&sim.twin, &sim.script.shard[s]);
}

/* --- a worker's acts --- */

static void compute(size_t w)
{
    const uint64_t index = sim.script.index[w];
    twin_compute(&sim.twin, w, index);
    script_compute(&sim.script, w, twin_gradient(index));
}

static void offer(size_t w)
{
    script_offer(&sim.script, w);
    twin_offer(&sim.twin, w);
}

static void get(size_t w)
{
    const uint64_t before = shared()->stats[w].stale.updates;
    const struct hr_task task = script_get(&sim.script, w);
    if (shared()->stats[w].stale.updates != before) /* its exchange was taken */
        sim.twin.worker[w].n = 0;
    sim.state[w] = task.kind == HR_TASK_CUT ? AT_CUT : HAS;
}

static bool may_act(size_t w)
{
    struct hr_worker *worker = &sim.script.worker[w];
    if (sim.state[w] == ASKED)
        return script_ready(&sim.script, w);
    if (sim.state[w] == ARRIVING)
        return hr_server_ready(worker);
    if (sim.state[w] == DEAD)
        return sim.lives[w] < LIVES && hr_server_may_join(shared(), w);
    return sim.state[w] != RESTS;
}

static void act(size_t w)
{
    switch (sim.state[w]) {
    case WANTS:
        script_ask(&sim.script, w);
        sim.state[w] = ASKED;
        break;
    case ASKED:
        get(w);
        break;
    case HAS:
        compute(w);
        sim.state[w] = COUNTED;
        break;
    case COUNTED:
        offer(w);
        sim.state[w] = WANTS;
        break;
    case AT_CUT:
        script_arrive(&sim.script, w);
        sim.state[w] = ARRIVING;
        break;
    case ARRIVING:
        script_has_arrived(&sim.script, w);
        sim.state[w] = RESTS;
        break;
    case RESTS:
        break;
    case DEAD:
        script_return(&sim.script, w);
        sim.lives[w]++;
        sim.state[w] = WANTS;
        break;
    }
}

/* It dies, after the act or in the middle of sending. */
static void die(size_t w, bool in_act)
{
    struct hr_ring *ring = hr_server_requests(shared(), w, 0);
    const uint64_t sent = hr_ring_committed_spsc(ring);
    if (in_act)
        act(w);
    if (hr_ring_committed_spsc(ring) != sent)
        script_unsend(&sim.script, w, draw(sim.kind.servers + 1));
    script_lose(&sim.script, w);
    sim.state[w] = DEAD;
    sim.deaths++;
}

/* --- cuts --- */

/* Those who live; and the servers know of those who do not. */
static bool all_quiescent(void)
{
    size_t resting = 0;
    for (size_t w = 0; w < shared()->workers; w++) {
        if (sim.state[w] == DEAD ? !hr_server_may_join(shared(), w) : sim.state[w] != RESTS)
            return false;
        resting += sim.state[w] == RESTS;
    }
    return resting > 0;
}

/* All go back for what waits, or on to the next span. False: that was the last. */
static bool leave_cut(void)
{
    const bool again = hr_returned_any(shared()->returned);
    for (size_t w = 0; w < shared()->workers; w++) {
        if (sim.state[w] == DEAD)
            continue;
        hr_worker_export(&sim.script.worker[w]);
        CHECK_OK(hr_rows_verify(&sim.script.worker[w]));
        twin_leave_cut(&sim.twin, w);
        hr_stats_leave_cut(&shared()->stats[w], false);
        sim.state[w] = WANTS;
    }
    if (again)
        return true;
    hr_atom64_store_release(&shared()->dispenser->cut, BATCHES);
    return ++sim.span < 2 && !hr_atom32_load_relaxed(&shared()->dispenser->stop);
}

/* --- a run --- */

static void open_run(const struct kind *kind, uint64_t seed)
{
    const size_t workers = 2 + seed / 2 % 3;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.staleness = 1;
    options.backups = hr_min_size(kind->backups, workers - 1);
    options.sync_every = TWIN_HANDS;
    options.moving_rate = 0.5;
    const struct script_plan plan = {.workers = workers,
                                     .servers = kind->servers,
                                     .batches = BATCHES,
                                     .options = &options,
                                     .outlives = true,
                                     .reissues = seed % 2};
    memset(&sim, 0, sizeof sim);
    sim.kind = *kind;
    sim.seed = seed;
    sim.running = true;
    sim.stops = draw(4) == 0;
    script_open(&sim.script, kind->strategy, plan);
    struct hr_batch_schedule *schedule = &sim.script.shared.schedule;
    schedule->batch = kind->strategy->shares_batch ? SHARED_BATCH : 1;
    schedule->samples = schedule->pass = schedule->batch * BATCHES;
    hr_atom64_store_release(&shared()->dispenser->cut, BATCHES / 2);
    sim.twin = (struct twin){.servers = kind->servers,
                             .exchanges = kind->exchanges,
                             .shares = kind->strategy->shares_batch,
                             .step = BATCHES};
}

static bool one_lives(size_t but)
{
    for (size_t w = 0; w < shared()->workers; w++)
        if (w != but && sim.state[w] != DEAD)
            return true;
    return sim.lives[but] + 1 < LIVES;
}

/* One thing that can happen, drawn from all that can. False: nothing can. */
static bool step(void)
{
    const size_t workers = shared()->workers, all = workers * (1 + sim.kind.servers);
    const size_t first = draw(all);
    for (size_t i = 0; i < all; i++) {
        const size_t what = (first + i) % all, w = what % workers, s = what / workers;
        if (s < sim.kind.servers ? !script_enabled(&sim.script, s, w) : !may_act(w))
            continue;
        if (s < sim.kind.servers)
            take(s, w);
        else if (sim.stops && !draw(60))
            hr_atom32_store_release(&shared()->dispenser->stop, 1);
        else if (sim.state[w] != DEAD && sim.deaths < 5 && !draw(24) && one_lives(w))
            die(w, draw(2));
        else
            act(w);
        return true;
    }
    return false;
}

/* Samples of gradients that came too late. */
static uint64_t dropped(void)
{
    uint64_t samples = 0;
    for (size_t w = 0; w < shared()->workers; w++)
        samples += shared()->stats[w].dropped.samples;
    return samples;
}

static void check_account(void)
{
    const bool shares = sim.kind.strategy->shares_batch;
    const uint64_t begun = hr_atom64_load_relaxed(&shared()->dispenser->next);
    uint64_t trained = 0, samples = 0, updates = 0, lost = 0, again = 0, partial = 0, batches = 0;
    double loss = 0;
    for (size_t w = 0; w < shared()->workers; w++) {
        const struct hr_worker_stats *stats = &shared()->stats[w];
        const struct hr_lost_work *work = &shared()->lost_work[w];
        samples += stats->samples;
        updates += stats->updates;
        loss += stats->epoch_loss;
        lost += work->lost_samples;
        again += work->again_batches;
        partial += work->partial;
    }
    for (size_t i = 0; i < BATCHES; i++) {
        trained += sim.twin.trained[i];
        batches += sim.twin.trained[i] == 1;
        assert_true(shares || sim.twin.trained[i] <= 1);
    }
    assert_int_equal(samples, trained);
    assert_true(loss == sim.twin.loss);
    assert_int_equal(updates, shares ? sim.script.shard[0].version : trained);
    assert_int_equal(partial, sim.twin.partial);
    if (!shares || sim.kind.backups == 0)
        assert_int_equal(trained + lost, begun * shared()->schedule.batch);
    assert_true(trained + lost + dropped() <= begun * shared()->schedule.batch);
    if (!shares && shared()->reissues)
        assert_int_equal(batches, begun);
    assert_true(shares || (shared()->reissues ? !lost : !again));
}

static void run(const struct kind *kind, uint64_t seed)
{
    size_t acts = 0;
    open_run(kind, seed);
    for (bool on = true; on; acts++) {
        const bool moved = step();
        if (all_quiescent())
            on = leave_cut();
        else if (!moved || acts == ACTS)
            fail_msg("%s, seed %llu: nothing can happen any more, after %zu acts and %zu deaths",
                     kind->strategy->name, (unsigned long long)seed, acts, sim.deaths);
    }
    check_account();
    script_close(&sim.script);
    sim.running = false;
}

static void run_many(struct kind kind)
{
    for (uint64_t i = 0; i < check_count(400, 20000); i++) {
        const uint64_t seed = 1000000 * check_seed() + i;
        run(&kind, seed);
    }
}

static void ps_async_accounts_for_every_sample(void **state)
{
    (void)state;
    for (size_t servers = 1; servers <= 3; servers++)
        run_many((struct kind){&hr_strategy_ps_async, servers, 0, false});
}

static void ssp_accounts_for_every_sample(void **state)
{
    (void)state;
    for (size_t servers = 1; servers <= 2; servers++)
        run_many((struct kind){&hr_strategy_ssp, servers, 0, false});
}

static void elastic_averaging_accounts_for_every_sample(void **state)
{
    (void)state;
    for (size_t servers = 1; servers <= 2; servers++)
        run_many((struct kind){&hr_strategy_elastic_averaging, servers, 0, true});
}

static void backup_workers_account_for_every_sample(void **state)
{
    (void)state;
    for (size_t backups = 0; backups <= 2; backups++)
        run_many((struct kind){&hr_strategy_backup_workers, 1, backups, false});
}

static int say_seed(void **state)
{
    (void)state;
    if (sim.running)
        print_error("seed %llu of %s\n", (unsigned long long)sim.seed, sim.kind.strategy->name);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ps_async_accounts_for_every_sample, say_seed),
        cmocka_unit_test_teardown(ssp_accounts_for_every_sample, say_seed),
        cmocka_unit_test_teardown(elastic_averaging_accounts_for_every_sample, say_seed),
        cmocka_unit_test_teardown(backup_workers_account_for_every_sample, say_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
