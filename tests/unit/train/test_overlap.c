/* Summing in buckets while backward goes on changes no bit, whatever the buckets, the transport,
 * the launch and the order of play; nor does the way that gradients travel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/runs.h"

struct rung {
    const char *algorithm, *transport, *link, *launch, *schedule, *bucket;
};

/* Processes first: the forking process must not have used BLAS. */
static const struct rung rungs[] = {
    {"direct", "zero-copy", "", "process", "free", "256"},
    {"direct", "copy", "2GB/s,1us", "process", "free", "1K"},
    {"direct", "zero-copy", "", "thread", "free", "4"},
    {"direct", "zero-copy", "", "thread", "free", "2K"},
    {"direct", "zero-copy", "", "thread", "free", "1G"},
    {"tree", "zero-copy", "", "thread", "free", "256"},
    {"master-worker", "copy", "", "thread", "free", "256"},
    {"direct", "copy", "1GB/s,10us", "thread", "free", "256"},
    {"direct", "zero-copy", "", "thread", "explore:1", "256"},
    {"tree", "copy", "", "thread", "explore:2", "256"},
};
enum { NRUNGS = sizeof rungs / sizeof *rungs };

static struct hr_train_options options_of(const struct rung *rung, const char *overlap)
{
    struct hr_train_options options = run_options("allreduce", 3);
    snprintf(options.model, sizeof options.model,
             "flatten, dense 13, relu, dense 11, relu, dense 10");
    snprintf(options.algorithm, sizeof options.algorithm, "%s", rung->algorithm);
    snprintf(options.transport, sizeof options.transport, "%s", rung->transport);
    snprintf(options.link, sizeof options.link, "%s", rung->link);
    snprintf(options.launch, sizeof options.launch, "%s", rung->launch);
    snprintf(options.schedule, sizeof options.schedule, "%s", rung->schedule);
    snprintf(options.bucket_size, sizeof options.bucket_size, "%s", rung->bucket);
    snprintf(options.overlap, sizeof options.overlap, "%s", overlap);
    options.epochs = 1;
    options.warmup_epochs = 0.25;
    return options;
}

static void buckets_change_no_bit(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of(&rungs[0], "on");
    run_digest(&options, want);
    for (size_t i = 1; i < NRUNGS; i++) {
        options = options_of(&rungs[i], "on");
        CHECK_DIGEST(&options, want);
    }
    for (size_t i = 0; i < NRUNGS; i++) {
        options = options_of(&rungs[i], "off");
        snprintf(options.launch, sizeof options.launch, "thread");
        CHECK_DIGEST(&options, want);
    }
}

/* Every algorithm has bits of its own, whatever the buckets: the network has three runs of what a
 * ring deals out, and cuts in the middle of them. */
static void every_algorithm_has_one_digest(void **state)
{
    (void)state;
    static const char *const algorithms[] = {
        "direct",      "one-shot",         "ring",          "bidirectional-ring", "tree",
        "double-tree", "halving-doubling", "master-worker", "hierarchical"};
    static const char *const buckets[] = {"1K", "20K", "1G"};
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        for (size_t workers = 3; workers <= 5; workers++) {
            struct rung rung = {algorithms[a], "zero-copy", "", "thread", "free", "1K"};
            char want[33];
            for (size_t b = 0; b < 4; b++) {
                rung.bucket = buckets[b % 3];
                struct hr_train_options options = options_of(&rung, b < 3 ? "on" : "off");
                snprintf(options.model, sizeof options.model,
                         "flatten, dense 300, relu, dense 100, relu, dense 10");
                options.workers = workers;
                options.max_steps = 4;
                if (b)
                    CHECK_DIGEST(&options, want);
                else
                    run_digest(&options, want);
            }
        }
}

/* What an update needs of the whole gradient waits for all buckets. */
static void norms_are_those_of_the_whole(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of(&rungs[3], "off");
    options.clip_norm = 0.1;
    run_digest(&options, want);
    snprintf(options.overlap, sizeof options.overlap, "on");
    CHECK_DIGEST(&options, want);
}

/* Whoever runs all ranks has gradients computed by other threads, at any time before they are due;
 * a sum begins when the last of them is due, and in the thread that plays. */
static void played_ranks_sum_when_their_gradients_are_due(void **state)
{
    (void)state;
    double seconds[2];
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options options = options_of(&rungs[5], "on");
        snprintf(options.clock, sizeof options.clock, "virtual");
        snprintf(options.compute_time, sizeof options.compute_time, "exponential(10ms)");
        snprintf(options.link, sizeof options.link, "1MB/s,1ms");
        options.workers = 8;
        options.batch_size = 64; /* so that several threads have time to take part */
        setenv("HOGRING_CPUS", i ? "2" : "1", 1);
        struct hr_run_result result = run_train(&options);
        seconds[i] = result.seconds;
        hr_run_result_free(&result);
    }
    unsetenv("HOGRING_CPUS");
    CHECK_NEAR(seconds[1], seconds[0], 1e-9, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_change_no_bit),
        cmocka_unit_test(every_algorithm_has_one_digest),
        cmocka_unit_test(norms_are_those_of_the_whole),
        cmocka_unit_test(played_ranks_sum_when_their_gradients_are_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
