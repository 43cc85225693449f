/* toy_engine.h - an engine that has one weight, no model and no strategy, and is cut and saved as
 * any: the weight counts samples, each takes a second, and an index is an epoch.
 *
 *     prepare(&toy);  begin(&toy, NULL);
 *     while (epoch(&toy)) {}
 *     finish(&toy);
 */
#ifndef HR_TESTS_SESSION_TOY_ENGINE_H
#define HR_TESTS_SESSION_TOY_ENGINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/carve.h"
#include "session/launcher.h"
#include "session/result.h"
#include "session/save.h"
#include "support/runs.h"
#include "support/scratch.h"

enum { WORKERS = 2, EPOCHS = 3 };

/* An index is an epoch; each sample adds 1 to the weight, and takes a second. */
struct toy {
    struct hr_train_options options;
    struct hr_batch_schedule schedule;
    struct hr_cuts cuts;
    struct hr_launcher launcher;
    struct hr_saver saver;
    struct hr_run_result result;
    struct hr_observer observer;
    struct hr_control *control;
    struct hr_atom32 stop;
    struct hr_atom64 seen[WORKERS];
    struct hr_account accounts[WORKERS];
    double *weight;
    void *memory;
    int64_t now_ns;
    size_t shown, saved, asked_to_stop;
};

static inline int64_t toy_now(const void *arg)
{
    const struct toy *toy = arg;
    return toy->now_ns;
}

static inline void toy_describe(void *arg, struct hr_tensor_file *model,
                                struct hr_tensor_file *trainer)
{
    struct toy *toy = arg;
    (void)trainer;
    hr_saved_put_table(model, "weight", 1, 1, toy->weight);
    hr_saved_put(model, "toy", "yes");
}

static inline void toy_evaluated(void *arg, const struct hr_curve_point *point)
{
    struct toy *toy = arg;
    toy->shown++;
    assert_true(point->epoch == (double)toy->shown + (double)toy->cuts.history.points);
}

static inline void toy_saved(void *arg, const char *path)
{
    struct toy *toy = arg;
    toy->saved++;
    assert_true(strstr(path, "step-") != NULL);
}

static inline int toy_should_stop(void *arg)
{
    const struct toy *toy = arg;
    return (int)toy->asked_to_stop;
}

static inline void lay_out(struct toy *toy, struct hr_carver *carver)
{
    toy->cuts.cut = hr_carve(carver, "cut", sizeof *toy->cuts.cut);
    toy->cuts.curve = hr_carve(carver, "curve", toy->cuts.curve_room * sizeof *toy->cuts.curve);
    toy->weight = hr_carve(carver, "weight", sizeof *toy->weight);
    toy->control = hr_carve(carver, "control", hr_control_bytes(WORKERS));
    toy->cuts.control = toy->control;
    toy->saver.copy = hr_carve(carver, "copy", hr_save_copy_bytes(&toy->saver));
}

static inline void prepare(struct toy *toy)
{
    const uint64_t rows = run_digits()->train.count;
    *toy = (struct toy){.options = run_options("hogwild", WORKERS)};
    snprintf(toy->options.checkpoint_dir, sizeof toy->options.checkpoint_dir, "%s", scratch("d"));
    toy->schedule = (struct hr_batch_schedule){
        .samples = rows, .pass = rows, .batch = rows, .batches_per_epoch = 1, .end = EPOCHS};
    toy->cuts =
        (struct hr_cuts){.schedule = &toy->schedule, .saves = true, .curve_room = EPOCHS + 1};
    toy->saver = (struct hr_saver){.options = &toy->options,
                                   .dataset = run_digits(),
                                   .cuts = &toy->cuts,
                                   .schedule = &toy->schedule,
                                   .model = "toy",
                                   .optimizer = "none",
                                   .tensors = 1,
                                   .metadata = 1,
                                   .bytes = sizeof *toy->weight,
                                   .describe = toy_describe,
                                   .engine = toy};
    toy->observer = (struct hr_observer){
        .arg = toy, .evaluated = toy_evaluated, .saved = toy_saved, .should_stop = toy_should_stop};
    toy->launcher = (struct hr_launcher){.observer = &toy->observer,
                                         .cuts = &toy->cuts,
                                         .stop = &toy->stop,
                                         .seen = toy->seen,
                                         .seen_stride = sizeof *toy->seen,
                                         .now_ns = toy_now,
                                         .clock = toy,
                                         .saver = &toy->saver,
                                         .result = &toy->result,
                                         .alone = true};
}

static inline void begin(struct toy *toy, const struct hr_checkpoint *from)
{
    struct hr_carver count = {0};
    CHECK_OK(hr_save_prepare(&toy->saver, from));
    lay_out(toy, &count);
    toy->memory = aligned_alloc(HR_LINE, count.used);
    memset(toy->memory, 0, count.used);
    lay_out(toy, &(struct hr_carver){.base = toy->memory});
    hr_control_init(toy->control, WORKERS);
    toy->cuts.cut->index = toy->schedule.first;
    hr_launcher_begin(&toy->launcher);
}

/* To the next cut. */
static inline void come_to_cut(struct toy *toy)
{
    struct hr_cut *cut = toy->cuts.cut;
    cut->span_began_ns = toy->now_ns;
    *toy->weight += (double)toy->schedule.samples;
    toy->now_ns += (int64_t)toy->schedule.samples * HR_NS_PER_SECOND;
    assert_true(hr_cut_may_arrive(cut));
    cut->span_ended_ns = toy->now_ns;
    hr_cut_decide(&toy->cuts, cut->index + 1, (enum hr_stop)hr_atom32_load_acquire(&toy->stop));
    cut->trained.samples += toy->schedule.samples;
    cut->trained.updates = cut->trained.samples;
    if (cut->evaluate)
        hr_cut_add_point(
            &toy->cuts, (struct hr_curve_point){.epoch = (double)cut->index, .test_accuracy = 0.5});
    hr_cut_conclude(&toy->cuts);
    assert_true(!cut->save || !hr_cut_may_arrive(cut)); /* nobody overwrites what is not copied */
}

/* From a cut to the next; false: that was the last. */
static inline bool epoch(struct toy *toy)
{
    come_to_cut(toy);
    CHECK_OK(hr_launcher_tick(&toy->launcher));
    CHECK_OK(toy->launcher.save_status);
    return !toy->cuts.cut->halt;
}

static inline void finish(struct toy *toy)
{
    hr_launcher_stop(&toy->launcher);
    hr_claim_drop(&toy->saver.claim);
    hr_run_result_free(&toy->result);
    free(toy->memory);
}

/* A run from the beginning, over what is there. */
static inline void begin_anew(struct toy *toy)
{
    prepare(toy);
    toy->options.overwrite = true;
    begin(toy, NULL);
}

#endif
