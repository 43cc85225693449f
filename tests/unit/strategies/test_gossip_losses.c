/* gossip without the workers that it loses: against a naive twin, whatever a worker had sent when
 * it died; how a worker comes back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/shared.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/gossip_script.h"

enum { MOST = SCRIPT_WORKERS };

static struct script script;
static const struct hr_strategy *const gossip = &hr_strategy_gossip;

static bool is_link(const char *graph, size_t i, size_t j)
{
    const size_t apart = i > j ? i - j : j - i;
    return apart != 0 &&
           (!strcmp(graph, "complete") || apart == 1 || apart == script.shared.workers - 1);
}

/* Nobody may read what nobody was sent. */
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

/* sent[j]: to whom worker j has sent (bits); all 1: to all. */
static void twin_step(struct twin *twin, const double *gradient, const uint64_t *sent)
{
    double half[MOST];
    for (size_t i = 0; i < twin->n; i++)
        half[i] = twin->x[i] - gradient[i];
    for (size_t i = 0; i < twin->n; i++) {
        double own = 1;
        twin->x[i] = 0;
        for (size_t j = 0; j < twin->n; j++)
            if (twin->weight[i][j] > 0 && (sent[j] >> i & 1)) {
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

/* The model is the mean of those that are left; it is what the others would begin with. */
static void check_cut(const struct twin *twin)
{
    double mean = 0, left = 0;
    for (size_t w = 0; w < twin->n; w++) {
        mean += twin->gone[w] ? 0 : twin->x[w];
        left += !twin->gone[w];
    }
    script_reseat(&script);
    script_cut(&script);
    const struct hr_snapshot *snapshot = &script.shared.snapshot;
    for (size_t i = 0; i < SCRIPT_PARAMS; i++)
        CHECK_NEAR((double)snapshot->weights[i], mean / left, 1e-5, 1e-5);
    for (size_t w = 0; w < twin->n; w++) {
        assert_memory_equal(snapshot->replicas + w * SCRIPT_PARAMS,
                            twin->gone[w] ? snapshot->weights : script.worker[w].weights,
                            SCRIPT_PARAMS * sizeof(float));
        assert_int_equal(snapshot->applied[w], twin->gone[w] ? 0 : script.worker[w].applied);
    }
}

static void die(struct twin *twin, size_t w, uint64_t told)
{
    if (told)
        gossip_send_to_some(&script, w, told);
    else
        poison(script.worker[w].weights);
    script_lose(&script, w);
    twin->gone[w] = true;
}

/* A step: some die, of them each after having sent to some. */
static void step(struct twin *twin, uint64_t *seed, size_t *left)
{
    double gradient[MOST] = {0};
    uint64_t sent[MOST];
    for (size_t w = 0; w < twin->n; w++) {
        sent[w] = twin->gone[w] ? 0 : UINT64_MAX;
        if (twin->gone[w])
            continue;
        gradient[w] = (double)(gossip_draw(seed) % 5) - 1.5;
        if (*left > 1 && gossip_draw(seed) % 10 == 0) {
            --*left;
            sent[w] = gossip_draw(seed) % 3 ? gossip_draw(seed) : 0;
            script_compute(&script, w, (float)gradient[w]);
            die(twin, w, sent[w]);
        } else {
            script_give(&script, w, (float)gradient[w]);
        }
    }
    twin_step(twin, gradient, sent);
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
        uint64_t seed = number;
        struct twin twin;
        size_t left = 1 + gossip_draw(&seed) % MOST;
        gossip_open(&script, graphs[number % 2], left, 99);
        twin_open(&twin, graphs[number % 2]);
        for (size_t w = 0; w < left; w++)
            script_read(&script, w);
        for (size_t i = 0; i < 8; i++) {
            step(&twin, &seed, &left);
            if (gossip_draw(&seed) % 3 == 0)
                check_cut(&twin);
        }
        script_close(&script);
    }
}

/* Rows and columns of W still sum to 1: where the dead have told nobody, the mean stays. */
static void averaging_leaves_the_mean_of_those_who_are_left(void **state)
{
    (void)state;
    double before = 0, after = 0;
    gossip_open(&script, "complete", 6, 99);
    for (size_t w = 0; w < 6; w++) {
        script_read(&script, w);
        script_compute(&script, w, (float)w);
    }
    die(&(struct twin){.n = 6}, 1, 0);
    die(&(struct twin){.n = 6}, 4, 0);
    for (size_t w = 0; w < 6; w++)
        if (!script.gone[w]) {
            gossip->offer(&script.worker[w]);
            before += (double)script.worker[w].weights[0];
        }
    for (size_t w = 0; w < 6; w++)
        if (!script.gone[w]) {
            script_get(&script, w);
            after += (double)script.worker[w].weights[0];
        }
    CHECK_NEAR(after, before, 1e-6, 0);
    script_close(&script);
}

/* 0 - 1 - 2 - 3 - 4 - 0 */
static void nobody_waits_for_the_dead(void **state)
{
    (void)state;
    gossip_open(&script, "ring", 5, 99);
    for (size_t w = 0; w < 5; w++)
        script_read(&script, w);
    for (size_t w = 0; w < 2; w++)
        script_give(&script, w, 1);
    assert_false(gossip->ready(&script.worker[1])); /* for worker 2 */
    const uint64_t bytes = script.shared.stats[1].bytes_sent;
    script_lose(&script, 2);
    assert_true(gossip->ready(&script.worker[1]));
    assert_false(gossip->ready(&script.worker[0])); /* for worker 4 */
    assert_int_equal(script_get(&script, 1).index, 1);
    assert_int_equal(script.shared.stats[1].bytes_received, bytes / 2);
    script_give(&script, 1, 1); /* to worker 0 alone */
    assert_int_equal(script.shared.stats[1].bytes_sent, bytes + bytes / 2);
    script_close(&script);
}

/* --- coming back --- */

static void one_who_comes_back_begins_with_the_mean(void **state)
{
    (void)state;
    float replica[MOST][SCRIPT_PARAMS];
    gossip_open(&script, "ring", 4, 99);
    for (size_t w = 0; w < 4; w++)
        script_read(&script, w);
    script_lose(&script, 2);
    for (size_t step = 0; step < 5; step++) { /* odd: replicas are in the second places */
        for (size_t w = 0; w < 4; w++)
            if (!script.gone[w])
                script_give(&script, w, (float)w);
        for (size_t w = 0; w < 4; w++) {
            script.worker[w].cut = 5;
            if (!script.gone[w])
                script_read(&script, w);
        }
    }
    gossip->missing(&script.shared);
    script_reseat(&script);
    script_cut(&script);
    for (size_t w = 0; w < 4; w++)
        memcpy(replica[w], w == 2 ? script.shared.snapshot.weights : script.worker[w].weights,
               sizeof *replica);
    script_return(&script, 2);
    script_reseat(&script);
    script_restart(&script);
    for (size_t w = 0; w < 4; w++) {
        assert_ptr_equal(script.worker[w].weights, script.shared.weights[w]); /* the first place */
        assert_memory_equal(script.worker[w].weights, replica[w], sizeof *replica);
    }
    assert_int_equal(script.worker[2].applied, 0);
    assert_int_equal(script.worker[0].applied, 5);
    for (size_t w = 0; w < 4; w++) {
        script.worker[w].cut = 10;
        assert_int_equal(script_read(&script, w).index, 5);
    }
    for (size_t w = 1; w < 4; w++)
        script_give(&script, w, 1);
    assert_false(gossip->ready(&script.worker[1])); /* it is waited for again, and waits */
    assert_true(gossip->ready(&script.worker[2]));
    script_close(&script);
}

/* It is back before the cut, and has no place among the others yet. */
static void nobody_waits_for_one_who_is_only_just_back(void **state)
{
    (void)state;
    gossip_open(&script, "ring", 3, 99);
    for (size_t w = 0; w < 3; w++)
        script_read(&script, w);
    script_lose(&script, 2);
    script_return(&script, 2);
    for (size_t w = 0; w < 2; w++)
        script_give(&script, w, 1);
    for (size_t w = 0; w < 2; w++)
        assert_int_equal(script_get(&script, w).index, 1);
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_those_of_a_naive_twin),
        cmocka_unit_test(averaging_leaves_the_mean_of_those_who_are_left),
        cmocka_unit_test(nobody_waits_for_the_dead),
        cmocka_unit_test(one_who_comes_back_begins_with_the_mean),
        cmocka_unit_test(nobody_waits_for_one_who_is_only_just_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
