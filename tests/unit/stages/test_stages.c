/* Stages of a pipeline against one rank that computes the micro-batches one by one and adds them in
 * T(M): the same gradients and losses, bit for bit, in whatever order the ranks act; what is kept
 * is what the schedule promises. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/size.h"
#include "launch/launch.h"
#include "pipeline/schedule.h"
#include "stages/crew.h"
#include "support/check.h"

enum { FEATURES = 12, CLASSES = 3, MOST = 5, MOST_MICRO = 9, PARTS = 6, STEPS = 3 };

static const char LIST[] =
    "flatten, dense 7, relu, dense 6, batchnorm, relu, dropout 0.4, dense 5, "
    "tanh, dense 4, sigmoid, dense 3";
/* Where it is cut into so many parts. */
static const size_t cuts[PARTS + 1][PARTS] = {
    {0}, {0}, {3}, {3, 7}, {3, 7, 9}, {3, 6, 7, 9}, {3, 4, 7, 9, 11}};

/* Parts that each rank has: two where the schedule is made for it. */
static size_t chunks_of(const struct hr_pipeline_schedule *schedule)
{
    return strcmp(schedule->name, "interleaved") ? 1 : 2;
}

struct rig {
    struct hr_model *model;
    struct hr_pipeline *pipeline;
    size_t params, count; /* samples of the batch */
    float *weights, *grads, *want;
    struct hr_batch_result wanted;
    struct hr_stage_account account[PARTS];
    void *memory;
};

/* Sample i of a batch. */
static void fill(size_t i, float *x, uint32_t *label, uint32_t *number)
{
    for (size_t j = 0; j < FEATURES; j++)
        x[j] = hr_random_unit(
                   hr_random_block(check_seed(), HR_STREAM_TEST, i * FEATURES + j, 0).v[0]) -
               0.5f;
    *label = (uint32_t)i % CLASSES;
    *number = 100 + (uint32_t)i;
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
        first += samples_of(rig->pipeline, rig->count, i);
    for (size_t i = 0; i < samples_of(rig->pipeline, rig->count, m); i++)
        fill(first + i, x + i * FEATURES, &labels[i], &numbers[i]);
    return 4;
}

static void compute_wanted(struct rig *rig)
{
    const size_t M = rig->pipeline->options.shape.micro_batches;
    const struct hr_workspace_options options = {.seed = 9};
    struct hr_workspace *workspace;
    struct hr_tree_sums sums;
    uint32_t numbers[MOST];
    CHECK_OK(hr_workspace_create(rig->model, MOST, &options, &workspace));
    CHECK_OK(hr_tree_sums_init(&sums, M, rig->params));
    rig->wanted = (struct hr_batch_result){0};
    for (size_t m = 0; m < M; m++) {
        const uint64_t pass =
            load(rig, m, hr_workspace_input(workspace), hr_workspace_labels(workspace), numbers);
        hr_workspace_draw(workspace, pass, numbers);
        const struct hr_batch_result result =
            hr_model_gradient(rig->model, workspace, rig->weights,
                              samples_of(rig->pipeline, rig->count, m), rig->want);
        hr_tree_sums_carry(&sums, m, M, rig->want);
        rig->wanted.loss_sum += result.loss_sum;
        rig->wanted.correct += result.correct;
    }
    hr_tree_sums_fini(&sums);
    hr_workspace_destroy(workspace);
}

static void open_rig(struct rig *rig, const char *schedule, size_t K, size_t M, size_t count,
                     bool recompute)
{
    memset(rig, 0, sizeof *rig);
    CHECK_OK(hr_model_create(LIST, (struct hr_shape){1, 3, 4}, CLASSES, &rig->model));
    struct hr_pipeline_options options = {.model = rig->model,
                                          .shape = {.stages = K, .micro_batches = M, .chunks = 1},
                                          .cut = cuts[K],
                                          .most = MOST,
                                          .seed = 9,
                                          .threads = 1,
                                          .recompute = recompute};
    CHECK_OK(hr_pipeline_schedule_find(schedule, &options.schedule));
    options.shape.chunks = chunks_of(options.schedule);
    options.cut = cuts[K * options.shape.chunks];
    CHECK_OK(hr_pipeline_create(&options, &rig->pipeline));
    rig->count = count;
    rig->params = hr_model_param_count(rig->model);
    rig->weights = calloc(3 * rig->params, sizeof *rig->weights);
    rig->grads = rig->weights + rig->params;
    rig->want = rig->grads + rig->params;
    const size_t bytes = hr_pipeline_bytes(rig->pipeline);
    rig->memory = aligned_alloc(HR_LINE, bytes);
    assert_true(rig->weights && rig->memory);
    memset(rig->memory, 0, bytes);
    hr_model_init(rig->model, 5, rig->weights);
    compute_wanted(rig);
}

static void close_rig(struct rig *rig)
{
    hr_pipeline_destroy(rig->pipeline);
    hr_model_destroy(rig->model);
    free(rig->weights);
    free(rig->memory);
}

static void check_result(const struct rig *rig, const struct hr_batch_result *got)
{
    assert_memory_equal(&got->loss_sum, &rig->wanted.loss_sum, sizeof got->loss_sum);
    assert_int_equal(got->correct, rig->wanted.correct);
    CHECK_SAME_FLOATS(rig->grads, rig->want, rig->params);
}

static struct hr_stage_place place_of(struct rig *rig, size_t rank)
{
    return (struct hr_stage_place){
        .memory = rig->memory, .origin = rig->weights, .account = &rig->account[rank]};
}

/* --- in any order --- */

static void play_a_step(struct rig *rig, struct hr_stage *stage, uint64_t seed)
{
    const struct hr_stage_task task = {rig->weights, rig->grads, rig->count, 0, 0, 1};
    size_t K = rig->pipeline->ranks, idle = 0;
    memset(rig->grads, 0xff, rig->params * sizeof *rig->grads);
    hr_stage_publish(stage, &task);
    for (size_t k = 0; k < K; k++) {
        assert_true(hr_stage_has_task(&stage[k]));
        hr_stage_begin(&stage[k]);
    }
    for (uint64_t event = 0; !hr_stage_all_are_done(stage); event++) {
        const size_t k = hr_random_block(seed, HR_STREAM_TEST, event, 1).v[0] % K;
        const bool acts = !hr_stage_is_done(&stage[k]) && hr_stage_may_act(&stage[k]);
        if (acts)
            hr_stage_act(&stage[k]);
        idle = acts ? 0 : idle + 1;
        assert_true(idle < 1000); /* or nobody can go on */
    }
    const struct hr_batch_result got = hr_stage_result(stage);
    check_result(rig, &got);
}

static void check_shape(const char *schedule, size_t K, size_t M, size_t orders, bool recompute)
{
    struct hr_stage stage[PARTS];
    struct rig rig;
    open_rig(&rig, schedule, K, M, M < MOST ? M * MOST - 2 : 2 * M - 1, recompute);
    for (size_t k = 0; k < K; k++) {
        const struct hr_stage_place place = place_of(&rig, k);
        CHECK_OK(hr_stage_start(&stage[k], rig.pipeline, k));
        hr_stage_sit(&stage[k], &place);
    }
    stage->load = load;
    stage->load_arg = &rig;
    for (size_t seed = 0; seed < orders; seed++)
        play_a_step(&rig, stage, 1000 * check_seed() + seed);
    for (size_t k = 0; k < K; k++) {
        const struct hr_pipeline_options *o = &rig.pipeline->options;
        assert_int_equal(rig.account[k].peak, o->schedule->stored(&o->shape, k));
        assert_int_equal(rig.account[k].actions,
                         orders * (o->schedule->splits_backward ? 3 : 2) * M * o->shape.chunks);
        hr_stage_stop(&stage[k]);
    }
    close_rig(&rig);
}

static void any_order_gives_the_bits_of_one_rank(void **state)
{
    (void)state;
    const struct hr_pipeline_schedule *schedule;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)) != NULL; i++)
        for (size_t K = 1; K * chunks_of(schedule) <= PARTS; K++)
            for (size_t M = 1; M <= MOST_MICRO; M++) {
                const struct hr_pipeline_shape shape = {K, M, chunks_of(schedule)};
                for (int again = 0; again < 2 && schedule->check(&shape) == HR_OK; again++)
                    check_shape(schedule->name, K, M, check_count(again ? 2 : 5, 100), again);
            }
}

static void one_thread_does_the_work_of_all(void **state)
{
    (void)state;
    struct hr_crew crew;
    struct rig rig;
    open_rig(&rig, "1f1b", 3, 4, 18, false);
    const struct hr_stage_task task = {rig.weights, rig.grads, rig.count, 0, 0, 1};
    CHECK_OK(hr_crew_start(&crew, rig.pipeline));
    for (size_t step = 0; step < STEPS; step++) {
        const struct hr_batch_result got =
            hr_crew_step(&crew, &task, &(struct hr_crew_replica){rig.account, NULL, load, &rig});
        check_result(&rig, &got);
    }
    hr_crew_stop(&crew);
    close_rig(&rig);
}

/* --- ranks that wait --- */

struct ranks {
    struct rig *rig;
    struct hr_control *control;
    struct hr_bell *bell[PARTS];
};

static enum hr_status lead(struct ranks *ranks, struct hr_stage *stage,
                           const struct hr_stage_context *context)
{
    struct rig *rig = ranks->rig;
    const struct hr_stage_task task = {rig->weights, rig->grads, rig->count, 0, 0, 1};
    stage->load = load;
    stage->load_arg = rig;
    for (size_t step = 0; step < STEPS; step++) {
        struct hr_batch_result got;
        memset(rig->grads, 0xff, rig->params * sizeof *rig->grads);
        HR_TRY(hr_stage_lead(stage, context, &task, &got));
        check_result(rig, &got);
    }
    hr_stage_publish_end(stage);
    return HR_OK;
}

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct ranks *ranks = arg;
    struct hr_waiter waiter = {.abort = &ranks->control->abort, .timeout_ns = 20000000000};
    const struct hr_stage_context context = {
        .waiter = &waiter, .control = ranks->control, .rank = rank};
    struct hr_stage_place place = place_of(ranks->rig, rank);
    struct hr_stage stage;
    place.bell = ranks->bell;
    place.flight = hr_control_flight(ranks->control, rank);
    HR_TRY(hr_stage_start(&stage, ranks->rig->pipeline, rank));
    hr_stage_sit(&stage, &place);
    const enum hr_status status =
        rank == 0 ? lead(ranks, &stage, &context) : hr_stage_serve(&stage, &context);
    hr_stage_stop(&stage);
    return status;
}

static void threads_hand_micro_batches_over(void **state)
{
    (void)state;
    static const char *const schedules[] = {"gpipe", "1f1b", "zero-bubble"};
    for (size_t i = 0; i < 3; i++)
        for (size_t K = 1; K <= 4; K++) {
            struct rig rig;
            struct hr_flight_entry entry;
            struct ranks ranks = {.rig = &rig};
            bool stuck = false;
            open_rig(&rig, schedules[i], K, 6, 29, K > 2);
            const size_t bytes = hr_control_bytes(K);
            ranks.control = aligned_alloc(HR_LINE, hr_round_up(bytes, HR_LINE));
            memset(ranks.control, 0, bytes);
            hr_control_init(ranks.control, K);
            for (size_t k = 0; k < K; k++)
                ranks.bell[k] = &ranks.control->rank[k].bell;
            const struct hr_launch_options options = {
                .nranks = K, .control = ranks.control, .main = rank_main, .arg = &ranks};
            CHECK_OK(hr_launch_run(&options, &stuck));
            assert_true(K == 1 ||
                        hr_flight_read(hr_control_flight(ranks.control, K - 1), 0, &entry));
            free(ranks.control);
            close_rig(&rig);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_the_bits_of_one_rank),
        cmocka_unit_test(one_thread_does_the_work_of_all),
        cmocka_unit_test(threads_hand_micro_batches_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
