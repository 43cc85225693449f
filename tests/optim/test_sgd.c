/* The update against its formula, bit by bit, and against PyTorch's own numbers. */
#include <string.h>

#include "base/philox.h"
#include "optim/sgd.h"
#include "optim/sgd_table.h"
#include "support/check.h"

enum { MAX_COUNT = 1031 };

static float w[MAX_COUNT], m[MAX_COUNT], g[MAX_COUNT];

static void fill_with_reals(void)
{
    for (size_t i = 0; i < MAX_COUNT; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0);
        w[i] = hr_random_unit(r.v[0]) - 0.5f;
        m[i] = hr_random_unit(r.v[1]) - 0.5f;
        g[i] = 100 * hr_random_unit(r.v[2]) - 50;
    }
}

/* The definition, each operation rounded by itself. */
static void update_naive(float *weight, float *momentum, float grad, const struct hr_sgd *sgd)
{
    const volatile float mean = grad * sgd->inverse_count;
    const volatile float decay = sgd->weight_decay * *weight;
    const volatile float d = mean + decay;
    const volatile float kept = sgd->momentum * *momentum;
    const volatile float velocity = kept + d;
    const volatile float step = sgd->lr * velocity;
    *momentum = velocity;
    *weight = *weight - step;
}

/* The copies that this machine can run; returns how many. */
static size_t runnable_tables(const struct hr_sgd_table *out[3])
{
    size_t n = 0;
    out[n++] = &hr_sgd_table_plain;
#ifdef __x86_64__
    if (hr_isa() >= HR_ISA_V3)
        out[n++] = &hr_sgd_table_v3;
    if (hr_isa() >= HR_ISA_V4)
        out[n++] = &hr_sgd_table_v4;
#endif
    return n;
}

static void every_instruction_set_follows_the_formula(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 16, 17, MAX_COUNT};
    const struct hr_sgd sgd = {0.05f, 0.9f, 1e-4f, hr_sgd_inverse_count(33)};
    const struct hr_sgd_table *tables[3];
    for (size_t n = runnable_tables(tables); n-- > 0;)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            float want_w[MAX_COUNT], want_m[MAX_COUNT];
            fill_with_reals();
            memcpy(want_w, w, sizeof w);
            memcpy(want_m, m, sizeof m);
            for (size_t i = 0; i < counts[c]; i++)
                update_naive(&want_w[i], &want_m[i], g[i], &sgd);
            tables[n]->update(w, m, g, counts[c], &sgd);
            CHECK_SAME_FLOATS(w, want_w, MAX_COUNT);
            CHECK_SAME_FLOATS(m, want_m, MAX_COUNT);
        }
}

/* torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01), gradients divided by 4. */
static void three_steps_match_pytorch(void **state)
{
    (void)state;
    static const float grads[3][3] = {{4, -8, 2}, {1, 3, -6}, {-2, 0.5f, 7}};
    static const float want[3][3] = {
        {0.898999989f, -1.79799998f, 0.449499995f},
        {0.782200992f, -1.68940198f, 0.55360049f},
        {0.726299703f, -1.60247433f, 0.471737355f},
    };
    const struct hr_sgd sgd = {0.1f, 0.9f, 0.01f, hr_sgd_inverse_count(4)};
    float weights[3] = {1, -2, 0.5f}, momentum[3] = {0};
    for (size_t step = 0; step < 3; step++) {
        hr_sgd_update(weights, momentum, grads[step], 3, &sgd);
        CHECK_NEAR_FLOATS(weights, want[step], 3, 2e-7, 0);
    }
}

static void no_samples_leave_the_weights_to_momentum_alone(void **state)
{
    (void)state;
    const struct hr_sgd sgd = {0.5f, 0.5f, 0, hr_sgd_inverse_count(0)};
    float weight = 1, momentum = 2;
    const float grad = 0;
    hr_sgd_update(&weight, &momentum, &grad, 1, &sgd);
    assert_true(momentum == 1 && weight == 0.5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_follows_the_formula),
        cmocka_unit_test(three_steps_match_pytorch),
        cmocka_unit_test(no_samples_leave_the_weights_to_momentum_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
