/* A model that stays open gives what hr_predict gives, also when its file is gone, and leaves the
 * caller's thread as it was. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/predict.h"
#include "support/runs.h"

static void stays_open_without_its_file(void **state)
{
    (void)state;
    char folder[64];
    struct hr_prediction want;
    struct hr_predictor *p;
    size_t samples, columns, ndim, floats = 0;
    const char *name, *dtype;
    const size_t *shape;
    run_folder_make(folder);
    struct hr_train_options options = run_options("allreduce", 2);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    struct hr_run_result result = run_train(&options);
    assert_int_equal(hr_predict(folder, "digits", NULL, &want), HR_OK);
    assert_int_equal(hr_predictor_open(folder, NULL, &p), HR_OK);
    run_folder_remove(folder);
    assert_null(hr_predictor_columns(p, &samples, &columns));
    for (int again = 0; again < 2; again++) {
        assert_int_equal(hr_predictor_run(p, "digits"), HR_OK);
        const float *given = hr_predictor_columns(p, &samples, &columns);
        assert_int_equal(samples, want.count);
        assert_int_equal(columns, want.ncolumns);
        assert_memory_equal(given, want.columns, samples * columns * sizeof *given);
        assert_memory_equal(hr_predictor_answers(p), want.answers, samples * sizeof *want.answers);
    }
    volatile float small = FLT_MIN;
    assert_true(small / 2 > 0);
    assert_non_null(strstr(hr_predictor_about(p), "\"kind\":\"probabilities\",\"input\":[1,8,8],"
                                                  "\"features\":[],\"classes\":[\"0\",\"1\","));
    for (size_t i = 0; hr_predictor_tensor(p, i, &name, &dtype, &shape, &ndim); i++) {
        assert_string_equal(dtype, "F32");
        floats += ndim == 2 ? shape[0] * shape[1] : shape[0];
    }
    assert_int_equal(floats, result.params);
    assert_int_equal(hr_predictor_run(p, "/there/is/none"), HR_E_IO);
    assert_null(hr_predictor_columns(p, &samples, &columns));
    hr_predictor_close(p);
    hr_prediction_free(&want);
    hr_run_result_free(&result);
    assert_int_equal(hr_predictor_open("/there/is/none", NULL, &p), HR_E_IO);
    assert_null(p);
    hr_predictor_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_open_without_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
