/* Whose a folder is, and that two do not write into it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "checkpoint/claim.h"
#include "support/runs.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    run_folder_make(folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    run_folder_remove(folder);
    return 0;
}

/* A step of a run; "": as saved before runs had names. */
static void save(uint64_t step, const char *run)
{
    float weight = 1;
    struct hr_tensor tensor = {.name = "w", .ndim = 1, .shape = {1}, .bytes = 4, .data = &weight};
    struct hr_metadata name = {.key = HR_RUN_KEY};
    struct hr_checkpoint checkpoint = {.step = step,
                                       .model = {.ntensors = 1, .tensors = &tensor},
                                       .trainer = {.nmetadata = run[0] ? 1 : 0, .metadata = &name}};
    snprintf(name.value, sizeof name.value, "%s", run);
    CHECK_OK(hr_checkpoint_save(folder, &checkpoint, 0));
}

static struct hr_checkpoint load(const char *name)
{
    struct hr_checkpoint checkpoint;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(hr_checkpoint_load(path, &checkpoint));
    return checkpoint;
}

static void begin(char run[17])
{
    struct hr_claim claim;
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, NULL, false}, &claim));
    snprintf(run, 17, "%s", claim.run);
    save(10, run);
    save(20, run);
    hr_claim_drop(&claim);
}

static void check_latest(const char *want)
{
    char path[128], found[64] = "";
    snprintf(path, sizeof path, "%s/latest", folder);
    assert_true(readlink(path, found, sizeof found - 1) > 0);
    assert_string_equal(found, want);
}

static void a_run_keeps_its_name_when_it_goes_on(void **state)
{
    (void)state;
    char run[17];
    struct hr_claim claim;
    begin(run);
    struct hr_checkpoint from = load("");
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim));
    assert_string_equal(claim.run, run);
    hr_claim_drop(&claim);
    hr_checkpoint_free(&from);
}

static void another_run_is_refused_and_overwrites_when_told_to(void **state)
{
    (void)state;
    char run[17];
    struct hr_claim claim;
    struct hr_claimant claimant = {folder, NULL, false};
    begin(run);
    CHECK_FAILS(hr_claim_check(&claimant), HR_E_USAGE);
    CHECK_FAILS(hr_claim_take(&claimant, &claim), HR_E_USAGE);
    CHECK_MESSAGE("holds another run, up to step-00000020; expected --resume");
    assert_true(hr_checkpoint_any(folder));
    claimant.overwrite = true;
    CHECK_OK(hr_claim_take(&claimant, &claim));
    assert_string_not_equal(claim.run, run);
    assert_false(hr_checkpoint_any(folder));
    hr_claim_drop(&claim);
}

static void a_run_from_elsewhere_is_another_run(void **state)
{
    (void)state;
    char run[17];
    struct hr_claim claim;
    begin(run);
    struct hr_checkpoint from = load("step-00000020");
    strcpy(from.trainer.metadata[0].value, "0123456789abcdef");
    CHECK_FAILS(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim), HR_E_USAGE);
    hr_checkpoint_free(&from);
}

static void newer_steps_are_refused_or_overwritten(void **state)
{
    (void)state;
    char run[17];
    struct hr_claim claim;
    begin(run);
    struct hr_checkpoint from = load("step-00000010");
    CHECK_FAILS(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim), HR_E_USAGE);
    CHECK_MESSAGE("holds step-00000020, which is newer");
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, true}, &claim));
    hr_claim_drop(&claim);
    hr_checkpoint_free(&from);
    from = load("");
    assert_int_equal(from.step, 10);
    check_latest("step-00000010");
    hr_checkpoint_free(&from);
}

/* As after a kill between the two renames, and with a newer step that is damaged. */
static void latest_is_set_right_by_the_next_start(void **state)
{
    (void)state;
    char run[17], path[128];
    struct hr_claim claim;
    begin(run);
    snprintf(path, sizeof path, "%s/latest", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("step-00000010", path), 0);
    save(30, run);
    snprintf(path, sizeof path, "%s/step-00000030/model.safetensors", folder);
    assert_int_equal(truncate(path, 20), 0);
    struct hr_checkpoint from = load("");
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim));
    check_latest("step-00000020");
    hr_claim_drop(&claim);
    hr_checkpoint_free(&from);
}

/* Only newer steps are there, and none of them verifies. */
static void newer_steps_that_are_damaged_keep_nobody_out(void **state)
{
    (void)state;
    char run[17], path[128];
    struct hr_claim claim;
    begin(run);
    struct hr_checkpoint from = load("step-00000010");
    snprintf(path, sizeof path, "%s/step-00000010", folder);
    CHECK_OK(hr_folder_remove(path));
    snprintf(path, sizeof path, "%s/step-00000020/model.safetensors", folder);
    assert_int_equal(truncate(path, 20), 0);
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim));
    assert_string_equal(claim.run, run);
    hr_claim_drop(&claim);
    hr_checkpoint_free(&from);
}

static void steps_without_a_name_are_one_runs(void **state)
{
    (void)state;
    struct hr_claim claim;
    save(10, "");
    CHECK_FAILS(hr_claim_take(&(struct hr_claimant){folder, NULL, false}, &claim), HR_E_USAGE);
    struct hr_checkpoint from = load("");
    for (size_t i = 0; i < 2; i++) { /* killed before its first save, it starts again */
        CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim));
        assert_int_equal(strlen(claim.run), 16);
        hr_claim_drop(&claim);
    }
    hr_checkpoint_free(&from);
}

/* A file in a step's folder that is not ours stays, and so does the step. */
static void a_users_file_is_not_overwritten(void **state)
{
    (void)state;
    char run[17], path[128];
    struct hr_claim claim;
    begin(run);
    snprintf(path, sizeof path, "%s/step-00000010/notes.txt", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    CHECK_FAILS(hr_claim_take(&(struct hr_claimant){folder, NULL, true}, &claim), HR_E_USAGE);
    CHECK_MESSAGE("step-00000010: holds notes.txt, which is none of a checkpoint's files");
    struct hr_checkpoint there = load("step-00000020");
    hr_checkpoint_free(&there);
    assert_int_equal(access(path, F_OK), 0);
}

/* As after a kill between the two renames of a file system that cannot exchange names. */
static void a_step_that_was_moved_aside_gets_its_name_back(void **state)
{
    (void)state;
    char run[17], path[128], old[140];
    struct hr_claim claim;
    begin(run);
    snprintf(path, sizeof path, "%s/step-00000020", folder);
    snprintf(old, sizeof old, "%s.old", path);
    assert_int_equal(rename(path, old), 0);
    struct hr_checkpoint from = load("");
    assert_int_equal(from.step, 20);
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim));
    hr_claim_drop(&claim);
    hr_checkpoint_free(&from);
    assert_int_not_equal(access(old, F_OK), 0);
    struct hr_checkpoint there = load("step-00000020");
    hr_checkpoint_free(&there);
    check_latest("step-00000020");
}

/* Names of runs: 16 digits and nothing else; what is none is no name. */
static void what_is_no_name_of_a_run_is_passed_over(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ours; /* or the start of it */
    } texts[] = {{"", true},
                 {"0123", true},
                 {"0123456789abcdeX\n", false},
                 {"0123456789ABCDEF\n", false},
                 {"0123456789abcdef\nmine", false},
                 {"mine", false}};
    char run[17], path[128];
    struct hr_claim claim;
    begin(run);
    struct hr_checkpoint from = load("");
    snprintf(path, sizeof path, "%s/.run", folder);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(texts[i].text, file);
        fclose(file);
        if (!texts[i].ours) {
            CHECK_FAILS(hr_claim_check(&(struct hr_claimant){folder, &from, false}), HR_E_USAGE);
            CHECK_FAILS(hr_claim_take(&(struct hr_claimant){folder, NULL, true}, &claim),
                        HR_E_USAGE);
            continue;
        }
        CHECK_OK(hr_claim_check(&(struct hr_claimant){folder, &from, false}));
        CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim));
        assert_string_equal(claim.run, run); /* as its newest step says */
        hr_claim_drop(&claim);
    }
    CHECK_OK(hr_claim_check(&(struct hr_claimant){"/nowhere/at/all", &from, false}));
    CHECK_OK(hr_claim_check_free("/nowhere/at/all"));
    hr_checkpoint_free(&from);
}

/* The child's exit code: 0 when it was refused with our number. */
static int try_in_child(void)
{
    struct hr_claim claim;
    char who[32];
    snprintf(who, sizeof who, "process %ld", (long)getppid());
    const enum hr_status status = hr_claim_take(&(struct hr_claimant){folder, NULL, true}, &claim);
    return status == HR_E_IO && strstr(hr_error_message(), who) ? 0 : 1;
}

static void a_second_process_is_kept_out_until_the_first_has_ended(void **state)
{
    (void)state;
    struct hr_claim claim;
    int code;
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, NULL, false}, &claim));
    pid_t child = fork();
    if (child == 0)
        _exit(try_in_child());
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    hr_claim_drop(&claim);
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, NULL, false}, &claim));
    hr_claim_drop(&claim);
}

/* 0: the lock for reading is to be had; the child holds it until it is killed. */
static pid_t lock_for_reading(const char *path)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        const int fd = open(path, O_RDONLY);
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void who_may_read_keeps_no_run_out(void **state)
{
    (void)state;
    struct hr_claim claim;
    char run[17], path[128];
    int code;
    begin(run);
    struct hr_checkpoint from = load("");
    snprintf(path, sizeof path, "%s/.run", folder);
    const pid_t reader = lock_for_reading(path);
    CHECK_OK(hr_claim_check(&(struct hr_claimant){folder, &from, false}));
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, &from, false}, &claim));
    assert_string_equal(claim.run, run);
    const pid_t child = fork(); /* another run is kept out as ever */
    if (child == 0)
        _exit(try_in_child());
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    hr_claim_drop(&claim);
    hr_checkpoint_free(&from);
    kill(reader, SIGKILL);
    waitpid(reader, NULL, 0);
}

static void a_folder_that_is_gone_is_made_again_with_its_lock(void **state)
{
    (void)state;
    struct hr_claim claim, other;
    char away[128], path[128];
    int code;
    snprintf(away, sizeof away, "%s.away", folder);
    snprintf(path, sizeof path, "%s/.run", folder);
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, NULL, false}, &claim));
    save(10, claim.run);
    CHECK_OK(hr_claim_keep(&claim, folder));
    for (int i = 0; i < 2; i++) { /* the folder is renamed; DIR/.run alone is removed */
        assert_int_equal(i == 0 ? rename(folder, away) : unlink(path), 0);
        CHECK_OK(hr_claim_keep(&claim, folder));
        save(20, claim.run);
        const pid_t child = fork();
        if (child == 0)
            _exit(try_in_child());
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_int_equal(code, 0);
    }
    run_folder_remove(folder);
    assert_int_equal(rename(away, folder), 0); /* as if another run's were there */
    snprintf(claim.run, sizeof claim.run, "fedcba9876543210");
    CHECK_FAILS(hr_claim_keep(&claim, folder), HR_E_IO);
    CHECK_OK(hr_claim_take(&(struct hr_claimant){folder, NULL, true}, &other));
    hr_claim_drop(&other);
    hr_claim_drop(&claim);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        CASE(a_run_keeps_its_name_when_it_goes_on),
        CASE(another_run_is_refused_and_overwrites_when_told_to),
        CASE(a_run_from_elsewhere_is_another_run),
        CASE(newer_steps_are_refused_or_overwritten),
        CASE(latest_is_set_right_by_the_next_start),
        CASE(newer_steps_that_are_damaged_keep_nobody_out),
        CASE(steps_without_a_name_are_one_runs),
        CASE(a_users_file_is_not_overwritten),
        CASE(a_step_that_was_moved_aside_gets_its_name_back),
        CASE(what_is_no_name_of_a_run_is_passed_over),
        CASE(who_may_read_keeps_no_run_out),
        CASE(a_folder_that_is_gone_is_made_again_with_its_lock),
        CASE(a_second_process_is_kept_out_until_the_first_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
