/* What a look at data tells: classes and values, features of unlike scales, untaught classes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/look.h"
#include "formats/packed.h"
#include "support/data_files.h"

/* Labels of `n` samples, as text: how each looks, number i of them. */
static enum hr_label_kind kind_of(size_t n, double (*label)(size_t i))
{
    FILE *file = fopen(scratch("labels"), "w");
    struct hr_label_look look;
    fputs("x,label\n", file);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%zu,%.10g\n", i % 7, label(i));
    assert_int_equal(fclose(file), 0);
    struct hr_dataset dataset = data_open("labels", NULL);
    CHECK_OK(hr_look_at_labels(&dataset, &look));
    assert_int_equal(look.samples, n);
    hr_dataset_close(&dataset);
    return look.kind;
}

static double ten(size_t i)
{
    return (double)(i % 10);
}
static double hundred(size_t i)
{
    return (double)(i % 100 + 1);
}
static double signs(size_t i)
{
    return i % 2 ? 1.0 : -1.0;
}
static double whole(size_t i)
{
    return 1000 * (double)i;
}
static double counted(size_t i)
{
    return (double)i;
}
static double fractions(size_t i)
{
    return i == 17 ? 2.5 : (double)(i % 3);
}
static double prices(size_t i)
{
    return 34900 + (double)((i * 7919) % 663) * 1087;
}

static double progressions(size_t i)
{
    return 25 + 3 * (double)(i % 214);
}

static void numbers_of_which_most_differ_are_values(void **state)
{
    (void)state;
    assert_int_equal(kind_of(400, whole), HR_LABELS_VALUES);
    assert_int_equal(kind_of(400, counted), HR_LABELS_VALUES); /* 0, 1, 2, ...: no names */
    assert_int_equal(kind_of(300, fractions), HR_LABELS_VALUES);
    assert_int_equal(kind_of(1460, prices), HR_LABELS_VALUES); /* 663 numbers, two samples each */
    assert_int_equal(kind_of(442, progressions), HR_LABELS_VALUES); /* 214 */
}

static void classes_are_classes(void **state)
{
    (void)state;
    assert_int_equal(kind_of(1000, ten), HR_LABELS_CLASSES);
    assert_int_equal(kind_of(10, counted), HR_LABELS_CLASSES);
    assert_int_equal(kind_of(2, signs), HR_LABELS_CLASSES);
    assert_int_equal(kind_of(400, hundred), HR_LABELS_CLASSES);
    assert_int_equal(kind_of(300, hundred), HR_LABELS_DOUBT); /* said, and trained */
    assert_int_equal(kind_of(200, hundred), HR_LABELS_DOUBT);
    struct hr_label_look look;
    data_text("words", "x,label\n1,a\n2,b\n3,c\n4,d\n5,e\n6,f\n7,g\n8,h\n9,i\n1,j\n2,k\n3,0.5\n");
    struct hr_dataset dataset = data_open("words", NULL);
    CHECK_OK(hr_look_at_labels(&dataset, &look));
    assert_int_equal(look.kind, HR_LABELS_CLASSES);
    hr_dataset_close(&dataset);
    CHECK_OK(hr_dataset_open("digits", &dataset));
    CHECK_OK(hr_look_at_labels(&dataset, &look));
    assert_int_equal(look.kind, HR_LABELS_CLASSES);
    assert_int_equal(look.distinct, 10);
    hr_dataset_close(&dataset);
}

/* 360 test samples of digits: 2 deviations of chance are 3.2 points. */
static void an_accuracy_without_a_look_at_the_samples_is_known(void **state)
{
    (void)state;
    char text[100];
    struct hr_dataset dataset;
    CHECK_OK(hr_dataset_open("digits", &dataset));
    assert_true(hr_look_at_chance(&dataset, 0.09, text, sizeof text));
    assert_string_equal(text, "no better than chance (10 classes)");
    assert_false(hr_look_at_chance(&dataset, 0.16, text, sizeof text));
    dataset.classes = 0; /* values */
    assert_false(hr_look_at_chance(&dataset, NAN, text, sizeof text));
    hr_dataset_close(&dataset);
    char rows[12000] = "x,label\n"; /* 9 of 10 are a */
    for (size_t i = 0; i < 1000; i++)
        snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%zu,%c\n", i,
                 i % 10 ? 'a' : 'b');
    data_text("nine", rows);
    dataset = data_open("nine", NULL);
    assert_true(hr_look_at_chance(&dataset, 0.8, text, sizeof text));
    assert_non_null(strstr(text, "below always answering the most frequent class ("));
    assert_false(hr_look_at_chance(&dataset, 0.96, text, sizeof text));
    assert_false(hr_look_at_balanced_chance(&dataset, 0.8, text, sizeof text));
    assert_true(hr_look_at_balanced_chance(&dataset, 0.5, text, sizeof text));
    hr_dataset_close(&dataset);
}

static struct hr_scale_look look_at(const char *text)
{
    struct hr_scale_look look;
    data_text("scales", text);
    struct hr_dataset dataset = data_open("scales", NULL);
    CHECK_OK(hr_look_at_scales(&dataset, &look));
    hr_dataset_close(&dataset);
    return look;
}

static bool unlike(const char *text, size_t small, size_t large)
{
    const struct hr_scale_look look = look_at(text);
    assert_true(!look.unlike || (look.small == small && look.large == large));
    return look.unlike;
}

static void scales_far_apart_are_unlike(void **state)
{
    (void)state;
    assert_true(unlike("a,b,c,k\n1,0,2000,x\n1,0,-2000,y\n1,0,2000,x\n", 0, 2));
    assert_true(unlike("a,b,k\n5000,2,x\n5000,-2,y\n5000,2,x\n", 1, 0));
    assert_true(unlike("a,b,k\n500,2,x\n500,-2,y\n500,2,x\n", 1, 0)); /* and one is large */
    assert_false(unlike("a,b,k\n500,60,x\n500,-60,y\n500,60,x\n", 0, 0));
    assert_false(unlike("a,b,k\n40,2,x\n40,-2,y\n40,2,x\n", 0, 0));
    assert_false(unlike("a,b,k\n0,2,x\n0,-2,y\n0,2,x\n", 0, 0));
    assert_false(unlike("a,b,k\n0,2,x\n1e-9,-2,y\n0,2,x\n0,3,x\n0,2,y\n0,1,x\n", 0, 0));
}

static void features_above_a_hundred_are_all_large(void **state)
{
    (void)state;
    assert_true(look_at("a,b,k\n500,200,x\n500,-200,y\n500,200,x\n").all_large);
    assert_true(look_at("a,b,k\n500,0,x\n500,0,y\n500,0,x\n").all_large);
    assert_false(look_at("a,b,k\n500,20,x\n500,-20,y\n500,20,x\n").all_large);
}

static void the_largest_value_is_that_of_all_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        float largest;
    } rows[] = {{"a,b,k\n1,-20,x\n3,4,y\n", 20}, {"1 2:-7\n0 1:3 5:6\n", 7}, {"1 2:0\n0\n", 0}};
    struct hr_data_options options = data_options();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        data_text("f", rows[i].text);
        snprintf(options.test_data, sizeof options.test_data, "%s", scratch("f"));
        struct hr_dataset dataset = data_open("f", &options);
        assert_true(hr_look_at_largest(&dataset, &dataset.train) == rows[i].largest);
        assert_true(hr_dataset_bytes(&dataset) > 0);
        hr_dataset_close(&dataset);
    }
    struct hr_dataset digits, packed;
    struct hr_scale_look look;
    CHECK_OK(hr_dataset_open("digits", &digits));
    assert_true(hr_look_at_largest(&digits, &digits.train) == 1);
    CHECK_OK(hr_look_at_scales(&digits, &look));
    assert_true(!look.unlike && !look.all_large);
    assert_int_equal(hr_dataset_bytes(&digits), 1797 * (64 + sizeof(uint32_t)));
    CHECK_OK(hr_packed_write(scratch("p"), &digits));
    packed = data_open("p", NULL);
    assert_int_equal(hr_dataset_bytes(&packed), 0); /* a file's pages */
    hr_dataset_close(&packed);
    hr_dataset_close(&digits);
}

/* Labels that only test samples have: as values, or as classes that nobody taught. */
static void labels_of_tests_alone_are_looked_at(void **state)
{
    (void)state;
    struct hr_data_options options = data_options();
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("test"));
    data_text("f", "x,k\n1,1\n2,2\n");
    data_text("test", "x,k\n1,2.5\n");
    data_refused("f", &options, HR_E_USAGE, "the labels look like values and not like classes");
    data_text("test", "x,k\n1,cat\n");
    data_refused("f", &options, HR_E_FORMAT, "only test samples have the label \"cat\"");
    data_text("test", "x,k\n1,3\n");
    data_refused("f", &options, HR_E_FORMAT, "only test samples have the label \"3\"");
    data_text("f", "x,k\n1,1\n2,2\n3,4\n4,5\n5,6\n6,7\n7,8\n8,9\n");
    data_text("test", "x,k\n1,31\n1,32\n1,33\n");
    data_refused("f", &options, HR_E_USAGE, "only test samples have \"31\"");
}

static void untaught_classes_are_counted(void **state)
{
    (void)state;
    struct hr_data_options options = data_options();
    size_t untaught, example;
    data_text("train", "x,k\n1,cat\n2,dog\n");
    data_text("test", "x,k\n1,cat\n2,eel\n");
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("test"));
    snprintf(options.classes, sizeof options.classes, "cat,dog,eel,fox");
    struct hr_dataset dataset = data_open("train", &options);
    CHECK_OK(hr_look_at_splits(&dataset, &untaught, &example));
    assert_int_equal(untaught, 1);
    assert_int_equal(example, 2);
    hr_dataset_close(&dataset);
}

/* Readers refuse them; what is mapped is not read. */
static void features_that_are_not_finite_are_found(void **state)
{
    (void)state;
    float values[] = {1, 2, 3, 4, 5, NAN};
    const uint32_t other_way[] = {2, 1, 0};
    struct hr_dataset dataset = {.shape = {2, 1, 1},
                                 .features = HR_FEATURES_FLOATS,
                                 .train = {.count = 3, .values = values}};
    size_t sample = 9;
    assert_true(hr_look_for_unfinite(&dataset, &dataset.train, &sample));
    assert_int_equal(sample, 2);
    dataset.train.chosen = other_way;
    assert_true(hr_look_for_unfinite(&dataset, &dataset.train, &sample));
    assert_int_equal(sample, 0);
    values[5] = 6;
    assert_false(hr_look_for_unfinite(&dataset, &dataset.train, &sample));
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(an_accuracy_without_a_look_at_the_samples_is_known),
        cmocka_unit_test(features_that_are_not_finite_are_found),
        IN_SCRATCH(numbers_of_which_most_differ_are_values),
        IN_SCRATCH(classes_are_classes),
        IN_SCRATCH(scales_far_apart_are_unlike),
        IN_SCRATCH(features_above_a_hundred_are_all_large),
        IN_SCRATCH(the_largest_value_is_that_of_all_kinds),
        IN_SCRATCH(labels_of_tests_alone_are_looked_at),
        IN_SCRATCH(untaught_classes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
