/* gossip: a naive twin on every graph, who waits for whom, which graphs are refused, and the rungs
 * of the ladder that it stands on. */
#include <stdio.h>
#include <string.h>

#include "strategies/strategies.h"
#include "support/runs.h"
#include "support/script.h"

enum { MOST = SCRIPT_WORKERS };

static struct script script;

static struct hr_train_options options_of(const char *graph)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    snprintf(options.gossip_graph, sizeof options.gossip_graph, "%s", graph);
    return options;
}

static void open_graph(const char *graph, size_t workers)
{
    const struct hr_train_options options = options_of(graph);
    script_open(&script, &hr_strategy_gossip,
                (struct script_plan){.workers = workers, .batches = 99, .options = &options});
}

/* --- the twin: W as a matrix, one number a worker --- */

struct twin {
    size_t n;
    bool linked[MOST][MOST];
    double x[MOST];
};

static bool is_link(const char *graph, size_t n, size_t i, size_t j)
{
    const size_t apart = i > j ? i - j : j - i;
    if (!strcmp(graph, "ring"))
        return apart == 1 || apart == n - 1;
    if (!strcmp(graph, "complete"))
        return true;
    if (!strcmp(graph, "hypercube"))
        return __builtin_popcountll(i ^ j) == 1;
    /* torus of 2 x 3 */
    return (i / 3 == j / 3) != (i % 3 == j % 3);
}

static size_t degree(const struct twin *twin, size_t i)
{
    size_t sum = 0;
    for (size_t j = 0; j < twin->n; j++)
        sum += twin->linked[i][j];
    return sum;
}

static void twin_step(struct twin *twin, const double *gradient)
{
    double half[MOST];
    for (size_t i = 0; i < twin->n; i++)
        half[i] = twin->x[i] - gradient[i];
    for (size_t i = 0; i < twin->n; i++) {
        double own = 1;
        twin->x[i] = 0;
        for (size_t j = 0; j < twin->n; j++)
            if (twin->linked[i][j]) {
                const size_t di = degree(twin, i), dj = degree(twin, j);
                const double weight = 1.0 / (double)(1 + (di > dj ? di : dj));
                twin->x[i] += weight * half[j];
                own -= weight;
            }
        twin->x[i] += own * half[i];
    }
}

static void check_replicas(const struct twin *twin)
{
    double mean = 0;
    for (size_t w = 0; w < twin->n; w++) {
        mean += twin->x[w] / (double)twin->n;
        for (size_t i = 0; i < SCRIPT_PARAMS; i++)
            CHECK_NEAR((double)script.worker[w].weights[i], twin->x[w], 1e-5, 1e-5);
    }
    script_cut(&script); /* changes no replica: the next step goes on from them */
    for (size_t i = 0; i < SCRIPT_PARAMS; i++)
        CHECK_NEAR((double)script.shared.snapshot.weights[i], mean, 1e-5, 1e-5);
    for (size_t w = 0; w < twin->n; w++)
        assert_memory_equal(script.shared.snapshot.replicas + w * SCRIPT_PARAMS,
                            script.worker[w].weights, SCRIPT_PARAMS * sizeof(float));
}

static void check_against_twin(const char *graph, size_t n)
{
    struct twin twin = {.n = n};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            twin.linked[i][j] = i != j && is_link(graph, n, i, j);
    open_graph(graph, n);
    for (size_t w = 0; w < n; w++)
        assert_int_equal(script_read(&script, w).index, 0);
    for (size_t step = 0; step < 6; step++) {
        double gradient[MOST];
        for (size_t w = 0; w < n; w++) {
            gradient[w] = (double)((w * 7 + step * 3) % 5) - 1.5;
            script_give(&script, w, (float)gradient[w]);
        }
        twin_step(&twin, gradient);
        for (size_t w = 0; w < n; w++)
            assert_int_equal(script_read(&script, w).index, step + 1);
        check_replicas(&twin);
    }
    for (size_t w = 0; w < n; w++) {
        const uint64_t bytes = 6 * degree(&twin, w) * SCRIPT_PARAMS * sizeof(float);
        assert_int_equal(script.shared.stats[w].bytes_sent, bytes);
        assert_int_equal(script.shared.stats[w].bytes_received, bytes);
    }
    script_close(&script);
}

static void replicas_are_those_of_a_naive_twin(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        check_against_twin("ring", n);
        check_against_twin("complete", n);
    }
    check_against_twin("hypercube", 2);
    check_against_twin("hypercube", 8);
    check_against_twin("torus", 6);
}

/* 0 - 1 - 2 - 3 - 4 - 0: worker 1 needs 0 and 2, and no more. */
static void a_worker_waits_for_its_neighbours_alone(void **state)
{
    (void)state;
    open_graph("ring", 5);
    for (size_t w = 0; w < 5; w++)
        script_read(&script, w);
    for (size_t w = 0; w < 3; w++)
        script_give(&script, w, 1);
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(script_ready(&script, w), w == 1);
    assert_int_equal(script_get(&script, 1).index, 1);
    script_give(&script, 1, 1); /* a step ahead, and its neighbours still read the step before */
    assert_false(script_ready(&script, 1));
    script_give(&script, 4, 1);
    assert_int_equal(script_get(&script, 0).index, 1);
    CHECK_NEAR((double)script.worker[0].weights[0], -1, 1e-6, 0);
    script_close(&script);
}

/* What worker 0 knows is two links from worker 2: nobody begins index 2, and all get there. */
static void a_request_to_stop_holds_when_all_can_know_of_it(void **state)
{
    (void)state;
    open_graph("ring", 5);
    hr_atom32_store_release(&script.shared.dispenser->stop, 1);
    for (size_t step = 0; step <= 2; step++)
        for (size_t w = 0; w < 5; w++) {
            const struct hr_task task = script_read(&script, w);
            assert_int_equal(task.kind, step < 2 ? HR_TASK_BATCH : HR_TASK_CUT);
            assert_int_equal(task.index, step);
            if (step < 2 && w == 4)
                for (size_t v = 0; v < 5; v++)
                    script_give(&script, v, 1);
        }
    script_close(&script);
}

static void check_file(const char *text, size_t workers, bool fits)
{
    char folder[64], path[96];
    struct hr_shared_state shared = {.strategy = &hr_strategy_gossip, .workers = workers};
    run_folder_make(folder);
    snprintf(path, sizeof path, "%s/graph", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const struct hr_train_options options = options_of(path);
    shared.options = &options;
    const enum hr_status status = hr_strategy_prepare(&shared);
    assert_int_equal(status, fits ? HR_OK : HR_E_USAGE);
    hr_strategy_forget(&shared);
    run_folder_remove(folder);
}

static void graphs_are_read_from_files(void **state)
{
    (void)state;
    check_file("# a line\n0 1\n\n1 2 # and its end\n2 1", 3, true);
    check_file("", 1, true);
    check_file("0 1\n", 3, false); /* worker 2 is alone */
    check_file("0 1\n1 3", 3, false);
    check_file("0 1\n1 1\n1 2", 3, false);
    check_file("0 1\n1 2 x", 3, false);
    check_file("0 1\n-1 2", 3, false);
    check_file("0 1\n1", 3, false);
}

/* --- the ladder --- */

static struct hr_train_options run_of(const char *graph, size_t workers)
{
    struct hr_train_options options = run_options("gossip", workers);
    snprintf(options.gossip_graph, sizeof options.gossip_graph, "%s", graph);
    return options;
}

static void one_worker_is_serial(void **state)
{
    (void)state;
    char serial[33];
    struct hr_train_options options = run_options("allreduce", 1);
    run_digest(&options, serial);
    options = run_of("ring", 1);
    CHECK_DIGEST(&options, serial);
}

/* To rounding: W is 1 / n everywhere. */
static void the_complete_graph_is_near_local_sgd_of_period_one(void **state)
{
    (void)state;
    struct hr_train_options local = run_options("local-sgd", 4), all = run_of("complete", 4);
    local.sync_every = 1;
    local.momentum = all.momentum = 0;
    local.max_steps = all.max_steps = 20;
    run_check_near(all, local);
}

/* No order decides anything: neither the machine's, nor a drawn one, nor that of slow links. */
static void every_driver_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char want[33];
        struct hr_train_options options = run_of(i ? "torus" : "ring", i ? 6 : 5);
        options.epochs = 1;
        run_digest(&options, want);
        CHECK_DIGEST(&options, want);
        for (size_t seed = 0; seed < check_count(20, 200); seed++) {
            snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
            CHECK_DIGEST(&options, want);
        }
        snprintf(options.schedule, sizeof options.schedule, "free");
        snprintf(options.clock, sizeof options.clock, "virtual");
        CHECK_DIGEST(&options, want);
        snprintf(options.inject, sizeof options.inject, "slow:1x3,slow:*x2@20%%");
        snprintf(options.link, sizeof options.link, "1MB/s,20us");
        CHECK_DIGEST(&options, want);
    }
}

/* Bytes over bandwidth: a worker sends to two neighbours over its one wire. */
static void messages_take_virtual_time(void **state)
{
    (void)state;
    struct hr_train_options options = run_of("ring", 4);
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "1ms");
    snprintf(options.link, sizeof options.link, "10MB/s,0s");
    options.max_steps = 10;
    struct hr_run_result result = run_train(&options);
    const double wire = 2 * (double)result.params * sizeof(float) / 10e6;
    CHECK_NEAR(result.seconds, 10 * (1e-3 + wire), 1e-9, 0);
    CHECK_NEAR(result.communicate_s, 4 * 10 * wire, 1e-6, 0);
    hr_run_result_free(&result);
}

static void a_resumed_run_is_one_that_never_stopped(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"sgd", "adam"};
    for (size_t i = 0; i < 2; i++) {
        char want[33];
        struct hr_train_options options = run_of("ring", 5);
        snprintf(options.optimizer, sizeof options.optimizer, "%s", optimizers[i]);
        run_digest(&options, want);
        run_check_resume(options, 7, want); /* in an epoch, where replicas differ */
        run_check_resume(options, 20, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_those_of_a_naive_twin),
        cmocka_unit_test(a_worker_waits_for_its_neighbours_alone),
        cmocka_unit_test(a_request_to_stop_holds_when_all_can_know_of_it),
        cmocka_unit_test(graphs_are_read_from_files),
        cmocka_unit_test(one_worker_is_serial),
        cmocka_unit_test(the_complete_graph_is_near_local_sgd_of_period_one),
        cmocka_unit_test(every_driver_gives_the_same_bits),
        cmocka_unit_test(messages_take_virtual_time),
        cmocka_unit_test(a_resumed_run_is_one_that_never_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
