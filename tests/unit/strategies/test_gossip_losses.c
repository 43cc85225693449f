/* gossip among active workers: against a naive twin, in terms that begin at a cut without
 * workers that were there before; how one comes back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/shared.h"
#include "strategies/gossip_weights.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/gossip_script.h"

enum { MOST = SCRIPT_WORKERS };

static struct script script;

static bool is_link(const char *graph, size_t i, size_t j)
{
    const size_t apart = i > j ? i - j : j - i;
    return apart != 0 &&
           (!strcmp(graph, "complete") || apart == 1 || apart == script.shared.workers - 1);
}

/* Nobody may read the replica of one that is gone. */
static void poison(float *weights)
{
    for (size_t i = 0; i < SCRIPT_PARAMS; i++)
        weights[i] = NAN;
}

/* --- the twin --- */

struct twin {
    size_t n;
    double weight[MOST][MOST], x[MOST]; /* W by its definition, and a number a worker */
    bool gone[MOST];
};

static void twin_open(struct twin *twin, const char *graph)
{
    double degree[MOST] = {0};
    *twin = (struct twin){.n = script.shared.workers};
    for (size_t i = 0; i < twin->n; i++)
        for (size_t j = 0; j < twin->n; j++)
            degree[i] += is_link(graph, i, j);
    for (size_t i = 0; i < twin->n; i++)
        for (size_t j = 0; j < twin->n; j++)
            if (is_link(graph, i, j))
                twin->weight[i][j] = 1 / (1 + (degree[i] > degree[j] ? degree[i] : degree[j]));
}

/* Weights of those who are gone stay with x itself. */
static void twin_step(struct twin *twin, const double *gradient)
{
    double half[MOST];
    for (size_t i = 0; i < twin->n; i++)
        half[i] = twin->x[i] - gradient[i];
    for (size_t i = 0; i < twin->n; i++) {
        double own = 1;
        twin->x[i] = 0;
        for (size_t j = 0; j < twin->n; j++)
            if (twin->weight[i][j] > 0 && !twin->gone[j]) {
                twin->x[i] += twin->weight[i][j] * half[j];
                own -= twin->weight[i][j];
            }
        twin->x[i] += own * half[i];
    }
}

static void check_replicas(const struct twin *twin)
{
    for (size_t w = 0; w < twin->n; w++)
        for (size_t i = 0; i < SCRIPT_PARAMS && !twin->gone[w]; i++)
            CHECK_NEAR((double)script.worker[w].weights[i], twin->x[w], 1e-5, 1e-5);
}

static double mean_of(const struct twin *twin)
{
    double sum = 0, left = 0;
    for (size_t w = 0; w < twin->n; w++) {
        sum += twin->gone[w] ? 0 : twin->x[w];
        left += !twin->gone[w];
    }
    return sum / left;
}

/* The model is the mean of those that are left; it is what the others would begin with. */
static void check_cut(const struct twin *twin)
{
    const double mean = mean_of(twin);
    script_cut(&script);
    const struct hr_snapshot *snapshot = &script.shared.snapshot;
    for (size_t i = 0; i < SCRIPT_PARAMS; i++)
        CHECK_NEAR((double)snapshot->weights[i], mean, 1e-5, 1e-5);
    for (size_t w = 0; w < twin->n; w++) {
        assert_memory_equal(snapshot->replicas + w * SCRIPT_PARAMS,
                            twin->gone[w] ? snapshot->weights : script.worker[w].weights,
                            SCRIPT_PARAMS * sizeof(float));
        assert_int_equal(snapshot->applied[w], twin->gone[w] ? 0 : script.worker[w].applied);
    }
}

/* All have accepted batch `index`, hand in its gradient, and accept the next. */
static void step(struct twin *twin, uint64_t *seed)
{
    double gradient[MOST] = {0};
    for (size_t w = 0; w < twin->n; w++)
        if (!twin->gone[w]) {
            gradient[w] = (double)(gossip_draw(seed) % 5) - 1.5;
            script_give(&script, w, (float)gradient[w]);
        }
    twin_step(twin, gradient);
    for (size_t w = 0; w < twin->n; w++)
        if (!twin->gone[w])
            script_read(&script, w);
    check_replicas(twin);
}

/* A term that begins with the snapshot, without some who were there. */
static void begin_term(struct twin *twin, uint64_t index)
{
    for (size_t w = 0; w < twin->n; w++)
        if (twin->gone[w] && !script.gone[w]) {
            poison(script.worker[w].weights);
            script_lose(&script, w);
        }
    script_reactivate(&script);
    script_restart(&script, index);
    for (size_t w = 0; w < twin->n; w++)
        if (!twin->gone[w])
            script_read(&script, w);
    check_replicas(twin);
}

static void replicas_are_those_of_a_naive_twin(void **state)
{
    (void)state;
    static const char *const graphs[] = {"ring", "complete"};
    for (uint64_t number = 0; number < check_count(200, 5000); number++) {
        uint64_t seed = number, steps = 0;
        struct twin twin;
        const size_t workers = 1 + gossip_draw(&seed) % MOST;
        size_t left = workers;
        gossip_open(&script, graphs[number % 2], workers, 99);
        twin_open(&twin, graphs[number % 2]);
        for (size_t w = 0; w < workers; w++)
            script_read(&script, w);
        for (size_t term = 0; term < 3; term++) {
            for (size_t n = gossip_draw(&seed) % 4; n > 0; n--, steps++)
                step(&twin, &seed);
            check_cut(&twin);
            for (size_t w = 0; w < workers; w++)
                if (!twin.gone[w] && left > 1 && gossip_draw(&seed) % 4 == 0) {
                    twin.gone[w] = true;
                    left--;
                }
            begin_term(&twin, steps);
        }
        script_close(&script);
    }
}

/* Rows and columns of W still sum to 1. */
static void averaging_leaves_the_mean_of_those_who_are_left(void **state)
{
    (void)state;
    struct twin twin;
    uint64_t seed = 7;
    gossip_open(&script, "ring", 6, 99);
    twin_open(&twin, "ring");
    for (size_t w = 0; w < 6; w++)
        script_read(&script, w);
    for (size_t i = 0; i < 3; i++)
        step(&twin, &seed);
    check_cut(&twin);
    twin.gone[1] = twin.gone[4] = true;
    begin_term(&twin, 3);
    double before = 0, after = 0;
    for (size_t w = 0; w < 6; w++)
        if (!twin.gone[w]) {
            script_give(&script, w, (float)w);
            before += (double)script.worker[w].weights[0];
        }
    for (size_t w = 0; w < 6; w++)
        if (!twin.gone[w]) {
            script_read(&script, w);
            after += (double)script.worker[w].weights[0];
        }
    CHECK_NEAR(after, before, 1e-6, 0);
    script_close(&script);
}

/* 0 - 1 - 2 - 3 - 4 - 0 */
static void nobody_waits_for_one_that_is_not_active(void **state)
{
    (void)state;
    struct twin twin;
    gossip_open(&script, "ring", 5, 99);
    twin_open(&twin, "ring");
    script_cut(&script);
    twin.gone[2] = true;
    begin_term(&twin, 0);
    script_give(&script, 0, 1);
    assert_false(script_ready(&script, 0)); /* for workers 1 and 4 */
    const uint64_t bytes = script.shared.stats[0].bytes_sent;
    script_give(&script, 1, 1);
    assert_true(script_ready(&script, 1));
    assert_int_equal(script.shared.stats[1].bytes_sent, bytes / 2); /* to worker 0 alone */
    assert_int_equal(script_get(&script, 1).index, 1);
    assert_int_equal(script.shared.stats[1].bytes_received, bytes / 2);
    script_close(&script);
}

/* Who is left on a ring without 2 and 4 is not joined any more: requests wait for the next cut. */
static void requests_travel_as_far_as_links_reach(void **state)
{
    (void)state;
    struct twin twin;
    gossip_open(&script, "ring", 5, 99);
    twin_open(&twin, "ring");
    assert_int_equal(hr_gossip_reach(&script.shared), 2);
    script_cut(&script);
    twin.gone[2] = true; /* 1 - 0 - 4 - 3 */
    begin_term(&twin, 0);
    assert_int_equal(hr_gossip_reach(&script.shared), 2);
    twin.gone[0] = true; /* 1, and 4 - 3 */
    begin_term(&twin, 0);
    assert_true(hr_gossip_reach(&script.shared) == UINT64_MAX);
    script_close(&script);
}

/* --- coming back --- */

static void one_who_comes_back_begins_with_the_mean(void **state)
{
    (void)state;
    struct twin twin;
    uint64_t seed = 3;
    float replica[MOST][SCRIPT_PARAMS];
    gossip_open(&script, "ring", 4, 99);
    twin_open(&twin, "ring");
    script_cut(&script);
    twin.gone[2] = true;
    begin_term(&twin, 0);
    for (size_t i = 0; i < 5; i++) /* odd: replicas are in the second places */
        step(&twin, &seed);
    check_cut(&twin);
    for (size_t w = 0; w < 4; w++)
        memcpy(replica[w], w == 2 ? script.shared.snapshot.weights : script.worker[w].weights,
               sizeof *replica);
    script_return(&script, 2);
    script_reactivate(&script);
    script_restart(&script, 5);
    for (size_t w = 0; w < 4; w++) {
        assert_ptr_equal(script.worker[w].weights, script.shared.weights[w]); /* the first place */
        assert_memory_equal(script.worker[w].weights, replica[w], sizeof *replica);
    }
    assert_int_equal(script.worker[2].applied, 0);
    assert_int_equal(script.worker[0].applied, 5);
    for (size_t w = 0; w < 4; w++)
        assert_int_equal(script_read(&script, w).index, 5);
    for (size_t w = 1; w < 4; w++)
        script_give(&script, w, 1);
    assert_false(script_ready(&script, 1)); /* it is waited for again, and waits */
    assert_true(script_ready(&script, 2));
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_those_of_a_naive_twin),
        cmocka_unit_test(averaging_leaves_the_mean_of_those_who_are_left),
        cmocka_unit_test(nobody_waits_for_one_that_is_not_active),
        cmocka_unit_test(requests_travel_as_far_as_links_reach),
        cmocka_unit_test(one_who_comes_back_begins_with_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
