/* Which classes are taken for which: counted one by one, and as people and programs read it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "json/documents.h"
#include "report/report.h"
#include "support/check.h"

enum { MOST = 300, CLASSES = 7, NONE = CLASSES };

static uint32_t labels[MOST], answers[MOST];

/* Class 6 has no sample, 5 is never answered; some have no answer. */
static struct hr_evaluation drawn(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 9);
        labels[i] = r.v[0] % 6;
        answers[i] = r.v[1] % 3 ? labels[i] : r.v[2] % (CLASSES + 1);
        if (answers[i] == 5)
            answers[i] = 4;
        if (answers[i] == NONE)
            answers[i] = UINT32_MAX;
    }
    return (struct hr_evaluation){
        .count = count, .classes = CLASSES, .labels = labels, .answers = answers};
}

static size_t counted(const struct hr_evaluation *e, uint32_t label, uint32_t answer)
{
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++)
        n += e->labels[i] == label && e->answers[i] == answer;
    return n;
}

static void check_number(const json_t *object, const char *key, double want)
{
    const json_t *value = json_object_get(object, key);
    if (isnan(want))
        assert_true(json_is_null(value));
    else
        CHECK_NEAR(json_number_value(value), want, 1e-15, 0);
}

static void check_class(const struct hr_evaluation *e, const json_t *object, uint32_t c)
{
    const json_t *wrong = json_object_get(object, "taken_for");
    double samples = 0, said = 0;
    size_t cells = 0;
    for (uint32_t a = 0; a <= CLASSES; a++) {
        const size_t n = counted(e, c, a == NONE ? UINT32_MAX : a);
        char name[24];
        snprintf(name, sizeof name, "%u", a);
        samples += (double)n;
        said += a == NONE ? 0 : (double)counted(e, a, c);
        if (a != c && n) {
            cells++;
            check_number(wrong, a == NONE ? "no answer" : name, (double)n);
        }
    }
    const double right = (double)counted(e, c, c), recall = right / samples;
    assert_int_equal(json_object_size(wrong), cells);
    check_number(object, "samples", samples);
    check_number(object, "answers", said);
    check_number(object, "recall", recall);
    check_number(object, "precision", right / said);
    check_number(object, "f1", 2 / (samples / right + said / right));
}

static void every_figure_is_as_counted_one_by_one(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 17, MOST};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const struct hr_evaluation evaluation = drawn(counts[i]);
        json_t *classes = hr_json_classes(&evaluation);
        assert_int_equal(json_array_size(classes), CLASSES);
        if (counts[i] == MOST) /* fewer: some have none, and 0 / 0 is told below */
            for (uint32_t c = 0; c < 5; c++)
                check_class(&evaluation, json_array_get(classes, c), c);
        check_number(json_array_get(classes, 6), "recall", NAN);
        check_number(json_array_get(classes, 5), "precision", NAN);
        json_decref(classes);
    }
}

static char *printed(const struct hr_evaluation *evaluation, size_t width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    CHECK_OK(hr_confusion_print(out, evaluation, width));
    fclose(out);
    return text;
}

static char *names[] = {(char[]){"cat"}, (char[]){"dog"}, (char[]){"sea cucumber"}};
static uint32_t three_labels[] = {0, 0, 0, 1, 1, 2, 2, 0},
                three_answers[] = {0, 0, 1, 1, 1, 2, 0, UINT32_MAX};
static const struct hr_evaluation three = {.count = 8,
                                           .classes = 3,
                                           .class_names = names,
                                           .labels = three_labels,
                                           .answers = three_answers};

static void a_matrix_is_printed_where_it_fits(void **state)
{
    (void)state;
    char *text = printed(&three, 68);
    assert_string_equal(text,
                        "\n                                              predicted\n"
                        "class         samples  recall %  precision %  cat  dog  sea cucumber\n"
                        "cat                 4     50.00        66.67    2    1             .\n"
                        "dog                 2    100.00        66.67    .    2             .\n"
                        "sea cucumber        2     50.00       100.00    1    .             1\n");
    free(text);
}

static void else_the_classes_with_the_least_recall(void **state)
{
    (void)state;
    char *text = printed(&three, 67);
    assert_string_equal(text, "\nlowest recall first, of 3 classes\n"
                              "class         samples  recall %  precision %  mostly taken for\n"
                              "cat                 4     50.00        66.67  dog (1)\n"
                              "sea cucumber        2     50.00       100.00  cat (1)\n"
                              "dog                 2    100.00        66.67\n");
    free(text);
}

static void a_line_feed_in_a_name_breaks_no_row(void **state)
{
    (void)state;
    char *feeds[] = {(char[]){"c\nt"}, (char[]){"dog"}, (char[]){"sea\tcucumber"}};
    struct hr_evaluation evaluation = three;
    evaluation.class_names = feeds;
    for (size_t width = 67; width < 69; width++) { /* a list, a matrix */
        char *text = printed(&evaluation, width);
        assert_non_null(strstr(text, "\nc?t                 4     50.00        66.67  "));
        assert_non_null(strstr(text, "\nsea?cucumber        2     50.00       100.00  "));
        assert_null(strstr(text, "c\nt"));
        free(text);
    }
}

static void a_class_without_answers_has_no_precision(void **state)
{
    (void)state;
    uint32_t label[] = {1}, answer[] = {UINT32_MAX};
    const struct hr_evaluation one = {.count = 1, .classes = 2, .labels = label, .answers = answer};
    char *text = printed(&one, 80);
    assert_non_null(strstr(text, "\n0            0         -            -  .  .\n"));
    assert_non_null(strstr(text, "\n1            1      0.00            -  .  .\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_figure_is_as_counted_one_by_one),
        cmocka_unit_test(a_matrix_is_printed_where_it_fits),
        cmocka_unit_test(else_the_classes_with_the_least_recall),
        cmocka_unit_test(a_line_feed_in_a_name_breaks_no_row),
        cmocka_unit_test(a_class_without_answers_has_no_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
