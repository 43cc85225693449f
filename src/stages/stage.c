#include "stages/stage.h"

#include <stdlib.h>

#include "base/clock.h"
#include "plan/call.h"

/* --- private memory --- */

static struct hr_workspace_options workspace_options(const struct hr_pipeline *pipeline,
                                                     size_t part)
{
    return (struct hr_workspace_options){.threads = pipeline->options.threads,
                                         .seed = pipeline->options.seed,
                                         .batches = pipeline->kept[part]};
}

size_t hr_stage_bytes(const struct hr_pipeline *pipeline, size_t rank)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    size_t bytes = 0;
    for (size_t p = rank; p < pipeline->parts; p += pipeline->ranks) {
        const struct hr_workspace_options options = workspace_options(pipeline, p);
        const size_t of_part = hr_workspace_bytes(pipeline->part[p], o->most, &options);
        if (of_part == 0)
            return 0;
        bytes += of_part + hr_tree_sums_bytes(o->shape.micro_batches,
                                              hr_model_param_count(pipeline->part[p]));
    }
    return bytes;
}

static enum hr_status start_chunk(struct hr_stage *stage, size_t chunk)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const size_t part = chunk * pipeline->ranks + stage->rank;
    const struct hr_workspace_options options = workspace_options(pipeline, part);
    HR_TRY(hr_workspace_create(pipeline->part[part], pipeline->options.most, &options,
                               &stage->workspace[chunk]));
    return hr_tree_sums_init(&stage->sums[chunk], pipeline->options.shape.micro_batches,
                             hr_model_param_count(pipeline->part[part]));
}

enum hr_status hr_stage_start(struct hr_stage *stage, const struct hr_pipeline *pipeline,
                              size_t rank)
{
    const struct hr_pipeline_shape *shape = &pipeline->options.shape;
    const struct hr_pipeline_schedule *schedule = pipeline->options.schedule;
    *stage = (struct hr_stage){.pipeline = pipeline, .rank = rank};
    stage->nactions = schedule->actions(shape, rank, NULL);
    stage->next = stage->nactions;
    stage->action = calloc(stage->nactions, sizeof *stage->action);
    stage->workspace = calloc(shape->chunks, sizeof *stage->workspace);
    stage->sums = calloc(shape->chunks, sizeof *stage->sums);
    enum hr_status status = HR_OK;
    if (!stage->action || !stage->workspace || !stage->sums)
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
    *stage = (struct hr_stage){0};
}

void hr_stage_sit(struct hr_stage *stage, const struct hr_stage_place *place)
{
    stage->place = *place;
    stage->at = hr_pipeline_memory_at(stage->pipeline, place->memory);
    stage->step = hr_atom64_load_relaxed(&stage->at.rank[stage->rank].done); /* our own word */
}

/* --- words --- */

static void ring(const struct hr_stage *stage, size_t rank)
{
    if (stage->place.bell && rank != stage->rank)
        hr_bell_ring(stage->place.bell[rank]);
}

/* Micro-batch m of this step, among all there ever were: the word that says it has come. */
static uint64_t ticket(const struct hr_stage *stage, size_t m)
{
    return (stage->step - 1) * stage->pipeline->options.shape.micro_batches + m + 1;
}

static void ring_all(const struct hr_stage *stage)
{
    for (size_t k = 0; k < stage->pipeline->ranks; k++)
        ring(stage, k);
}

void hr_stage_publish(struct hr_stage *lead, const struct hr_stage_task *task)
{
    struct hr_pipeline_step *step = lead->at.step;
    const uintptr_t origin = (uintptr_t)lead->place.origin;
    step->index = task->index;
    step->count = task->count;
    step->weights = (uintptr_t)task->weights - origin;
    step->grads = (uintptr_t)task->grads - origin;
    hr_atom64_store_release(&step->begun, lead->step + 1); /* partner: hr_stage_has_task */
    ring_all(lead);
}

void hr_stage_publish_end(struct hr_stage *lead)
{
    hr_atom32_store_release(&lead->at.step->over, 1); /* partner: hr_stage_is_over */
    ring_all(lead);
}

bool hr_stage_is_over(const struct hr_stage *stage)
{
    return hr_atom32_load_acquire(&stage->at.step->over) != 0; /* partner: hr_stage_publish_end */
}

bool hr_stage_has_task(void *arg)
{
    const struct hr_stage *stage = arg;
    /* Partner: hr_stage_publish. */
    return hr_atom64_load_acquire(&stage->at.step->begun) > stage->step || hr_stage_is_over(stage);
}

void hr_stage_begin(struct hr_stage *stage)
{
    stage->step++;
    stage->next = 0;
    stage->kept = 0;
}

bool hr_stage_is_done(const struct hr_stage *stage)
{
    return stage->next == stage->nactions;
}

bool hr_stage_all_are_done(void *arg)
{
    const struct hr_stage *lead = arg;
    for (size_t k = 0; k < lead->pipeline->ranks; k++)
        if (hr_atom64_load_acquire(&lead->at.rank[k].done) < lead->step) /* partner: finish */
            return false;
    return true;
}

struct hr_batch_result hr_stage_result(const struct hr_stage *lead)
{
    struct hr_batch_result sum = {0};
    for (size_t m = 0; m < lead->pipeline->options.shape.micro_batches; m++) {
        sum.loss_sum += lead->at.micro[m].result.loss_sum;
        sum.correct += lead->at.micro[m].result.correct;
    }
    return sum;
}

/* --- actions --- */

static size_t part_of(const struct hr_stage *stage, const struct hr_stage_action *action)
{
    return action->chunk * stage->pipeline->ranks + stage->rank;
}

static bool is_last(const struct hr_stage *stage, size_t part)
{
    return part + 1 == stage->pipeline->parts;
}

bool hr_stage_may_act(void *arg)
{
    const struct hr_stage *stage = arg;
    const struct hr_stage_action *action = &stage->action[stage->next];
    const struct hr_pipeline_boundary *boundary = stage->at.boundary;
    const size_t part = part_of(stage, action);
    const uint64_t wanted = ticket(stage, action->micro);
    switch (action->work) { /* partners: forward and backward, below */
    case HR_FORWARD:
        return part == 0 || hr_atom64_load_acquire(&boundary[part - 1].forward) >= wanted;
    case HR_BACKWARD:
    case HR_BACKWARD_DATA:
        return is_last(stage, part) || hr_atom64_load_acquire(&boundary[part].backward) >= wanted;
    default:
        return true;
    }
}

/* Hand micro-batch m over to the part beside `part`: so many floats. */
static void hand_over(struct hr_stage *stage, struct hr_atom64 *word, size_t m, size_t to,
                      size_t floats)
{
    struct hr_flight *flight = stage->place.flight;
    const uint32_t kind = hr_call_kind(HR_OP_SEND, NULL, (struct hr_kind){0}, false);
    if (flight)
        hr_flight_begin(flight, ticket(stage, m), kind, stage->place.group, floats,
                        hr_clock_coarse_ns());
    hr_atom64_store_release(word, ticket(stage, m)); /* partner: hr_stage_may_act */
    ring(stage, to % stage->pipeline->ranks);
    if (flight)
        hr_flight_end(flight, hr_clock_coarse_ns());
    stage->place.account->bytes += floats * sizeof(float);
}

static const float *weights_of(const struct hr_stage *stage, size_t part)
{
    const uintptr_t weights = (uintptr_t)stage->place.origin + stage->at.step->weights;
    return (const float *)weights + hr_part_param_begin(stage->pipeline->part[part]);
}

static float *grads_of(const struct hr_stage *stage, size_t part)
{
    const uintptr_t grads = (uintptr_t)stage->place.origin + stage->at.step->grads;
    return (float *)grads + hr_part_param_begin(stage->pipeline->part[part]);
}

static void forward(struct hr_stage *stage, size_t part, size_t chunk, size_t m)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    struct hr_workspace *workspace = stage->workspace[chunk];
    const size_t most = pipeline->options.most;
    const size_t B = hr_pipeline_samples(pipeline, stage->at.step->count, m);
    uint32_t *labels = stage->at.labels + m * most, *samples = stage->at.samples + m * most;
    hr_workspace_turn(workspace, m % pipeline->kept[part]);
    if (part == 0) {
        hr_workspace_lend(workspace, NULL, labels);
        stage->at.micro[m].pass =
            stage->load(stage->load_arg, m, hr_workspace_input(workspace), labels, samples);
    } else {
        hr_workspace_lend(workspace, hr_pipeline_slot(pipeline, &stage->at, part - 1, m, false),
                          labels);
    }
    hr_workspace_draw(workspace, stage->at.micro[m].pass, samples);
    if (!is_last(stage, part))
        hr_workspace_lend_output(workspace, hr_pipeline_slot(pipeline, &stage->at, part, m, false));
    hr_part_forward(pipeline->part[part], workspace, weights_of(stage, part), B);
    if (!is_last(stage, part))
        hand_over(stage, &stage->at.boundary[part].forward, m, part + 1,
                  B * hr_model_outputs(pipeline->part[part]));
    stage->kept++;
    if (stage->kept > stage->place.account->peak)
        stage->place.account->peak = stage->kept;
}

static void backward(struct hr_stage *stage, size_t part, size_t chunk, size_t m)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const struct hr_model *model = pipeline->part[part];
    const size_t M = pipeline->options.shape.micro_batches;
    const size_t B = hr_pipeline_samples(pipeline, stage->at.step->count, m);
    const struct hr_part_gradients at = {
        .dy = is_last(stage, part) ? NULL : hr_pipeline_slot(pipeline, &stage->at, part, m, true),
        .dx = part ? hr_pipeline_slot(pipeline, &stage->at, part - 1, m, true) : NULL,
        .grads = grads_of(stage, part),
    };
    hr_workspace_turn(stage->workspace[chunk], m % pipeline->kept[part]);
    const struct hr_batch_result result =
        hr_part_backward(model, stage->workspace[chunk], weights_of(stage, part), &at, B);
    if (part)
        hand_over(stage, &stage->at.boundary[part - 1].backward, m, part - 1,
                  B * hr_part_inputs(model));
    if (is_last(stage, part))
        stage->at.micro[m].result = result;
    hr_tree_sums_carry(&stage->sums[chunk], m, M, at.grads);
    stage->kept--;
}

static void finish(struct hr_stage *stage)
{
    hr_atom64_store_release(&stage->at.rank[stage->rank].done, /* partner: hr_stage_all_are_done */
                            stage->step);
    ring(stage, 0);
}

void hr_stage_act(struct hr_stage *stage)
{
    const struct hr_stage_action *action = &stage->action[stage->next];
    const size_t part = part_of(stage, action);
    const int64_t began = hr_clock_ns();
    HR_ASSERT(action->work == HR_FORWARD || action->work == HR_BACKWARD);
    (action->work == HR_FORWARD ? forward : backward)(stage, part, action->chunk, action->micro);
    stage->place.account->actions++;
    stage->place.account->busy_ns += hr_clock_ns() - began;
    if (++stage->next == stage->nactions)
        finish(stage);
}
