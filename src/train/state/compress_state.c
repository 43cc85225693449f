#include "state/compress_state.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "session/saved.h"
#include "strategy/compression.h"

static size_t floats_of(const struct hr_run *run)
{
    return hr_compression_state_floats(&run->shared);
}

size_t hr_compress_state_tensors(const struct hr_run *run)
{
    return floats_of(run) ? run->shared.workers : 0;
}

size_t hr_compress_state_bytes(const struct hr_run *run)
{
    return hr_compress_state_tensors(run) * floats_of(run) * sizeof(float);
}

static void name_row(char *name, size_t size, size_t worker)
{
    snprintf(name, size, "worker.%zu.compress", worker);
}

void hr_compress_state_put(const struct hr_run *run, struct hr_tensor_file *trainer)
{
    const size_t floats = floats_of(run);
    for (size_t w = 0; w < hr_compress_state_tensors(run); w++) {
        struct hr_tensor *tensor = &trainer->tensors[trainer->ntensors++];
        *tensor = (struct hr_tensor){.dtype = HR_F32,
                                     .ndim = 1,
                                     .shape = {floats},
                                     .bytes = floats * sizeof(float),
                                     .data = run->shared.snapshot.errors + w * floats};
        name_row(tensor->name, sizeof tensor->name, w);
    }
}

/* Was it saved by such a run? */
static bool is_ours(const struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const char *strategy = hr_metadata_get(&checkpoint->trainer, "strategy");
    const char *compress = hr_kept_option(checkpoint, "compress");
    char last[48], behind[48];
    name_row(last, sizeof last, run->shared.workers - 1);
    name_row(behind, sizeof behind, run->shared.workers);
    return strategy && !strcmp(strategy, run->options.strategy) && compress &&
           !strcmp(compress, run->options.compress) && hr_tensor_get(&checkpoint->trainer, last) &&
           !hr_tensor_get(&checkpoint->trainer, behind);
}

void hr_compress_state_begin(const struct hr_run *run)
{
    const struct hr_snapshot *snapshot = &run->shared.snapshot;
    const size_t floats = floats_of(run);
    if (!snapshot->errors || !hr_compression_is_public(&run->shared))
        return;
    for (size_t w = 0; w < run->shared.workers; w++)
        hr_compression_take(&run->shared, snapshot->replicas + w * run->shared.params,
                            snapshot->errors + w * floats);
}

enum hr_status hr_compress_state_load(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const size_t floats = floats_of(run);
    char name[48];
    hr_compress_state_begin(run);
    name_row(name, sizeof name, 0);
    if (!hr_tensor_get(&checkpoint->trainer, name))
        return HR_OK;
    if (!is_ours(run, checkpoint)) {
        hr_log(
            HR_LOG_INFO,
            "%s: its workers kept errors of --compress, which are for the same strategy, workers "
            "and compressor alone: they are left out",
            checkpoint->path);
        return HR_OK;
    }
    for (size_t w = 0; w < hr_compress_state_tensors(run); w++) {
        name_row(name, sizeof name, w);
        const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->trainer, name);
        if (!tensor || tensor->dtype != HR_F32 || tensor->bytes != floats * sizeof(float))
            return hr_fail(HR_E_FORMAT, "%s: tensor %s is missing, or is not %zu numbers",
                           checkpoint->path, name, floats);
        memcpy(run->shared.snapshot.errors + w * floats, tensor->data, tensor->bytes);
    }
    return HR_OK;
}
