/* How long things take, and what goes wrong, is drawn by seed, use, rank and step, and by nothing
 * else; recorded times are used in their order. */
#include "support/runs.h"
#include "worker/job.h"

struct draws {
    int64_t compute, serve;
};

/* What worker or shard `rank` of two is given the step-th time. */
static struct draws draw(uint64_t seed, size_t rank, uint64_t step)
{
    struct hr_train_options options = {.seed = seed};
    struct hr_shared_state shared = {.workers = 2};
    struct hr_train_job job = {
        .options = &options, .shared = &shared, .conditions = {.has_compute = true}};
    CHECK_OK(hr_delay_parse("", "exponential(10ms)", &job.conditions.compute));
    CHECK_OK(hr_delay_parse("", "exponential(10ms)", &job.conditions.serve));
    return (struct draws){hr_conditions_compute_ps(&job, rank, step, 0),
                          hr_conditions_serve_ps(&job, rank, step)};
}

static void draws_follow_from_seed_use_rank_and_step(void **state)
{
    (void)state;
    const struct draws first = draw(1, 0, 0), again = draw(1, 0, 0);
    const struct draws others[] = {draw(2, 0, 0), draw(1, 1, 0), draw(1, 0, 1)};
    assert_int_equal(first.compute, again.compute);
    assert_int_equal(first.serve, again.serve);
    for (size_t i = 0; i < 3; i++) {
        assert_int_not_equal(first.compute, others[i].compute);
        assert_int_not_equal(first.serve, others[i].serve);
    }
}

/* Worker 2 and shard 0 of two workers are one rank: what one computes tells nothing of how long the
 * other serves. */
static void computing_and_serving_draw_apart(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 10; step++)
        assert_int_not_equal(draw(1, 2, step).compute, draw(1, 0, step).serve);
}

static void recorded_times_are_used_in_their_order_and_again(void **state)
{
    (void)state;
    size_t first[] = {0, 1, 4};
    int64_t ps[] = {7, 10, 20, 30};
    const struct hr_recorded_times times = {
        .nranks = 2, .first = first, .ps = ps, .overhead_ps = 100};
    struct hr_train_options options = {.seed = 1};
    const struct hr_train_job job = {.options = &options, .conditions = {.times = &times}};
    for (uint64_t step = 0; step < 9; step++) {
        assert_int_equal(hr_conditions_compute_ps(&job, 0, step, 0), 107);
        assert_int_equal(hr_conditions_compute_ps(&job, 1, step, 0), 100 + ps[1 + step % 3]);
    }
}

/* A job of two workers whose numbers go wrong as `text` says. */
struct wrong {
    struct hr_train_options options;
    struct hr_shared_state shared;
    struct hr_train_job job;
};

static void begin_wrong(struct wrong *wrong, const char *text, uint64_t seed, size_t params)
{
    wrong->options = (struct hr_train_options){.seed = seed};
    wrong->shared = (struct hr_shared_state){.workers = 2, .params = params};
    wrong->job = (struct hr_train_job){.options = &wrong->options, .shared = &wrong->shared};
    CHECK_OK(hr_inject_parse("", text, 2, 0, &wrong->job.conditions.inject));
}

/* Bits of `count` floats that are not 0. */
static size_t bits_set(const float *floats, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &floats[i], sizeof bits);
        n += (size_t)__builtin_popcount(bits);
    }
    return n;
}

static void one_bit_flips_in_its_step_and_rank_alone(void **state)
{
    (void)state;
    enum { PARAMS = 7, SEEDS = 2000 };
    uint32_t seen[PARAMS] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct wrong wrong;
        float weights[PARAMS] = {0}, again[PARAMS] = {0};
        begin_wrong(&wrong, "flip-bit:weights:1@step=9,nan:1@step=3", seed, PARAMS);
        for (uint64_t step = 0; step < 20; step++)
            for (size_t rank = 0; rank < 2; rank++)
                if (step != 9 || rank != 1)
                    hr_conditions_flip_bit(&wrong.job, rank, step, weights);
        assert_int_equal(bits_set(weights, PARAMS), 0);
        hr_conditions_flip_bit(&wrong.job, 1, 9, weights);
        hr_conditions_flip_bit(&wrong.job, 1, 9, again);
        assert_int_equal(bits_set(weights, PARAMS), 1);
        assert_memory_equal(weights, again, sizeof weights);
        for (size_t i = 0; i < PARAMS; i++) {
            uint32_t bits;
            memcpy(&bits, &weights[i], sizeof bits);
            seen[i] |= bits;
        }
    }
    for (size_t i = 0; i < PARAMS; i++)
        assert_int_equal(seen[i], UINT32_MAX); /* any bit of any weight */
}

static void a_nan_has_a_place_in_its_step_and_rank_alone(void **state)
{
    (void)state;
    enum { PARAMS = 7 };
    size_t seen = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct wrong wrong;
        begin_wrong(&wrong, "flip-bit:weights:1@step=9,nan:1@step=3", seed, PARAMS);
        for (uint64_t step = 0; step < 20; step++)
            for (size_t rank = 0; rank < 2; rank++) {
                const size_t at = hr_conditions_nan_at(&wrong.job, rank, step);
                assert_true(step == 3 && rank == 1 ? at < PARAMS : at == SIZE_MAX);
                seen |= at < PARAMS ? (size_t)1 << at : 0;
            }
    }
    assert_int_equal(seen, (1 << PARAMS) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_follow_from_seed_use_rank_and_step),
        cmocka_unit_test(computing_and_serving_draw_apart),
        cmocka_unit_test(one_bit_flips_in_its_step_and_rank_alone),
        cmocka_unit_test(a_nan_has_a_place_in_its_step_and_rank_alone),
        cmocka_unit_test(recorded_times_are_used_in_their_order_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
