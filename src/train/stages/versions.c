#include "stages/versions.h"

#include <stdlib.h>
#include <string.h>

static size_t stale_of(const struct hr_pipeline *pipeline, size_t k, enum hr_stage_work work)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    return o->schedule->staleness(&o->shape, k, work);
}

/* Versions in a stage's ring. */
static size_t room_of(const struct hr_pipeline *pipeline, size_t k)
{
    const size_t forward = stale_of(pipeline, k, HR_FORWARD),
                 backward = stale_of(pipeline, k, HR_BACKWARD);
    const size_t most = forward > backward ? forward : backward;
    return most ? most + 1 : 0;
}

/* Floats of the rings before stage k's. */
static size_t ring_begin(const struct hr_pipeline *pipeline, size_t k)
{
    size_t floats = 0;
    for (size_t i = 0; i < k; i++)
        floats += room_of(pipeline, i) * hr_model_param_count(pipeline->part[i]);
    return floats;
}

size_t hr_versions_bytes(const struct hr_pipeline *pipeline)
{
    return ring_begin(pipeline, pipeline->ranks) * sizeof(float);
}

enum hr_status hr_versions_start(struct hr_versions *it, const struct hr_pipeline *pipeline)
{
    const size_t bytes = hr_versions_bytes(pipeline);
    *it = (struct hr_versions){.pipeline = pipeline, .ring = malloc(bytes + 1)};
    return it->ring ? HR_OK
                    : hr_fail(HR_E_NOMEM, "no memory for %zu bytes of stashed weights", bytes);
}

void hr_versions_stop(struct hr_versions *it)
{
    free(it->ring);
    *it = (struct hr_versions){0};
}

void hr_versions_drain(struct hr_versions *it)
{
    it->count = 0;
}

/* Where a stage has version `number`. */
static float *slot_of(const struct hr_versions *it, size_t k, uint64_t number)
{
    const size_t params = hr_model_param_count(it->pipeline->part[k]);
    return it->ring + ring_begin(it->pipeline, k) + number % room_of(it->pipeline, k) * params;
}

void hr_versions_add(struct hr_versions *it, const float *weights)
{
    for (size_t k = 0; k < it->pipeline->ranks; k++) {
        const struct hr_model *part = it->pipeline->part[k];
        if (room_of(it->pipeline, k))
            memcpy(slot_of(it, k, it->count), weights + hr_part_param_begin(part),
                   hr_model_param_count(part) * sizeof *weights);
    }
    it->count++;
}

uint64_t hr_versions_age(const struct hr_versions *it, size_t k, enum hr_stage_work work)
{
    const uint64_t stale = stale_of(it->pipeline, k, work);
    return stale < it->count - 1 ? stale : it->count - 1;
}

const float *hr_versions_read(const struct hr_versions *it, size_t k, enum hr_stage_work work)
{
    const uint64_t age = hr_versions_age(it, k, work);
    return age ? slot_of(it, k, it->count - 1 - age) : NULL;
}

bool hr_versions_fill(const struct hr_versions *it)
{
    return it->count < it->pipeline->ranks;
}
