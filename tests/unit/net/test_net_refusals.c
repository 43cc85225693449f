/* What hogring/model.h refuses, and networks that are saved and read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hogring/hogring.h"
#include "support/check.h"
#include "support/scratch.h"

enum { B = 4 };

static struct hr_net *net_of(const char *layers)
{
    const struct hr_net_options options = {.layers = layers, .input = {1, 8, 8}};
    struct hr_net *net;
    CHECK_OK(hr_net_open(&options, &net));
    return net;
}

static void networks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct hr_net *net = (void *)state;
    const struct hr_net_options bad[] = {
        {.layers = NULL, .input = {1, 8, 8}},
        {.layers = "", .input = {1, 8, 8}},
        {.layers = "flatten, dens 10", .input = {1, 8, 8}},
        {.layers = "dense 10", .input = {1, 8, 8}},
        {.layers = "flatten", .input = {1, 8, 8}},
        {.layers = "flatten, dense 10"},
        {.layers = "flatten, dense 10", .input = {SIZE_MAX, 8, 8}},
        {.layers = "flatten, dense 10", .input = {1, 8, 8}, .classes = 3},
        {.layers = "flatten, dense 10", .input = {1, 8, 8}, .classes = SIZE_MAX},
        {.layers = "flatten, dense 10", .input = {1, 8, 8}, .loss = "cosine"},
        {.layers = "flatten, dense 10", .input = {1, 8, 8}, .loss = "huber"},
        {.layers = "flatten, dense 10", .input = {1, 8, 8}, .label_smoothing = -1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_FAILS(hr_net_open(&bad[i], &net), HR_E_USAGE);
        assert_null(net);
    }
    CHECK_FAILS(hr_net_open(NULL, &net), HR_E_USAGE);
    CHECK_FAILS(hr_net_open(&bad[2], NULL), HR_E_USAGE);
    hr_net_close(NULL);
    assert_int_equal(hr_net_params(NULL), 0);
}

static void arrays_of_another_size_are_refused(void **state)
{
    (void)state;
    struct hr_net *net = net_of("flatten, dense 10");
    const size_t n = hr_net_params(net);
    float *params = calloc(n + 1, sizeof *params);
    float *odd = (float *)(void *)((char *)params + 1);
    struct hr_net_view view;
    CHECK_FAILS(hr_net_init(net, 1, params, n - 1), HR_E_USAGE);
    CHECK_FAILS(hr_net_init(net, 1, params, 0), HR_E_USAGE);
    CHECK_FAILS(hr_net_init(net, 1, NULL, n), HR_E_USAGE);
    CHECK_FAILS(hr_net_init(net, 1, odd, n), HR_E_USAGE);
    CHECK_MESSAGE("aligned to 4 bytes");
    CHECK_FAILS(hr_net_init(NULL, 1, params, n), HR_E_USAGE);
    CHECK_FAILS(hr_net_view(net, 2, params, n, &view), HR_E_USAGE);
    CHECK_FAILS(hr_net_view(net, 0, params, 3, &view), HR_E_USAGE);
    CHECK_FAILS(hr_net_find(net, "3.weight", params, n, &view), HR_E_USAGE);
    CHECK_FAILS(hr_net_find(net, NULL, params, n, &view), HR_E_USAGE);
    CHECK_OK(hr_net_find(net, "1.bias", NULL, 0, &view));
    assert_true(!view.data && view.count == 10 && view.offset == 640 && view.ndim == 1);
    free(params);
    hr_net_close(net);
}

static void spaces_need_their_memory(void **state)
{
    (void)state;
    struct hr_net *net = net_of("flatten, dense 10");
    struct hr_net_space *space;
    const struct hr_net_space_options many = {.threads = 1000000};
    size_t bytes;
    CHECK_FAILS(hr_net_space_bytes(net, 0, NULL, &bytes), HR_E_USAGE);
    CHECK_FAILS(hr_net_space_bytes(NULL, 1, NULL, &bytes), HR_E_USAGE);
    CHECK_FAILS(hr_net_space_bytes(net, 1, NULL, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_space_bytes(net, 1, &many, &bytes), HR_E_USAGE);
    CHECK_FAILS(hr_net_space_bytes(net, SIZE_MAX / 2, NULL, &bytes), HR_E_NOMEM);
    CHECK_OK(hr_net_space_bytes(net, B, NULL, &bytes));
    void *memory = malloc(bytes);
    CHECK_FAILS(hr_net_space_open(net, B, NULL, memory, bytes - 1, &space), HR_E_USAGE);
    CHECK_FAILS(hr_net_space_open(net, B, NULL, NULL, bytes, &space), HR_E_USAGE);
    CHECK_FAILS(hr_net_space_open(net, B, NULL, memory, bytes, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_space_open(net, B + 1, NULL, memory, bytes, &space), HR_E_USAGE);
    free(memory);
    hr_net_close(net);
}

static void batches_are_looked_at(void **state)
{
    (void)state;
    struct hr_net *net = net_of("flatten, dense 10");
    const size_t n = hr_net_params(net);
    size_t bytes;
    CHECK_OK(hr_net_space_bytes(net, B, NULL, &bytes));
    void *memory = malloc(bytes);
    float *params = calloc(n, sizeof *params), *grads = calloc(n, sizeof *grads), x[5 * 64] = {0};
    uint32_t labels[B + 1] = {0, 9, 3, 3, 3};
    struct hr_net_space *space;
    struct hr_net_result result;
    CHECK_OK(hr_net_space_open(net, B, NULL, memory, bytes, &space));
    const struct hr_net_batch good = {.count = B, .x = x, .labels = labels};
    struct hr_net_batch many = good, no_x = good, no_labels = good;
    many.count = B + 1;
    no_x.x = NULL;
    no_labels.labels = NULL;
    CHECK_FAILS(hr_net_loss(space, &result), HR_E_USAGE);
    CHECK_FAILS(hr_net_gradient(NULL, params, n, &good, grads, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_gradient(space, params, n, NULL, grads, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_gradient(space, params, n, &many, grads, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_gradient(space, params, n, &no_x, grads, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_gradient(space, params, n, &no_labels, grads, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_gradient(space, params, n, &good, NULL, NULL), HR_E_USAGE);
    CHECK_FAILS(hr_net_gradient(space, params, n + 1, &good, grads, NULL), HR_E_USAGE);
    labels[1] = 10;
    CHECK_FAILS(hr_net_gradient(space, params, n, &good, grads, NULL), HR_E_USAGE);
    CHECK_MESSAGE("label of sample 1: found 10, expected below 10");
    CHECK_FAILS(hr_net_forward(space, params, n, &no_labels, (enum hr_net_mode)5, NULL),
                HR_E_USAGE);
    CHECK_OK(hr_net_forward(space, params, n, &no_labels, HR_NET_TRAIN, NULL));
    CHECK_FAILS(hr_net_loss(space, &result), HR_E_USAGE);
    CHECK_FAILS(hr_net_backward(space, params, n, x, 39, grads), HR_E_USAGE);
    CHECK_FAILS(hr_net_backward(space, params, n, NULL, 40, grads), HR_E_USAGE);
    CHECK_OK(hr_net_backward(space, params, n, x, 40, grads));
    CHECK_FAILS(hr_net_backward(space, params, n, x, 40, grads), HR_E_USAGE);
    CHECK_FAILS(hr_net_answers(space, labels, 3), HR_E_USAGE);
    free(params), free(grads), free(memory);
    hr_net_close(net);
}

static void values_are_no_labels(void **state)
{
    (void)state;
    const struct hr_net_options options = {
        .layers = "flatten, dense 2", .input = {3, 1, 1}, .targets = 2};
    struct hr_net_options bad = options;
    struct hr_net *net, *classes = net_of("flatten, dense 10");
    struct hr_net_space *space;
    const float x[3] = {1, 2, 3}, targets[2] = {0.5, 0.25};
    const uint32_t label = 0;
    float params[8] = {0}, grads[8];
    size_t bytes;
    bad.targets = 3;
    CHECK_FAILS(hr_net_open(&bad, &net), HR_E_USAGE);
    bad = options;
    bad.loss = "cross-entropy";
    CHECK_FAILS(hr_net_open(&bad, &net), HR_E_USAGE);
    bad = options;
    bad.classes = 2;
    CHECK_FAILS(hr_net_open(&bad, &net), HR_E_USAGE);
    CHECK_MESSAGE("found 2 classes and 2 targets, expected one of them");
    CHECK_OK(hr_net_open(&options, &net));
    CHECK_OK(hr_net_space_bytes(net, 1, NULL, &bytes));
    void *memory = malloc(bytes);
    CHECK_OK(hr_net_space_open(net, 1, NULL, memory, bytes, &space));
    const struct hr_net_batch good = {.count = 1, .x = x, .targets = targets};
    const struct hr_net_batch labels = {.count = 1, .x = x, .labels = &label};
    const struct hr_net_batch neither = {.count = 1, .x = x};
    uint32_t answer;
    CHECK_OK(hr_net_gradient(space, params, 8, &good, grads, NULL));
    CHECK_FAILS(hr_net_gradient(space, params, 8, &labels, grads, NULL), HR_E_USAGE);
    CHECK_MESSAGE("labels: the net predicts values, expected targets");
    CHECK_FAILS(hr_net_gradient(space, params, 8, &neither, grads, NULL), HR_E_USAGE);
    CHECK_MESSAGE("targets: found NULL, expected 2");
    CHECK_FAILS(hr_net_answers(space, &answer, 1), HR_E_USAGE);
    CHECK_FAILS(hr_net_probabilities(space, grads, 2), HR_E_USAGE);
    free(memory);
    hr_net_close(net);
    hr_net_close(classes);
}

/* What was learned of values is evaluated by the command: in their own units. */
static void values_are_saved_as_values(void **state)
{
    (void)state;
    const struct hr_net_options options = {.layers = "flatten, dense 2",
                                           .input = {3, 1, 1},
                                           .loss = "huber",
                                           .targets = 2,
                                           .huber_delta = 0.5};
    struct hr_net *net, *again;
    float params[8] = {1, 2, 3, 4, 5, 6, 7, 8}, read[8];
    struct hr_checkpoint checkpoint;
    CHECK_OK(hr_net_open(&options, &net));
    CHECK_OK(hr_net_save(net, scratch("values"), 3, params, 8));
    CHECK_OK(hr_net_open_saved(scratch("values"), (struct hr_shape){0}, &again));
    assert_int_equal(hr_net_targets(again), 2);
    CHECK_OK(hr_net_load(again, scratch("values"), read, 8));
    assert_memory_equal(read, params, sizeof params);
    CHECK_OK(hr_checkpoint_load(scratch("values/step-00000003"), &checkpoint));
    assert_string_equal(hr_metadata_get(&checkpoint.model, "hogring.target.1"), "0 1 ");
    assert_string_equal(hr_metadata_get(&checkpoint.model, "hogring.huber_delta"), "0.5");
    hr_checkpoint_free(&checkpoint);
    hr_net_close(net);
    hr_net_close(again);
}

static void rules_are_looked_at(void **state)
{
    (void)state;
    struct hr_net *net = net_of("flatten, dense 10");
    const size_t n = hr_net_params(net);
    float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b), *c = calloc(n, sizeof *c);
    struct hr_net_rule sgd, bad;
    size_t floats;
    CHECK_FAILS(hr_net_rule_defaults("sdg", &sgd), HR_E_USAGE);
    CHECK_FAILS(hr_net_rule_defaults(NULL, &sgd), HR_E_USAGE);
    CHECK_OK(hr_net_rule_defaults("sgd", &sgd));
    CHECK_FAILS(hr_net_update(net, &sgd, 0, 1, a, b, n, c, n), HR_E_USAGE);
    CHECK_FAILS(hr_net_update(net, &sgd, 1, 0, a, b, n, c, n), HR_E_USAGE);
    CHECK_FAILS(hr_net_update(net, &sgd, 1, 1, a, b, n, NULL, n), HR_E_USAGE);
    CHECK_FAILS(hr_net_update(net, &sgd, 1, 1, a, b, n, c, n - 1), HR_E_USAGE);
    CHECK_FAILS(hr_net_update(net, NULL, 1, 1, a, b, n, c, n), HR_E_USAGE);
    bad = sgd, bad.momentum = 1;
    CHECK_FAILS(hr_net_rule_floats(net, &bad, &floats), HR_E_USAGE);
    memset(bad.name, 'x', sizeof bad.name);
    CHECK_FAILS(hr_net_rule_floats(net, &bad, &floats), HR_E_USAGE);
    CHECK_OK(hr_net_update(net, &sgd, 1, 1, a, b, n, c, n));
    free(a), free(b), free(c);
    hr_net_close(net);
}

static void an_epochs_order_is_a_permutation(void **state)
{
    uint32_t samples[7], more[3], seen = 0;
    (void)state;
    CHECK_OK(hr_dataset_order(3, 2, 7, 0, 7, samples));
    CHECK_OK(hr_dataset_order(3, 2, 7, 4, 3, more));
    for (size_t i = 0; i < 7; i++)
        seen |= 1u << samples[i];
    assert_int_equal(seen, 127);
    assert_memory_equal(more, samples + 4, sizeof more);
    CHECK_OK(hr_dataset_order(3, 2, 7, 7, 0, NULL));
    CHECK_FAILS(hr_dataset_order(3, 2, 0, 0, 0, samples), HR_E_USAGE);
    CHECK_FAILS(hr_dataset_order(3, 2, 7, 5, 3, samples), HR_E_USAGE);
    CHECK_FAILS(hr_dataset_order(3, 2, 7, SIZE_MAX, 3, samples), HR_E_USAGE);
    CHECK_FAILS(hr_dataset_order(3, 2, 7, 0, 3, NULL), HR_E_USAGE);
}

static void what_is_saved_is_read(void **state)
{
    (void)state;
    char dir[] = "/tmp/hogring-net-XXXXXX", command[64];
    assert_non_null(mkdtemp(dir));
    struct hr_net *net = net_of("conv 2 3x3, batchnorm, flatten, dense 10"), *same, *other, *none;
    const size_t n = hr_net_params(net);
    float *params = calloc(n, sizeof *params), *again = calloc(n, sizeof *again);
    struct hr_dataset digits;
    struct hr_evaluation evaluation;
    CHECK_OK(hr_net_init(net, 5, params, n));
    CHECK_OK(hr_net_save(net, dir, 3, params, n));
    CHECK_OK(hr_net_save(net, dir, 12, params, n));
    CHECK_OK(hr_net_open_saved(dir, (struct hr_shape){0}, &same));
    assert_string_equal(hr_net_layers(net), hr_net_layers(same));
    CHECK_OK(hr_net_load(same, dir, again, n));
    CHECK_SAME_FLOATS(params, again, n);
    CHECK_OK(hr_dataset_open("digits", &digits));
    CHECK_OK(hr_evaluate_checkpoint(dir, NULL, &digits, &evaluation));
    hr_evaluation_free(&evaluation);
    hr_dataset_close(&digits);
    other = net_of("flatten, dense 10");
    CHECK_FAILS(hr_net_load(other, dir, again, n), HR_E_USAGE);
    free(again);
    again = calloc(hr_net_params(other), sizeof *again);
    CHECK_FAILS(hr_net_load(other, dir, again, hr_net_params(other)), HR_E_FORMAT);
    CHECK_FAILS(hr_net_load(net, "/nowhere", params, n), HR_E_IO);
    CHECK_FAILS(hr_net_load(net, NULL, params, n), HR_E_USAGE);
    CHECK_FAILS(hr_net_save(net, "", 1, params, n), HR_E_USAGE);
    CHECK_FAILS(hr_net_open_saved(dir, (struct hr_shape){1, 2, 2}, &none), HR_E_USAGE);
    CHECK_FAILS(hr_net_open_saved(dir, (struct hr_shape){0, 2, 2}, &none), HR_E_USAGE);
    free(params), free(again);
    hr_net_close(net), hr_net_close(same), hr_net_close(other);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_that_cannot_be_are_refused),
        cmocka_unit_test(arrays_of_another_size_are_refused),
        cmocka_unit_test(spaces_need_their_memory),
        cmocka_unit_test(batches_are_looked_at),
        cmocka_unit_test(values_are_no_labels),
        cmocka_unit_test_setup_teardown(values_are_saved_as_values, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(rules_are_looked_at),
        cmocka_unit_test(an_epochs_order_is_a_permutation),
        cmocka_unit_test(what_is_saved_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
