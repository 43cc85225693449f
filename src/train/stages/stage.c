#include "stages/stage.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/size.h"
#include "plan/layout.h"
#include "observe/spans.h"
#include "stages/remote.h"
#include "stages/crew.h"

/* --- a stage's own memory, and where it sits in that of its replica --- */

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

size_t hr_stage_bytes(const struct hr_pipeline *pipeline, size_t member)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    const size_t rank = member / pipeline->team, t = member % pipeline->team;
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
static bool barrier(void *arg, bool sums)
{
    struct hr_stage *stage = arg;
    return stage->barrier(stage, sums);
}

static enum hr_status start_chunk(struct hr_stage *stage, size_t chunk)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const size_t part = chunk * pipeline->ranks + stage->rank;
    struct hr_workspace_options options = hr_pipeline_workspace(pipeline, part, stage->t);
    options.team.barrier = barrier;
    options.team.arg = stage;
    HR_TRY(hr_workspace_create(pipeline->part[part], pipeline->options.most, &options,
                               &stage->workspace[chunk]));
    return hr_tree_sums_init(&stage->sums[chunk], summed(pipeline),
                             hr_pipeline_stripe(pipeline, part, stage->t).count);
}

enum hr_status hr_stage_start(struct hr_stage *stage, const struct hr_pipeline *pipeline,
                              size_t member)
{
    const struct hr_pipeline_shape *shape = &pipeline->options.shape;
    const struct hr_pipeline_schedule *schedule = pipeline->options.schedule;
    const size_t rank = member / pipeline->team;
    *stage = (struct hr_stage){.pipeline = pipeline, .rank = rank, .t = member % pipeline->team};
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
    const struct hr_pipeline_rank *own = &stage->at.rank[hr_stage_member_of(stage)];
    stage->step = hr_atom64_load_relaxed(&own->done); /* our own words */
    stage->meetings = hr_atom64_load_relaxed(&own->met);
    stage->life = hr_atom32_load_relaxed(&own->life);
    if (moves && stage->pipeline->team > 1)
        share_workspaces(stage);
}

bool hr_stage_others_live(void *arg)
{
    const struct hr_stage *lead = arg;
    for (size_t member = 1; member < lead->pipeline->members; member++)
        if (hr_atom32_load_acquire(&lead->at.rank[member].life) != lead->life) /* partner: below */
            return false;
    return true;
}

void hr_stage_begin_life(struct hr_stage *stage)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    struct hr_pipeline_rank *own = &stage->at.rank[hr_stage_member_of(stage)];
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

/* --- words --- */

static void ring(const struct hr_stage *stage, size_t member)
{
    if (stage->place.bell && member != hr_stage_member_of(stage))
        hr_bell_ring(stage->place.bell[member]);
}

/* All of a stage's team. */
static void ring_team(const struct hr_stage *stage, size_t k)
{
    for (size_t t = 0; t < stage->pipeline->team; t++)
        ring(stage, k * stage->pipeline->team + t);
}

/* Micro-batch m of this step, among all there ever were: the word that says it has come. */
static uint64_t ticket(const struct hr_stage *stage, size_t m)
{
    return (stage->step - 1) * stage->pipeline->options.shape.micro_batches + m + 1;
}

void hr_stage_ring_all(const struct hr_stage *stage)
{
    for (size_t k = 0; k < stage->pipeline->ranks; k++)
        ring_team(stage, k);
}

void hr_stage_arrive(struct hr_stage *stage)
{
    hr_atom64_store_release(
        &stage->at.rank[hr_stage_member_of(stage)].met, /* partner: hr_stage_has_met */
        ++stage->meetings);
    ring_team(stage, stage->rank);
}

bool hr_stage_has_met(void *arg)
{
    const struct hr_stage *stage = arg;
    const struct hr_pipeline_rank *team = &stage->at.rank[stage->rank * stage->pipeline->team];
    for (size_t t = 0; t < stage->pipeline->team; t++)
        if (hr_atom64_load_acquire(&team[t].met) < stage->meetings) /* partner: hr_stage_arrive */
            return false;
    return true;
}

bool hr_stage_may_publish(void *lead)
{
    return hr_remote_has_room(lead);
}

void hr_stage_publish(struct hr_stage *lead, const struct hr_stage_task *task)
{
    struct hr_pipeline_step *step = lead->at.step;
    const uintptr_t origin = (uintptr_t)lead->place.origin;
    step->index = task->index;
    step->count = task->count;
    step->first = task->round * lead->pipeline->options.shape.micro_batches;
    step->pieces = task->rounds * lead->pipeline->options.shape.micro_batches;
    if (task->round == 0)
        lead->sum = (struct hr_batch_result){0};
    step->weights = (uintptr_t)task->weights - origin;
    step->grads = (uintptr_t)task->grads - origin;
    hr_atom64_store_release(&step->begun, lead->step + 1); /* partner: hr_stage_has_task */
    hr_remote_publish(lead, task->round == 0);
    hr_stage_ring_all(lead);
}

void hr_stage_publish_end(struct hr_stage *lead)
{
    hr_atom32_store_release(&lead->at.step->over, 1); /* partner: hr_stage_is_over */
    hr_remote_publish_end(lead);
    hr_stage_ring_all(lead);
}

bool hr_stage_is_over(const struct hr_stage *stage)
{
    return hr_atom32_load_acquire(&stage->at.step->over) != 0; /* partner: hr_stage_publish_end */
}

bool hr_stage_has_task(void *arg)
{
    const struct hr_stage *stage = arg;
    if (hr_atom32_load_acquire(&stage->at.rank[0].life) != stage->life) /* partner: begin_life */
        return false;
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

bool hr_stage_part_is_done(const struct hr_stage *lead, size_t part)
{
    const size_t team = lead->pipeline->team, first = part % lead->pipeline->ranks * team;
    for (size_t member = first; member < first + team; member++)
        if (hr_atom64_load_acquire(&lead->at.rank[member].done) < lead->step) /* partner: finish */
            return false;
    return true;
}

bool hr_stage_all_are_done(void *arg)
{
    const struct hr_stage *lead = arg;
    for (size_t k = 0; k < lead->pipeline->ranks; k++)
        if (!hr_stage_part_is_done(lead, k))
            return false;
    return true;
}

struct hr_batch_result hr_stage_result(struct hr_stage *lead)
{
    for (size_t m = 0; m < lead->pipeline->options.shape.micro_batches; m++) {
        lead->sum.loss_sum += lead->at.micro[m].result.loss_sum;
        lead->sum.correct += lead->at.micro[m].result.correct;
    }
    return lead->sum;
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
    if (!hr_remote_has_room(stage))
        return false;
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

/* Whatever this rank wrote, and the others of its team, all of them see behind it. */
static void team_barrier(struct hr_stage *stage)
{
    if (stage->pipeline->team > 1 && stage->status == HR_OK)
        stage->barrier(stage, false);
}

/* Hand micro-batch m over to the part beside `part`: so many floats. */
static void hand_over(struct hr_stage *stage, struct hr_atom64 *word, size_t m, size_t to,
                      size_t floats)
{
    if (stage->t || stage->status != HR_OK)
        return;
    struct hr_flight *flight = stage->place.flight;
    const uint32_t kind = hr_call_kind(HR_OP_SEND, NULL, (struct hr_kind){0}, false);
    if (flight)
        hr_flight_begin(flight, ticket(stage, m), kind, stage->place.group, floats,
                        hr_clock_coarse_ns());
    hr_atom64_store_release(word, ticket(stage, m)); /* partner: hr_stage_may_act */
    ring_team(stage, to % stage->pipeline->ranks);
    if (flight)
        hr_flight_end(flight, hr_clock_coarse_ns());
    stage->place.account->bytes += floats * sizeof(float);
}

/* Samples of micro-batch m. */
static size_t samples_of(const struct hr_stage *stage, size_t m)
{
    const struct hr_pipeline_step *step = stage->at.step;
    if (stage->pipeline->options.streams)
        return stage->at.micro[m].count;
    return hr_split_begin(step->count, step->pieces, step->first + m + 1) -
           hr_split_begin(step->count, step->pieces, step->first + m);
}

/* Its place where it meets others, and in a workspace: they are in hand in the order of all that
 * there ever were. */
static size_t place_of(const struct hr_stage *stage, size_t m)
{
    return (size_t)(ticket(stage, m) - 1);
}

static float *slot_of(const struct hr_stage *stage, size_t boundary, size_t m, bool gradients)
{
    return hr_pipeline_slot(stage->pipeline, &stage->at, boundary, place_of(stage, m), gradients);
}

static void turn(struct hr_stage *stage, size_t part, size_t chunk, size_t m)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    struct hr_workspace *workspace = stage->workspace[chunk];
    hr_workspace_turn(workspace, place_of(stage, m) % pipeline->kept[part]);
    if (pipeline->tied.count) {
        const uintptr_t weights = (uintptr_t)stage->place.origin + stage->at.step->weights;
        hr_workspace_lend_table(workspace, (const float *)weights + pipeline->tied.begin,
                                hr_pipeline_share(pipeline, &stage->at, place_of(stage, m)));
    }
}

static const float *weights_of(const struct hr_stage *stage, size_t part, enum hr_stage_work work)
{
    if (stage->stashed && work != HR_FORWARD)
        return stage->stashed;
    const struct hr_versions *versions = stage->place.versions;
    const float *older = versions ? hr_versions_read(versions, stage->rank, work) : NULL;
    if (older)
        return older;
    const uintptr_t weights = (uintptr_t)stage->place.origin + stage->at.step->weights;
    return (const float *)weights + hr_part_param_begin(stage->pipeline->part[part]);
}

float *hr_stage_grads(const struct hr_stage *stage, size_t part)
{
    const uintptr_t grads = (uintptr_t)stage->place.origin + stage->at.step->grads;
    return (float *)grads + hr_part_param_begin(stage->pipeline->part[part]);
}

static void forward(struct hr_stage *stage, size_t part, size_t chunk, size_t m)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    struct hr_workspace *workspace = stage->workspace[chunk];
    const size_t B = samples_of(stage, m);
    uint32_t *labels = hr_pipeline_labels(pipeline, &stage->at, m),
             *samples = labels + pipeline->options.most;
    turn(stage, part, chunk, m);
    if (part == 0) {
        hr_workspace_lend(workspace, NULL, labels);
        if (stage->t == 0)
            stage->at.micro[m].pass =
                stage->load(stage->load_arg, m, hr_workspace_input(workspace), labels, samples);
        team_barrier(stage);
    } else {
        hr_workspace_lend(workspace, slot_of(stage, part - 1, m, false), labels);
    }
    hr_workspace_draw(workspace, stage->at.micro[m].pass, samples);
    if (!is_last(stage, part))
        hr_workspace_lend_output(workspace, slot_of(stage, part, m, false));
    hr_part_forward(pipeline->part[part], workspace, weights_of(stage, part, HR_FORWARD), B);
    team_barrier(stage);
    if (!is_last(stage, part)) {
        const size_t floats = B * hr_model_outputs(pipeline->part[part]);
        hand_over(stage, &stage->at.boundary[part].forward, m, part + 1, floats);
        hr_remote_forward(stage, part, m, slot_of(stage, part, m, false), floats);
    }
    stage->kept++;
    if (stage->kept > stage->place.account->peak)
        stage->place.account->peak = stage->kept;
}

/* The activations of micro-batch m in hand, for its backward. */
static struct hr_workspace *turn_to(struct hr_stage *stage, size_t part, size_t chunk, size_t m,
                                    size_t B)
{
    struct hr_workspace *workspace = stage->workspace[chunk];
    const int64_t began = hr_clock_ns();
    turn(stage, part, chunk, m);
    if (hr_part_forward_again(stage->pipeline->part[part], workspace,
                              stage->stashed ? stage->stashed : weights_of(stage, part, HR_FORWARD),
                              B)) {
        team_barrier(stage);
        stage->place.account->again_ns += hr_clock_ns() - began;
    }
    return workspace;
}

static struct hr_part_gradients gradients_of(const struct hr_stage *stage, size_t part, size_t m)
{
    return (struct hr_part_gradients){
        .dy = is_last(stage, part) ? NULL : slot_of(stage, part, m, true),
        .dx = part ? slot_of(stage, part - 1, m, true) : NULL,
        .grads = hr_stage_grads(stage, part),
    };
}

/* The whole backward, or its half for the data: the part before goes on with dx. */
static void backward(struct hr_stage *stage, size_t part, size_t chunk, size_t m, bool whole)
{
    const struct hr_model *model = stage->pipeline->part[part];
    const size_t B = samples_of(stage, m);
    const struct hr_part_gradients at = gradients_of(stage, part, m);
    struct hr_workspace *workspace = turn_to(stage, part, chunk, m, B);
    const struct hr_batch_result result = (whole ? hr_part_backward : hr_part_backward_data)(
        model, workspace, weights_of(stage, part, HR_BACKWARD), &at, B);
    team_barrier(stage);
    if (is_last(stage, part) && stage->t == 0)
        stage->at.micro[m].result = result;
    if (part) {
        hand_over(stage, &stage->at.boundary[part - 1].backward, m, part - 1,
                  B * hr_part_inputs(model));
        hr_remote_backward(stage, part, m, at.dx, B * hr_part_inputs(model));
    }
}

static void backward_weights(struct hr_stage *stage, size_t part, size_t chunk, size_t m)
{
    const size_t B = samples_of(stage, m);
    struct hr_workspace *workspace = turn_to(stage, part, chunk, m, B);
    hr_part_backward_weights(stage->pipeline->part[part], workspace,
                             weights_of(stage, part, HR_BACKWARD_WEIGHTS),
                             hr_stage_grads(stage, part), B);
    team_barrier(stage);
}

/* All gradients of micro-batch m are there. */
static void add_gradients(struct hr_stage *stage, size_t part, size_t chunk, size_t m)
{
    const struct hr_pipeline_step *step = stage->at.step;
    hr_tree_sums_carry(&stage->sums[chunk], step->first + m, step->pieces,
                       hr_stage_grads(stage, part) +
                           hr_pipeline_stripe(stage->pipeline, part, stage->t).begin);
    if (step->pieces > 1) /* the next one's overwrite them */
        team_barrier(stage);
    stage->kept--;
}

static void finish(struct hr_stage *stage)
{
    hr_atom64_store_release(
        &stage->at.rank[hr_stage_member_of(stage)].done, /* partner: hr_stage_all_are_done */
        stage->step);
    hr_remote_finish(stage);
    ring(stage, 0);
}

/* --- for who looks on --- */

/* Of a micro-batch between part `before` and the next one, unlike all other messages of the run. */
static uint64_t number_of(const struct hr_stage *stage, size_t before, bool forward, size_t micro)
{
    const size_t M = stage->pipeline->options.shape.micro_batches;
    return HR_STAGE_MESSAGE | (uint64_t)stage->place.group << 52 | (uint64_t)before << 42 |
           (uint64_t)forward << 41 | ((stage->step * M + micro) & ((UINT64_C(1) << 41) - 1));
}

/* What travels between ranks: not where one has all parts. */
static void report_messages(const struct hr_stage *stage, const struct hr_stage_action *action,
                            int64_t began_ns, int64_t ended_ns)
{
    const size_t ranks = stage->pipeline->ranks, parts = stage->pipeline->parts;
    const size_t part = action->chunk * ranks + stage->rank;
    const bool forward = action->work == HR_FORWARD;
    struct hr_spans *spans = stage->place.spans;
    if (ranks < 2 || stage->t || action->work == HR_BACKWARD_WEIGHTS)
        return;
    if (forward ? part > 0 : part + 1 < parts)
        hr_spans_message_at(spans, false, 0,
                            number_of(stage, forward ? part - 1 : part, forward, action->micro),
                            began_ns);
    if (forward ? part + 1 < parts : part > 0)
        hr_spans_message_at(spans, true, 0,
                            number_of(stage, forward ? part : part - 1, forward, action->micro),
                            ended_ns);
}

/* An action is over, for who looks on (observe/spans.h): a span of a rank of its own, a part of
 * what the worker computes at rank 0; and what it took and handed over, as messages. */
static void say_acted(const struct hr_stage *stage, const struct hr_stage_action *action,
                      int64_t began_ns, int64_t ended_ns)
{
    struct hr_spans *spans = stage->place.spans;
    const enum hr_span_part part = action->work == HR_FORWARD ? HR_SPAN_FORWARD : HR_SPAN_BACKWARD;
    if (!spans)
        return;
    if (hr_stage_member_of(stage) == 0) { /* the worker, whose account has it as computing */
        hr_account_look(stage->context->waiter->account, ended_ns);
        hr_spans_name(spans, HR_SPAN_COMPUTE, part, began_ns, ended_ns);
    } else {
        if (stage->next == 0)
            hr_spans_step(spans, stage->at.step->index, began_ns);
        hr_spans_stage(spans, part, action->micro, began_ns, ended_ns);
    }
    report_messages(stage, action, began_ns, ended_ns);
    if (hr_stage_member_of(stage) && stage->next + 1 == stage->nactions)
        hr_spans_step_ends(spans, ended_ns);
}

void hr_stage_act(struct hr_stage *stage)
{
    const struct hr_stage_action *action = &stage->action[stage->next];
    const size_t part = part_of(stage, action), chunk = action->chunk, m = action->micro;
    const uint64_t moved = hr_workspace_moved(stage->workspace[chunk]);
    const int64_t began = hr_clock_ns();
    if (action->work == HR_FORWARD)
        forward(stage, part, chunk, m);
    else if (action->work == HR_BACKWARD_WEIGHTS)
        backward_weights(stage, part, chunk, m);
    else
        backward(stage, part, chunk, m, action->work == HR_BACKWARD);
    if (action->work == HR_BACKWARD || action->work == HR_BACKWARD_WEIGHTS)
        add_gradients(stage, part, chunk, m);
    if (stage->next + 1 == stage->nactions && hr_remote_from_lead(stage))
        team_barrier(stage); /* the first sends what all have added up */
    if (stage->status != HR_OK)
        return;
    const int64_t ended = hr_clock_ns();
    stage->place.account->actions++;
    stage->place.account->moved += hr_workspace_moved(stage->workspace[chunk]) - moved;
    stage->place.account->busy_ns += ended - began;
    if (stage->place.when)
        stage->place.when[stage->next] = (struct hr_stage_when){began, ended};
    say_acted(stage, action, began, ended);
    if (++stage->next == stage->nactions)
        finish(stage);
}

/* --- a stream: minibatch n is micro-batch n mod M of step n / M + 1 --- */

static size_t hold(struct hr_stage *stage, uint64_t n)
{
    const size_t M = stage->pipeline->options.shape.micro_batches;
    stage->step = n / M + 1;
    return n % M;
}

void hr_stage_forward(struct hr_stage *stage, uint64_t n)
{
    forward(stage, stage->rank, 0, hold(stage, n));
}

void hr_stage_backward(struct hr_stage *stage, uint64_t n, const float *weights)
{
    stage->stashed = weights;
    backward(stage, stage->rank, 0, hold(stage, n), true);
    stage->stashed = NULL;
    stage->kept--;
}

const float *hr_stage_weights(const struct hr_stage *stage)
{
    return weights_of(stage, stage->rank, HR_FORWARD);
}
