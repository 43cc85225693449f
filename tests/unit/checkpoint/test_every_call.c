/* Saving, loading and claiming, while each call for memory or on files fails in turn. */
#include <stdio.h>

#include "base/file.h"
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
    remove(scratch("d/best"));
    if (scratch_exists("d/step-00000010.aside")) /* it was said to have no manifest */
        CHECK_OK(hr_folder_remove(scratch("d/step-00000010.aside")));
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

/* As on a file system that cannot exchange two names. */
static enum hr_status replace_in_steps(void)
{
    disk_exchanges = false;
    const enum hr_status status = replace();
    disk_exchanges = true;
    return status;
}

static enum hr_status mark_best(void)
{
    hr_checkpoint_mark_best(dir, 10, 1); /* warnings at most */
    return HR_OK;
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

/* A run that goes on, by its name in the folder. */
static enum hr_status go_on(void)
{
    struct hr_claim claim;
    struct hr_metadata name = {HR_RUN_KEY, "0123456789abcdef"};
    struct hr_checkpoint from = sample_checkpoint(10);
    const struct hr_claimant claimant = {.dir = dir, .from = &from};
    from.trainer.nmetadata = 1;
    from.trainer.metadata = &name;
    HR_TRY(hr_claim_check(&claimant));
    HR_TRY(hr_claim_take(&claimant, &claim));
    assert_string_equal(claim.run, name.value);
    hr_claim_drop(&claim);
    return HR_OK;
}

/* A write of its name may have failed. The step lies as a kill between two renames has left it. */
static void name_the_run(void)
{
    scratch_write("d/.run", "0123456789abcdef\n", 17);
    if (scratch_exists("d/step-00000010"))
        assert_int_equal(rename(scratch("d/step-00000010"), scratch("d/step-00000010.old")), 0);
}

/* A file of a user's is in a step's folder: it is refused, whatever fails. */
static enum hr_status claim_what_a_user_has(void)
{
    struct hr_claim claim;
    const struct hr_claimant claimant = {.dir = dir, .overwrite = true};
    const enum hr_status status = hr_claim_take(&claimant, &claim);
    if (status == HR_OK)
        hr_claim_drop(&claim);
    return status == HR_E_USAGE ? HR_OK : status;
}

static void users_file_is_there(void)
{
    assert_true(scratch_exists("d/step-00000010/notes"));
}

static const struct task tasks[] = {
    {"save", save, back_to_old},
    {"replace", replace, back_to_old},
    {"load", load, NULL},
    {"replace in steps", replace_in_steps, back_to_old},
    {"mark best", mark_best, back_to_old},
    {"prepare", prepare, NULL},
    {"claim", claim, claimed},
    {"go on", go_on, name_the_run},
    {"claim a user's", claim_what_a_user_has, users_file_is_there},
};

static const struct task *ready(size_t i)
{
    if (tasks[i].run == go_on)
        name_the_run();
    if (scratch_exists("d/step-00000010.old") && tasks[i].run != go_on)
        rename(scratch("d/step-00000010.old"), scratch("d/step-00000010"));
    if (tasks[i].run == claim_what_a_user_has) /* the last one */
        scratch_write("d/step-00000010/notes", "mine", 4);
    return &tasks[i];
}

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
        calls += fail_every_call(ready(i), OF_MEMORY, ENOMEM, 1);
    scratch_stderr_end();
    print_message("%zu allocations have failed\n", calls);
}

static void a_failed_call_on_a_file_is_said_and_leaves_old_or_new(void **state)
{
    (void)state;
    /* The last two are taken for ENOSPC and EINVAL wherever anybody asks. */
    static const int errors[] = {EIO, ENOSPC, EINVAL, ENOENT, EEXIST, EDQUOT, EOPNOTSUPP};
    const size_t n = check_count(5, sizeof errors / sizeof *errors);
    size_t calls = 0;
    begin();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        for (size_t e = 0; e < n; e++)
            calls += fail_every_call(ready(i), OF_FILES, errors[e], 1);
    scratch_stderr_end();
    print_message("%zu calls on files have failed\n", calls);
}

static void pieces_and_interruptions_change_nothing(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        do_in_pieces(ready(i));
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
