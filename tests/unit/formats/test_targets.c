/* Targets: columns, arrays and labels whose values are to be predicted, in every format that has
 * them; and what stands in them that is no number. */
#include <stdio.h>
#include <string.h>

#include "formats/packed.h"
#include "support/data_files.h"

static struct hr_data_options of_values(const char *target)
{
    struct hr_data_options options = data_options();
    options.values = 1;
    snprintf(options.target, sizeof options.target, "%s", target);
    return options;
}

/* Opened with a test file of the same text, so that nothing is held out. */
static struct hr_dataset open_whole(const char *name, const char *text, const char *target)
{
    struct hr_data_options options = of_values(target);
    data_text(name, text);
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch(name));
    return data_open(name, &options);
}

static double target_of(const struct hr_dataset *d, const struct hr_split *split, size_t i,
                        size_t k)
{
    return d->targets.values[split->labels[hr_split_row(split, i)] * d->targets.count + k];
}

static void columns_are_found_in_the_order_of_the_list(void **state)
{
    (void)state;
    static const char text[] = "a,price,b,rent\n1,1000000000.25,2,7\n3,-1e-3,4,8\n";
    struct hr_dataset d = open_whole("f", text, " Rent , price");
    assert_int_equal(d.targets.count, 2);
    assert_int_equal(d.targets.rows, 4);
    assert_int_equal(d.classes, 0);
    assert_int_equal(d.shape.channels, 2);
    assert_string_equal(d.targets.names[0], "rent");
    assert_string_equal(d.targets.names[1], "price");
    assert_string_equal(d.label_column, "columns 4, 2, rent, price");
    CHECK_NEAR(target_of(&d, &d.train, 0, 1), 1000000000.25, 0, 0);
    CHECK_NEAR(target_of(&d, &d.test, 1, 0), 8, 0, 0);
    data_sample(&d, &d.test, 1, (float[]){3, 4}, 3);
    hr_dataset_close(&d);
    d = open_whole("f", text, "");
    assert_int_equal(d.targets.count, 1);
    assert_string_equal(d.targets.names[0], "rent");
    hr_dataset_close(&d);
    d = open_whole("f", "1,2,3\n4,5,6\n", "1,3");
    assert_null(d.targets.names);
    CHECK_NEAR(target_of(&d, &d.train, 1, 1), 6, 0, 0);
    data_sample(&d, &d.train, 1, (float[]){5}, 1);
    hr_dataset_close(&d);
}

/* Held-out samples keep their own values. */
static void values_follow_their_samples(void **state)
{
    (void)state;
    char text[4000] = "x,y\n";
    for (size_t i = 0; i < 100; i++)
        snprintf(text + strlen(text), 40, "%zu,%zu.5\n", i, 1000 + i);
    const struct hr_data_options options = of_values("y");
    data_text("f", text);
    struct hr_dataset d = data_open("f", &options);
    const struct hr_split *splits[] = {&d.train, &d.test};
    assert_int_equal(d.test.count, 20);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < splits[s]->count; i++)
            CHECK_NEAR(target_of(&d, splits[s], i, 0), (double)splits[s]->values[i] + 1000.5, 0, 0);
    hr_dataset_close(&d);
}

static void refuses(const char *text, const char *target, enum hr_status status,
                    const char *message)
{
    const struct hr_data_options options = of_values(target);
    data_text("f", text);
    data_refused("f", &options, status, message);
}

static void what_is_no_number_is_refused_with_its_place(void **state)
{
    (void)state;
    refuses("a,y\n1,2\n3,NA\n", "y", HR_E_FORMAT,
            "line 3, column 2: \"NA\", expected a finite number (the target is column 2, y; "
            "--target names another)");
    refuses("a,y\n1,\n", "y", HR_E_FORMAT, "line 2, column 2: \"\"");
    refuses("a,y\n1,inf\n", "y", HR_E_FORMAT, "line 2, column 2: \"inf\"");
    refuses("a,y\n1,2\n", "z", HR_E_USAGE,
            "--target z: expected a name of the header or a number from 1 to 2");
    refuses("a,y\n1,2\n", "2,y", HR_E_USAGE, "column 2 stands in it twice");
    refuses("a,y\n1,2\n", "a,y", HR_E_USAGE, "all 2 columns, expected one more to learn from");
}

static void libsvm_has_one_or_several_before_the_pairs(void **state)
{
    (void)state;
    struct hr_dataset d = open_whole("f.libsvm", "1.5,-2 1:3\n2.5,4e3 2:1\n", "");
    assert_string_equal(d.format, "libsvm");
    assert_int_equal(d.targets.count, 2);
    CHECK_NEAR(target_of(&d, &d.train, 1, 1), 4000, 0, 0);
    hr_dataset_close(&d);
    const struct hr_data_options options = of_values("");
    data_text("g.libsvm", "1.5,-2 1:3\n2.5 2:1\n");
    data_refused("g.libsvm", &options, HR_E_FORMAT, "as many targets as in the lines before");
    data_text("g.libsvm", "1.5,nan 1:3\n");
    data_refused("g.libsvm", &options, HR_E_FORMAT, "a finite number, the target");
}

/* The same values, samples and digest, from one file without its source. */
static void packed_data_are_those_of_their_source(void **state)
{
    (void)state;
    struct hr_dataset d =
        open_whole("f", "a,price,b,rent\n1,1e9,2,7\n3,-1e-3,4,8\n5,6,7,8\n", "rent,price");
    const struct hr_data_options options = of_values("");
    CHECK_OK(hr_packed_write(scratch("f.hrp"), &d));
    CHECK_OK(hr_packed_verify(scratch("f.hrp")));
    struct hr_dataset packed = data_open("f.hrp", &options);
    assert_string_equal(packed.digest, d.digest);
    assert_int_equal(packed.targets.count, 2);
    assert_string_equal(packed.targets.names[1], "price");
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++) {
            CHECK_NEAR(target_of(&packed, &packed.train, i, k), target_of(&d, &d.train, i, k), 0,
                       0);
            CHECK_NEAR(target_of(&packed, &packed.test, i, k), target_of(&d, &d.test, i, k), 0, 0);
        }
    hr_dataset_close(&packed);
    hr_dataset_close(&d);
    data_text("c", "1,2,cat\n3,4,dog\n5,6,cat\n7,8,dog\n");
    struct hr_dataset classes = data_open("c", NULL);
    CHECK_OK(hr_packed_write(scratch("c.hrp"), &classes));
    hr_dataset_close(&classes);
    data_refused("c.hrp", &options, HR_E_USAGE, "was packed with classes");
}

/* Other values, another digest; classes of the same numbers, too. */
static void values_are_part_of_the_digest(void **state)
{
    (void)state;
    struct hr_dataset a = open_whole("f", "x,y\n1,2\n3,4\n", "y");
    struct hr_dataset b = open_whole("f", "x,y\n1,2\n3,4.5\n", "y");
    assert_string_not_equal(a.digest, b.digest);
    hr_dataset_close(&a);
    hr_dataset_close(&b);
}

static void images_have_classes(void **state)
{
    (void)state;
    struct hr_dataset d;
    const struct hr_data_options options = of_values("");
    CHECK_FAILS(hr_dataset_open_with("digits", &options, &d), HR_E_USAGE);
    CHECK_MESSAGE(
        "--task regress: is not supported for idx data (digits), whose labels are classes");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(columns_are_found_in_the_order_of_the_list),
        IN_SCRATCH(values_follow_their_samples),
        IN_SCRATCH(what_is_no_number_is_refused_with_its_place),
        IN_SCRATCH(libsvm_has_one_or_several_before_the_pairs),
        IN_SCRATCH(packed_data_are_those_of_their_source),
        IN_SCRATCH(values_are_part_of_the_digest),
        IN_SCRATCH(images_have_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
