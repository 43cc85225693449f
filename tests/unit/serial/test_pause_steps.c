/* A save of backup-workers that one process runs is a pure read, and holds whole steps: whoever
 * has a share of the step in hand, or comes too late, has trained on nothing of it yet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/steps.h"
#include "session/saved.h"
#include "support/cases.h"
#include "support/runs.h"
#include "support/scratch.h"

enum { BATCH = 4, STEPS = 7 }; /* samples of a share; steps of an epoch */

/* Two epochs, in any order, or in virtual time with losses or without. */
static struct hr_train_options random_options(uint64_t number)
{
    struct draws draws = {.seed = check_seed(), .index = number};
    struct hr_train_options options = run_options("backup-workers", 2 + draw(&draws, 5));
    options.seed = number;
    options.batch_size = BATCH;
    options.epoch_size = BATCH * STEPS * options.workers;
    options.backups = draw(&draws, options.workers);
    snprintf(options.schedule, sizeof options.schedule, "explore:%llu", (unsigned long long)number);
    if (number % 3 == 0)
        return options;
    snprintf(options.schedule, sizeof options.schedule, "free");
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "lognormal(10ms,0.5)");
    if (draw(&draws, 2))
        snprintf(options.link, sizeof options.link, "1MB/s,1ms");
    return options;
}

static void save_to(struct hr_train_options *options, const char *folder, uint64_t every)
{
    snprintf(options->checkpoint_dir, sizeof options->checkpoint_dir, "%s", scratch(folder));
    options->checkpoint_every = (struct hr_every){.steps = every};
    options->overwrite = true;
    options->keep = 1000;
}

static void a_run_that_is_saved_has_the_bits_of_one_that_never_was(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < check_count(24, 1000); i++) {
        struct hr_train_options options = random_options(i);
        if (i % 3 == 2) {
            snprintf(options.inject, sizeof options.inject, "kill:1@step=4");
            snprintf(options.on_loss, sizeof options.on_loss, "%s", i % 2 ? "continue" : "restart");
        }
        struct hr_run_result never = run_train(&options);
        save_to(&options, "saved", 1 + i % 3);
        struct hr_run_result saved = run_train(&options);
        assert_string_equal(saved.weights_digest, never.weights_digest);
        assert_int_equal(saved.dropped, never.dropped);
        assert_int_equal(saved.updates, never.updates);
        if (options.clock[0] == 'v')
            assert_memory_equal(&saved.seconds, &never.seconds, sizeof saved.seconds);
        hr_run_result_free(&saved);
        hr_run_result_free(&never);
    }
}

/* Step k's checkpoint: k updates, each of as many shares as it waits for. */
static void check_saved(const struct hr_train_options *options, const struct hr_saved_step *step)
{
    struct hr_checkpoint checkpoint;
    char path[512];
    uint64_t samples, updates;
    snprintf(path, sizeof path, "%s/%s", scratch("saved"), step->name.text);
    CHECK_OK(hr_checkpoint_load(path, &checkpoint));
    CHECK_OK(hr_saved_count(&checkpoint, "samples", &samples));
    CHECK_OK(hr_saved_count(&checkpoint, "updates", &updates));
    assert_int_equal(updates, checkpoint.step);
    assert_int_equal(samples, checkpoint.step * BATCH * (options->workers - options->backups));
    const struct hr_tensor *applied = hr_tensor_get(&checkpoint.trainer, "step");
    assert_int_equal(*(const int64_t *)applied->data, checkpoint.step);
    assert_null(hr_tensor_get(&checkpoint.trainer, "in_hand"));
    hr_checkpoint_free(&checkpoint);
}

static void each_checkpoint_holds_whole_steps_and_a_run_goes_on_with_the_next(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < check_count(12, 400); i++) {
        struct hr_train_options options = random_options(i);
        struct hr_saved_step *steps;
        size_t n;
        save_to(&options, "saved", 1);
        struct hr_run_result result = run_train(&options);
        hr_run_result_free(&result);
        CHECK_OK(hr_steps_list(scratch("saved"), &steps, &n));
        assert_int_equal(n, 2 * STEPS); /* none is left out */
        for (size_t k = 0; k < n; k++)
            check_saved(&options, &steps[k]);
        options.checkpoint_dir[0] = '\0';
        options.checkpoint_every = (struct hr_every){0};
        const struct hr_saved_step *from = &steps[1 + i % (n - 1)]; /* but for the last */
        snprintf(options.resume, sizeof options.resume, "%s/%s", scratch("saved"), from->name.text);
        result = run_train(&options);
        assert_int_equal(result.updates, 2 * STEPS - from->step);
        hr_run_result_free(&result);
        free(steps);
    }
}

int main(void)
{
    setenv("TMPDIR", "/dev/shm", 0); /* a checkpoint is synced: here that takes no disk */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_saved_has_the_bits_of_one_that_never_was),
        cmocka_unit_test(each_checkpoint_holds_whole_steps_and_a_run_goes_on_with_the_next),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
