/* The equivalence ladder: runs that must be the same run, bit for bit, and why. (Processes have a
 * program of their own, test_processes.c.) */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

static const char *const all[] = {"allreduce", "ps-sync",   "ps-async",      "ssp",
                                  "hogwild",   "local-sgd", "backup-workers"};

/* With one worker nothing can be stale, so every strategy is serial SGD: the same updates of the
 * same batches in the same order, by the one update expression. */
static void one_worker_is_serial_whatever_the_strategy(void **state)
{
    (void)state;
    char serial[33];
    struct hr_train_options options = run_options("allreduce", 1);
    run_digest(&options, serial);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t servers = 1; servers <= 3; servers += 2) {
            options = run_options(all[i], 1);
            options.servers = strcmp(all[i], "backup-workers") ? servers : 1;
            options.backups = 0;
            CHECK_DIGEST(&options, serial);
        }
}

/* direct, master-worker and the servers all add in T(n); ssp with staleness 0 is ps-sync's code;
 * backup-workers without backups waits for all. */
static void everything_that_adds_in_tree_order_agrees(void **state)
{
    (void)state;
    static const size_t workers[] = {2, 3, 5};
    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
        char want[33];
        struct hr_train_options options = run_options("allreduce", workers[w]);
        run_digest(&options, want);
        snprintf(options.algorithm, sizeof options.algorithm, "master-worker");
        CHECK_DIGEST(&options, want);
        options = run_options("ps-sync", workers[w]);
        CHECK_DIGEST(&options, want);
        options.servers = 2;
        CHECK_DIGEST(&options, want);
        options = run_options("backup-workers", workers[w]);
        options.backups = 0;
        CHECK_DIGEST(&options, want);
        options = run_options("ssp", workers[w]);
        options.staleness = 0;
        CHECK_DIGEST(&options, want);
    }
}

/* Rules with norms; the first two of the whole gradient. */
static const struct {
    const char *optimizer;
    double lr, clip_norm;
} with_norms[] = {{"sgd", 0.05, 0.5}, {"lamb", 0.005, 0.1}, {"lars", 0.5, 0}};

static struct hr_train_options norms_options(size_t rule, const char *strategy, size_t servers)
{
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.optimizer, sizeof options.optimizer, "%s", with_norms[rule].optimizer);
    options.lr = with_norms[rule].lr;
    options.clip_norm = with_norms[rule].clip_norm;
    options.servers = servers;
    return options;
}

/* Norms are of whole gradients and whole tensors, wherever servers cut them: into more parts than
 * there are tensors, too. */
static void norms_are_whole_on_several_servers(void **state)
{
    (void)state;
    static const size_t servers[] = {1, 2, 3, 7};
    for (size_t rule = 0; rule < sizeof with_norms / sizeof *with_norms; rule++) {
        char summed[33], pushed[33];
        struct hr_train_options options = norms_options(rule, "allreduce", 1);
        run_digest(&options, summed);
        for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
            options = norms_options(rule, "ps-sync", servers[i]);
            CHECK_DIGEST(&options, summed);
            /* Where messages take no time, all servers take them in the same order. */
            options = norms_options(rule, "ps-async", servers[i]);
            options.delay_compensation = 0.1;
            snprintf(options.clock, sizeof options.clock, "virtual");
            if (i == 0)
                run_digest(&options, pushed);
            CHECK_DIGEST(&options, pushed);
        }
    }
}

/* Who owns a shard, and when it takes what is there, changes no sum; with one worker no order. */
static void placement_decides_nothing_where_no_order_does(void **state)
{
    (void)state;
    static const char *const served[] = {"ps-sync", "ps-async", "ssp", "backup-workers",
                                         "elastic-averaging"};
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        for (size_t workers = 1; workers <= (i ? 1 : 5); workers++) {
            char want[33];
            struct hr_train_options options = run_options(served[i], workers);
            options.backups = 0;
            run_digest(&options, want);
            snprintf(options.placement, sizeof options.placement, "colocated");
            for (options.servers = 0; options.servers <= workers; options.servers++)
                CHECK_DIGEST(&options, want);
        }
}

/* Timing decides nothing in a synchronous run: not from run to run... */
static void synchronous_runs_repeat(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"direct", "ring", "master-worker"};
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        char want[33];
        struct hr_train_options options = run_options("allreduce", 3);
        snprintf(options.algorithm, sizeof options.algorithm, "%s", algorithms[a]);
        run_digest(&options, want);
        for (size_t repeat = 0; repeat < check_count(3, 100); repeat++)
            CHECK_DIGEST(&options, want);
    }
}

/* ... and not in any order that one thread can play the ranks in. */
static void check_in_any_order(const char *strategy, const char *algorithm, size_t servers)
{
    char want[33];
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.algorithm, sizeof options.algorithm, "%s", algorithm);
    options.servers = servers;
    options.epochs = 1;
    options.warmup_epochs = 0.25;
    run_digest(&options, want);
    for (size_t seed = 0; seed < check_count(100, 1000); seed++) {
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
        CHECK_DIGEST(&options, want);
    }
}

static void allreduce_is_the_same_in_any_order(void **state)
{
    (void)state;
    check_in_any_order("allreduce", "direct", 1);
}

static void ring_is_the_same_in_any_order(void **state)
{
    (void)state;
    check_in_any_order("allreduce", "ring", 1);
}

static void master_worker_is_the_same_in_any_order(void **state)
{
    (void)state;
    check_in_any_order("allreduce", "master-worker", 1);
}

static void ps_sync_is_the_same_in_any_order(void **state)
{
    (void)state;
    check_in_any_order("ps-sync", "auto", 1);
    check_in_any_order("ps-sync", "auto", 2);
}

static void asynchronous_runs_are_functions_of_the_order(void **state)
{
    (void)state;
    static const char *const ordered[] = {"ps-async", "ssp", "hogwild", "backup-workers"};
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        struct hr_train_options options = run_options(ordered[i], 3);
        options.epochs = 1;
        run_check_order(options);
    }
}

/* To rounding: a global batch cut over workers is the same batch. 20 steps of 96 samples pass the
 * end of an epoch, whose last batch is 94: uneven shares of 32, 31 and 31. */
static void three_workers_are_one_with_the_global_batch(void **state)
{
    (void)state;
    struct hr_train_options one = run_options("allreduce", 1), three = run_options("allreduce", 3);
    one.batch_size = 96;
    three.batch_size = 32;
    one.max_steps = three.max_steps = 20;
    run_check_near(one, three);
}

static void ring_is_near_direct(void **state)
{
    (void)state;
    /* Of three, and from rank 0 on, a ring adds as the tree does. */
    struct hr_train_options direct = run_options("allreduce", 4), ring = direct;
    direct.max_steps = ring.max_steps = 20;
    snprintf(ring.algorithm, sizeof ring.algorithm, "ring");
    run_check_near(direct, ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_is_serial_whatever_the_strategy),
        cmocka_unit_test(everything_that_adds_in_tree_order_agrees),
        cmocka_unit_test(norms_are_whole_on_several_servers),
        cmocka_unit_test(placement_decides_nothing_where_no_order_does),
        cmocka_unit_test(synchronous_runs_repeat),
        cmocka_unit_test(allreduce_is_the_same_in_any_order),
        cmocka_unit_test(ring_is_the_same_in_any_order),
        cmocka_unit_test(master_worker_is_the_same_in_any_order),
        cmocka_unit_test(ps_sync_is_the_same_in_any_order),
        cmocka_unit_test(asynchronous_runs_are_functions_of_the_order),
        cmocka_unit_test(three_workers_are_one_with_the_global_batch),
        cmocka_unit_test(ring_is_near_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
