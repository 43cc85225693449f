/* The test set, read once: after training, where a validation split was held out.
 *
 * While workers run there is no test split that they could reach (data/held_out.h). Then one rank,
 * a thread or a process as they were, does what a worker does at a cut: the same blocks, added in
 * the same order, so the bits are those of a run that evaluates the same weights at its last cut.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "products/ready.h"
#include "train/run.h"
#include "worker/worker.h"

enum hr_status hr_final_test_prepare(struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_final_test *test = &run->final_test;
    if (!hr_held_out_asked(run->job.dataset, o->validation_fraction))
        return HR_OK;
    test->dataset = run->job.dataset;
    HR_TRY(hr_held_out_open(test->dataset, o->validation_fraction, o->seed, &test->held_out));
    if (o->shuffle_window)
        hr_held_out_sort(&test->held_out);
    run->job.dataset = &test->held_out.dataset;
    return HR_OK;
}

size_t hr_final_test_bytes(const struct hr_run *run)
{
    const struct hr_dataset *dataset = run->final_test.dataset;
    return dataset ? hr_train_job_blocks(dataset) * sizeof(struct hr_eval_cell) : 0;
}

size_t hr_final_test_errors(const struct hr_run *run)
{
    return run->final_test.dataset ? hr_measured_bytes(run->final_test.dataset) : 0;
}

size_t hr_final_test_answers(const struct hr_run *run)
{
    const struct hr_dataset *held = run->final_test.dataset;
    const struct hr_dataset *dataset = held ? held : run->job.dataset;
    const bool wanted = run->options.wants_answers && !dataset->targets.count;
    return wanted ? dataset->test.count * sizeof(uint32_t) : 0;
}

static enum hr_status evaluate(void *arg, size_t rank)
{
    const struct hr_train_job *job = arg;
    struct hr_compute_buffers buffers;
    struct hr_train_worker worker = {.job = job, .worker = {.seat = rank, .seats = 1}};
    HR_TRY(hr_kernels_init_process(1));
    HR_TRY(hr_compute_buffers_start(&buffers, job));
    hr_train_worker_borrow(&worker, &buffers);
    const enum hr_status status = hr_train_worker_evaluate(&worker);
    hr_compute_buffers_stop(&buffers);
    return status;
}

/* Its control block is its own: that of the run says that all have ended. */
static enum hr_status run_rank(struct hr_run *run)
{
    struct hr_train_job *job = &run->final_test.job;
    struct hr_segment control = {0};
    bool stuck = false;
    HR_TRY(hr_segment_create(hr_control_bytes(1), false, &control));
    hr_control_init(control.base, 1);
    const struct hr_launch_options options = {
        .launch = job->launch,
        .nranks = 1,
        .control = control.base,
        .main = evaluate,
        .arg = job,
    };
    const enum hr_status status = hr_launch_run(&options, &stuck);
    run->drive.stuck |= stuck;
    if (!stuck)
        hr_segment_destroy(&control);
    return status;
}

static enum hr_status take_answers(const struct hr_run *run, size_t count)
{
    struct hr_run_result *result = run->result;
    if (!run->final_test.answers)
        return HR_OK;
    result->answers = malloc((count + 1) * sizeof *result->answers);
    if (!result->answers)
        return hr_fail(HR_E_NOMEM, "no memory for %zu answers", count);
    memcpy(result->answers, run->final_test.answers, count * sizeof *result->answers);
    result->nanswers = count;
    return HR_OK;
}

/* Of the last evaluation; where none was of the final weights, they are evaluated once more. */
static enum hr_status last_answers(struct hr_run *run)
{
    const bool measured = run->leader.cuts.cut->measured && !run->result->best.restored;
    struct hr_train_job *job = &run->final_test.job;
    if (!run->job.answers || (!measured && run->result->interrupted))
        return HR_OK;
    *job = run->job;
    job->pipeline = NULL;
    if (!measured)
        HR_TRY(run_rank(run));
    return take_answers(run, job->dataset->test.count);
}

enum hr_status hr_final_test(struct hr_run *run)
{
    struct hr_final_test *test = &run->final_test;
    struct hr_run_result *result = run->result;
    struct hr_train_job *job = &test->job;
    if (!test->dataset)
        return last_answers(run);
    result->validation_samples = run->job.dataset->test.count;
    result->test_loss = result->test_accuracy = (double)NAN;
    if (result->interrupted)
        return HR_OK;
    *job = run->job;
    job->pipeline = NULL;
    job->dataset = test->dataset;
    job->cells = test->cells;
    job->errors = test->errors;
    job->answers = test->answers;
    job->neval = hr_train_job_blocks(job->dataset);
    HR_TRY(run_rank(run));
    const struct hr_measured measured = hr_train_job_measured(job);
    result->test_loss = measured.loss;
    result->test_accuracy = measured.accuracy;
    result->test_fit = measured.fit;
    result->test_evaluations = 1;
    return take_answers(run, job->dataset->test.count);
}
