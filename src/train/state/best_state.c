#include "state/best_state.h"

#include <stdio.h>
#include <string.h>

#include "session/save.h"
#include "state/model_tensors.h"
#include "state/pause_state.h"

static const char best_prefix[] = "best.", last_prefix[] = "last.";

/* The best weights, if the run ends with them at the current cut; else NULL. */
static float *ends_with(const struct hr_run *run)
{
    const struct hr_cut *cut = run->leader.cuts.cut;
    return cut->halt && !cut->interrupted ? hr_best_weights_last(&run->job.best) : NULL;
}

float *hr_best_state_model(const struct hr_run *run)
{
    float *best = ends_with(run);
    return best ? best : hr_saved_snapshot(run)->weights;
}

void hr_best_state_put(const struct hr_run *run, struct hr_tensor_file *trainer)
{
    float *best = hr_best_weights_last(&run->job.best);
    if (ends_with(run))
        hr_model_tensors_put(run->job.model, last_prefix, run->shared.snapshot.weights, trainer);
    else if (best)
        hr_model_tensors_put(run->job.model, best_prefix, best, trainer);
}

/* --- read --- */

enum hr_status hr_best_state_check(const struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    return hr_past_check_best(checkpoint, &run->leader.cuts, &run->options);
}

static bool has(const struct hr_run *run, const struct hr_checkpoint *checkpoint,
                const char *prefix)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, hr_model_tensor(run->job.model, 0)->name);
    return hr_tensor_get(&checkpoint->trainer, name);
}

enum hr_status hr_best_state_load(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const struct hr_tensor_file *model = &checkpoint->model, *trainer = &checkpoint->trainer;
    float *weights = run->shared.snapshot.weights;
    const bool ended = has(run, checkpoint, last_prefix);
    if (run->job.best.kept && (ended || has(run, checkpoint, best_prefix))) {
        HR_TRY(hr_load_tensors(checkpoint, ended ? model : trainer, run->job.model,
                               ended ? "" : best_prefix, weights));
        hr_best_weights_keep(&run->job.best, weights);
    }
    return hr_load_tensors(checkpoint, ended ? trainer : model, run->job.model,
                           ended ? last_prefix : "", weights);
}

void hr_best_state_end(struct hr_run *run)
{
    const float *best = hr_best_weights_last(&run->job.best);
    if (best && !run->leader.cuts.cut->interrupted)
        memcpy(run->shared.snapshot.weights, best, run->shared.params * sizeof *best);
}
