/* Every schedule in every shape up to 16 stages and 16 micro-batches, at work in many orders: the
 * ranks that may act do so as a seed has it. It ends; what was handed over was taken; as much is
 * kept as the schedule promises; and the gradient is that of one stage, bit for bit. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "pipeline/schedule.h"
#include "stages/crew.h"
#include "support/check.h"

enum { MOST = 16, CHUNKS = 2, LAYERS = MOST * CHUNKS, FEATURES = 4, SAMPLES = 1 };

static struct hr_model *model;
static float *weights, *grads, *want; /* (params) each */
static size_t params;

static void open_model(void)
{
    char text[1024] = "flatten";
    for (size_t i = 0; i < LAYERS; i++)
        strcat(text, i + 1 < LAYERS ? ", dense 3" : ", dense 2");
    CHECK_OK(hr_model_create(text, (struct hr_shape){1, 2, 2}, 2, &model));
    params = hr_model_param_count(model);
    weights = calloc(3 * params, sizeof *weights);
    assert_non_null(weights);
    grads = weights + params;
    want = grads + params;
    hr_model_init(model, 3, weights);
}

static void close_model(void)
{
    hr_model_destroy(model);
    free(weights);
}

static uint64_t load(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers)
{
    (void)arg;
    for (size_t i = 0; i < FEATURES; i++)
        x[i] = (float)((7 * m + i) % 11) - 5;
    *labels = m % 2;
    *numbers = (uint32_t)m;
    return 0;
}

static struct hr_pipeline *open(const struct hr_pipeline_schedule *schedule,
                                const struct hr_pipeline_shape *shape)
{
    const size_t parts = shape->stages * shape->chunks;
    struct hr_pipeline *pipeline;
    size_t cut[LAYERS];
    for (size_t p = 1; p < parts; p++)
        cut[p - 1] = 1 + p; /* the last part has the rest */
    const struct hr_pipeline_options options = {.model = model,
                                                .schedule = schedule,
                                                .shape = *shape,
                                                .cut = cut,
                                                .most = SAMPLES,
                                                .threads = 1};
    CHECK_OK(hr_pipeline_create(&options, &pipeline));
    return pipeline;
}

/* --- an order --- */

/* The next to act: from a place that the seed chooses, the first that may. K: nobody. */
static size_t next(struct hr_stage *stage, size_t K, uint64_t seed, uint64_t event)
{
    const size_t from = hr_random_block(seed, HR_STREAM_TEST, event / 4, 0).v[event % 4] % K;
    for (size_t i = 0; i < K; i++) {
        struct hr_stage *of = &stage[(from + i) % K];
        if (!hr_stage_is_done(of) && hr_stage_may_act(of))
            return (from + i) % K;
    }
    return K;
}

static void play(struct hr_crew *crew, struct hr_stage_account *account, uint64_t seed)
{
    const struct hr_pipeline *pipeline = crew->stage->pipeline;
    const struct hr_stage_task task = {weights, grads, pipeline->options.shape.micro_batches,
                                       0,       0,     1};
    const size_t K = pipeline->ranks;
    uint64_t event = 0;
    memset(grads, 0xff, params * sizeof *grads);
    for (size_t k = 0; k < K; k++)
        hr_stage_sit(&crew->stage[k], &(struct hr_stage_place){.memory = crew->memory,
                                                               .origin = grads,
                                                               .account = &account[k]});
    crew->stage->load = load;
    hr_stage_publish(crew->stage, &task);
    for (size_t k = 0; k < K; k++)
        hr_stage_begin(&crew->stage[k]);
    for (size_t k; (k = next(crew->stage, K, seed, event)) < K; event++)
        hr_stage_act(&crew->stage[k]);
    assert_true(hr_stage_all_are_done(crew->stage));
}

/* In `step` steps so far. */
static void check_nothing_is_left(const struct hr_crew *crew, uint64_t step)
{
    const struct hr_pipeline *pipeline = crew->stage->pipeline;
    const struct hr_pipeline_memory at = hr_pipeline_memory_at(pipeline, crew->memory);
    const uint64_t all = step * pipeline->options.shape.micro_batches;
    for (size_t p = 0; p + 1 < pipeline->parts; p++) {
        assert_int_equal(hr_atom64_load_relaxed(&at.boundary[p].forward), all);
        assert_int_equal(hr_atom64_load_relaxed(&at.boundary[p].backward), all);
    }
    for (size_t k = 0; k < pipeline->ranks; k++)
        assert_int_equal(crew->stage[k].kept, 0);
}

static size_t check_shape(const struct hr_pipeline_schedule *schedule,
                          const struct hr_pipeline_shape *shape, size_t orders)
{
    struct hr_stage_account account[MOST] = {0};
    struct hr_pipeline *pipeline = open(schedule, shape);
    struct hr_crew crew;
    CHECK_OK(hr_crew_start(&crew, pipeline));
    for (size_t i = 0; i < orders; i++) {
        play(&crew, account, 1000 * check_seed() + i);
        check_nothing_is_left(&crew, i + 1);
        assert_memory_equal(grads, want, params * sizeof *grads);
    }
    for (size_t k = 0; k < shape->stages; k++)
        assert_int_equal(account[k].peak, schedule->stored(shape, k));
    hr_crew_stop(&crew);
    hr_pipeline_destroy(pipeline);
    return orders;
}

/* --- all of them --- */

static void compute_wanted(size_t M)
{
    struct hr_stage_account account[1] = {0};
    struct hr_pipeline *pipeline = open(&hr_schedule_gpipe, &(struct hr_pipeline_shape){1, M, 1});
    struct hr_crew crew;
    CHECK_OK(hr_crew_start(&crew, pipeline));
    play(&crew, account, 0);
    memcpy(want, grads, params * sizeof *want);
    hr_crew_stop(&crew);
    hr_pipeline_destroy(pipeline);
}

static bool is_of_the_sample(size_t size)
{
    return check_count(0, 1) || size <= 3 || size == 7 || size == MOST;
}

static void any_shape_ends_in_any_order(void **state)
{
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape;
    size_t shapes = 0, orders = 0;
    (void)state;
    open_model();
    for (shape.micro_batches = 1; shape.micro_batches <= MOST; shape.micro_batches++) {
        compute_wanted(shape.micro_batches);
        for (shape.stages = 1; shape.stages <= MOST; shape.stages++)
            for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)) != NULL; i++) {
                shape.chunks = schedule == &hr_schedule_interleaved ? CHUNKS : 1;
                if (!is_of_the_sample(shape.stages) || !is_of_the_sample(shape.micro_batches) ||
                    schedule->check(&shape) != HR_OK)
                    continue;
                orders += check_shape(schedule, &shape, check_count(3, 100));
                shapes++;
            }
    }
    print_message("%zu orders of %zu shapes\n", orders, shapes);
    close_model();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_ends_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
