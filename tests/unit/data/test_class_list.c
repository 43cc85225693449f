/* Classes as a list: read, written, and data numbered by it. */
#include <stdio.h>
#include <string.h>

#include "data/class_list.h"
#include "formats/packed.h"
#include "support/data_files.h"

static void check_list(const char *text, size_t count, const char *const *names)
{
    struct hr_class_list list;
    CHECK_OK(hr_class_list_parse("--classes", text, &list));
    assert_int_equal(list.count, count);
    assert_int_equal(!list.names, !names);
    for (size_t i = 0; names && i < count; i++)
        assert_string_equal(list.names[i], names[i]);
    hr_class_list_free(&list);
}

static void lists_are_numbers_or_names(void **state)
{
    (void)state;
    check_list("10", 10, NULL);
    check_list("0,1,2", 3, NULL);
    check_list("cat", 1, (const char *[]){"cat"});
    check_list("cat, New York ,eel", 3, (const char *[]){"cat", "New York", "eel"});
    check_list("a%2Cb,100%25,5%,%zz", 4, (const char *[]){"a,b", "100%", "5%", "%zz"});
    check_list("1,3,2", 3, (const char *[]){"1", "3", "2"});
    check_list("a%4,%,\tb%\t", 3, (const char *[]){"a%4", "%", "b%"});
    char longest[256];
    memset(longest, 'a', 255);
    longest[255] = '\0';
    check_list(longest, 1, (const char *[]){longest});
    check_list("02139,2139", 2, (const char *[]){"02139", "2139"});
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "class 0 has no name"},
        {"cat,,dog", "class 1 has no name"},
        {"cat,", "class 1 has no name"},
        {"a%00b", "class 0 has no name"},
        {"cat,dog,cat", "\"cat\" is there twice"},
        {"1,2,1.0", "\"1\" and \"1.0\" are one number, expected each class once"},
        {"0,0.0", "\"0\" and \"0.0\" are one number"},
        {"2,1.1,1.10", "\"1.1\" and \"1.10\", one number written in two ways"},
        {"cat,"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaa",
         "class 1 has no name, or one of more than 255 bytes"},
        {"0", "expected 1 to 16777216 classes"},
        {"99999999", "expected 1 to 16777216 classes"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hr_class_list list;
        CHECK_FAILS(hr_class_list_parse("--classes", wrong[i][0], &list), HR_E_USAGE);
        CHECK_MESSAGE(wrong[i][1]);
        hr_class_list_free(&list);
    }
}

static void a_name_is_written_so_that_it_can_be_read(void **state)
{
    (void)state;
    static const char *const names[] = {"cat", " a b ", "x,y%", "K\xc3\xa4se\n", "\x01\xff%41"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[HR_CLASS_NAME_TEXT];
        hr_class_name_write(names[i], text);
        check_list(text, 1, &names[i]);
    }
}

/* The labels of the training samples in order, as digits. */
static void check_labels(const struct hr_dataset *dataset, const char *want)
{
    assert_int_equal(dataset->train.count, strlen(want));
    for (size_t i = 0; want[i]; i++)
        assert_int_equal(dataset->train.labels[i], want[i] - '0');
}

static struct hr_data_options with(const char *classes)
{
    struct hr_data_options options = data_options();
    snprintf(options.classes, sizeof options.classes, "%s", classes);
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("test"));
    return options;
}

static void data_is_numbered_by_the_list(void **state)
{
    (void)state;
    data_text("train", "x,kind\n1,cat\n2,eel\n3,cat\n");
    data_text("test", "x,kind\n4,eel\n");
    struct hr_data_options options = with("");
    struct hr_dataset own = data_open("train", &options);
    check_labels(&own, "010");
    options = with("cat,dog,eel");
    struct hr_dataset three = data_open("train", &options);
    check_labels(&three, "020");
    assert_int_equal(three.classes, 3);
    assert_int_equal(three.test.labels[0], 2);
    assert_string_not_equal(three.digest, own.digest);
    options = with("cat,eel,fox"); /* the same numbers: the same data */
    struct hr_dataset more = data_open("train", &options);
    assert_string_equal(more.digest, own.digest);
    CHECK_OK(hr_packed_write(scratch("packed"), &three));
    struct hr_dataset packed = data_open("packed", NULL);
    data_same(&packed, &three);
    hr_dataset_close(&packed);
    options = data_options();
    strcpy(options.classes, "eel,cat,dog");
    packed = data_open("packed", &options); /* its labels cannot be written to */
    check_labels(&packed, "101");
    CHECK_OK(hr_packed_write(scratch("again"), &packed));
    CHECK_OK(hr_packed_verify(scratch("again")));
    hr_dataset_close(&packed);
    hr_dataset_close(&own);
    hr_dataset_close(&three);
    hr_dataset_close(&more);
}

static void numbers_are_found_by_value(void **state)
{
    (void)state;
    data_text("train", "x,y1,label\n1,1,+1\n2,1,-1\n3,1,1.0\n");
    data_text("test", "x,y1,label\n1,1,1\n");
    struct hr_data_options options = with("-1,1");
    struct hr_dataset signs = data_open("train", &options);
    check_labels(&signs, "101");
    hr_dataset_close(&signs);
    data_text("train", "x,y1,label\n1,1,1\n2,1,5\n");
    options = with("10");
    struct hr_dataset ten = data_open("train", &options);
    check_labels(&ten, "15");
    assert_int_equal(ten.classes, 10);
    assert_null(ten.class_names);
    hr_dataset_close(&ten);
}

/* Of whole numbers alone: what is no number, or a fraction, is a class of its own. */
static void other_names_are_not_found_by_value(void **state)
{
    (void)state;
    static const struct {
        const char *labels, *classes, *unknown;
    } rows[] = {
        {"x,label\n1,2\n2,cat\n", "1,3,2", "\"cat\""},
        {"x,label\n1,2\n2,2.5\n3,1\n", "1,3,2", "\"2.5\""},
        {"x,label\n1,2\n2,4\n3,-1\n", "1,3,2", "\"-1\", \"4\""},
        {"x,label\n1,2\n2,-1\n3,7\n", "3", "\"-1\", \"7\""},
        {"x,label\n1,cat\n2,2\n3,2\n", "cat,dog", "\"2\""},
        {"x,label\n1,9007199254740993\n2,9007199254740992\n", "9007199254740992,1",
         "\"9007199254740993\""},
        {"x,label\n1,a23456789012345678901234567890\n2,b23456789012345678901234567890\n"
         "3,c23456789012345678901234567890\n4,d23456789012345678901234567890\n"
         "5,e23456789012345678901234567890\n6,f23456789012345678901234567890\n",
         "cat,dog", "\"e23456789012345678901234567890\", which"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hr_data_options options = data_options();
        snprintf(options.classes, sizeof options.classes, "%s", rows[i].classes);
        data_text("f", rows[i].labels);
        data_refused("f", &options, HR_E_USAGE, rows[i].unknown);
    }
    static const char *const names[] = {"a", "b", "c"};
    assert_string_equal(hr_class_list_shown(names, 3).text, "a, b, c");
    assert_string_equal(hr_class_list_shown(NULL, 3).text, "0 to 2");
    static const char *many[99];
    for (size_t i = 0; i < 99; i++)
        many[i] = "a23456789012345678901234567890";
    assert_non_null(strstr(hr_class_list_shown(many, 99).text, "67890, ..."));
}

static void unknown_classes_are_refused_by_name(void **state)
{
    (void)state;
    data_text("train", "x,kind\n1,cat\n2,eel\n3,fox\n");
    data_text("test", "x,kind\n4,eel\n");
    struct hr_data_options options = with("cat,dog");
    data_refused(
        "train", &options, HR_E_USAGE,
        "has samples of class \"eel\", \"fox\", which --classes does not know: it has cat");
    options = with("2");
    data_refused("train", &options, HR_E_USAGE, "which --classes does not know: it has 0 to 1");
    options = with("cat,,dog");
    data_refused("train", &options, HR_E_USAGE, "--classes: class 1 has no name");
}

static void a_class_of_test_samples_alone_is_refused(void **state)
{
    (void)state;
    data_text("train", "x,kind\n1,0\n2,1\n3,2\n");
    data_text("test", "x,kind\n4,1\n5,3\n"); /* from 1: other numbers for the same things */
    struct hr_data_options options = with("");
    data_refused("train", &options, HR_E_FORMAT,
                 "only test samples have the label \"3\"; --classes lists all");
    options = with("4");
    struct hr_dataset meant = data_open("train", &options);
    assert_int_equal(meant.classes, 4);
    hr_dataset_close(&meant);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_numbers_or_names),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_name_is_written_so_that_it_can_be_read),
        IN_SCRATCH(data_is_numbered_by_the_list),
        IN_SCRATCH(numbers_are_found_by_value),
        IN_SCRATCH(other_names_are_not_found_by_value),
        IN_SCRATCH(unknown_classes_are_refused_by_name),
        IN_SCRATCH(a_class_of_test_samples_alone_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
