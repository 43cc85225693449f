/* Fine-tuning: the weights of a file, and a last layer of the run's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "support/runs.h"

enum { FEWER = 5 };

/* The digits modulo 5. */
static struct hr_dataset fewer_classes(uint32_t *labels[2])
{
    struct hr_dataset other = *run_digits();
    struct hr_split *splits[2] = {&other.train, &other.test};
    other.classes = FEWER;
    other.class_names = NULL;
    for (size_t s = 0; s < 2; s++) {
        labels[s] = malloc(splits[s]->count * sizeof *labels[s]);
        for (size_t i = 0; i < splits[s]->count; i++)
            labels[s][i] = splits[s]->labels[i] % FEWER;
        splits[s]->labels = labels[s];
    }
    return other;
}

static void train_in(struct hr_train_options *options, const struct hr_dataset *dataset,
                     struct hr_checkpoint *out)
{
    struct hr_run_result result;
    char folder[64];
    run_folder_make(folder);
    snprintf(options->checkpoint_dir, sizeof options->checkpoint_dir, "%s", folder);
    CHECK_OK(hr_train(options, dataset, NULL, &result));
    CHECK_OK(hr_checkpoint_load(folder, out));
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

static void check_same(const struct hr_checkpoint *a, const struct hr_checkpoint *b,
                       const char *name, bool same)
{
    const struct hr_tensor *x = hr_tensor_get(&a->model, name), *y = hr_tensor_get(&b->model, name);
    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(x->bytes == y->bytes && !memcmp(x->data, y->data, x->bytes), same);
}

/* At a rate of 0 a run ends with what it began with. */
static void the_body_is_the_files_and_the_head_the_seeds(void **state)
{
    (void)state;
    uint32_t *labels[2];
    char folder[64];
    const struct hr_dataset other = fewer_classes(labels);
    struct hr_train_options options = run_options("allreduce", 1);
    struct hr_checkpoint first, drawn, tuned;
    struct hr_run_result result;
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    result = run_train(&options);
    hr_run_result_free(&result);
    CHECK_OK(hr_checkpoint_load(folder, &first));
    snprintf(options.model, sizeof options.model, "flatten, dense 11, relu, dense 5");
    options.lr = 0;
    options.seed++;
    train_in(&options, &other, &drawn);
    snprintf(options.init_weights, sizeof options.init_weights, "%s", folder);
    CHECK_FAILS(hr_train(&options, &other, NULL, &result), HR_E_FORMAT); /* 10 outputs, not 5 */
    options.replace_head = true;
    train_in(&options, &other, &tuned);
    check_same(&tuned, &first, "1.weight", true);
    check_same(&tuned, &first, "1.bias", true);
    check_same(&tuned, &drawn, "1.weight", false);
    check_same(&tuned, &drawn, "3.weight", true);
    check_same(&tuned, &drawn, "3.bias", true);
    hr_checkpoint_free(&first);
    hr_checkpoint_free(&drawn);
    hr_checkpoint_free(&tuned);
    free(labels[0]);
    free(labels[1]);
    run_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_body_is_the_files_and_the_head_the_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
