/* hogring/model.h as a stranger uses it: nothing else is included of the library's. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hogring/hogring.h"
#include "support/check.h"

enum { MOST_B = 12 };

/* A network with arrays of exactly the sizes that the library asks for, each its own allocation, so
 * that a sanitizer sees the float behind. */
struct rig {
    struct hr_net *net;
    size_t n, features, outputs, bytes;
    float *params, *grads, *x, *targets;
    unsigned char *memory;
    struct hr_net_space *space;
    uint32_t *labels;
    struct hr_net_batch batch;
};

static float unit(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-24f;
}

static void draw_batch(struct rig *rig, uint32_t seed)
{
    for (size_t i = 0; i < MOST_B * rig->features; i++)
        rig->x[i] = 2 * unit(&seed) - 1;
    for (size_t b = 0; b < MOST_B; b++)
        rig->labels[b] = (uint32_t)(unit(&seed) * (float)rig->outputs);
    rig->batch = (struct hr_net_batch){.count = MOST_B, .x = rig->x, .labels = rig->labels};
    if (!rig->targets)
        return;
    for (size_t i = 0; i < MOST_B * rig->outputs; i++)
        rig->targets[i] = 4 * unit(&seed) - 2;
    rig->batch.labels = NULL;
    rig->batch.targets = rig->targets;
}

/* offset: bytes by which the space's memory is off any alignment */
static struct rig rig_with(struct hr_net_options options, size_t offset)
{
    struct rig rig = {0};
    const struct hr_net_space_options of_space = {.seed = 7, .threads = 2};
    CHECK_OK(hr_net_open(&options, &rig.net));
    rig.n = hr_net_params(rig.net);
    rig.features = hr_net_features(rig.net);
    rig.outputs = hr_net_outputs(rig.net);
    rig.params = malloc(rig.n * sizeof(float));
    rig.grads = malloc(rig.n * sizeof(float));
    rig.x = malloc(MOST_B * rig.features * sizeof(float));
    CHECK_OK(hr_net_space_bytes(rig.net, MOST_B, &of_space, &rig.bytes));
    rig.memory = malloc(rig.bytes + offset);
    rig.labels = malloc(MOST_B * sizeof *rig.labels);
    if (options.targets)
        rig.targets = malloc(MOST_B * options.targets * sizeof(float));
    assert_true(rig.labels && rig.params && rig.grads && rig.x && rig.memory);
    memset(rig.memory, 0x5a, rig.bytes + offset);
    CHECK_OK(
        hr_net_space_open(rig.net, MOST_B, &of_space, rig.memory + offset, rig.bytes, &rig.space));
    CHECK_OK(hr_net_init(rig.net, 3, rig.params, rig.n));
    draw_batch(&rig, 1);
    return rig;
}

static struct rig rig_of(const char *layers, struct hr_shape input, const char *loss, size_t offset)
{
    return rig_with((struct hr_net_options){.layers = layers, .input = input, .loss = loss},
                    offset);
}

static void rig_end(struct rig *rig)
{
    free(rig->targets);
    free(rig->params), free(rig->grads), free(rig->x), free(rig->memory), free(rig->labels);
    hr_net_close(rig->net);
}

static const struct hr_shape small = {2, 6, 6};
static const char convolutional[] =
    "conv 3 3x3 pad 1, batchnorm, tanh, avgpool 2, flatten, dense 5, dropout 0.25, tanh, dense 4";

static double loss_at(struct rig *rig)
{
    struct hr_net_result result;
    CHECK_OK(hr_net_forward(rig->space, rig->params, rig->n, &rig->batch, HR_NET_TRAIN, NULL));
    CHECK_OK(hr_net_loss(rig->space, &result));
    return result.loss;
}

/* Of every trained parameter, by views. */
static void check_differences(struct rig *rig, double (*loss)(struct rig *rig))
{
    const float step = 1e-2f;
    for (size_t t = 0; t < hr_net_tensors(rig->net); t++) {
        struct hr_net_view w, g;
        CHECK_OK(hr_net_view(rig->net, t, rig->params, rig->n, &w));
        CHECK_OK(hr_net_find(rig->net, w.name, rig->grads, rig->n, &g));
        for (size_t i = 0; w.trained && i < w.count; i++) {
            const float was = w.data[i];
            w.data[i] = was + step;
            const double above = loss(rig);
            w.data[i] = was - step;
            const double below = loss(rig);
            w.data[i] = was;
            CHECK_NEAR(g.data[i], (above - below) / (2 * (double)step), 0.03, 0.03);
        }
    }
}

static void gradients_are_finite_differences(void **state)
{
    static const char *const losses[] = {"cross-entropy", "bce", "mse"};
    (void)state;
    for (size_t l = 0; l < 3; l++) {
        struct rig rig = rig_of(convolutional, small, losses[l], l);
        struct hr_net_result result;
        CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, &result));
        CHECK_NEAR(result.loss, loss_at(&rig), 0, 0);
        check_differences(&rig, loss_at);
        rig_end(&rig);
    }
}

/* The mean over a sample's four outputs, as PyTorch's MSELoss and HuberLoss give it. */
static double loss_by_hand(const struct rig *rig, double delta)
{
    const float *y;
    double sum = 0;
    CHECK_OK(hr_net_forward(rig->space, rig->params, rig->n, &rig->batch, HR_NET_TRAIN, &y));
    for (size_t i = 0; i < MOST_B * rig->outputs; i++) {
        const double d = fabs((double)y[i] - (double)rig->targets[i]);
        sum += delta == 0 ? d * d : d <= delta ? d * d / 2 : delta * (d - delta / 2);
    }
    return sum / (double)rig->outputs;
}

static void values_are_learned_by_mse_and_huber(void **state)
{
    static const struct {
        const char *loss;
        double asked, delta;
    } cases[] = {{NULL, 0, 0}, {"mse", 0, 0}, {"huber", 0, 1}, {"huber", 0.25, 0.25}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct rig rig = rig_with((struct hr_net_options){.layers = convolutional,
                                                          .input = small,
                                                          .loss = cases[i].loss,
                                                          .targets = 4,
                                                          .huber_delta = cases[i].asked},
                                  i);
        struct hr_net_result result;
        assert_int_equal(hr_net_targets(rig.net), 4);
        assert_int_equal(hr_net_classes(rig.net), 0);
        CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, &result));
        CHECK_NEAR(result.loss, loss_at(&rig), 0, 0);
        CHECK_NEAR(result.loss, loss_by_hand(&rig, cases[i].delta), 0, 1e-5);
        assert_int_equal(result.correct, 0);
        check_differences(&rig, loss_at);
        rig_end(&rig);
    }
}

/* A loss that the library does not have: the sum of the outputs' cubes. */
static double cubes(struct rig *rig)
{
    const float *y;
    double sum = 0;
    struct hr_net_batch batch = rig->batch;
    batch.labels = NULL;
    CHECK_OK(hr_net_forward(rig->space, rig->params, rig->n, &batch, HR_NET_TRAIN, &y));
    for (size_t i = 0; i < MOST_B * rig->outputs; i++)
        sum += (double)y[i] * y[i] * y[i];
    return sum;
}

static void a_loss_of_the_callers_own_goes_back(void **state)
{
    (void)state;
    struct rig rig = rig_of(convolutional, small, NULL, 0);
    float doutputs[MOST_B * 4];
    const float *y;
    struct hr_net_batch batch = rig.batch;
    batch.labels = NULL;
    CHECK_OK(hr_net_forward(rig.space, rig.params, rig.n, &batch, HR_NET_TRAIN, &y));
    CHECK_FAILS(hr_net_backward(rig.space, rig.params, rig.n, NULL, 0, rig.grads), HR_E_USAGE);
    for (size_t i = 0; i < MOST_B * rig.outputs; i++)
        doutputs[i] = 3 * y[i] * y[i];
    CHECK_OK(
        hr_net_backward(rig.space, rig.params, rig.n, doutputs, MOST_B * rig.outputs, rig.grads));
    check_differences(&rig, cubes);
    rig_end(&rig);
}

static void steps_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    struct rig rig = rig_of(convolutional, small, NULL, 1);
    float *again = malloc(rig.n * sizeof *again);
    struct hr_net_result whole, parts;
    CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, &whole));
    CHECK_OK(hr_net_forward(rig.space, rig.params, rig.n, &rig.batch, HR_NET_TRAIN, NULL));
    CHECK_OK(hr_net_loss(rig.space, &parts));
    CHECK_OK(hr_net_backward(rig.space, rig.params, rig.n, NULL, 0, again));
    CHECK_SAME_FLOATS(rig.grads, again, rig.n);
    assert_true(whole.loss == parts.loss && whole.correct == parts.correct);
    free(again);
    rig_end(&rig);
}

static void dropout_is_drawn_by_sample_and_not_by_batch(void **state)
{
    (void)state;
    static const uint32_t samples[MOST_B] = {9, 4, 6, 2, 0, 11, 5, 3, 7, 1, 8, 10};
    struct rig rig = rig_of("flatten, dropout 0.5, dense 72", small, "mse", 0);
    float whole[MOST_B * 72];
    const float *y;
    rig.batch.samples = samples;
    rig.batch.epoch = 2;
    CHECK_OK(hr_net_forward(rig.space, rig.params, rig.n, &rig.batch, HR_NET_TRAIN, &y));
    memcpy(whole, y, sizeof whole);
    struct hr_net_batch part = rig.batch;
    part.count = 8, part.x += 4 * rig.features, part.samples += 4;
    CHECK_OK(hr_net_forward(rig.space, rig.params, rig.n, &part, HR_NET_TRAIN, &y));
    CHECK_NEAR_FLOATS(y, whole + (size_t)4 * 72, (size_t)8 * 72, 1e-5, 1e-5);
    part.epoch = 3;
    CHECK_OK(hr_net_forward(rig.space, rig.params, rig.n, &part, HR_NET_TRAIN, &y));
    assert_true(memcmp(y, whole + (size_t)4 * 72, sizeof(float) * 8 * 72) != 0);
    rig_end(&rig);
}

static void evaluation_reads_running_statistics(void **state)
{
    (void)state;
    struct rig rig = rig_of("batchnorm, flatten, dense 3", (struct hr_shape){2, 3, 1}, NULL, 0);
    struct hr_net_view mean, var;
    struct hr_net_rule sgd;
    float *momentum = calloc(rig.n, sizeof *momentum), all[2] = {0};
    CHECK_OK(hr_net_find(rig.net, "0.running_mean", rig.params, rig.n, &mean));
    CHECK_OK(hr_net_find(rig.net, "0.running_var", rig.params, rig.n, &var));
    assert_true(!mean.trained && mean.count == 2 && var.data[0] == 1);
    CHECK_OK(hr_net_rule_defaults("sgd", &sgd));
    CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, NULL));
    CHECK_OK(
        hr_net_update(rig.net, &sgd, 1, MOST_B, rig.params, rig.grads, rig.n, momentum, rig.n));
    for (size_t i = 0; i < MOST_B * rig.features; i++)
        all[i / 3 % 2] += rig.x[i] / (MOST_B * 3);
    CHECK_NEAR(mean.data[0], 0.1f * all[0], 1e-4, 1e-6); /* PyTorch's momentum, 0.1 */
    CHECK_NEAR(mean.data[1], 0.1f * all[1], 1e-4, 1e-6);
    free(momentum);
    rig_end(&rig);
}

static void one_sample_alone_moves_no_running_statistic(void **state)
{
    (void)state;
    struct rig rig = rig_of("flatten, batchnorm, dense 3", (struct hr_shape){4, 1, 1}, NULL, 0);
    struct hr_net_view mean, var;
    struct hr_net_rule sgd;
    float *momentum = calloc(rig.n, sizeof *momentum);
    CHECK_OK(hr_net_find(rig.net, "1.running_mean", rig.params, rig.n, &mean));
    CHECK_OK(hr_net_find(rig.net, "1.running_var", rig.params, rig.n, &var));
    CHECK_OK(hr_net_rule_defaults("sgd", &sgd));
    for (size_t i = 0; i < 4; i++)
        mean.data[i] = 0.3f * (float)i, var.data[i] = 2.7f;
    rig.batch.count = 1;
    CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, NULL));
    CHECK_OK(hr_net_update(rig.net, &sgd, 1, 1, rig.params, rig.grads, rig.n, momentum, rig.n));
    for (size_t i = 0; i < 4; i++)
        assert_true(mean.data[i] == 0.3f * (float)i && var.data[i] == 2.7f);
    free(momentum);
    rig_end(&rig);
}

static void probabilities_add_up_and_answers_are_the_largest(void **state)
{
    (void)state;
    struct rig rig = rig_of("flatten, dense 4", small, NULL, 0);
    float p[MOST_B * 4];
    uint32_t answers[MOST_B];
    struct hr_net_result result;
    size_t correct = 0;
    CHECK_FAILS(hr_net_probabilities(rig.space, p, 0), HR_E_USAGE);
    CHECK_OK(hr_net_forward(rig.space, rig.params, rig.n, &rig.batch, HR_NET_EVALUATE, NULL));
    CHECK_FAILS(hr_net_backward(rig.space, rig.params, rig.n, NULL, 0, rig.grads), HR_E_USAGE);
    CHECK_OK(hr_net_probabilities(rig.space, p, MOST_B * 4));
    CHECK_OK(hr_net_answers(rig.space, answers, MOST_B));
    CHECK_OK(hr_net_loss(rig.space, &result));
    double loss = 0;
    for (size_t b = 0; b < MOST_B; b++) {
        const float *row = p + 4 * b;
        CHECK_NEAR(row[0] + row[1] + row[2] + row[3], 1, 0, 1e-6);
        for (size_t c = 0; c < 4; c++)
            assert_true(row[answers[b]] >= row[c]);
        loss -= log((double)row[rig.labels[b]]);
        correct += answers[b] == rig.labels[b];
    }
    CHECK_NEAR(result.loss, loss, 1e-5, 0);
    assert_int_equal(result.correct, correct);
    rig_end(&rig);
}

static void rules_move_down_the_gradient(void **state)
{
    static const char *const names[] = {"sgd", "adagrad", "adam", "adamw", "lars", "lamb"};
    (void)state;
    for (size_t r = 0; r < 6; r++) {
        struct rig rig = rig_of("flatten, dense 4", small, NULL, 0);
        struct hr_net_rule rule;
        struct hr_net_result first, last;
        size_t floats;
        CHECK_OK(hr_net_rule_defaults(names[r], &rule));
        rule.clip_norm = 10;
        CHECK_OK(hr_net_rule_floats(rig.net, &rule, &floats));
        float *memory = calloc(floats, sizeof *memory);
        CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, &first));
        for (uint64_t number = 1; number <= 40; number++) {
            CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, &last));
            CHECK_OK(hr_net_update(rig.net, &rule, number, MOST_B, rig.params, rig.grads, rig.n,
                                   memory, floats));
        }
        assert_true(last.loss < first.loss);
        free(memory);
        rig_end(&rig);
    }
}

static void an_empty_batch_gives_zeros(void **state)
{
    (void)state;
    struct rig rig = rig_of(convolutional, small, NULL, 0);
    const struct hr_net_batch nothing = {0};
    struct hr_net_result result = {1, 1};
    CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &nothing, rig.grads, &result));
    for (size_t i = 0; i < rig.n; i++)
        assert_true(rig.grads[i] == 0);
    assert_true(result.loss == 0 && result.correct == 0);
    rig_end(&rig);
}

/* --- several threads on one network --- */

struct share {
    pthread_t thread;
    const struct rig *rig;
    float *grads;
};

static void *compute(void *arg)
{
    struct share *share = arg;
    const struct rig *rig = share->rig;
    unsigned char *memory = malloc(rig->bytes);
    struct hr_net_space *space;
    const struct hr_net_space_options options = {.seed = 7, .threads = 2, .at_once = 4};
    if (hr_net_space_open(rig->net, MOST_B, &options, memory, rig->bytes, &space) == HR_OK)
        for (int i = 0; i < 3; i++)
            if (hr_net_gradient(space, rig->params, rig->n, &rig->batch, share->grads, NULL))
                break;
    free(memory);
    return NULL;
}

static void threads_share_a_net_and_have_the_same_bits(void **state)
{
    (void)state;
    struct rig rig = rig_of(convolutional, small, NULL, 0);
    struct share shares[4];
    CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, NULL));
    for (size_t t = 0; t < 4; t++) {
        shares[t] = (struct share){.rig = &rig, .grads = calloc(rig.n, sizeof(float))};
        assert_int_equal(pthread_create(&shares[t].thread, NULL, compute, &shares[t]), 0);
    }
    for (size_t t = 0; t < 4; t++) {
        pthread_join(shares[t].thread, NULL);
        CHECK_SAME_FLOATS(rig.grads, shares[t].grads, rig.n);
        free(shares[t].grads);
    }
    rig_end(&rig);
}

#ifdef __SSE__
#include <xmmintrin.h>
static void the_callers_rounding_mode_stays(void **state)
{
    (void)state;
    const unsigned flags = 0x3f, flushing = 1u << 15 | 1u << 6;
    struct rig rig = rig_of("flatten, dense 4", small, NULL, 0);
    _mm_setcsr(_mm_getcsr() & ~flushing);
    const unsigned before = _mm_getcsr() & ~flags;
    CHECK_OK(hr_net_gradient(rig.space, rig.params, rig.n, &rig.batch, rig.grads, NULL));
    assert_int_equal(_mm_getcsr() & ~flags, before);
    rig_end(&rig);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_finite_differences),
        cmocka_unit_test(values_are_learned_by_mse_and_huber),
        cmocka_unit_test(a_loss_of_the_callers_own_goes_back),
        cmocka_unit_test(steps_have_the_bits_of_the_whole),
        cmocka_unit_test(dropout_is_drawn_by_sample_and_not_by_batch),
        cmocka_unit_test(evaluation_reads_running_statistics),
        cmocka_unit_test(one_sample_alone_moves_no_running_statistic),
        cmocka_unit_test(probabilities_add_up_and_answers_are_the_largest),
        cmocka_unit_test(rules_move_down_the_gradient),
        cmocka_unit_test(an_empty_batch_gives_zeros),
        cmocka_unit_test(threads_share_a_net_and_have_the_same_bits),
#ifdef __SSE__
        cmocka_unit_test(the_callers_rounding_mode_stays),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
