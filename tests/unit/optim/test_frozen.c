/* Frozen tensors: no rule touches them, and they touch nothing. */
#include <math.h>
#include <string.h>

#include "unit/optim/some_optimizer.h"

enum { PARAMS = 1400, NSEGMENTS = 5, STEPS = 4, SAMPLES = 33 };

static const struct hr_param_segment segments[NSEGMENTS] = {
    {0, 30, HR_SEGMENT_FROZEN},     {30, 7, HR_SEGMENT_FROZEN},
    {37, 1101, HR_SEGMENT_TRAINED}, {1138, 12, HR_SEGMENT_STATISTIC},
    {1150, 250, HR_SEGMENT_FROZEN},
};
static const size_t frozen = 30 + 7 + 250;

struct arrays {
    float w[PARAMS], state[2 * PARAMS], g[PARAMS], ratio[NSEGMENTS];
};

static struct arrays first, a, b;

static bool is_frozen(size_t i)
{
    return i < 37 || i >= 1150;
}

static void fill(struct arrays *x)
{
    memset(x, 0, sizeof *x);
    for (size_t i = 0; i < PARAMS; i++) {
        x->w[i] = hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, 0).v[0]) - 0.5f;
        x->g[i] = some_gradient(i, 1);
    }
    x->w[3] = -0.0f;
    x->w[4] = 1e-41f; /* denormal */
    x->w[5] = INFINITY;
    x->w[1200] = NAN;
}

static void train(const struct hr_optimizer *o, struct arrays *x)
{
    for (uint64_t t = 1; t <= STEPS; t++) {
        struct hr_step step = hr_step_of(o, 0.05, SAMPLES, t);
        hr_step_measure(&step, x->w, x->state, x->g, x->ratio);
        hr_step_update(&step, 0, 33, x->w, x->state, x->g);
        hr_step_update(&step, 33, PARAMS - 33, x->w + 33, x->state, x->g + 33);
    }
}

static void check_rule(const struct hr_rule *rule, double clip)
{
    struct hr_optimizer o = some_optimizer(rule, segments, NSEGMENTS, PARAMS);
    o.clip_norm = clip;
    o.frozen = frozen;
    fill(&first);
    fill(&a);
    fill(&b);
    for (size_t i = 0; i < PARAMS; i++)
        if (is_frozen(i))
            b.g[i] = b.w[i] = 1e9f; /* any weights and gradients whatever */
    train(&o, &a);
    train(&o, &b);
    for (size_t i = 0; i < PARAMS; i++) {
        assert_int_equal(!memcmp(&a.w[i], &first.w[i], sizeof(float)), is_frozen(i));
        assert_true(is_frozen(i) || !memcmp(&a.w[i], &b.w[i], sizeof(float)));
        for (size_t s = 0; s < 2 && is_frozen(i); s++)
            assert_true(!(a.state[s * PARAMS + i] < 0) && !(a.state[s * PARAMS + i] > 0));
    }
}

static void no_rule_touches_them_and_no_norm_has_them(void **state)
{
    (void)state;
    const struct hr_rule *rule;
    for (size_t i = 0; (rule = hr_rule_at(i)) != NULL; i++) {
        check_rule(rule, 0);
        check_rule(rule, 0.01);
    }
}

static void ranges_are_what_the_segments_say(void **state)
{
    (void)state;
    const struct hr_optimizer o = {
        .segments = segments, .nsegments = NSEGMENTS, .params = PARAMS, .frozen = frozen};
    for (size_t begin = 0; begin < PARAMS; begin += 13)
        for (size_t end = begin; end <= PARAMS; end += 29)
            for (int kind = 0; kind < 2; kind++) {
                struct hr_range range = hr_range_next(&o, kind, begin, end);
                for (size_t i = begin; i < end; i++) {
                    const bool in = range.count && i >= range.begin;
                    assert_int_equal(in, is_frozen(i) == kind);
                    if (in && i == range.begin + range.count - 1)
                        range = hr_range_next(&o, kind, i + 1, end);
                }
                assert_int_equal(range.count, 0);
            }
}

static void without_any_all_is_one_range(void **state)
{
    (void)state;
    const struct hr_optimizer o = {.segments = segments, .nsegments = NSEGMENTS, .params = PARAMS};
    const struct hr_range moves = hr_range_next(&o, false, 5, 90);
    assert_int_equal(moves.begin, 5);
    assert_int_equal(moves.count, 85);
    assert_int_equal(hr_range_next(&o, true, 5, 90).count, 0);
    assert_int_equal(hr_range_next(&o, false, 90, 90).count, 0);
}

static void what_is_kept_is_the_frozen_part(void **state)
{
    (void)state;
    const struct hr_optimizer o = {
        .segments = segments, .nsegments = NSEGMENTS, .params = PARAMS, .frozen = frozen};
    fill(&first);
    memset(&a, 0, sizeof a);
    hr_keep_frozen(&o, 10, 1300, a.w + 10, first.w + 10);
    for (size_t i = 0; i < PARAMS; i++) {
        const bool kept = is_frozen(i) && i >= 10 && i < 1310;
        assert_memory_equal(&a.w[i], kept ? &first.w[i] : &a.state[0], sizeof(float));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rule_touches_them_and_no_norm_has_them),
        cmocka_unit_test(ranges_are_what_the_segments_say),
        cmocka_unit_test(without_any_all_is_one_range),
        cmocka_unit_test(what_is_kept_is_the_frozen_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
