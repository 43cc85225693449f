/* Class names in a model's metadata: as many as there are, whatever they are called. */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "session/model_input.h"

/* `count` names of `length` letters, the last ones their number; free_names frees them. */
static const char **make_names(size_t count, int length)
{
    const char **names = malloc(count * sizeof *names);
    for (size_t i = 0; i < count; i++) {
        char *name = malloc(HR_LABEL_MAX_BYTES + 1);
        snprintf(name, HR_LABEL_MAX_BYTES + 1, "%0*zu", length, i);
        name[0] = i % 2 ? ',' : 'x';
        names[i] = name;
    }
    return names;
}

static void free_names(const char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)names[i]);
    free(names);
}

/* What is put into a file is got from it. */
static void check_round_trip(size_t count, const char *const *names, size_t entries)
{
    const struct hr_dataset dataset = {.classes = count, .class_names = names};
    struct hr_class_list list;
    assert_int_equal(hr_class_names_entries(&dataset), entries);
    struct hr_metadata *metadata = calloc(entries + 1, sizeof *metadata);
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    checkpoint->model.metadata = metadata;
    hr_class_names_put(&dataset, &checkpoint->model);
    assert_int_equal(checkpoint->model.nmetadata, entries);
    CHECK_OK(hr_class_names_get(checkpoint, &list));
    assert_int_equal(list.count, entries ? count : 0);
    assert_int_equal(!list.names, !names || !entries);
    for (size_t i = 0; list.names && i < count; i++)
        assert_string_equal(list.names[i], names[i]);
    hr_class_list_free(&list);
    free(checkpoint);
    free(metadata);
}

static void what_is_put_is_got(void **state)
{
    (void)state;
    check_round_trip(10, NULL, 1);
    check_round_trip(1, (const char *[]){"7"}, 2); /* a name, and not seven classes */
    check_round_trip(3, (const char *[]){"cat", "dog", "eel"}, 2);
    const char **names = make_names(1000, 20); /* x and 19 digits, or %2C and 19, and commas */
    check_round_trip(1000, names, 1 + 1000 / 46 + 1);
    free_names(names, 1000);
    names = make_names(10000, 255);
    check_round_trip(10000, names, 0); /* too long for a file */
    free_names(names, 10000);
}

static void what_is_damaged_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct hr_metadata entries[2];
        const char *message;
    } wrong[] = {
        {{{"hogring.classes", "many"}}, "metadata \"hogring.classes\" is not a number of classes"},
        {{{"hogring.classes", "0"}}, "metadata \"hogring.classes\" is not a number of classes"},
        {{{"hogring.classes", "3"}, {"hogring.class_names", "a,b"}}, "has 2 names of 3 classes"},
        {{{"hogring.classes", "2"}, {"hogring.class_names", "a,a"}}, "\"a\" is there twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hr_metadata entries[2] = {wrong[i].entries[0], wrong[i].entries[1]};
        struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
        struct hr_class_list list;
        checkpoint->model.metadata = entries;
        checkpoint->model.nmetadata = 2;
        CHECK_FAILS(hr_class_names_get(checkpoint, &list), HR_E_FORMAT);
        CHECK_MESSAGE(wrong[i].message);
        hr_class_list_free(&list);
        free(checkpoint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_got),
        cmocka_unit_test(what_is_damaged_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
