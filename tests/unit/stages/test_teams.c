/* Stages that are several ranks, which share split layers: against one thread that computes all
 * shards, bit for bit; and they end together where one of them gives up. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/size.h"
#include "launch/launch.h"
#include "pipeline/schedule.h"
#include "stages/crew.h"
#include "support/check.h"

enum { FEATURES = 12, CLASSES = 3, MOST = 5, MICRO = 4, COUNT = 19, MEMBERS = 8, STEPS = 3 };
enum { SHARDS = 4 };

static const char LIST[] = "flatten, dense 40, relu, dense 33, batchnorm, relu, dropout 0.4, "
                           "dense 24, tanh, dense 3";

struct rig {
    struct hr_model *model;
    struct hr_pipeline *pipeline;
    size_t params;
    float *weights, *grads, *want;
    struct hr_batch_result wanted;
    struct hr_stage_account account[MEMBERS];
    void *memory;
    struct hr_control *control;
    struct hr_bell *bell[MEMBERS];
    size_t deserter; /* this member does not come to its step; 0: all do */
};

static struct hr_pipeline_options options_of(const struct rig *rig, const char *schedule, size_t K,
                                             size_t T)
{
    static const size_t cut[] = {3};
    struct hr_pipeline_options options = {
        .model = rig->model,
        .shape = {.stages = K, .micro_batches = MICRO, .chunks = 1},
        .cut = cut,
        .most = MOST,
        .seed = 9,
        .threads = 1,
        .shards = SHARDS,
        .team = T};
    CHECK_OK(hr_pipeline_schedule_find(schedule, &options.schedule));
    return options;
}

/* Of micro-batch m of a batch of `count`. */
static size_t samples_of(const struct hr_pipeline *pipeline, size_t count, size_t m)
{
    const size_t M = pipeline->options.shape.micro_batches;
    return hr_split_begin(count, M, m + 1) - hr_split_begin(count, M, m);
}

static uint64_t load(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers)
{
    const struct rig *rig = arg;
    size_t first = 0;
    for (size_t i = 0; i < m; i++)
        first += samples_of(rig->pipeline, COUNT, i);
    for (size_t i = 0; i < samples_of(rig->pipeline, COUNT, m); i++) {
        for (size_t j = 0; j < FEATURES; j++)
            x[i * FEATURES + j] = hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST,
                                                                 (first + i) * FEATURES + j, 0)
                                                     .v[0]) -
                                  0.5f;
        labels[i] = (uint32_t)(first + i) % CLASSES;
        numbers[i] = 100 + (uint32_t)(first + i);
    }
    return 4;
}

/* One thread, one stage, all shards. */
static void compute_wanted(struct rig *rig)
{
    struct hr_pipeline_options options = options_of(rig, "1f1b", 1, SHARDS);
    struct hr_crew crew;
    const struct hr_stage_task task = {rig->weights, rig->grads, COUNT, 0, 0, 1};
    options.serial = true;
    CHECK_OK(hr_pipeline_create(&options, &rig->pipeline));
    CHECK_OK(hr_crew_start(&crew, rig->pipeline));
    rig->wanted =
        hr_crew_step(&crew, &task, &(struct hr_crew_replica){rig->account, NULL, load, rig});
    memcpy(rig->want, rig->grads, rig->params * sizeof *rig->want);
    hr_crew_stop(&crew);
    hr_pipeline_destroy(rig->pipeline);
}

static void open_rig(struct rig *rig, const char *schedule, size_t K, size_t T)
{
    memset(rig, 0, sizeof *rig);
    CHECK_OK(hr_model_create(LIST, (struct hr_shape){1, 3, 4}, CLASSES, &rig->model));
    rig->params = hr_model_param_count(rig->model);
    rig->weights = calloc(3 * rig->params, sizeof *rig->weights);
    assert_non_null(rig->weights);
    rig->grads = rig->weights + rig->params;
    rig->want = rig->grads + rig->params;
    hr_model_init(rig->model, 5, rig->weights);
    compute_wanted(rig);
    struct hr_pipeline_options options = options_of(rig, schedule, K, T);
    options.recompute = T == 4;
    CHECK_OK(hr_pipeline_create(&options, &rig->pipeline));
    assert_int_equal(rig->pipeline->members, K * T);
    const size_t bytes = hr_pipeline_bytes(rig->pipeline), words = hr_control_bytes(K * T);
    rig->memory = aligned_alloc(HR_LINE, bytes);
    rig->control = aligned_alloc(HR_LINE, hr_round_up(words, HR_LINE));
    assert_true(rig->memory && rig->control);
    memset(rig->memory, 0, bytes);
    memset(rig->control, 0, words);
    memset(rig->account, 0, sizeof rig->account);
    hr_control_init(rig->control, K * T);
    for (size_t i = 0; i < K * T; i++)
        rig->bell[i] = &rig->control->rank[i].bell;
}

static void close_rig(struct rig *rig)
{
    hr_pipeline_destroy(rig->pipeline);
    hr_model_destroy(rig->model);
    free(rig->weights);
    free(rig->memory);
    free(rig->control);
}

static enum hr_status lead(struct rig *rig, struct hr_stage *stage,
                           const struct hr_stage_context *context)
{
    const struct hr_stage_task task = {rig->weights, rig->grads, COUNT, 0, 0, 1};
    stage->load = load;
    stage->load_arg = rig;
    for (size_t step = 0; step < STEPS; step++) {
        struct hr_batch_result got;
        memset(rig->grads, 0xff, rig->params * sizeof *rig->grads);
        HR_TRY(hr_stage_lead(stage, context, &task, &got));
        assert_memory_equal(&got.loss_sum, &rig->wanted.loss_sum, sizeof got.loss_sum);
        assert_int_equal(got.correct, rig->wanted.correct);
        CHECK_SAME_FLOATS(rig->grads, rig->want, rig->params);
    }
    hr_stage_publish_end(stage);
    return HR_OK;
}

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct rig *rig = arg;
    struct hr_waiter waiter = {.abort = &rig->control->abort, .timeout_ns = 20000000000};
    const struct hr_stage_context context = {
        .waiter = &waiter, .control = rig->control, .rank = rank};
    struct hr_stage stage;
    if (rank && rank == rig->deserter)
        return hr_fail(HR_E_IO, "it left its team");
    HR_TRY(hr_stage_start(&stage, rig->pipeline, rank));
    hr_stage_sit(&stage, &(struct hr_stage_place){.memory = rig->memory,
                                                  .origin = rig->weights,
                                                  .bell = rig->bell,
                                                  .flight = hr_control_flight(rig->control, rank),
                                                  .account = &rig->account[rank]});
    const enum hr_status status =
        rank == 0 ? lead(rig, &stage, &context) : hr_stage_serve(&stage, &context);
    hr_stage_stop(&stage);
    return status;
}

static enum hr_status run(struct rig *rig)
{
    bool stuck = false;
    const struct hr_launch_options options = {
        .nranks = rig->pipeline->members, .control = rig->control, .main = rank_main, .arg = rig};
    return hr_launch_run(&options, &stuck);
}

static void ranks_of_a_team_give_the_bits_of_one(void **state)
{
    (void)state;
    static const char *const schedules[] = {"gpipe", "1f1b", "zero-bubble"};
    for (size_t i = 0; i < 3; i++)
        for (size_t K = 1; K <= 2; K++)
            for (size_t T = 1; T <= SHARDS; T *= 2) {
                struct rig rig;
                open_rig(&rig, schedules[i], K, T);
                CHECK_OK(run(&rig));
                for (size_t member = 0; member < K * T; member++) {
                    assert_true(rig.account[member].moved == 0 || T > 1);
                    assert_int_equal(rig.account[member].actions, STEPS * MICRO * (i == 2 ? 3 : 2));
                }
                assert_int_equal(rig.account[K * T - 1].moved > 0, T > 1);
                close_rig(&rig);
            }
}

static void all_end_where_one_gives_up(void **state)
{
    (void)state;
    for (size_t deserter = 1; deserter < 4; deserter++) {
        struct rig rig;
        open_rig(&rig, "1f1b", 2, 2);
        rig.deserter = deserter;
        CHECK_FAILS(run(&rig), HR_E_IO);
        CHECK_MESSAGE("it left its team");
        close_rig(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_team_give_the_bits_of_one),
        cmocka_unit_test(all_end_where_one_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
