/* Shards on two ranks, one of which dies between any two of its steps: each gradient is in the
 * weights once, and whatever a worker has seen stays there.
 *
 * Gradient of batch i is 2^i, and an update subtracts it: so the weights are a set of batches. */
#include <string.h>

#include "base/philox.h"
#include "shm/control.h"
#include "server/server_replica.h"
#include "strategies/strategies.h"
#include "support/scratch.h"
#include "trace/trace_log.h"
#include "unit/server/replica_script.h"

enum state { WANTS, ASKED, HAS, ARRIVING, ARRIVED };

static struct sim {
    uint64_t seed;
    uint32_t draws;
    enum state state[WORKERS];
    unsigned handed[BATCHES];      /* how often */
    uint32_t read[2][BATCHES + 1]; /* by shard and version: batches in weights that were read */
    bool was_read[2][BATCHES + 1];
    uint32_t pushed;
    bool blind; /* nobody looks at weights */
    bool dead[SCRIPT_SERVERS];
    size_t deaths;
    uint64_t again; /* entries of replies that were given anew */
} sim;

static uint32_t draw(uint32_t n)
{
    return hr_random_block(sim.seed, 1, sim.draws++, 0).v[0] % n;
}

/* --- what stands in weights --- */

static uint32_t batches_in(const float *weights, size_t shard)
{
    const size_t begin = hr_server_slice(shared(), shard),
                 end = hr_server_slice(shared(), shard + 1);
    const float sum = -weights[begin];
    for (size_t i = begin; i < end; i++)
        assert_true(weights[i] == -sum); /* no slice is torn */
    assert_true(sum >= 0 && sum < (float)(1 << BATCHES));
    return (uint32_t)sum;
}

/* What was read at a version has all that was read at earlier ones, and no more than was pushed. */
static void look_at_weights(size_t w)
{
    for (size_t s = 0; s < shared()->servers && !sim.blind; s++) {
        const struct hr_message *reply = hr_ring_peek_spsc(hr_server_replies(shared(), w, s));
        if (reply->kind != HR_WEIGHTS)
            continue;
        const uint32_t in = batches_in(shared()->weights[w], s);
        assert_int_equal(in & ~sim.pushed, 0);
        assert_int_equal(__builtin_popcount(in), reply->sequence);
        for (size_t v = 0; v <= BATCHES; v++) {
            const uint32_t both = in & sim.read[s][v];
            assert_true(!sim.was_read[s][v] ||
                        both == (v <= reply->sequence ? sim.read[s][v] : in));
        }
        sim.read[s][reply->sequence] = in;
        sim.was_read[s][reply->sequence] = true;
    }
}

/* --- workers --- */

static void take_task(size_t w)
{
    look_at_weights(w);
    const struct hr_task task = script_get(&script, w);
    sim.state[w] = task.kind == HR_TASK_BATCH ? HAS : ARRIVING;
    if (task.kind == HR_TASK_BATCH)
        sim.handed[task.index]++;
    else
        shared()->strategy->arrive(&script.worker[w]);
}

static void act(size_t w)
{
    const struct hr_strategy *strategy = shared()->strategy;
    struct hr_worker *worker = &script.worker[w];
    switch (sim.state[w]) {
    case WANTS:
        script_ask(&script, w);
        sim.state[w] = ASKED;
        break;
    case ASKED:
        if (strategy->ready(worker))
            take_task(w);
        break;
    case HAS:
        sim.pushed |= 1u << script.index[w];
        script_give(&script, w, (float)(1u << script.index[w]));
        sim.state[w] = WANTS;
        break;
    case ARRIVING:
        if (!strategy->arrived(worker))
            break;
        hr_worker_at_cut(worker);
        sim.state[w] = ARRIVED;
        break;
    case ARRIVED:
        break;
    }
}

/* All have arrived: the snapshot has all, and the leader lets them go on. */
static bool cut(uint64_t index)
{
    for (size_t w = 0; w < WORKERS; w++)
        if (sim.state[w] != ARRIVED)
            return false;
    for (size_t s = 0; s < shared()->servers; s++)
        assert_int_equal(batches_in(shared()->snapshot.weights, s), (1u << index) - 1);
    assert_int_equal(shared()->snapshot.applied[0], index);
    assert_int_equal(hr_atom64_load_relaxed(&shared()->dispenser->next), index);
    hr_atom64_store_release(&shared()->dispenser->cut, BATCHES);
    for (size_t w = 0; w < WORKERS; w++)
        sim.state[w] = WANTS;
    return true;
}

/* --- servers --- */

static uint64_t entries_of(size_t shard)
{
    return shared()->logs ? hr_trace_log_entries(&shared()->logs[shard]) : 0;
}

static size_t input_of(struct hr_shard *shard)
{
    unsigned char enabled[WORKERS];
    memset(enabled, 1, sizeof enabled);
    const bool led = shard->leads;
    const uint64_t entries = entries_of(shard->number);
    hr_replica_look(shard);
    sim.again += led ? entries_of(shard->number) - entries : 0;
    hr_replica_enabled(shard, enabled);
    const uint32_t first = draw(WORKERS);
    for (size_t k = 0; k < WORKERS; k++)
        if (enabled[(first + k) % WORKERS])
            return (first + k) % WORKERS;
    return WORKERS;
}

static void step(size_t owner)
{
    const size_t w = input_of(&script.shard[owner]);
    if (w < WORKERS)
        hr_replica_take(&script.shard[owner], w);
}

/* --- death --- */

/* It had taken a message, and not logged it; or it had, and that is not in the trace of the run. */
static void die_before_it_logs(struct hr_shard *shard)
{
    static unsigned char kept[1 << 17];
    const size_t w = input_of(shard);
    const struct hr_trace_log *log = shared()->logs ? &shared()->logs[shard->number] : NULL;
    if (w == WORKERS)
        return;
    if (log)
        memcpy(kept, log->tail, hr_trace_tail_bytes(WORKERS));
    hr_replica_take(shard, w);
    if (log)
        memcpy(log->tail, kept, hr_trace_tail_bytes(WORKERS));
    if (!log || draw(2))
        hr_atom64_store_relaxed(&shard->log->tail, hr_atom64_load_relaxed(&shard->log->tail) - 1);
}

/* It had taken an entry, and some of what others see of it was not done: what stands last in the
 * list. What it was about to write is not what it would have been. */
static void die_before_it_says(struct hr_shard *shard)
{
    enum { HANDED, COPIED, SAID };
    const uint64_t next = hr_atom64_load_relaxed(&shared()->dispenser->next);
    const uint32_t done = draw(SAID + 1), told = draw(WORKERS + 1);
    const size_t w = input_of(shard);
    uint64_t tail[WORKERS];
    if (w == WORKERS)
        return;
    for (size_t k = 0; k < WORKERS; k++)
        tail[k] = hr_ring_committed_spsc(hr_server_replies(shared(), k, shard->number));
    hr_replica_take(shard, w);
    if (done < HANDED + 1)
        hr_atom64_store_relaxed(&shared()->dispenser->next, next);
    for (size_t k = done == SAID ? told : 0; k < WORKERS; k++) {
        struct hr_ring *ring = hr_server_replies(shared(), k, shard->number);
        if (hr_ring_committed_spsc(ring) == tail[k])
            continue;
        hr_atom64_store_relaxed(&ring->tail, tail[k]);
        memset(shared()->weights[k] + shard->first, 0xff, shard->count / 2 * sizeof(float));
    }
    if (shard->taken.kind == HR_CUT && done < COPIED + 1)
        memset(shared()->snapshot.weights + shard->first, 0xff, shard->count / 2 * sizeof(float));
}

static void die(size_t owner)
{
    struct hr_shard *shard = &script.shard[owner];
    if (sim.dead[owner] || !shard->log || !hr_replica_lives(shared(), WORKERS + owner))
        return;
    const bool between = draw(4) == 0;
    hr_replica_look(shard);
    if (!between && shard->leads)
        die_before_it_logs(shard);
    else if (!between)
        die_before_it_says(shard);
    bury(owner);
    sim.dead[owner] = true;
    sim.deaths++;
}

/* --- a run --- */

static void open_run(const struct hr_strategy *strategy, size_t servers)
{
    static struct hr_train_options options; /* read for as long as the run is open */
    hr_train_defaults(&options);
    options.staleness = 1 + draw(3);
    open_with(strategy, servers, 2, &options);
    hr_atom64_store_release(&shared()->dispenser->cut, SPAN);
}

static void play_span(uint64_t index, uint32_t kills_in)
{
    const uint32_t owners = (uint32_t)hr_owners(shared());
    for (size_t events = 0; !cut(index); events++) {
        assert_true(events < 10000);
        if (draw(kills_in) == 0)
            die(draw(owners));
        const uint32_t who = draw(WORKERS + owners);
        if (who < WORKERS)
            act(who);
        else if (!sim.dead[who - WORKERS])
            step(who - WORKERS);
    }
}

/* What the shards that are left have taken stands in their logs, once. */
static void check_logs(void)
{
    uint64_t taken = 0, entries = 0;
    for (size_t s = 0; shared()->logs && s < shared()->servers; s++) {
        const size_t owner = sim.dead[s] ? s + shared()->servers : s;
        for (size_t w = 0; w < WORKERS; w++)
            taken += script.shard[owner].worker[w].number;
        entries += entries_of(s);
    }
    assert_int_equal(entries, taken + sim.again);
}

/* logs: (servers) of a recorded run, or NULL. */
static void check_seed_of(const struct hr_strategy *strategy, uint64_t seed,
                          struct hr_trace_log *logs)
{
    sim = (struct sim){.seed = seed};
    open_run(strategy, 1 + seed % 2);
    shared()->logs = logs;
    const uint32_t kills_in = 20u << seed % 5; /* some die at the first cut, some at the second */
    play_span(SPAN, kills_in);
    play_span(BATCHES, kills_in);
    for (size_t i = 0; i < BATCHES; i++)
        assert_int_equal(sim.handed[i], 1);
    assert_int_equal(hr_atom32_load_relaxed(&shared()->control->abort), 0);
    check_logs();
    script_close(&script);
}

static void one_of_two_may_die_between_any_two_steps(void **state)
{
    (void)state;
    size_t deaths = 0;
    for (uint64_t seed = 0; seed < check_count(2000, 200000); seed++) {
        check_seed_of(seed % 4 < 2 ? &hr_strategy_ps_async : &hr_strategy_ssp, seed, NULL);
        deaths += sim.deaths;
    }
    assert_true(deaths > check_count(2000, 200000) / 2);
}

static void what_is_taken_is_noted_once(void **state)
{
    (void)state;
    struct hr_trace_recording recording;
    struct hr_trace_log logs[2];
    size_t again = 0;
    for (size_t seed = 0; seed < check_count(500, 20000); seed++) {
        CHECK_OK(hr_trace_begin(&recording, scratch("trace"), 2));
        for (size_t s = 0; s < 2; s++)
            CHECK_OK(hr_trace_log_open(&logs[s], NULL, recording.path, s, WORKERS));
        check_seed_of(&hr_strategy_ps_async, seed, logs);
        for (size_t s = 0; s < 2; s++)
            CHECK_OK(hr_trace_log_close(&logs[s]));
        hr_trace_abandon(&recording);
        again += sim.again;
    }
    assert_true(again > 5);
}

/* One bit of the weights of one of them, before the first cut. */
static void a_copy_that_was_altered_ends_the_run(void **state)
{
    (void)state;
    for (size_t owner = 0; owner < 2; owner++) {
        sim = (struct sim){.seed = owner, .blind = true};
        open_run(&hr_strategy_ps_async, 1);
        script.shard[owner].weights[3] = 0.5f;
        for (size_t events = 0; !hr_atom32_load_relaxed(&shared()->control->abort); events++) {
            assert_true(events < 10000);
            const uint32_t who = draw(WORKERS + 2);
            if (who >= WORKERS)
                step(who - WORKERS);
            else
                act(who);
        }
        CHECK_FAILS(hr_control_failure(shared()->control), HR_E_FAILED);
        CHECK_MESSAGE("server 0 and its replica differ at the cut before batch 9");
        for (size_t i = 0; i < SCRIPT_PARAMS; i++)
            assert_true(shared()->snapshot.weights[i] == 0); /* nothing was exported */
        script_close(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_two_may_die_between_any_two_steps),
        cmocka_unit_test_setup_teardown(what_is_taken_is_noted_once, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(a_copy_that_was_altered_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
