/* The options of pipelines, a row each (option.h says what stands in one). */
#include <stddef.h>

#include "options/train_row.h"
#include "pipeline/schedules.h"
#include "shm/control.h"

static const char *pipeline_schedule_at(size_t i)
{
    const struct hr_pipeline_schedule *schedule = hr_pipeline_schedule_at(i);
    return schedule ? schedule->name : NULL;
}

const struct hr_option hr_pipeline_rows[HR_PIPELINE_ROWS] = {
    ROW("pipeline", COUNT, pipeline, DECIDES, "K", NULL,
        "each worker is K ranks, stages, among which the layers of its model are split; it changes "
        "no bit beside --accumulate M of one worker each, unless it never drains (pipedream, "
        "unstashed)",
        RANGE(0, HR_MAX_RANKS), .said = "none"),
    ROW("micro-batches", COUNT, micro_batches, DECIDES, "M", NULL,
        "of a pipeline: pieces of a worker's batch that pass through the stages", RANGE(0, 65536),
        .said = "one a stage", .needs = {"pipeline", "of what?"}),
    ROW("pipeline-schedule", TEXT, pipeline_schedule, DECIDES, "NAME", "1f1b",
        "when a stage computes what: ", .name_at = pipeline_schedule_at,
        .needs = {"pipeline", "of what?"}),
    ROW("stages", TEXT, stages, DECIDES, "LIST", "auto",
        "where a pipeline cuts the model: auto: as evenly as its layers let it, in multiply-adds; "
        "or the layers of each part, as 3,2,4, a residual block being one",
        .needs = {"pipeline", "of what?"}),
    ROW("chunks", COUNT, chunks, DECIDES, "V", "1",
        "parts of the model that each stage has: interleaved", RANGE(1, 64),
        .needs = {"pipeline", "of what?"}),
    ROW("recompute", FLAG, recompute, AROUND, NULL, NULL,
        "a stage keeps its input of a micro-batch alone, and computes forward again before "
        "backward: less memory, more time, the same bits",
        .needs = {"pipeline", "of what?"}),
    ROW("tensor-parallel", COUNT, tensor_parallel, AROUND, "T", NULL,
        "each worker, or each of its stages, is T ranks, which share its layers by columns and "
        "rows (hogring help split)",
        RANGE(0, HR_MAX_RANKS), .said = "none"),
    ROW("tensor-shards", COUNT, tensor_shards, DECIDES, "S", NULL,
        "shards that layers are cut into, whoever computes them: beside the same S, T changes no "
        "bit",
        RANGE(0, HR_MAX_RANKS), .said = "T"),
};
