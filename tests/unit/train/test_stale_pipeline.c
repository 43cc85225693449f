/* Pipelines that never drain: they train as a plain serial program that applies the same stale
 * weights, bit for bit, whoever plays their stages; with one stage as no pipeline at all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/order.h"
#include "hogring/replay.h"
#include "nn/model_text.h"
#include "nn/part.h"
#include "optim/optimizer.h"
#include "pipeline/schedule.h"
#include "stages/cut.h"
#include "support/runs.h"

enum { MOST_STAGES = 4 };

static const char *const schedules[] = {"pipedream", "unstashed"};
static const char DEEP[] = "flatten, dense 11, relu, dense 12, relu, dense 9, batchnorm, relu, "
                           "dropout 0.3, dense 10";

/* --- the reference --- */

struct reference {
    const struct hr_train_options *o;
    bool stashed; /* pipedream; else unstashed */
    struct hr_model *model, *part[MOST_STAGES];
    struct hr_workspace *workspace[MOST_STAGES];
    struct hr_optimizer optimizer;
    struct hr_param_segment segment[2 * HR_MODEL_MAX_LAYERS];
    uint32_t samples[64]; /* of the batch */
    size_t params;
    float *version;                /* (updates + 1, params): the weights before each update */
    float *state, *grads, *y, *dy; /* y, dy: (K, batch, most outputs) between parts */
    size_t wide;
};

/* Version `number` of part k's weights. */
static const float *weights_of(const struct reference *r, uint64_t number, size_t k)
{
    return r->version + number * r->params + hr_part_param_begin(r->part[k]);
}

/* The gradient of batch n, where the pipeline was empty before batch `empty`: stage k of K has made
 * K - 1 - k updates fewer when it is forward's turn, and pipedream keeps those weights for
 * backward. */
static void gradient(struct reference *r, uint64_t n, uint64_t empty, size_t count)
{
    const size_t K = r->o->pipeline;
    uint64_t read[MOST_STAGES];
    for (size_t k = 0; k < K; k++) {
        const uint64_t behind = K - 1 - k;
        read[k] = n >= empty + behind ? n - behind : empty;
        if (k > 0)
            hr_workspace_lend(r->workspace[k], r->y + (k - 1) * r->wide,
                              hr_workspace_labels(r->workspace[0]));
        if (k + 1 < K)
            hr_workspace_lend_output(r->workspace[k], r->y + k * r->wide);
        hr_part_forward(r->part[k], r->workspace[k], weights_of(r, read[k], k), count);
    }
    for (size_t k = K; k-- > 0;) {
        const struct hr_part_gradients at = {k + 1 < K ? r->dy + k * r->wide : NULL,
                                             k ? r->dy + (k - 1) * r->wide : NULL,
                                             r->grads + hr_part_param_begin(r->part[k])};
        hr_part_backward(r->part[k], r->workspace[k], weights_of(r, r->stashed ? read[k] : n, k),
                         &at, count);
    }
}

static void load(struct reference *r, uint64_t epoch, size_t first, size_t count)
{
    const struct hr_dataset *digits = run_digits();
    const struct hr_sampler order = hr_sampler_of(r->o->seed, epoch, digits->train.count);
    hr_sampler_fill(&order, first, count, r->samples);
    hr_dataset_gather(digits, &digits->train, r->samples, count,
                      hr_workspace_input(r->workspace[0]), hr_workspace_labels(r->workspace[0]));
    for (size_t k = 0; k < r->o->pipeline; k++)
        hr_workspace_draw(r->workspace[k], epoch, r->samples);
}

/* Update n of the run. */
static void train(struct reference *r, uint64_t n)
{
    const size_t B = r->o->batch_size, all = run_digits()->train.count, per = (all + B - 1) / B;
    const size_t first = n % per * B, count = first + B < all ? B : all - first;
    float *old = r->version + n * r->params, *new = old + r->params;
    load(r, n / per, first, count);
    gradient(r, n, n / per * per, count);
    const struct hr_step step = hr_step_of(&r->optimizer, r->o->lr, count, n + 1);
    memcpy(new, old, r->params * sizeof *new);
    hr_step_update(&step, 0, r->params, new, r->state, r->grads);
}

/* --- its memory --- */

static void open_parts(struct reference *r)
{
    const size_t K = r->o->pipeline, B = r->o->batch_size;
    const struct hr_workspace_options options = {.seed = r->o->seed};
    size_t cut[MOST_STAGES + 1] = {0};
    CHECK_OK(hr_cut_model(r->model, "auto", &hr_schedule_pipedream,
                          &(struct hr_pipeline_shape){K, 1, 1}, cut + 1));
    cut[K] = hr_model_layer_count(r->model);
    for (size_t k = 0; k < K; k++) {
        CHECK_OK(
            hr_model_part(r->model, cut[k], cut[k + 1], (struct hr_part_manner){0}, &r->part[k]));
        CHECK_OK(hr_workspace_create(r->part[k], B, &options, &r->workspace[k]));
        const size_t floats = B * hr_model_outputs(r->part[k]);
        r->wide = floats > r->wide ? floats : r->wide;
    }
}

static void open_reference(struct reference *r, const struct hr_train_options *o)
{
    *r = (struct reference){.o = o, .stashed = !strcmp(o->pipeline_schedule, "pipedream")};
    CHECK_OK(hr_model_create(o->model, run_digits()->shape, 10, &r->model));
    r->params = hr_model_param_count(r->model);
    r->optimizer = (struct hr_optimizer){.momentum = o->momentum,
                                         .weight_decay = o->weight_decay,
                                         .segments = r->segment,
                                         .nsegments = hr_model_tensor_count(r->model),
                                         .params = r->params};
    CHECK_OK(hr_rule_find("sgd", &r->optimizer.rule));
    for (size_t t = 0; t < r->optimizer.nsegments; t++) {
        const struct hr_tensor_info *info = hr_model_tensor(r->model, t);
        r->segment[t] = (struct hr_param_segment){
            info->offset, info->count,
            info->role == HR_TENSOR_TRAINED ? HR_SEGMENT_TRAINED : HR_SEGMENT_STATISTIC};
    }
    open_parts(r);
    r->version = calloc((o->max_steps + 3) * r->params, sizeof *r->version);
    r->y = calloc(2 * o->pipeline * r->wide, sizeof *r->y);
    assert_true(r->version && r->y);
    r->dy = r->y + o->pipeline * r->wide;
    r->grads = r->version + (o->max_steps + 1) * r->params;
    r->state = r->grads + r->params;
    hr_model_init(r->model, o->seed, r->version);
}

static void close_reference(struct reference *r)
{
    for (size_t k = 0; k < r->o->pipeline; k++) {
        hr_workspace_destroy(r->workspace[k]);
        hr_model_destroy(r->part[k]);
    }
    hr_model_destroy(r->model);
    free(r->version);
    free(r->y);
}

/* --- runs --- */

static struct hr_train_options stale(const char *schedule, size_t K, const char *model)
{
    struct hr_train_options options = run_options("allreduce", 1);
    snprintf(options.model, sizeof options.model, "%s", model);
    snprintf(options.lr_schedule, sizeof options.lr_schedule, "constant");
    snprintf(options.pipeline_schedule, sizeof options.pipeline_schedule, "%s", schedule);
    snprintf(options.schedule, sizeof options.schedule, "explore:1");
    options.warmup_epochs = 0;
    options.lr = 0.02;
    options.pipeline = K;
    options.max_steps = 95; /* into the second epoch */
    return options;
}

static void check_reference(const struct hr_train_options *options)
{
    struct reference r;
    size_t params;
    open_reference(&r, options);
    for (uint64_t n = 0; n < options->max_steps; n++)
        train(&r, n);
    float *got = run_weights(*options, &params);
    assert_int_equal(params, r.params);
    CHECK_SAME_FLOATS(got, r.version + options->max_steps * params, params);
    free(got);
    close_reference(&r);
}

static void stale_weights_are_those_of_a_serial_program(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t K = 1; K <= MOST_STAGES; K++)
            for (size_t momentum = 0; momentum < 2; momentum++) {
                struct hr_train_options options = stale(schedules[i], K, DEEP);
                options.momentum = momentum ? 0.9 : 0;
                check_reference(&options);
            }
}

static void networks_of_images_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t K = 2; K <= 3; K++) {
            struct hr_train_options options = stale(schedules[i], K, K == 2 ? "cnn" : "mlp");
            options.max_steps = 8;
            check_reference(&options);
        }
}

static void one_stage_is_plain_training(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options options = stale(schedules[i], 1, DEEP), plain = options;
        char want[33];
        plain.pipeline = 0;
        run_digest(&plain, want);
        CHECK_DIGEST(&options, want);
    }
}

/* Stages that are ranks, each with its own weights to update, make the same updates. */
static void stages_that_run_for_themselves_change_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t K = 1; K <= MOST_STAGES; K++) {
            struct hr_train_options options = stale(schedules[i], K, DEEP);
            char want[33];
            options.momentum = 0.9;
            run_digest(&options, want);
            snprintf(options.schedule, sizeof options.schedule, "free");
            for (size_t time = 0; time < check_count(3, 100); time++)
                CHECK_DIGEST(&options, want);
            snprintf(options.launch, sizeof options.launch, "process");
            CHECK_DIGEST(&options, want);
            options.recompute = !i; /* with the weights that forward had */
            CHECK_DIGEST(&options, want);
        }
}

/* With any strategy: one alone trains as no other would. */
static void strategies_do_not_know(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-sync", "ps-async", "ssp",           "local-sgd",
                                             "hogwild", "gossip",   "backup-workers"};
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options options = stale(schedules[i], 3, DEEP);
        char want[33];
        run_digest(&options, want);
        for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
            snprintf(options.strategy, sizeof options.strategy, "%s", strategies[s]);
            options.backups = 0;
            CHECK_DIGEST(&options, want);
        }
    }
}

/* Several replicas: any order of events of a synchronous strategy is one run, virtual time too. */
static void orders_and_clocks_change_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t workers = 1; workers <= 2; workers++) {
            struct hr_train_options options = stale(schedules[i], 3, DEEP), timed;
            char want[33];
            options.workers = workers;
            options.max_steps = 20;
            timed = options;
            snprintf(timed.schedule, sizeof timed.schedule, "free");
            snprintf(timed.clock, sizeof timed.clock, "virtual");
            snprintf(timed.compute_time, sizeof timed.compute_time, "exponential(10ms)");
            run_digest(&timed, want);
            for (size_t seed = 0; seed < check_count(4, 100); seed++) {
                snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
                CHECK_DIGEST(&options, want);
            }
        }
}

/* Own versions between read and application, exactly; those while it filled apart: K - 1 in each of
 * two epochs, of each worker. */
static void staleness_is_counted_by_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct hr_train_options options = stale(schedules[i % 2], 3, DEEP);
        const bool virtual = i / 2 % 2, asynchronous = i / 4;
        if (virtual || !asynchronous)
            snprintf(options.schedule, sizeof options.schedule, "free");
        snprintf(options.clock, sizeof options.clock, virtual ? "virtual" : "real");
        snprintf(options.strategy, sizeof options.strategy,
                 asynchronous ? "ps-async" : "allreduce");
        options.workers = asynchronous ? 2 : 1;
        struct hr_run_result result = run_train(&options);
        const struct hr_pipeline_report *report = &result.pipeline;
        assert_true(report->never_drains);
        assert_int_equal(report->gradients, options.max_steps);
        assert_int_equal(report->filling, 2 * 2 * options.workers);
        assert_true(asynchronous == (result.stale_sum > 0)); /* the other kind */
        for (size_t k = 0; k < 3; k++) {
            const double behind = 2 - (double)k;
            CHECK_NEAR(report->stage[k].stale_forward, behind, 0, 0);
            CHECK_NEAR(report->stage[k].stale_backward, i % 2 ? 0 : behind, 0, 0);
            assert_int_equal(report->stage[k].versions, i % 2 ? 1 : 3 - k);
            assert_int_equal(report->stage[k].peak,
                             options.schedule[0] == 'f' && !virtual ? 3 - k : 1);
        }
        hr_run_result_free(&result);
    }
}

/* In virtual time the first minibatch behind an empty pipeline passes through all stages, and each
 * other comes when the slowest stage has done it. */
static void a_full_pipeline_is_as_fast_as_its_slowest_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t K = 1; K <= MOST_STAGES; K++) {
            struct hr_train_options options = stale(schedules[i], K, DEEP);
            double most = 0;
            snprintf(options.schedule, sizeof options.schedule, "free");
            snprintf(options.clock, sizeof options.clock, "virtual");
            snprintf(options.compute_time, sizeof options.compute_time, "10ms");
            struct hr_run_result result = run_train(&options);
            for (size_t k = 0; k < K; k++)
                most = fmax(most, result.pipeline.stage[k].madds_share);
            CHECK_NEAR(result.compute_s, 0.01 * (2 + 93 * most), 1e-6, 0);
            hr_run_result_free(&result);
        }
}

static void check_refused(const struct hr_train_options *options, const char *why)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE(why);
}

static void what_does_not_go_with_it_is_refused(void **state)
{
    (void)state;
    struct hr_train_options good = stale("unstashed", 2, DEEP), bad = good;
    snprintf(good.schedule, sizeof good.schedule, "free");
    bad.micro_batches = 2;
    check_refused(&bad, "--pipeline micro-batches=2: not with --pipeline schedule=unstashed");
    bad = good;
    bad.recompute = true;
    check_refused(&bad, "--pipeline recompute: not with --pipeline schedule=unstashed");
    bad = good;
    bad.workers = 2;
    check_refused(&bad, "expected --workers 1 and --strategy allreduce, or --clock virtual");
    bad = good;
    snprintf(bad.strategy, sizeof bad.strategy, "hogwild");
    check_refused(&bad, "expected --workers 1 and --strategy allreduce, or --clock virtual");
    bad = good;
    snprintf(bad.optimizer, sizeof bad.optimizer, "lamb");
    check_refused(&bad, "no norms of the whole model");
    bad = good;
    bad.clip_norm = 1;
    check_refused(&bad, "no norms of the whole model");
    bad = good;
    snprintf(bad.inject, sizeof bad.inject, "nan:0@step=3");
    check_refused(&bad, "nan and flip-bit");
    bad = good;
    snprintf(bad.checkpoint_dir, sizeof bad.checkpoint_dir, "/tmp/nowhere");
    bad.checkpoint_every.steps = 7;
    check_refused(&bad, "empty only at the ends of epochs");
}

/* Saved at the end of the first epoch; the run that goes on is the one that never stopped. Nor does
 * it matter that it was saved. */
static void it_goes_on_where_it_was_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct hr_train_options options = stale(schedules[i % 2], 3, DEEP);
        const size_t per =
            (run_digits()->train.count + options.batch_size - 1) / options.batch_size;
        char want[33];
        options.max_steps = 0;
        if (i / 2)
            snprintf(options.schedule, sizeof options.schedule, "free");
        run_digest(&options, want);
        run_check_resume(options, per, want);
    }
}

/* Virtual time: every stage but the last computes each forward again, and that is busy time. */
static void what_is_computed_again_is_charged(void **state)
{
    (void)state;
    struct hr_train_options options = stale("pipedream", 2, "mlp");
    snprintf(options.schedule, sizeof options.schedule, "free");
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    struct hr_run_result without = run_train(&options);
    options.recompute = true;
    struct hr_run_result with = run_train(&options);
    const struct hr_pipeline_report *report = &with.pipeline;
    const struct hr_stage_report *first = &report->stage[0], *plain = &without.pipeline.stage[0];
    assert_string_equal(with.weights_digest, without.weights_digest);
    assert_true(report->recompute.share > 0 && report->recompute.share < 0.5);
    assert_true(first->again_s > 0);
    CHECK_NEAR(first->busy_s - first->again_s, plain->busy_s, 1e-6, 0);
    CHECK_NEAR(report->without_s, without.compute_s, 1e-6, 0);
    hr_run_result_free(&with);
    hr_run_result_free(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_weights_are_those_of_a_serial_program),
        cmocka_unit_test(networks_of_images_too),
        cmocka_unit_test(one_stage_is_plain_training),
        cmocka_unit_test(stages_that_run_for_themselves_change_no_bit),
        cmocka_unit_test(strategies_do_not_know),
        cmocka_unit_test(orders_and_clocks_change_no_bit),
        cmocka_unit_test(staleness_is_counted_by_stage),
        cmocka_unit_test(a_full_pipeline_is_as_fast_as_its_slowest_stage),
        cmocka_unit_test(what_does_not_go_with_it_is_refused),
        cmocka_unit_test(it_goes_on_where_it_was_empty),
        cmocka_unit_test(what_is_computed_again_is_charged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
