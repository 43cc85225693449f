/* Saving, loading and claiming, while each call for memory or on files fails in turn. */
#include <stdio.h>

#include "checkpoint/claim.h"
#include "hogring/checkpoint.h"
#include "support/every_call.h"
#include "support/sample.h"
#include "support/scratch.h"

static char dir[512];
static bool saved; /* step 20, as was said */

/* The sample of step 10 or 20 loads, whole. */
static void old_or_new_loads(void)
{
    struct hr_checkpoint found;
    CHECK_OK(hr_checkpoint_load(dir, &found));
    const uint64_t step = found.step;
    hr_checkpoint_free(&found);
    assert_true(step == 20 || (step == 10 && !saved));
    check_sample_loads(dir, step);
}

static void back_to_old(void)
{
    old_or_new_loads();
    CHECK_OK(hr_checkpoint_prepare(dir, 1)); /* as each start does */
    sample_save(10, 1);
    assert_int_equal(scratch_entries("d"), 2);
}

static enum hr_status save(void)
{
    struct hr_checkpoint checkpoint = sample_checkpoint(20);
    const enum hr_status status = hr_checkpoint_save(dir, &checkpoint, 1);
    saved = status == HR_OK;
    return status;
}

static enum hr_status replace(void)
{
    struct hr_checkpoint checkpoint = sample_checkpoint(10);
    saved = false;
    return hr_checkpoint_save(dir, &checkpoint, 1);
}

static enum hr_status load(void)
{
    struct hr_checkpoint found;
    HR_TRY(hr_checkpoint_load(dir, &found));
    const uint64_t step = found.step;
    const size_t tensors = found.model.ntensors + found.trainer.ntensors;
    hr_checkpoint_free(&found);
    assert_int_equal(step, 10);
    assert_int_equal(tensors, 4);
    return HR_OK;
}

static enum hr_status prepare(void)
{
    return hr_checkpoint_prepare(dir, 1);
}

static enum hr_status claim(void)
{
    struct hr_claim claim;
    const struct hr_claimant claimant = {.dir = dir, .overwrite = true};
    HR_TRY(hr_claim_check(&claimant));
    HR_TRY(hr_claim_take(&claimant, &claim));
    hr_claim_drop(&claim);
    return HR_OK;
}

static void claimed(void)
{
    struct hr_claim claim;
    const struct hr_claimant claimant = {.dir = dir, .overwrite = true};
    CHECK_OK(hr_claim_take(&claimant, &claim));
    hr_claim_drop(&claim);
    sample_save(10, 1);
}

static const struct task tasks[] = {
    {"save", save, back_to_old}, {"replace", replace, back_to_old}, {"load", load, NULL},
    {"prepare", prepare, NULL},  {"claim", claim, claimed},
};

static void begin(void)
{
    snprintf(dir, sizeof dir, "%s", scratch("d"));
    sample_save(10, 1);
    scratch_stderr_begin(); /* warnings: latest, removals */
}

static void without_memory_a_status_says_so(void **state)
{
    (void)state;
    size_t calls = 0;
    begin();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        calls += fail_every_call(&tasks[i], OF_MEMORY, ENOMEM, 1);
    scratch_stderr_end();
    print_message("%zu allocations have failed\n", calls);
}

static void a_failed_call_on_a_file_is_said_and_leaves_old_or_new(void **state)
{
    (void)state;
    static const int errors[] = {EIO, ENOSPC};
    size_t calls = 0;
    begin();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        for (size_t e = 0; e < 2; e++)
            calls += fail_every_call(&tasks[i], OF_FILES, errors[e], 1);
    scratch_stderr_end();
    print_message("%zu calls on files have failed\n", calls);
}

static void pieces_and_interruptions_change_nothing(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        do_in_pieces(&tasks[i]);
    scratch_stderr_end();
}

/* dir, spelled longer and longer, until no name fits behind it. */
static void paths_that_grow_too_long_are_refused_and_harm_nothing(void **state)
{
    (void)state;
    enum { LONGEST = sizeof((struct hr_checkpoint *)0)->path - 1, SPELLINGS = 90 };
    static char spelled[LONGEST + 1];
    struct hr_checkpoint checkpoint = sample_checkpoint(10), found;
    struct hr_claim claim;
    size_t refused = 0;
    begin();
    for (size_t length = LONGEST - SPELLINGS; length <= LONGEST; length++) {
        const size_t there = strlen(dir);
        memset(spelled, '/', length);
        memcpy(spelled, dir, there);
        const struct hr_claimant claimant = {.dir = spelled, .overwrite = true};
        refused += hr_checkpoint_prepare(spelled, 1) != HR_OK;
        refused += hr_checkpoint_save(spelled, &checkpoint, 1) != HR_OK;
        hr_checkpoint_mark_best(spelled, 10, 1);
        if (hr_checkpoint_load(spelled, &found) == HR_OK)
            hr_checkpoint_free(&found);
        else
            refused++;
        refused += hr_claim_check(&claimant) != HR_OK;
        if (hr_claim_take(&claimant, &claim) == HR_OK)
            hr_claim_drop(&claim);
        sample_save(10, 1);
        check_sample_loads(dir, 10);
    }
    scratch_stderr_end();
    assert_true(refused > SPELLINGS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_memory_a_status_says_so),
        TEST(a_failed_call_on_a_file_is_said_and_leaves_old_or_new),
        TEST(paths_that_grow_too_long_are_refused_and_harm_nothing),
        TEST(pieces_and_interruptions_change_nothing),
    };
    scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
