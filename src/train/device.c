#include "train/device.h"

#include <stdlib.h>

#include "train/run.h"

static size_t largest_batch(const struct hr_run *run)
{
    const size_t batch = run->batch_size, rows = hr_input_eval_rows(run->dataset);
    return batch > rows ? batch : rows;
}

static struct hr_workspace_options workspace_options(const struct hr_run *run)
{
    return (struct hr_workspace_options){.seed = run->options->seed,
                                         .threads = run->options->threads_per_worker};
}

size_t hr_device_bytes(const struct hr_run *run, size_t *for_evaluation)
{
    const struct hr_workspace_options options = workspace_options(run);
    const size_t all = hr_workspace_bytes(run->model, largest_batch(run), &options);
    const size_t training = hr_workspace_bytes(run->model, run->batch_size, &options);
    const size_t shards = run->micro_shards / run->shared.workers;
    size_t sums = 0;
    for (size_t level = 0; (size_t)1 << level < shards; level++)
        sums += run->shared.params * sizeof(float);
    *for_evaluation = all - training;
    /* 0: more than can be counted */
    return all ? all + hr_input_bytes(run, largest_batch(run)) + sums : SIZE_MAX;
}

static enum hr_status start_repro(struct hr_repro *repro, const struct hr_run *run)
{
    repro->shards = run->micro_shards / run->shared.workers;
    for (size_t level = 0; (size_t)1 << level < repro->shards; level++) {
        repro->sums[level] = calloc(run->shared.params, sizeof(float));
        if (!repro->sums[level])
            return hr_fail(HR_E_NOMEM, "no memory for the sums of %zu micro-shards", repro->shards);
    }
    return HR_OK;
}

/* Backward has come so far: whoever overlaps has what is final summed while it goes on. */
static void gradients_done(void *arg, size_t offset, size_t count)
{
    const struct hr_device *device = arg;
    (void)count;
    hr_trainee_final(device->borrower, offset);
}

enum hr_status hr_device_start(struct hr_device *device, const struct hr_run *run)
{
    const bool overlaps = hr_run_overlaps(run);
    struct hr_workspace_options options = workspace_options(run);
    options.done = overlaps ? gradients_done : NULL;
    options.arg = device;
    enum hr_status status;
    *device = (struct hr_device){0};
    HR_TRY(hr_input_init(&device->input, run, largest_batch(run)));
    HR_TRY_GOTO(hr_workspace_create(run->model, largest_batch(run), &options, &device->workspace),
                status, out);
    HR_TRY_GOTO(start_repro(&device->repro, run), status, out);
    return HR_OK;
out:
    hr_device_stop(device);
    return status;
}

void hr_device_stop(struct hr_device *device)
{
    for (size_t level = 0; level < HR_REPRO_MAX_LEVELS; level++)
        free(device->repro.sums[level]);
    hr_workspace_destroy(device->workspace);
    hr_input_fini(&device->input);
    *device = (struct hr_device){0};
}
