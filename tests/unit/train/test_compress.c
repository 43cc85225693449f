/* Runs with --compress that must be the same run, bit for bit, and what they send. (Processes, and
 * what is refused: tests/cli/compress.bats.) */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

static const char *const all[] = {"bf16", "fp16", "int8", "topk:2%", "powersgd:2"};
enum { ALL = sizeof all / sizeof *all, PUSHED = ALL - 1 /* gossiped, too */ };

static struct hr_train_options compressed(const char *strategy, size_t workers, const char *how)
{
    struct hr_train_options options = run_options(strategy, workers);
    snprintf(options.compress, sizeof options.compress, "%s", how);
    return options;
}

static struct hr_train_options in_virtual_time(struct hr_train_options options)
{
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.link, sizeof options.link, "1Gb/s,50us");
    return options;
}

/* Sums are T(n)'s whoever makes them, and packets what they are however they travel. */
static void a_sum_has_the_same_bits_however_it_is_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALL; i++)
        for (size_t workers = 2; workers <= 5; workers++) {
            char want[33];
            struct hr_train_options options = compressed("allreduce", workers, all[i]);
            run_digest(&options, want);
            CHECK_DIGEST(&options, want);
            snprintf(options.transport, sizeof options.transport, "copy");
            CHECK_DIGEST(&options, want);
            options = compressed("allreduce", workers, all[i]);
            snprintf(options.schedule, sizeof options.schedule, "explore:7");
            CHECK_DIGEST(&options, want);
            options = in_virtual_time(compressed("allreduce", workers, all[i]));
            CHECK_DIGEST(&options, want);
        }
}

/* Whoever sends what when: a worker's public copy is what all its neighbours have. */
static void public_copies_have_the_same_bits_however_they_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < PUSHED; i++)
        for (size_t workers = 2; workers <= 5; workers++) {
            char want[33];
            struct hr_train_options options = compressed("gossip", workers, all[i]);
            run_digest(&options, want);
            CHECK_DIGEST(&options, want);
            snprintf(options.schedule, sizeof options.schedule, "explore:7");
            CHECK_DIGEST(&options, want);
            options = in_virtual_time(compressed("gossip", workers, all[i]));
            CHECK_DIGEST(&options, want);
            options.consensus_step = 0.5;
            run_digest(&options, want);
            options = compressed("gossip", workers, all[i]);
            options.consensus_step = 0.5;
            CHECK_DIGEST(&options, want);
        }
}

/* A packet is the whole gradient's: each server decodes its slice of it. */
static void the_number_of_servers_changes_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < PUSHED; i++)
        for (size_t workers = 2; workers <= 3; workers++) {
            char want[33];
            struct hr_train_options options = compressed("ps-sync", workers, all[i]);
            run_digest(&options, want);
            for (options.servers = 2; options.servers <= 3; options.servers++)
                CHECK_DIGEST(&options, want);
            options = in_virtual_time(compressed("ps-sync", workers, all[i]));
            CHECK_DIGEST(&options, want);
            options = compressed("ssp", workers, all[i]);
            options.staleness = 0;
            CHECK_DIGEST(&options, want);
            options = compressed("backup-workers", workers, all[i]);
            options.backups = 0;
            CHECK_DIGEST(&options, want);
        }
}

static void with_other_tensors(struct hr_train_options *options)
{
    snprintf(options->model, sizeof options->model,
             "conv 3 3x3, batchnorm, relu, flatten, dense 12, relu, dense 10");
    snprintf(options->freeze, sizeof options->freeze, "0.weight");
}

/* All values, as they are, added in T(n); and pairs of which no sum is cut again. */
static void the_largest_of_all_is_the_whole(void **state)
{
    (void)state;
    char plain[33], sparse[33];
    struct hr_train_options options = run_options("allreduce", 3);
    run_digest(&options, plain);
    options = compressed("allreduce", 3, "topk:100%");
    CHECK_DIGEST(&options, plain);
    options = compressed("ps-sync", 3, "topk:100%");
    CHECK_DIGEST(&options, plain);
    options = compressed("allreduce", 3, "topk:5%");
    run_digest(&options, sparse);
    assert_string_not_equal(plain, sparse);
    options = compressed("ps-sync", 3, "topk:5%");
    CHECK_DIGEST(&options, sparse);
    options = run_options("gossip", 5);
    with_other_tensors(&options);
    run_digest(&options, plain);
    snprintf(options.compress, sizeof options.compress, "topk:100%%");
    CHECK_DIGEST(&options, plain);
    options.consensus_step = 0.9;
    run_digest(&options, sparse);
    assert_string_not_equal(plain, sparse);
}

/* Errors are in checkpoints, the owners' and powersgd's factors as well. */
static void a_resumed_run_is_the_one_that_never_stopped(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALL; i++) {
        char want[33];
        struct hr_train_options options = compressed("allreduce", 3, all[i]);
        run_digest(&options, want);
        run_check_resume(options, 11, want);
        options = in_virtual_time(options);
        run_check_resume(options, 11, want);
        if (i == PUSHED)
            continue;
        options = compressed("ps-sync", 3, all[i]);
        options.servers = 2;
        run_digest(&options, want);
        run_check_resume(options, 11, want);
        options = compressed("gossip", 4, all[i]);
        with_other_tensors(&options);
        run_digest(&options, want);
        run_check_resume(options, 11, want);
        options = in_virtual_time(options);
        run_check_resume(options, 12, want);
    }
}

/* Where none were saved, public copies are the replicas: of weights that stay all is known, so a
 * step is that of gossip without compression. */
static void who_goes_on_knows_the_replicas_of_its_neighbours(void **state)
{
    (void)state;
    char folder[64], plain[33];
    struct hr_train_options options = run_options("gossip", 5);
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.max_steps = 5;
    run_digest(&options, plain);
    options.checkpoint_dir[0] = '\0';
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    options.lr = 0;
    options.max_steps = 6;
    run_digest(&options, plain);
    options.consensus_step = 1;
    for (size_t i = 0; i < PUSHED; i++) {
        snprintf(options.compress, sizeof options.compress, "%s", all[i]);
        CHECK_DIGEST(&options, plain);
    }
    run_folder_remove(folder);
}

static void asynchronous_runs_are_replayed(void **state)
{
    (void)state;
    static const char *const pushing[] = {"ps-async", "ssp", "backup-workers"};
    for (size_t s = 0; s < sizeof pushing / sizeof *pushing; s++)
        for (size_t i = 0; i < PUSHED; i++) {
            run_check_replay(compressed(pushing[s], 3, all[i]));
            run_check_order(compressed(pushing[s], 3, all[i]));
        }
    for (size_t i = 0; i < PUSHED; i++)
        run_check_replay(compressed("gossip", 3, all[i])); /* in step: any order is this one */
}

/* Statistics travel as they are, what is frozen stays, and the last batch of an epoch is small. */
static void other_tensors_are_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALL; i++) {
        char want[33];
        struct hr_train_options options = compressed("allreduce", 3, all[i]);
        with_other_tensors(&options);
        run_digest(&options, want);
        options = in_virtual_time(options);
        CHECK_DIGEST(&options, want);
        run_check_resume(options, 11, want);
    }
}

/* --- bytes: 64 x 11 + 11 + 11 x 10 + 10 values --- */

enum { PARAMS = 64 * 11 + 11 + 11 * 10 + 10, BLOCKS = (PARAMS + 255) / 256 };

static uint64_t sent_by(struct hr_train_options options, uint64_t *plain)
{
    struct hr_run_result result = run_train(&options);
    const uint64_t sent = result.bytes_sent;
    *plain = result.bytes_uncompressed;
    hr_run_result_free(&result);
    return sent;
}

static uint64_t steps_of(struct hr_train_options options)
{
    struct hr_run_result result = run_train(&options);
    const uint64_t steps = result.updates;
    hr_run_result_free(&result);
    return steps;
}

static void check_sum(const char *how, size_t n, uint64_t a_step)
{
    const struct hr_train_options options = compressed("allreduce", n, how);
    uint64_t plain, none;
    const uint64_t steps = steps_of(options), floats = sent_by(run_options("allreduce", n), &none);
    assert_int_equal(sent_by(options, &plain), steps * a_step);
    assert_int_equal(plain, floats);
    assert_int_equal(none, floats);
    assert_int_equal(sent_by(in_virtual_time(options), &plain), steps * a_step);
}

static void check_push(const char *how, size_t servers, uint64_t a_step)
{
    struct hr_train_options options = compressed("ps-sync", 2, how);
    uint64_t plain;
    options.servers = servers;
    const uint64_t steps = steps_of(options);
    assert_int_equal(sent_by(options, &plain), steps * 2 * a_step);
    assert_int_equal(plain, steps * 2 * PARAMS * sizeof(float));
}

/* Each of n workers on a ring sends to its two neighbours, or to the one that there is. */
static void check_gossip(const char *how, size_t n, uint64_t packet)
{
    const struct hr_train_options options = compressed("gossip", n, how);
    const uint64_t messages = steps_of(options) * n * (n > 2 ? 2 : 1);
    uint64_t plain;
    assert_int_equal(sent_by(options, &plain), messages * packet);
    assert_int_equal(plain, messages * PARAMS * sizeof(float));
    assert_int_equal(sent_by(in_virtual_time(options), &plain), messages * packet);
}

/* Over one wire, one packet after the other. */
static void packets_take_virtual_time(void **state)
{
    (void)state;
    struct hr_train_options options = in_virtual_time(compressed("gossip", 4, "int8"));
    snprintf(options.compute_time, sizeof options.compute_time, "1ms");
    snprintf(options.link, sizeof options.link, "10MB/s,0s");
    options.max_steps = 10;
    struct hr_run_result result = run_train(&options);
    CHECK_NEAR(result.seconds, 10 * (1e-3 + 2 * (PARAMS + 4 * BLOCKS) / 10e6), 1e-9, 0);
    hr_run_result_free(&result);
}

static void bytes_are_those_of_the_formats(void **state)
{
    (void)state;
    for (uint64_t n = 2; n <= 5; n++) {
        const uint64_t own = (BLOCKS + n - 1) / n, others = n * (n - 1);
        check_sum("bf16", n, 2 * others * own * 512);
        check_sum("fp16", n, 2 * others * own * 512);
        check_sum("int8", n, 2 * others * own * 260);
        check_sum("topk:2%", n, others * ((PARAMS * 2 + 99) / 100) * 8);
        /* of factors direct sends 2 (n - 1) times all of them, over all ranks */
        check_sum("powersgd:2", n, 2 * (n - 1) * 4 * (2 * (64 + 11 + 11 + 10) + 11 + 10));
    }
    for (uint64_t n = 2; n <= 4; n++) {
        check_gossip("bf16", n, 2 * PARAMS);
        check_gossip("fp16", n, 2 * PARAMS);
        check_gossip("int8", n, PARAMS + 4 * BLOCKS);
        check_gossip("topk:2%", n, ((PARAMS * 2 + 99) / 100) * 8);
    }
    check_push("bf16", 2, 2 * PARAMS);
    check_push("int8", 1, PARAMS + 4 * BLOCKS);
    /* Slices begin at lines of 32: 416 and 448 of 835, so two blocks are cut by a server's end. */
    check_push("int8", 2, PARAMS + 4 * (BLOCKS + 1));
    check_push("topk:2%", 3, ((PARAMS * 2 + 99) / 100) * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_has_the_same_bits_however_it_is_made),
        cmocka_unit_test(public_copies_have_the_same_bits_however_they_are_told),
        cmocka_unit_test(packets_take_virtual_time),
        cmocka_unit_test(the_number_of_servers_changes_no_bit),
        cmocka_unit_test(the_largest_of_all_is_the_whole),
        cmocka_unit_test(a_resumed_run_is_the_one_that_never_stopped),
        cmocka_unit_test(who_goes_on_knows_the_replicas_of_its_neighbours),
        cmocka_unit_test(asynchronous_runs_are_replayed),
        cmocka_unit_test(other_tensors_are_left_alone),
        cmocka_unit_test(bytes_are_those_of_the_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
