/* Who is waited for: arrivals written by hand, and what they cost. */
#include "strategy/stragglers.h"

#include <stdlib.h>
#include <string.h>

#include "shm/control.h"
#include "strategy/strategy.h"
#include "support/check.h"

enum { WORKERS = 3 };

/* Workers whose accounts are set by hand. */
struct scene {
    struct hr_shared_state shared;
    struct hr_strategy strategy;
    struct hr_gradient_hooks hooks;
    struct hr_worker worker[WORKERS];
};

static bool are_beside(const struct hr_worker *worker, size_t peer)
{
    return peer + 1 == worker->rank || peer == worker->rank + 1;
}

static void *zeroed(size_t bytes)
{
    void *memory = aligned_alloc(HR_LINE, (bytes + HR_LINE - 1) / HR_LINE * HR_LINE);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    return memory;
}

static void open_scene(struct scene *scene)
{
    struct hr_shared_state *shared = &scene->shared;
    memset(scene, 0, sizeof *scene);
    scene->hooks.awaits = hr_awaits_all;
    shared->strategy = &scene->strategy;
    shared->workers = WORKERS;
    shared->stats = zeroed(WORKERS * sizeof *shared->stats);
    shared->stragglers = zeroed(hr_stragglers_bytes(WORKERS));
    shared->active = zeroed(sizeof *shared->active + WORKERS * sizeof(uint16_t));
    shared->control = zeroed(hr_control_bytes(WORKERS));
    shared->active->n = WORKERS;
    for (size_t w = 0; w < WORKERS; w++) {
        shared->active->rank[w] = (uint16_t)w;
        scene->worker[w] =
            (struct hr_worker){.shared = shared, .rank = w, .stats = &shared->stats[w]};
        hr_stragglers_begin(&scene->worker[w], 0);
    }
}

static void close_scene(struct scene *scene)
{
    free(scene->shared.stats);
    free(scene->shared.stragglers);
    free(scene->shared.active);
    free(scene->shared.control);
}

static int64_t *spent(struct scene *scene, size_t w)
{
    return scene->shared.stats[w].account.spent_ns;
}

/* Worker w loads and computes for so long, and comes; then, from there on, waits until `ns`. */
static void come(struct scene *scene, size_t w, uint64_t key, int64_t load, int64_t compute)
{
    spent(scene, w)[HR_LOAD] += load;
    spent(scene, w)[HR_COMPUTE] += compute;
    const int64_t *s = spent(scene, w);
    scene->worker[w].hooks = &scene->hooks;
    hr_stragglers_offer(&scene->worker[w], key - hr_arrival_key(0),
                        s[HR_LOAD] + s[HR_COMPUTE] + s[HR_COMMUNICATE] + s[HR_WAIT]);
}

static void leave(struct scene *scene, size_t w, int64_t waited, int64_t now)
{
    spent(scene, w)[HR_WAIT] += waited;
    hr_stragglers_leave(&scene->worker[w], now);
}

static int64_t cost(const struct scene *scene, size_t waiter, size_t last, enum hr_late late)
{
    return hr_stragglers_cost(&scene->shared, waiter, last)[late];
}

static void the_last_pays_for_what_it_did_longer(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    come(&scene, 0, 1, 10, 100);
    come(&scene, 1, 1, 10, 120);
    come(&scene, 2, 1, 40, 130);
    leave(&scene, 0, 60, 170);
    leave(&scene, 1, 45, 175); /* five more, for a processor */
    leave(&scene, 2, 3, 173);  /* it was the last: for no one */
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_LOAD), 30);
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_COMPUTE), 30);
    assert_int_equal(cost(&scene, 1, 2, HR_LATE_LOAD) + cost(&scene, 1, 2, HR_LATE_COMPUTE), 40);
    assert_int_equal(cost(&scene, 1, 2, HR_LATE_LOAD), 30);
    for (size_t w = 0; w < WORKERS; w++)
        for (int i = 0; i < HR_LATES; i++) {
            assert_int_equal(cost(&scene, 2, w, (enum hr_late)i), 0);
            assert_int_equal(cost(&scene, w, 0, (enum hr_late)i), 0);
        }
    close_scene(&scene);
}

static void no_more_is_charged_than_was_waited(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    come(&scene, 0, 1, 0, 100);
    come(&scene, 1, 1, 0, 100);
    come(&scene, 2, 1, 0, 200);
    leave(&scene, 0, 30, 200); /* it moved data for the other 70 */
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_COMPUTE), 30);
    close_scene(&scene);
}

static void on_a_chain_the_one_who_is_slow_pays(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    scene.hooks.awaits = are_beside;
    for (uint64_t key = 1; key <= 2; key++) { /* 2 needs twice as long as 1, who is held by it */
        come(&scene, 0, key, 0, 100);
        come(&scene, 1, key, 0, 100);
        come(&scene, 2, key, 0, 200);
        leave(&scene, 1, 100, 200 * (int64_t)key);
        leave(&scene, 2, 0, 200 * (int64_t)key);
        leave(&scene, 0, key == 1 ? 0 : 100, key == 1 ? 100 : 300);
    }
    assert_int_equal(cost(&scene, 1, 2, HR_LATE_COMPUTE), 200);
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_COMPUTE), 100); /* it waited for 1 */
    assert_int_equal(cost(&scene, 0, 1, HR_LATE_COMPUTE), 0);
    close_scene(&scene);
}

static void stalls_and_lost_processors_are_told_apart(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    spent(&scene, 2)[HR_WAIT] += 50;
    scene.shared.stats[2].stalled_ns += 50;
    scene.shared.stats[2].preempted_ns += 70;
    come(&scene, 0, 1, 0, 100);
    come(&scene, 1, 1, 0, 100);
    come(&scene, 2, 1, 0, 170);
    leave(&scene, 0, 120, 220);
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_STALL), 50);
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_PREEMPTED), 70);
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_COMPUTE), 0);
    close_scene(&scene);
}

static void who_opens_a_gate_is_paid_for(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    scene.shared.servers = 1;
    come(&scene, 1, hr_arrival_key(7), 0, 300);
    come(&scene, 0, hr_arrival_key(9), 0, 100);
    scene.worker[0].arrival.opened = hr_opened_by(1, 7);
    assert_true(hr_stragglers_later(&scene.shared, hr_opened_by(1, 7), 0));
    assert_true(hr_stragglers_later(&scene.shared, hr_opened_by(1, 7), hr_opened_by(0, 9)));
    assert_false(hr_stragglers_later(&scene.shared, hr_opened_by(0, 9), hr_opened_by(1, 7)));
    leave(&scene, 0, 220, 320);
    assert_int_equal(cost(&scene, 0, 1, HR_LATE_COMPUTE), 200);
    /* One that was lost, and never came. */
    come(&scene, 0, hr_arrival_key(10), 0, 100);
    scene.worker[0].arrival.opened = hr_opened_by(2, UINT64_MAX - 1);
    leave(&scene, 0, 55, 475);
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_COMPUTE), 55);
    close_scene(&scene);
}

static void a_lost_worker_is_the_last(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    come(&scene, 0, 1, 0, 100); /* neither 1 nor 2 has come, and 2 is gone */
    hr_atom32_store_relaxed(&scene.shared.control->rank[2].presence.lost, 1);
    leave(&scene, 0, 50, 150);
    assert_int_equal(cost(&scene, 0, 1, HR_LATE_COMPUTE), 0);
    assert_int_equal(cost(&scene, 0, 2, HR_LATE_COMPUTE), 50);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_pays_for_what_it_did_longer),
        cmocka_unit_test(no_more_is_charged_than_was_waited),
        cmocka_unit_test(on_a_chain_the_one_who_is_slow_pays),
        cmocka_unit_test(stalls_and_lost_processors_are_told_apart),
        cmocka_unit_test(who_opens_a_gate_is_paid_for),
        cmocka_unit_test(a_lost_worker_is_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
