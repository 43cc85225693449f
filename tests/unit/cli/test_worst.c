/* Which test samples have the largest loss, and what is said of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "cli/worst.h"

static float outputs[] = {2, 0, 0, 0, 3, 0, 0, 0, 1, NAN, 0, 0, 1, 1, 0};
static uint32_t labels[] = {0, 2, 2, 1, 1}, answers[] = {0, 1, 2, UINT32_MAX, 0};
static float losses[] = {0.24f, 3.1f, 0.55f, NAN, 3.1f};
static char *names[] = {(char[]){"cat"}, (char[]){"Ankle boot and more"}, (char[]){"eel"}};

static struct hr_evaluation evaluation_of(const char *loss)
{
    struct hr_evaluation evaluation = {.count = 5,
                                       .noutputs = 3,
                                       .outputs = outputs,
                                       .classes = 3,
                                       .class_names = names,
                                       .labels = labels,
                                       .answers = answers,
                                       .loss = loss,
                                       .losses = losses};
    snprintf(evaluation.model, sizeof evaluation.model, "flatten, dense 3");
    return evaluation;
}

static void the_largest_loss_comes_first(void **state)
{
    (void)state;
    const struct hr_evaluation evaluation = evaluation_of("cross-entropy");
    const struct hr_dataset dataset = {.format = "idx", .test = {.count = 5}};
    struct hr_worst worst;
    CHECK_OK(hr_worst_find(&evaluation, &dataset, 4, &worst));
    assert_int_equal(worst.n, 4);
    assert_int_equal(worst.of, 5);
    static const size_t rows[] = {4, 2, 5, 3}; /* not a number before all; equals as they come */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(worst.samples[i].row, rows[i]);
    assert_string_equal(worst.samples[0].answer, "-");
    assert_true(isnan(worst.samples[0].probability));
    assert_string_equal(worst.samples[1].truth, "eel");
    assert_string_equal(worst.samples[1].answer, "Ankle boot and more");
    CHECK_NEAR(worst.samples[1].probability, 0.90944302, 1e-6, 0);
    CHECK_NEAR(worst.samples[1].of_truth, 0.04527849, 1e-6, 0);
    assert_false(worst.samples[1].right);
    assert_true(worst.samples[3].right);
    hr_worst_free(&worst);
    CHECK_OK(hr_worst_find(&evaluation, &dataset, 99, &worst));
    assert_int_equal(worst.n, 5);
    hr_worst_free(&worst);
}

static void models_without_probabilities_have_losses_alone(void **state)
{
    (void)state;
    struct hr_evaluation evaluation = evaluation_of("mse");
    const struct hr_dataset dataset = {.format = "idx", .test = {.count = 5}};
    struct hr_worst worst;
    CHECK_OK(hr_worst_find(&evaluation, &dataset, 2, &worst));
    assert_false(worst.probable);
    assert_true(isnan(worst.samples[1].probability) && isnan(worst.samples[1].of_truth));
    hr_worst_free(&worst);
    evaluation.classes = 0;
    CHECK_FAILS(hr_worst_find(&evaluation, &dataset, 2, &worst), HR_E_USAGE);
}

/* What was held out of a file is called by its row there: 4 of 20 samples, in the file's order. */
static void rows_are_those_of_the_file(void **state)
{
    (void)state;
    char path[] = "/tmp/hogring-worst-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fprintf(file, "x,label\n");
    for (int i = 0; i < 25; i++)
        fprintf(file, "%d,%d\n", i + 1, i % 3);
    fclose(file);
    struct hr_dataset dataset;
    struct hr_worst worst;
    CHECK_OK(hr_dataset_open(path, &dataset));
    assert_int_equal(dataset.test.count, 5);
    const struct hr_evaluation evaluation = evaluation_of("cross-entropy");
    CHECK_OK(hr_worst_find(&evaluation, &dataset, 5, &worst));
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(worst.samples[i].row,
                         (size_t)dataset.test.values[worst.samples[i].sample]);
    hr_worst_free(&worst);
    hr_dataset_close(&dataset);
    remove(path);
}

static void only_images_are_drawn(void **state)
{
    (void)state;
    const struct hr_dataset rows = {.name = "points", .shape = {9, 1, 1}};
    const struct hr_dataset many = {.name = "many", .shape = {5, 8, 8}};
    const struct hr_dataset grey = {.name = "grey", .shape = {1, 8, 8}};
    CHECK_FAILS(hr_sheet_check(&rows), HR_E_USAGE);
    CHECK_MESSAGE("the samples of points are rows of 9 numbers, and no images");
    CHECK_FAILS(hr_sheet_check(&many), HR_E_USAGE);
    CHECK_MESSAGE("many have 5 channels, expected 1 or 3");
    CHECK_OK(hr_sheet_check(&grey));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_loss_comes_first),
        cmocka_unit_test(models_without_probabilities_have_losses_alone),
        cmocka_unit_test(rows_are_those_of_the_file),
        cmocka_unit_test(only_images_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
