#include "stages/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "nn/model.h"
#include "stages/remote.h"

/* --- cut --- */

/* Where its two layers are in two parts: what a stage would update alone, or have a copy of, is no
 * one tensor. */
static enum hr_status find_tied(struct hr_pipeline *pipeline)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    const struct hr_tied tied = hr_model_tied(o->model);
    if (tied.count == 0 || tied.tied < pipeline->cut[1])
        return HR_OK;
    pipeline->tied = tied;
    const char *path = hr_model_layer(o->model, tied.tied).path;
    if (!o->schedule->synchronous)
        return hr_fail(HR_E_USAGE,
                       "--pipeline schedule=%s: layer %s is tied to the embedding, and each stage "
                       "has weights of its own age; expected a schedule that drains, as 1f1b, or "
                       "\"dense\" in place of \"tied\"",
                       o->schedule->name, path);
    if (o->machines > 1)
        return hr_fail(HR_E_USAGE,
                       "--pipeline %zu on %zu machines: layer %s is tied to the embedding, whose "
                       "stage is on another one; expected a worker's stages on one machine, or "
                       "\"dense\" in place of \"tied\"",
                       pipeline->ranks, o->machines, path);
    return HR_OK;
}

static enum hr_status cut_model(struct hr_pipeline *pipeline)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    for (size_t p = 1; p < pipeline->parts; p++)
        pipeline->cut[p] = o->cut[p - 1];
    pipeline->cut[pipeline->parts] = hr_model_layer_count(o->model);
    HR_TRY(find_tied(pipeline));
    HR_TRY(hr_split_plan(o->model, o->shards, &pipeline->split));
    const struct hr_part_manner manner = {.in_halves = o->schedule->splits_backward,
                                          .recomputes = o->recompute};
    for (size_t p = 0; p < pipeline->parts; p++) {
        HR_TRY(hr_model_part(o->model, pipeline->cut[p], pipeline->cut[p + 1], manner,
                             &pipeline->part[p]));
        HR_TRY(hr_part_split(pipeline->part[p], &pipeline->split));
    }
    return HR_OK;
}

/* The most micro-batches of each chunk between their forward and the end of their backward. */
static enum hr_status count_kept(struct hr_pipeline *pipeline, size_t rank)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    const size_t n = o->schedule->actions(&o->shape, rank, NULL);
    struct hr_stage_action *action = calloc(n, sizeof *action);
    size_t *now = calloc(o->shape.chunks, sizeof *now);
    const bool enough = action && now;
    if (enough)
        o->schedule->actions(&o->shape, rank, action);
    for (size_t i = 0; enough && i < n; i++) {
        size_t *most = &pipeline->kept[action[i].chunk * pipeline->ranks + rank];
        size_t *of = &now[action[i].chunk];
        *of += action[i].work == HR_FORWARD;
        *most = *of > *most ? *of : *most;
        *of -= action[i].work == HR_BACKWARD || action[i].work == HR_BACKWARD_WEIGHTS;
    }
    free(action);
    free(now);
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for %zu actions", n);
}

enum hr_status hr_pipeline_create(const struct hr_pipeline_options *options,
                                  struct hr_pipeline **out)
{
    const size_t parts = options->shape.stages * options->shape.chunks;
    enum hr_status status;
    HR_TRY(options->schedule->check(&options->shape));
    struct hr_pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (!pipeline)
        return hr_fail(HR_E_NOMEM, "no memory for a pipeline");
    pipeline->options = *options;
    pipeline->ranks = options->shape.stages;
    pipeline->team = options->serial || options->team == 0 ? 1 : options->team;
    pipeline->members = pipeline->ranks * pipeline->team;
    pipeline->parts = parts;
    pipeline->cut = calloc(parts + 1, sizeof *pipeline->cut);
    pipeline->part = calloc(parts, sizeof *pipeline->part);
    pipeline->kept = calloc(parts, sizeof *pipeline->kept);
    if (pipeline->cut && pipeline->part && pipeline->kept)
        status = cut_model(pipeline);
    else
        status = hr_fail(HR_E_NOMEM, "no memory for a pipeline of %zu parts", parts);
    pipeline->options.cut = pipeline->cut + 1;
    for (size_t k = 0; status == HR_OK && k < pipeline->ranks; k++)
        status = count_kept(pipeline, k);
    if (status == HR_OK)
        *out = pipeline;
    else
        hr_pipeline_destroy(pipeline);
    return status;
}

void hr_pipeline_destroy(struct hr_pipeline *pipeline)
{
    if (!pipeline)
        return;
    for (size_t p = 0; pipeline->part && p < pipeline->parts; p++)
        hr_model_destroy(pipeline->part[p]);
    free(pipeline->part);
    free(pipeline->cut);
    free(pipeline->kept);
    free(pipeline);
}

double hr_pipeline_madds(const struct hr_pipeline *pipeline, size_t rank)
{
    double madds = 0;
    for (size_t p = rank; p < pipeline->parts; p += pipeline->ranks)
        madds += hr_model_madds(pipeline->part[p]);
    return madds;
}

size_t hr_pipeline_params(const struct hr_pipeline *pipeline, size_t rank)
{
    size_t params = 0;
    for (size_t p = rank; p < pipeline->parts; p += pipeline->ranks)
        params += hr_model_param_count(pipeline->part[p]);
    return params;
}

/* --- memory --- */

/* Floats of one slot, on cache lines of its own. */
static size_t slot_floats(const struct hr_pipeline *pipeline, size_t boundary)
{
    return hr_round_up(pipeline->options.most * hr_model_outputs(pipeline->part[boundary]),
                       HR_LINE / sizeof(float));
}

static size_t slots_of(const struct hr_pipeline *pipeline, size_t boundary)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    return o->schedule->splits_backward ? o->shape.micro_batches : pipeline->kept[boundary];
}

/* Of activations, and of gradients. */
static size_t boundary_bytes(const struct hr_pipeline *pipeline, size_t boundary)
{
    return 2 * slots_of(pipeline, boundary) * slot_floats(pipeline, boundary) * sizeof(float);
}

static size_t slot_bytes(const struct hr_pipeline *pipeline)
{
    size_t bytes = 0;
    for (size_t p = 0; p + 1 < pipeline->parts; p++)
        bytes += boundary_bytes(pipeline, p);
    return bytes;
}

static size_t share_bytes(const struct hr_pipeline *pipeline)
{
    return hr_round_up(pipeline->tied.count * sizeof(float), HR_LINE);
}

static size_t shares_bytes(const struct hr_pipeline *pipeline)
{
    return pipeline->tied.count ? slots_of(pipeline, 0) * share_bytes(pipeline) : 0;
}

static size_t number_bytes(const struct hr_pipeline *pipeline)
{
    return pipeline->options.shape.micro_batches * hr_pipeline_number_bytes(pipeline);
}

static size_t word_bytes(const struct hr_pipeline *pipeline)
{
    return sizeof(struct hr_pipeline_step) + pipeline->members * sizeof(struct hr_pipeline_rank) +
           pipeline->parts * sizeof(struct hr_pipeline_boundary) +
           pipeline->options.shape.micro_batches * sizeof(struct hr_pipeline_micro);
}

struct hr_workspace_options hr_pipeline_workspace(const struct hr_pipeline *pipeline, size_t part,
                                                  size_t t)
{
    return (struct hr_workspace_options){.threads = pipeline->options.threads,
                                         .seed = pipeline->options.seed,
                                         .batches = pipeline->kept[part],
                                         .team = {.rank = t, .ranks = pipeline->team}};
}

struct hr_pipeline_stripe hr_pipeline_stripe(const struct hr_pipeline *pipeline, size_t part,
                                             size_t t)
{
    const size_t count = hr_model_param_count(pipeline->part[part]), team = pipeline->team;
    const size_t begin = hr_split_begin(count, team, t);
    return (struct hr_pipeline_stripe){begin, hr_split_begin(count, team, t + 1) - begin};
}

size_t hr_pipeline_team_bytes(const struct hr_pipeline *pipeline, size_t part)
{
    const struct hr_workspace_options options = hr_pipeline_workspace(pipeline, part, 0);
    return hr_round_up(
        hr_workspace_shared_bytes(pipeline->part[part], pipeline->options.most, &options), HR_LINE);
}

static size_t teams_bytes(const struct hr_pipeline *pipeline)
{
    size_t bytes = 0;
    for (size_t p = 0; p < pipeline->parts; p++)
        bytes += hr_pipeline_team_bytes(pipeline, p);
    return bytes;
}

size_t hr_pipeline_bytes(const struct hr_pipeline *pipeline)
{
    return word_bytes(pipeline) + number_bytes(pipeline) + slot_bytes(pipeline) +
           shares_bytes(pipeline) + teams_bytes(pipeline) + hr_remote_bytes(pipeline);
}

struct hr_pipeline_memory hr_pipeline_memory_at(const struct hr_pipeline *pipeline, void *base)
{
    struct hr_pipeline_memory at = {.step = base};
    at.rank = (void *)(at.step + 1);
    at.boundary = (void *)(at.rank + pipeline->members);
    at.micro = (void *)(at.boundary + pipeline->parts);
    at.numbers = (void *)(at.micro + pipeline->options.shape.micro_batches);
    at.slots = (unsigned char *)at.numbers + number_bytes(pipeline);
    at.shares = at.slots + slot_bytes(pipeline);
    at.shared = at.shares + shares_bytes(pipeline);
    at.rings = at.shared + teams_bytes(pipeline);
    return at;
}

float *hr_pipeline_share(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at,
                         size_t m)
{
    return (float *)(void *)(at->shares + m % slots_of(pipeline, 0) * share_bytes(pipeline));
}

float *hr_pipeline_slot(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at,
                        size_t boundary, size_t m, bool gradients)
{
    const size_t slots = slots_of(pipeline, boundary);
    unsigned char *begin = at->slots;
    for (size_t p = 0; p < boundary; p++)
        begin += boundary_bytes(pipeline, p);
    return (float *)(void *)begin +
           (m % slots + gradients * slots) * slot_floats(pipeline, boundary);
}
