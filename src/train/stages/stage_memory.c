/* A stage's own memory, and where it sits in that of its replica. */
#include <stdlib.h>

#include "stages/stage.h"

/* Micro-batches whose gradients are added up. */
static size_t summed(const struct hr_pipeline *pipeline)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    return o->streams ? 1 : o->shape.micro_batches * (o->rounds ? o->rounds : 1);
}

/* Of the versions of its weights that a stage of a stream keeps, beside those that it updates. */
static size_t stash_bytes(const struct hr_pipeline *pipeline, size_t rank)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    const size_t versions = o->streams ? o->schedule->versions(&o->shape, rank) : 1;
    const size_t floats = hr_model_param_count(pipeline->part[rank]);
    return versions > 1 ? versions * floats * sizeof(float) : 0;
}

size_t hr_stage_bytes(const struct hr_pipeline *pipeline, size_t seat)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    const size_t rank = seat / pipeline->team, t = seat % pipeline->team;
    size_t bytes = 0;
    for (size_t p = rank; p < pipeline->parts; p += pipeline->ranks) {
        const struct hr_workspace_options options = hr_pipeline_workspace(pipeline, p, t);
        const size_t of_part = hr_workspace_bytes(pipeline->part[p], o->most, &options);
        if (of_part == 0)
            return 0;
        bytes += of_part +
                 hr_tree_sums_bytes(summed(pipeline), hr_pipeline_stripe(pipeline, p, t).count);
    }
    return bytes + stash_bytes(pipeline, rank);
}

/* (nn/model.h) */
static bool meet(void *arg, bool sums)
{
    struct hr_stage *stage = arg;
    return stage->meet(stage, sums);
}

static enum hr_status start_chunk(struct hr_stage *stage, size_t chunk)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const size_t part = chunk * pipeline->ranks + stage->rank;
    struct hr_workspace_options options = hr_pipeline_workspace(pipeline, part, stage->t);
    options.team.meet = meet;
    options.team.arg = stage;
    HR_TRY(hr_workspace_create(pipeline->part[part], pipeline->options.most, &options,
                               &stage->workspace[chunk]));
    return hr_tree_sums_init(&stage->sums[chunk], summed(pipeline),
                             hr_pipeline_stripe(pipeline, part, stage->t).count);
}

enum hr_status hr_stage_start(struct hr_stage *stage, const struct hr_pipeline *pipeline,
                              size_t seat)
{
    const struct hr_pipeline_shape *shape = &pipeline->options.shape;
    const struct hr_pipeline_schedule *schedule = pipeline->options.schedule;
    const size_t rank = seat / pipeline->team;
    *stage = (struct hr_stage){.pipeline = pipeline, .rank = rank, .t = seat % pipeline->team};
    stage->nactions = schedule->actions(shape, rank, NULL);
    stage->next = stage->nactions;
    stage->action = calloc(stage->nactions, sizeof *stage->action);
    stage->workspace = calloc(shape->chunks, sizeof *stage->workspace);
    stage->sums = calloc(shape->chunks, sizeof *stage->sums);
    const size_t stashed = stash_bytes(pipeline, rank);
    stage->stash = stashed ? malloc(stashed) : NULL;
    stage->read = calloc(shape->micro_batches, sizeof *stage->read);
    enum hr_status status = HR_OK;
    if (!stage->action || !stage->workspace || !stage->sums || !stage->read ||
        (stashed && !stage->stash))
        status = hr_fail(HR_E_NOMEM, "no memory for stage %zu of a pipeline", rank);
    for (size_t v = 0; status == HR_OK && v < shape->chunks; v++)
        status = start_chunk(stage, v);
    if (status == HR_OK)
        schedule->actions(shape, rank, stage->action);
    else
        hr_stage_stop(stage);
    return status;
}

void hr_stage_stop(struct hr_stage *stage)
{
    const size_t chunks = stage->pipeline ? stage->pipeline->options.shape.chunks : 0;
    for (size_t v = 0; v < chunks; v++) {
        if (stage->workspace)
            hr_workspace_destroy(stage->workspace[v]);
        if (stage->sums)
            hr_tree_sums_fini(&stage->sums[v]);
    }
    free(stage->action);
    free(stage->workspace);
    free(stage->sums);
    free(stage->stash);
    free(stage->read);
    *stage = (struct hr_stage){0};
}

/* What a team shares, part by part. */
static void share_workspaces(struct hr_stage *stage)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    unsigned char *shared = stage->at.shared;
    for (size_t p = 0; p < pipeline->parts; p++) {
        if (p % pipeline->ranks == stage->rank)
            hr_workspace_share(stage->workspace[p / pipeline->ranks], shared);
        shared += hr_pipeline_team_bytes(pipeline, p);
    }
}

void hr_stage_sit(struct hr_stage *stage, const struct hr_stage_place *place)
{
    const bool moves = stage->place.memory != place->memory;
    stage->place = *place;
    stage->at = hr_pipeline_memory_at(stage->pipeline, place->memory);
    const struct hr_pipeline_rank *own = &stage->at.rank[hr_stage_seat_of(stage)];
    stage->step = hr_atom64_load_relaxed(&own->done); /* our own words */
    stage->meetings = hr_atom64_load_relaxed(&own->met);
    stage->life = hr_atom32_load_relaxed(&own->life);
    if (moves && stage->pipeline->team > 1)
        share_workspaces(stage);
}

bool hr_stage_others_live(void *arg)
{
    const struct hr_stage *lead = arg;
    for (size_t seat = 1; seat < lead->pipeline->seats; seat++)
        if (hr_atom32_load_acquire(&lead->at.rank[seat].life) != lead->life) /* partner: below */
            return false;
    return true;
}

void hr_stage_begin_life(struct hr_stage *stage)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    struct hr_pipeline_rank *own = &stage->at.rank[hr_stage_seat_of(stage)];
    stage->life = hr_atom32_load_acquire(&stage->at.step->lives); /* partner: hr_staged_lose */
    for (size_t p = stage->rank; p < pipeline->parts; p += pipeline->ranks) {
        hr_atom64_store_relaxed(&stage->at.boundary[p].forward, 0);
        if (p)
            hr_atom64_store_relaxed(&stage->at.boundary[p - 1].backward, 0);
    }
    if (stage->rank == 0)
        hr_atom64_store_relaxed(&stage->at.step->begun, 0);
    hr_atom64_store_relaxed(&own->done, 0);
    stage->step = 0;
    stage->next = stage->nactions;
    hr_atom32_store_release(&own->life, stage->life); /* partners: has_task, others_live */
    hr_stage_ring_all(stage);
}
