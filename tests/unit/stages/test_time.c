/* How long stages take in virtual time: the papers' bubbles where parts are equal; links, and
 * stages that are slow, by hand. */
#include <stdio.h>
#include <string.h>

#include "pipeline/schedule.h"
#include "stages/time.h"
#include "support/check.h"

enum { WIDTH = 256, MOST_STAGES = 16, MOST_MICRO = 64, PARTS = 2 * MOST_STAGES, SAMPLES = 4 };

static const int64_t ms = 1000000000;

/* So many layers of 3 x WIDTH x WIDTH multiply-adds each; the batchnorm before them, which is a
 * 400th of that, has the first one a gradient of its input. */
static struct hr_model *even_model(size_t parts)
{
    char text[1024] = "batchnorm, flatten";
    struct hr_model *model;
    for (size_t p = 0; p < parts; p++)
        strcat(text, ", dense 256");
    CHECK_OK(hr_model_create(text, (struct hr_shape){1, 16, 16}, WIDTH, &model));
    return model;
}

static struct hr_pipeline *open(const struct hr_model *model,
                                const struct hr_pipeline_schedule *schedule,
                                const struct hr_pipeline_shape *shape)
{
    size_t cut[PARTS];
    struct hr_pipeline *pipeline;
    for (size_t p = 0; p + 1 < shape->stages * shape->chunks; p++)
        cut[p] = 3 + p;
    const struct hr_pipeline_options options = {.model = model,
                                                .schedule = schedule,
                                                .shape = *shape,
                                                .cut = cut,
                                                .most = SAMPLES,
                                                .threads = 1};
    CHECK_OK(hr_pipeline_create(&options, &pipeline));
    return pipeline;
}

/* Of a gradient that one rank would compute in ps. */
static struct hr_pipeline_walk walk(const struct hr_pipeline *pipeline,
                                    const struct hr_topology *topology, int64_t ps, size_t slow,
                                    double factor)
{
    struct hr_pipeline_timer timer;
    struct hr_pipeline_walk walk;
    double factors[MOST_STAGES];
    size_t rank[MOST_STAGES];
    for (size_t k = 0; k < MOST_STAGES; k++) {
        factors[k] = k == slow ? factor : 1;
        rank[k] = k;
    }
    CHECK_OK(hr_pipeline_timer_init(&timer, pipeline, topology));
    CHECK_OK(hr_pipeline_timer_walk(
        &timer, &(struct hr_pipeline_gradient){.ps = ps, .slow = factors, .rank = rank},
        pipeline->options.shape.micro_batches, &walk));
    hr_pipeline_timer_fini(&timer);
    return walk;
}

static int64_t takes(const struct hr_model *model, const struct hr_pipeline_schedule *schedule,
                     struct hr_pipeline_shape shape, const struct hr_topology *topology)
{
    struct hr_pipeline *pipeline = open(model, schedule, &shape);
    struct hr_pipeline_walk walked = walk(pipeline, topology, 1000 * ms, 0, 1);
    const int64_t makespan = walked.makespan;
    hr_pipeline_walk_fini(&walked);
    hr_pipeline_destroy(pipeline);
    return makespan;
}

/* --- equal parts --- */

static void check_bubble(const struct hr_model *model, const struct hr_pipeline_schedule *schedule,
                         const struct hr_pipeline_shape *shape)
{
    struct hr_pipeline *pipeline = open(model, schedule, shape);
    struct hr_pipeline_walk walked = walk(pipeline, NULL, 1000 * ms, 0, 1);
    CHECK_NEAR(walked.bubble, schedule->bubble(shape), 0, 0.005);
    CHECK_NEAR((double)walked.makespan,
               1000.0 * (double)ms / ((double)shape->stages * (1 - walked.bubble)), 1e-6, 0);
    hr_pipeline_walk_fini(&walked);
    hr_pipeline_destroy(pipeline);
}

static void bubbles_are_within_half_a_point_of_the_formulas(void **state)
{
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape;
    (void)state;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)); i++)
        for (shape.stages = 2; shape.stages <= MOST_STAGES; shape.stages++) {
            shape.chunks = schedule == &hr_schedule_interleaved ? 2 : 1;
            struct hr_model *model = even_model(shape.stages * shape.chunks);
            for (shape.micro_batches = 1; shape.micro_batches <= MOST_MICRO; shape.micro_batches++)
                if (schedule->check(&shape) == HR_OK)
                    check_bubble(model, schedule, &shape);
            hr_model_destroy(model);
        }
}

static void zero_bubble_is_below_1f1b(void **state)
{
    struct hr_pipeline_shape shape = {.chunks = 1};
    (void)state;
    for (shape.stages = 2; shape.stages <= MOST_STAGES; shape.stages++) {
        struct hr_model *model = even_model(shape.stages);
        for (shape.micro_batches = 1; shape.micro_batches <= MOST_MICRO; shape.micro_batches++)
            assert_true(takes(model, &hr_schedule_zero_bubble, shape, NULL) <
                        takes(model, &hr_schedule_1f1b, shape, NULL));
        hr_model_destroy(model);
    }
}

/* --- by hand --- */

/* A micro-batch on its way through three stages and back sends four messages, each over two links
 * of the star, one behind the other. */
static void a_message_takes_the_time_of_its_links(void **state)
{
    const struct hr_link link = {.bandwidth = 1e6, .latency_ps = 3 * ms};
    struct hr_topology star;
    struct hr_model *model = even_model(3);
    (void)state;
    CHECK_OK(hr_topology_open("star:3", &link, &star));
    const double bytes = SAMPLES * WIDTH * sizeof(float);
    const double message = bytes * 1e6 + 2 * 3.0 * (double)ms; /* a byte is 1e6 ps */
    const double all = 1000.0 * (double)ms;
    CHECK_NEAR((double)takes(model, &hr_schedule_gpipe, (struct hr_pipeline_shape){3, 1, 1}, &star),
               all + 4 * message, 1e-9, 0);
    CHECK_NEAR((double)takes(model, &hr_schedule_1f1b, (struct hr_pipeline_shape){1, 5, 1}, &star),
               all, 1e-9, 0);
    hr_topology_fini(&star);
    hr_model_destroy(model);
}

/* Into the middle of a star goes all that both neighbours send, over one link; in a ring each has
 * a wire of its own. */
static void messages_share_links(void **state)
{
    const struct hr_link link = {.bandwidth = 20e3, .latency_ps = 0};
    const struct hr_pipeline_shape shape = {3, 24, 1};
    struct hr_topology star, ring;
    struct hr_model *model = even_model(3);
    (void)state;
    CHECK_OK(hr_topology_open("star:3", &link, &star));
    CHECK_OK(hr_topology_open("ring:3", &link, &ring));
    const double bytes = SAMPLES * WIDTH * sizeof(float);
    const double through = 2 * 24 * bytes * 1e12 / link.bandwidth;
    assert_true((double)takes(model, &hr_schedule_1f1b, shape, &star) > through);
    assert_true((double)takes(model, &hr_schedule_1f1b, shape, &ring) < through);
    assert_true((double)takes(model, &hr_schedule_1f1b, shape, &ring) > through / 2);
    hr_topology_fini(&star);
    hr_topology_fini(&ring);
    hr_model_destroy(model);
}

/* Of two equal stages, f and 2 f, the second takes twice as long: M forward of 2 f behind the
 * first's f, M backward of 4 f, and the last of the first's. */
static void a_slow_stage_is_waited_for(void **state)
{
    const struct hr_pipeline_shape shape = {2, 8, 1};
    struct hr_model *model = even_model(2);
    struct hr_pipeline *pipeline = open(model, &hr_schedule_gpipe, &shape);
    struct hr_pipeline_walk walked = walk(pipeline, NULL, 6 * 8 * ms, 1, 2);
    (void)state;
    CHECK_NEAR((double)walked.makespan, (3 + 6 * 8) * (double)ms, 0.005, 0);
    CHECK_NEAR((double)walked.rank[0].idle, (3 + 3 * 8) * (double)ms, 0.02, 0);
    hr_pipeline_walk_fini(&walked);
    hr_pipeline_destroy(pipeline);
    hr_model_destroy(model);
}

static int64_t take(const struct hr_pipeline *pipeline, const struct hr_topology *topology,
                    bool first)
{
    const double slow[] = {1, 1, 2};
    const size_t rank[] = {0, 1, 2};
    const struct hr_pipeline_gradient gradient = {900 * ms, slow, rank, first};
    struct hr_pipeline_timer timer;
    struct hr_stage_time of[3];
    int64_t ps, without_ps;
    CHECK_OK(hr_pipeline_timer_init(&timer, pipeline, topology));
    CHECK_OK(hr_pipeline_timer_take(&timer, &gradient, &ps, &without_ps, of));
    CHECK_NEAR((double)of[2].busy_ps, 600 * (double)ms, 0.005, 0);
    assert_int_equal(without_ps, ps);
    hr_pipeline_timer_fini(&timer);
    return ps;
}

/* Stages of 300, 300 and 600 ms; into the middle one go 8 KiB of every minibatch, by one link. */
static void a_pipeline_that_never_drains_waits_for_its_slowest(void **state)
{
    const struct hr_link link = {.bandwidth = 8192, .latency_ps = 0};
    const struct hr_pipeline_shape shape = {3, 1, 1};
    struct hr_topology star;
    struct hr_model *model = even_model(3);
    struct hr_pipeline *pipeline = open(model, &hr_schedule_pipedream, &shape);
    (void)state;
    CHECK_OK(hr_topology_open("star:3", &link, &star));
    CHECK_NEAR((double)take(pipeline, NULL, true), 1200 * (double)ms, 0.005, 0);
    CHECK_NEAR((double)take(pipeline, NULL, false), 600 * (double)ms, 0.005, 0);
    assert_true(take(pipeline, &star, false) >= 1000 * ms);
    hr_topology_fini(&star);
    hr_pipeline_destroy(pipeline);
    hr_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bubbles_are_within_half_a_point_of_the_formulas),
        cmocka_unit_test(zero_bubble_is_below_1f1b),
        cmocka_unit_test(a_message_takes_the_time_of_its_links),
        cmocka_unit_test(messages_share_links),
        cmocka_unit_test(a_slow_stage_is_waited_for),
        cmocka_unit_test(a_pipeline_that_never_drains_waits_for_its_slowest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
