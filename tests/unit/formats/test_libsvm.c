/* libsvm text: kept sparse, gathered dense, refused with its line. */
#include <stdio.h>
#include <string.h>

#include "support/data_files.h"

static struct hr_data_options with_test(const char *name)
{
    struct hr_data_options options = data_options();
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch(name));
    return options;
}

static void rows_are_kept_sparse_and_gathered_dense(void **state)
{
    (void)state;
    data_text("f", "\n \r\n # a comment\n+1 1:0.5 4:-2e1 # more\n\n-1 qid:7 2:1\r\n+1\n");
    data_text("g", "-1 5:3\n");
    const struct hr_data_options options = with_test("g");
    struct hr_dataset d = data_open("f", &options);
    assert_string_equal(d.format, "libsvm");
    assert_int_equal(d.features, HR_FEATURES_SPARSE);
    assert_int_equal(d.shape.channels, 5);
    assert_int_equal(d.train.count, 3);
    assert_int_equal(d.train.rows[3], 3);
    assert_int_equal(d.classes, 2);
    assert_string_equal(d.class_names[0], "-1");
    data_sample(&d, &d.train, 0, (float[]){0.5f, 0, 0, -20, 0}, 1);
    data_sample(&d, &d.train, 1, (float[]){0, 1, 0, 0, 0}, 0);
    data_sample(&d, &d.train, 2, (float[]){0, 0, 0, 0, 0}, 1);
    data_sample(&d, &d.test, 0, (float[]){0, 0, 0, 0, 3}, 0);
    hr_dataset_close(&d);
}

static void the_base_of_indices_is_that_of_both_files(void **state)
{
    (void)state;
    data_text("f", "1 1:1\n0 2:2\n");
    data_text("g", "1 0:5\n");
    struct hr_data_options options = with_test("g");
    struct hr_dataset d = data_open("f", &options);
    assert_int_equal(d.shape.channels, 3);
    data_sample(&d, &d.train, 0, (float[]){0, 1, 0}, 1);
    hr_dataset_close(&d);
    strcpy(options.index_base, "1");
    data_refused("f", &options, HR_E_FORMAT, "has an index 0, expected indices from 1");
    options = with_test("f");
    options.feature_count = 4;
    strcpy(options.index_base, "0");
    d = data_open("f", &options);
    data_sample(&d, &d.train, 1, (float[]){0, 0, 2, 0}, 0);
    hr_dataset_close(&d);
    options.feature_count = 2;
    data_refused("f", &options, HR_E_FORMAT, "has index 2, expected at most 1 (--features 2)");
}

static void held_out_rows_are_whole(void **state)
{
    (void)state;
    data_text("f", "0 1:1 2:2\n1 2:3\n0\n1 1:4 2:5\n0 1:6\n");
    struct hr_dataset d = data_open("f", NULL);
    assert_int_equal(d.train.count, 4);
    assert_int_equal(d.test.count, 1);
    double sum = 0;
    const struct hr_split *splits[] = {&d.train, &d.test};
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < splits[s]->count; i++) {
            float x[2];
            uint32_t y;
            hr_dataset_gather(&d, splits[s], &i, 1, x, &y);
            sum += (double)x[0] + 10 * (double)x[1] + 1000 * y;
        }
    CHECK_NEAR(sum, 11 + 10 * 10 + 2000, 0, 0);
    hr_dataset_close(&d);
}

static void refuses(const char *text, const char *message)
{
    data_text("f", text);
    data_refused("f", NULL, HR_E_FORMAT, message);
}

static void wrong_lines_are_refused_with_their_number(void **state)
{
    (void)state;
    refuses("1 1:1\ncat 1:1\n", "f: line 2: \"cat\", expected a number, the label");
    refuses("1 1:1\n1,2 1:1\n", "f: line 2: \"1,2\", expected a number, the label");
    refuses("1 1:1\n1 2:x\n", "line 2: \"2:x\", expected index:value with a finite number");
    refuses("1 1:1\n1 2:\n", "line 2: \"2:\", expected index:value with a finite number");
    refuses("1 1:1\n1 2:inf\n", "line 2: \"2:inf\", expected index:value with a finite number");
    refuses("1 1:1\n1 2:1e40\n", "line 2: \"2:1e40\"");
    refuses("1 1:1\n1 :2\n", "expected index:value with an index up to 2147483647");
    refuses("1 1:1\n1 2147483648:2\n", "line 2: \"2147483648:2\", expected index:value with an");
    refuses("1 1:1\n1 -1:2\n", "line 2: \"-1:2\", expected index:value with an index");
    refuses("1 4294967296:1\n1 3:1\n", "line 1: \"4294967296:1\", expected index:value with an");
    refuses("1 -4:1\n1 3:1\n", "line 1: \"-4:1\", expected index:value with an index up to");
    refuses("1 1:1\n1 3\n", "line 2: \"3\", expected index:value");
    refuses("1 2:1 2:1\n", "line 1: \"2:1\", expected an index above the one before");
    refuses("1 3:1 2:1\n", "line 1: \"2:1\", expected an index above the one before");
    data_text("f.svm", "1\n2\n");
    data_refused("f.svm", NULL, HR_E_FORMAT, "has no index:value at all");
    data_text("f.svm", "# nothing\n");
    data_refused("f.svm", NULL, HR_E_FORMAT, "holds no sample, expected lines of label");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(rows_are_kept_sparse_and_gathered_dense),
        IN_SCRATCH(the_base_of_indices_is_that_of_both_files),
        IN_SCRATCH(held_out_rows_are_whole),
        IN_SCRATCH(wrong_lines_are_refused_with_their_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
