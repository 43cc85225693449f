/* Survivors of gossip: where the run stops, and which samples are lost, whoever dies, and wherever.
 */
#include <stdio.h>

#include "strategy/shared.h"
#include "strategies/strategies.h"
#include "strategies/survivors.h"
#include "support/check.h"
#include "support/gossip_script.h"

enum { MOST = SCRIPT_WORKERS };

static struct script script;
static const struct hr_strategy *const gossip = &hr_strategy_gossip;

/* --- in any order --- */

/* Everybody who can acts, in any order, until all who live are at a cut. Nobody waits for ever. */
static void run_to_the_cut(uint64_t *seed, size_t *left, size_t deaths, bool stops)
{
    enum { WANTS, HAS, AT_CUT } state[MOST] = {WANTS};
    size_t at_cut = 0;
    while (at_cut < *left) {
        size_t w = gossip_draw(seed) % script.shared.workers, tried = 0;
        while (script.gone[w] || state[w] == AT_CUT ||
               (state[w] == WANTS && !gossip->ready(&script.worker[w]))) {
            w = (w + 1) % script.shared.workers;
            assert_true(tried++ < script.shared.workers);
        }
        if (*left > 1 && deaths > 0 && gossip_draw(seed) % 12 == 0) {
            if (state[w] == HAS && gossip_draw(seed) % 2) {
                script_compute(&script, w, 1);
                if (gossip_draw(seed) % 2)
                    gossip_send_to_some(&script, w, gossip_draw(seed));
            }
            script_lose(&script, w);
            --*left;
            deaths--;
        } else if (state[w] == HAS) {
            script_give(&script, w, 1);
            state[w] = WANTS;
        } else {
            state[w] = script_get(&script, w).kind == HR_TASK_CUT ? AT_CUT : HAS;
            at_cut += state[w] == AT_CUT;
        }
        if (stops && gossip_draw(seed) % 40 == 0)
            hr_atom32_store_release(&script.shared.dispenser->stop, 1);
    }
}

/* All who are left are at one index; returns it. */
static uint64_t meeting_point(void)
{
    uint64_t index = UINT64_MAX;
    for (size_t w = 0; w < script.shared.workers; w++)
        if (!script.gone[w]) {
            assert_true(index == UINT64_MAX || index == script.index[w]);
            index = script.index[w];
        }
    return index;
}

/* Whichever workers are lost, worker 0 too, and wherever the graph falls apart. */
static void all_who_are_left_stop_at_one_index(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < check_count(2000, 50000); number++) {
        uint64_t seed = number;
        size_t left = 1 + gossip_draw(&seed) % MOST;
        gossip_open(&script, number % 3 ? "ring" : "complete", left, 30);
        run_to_the_cut(&seed, &left, gossip_draw(&seed) % 4, true);
        const uint64_t index = meeting_point();
        gossip->missing(&script.shared);
        const uint64_t stop_at = hr_atom64_load_acquire(&script.shared.dispenser->stop_at);
        assert_true(index == 30 ? stop_at >= 30 : stop_at == index);
        script_close(&script);
    }
}

/* A request that is seen when all are at a cut costs one step more, not a second cut there. */
static void a_late_request_holds_after_a_step(void **state)
{
    (void)state;
    gossip_open(&script, "ring", 3, 9);
    hr_atom32_store_release(&script.shared.dispenser->stop, 1);
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(script_read(&script, w).kind, HR_TASK_BATCH);
    for (size_t w = 0; w < 3; w++)
        script_give(&script, w, 1);
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(script_read(&script, w).kind, HR_TASK_CUT);
    assert_int_equal(meeting_point(), 1);
    assert_int_equal(hr_atom64_load_acquire(&script.shared.dispenser->stop_at), 1);
    script_close(&script);
}

/* 0 - 1 - 2 - 3 - 4 - 0: worker 2 sees the request when it begins the last index, and dies; 0 and 4
 * are at the cut already. */
static void the_request_of_a_dead_worker_holds(void **state)
{
    (void)state;
    gossip_open(&script, "ring", 5, 1);
    for (size_t w = 0; w < 5; w++)
        if (w != 2)
            script_read(&script, w);
    for (size_t w = 0; w < 5; w++)
        if (w != 2)
            script_give(&script, w, 1);
    assert_int_equal(script_read(&script, 0).kind, HR_TASK_CUT);
    assert_int_equal(script_read(&script, 4).kind, HR_TASK_CUT);
    script_lose(&script, 1);
    script_lose(&script, 3);
    hr_atom32_store_release(&script.shared.dispenser->stop, 1);
    script_read(&script, 2);
    script_lose(&script, 2);
    gossip->missing(&script.shared);
    assert_int_equal(hr_atom64_load_acquire(&script.shared.dispenser->stop_at), 1);
    script_close(&script);
}

/* --- the account --- */

static uint64_t trained(uint64_t *lost)
{
    uint64_t sum = 0;
    *lost = 0;
    for (size_t w = 0; w < script.shared.workers; w++) {
        assert_int_equal(script.shared.stats[w].samples, script.shared.stats[w].epoch_samples);
        sum += script.shared.stats[w].samples;
        *lost += hr_fate_of(script.shared.fates, w)->lost_samples;
    }
    return sum;
}

static uint64_t updates(void)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < script.shared.workers; w++)
        sum += script.shared.stats[w].updates;
    return sum;
}

static void next_span(uint64_t cut)
{
    script_reseat(&script);
    for (size_t w = 0; w < script.shared.workers; w++)
        script.worker[w].cut = cut;
}

/* Over several spans, whose seats are dealt anew. */
static void no_sample_is_unaccounted(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < check_count(1000, 20000); number++) {
        uint64_t seed = number, lost;
        const size_t n = 1 + gossip_draw(&seed) % MOST;
        size_t left = n;
        gossip_open(&script, number % 2 ? "ring" : "complete", n, 24);
        script.shared.schedule.samples -=
            gossip_draw(&seed) % n; /* the last batch is a smaller one */
        for (uint64_t cut = 8; cut <= 24; cut += 8) {
            next_span(cut);
            run_to_the_cut(&seed, &left, gossip_draw(&seed) % 3, false);
            assert_int_equal(meeting_point(), cut);
            gossip->missing(&script.shared);
            gossip->missing(&script.shared); /* repeated at the cut */
            const uint64_t all = cut < 24 ? cut * n : script.shared.schedule.samples;
            assert_int_equal(trained(&lost) + lost, all);
            assert_int_equal(updates(), cut);
            if (left > 1 &&
                gossip_draw(&seed) % 4 == 0) { /* and one is lost while all are at the cut */
                size_t w = 0;
                while (script.gone[w])
                    w++;
                script_lose(&script, w);
                left--;
            }
        }
        script_close(&script);
    }
}

/* Five workers, a sample each: two die at step 2, one of them without having begun it, and what
 * the first has sent to a neighbour is its own. */
static void shares_are_put_down_to_those_who_had_them(void **state)
{
    (void)state;
    gossip_open(&script, "ring", 5, 10);
    for (size_t round = 0; round < 2; round++) {
        for (size_t w = 0; w < 5; w++)
            script_read(&script, w);
        for (size_t w = 0; w < 5; w++)
            script_give(&script, w, 1);
    }
    for (size_t w = 0; w < 3; w++)
        script_read(&script, w);
    script_compute(&script, 1, 1);
    gossip_send_to_some(&script, 1, 1);
    script_lose(&script, 1);
    script_lose(&script, 3);
    script_compute(&script, 2, 1); /* counted, and sent to nobody */
    script_lose(&script, 2);
    assert_int_equal(script.shared.stats[1].samples, 3);
    assert_int_equal(script.shared.stats[2].samples, 2);
    script_give(&script, 0, 1);
    while (script_read(&script, 4).kind == HR_TASK_BATCH) {
        script_give(&script, 4, 1);
        if (script_read(&script, 0).kind == HR_TASK_BATCH)
            script_give(&script, 0, 1);
    }
    script_read(&script, 0);
    gossip->missing(&script.shared);
    static const uint64_t want[] = {0, 10 - 3, 10 - 2, 10 - 2, 0};
    for (size_t w = 0; w < 5; w++) {
        assert_int_equal(hr_fate_of(script.shared.fates, w)->lost_samples, want[w]);
        assert_int_equal(hr_fate_of(script.shared.fates, w)->lost_batches, want[w]);
    }
    script_close(&script);
}

/* Worker 2 loses its neighbours and goes on by itself for three steps, of which nobody hears. */
static void a_worker_without_neighbours_trains_too(void **state)
{
    (void)state;
    gossip_open(&script, "ring", 5, 10);
    for (size_t w = 0; w < 5; w++)
        script_read(&script, w);
    script_lose(&script, 1);
    script_lose(&script, 3);
    for (size_t step = 0; step < 3; step++) {
        script_give(&script, 2, 1);
        script_read(&script, 2);
    }
    script_compute(&script, 2, 1);
    script_lose(&script, 2);
    assert_int_equal(script.shared.stats[2].samples, 3);
    for (size_t step = 0; step < 10; step++) {
        script_give(&script, 0, 1);
        script_give(&script, 4, 1);
        script_read(&script, 0);
        script_read(&script, 4);
    }
    gossip->missing(&script.shared);
    assert_int_equal(hr_fate_of(script.shared.fates, 2)->lost_samples, 7);
    assert_int_equal(hr_fate_of(script.shared.fates, 1)->lost_samples, 10);
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_who_are_left_stop_at_one_index),
        cmocka_unit_test(a_late_request_holds_after_a_step),
        cmocka_unit_test(the_request_of_a_dead_worker_holds),
        cmocka_unit_test(no_sample_is_unaccounted),
        cmocka_unit_test(shares_are_put_down_to_those_who_had_them),
        cmocka_unit_test(a_worker_without_neighbours_trains_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
