/* CSV: what is a table is read, and what is none is refused with its place. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"
#include "support/data_files.h"

/* Opened with a test file of the same text, so that nothing is held out. */
static struct hr_dataset open_whole(const char *text, struct hr_data_options options)
{
    data_text("f", text);
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("f"));
    return data_open("f", &options);
}

static void refuses(const char *text, const char *message)
{
    data_text("f", text);
    data_refused("f", NULL, HR_E_FORMAT, message);
}

static void header_quotes_and_line_ends_are_understood(void **state)
{
    (void)state;
    struct hr_dataset d = open_whole("\xef\xbb\xbf\"a\",\"b \"\"x\"\",\ny\",species\r\n"
                                     "\n1, -2.5e1 ,cat\r\n.5,\"3\",\"do\"\"g\"\r\n"
                                     "+7,0,cat",
                                     data_options());
    assert_string_equal(d.format, "csv");
    assert_int_equal(d.features, HR_FEATURES_FLOATS);
    assert_int_equal(hr_shape_elems(d.shape), 2);
    assert_int_equal(d.shape.channels, 2);
    assert_int_equal(d.train.count, 3);
    assert_int_equal(d.classes, 2);
    assert_string_equal(d.class_names[0], "cat");
    assert_string_equal(d.class_names[1], "do\"g");
    data_sample(&d, &d.train, 0, (float[]){1, -25}, 0);
    data_sample(&d, &d.train, 1, (float[]){0.5f, 3}, 1);
    data_sample(&d, &d.test, 2, (float[]){7, 0}, 0);
    hr_dataset_close(&d);
}

/* Which column is the label, and is there a header. */
static void columns_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *text, *header, *column;
        size_t count;
        float first;
        uint32_t label;
    } cases[] = {
        {"1,2,5\n3,4,6\n", "auto", "", 2, 1, 0},
        {"a,b,c\n3,4,6\n", "auto", "", 1, 3, 0},
        {"0,1,Target\n3,4,6\n2,2,5\n", "auto", "", 2, 3, 1},
        {"label,b,c\n3,4,6\n2,2,5\n", "auto", "", 2, 4, 1},
        {"y,b,label\n3,4,6\n2,2,5\n", "auto", "", 2, 3, 1},
        {"y,target,Class\n3,4,6\n2,2,5\n", "auto", "", 2, 3, 1},
        {"y,target,Class\n3,4,6\n2,2,5\n", "auto", "y", 2, 4, 1},
        {"label,b,c\n3,4,6\n2,2,5\n", "auto", "c", 2, 3, 1},
        {"label,b,c\n3,4,6\n2,2,5\n", "auto", "2", 2, 3, 1},
        {"8,4,6\n7,2,5\n", "auto", "1", 2, 4, 1},
        {"8,4,6\n7,2,5\n", "yes", "4", 1, 7, 0},
        {"8\t4\t6\n7\t2\t5\n", "no", "1", 2, 4, 1},
        {"8;4;6\n7;2;5\n", "no", "", 2, 8, 1},
        {"3,1,dog\n4,2,cat\n", "auto", "3", 2, 3, 1},
        {"3,y,1\n4,2,2\n", "auto", "y", 1, 4, 0},
        {"3,1,y\n4,2,n\n", "no", "", 2, 3, 1},
        {"3,1,y\n4,2,6\n5,3,6\n", "yes", "", 2, 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_data_options options = data_options();
        strcpy(options.header, cases[i].header);
        strcpy(options.label_column, cases[i].column);
        struct hr_dataset d = open_whole(cases[i].text, options);
        float x[2];
        uint32_t y;
        hr_dataset_gather(&d, &d.train, (uint32_t[]){0}, 1, x, &y);
        if (d.train.count != cases[i].count || x[0] != cases[i].first || y != cases[i].label)
            fail_msg("case %zu: %zu samples, first %g, label %u", i, d.train.count, (double)x[0],
                     y);
        hr_dataset_close(&d);
    }
}

static void check_note(const char *train, const char *test, const char *first, const char *second)
{
    struct hr_data_options options = data_options();
    data_text("train", train);
    data_text("test", test);
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("test"));
    struct hr_dataset d = data_open("train", &options);
    const char *want[] = {first, second};
    for (size_t i = 0; i < 2; i++)
        if (want[i] ? !strstr(d.notes[i], want[i]) : d.notes[i][0])
            fail_msg("note %zu of %s: %s", i, train, d.notes[i]);
    hr_dataset_close(&d);
}

static void what_is_doubtful_about_columns_is_noted(void **state)
{
    (void)state;
    check_note("a,b,label\n1,2,3\n", "label,a,b\n3,1,2\n", NULL, NULL);
    check_note("a,b,label\n1,2,3\n", "a,c,label\n1,2,3\n", NULL, "other names than those of");
    check_note("a,b,label\n1,2,3\n", "1,2,3\n", NULL, NULL);
    check_note("y,b,label\n1,2,3\n", "y,b,label\n1,2,3\n",
               "is taken to be column 3, label, and not column 1, y: --label-column NAME chooses",
               "and not column 1, y");
    check_note("0,1,2\n1,2,2\n", "5,1,2\n1,2,2\n",
               "line 1 is 0 to 2 in order, and taken for a sample: is it a header (--header yes)?",
               NULL);
    check_note("0,1\n1,1\n", "5,1\n1,1\n", NULL, NULL);
    struct hr_data_options options = data_options();
    data_text("train", "a,b,b,label\n1,2,3,4\n");
    data_text("test", "b,a,b,label\n1,2,3,4\n");
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("test"));
    data_refused("train", &options, HR_E_FORMAT,
                 "in another order (feature 1 is \"b\", there \"a\")");
}

static void wrong_tables_are_refused_with_their_place(void **state)
{
    (void)state;
    refuses("1,2\n3,x,5\n", "f: line 2: more than 2 columns, expected 2");
    refuses("1,2,3\n3,4\n", "f: line 2: 2 columns, expected 3");
    refuses("1,2,3\n\n\"\n\",4,5\n", "f: line 3, column 1: \"?\", expected a finite number");
    refuses("a,b\n\"x\n\",1\n", "f: line 2, column 1, a: \"x?\", expected a finite number");
    refuses("a,\"b\nc\"\n1,2\nx,3\n", "f: line 4, column 1, a: \"x\", expected a finite number");
    refuses("1,2\n3,4\nnan,4\n", "f: line 3, column 1: \"nan\", expected a finite number");
    refuses("1,2\n1e39,4\n", "line 2, column 1: \"1e39\", expected a number of at most 3.4e38");
    refuses("a,label\r1,x\r2,y\r", "f: line 1, column 2: a carriage return and no line feed");
    refuses("1,x\r\n2,y\r", "f: line 2, column 2: a carriage return and no line feed");
    refuses("1,x\r\n2,y\r\r\n", "f: line 2, column 2: a carriage return and no line feed");
    refuses("1,2\n-inf,4\n", "line 2, column 1: \"-inf\"");
    refuses("1,2\n0x10,4\n", "line 2, column 1: \"0x10\"");
    refuses("1,2\n,4\n", "line 2, column 1: \"\", expected a finite number");
    refuses("1,2\n4,\n", "line 2, column 2: the label is empty");
    refuses("1,2\n4,\"5\n\n", "line 2, column 2: a quote is not closed");
    refuses("1,2\n4,\"5\"6\n", "line 2, column 2: text follows the closing quote");
    refuses("1,2\n4,5\"6\"\n", "line 2, column 2: a quote inside a field");
    refuses("1\n2\n", "line 1: one column, expected at least two");
    refuses("a,b\n", "f: holds no sample");
    refuses("\n\n", "f: holds no line, expected a table");
    refuses("", "f: holds no line, expected a table");
    refuses("3,1,y\n4,2,n\n", "f: line 1: \"y\" may be the name of a column or a label");
    refuses("1,2\n", "f: has 1 sample, expected at least 2");
    scratch_write("f", "1,2\n3,\0\n", 8);
    data_refused("f", NULL, HR_E_FORMAT, "f: is no data that is known here");
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    data_text("f", "a,b\n1,2\n2,3\n");
    struct hr_data_options options = data_options();
    strcpy(options.label_column, "c");
    data_refused("f", &options, HR_E_USAGE, "--label-column c: expected a name of the header or a");
    strcpy(options.label_column, "3");
    data_refused("f", &options, HR_E_USAGE, "or a number from 1 to 2");
    options = data_options();
    strcpy(options.header, "maybe");
    data_refused("f", &options, HR_E_USAGE, "--header maybe: expected yes, no or auto");
    options = data_options();
    options.test_fraction = 1;
    data_refused("f", &options, HR_E_USAGE, "--test 1: expected more than 0 and less");
    options = data_options();
    options.feature_count = 2;
    data_refused("f", &options, HR_E_USAGE, "--features: is not supported for csv data");
    options = data_options();
    data_text("g", "a,b,c\n1,2,3\n");
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("g"));
    data_refused("f", &options, HR_E_FORMAT, "train samples are 1x1x1, test samples are 2x1x1");
    options.test_fraction = 0.5;
    data_refused("f", &options, HR_E_USAGE, "is not supported with --test FILE");
}

/* 40 samples whose feature is their number. */
static void held_out_samples_are_always_the_same_ones(void **state)
{
    (void)state;
    char text[800] = "";
    for (int i = 0; i < 40; i++)
        sprintf(text + strlen(text), "%d,%d\n", i, i % 2);
    data_text("f", text);
    data_text("other", text);
    struct hr_data_options options = data_options();
    options.test_fraction = 0.25;
    struct hr_dataset a = data_open("f", &options), b = data_open("other", &options);
    data_same(&a, &b);
    assert_int_equal(a.train.count, 30);
    assert_int_equal(a.test.count, 10);
    int seen[40] = {0};
    for (size_t i = 0; i < 30; i++)
        seen[(int)a.train.values[i]]++;
    for (size_t i = 0; i < 10; i++)
        seen[(int)a.test.values[i]]++;
    for (int i = 0; i < 40; i++)
        assert_int_equal(seen[i], 1);
    for (size_t i = 1; i < 30; i++)
        assert_true(a.train.values[i] > a.train.values[i - 1]);
    assert_false(a.test.values[0] == 0 && a.test.values[9] == 9);
    hr_dataset_close(&a);
    hr_dataset_close(&b);
}

static void labels_become_classes_by_their_value(void **state)
{
    (void)state;
    struct hr_dataset d = open_whole("1,10\n1,9\n1,-1\n1,+9.0\n", data_options());
    assert_int_equal(d.classes, 3);
    static const uint32_t want[] = {2, 1, 0, 1};
    assert_memory_equal(d.train.labels, want, sizeof want);
    assert_string_equal(d.class_names[1], "9");
    hr_dataset_close(&d);
    d = open_whole("1,1\n1,0\n1,2\n", data_options());
    assert_null(d.class_names);
    assert_int_equal(d.classes, 3);
    hr_dataset_close(&d);
}

static void more_than_256_classes_are_told_apart(void **state)
{
    (void)state;
    char *text = calloc(1, 40000), *at = text;
    for (int i = 0; i < 3000; i++)
        at += sprintf(at, "%d,%d\n", i, i);
    struct hr_dataset d = open_whole(text, data_options());
    assert_int_equal(d.classes, 3000);
    data_sample(&d, &d.train, 2999, (float[]){2999}, 2999);
    hr_dataset_close(&d);
    free(text);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(header_quotes_and_line_ends_are_understood),
        IN_SCRATCH(columns_are_found),
        IN_SCRATCH(wrong_tables_are_refused_with_their_place),
        IN_SCRATCH(what_is_doubtful_about_columns_is_noted),
        IN_SCRATCH(wrong_options_are_refused),
        IN_SCRATCH(held_out_samples_are_always_the_same_ones),
        IN_SCRATCH(labels_become_classes_by_their_value),
        IN_SCRATCH(more_than_256_classes_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
