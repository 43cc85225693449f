/* Checkpoints: whole or not there, verified to the bit, the newest that verifies is found. */
#include "hogring/checkpoint.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "checkpoint/manifest.h"
#include "support/check.h"
#include "support/sample.h"
#include "support/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    struct hr_checkpoint checkpoint = sample_checkpoint(500);
    CHECK_OK(hr_checkpoint_save(scratch("d"), &checkpoint, 0));
    assert_string_equal(checkpoint.path, scratch("d/" SAMPLE_STEP));
    assert_int_equal(scratch_entries("d"), 2); /* the step and latest: no temporary stays */
    assert_int_equal(scratch_entries("d/" SAMPLE_STEP), 3);
    check_sample_loads(scratch("d"), 500);
    check_sample_loads(scratch("d/"), 500);
    check_sample_loads(scratch("d/" SAMPLE_STEP), 500);
    check_sample_loads(scratch("d/latest"), 500);
    check_sample_loads(scratch("d/" SAMPLE_STEP "/" HR_MODEL_NAME), 500);
    check_sample_loads(scratch("d/latest/" HR_MODEL_NAME), 500);
}

static void a_loaded_checkpoint_knows_its_folder(void **state)
{
    (void)state;
    struct hr_checkpoint found;
    sample_save(500, 0);
    CHECK_OK(hr_checkpoint_load(scratch("d"), &found));
    assert_string_equal(found.path, scratch("d/" SAMPLE_STEP));
    hr_checkpoint_free(&found);
    CHECK_OK(hr_checkpoint_load(scratch("d/" SAMPLE_STEP "/" HR_MODEL_NAME), &found));
    assert_string_equal(found.path, scratch("d/" SAMPLE_STEP));
    hr_checkpoint_free(&found);
}

static void the_same_weights_give_the_same_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {HR_MODEL_NAME, HR_TRAINER_NAME, HR_MANIFEST_NAME};
    char path[64];
    unsigned char *first[3], *second;
    size_t bytes[3], again;
    sample_save(500, 0);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "d/" SAMPLE_STEP "/%s", names[i]);
        first[i] = scratch_read(path, &bytes[i]);
    }
    sample_save(500, 0);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "d/" SAMPLE_STEP "/%s", names[i]);
        second = scratch_read(path, &again);
        assert_int_equal(again, bytes[i]);
        assert_memory_equal(first[i], second, again);
        free(first[i]);
        free(second);
    }
}

/* Tensor at this byte of a file; NULL in the header. The data stands at the end. */

static const char *tensor_at(const struct hr_tensor *tensors, size_t bytes, size_t byte)
{
    const size_t second = bytes - tensors[1].bytes, first = second - tensors[0].bytes;
    return byte >= second ? tensors[1].name : byte >= first ? tensors[0].name : NULL;
}

static size_t check_every_flip(const char *file, const struct hr_tensor *tensors)
{
    char path[64];
    struct hr_checkpoint found;
    struct stat info;
    snprintf(path, sizeof path, "d/" SAMPLE_STEP "/%s", file);
    assert_int_equal(stat(scratch(path), &info), 0);
    const size_t bytes = (size_t)info.st_size;
    for (size_t byte = 0; byte < bytes; byte++)
        for (unsigned bit = 0; bit < 8; bit++) {
            scratch_flip(path, byte, bit);
            CHECK_FAILS(hr_checkpoint_load(scratch("d/" SAMPLE_STEP), &found), HR_E_FORMAT);
            CHECK_MESSAGE(file);
            if (tensors && tensor_at(tensors, bytes, byte))
                CHECK_MESSAGE(tensor_at(tensors, bytes, byte));
            scratch_flip(path, byte, bit);
        }
    check_sample_loads(scratch("d/" SAMPLE_STEP), 500);
    return 8 * bytes;
}

/* There are no bits that do not matter. */

static void every_flipped_bit_is_refused_and_its_file_and_tensor_named(void **state)
{
    (void)state;
    sample_save(500, 0);
    const size_t flips = check_every_flip(HR_MODEL_NAME, sample_model_tensors) +
                         check_every_flip(HR_TRAINER_NAME, sample_trainer_tensors) +
                         check_every_flip(HR_MANIFEST_NAME, NULL);
    print_message("%zu flipped bits, each refused\n", flips);
}

static void a_checkpoint_truncated_at_any_byte_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"d/" SAMPLE_STEP "/" HR_MODEL_NAME,
                                        "d/" SAMPLE_STEP "/" HR_TRAINER_NAME,
                                        "d/" SAMPLE_STEP "/" HR_MANIFEST_NAME};
    struct hr_checkpoint found;
    sample_save(500, 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t bytes;
        unsigned char *whole = scratch_read(names[i], &bytes);
        for (size_t cut = bytes; cut-- > 0;) {
            assert_int_equal(truncate(scratch(names[i]), (off_t)cut), 0);
            CHECK_FAILS(hr_checkpoint_load(scratch("d/" SAMPLE_STEP), &found), HR_E_FORMAT);
            CHECK_MESSAGE(strrchr(names[i], '/') + 1);
        }
        scratch_write(names[i], whole, bytes);
        free(whole);
        check_sample_loads(scratch("d/" SAMPLE_STEP), 500);
    }
}

/* A file of another checkpoint is whole in itself, and still not this one's. */

static void files_of_two_checkpoints_do_not_mix(void **state)
{
    (void)state;
    struct hr_checkpoint found;
    sample_save(500, 0);
    sample_save(501, 0);
    assert_int_equal(rename(scratch("d/step-00000501/" HR_MODEL_NAME),
                            scratch("d/" SAMPLE_STEP "/" HR_MODEL_NAME)),
                     0);
    CHECK_FAILS(hr_checkpoint_load(scratch("d/" SAMPLE_STEP), &found), HR_E_FORMAT);
    CHECK_MESSAGE(HR_MODEL_NAME ": tensor \"0.bias\" is damaged: XXH3-64 is ");
    CHECK_FAILS(hr_checkpoint_load(scratch("d/step-00000501"), &found), HR_E_IO);
    CHECK_MESSAGE("step-00000501/" HR_MODEL_NAME ": cannot be opened");
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void the_newest_that_verifies_is_taken_and_each_damaged_one_said(void **state)
{
    (void)state;
    sample_save(7, 0);
    sample_save(500, 0);
    sample_save(1000, 0);
    sample_save(100000000, 0); /* nine digits: by number, not by name */
    scratch_flip("d/step-100000000/" HR_MODEL_NAME, 0, 0);
    assert_int_equal(unlink(scratch("d/step-00001000/" HR_MANIFEST_NAME)), 0);
    scratch_stderr_begin();
    check_sample_loads(scratch("d"), 500);
    const char *said = scratch_stderr_end();
    assert_int_equal(lines_of(said), 2);
    assert_ptr_equal(strstr(said, "hogring: warning: step-100000000 is passed over: "), said);
    assert_non_null(strstr(said, "\nhogring: warning: step-00001000 is passed over: "));
}

static void a_folder_without_a_valid_checkpoint_is_an_error(void **state)
{
    (void)state;
    struct hr_checkpoint found = {.step = 77};
    CHECK_FAILS(hr_checkpoint_load(scratch("none"), &found), HR_E_IO);
    CHECK_MESSAGE("/none: no checkpoint: No such file or directory");
    CHECK_FAILS(hr_checkpoint_load(scratch(""), &found), HR_E_IO);
    CHECK_MESSAGE("holds neither manifest.json nor step-* folders");
    scratch_write("file", "x", 1);
    CHECK_FAILS(hr_checkpoint_load(scratch("file"), &found), HR_E_IO);
    CHECK_MESSAGE("/file: no checkpoint: neither a folder nor a model.safetensors");
    CHECK_FAILS(hr_checkpoint_load("/dev/null", &found), HR_E_IO);
    assert_false(hr_checkpoint_any(scratch("none")));
    assert_false(hr_checkpoint_any(scratch("")));
    sample_save(500, 0);
    assert_true(hr_checkpoint_any(scratch("d")));
    scratch_flip("d/" SAMPLE_STEP "/" HR_TRAINER_NAME, 0, 0);
    scratch_stderr_begin();
    const enum hr_status status = hr_checkpoint_load(scratch("d"), &found);
    scratch_stderr_end();
    CHECK_FAILS(status, HR_E_FORMAT);
    CHECK_MESSAGE("/d: no checkpoint of 1 verifies");
    assert_int_equal(found.step, 77); /* untouched */
}

static void a_step_renamed_by_hand_is_passed_over_but_loads_by_name(void **state)
{
    (void)state;
    sample_save(5, 0);
    sample_save(6, 0);
    assert_int_equal(rename(scratch("d/step-00000006"), scratch("d/step-00000999")), 0);
    scratch_stderr_begin();
    check_sample_loads(scratch("d"), 5);
    assert_non_null(strstr(scratch_stderr_end(), "is of step 6, its folder of 999"));
    check_sample_loads(scratch("d/step-00000999"), 6);
}

/* As after a resume from an early step into the same folder. */

/* Save under another name, as a temporary would stand there. */

/* What a crash between the two renames of that way leaves behind. */

/* The pid of a process that has ended and was waited for. */

static void prepare_makes_the_folder_and_leaves_nothing_in_it(void **state)
{
    (void)state;
    CHECK_OK(hr_checkpoint_prepare(scratch("a/b/c"), 1 << 20));
    assert_int_equal(scratch_entries("a/b/c"), 0);
}

static void prepare_says_bytes_needed_and_free(void **state)
{
    (void)state;
    CHECK_FAILS(hr_checkpoint_prepare(scratch("d"), SIZE_MAX), HR_E_IO);
    CHECK_MESSAGE("/d: no space for a checkpoint: 18446744073709551615 bytes needed, ");
    CHECK_MESSAGE(" free");
}

static void an_unwritable_folder_is_an_error(void **state)
{
    (void)state;
    struct hr_checkpoint checkpoint = sample_checkpoint(500);
    CHECK_OK(hr_folder_make(scratch("d")));
    assert_int_equal(chmod(scratch(""), 0755), 0);
    assert_int_equal(chmod(scratch("d"), 0555), 0);
    const bool root = geteuid() == 0; /* may write everywhere: be nobody for a while */
    if (root)
        assert_int_equal(seteuid(65534), 0);
    const enum hr_status prepared = hr_checkpoint_prepare(scratch("d"), 1);
    CHECK_MESSAGE("cannot be created: Permission denied");
    const enum hr_status saved = hr_checkpoint_save(scratch("d"), &checkpoint, 0);
    CHECK_MESSAGE("this folder cannot be made: Permission denied");
    if (root)
        assert_int_equal(seteuid(0), 0);
    CHECK_FAILS(prepared, HR_E_IO);
    CHECK_FAILS(saved, HR_E_IO);
    scratch_write("file", "x", 1);
    CHECK_FAILS(hr_checkpoint_prepare(scratch("file"), 1), HR_E_IO);
    assert_int_equal(chmod(scratch("d"), 0755), 0);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Files are refused their size at the first, second and third file of a save. */

static void a_save_without_space_leaves_the_old_checkpoint_and_nothing_else(void **state)
{
    (void)state;
    static const char *const names[] = {HR_TRAINER_NAME, HR_MODEL_NAME, HR_MANIFEST_NAME};
    struct hr_checkpoint checkpoint = sample_checkpoint(500);
    sample_save(500, 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[64];
        struct stat info;
        snprintf(path, sizeof path, "d/" SAMPLE_STEP "/%s", names[i]);
        assert_int_equal(stat(scratch(path), &info), 0);
        limit_file_size((rlim_t)info.st_size - 1);
        const enum hr_status status = hr_checkpoint_save(scratch("d"), &checkpoint, 1);
        limit_file_size(RLIM_INFINITY);
        CHECK_FAILS(status, HR_E_IO);
        CHECK_MESSAGE(names[i]);
        CHECK_MESSAGE(": File too large: ");
        CHECK_MESSAGE(" bytes needed, ");
        assert_int_equal(scratch_entries("d"), 2);
        check_sample_loads(scratch("d"), 500);
    }
}

static void what_cannot_be_written_is_refused_and_cleared_away(void **state)
{
    (void)state;
    struct hr_checkpoint checkpoint = sample_checkpoint(500);
    checkpoint.model.ntensors = 1;
    struct hr_tensor twice[2] = {sample_model_tensors[0], sample_model_tensors[0]};
    checkpoint.trainer.tensors = twice;
    CHECK_FAILS(hr_checkpoint_save(scratch("d"), &checkpoint, 0), HR_E_USAGE);
    CHECK_MESSAGE("\"0.bias\" is there twice");
    assert_int_equal(scratch_entries("d"), 0);
    checkpoint = sample_checkpoint(UINT64_MAX);
    CHECK_FAILS(hr_checkpoint_save(scratch("d"), &checkpoint, 0), HR_E_USAGE);
}

static void a_manifest_of_another_version_is_refused(void **state)
{
    (void)state;
    static const char body[] = "{\n  \"format\": \"hogring checkpoint\",\n  \"version\": 2";
    /* xxh3_64 of the body by another implementation (python3-xxhash) */
    static const char tail[] = ",\n  \"xxh3_64\": \"70efae3e196df5e0\"\n}\n";
    char text[256];
    struct hr_manifest manifest;
    snprintf(text, sizeof text, "%s%s", body, tail);
    scratch_write("m", text, strlen(text));
    CHECK_FAILS(hr_manifest_read(scratch("m"), &manifest), HR_E_FORMAT);
    CHECK_MESSAGE("/m: is of another version than 1, which hogring ");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_saved_is_loaded),
        TEST(a_loaded_checkpoint_knows_its_folder),
        TEST(the_same_weights_give_the_same_bytes),
        TEST(every_flipped_bit_is_refused_and_its_file_and_tensor_named),
        TEST(a_checkpoint_truncated_at_any_byte_is_refused),
        TEST(files_of_two_checkpoints_do_not_mix),
        TEST(the_newest_that_verifies_is_taken_and_each_damaged_one_said),
        TEST(a_folder_without_a_valid_checkpoint_is_an_error),
        TEST(a_step_renamed_by_hand_is_passed_over_but_loads_by_name),
        TEST(prepare_makes_the_folder_and_leaves_nothing_in_it),
        TEST(prepare_says_bytes_needed_and_free),
        TEST(an_unwritable_folder_is_an_error),
        TEST(a_save_without_space_leaves_the_old_checkpoint_and_nothing_else),
        TEST(what_cannot_be_written_is_refused_and_cleared_away),
        TEST(a_manifest_of_another_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
