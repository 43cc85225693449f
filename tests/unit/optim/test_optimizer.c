/* Update rules against twins in double, instruction sets and cuts against one another bit by bit,
 * and sgd against its formula and PyTorch's own numbers. */
#include <math.h>
#include <string.h>

#include "optim/rules.h"
#include "unit/optim/some_optimizer.h"

/* As they are listed. */
enum rule_id { SGD, ADAGRAD, ADAM, ADAMW, LARS, LAMB, NRULES };

enum { PARAMS = 2600, NSEGMENTS = 5, STEPS = 6, SAMPLES = 33 };

/* Borders that are no multiples of a vector or of a norm's block. */
static const struct hr_param_segment segments[NSEGMENTS] = {
    {0, 1, HR_SEGMENT_TRAINED},       {1, 1030, HR_SEGMENT_TRAINED},
    {1031, 17, HR_SEGMENT_STATISTIC}, {1048, 1500, HR_SEGMENT_TRAINED},
    {2548, 52, HR_SEGMENT_TRAINED},
};

struct arrays {
    float w[PARAMS], state[2 * PARAMS], g[PARAMS], ratio[NSEGMENTS];
};

struct twin {
    double w[PARAMS], state[2 * PARAMS], d[PARAMS];
};

static struct arrays arrays, other;
static struct twin twin;

static struct hr_optimizer optimizer_of(enum rule_id id)
{
    return some_optimizer(hr_rule_at(id), segments, NSEGMENTS, PARAMS);
}

static enum rule_id id_of(const struct hr_rule *rule)
{
    enum rule_id id = 0;
    while (strcmp(rule->name, hr_rule_at(id)->name) != 0)
        id++;
    return id;
}

static void fill_gradient(struct arrays *a, uint64_t step)
{
    for (size_t i = 0; i < PARAMS; i++)
        a->g[i] = some_gradient(i, (uint32_t)step);
}

/* Segment 4's weights are 0, so that its ratio is the exception, 1. */
static void begin(struct arrays *a)
{
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < segments[4].begin; i++)
        a->w[i] = hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, 99).v[1]) - 0.5f;
}

static void make_step(const struct hr_optimizer *o, struct arrays *a, uint64_t t)
{
    fill_gradient(a, t);
    struct hr_step step = hr_step_of(o, 0.05, SAMPLES, t);
    hr_step_measure(&step, a->w, a->state, a->g, a->ratio);
    hr_step_update(&step, 0, PARAMS, a->w, a->state, a->g);
}

/* --- the twin: optimizer.h in double, as it stands there --- */

static double norm(const double *x, const struct hr_param_segment *s)
{
    double sum = 0;
    for (size_t i = s->begin; i < s->begin + s->count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static void twin_mean_gradient(const struct hr_optimizer *o, const float *g)
{
    double sum = 0;
    for (size_t i = 0; i < PARAMS; i++)
        twin.d[i] = (double)g[i] / SAMPLES;
    for (size_t s = 0; s < NSEGMENTS; s++)
        if (segments[s].role == HR_SEGMENT_TRAINED)
            sum += pow(norm(twin.d, &segments[s]), 2);
    for (size_t i = 0; o->clip_norm > 0 && i < PARAMS; i++)
        twin.d[i] *= fmin(1, o->clip_norm / (sqrt(sum) + 1e-6));
}

static double adam_direction(const struct hr_optimizer *o, size_t i, double d, double t)
{
    double *m = &twin.state[i], *v = &twin.state[PARAMS + i];
    *m = o->beta1 * *m + (1 - o->beta1) * d;
    *v = o->beta2 * *v + (1 - o->beta2) * d * d;
    return *m / (1 - pow(o->beta1, t)) / (sqrt(*v) / sqrt(1 - pow(o->beta2, t)) + o->eps);
}

/* The change of element i for a rule without ratios. */
static double twin_change(const struct hr_optimizer *o, size_t i, double lr, double t)
{
    const double w = twin.w[i], d = twin.d[i] + o->weight_decay * w;
    double *s = &twin.state[i];
    switch (id_of(o->rule)) {
    case SGD:
        *s = o->momentum * *s + d;
        return lr * (o->nesterov ? d + o->momentum * *s : *s);
    case ADAGRAD:
        *s += d * d;
        return lr * d / (sqrt(*s) + o->eps);
    case ADAM:
        return lr * adam_direction(o, i, d, t);
    default: /* adamw */
        return lr * o->weight_decay * w + lr * adam_direction(o, i, twin.d[i], t);
    }
}

static void twin_lars(const struct hr_optimizer *o, const struct hr_param_segment *s, double lr)
{
    const double weights = norm(twin.w, s), grads = norm(twin.d, s);
    const double ratio =
        weights > 0 && grads > 0 ? o->trust * weights / (grads + o->weight_decay * weights) : 1;
    for (size_t i = s->begin; i < s->begin + s->count; i++) {
        twin.state[i] =
            o->momentum * twin.state[i] + lr * ratio * (twin.d[i] + o->weight_decay * twin.w[i]);
        twin.w[i] -= twin.state[i];
    }
}

static void twin_lamb(const struct hr_optimizer *o, const struct hr_param_segment *s, double lr,
                      double t)
{
    static double z[PARAMS];
    for (size_t i = s->begin; i < s->begin + s->count; i++)
        z[i] = adam_direction(o, i, twin.d[i], t) + o->weight_decay * twin.w[i];
    const double weights = norm(twin.w, s), direction = norm(z, s);
    for (size_t i = s->begin; i < s->begin + s->count; i++)
        twin.w[i] -= lr * (weights > 0 && direction > 0 ? weights / direction : 1) * z[i];
}

static void twin_step(const struct hr_optimizer *o, const float *g, double t)
{
    twin_mean_gradient(o, g);
    for (size_t s = 0; s < NSEGMENTS; s++) {
        const size_t end = segments[s].begin + segments[s].count;
        if (segments[s].role == HR_SEGMENT_STATISTIC)
            for (size_t i = segments[s].begin; i < end; i++)
                twin.w[i] = 0.9 * twin.w[i] + 0.1 * -(double)g[i] / SAMPLES;
        else if (id_of(o->rule) == LARS)
            twin_lars(o, &segments[s], 0.05);
        else if (id_of(o->rule) == LAMB)
            twin_lamb(o, &segments[s], 0.05, t);
        else
            for (size_t i = segments[s].begin; i < end; i++)
                twin.w[i] -= twin_change(o, i, 0.05, t);
    }
}

static void check_against_twin(const struct hr_optimizer *o)
{
    static float want[2 * PARAMS];
    begin(&arrays);
    memset(&twin, 0, sizeof twin);
    for (size_t i = 0; i < PARAMS; i++)
        twin.w[i] = (double)arrays.w[i];
    for (uint64_t t = 1; t <= STEPS; t++) {
        make_step(o, &arrays, t);
        twin_step(o, arrays.g, (double)t);
        for (size_t i = 0; i < PARAMS; i++)
            want[i] = (float)twin.w[i];
        CHECK_NEAR_FLOATS(arrays.w, want, PARAMS, 1e-5, 1e-6);
        for (size_t i = 0; i < o->rule->nstates * PARAMS; i++)
            want[i] = (float)twin.state[i];
        CHECK_NEAR_FLOATS(arrays.state, want, o->rule->nstates * PARAMS, 1e-5, 1e-6);
    }
}

static void every_rule_follows_its_formula(void **state)
{
    (void)state;
    for (enum rule_id id = 0; id < NRULES; id++) {
        struct hr_optimizer o = optimizer_of(id);
        check_against_twin(&o);
        o.clip_norm = 2; /* the mean gradient's norm is some 45 */
        check_against_twin(&o);
        o.nesterov = true;
        check_against_twin(&o);
    }
}

/* --- bits --- */

/* Whoever updates which block: the same bits. */
static void cutting_an_update_changes_no_bit(void **state)
{
    (void)state;
    static const size_t cuts[] = {0, 1, 7, 1024, 1031, 1040, 2048, 2048, 2599, PARAMS};
    for (enum rule_id id = 0; id < NRULES; id++) {
        const struct hr_optimizer o = optimizer_of(id);
        begin(&arrays);
        begin(&other);
        make_step(&o, &arrays, 1);
        fill_gradient(&other, 1);
        struct hr_step step = hr_step_of(&o, 0.05, SAMPLES, 1);
        hr_step_measure(&step, other.w, other.state, other.g, other.ratio);
        for (size_t c = sizeof cuts / sizeof *cuts - 1; c-- > 0;)
            hr_step_update(&step, cuts[c], cuts[c + 1] - cuts[c], other.w + cuts[c], other.state,
                           other.g + cuts[c]);
        CHECK_SAME_FLOATS(arrays.w, other.w, PARAMS);
        CHECK_SAME_FLOATS(arrays.state, other.state, 2 * PARAMS);
    }
}

#define COPIES(name) {HR_ISA_COPIES(hr_rule_##name)},
static const struct hr_rule *const copies[NRULES][3] = {HR_OPTIMIZERS(COPIES)};

/* This machine can run hr_isa() + 1 of them. */
static const struct hr_optimizer_table *const tables[] = {HR_ISA_COPIES(hr_optimizer_table)};

static void check_same_update(hr_update_fn got, hr_update_fn want, size_t count, bool nesterov)
{
    struct hr_optimizer o = optimizer_of(ADAM);
    o.nesterov = nesterov;
    const struct hr_step step = hr_step_of(&o, 0.05, SAMPLES, 3);
    begin(&arrays);
    fill_gradient(&arrays, 1);
    for (size_t i = 0; i < 2 * PARAMS; i++) /* a second moment is not negative */
        arrays.state[i] = fabsf(arrays.g[i % PARAMS]);
    other = arrays;
    got(arrays.w, arrays.state, arrays.state + PARAMS, arrays.g, count, &step);
    want(other.w, other.state, other.state + PARAMS, other.g, count, &step);
    CHECK_SAME_FLOATS(arrays.w, other.w, PARAMS);
    CHECK_SAME_FLOATS(arrays.state, other.state, 2 * PARAMS);
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 16, 17, 1023, 1024};
    for (size_t n = hr_isa() + 1; n-- > 1;)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (size_t id = 0; id < NRULES; id++)
                for (size_t nesterov = 0; nesterov < 2; nesterov++)
                    check_same_update(copies[id][n]->update, copies[id][0]->update, counts[c],
                                      nesterov);
            check_same_update(tables[n]->statistic, tables[0]->statistic, counts[c], false);
            const double got = tables[n]->sum_squares(arrays.g, counts[c]);
            const double want = tables[0]->sum_squares(arrays.g, counts[c]);
            assert_memory_equal(&got, &want, sizeof got);
        }
}

/* sgd's definition, each operation rounded by itself. */
static void sgd_is_its_formula_to_the_bit(void **state)
{
    (void)state;
    const struct hr_optimizer o = optimizer_of(SGD);
    const struct hr_step step = hr_step_of(&o, 0.05, SAMPLES, 1);
    begin(&arrays);
    make_step(&o, &arrays, 1);
    other = arrays;
    make_step(&o, &arrays, 2);
    for (size_t i = 0; i < PARAMS; i++) {
        if (i >= segments[2].begin && i < segments[3].begin)
            continue;
        const volatile float mean = arrays.g[i] * step.inverse_count;
        const volatile float decay = step.weight_decay * other.w[i];
        const volatile float d = mean + decay;
        const volatile float kept = step.momentum * other.state[i];
        const volatile float velocity = kept + d;
        const volatile float change = step.lr * velocity;
        assert_true(arrays.state[i] == velocity && arrays.w[i] == other.w[i] - change);
    }
}

/* torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01), gradients divided by 4. */
static void three_steps_of_sgd_match_pytorch(void **state)
{
    (void)state;
    static const struct hr_param_segment whole = {0, 3, HR_SEGMENT_TRAINED};
    static const float grads[3][3] = {{4, -8, 2}, {1, 3, -6}, {-2, 0.5f, 7}};
    static const float want[3][3] = {
        {0.898999989f, -1.79799998f, 0.449499995f},
        {0.782200992f, -1.68940198f, 0.55360049f},
        {0.726299703f, -1.60247433f, 0.471737355f},
    };
    struct hr_optimizer o = optimizer_of(SGD);
    o.segments = &whole;
    o.nsegments = 1;
    o.params = 3;
    float weights[3] = {1, -2, 0.5f}, momentum[3] = {0};
    for (size_t t = 0; t < 3; t++) {
        const struct hr_step step = hr_step_of(&o, 0.1, 4, t + 1);
        hr_step_update(&step, 0, 3, weights, momentum, grads[t]);
        CHECK_NEAR_FLOATS(weights, want[t], 3, 2e-7, 0);
    }
}

/* --- clipping and statistics --- */

static void clipping_bites_only_where_the_norm_is_larger(void **state)
{
    (void)state;
    struct hr_optimizer o = optimizer_of(SGD);
    fill_gradient(&arrays, 1);
    arrays.g[segments[2].begin] = 1e30f; /* a statistic is no part of the norm */
    double sum = 0;
    for (size_t i = 0; i < PARAMS; i++)
        if (i < segments[2].begin || i >= segments[3].begin)
            sum += (double)arrays.g[i] * (double)arrays.g[i];
    const double mean_norm = sqrt(sum) / SAMPLES;
    struct hr_step step = hr_step_of(&o, 0.05, SAMPLES, 1);
    o.clip_norm = 2 * mean_norm;
    hr_step_measure(&step, arrays.w, arrays.state, arrays.g, arrays.ratio);
    assert_true(step.scale == step.inverse_count);
    o.clip_norm = mean_norm / 2;
    hr_step_measure(&step, arrays.w, arrays.state, arrays.g, arrays.ratio);
    CHECK_NEAR((double)step.scale * SAMPLES, 0.5, 1e-6, 0);
}

static void statistics_move_a_tenth_whatever_the_optimizer(void **state)
{
    (void)state;
    static const struct hr_param_segment statistic = {0, 2, HR_SEGMENT_STATISTIC};
    for (enum rule_id id = 0; id < NRULES; id++) {
        struct hr_optimizer o = optimizer_of(id);
        float w[2] = {1, 0}, s[4] = {7, 7, 7, 7}, ratio;
        const float g[2] = {-4 * 3, -4 * 5}; /* statistics 3 and 5 of a batch of 4 */
        o.segments = &statistic;
        o.nsegments = 1;
        o.params = 2;
        o.clip_norm = 1e-3;
        struct hr_step step = hr_step_of(&o, 0.05, 4, 1);
        hr_step_measure(&step, w, s, g, &ratio);
        hr_step_update(&step, 0, 2, w, s, g);
        CHECK_NEAR((double)w[0], 1.2, 1e-6, 0);
        CHECK_NEAR((double)w[1], 0.5, 1e-6, 0);
        assert_true(s[0] == 7 && s[1] == 7 && s[2] == 7 && s[3] == 7);
    }
}

static void names_are_found_and_unknown_ones_list_them(void **state)
{
    (void)state;
    const struct hr_rule *rule;
    for (size_t i = 0; hr_rule_at(i); i++) {
        CHECK_OK(hr_rule_find(hr_rule_at(i)->name, &rule));
        assert_ptr_equal(rule, hr_rule_at(i));
    }
    CHECK_FAILS(hr_rule_find("rmsprop", &rule), HR_E_USAGE);
    CHECK_MESSAGE("there are: sgd, adagrad, adam, adamw, lars, lamb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_follows_its_formula),
        cmocka_unit_test(cutting_an_update_changes_no_bit),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(sgd_is_its_formula_to_the_bit),
        cmocka_unit_test(three_steps_of_sgd_match_pytorch),
        cmocka_unit_test(clipping_bites_only_where_the_norm_is_larger),
        cmocka_unit_test(statistics_move_a_tenth_whatever_the_optimizer),
        cmocka_unit_test(names_are_found_and_unknown_ones_list_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
