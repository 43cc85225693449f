/* --reduce repro: one digest, whatever the number of workers, the launch, the strategy that adds,
 * the algorithm (direct updates fused with the sum, the others apart), and the threads inside a
 * worker; with batchnorm and dropout in the network. Processes come first: the forking process
 * must not have used BLAS. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

struct rung {
    const char *strategy, *algorithm, *launch;
    size_t workers, servers, threads;
};

static const struct rung rungs[] = {
    {"allreduce", "direct", "process", 4, 1, 1},
    {"ps-sync", "auto", "process", 2, 1, 2},
    {"allreduce", "direct", "thread", 1, 1, 1},
    {"allreduce", "direct", "thread", 1, 1, 2},
    {"allreduce", "direct", "thread", 2, 1, 1},
    {"allreduce", "direct", "thread", 4, 1, 2},
    {"allreduce", "direct", "thread", 8, 1, 1},
    {"allreduce", "tree", "thread", 8, 1, 1},
    {"allreduce", "tree", "thread", 2, 1, 1},
    {"allreduce", "master-worker", "thread", 4, 1, 1},
    {"allreduce", "hierarchical", "thread", 8, 1, 1},
    {"allreduce", "halving-doubling", "thread", 8, 1, 1},
    {"ps-sync", "auto", "thread", 1, 2, 1},
    {"ps-sync", "auto", "thread", 8, 3, 1},
};
enum { NRUNGS = sizeof rungs / sizeof *rungs };

/* 100 samples are no multiple of 8 shards, and the last batch of an epoch has 37. */
static struct hr_train_options options_of(const struct rung *rung)
{
    struct hr_train_options options = run_options(rung->strategy, rung->workers);
    snprintf(options.model, sizeof options.model,
             "conv 4 3x3 pad 1, batchnorm, relu, maxpool 2, residual (conv 4 3x3 pad 1), flatten, "
             "dropout 0.2, dense 11, batchnorm, relu, dense 10");
    snprintf(options.algorithm, sizeof options.algorithm, "%s", rung->algorithm);
    snprintf(options.launch, sizeof options.launch, "%s", rung->launch);
    snprintf(options.reduce, sizeof options.reduce, "repro");
    options.servers = rung->servers;
    options.threads_per_worker = rung->threads;
    options.global_batch_size = 100;
    return options;
}

static void the_number_of_workers_changes_no_bit(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of(&rungs[0]);
    run_digest(&options, want);
    for (size_t i = 1; i < NRUNGS; i++) {
        options = options_of(&rungs[i]);
        CHECK_DIGEST(&options, want);
    }
}

static void nor_with_norms_of_the_whole_gradient(void **state)
{
    (void)state;
    char want[33];
    for (size_t i = 2; i < NRUNGS; i += 4) {
        struct hr_train_options options = options_of(&rungs[i]);
        snprintf(options.optimizer, sizeof options.optimizer, "lamb");
        options.lr = 0.005;
        options.clip_norm = 1;
        options.servers = 1;
        if (i == 2)
            run_digest(&options, want);
        else
            CHECK_DIGEST(&options, want);
    }
}

/* One shard is the whole batch, and one worker's bits are those of an ordinary run. */
static void one_shard_is_an_ordinary_batch(void **state)
{
    (void)state;
    char want[33];
    const struct rung rung = {"allreduce", "direct", "thread", 1, 1, 1};
    struct hr_train_options options = options_of(&rung);
    options.micro_shards = 1;
    run_digest(&options, want);
    snprintf(options.reduce, sizeof options.reduce, "sum");
    CHECK_DIGEST(&options, want);
}

/* A last batch of fewer samples than shards leaves some shards empty. */
static void empty_shards_change_nothing(void **state)
{
    (void)state;
    char want[33];
    const struct rung one = {"allreduce", "direct", "thread", 1, 1, 1};
    const struct rung eight = {"allreduce", "direct", "thread", 8, 1, 1};
    struct hr_train_options options = options_of(&one);
    options.global_batch_size = 718; /* of 1437 samples: 718, 718, 1 */
    run_digest(&options, want);
    options = options_of(&eight);
    options.global_batch_size = 718;
    CHECK_DIGEST(&options, want);
}

static void the_cost_is_measured_where_shards_are_added(void **state)
{
    (void)state;
    struct hr_train_options options = options_of(&rungs[2]);
    struct hr_run_result result = run_train(&options);
    assert_true(result.repro_cost > 0);
    assert_int_equal(result.micro_shards, 8);
    hr_run_result_free(&result);
    snprintf(options.reduce, sizeof options.reduce, "sum");
    result = run_train(&options);
    assert_true(result.repro_cost == 0 && result.micro_shards == 0);
    hr_run_result_free(&result);
}

/* Of 718 samples worker 0's four shards of 90 hold one more than half, and more than a block of the
 * test split: memory is for them, also where their cost is measured. */
static void a_worker_has_room_for_the_largest_shards(void **state)
{
    (void)state;
    struct hr_train_options options = options_of(&rungs[4]);
    options.global_batch_size = 718;
    options.epochs = 2;
    struct hr_run_result result = run_train(&options);
    assert_true(result.repro_cost > 0);
    assert_int_equal(result.batch_size, 360);
    hr_run_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_workers_changes_no_bit),
        cmocka_unit_test(nor_with_norms_of_the_whole_gradient),
        cmocka_unit_test(one_shard_is_an_ordinary_batch),
        cmocka_unit_test(empty_shards_change_nothing),
        cmocka_unit_test(the_cost_is_measured_where_shards_are_added),
        cmocka_unit_test(a_worker_has_room_for_the_largest_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
