#include "stages/stream.h"

#include <string.h>

#include "base/clock.h"
#include "stages/remote.h"

/* --- what is next --- */

enum next { NOTHING, FORWARD, BACKWARD };

static uint64_t on_their_way(const struct hr_stage *stage)
{
    return stage->forwards - stage->backwards;
}

static bool is_full(const struct hr_stage *stage)
{
    return on_their_way(stage) > stage->pipeline->ranks - 1 - stage->rank;
}

static bool drains(const struct hr_stage *stage)
{
    /* Partner: hr_stream_drain. */
    return hr_atom64_load_acquire(&stage->at.step->drains) == stage->forwards;
}

/* What is next for a rank but 0; its input may not have come. A minibatch behind those that drain
 * comes only when nothing is on its way. */
static enum next next_of(const struct hr_stage *stage)
{
    if (is_full(stage))
        return BACKWARD;
    if (!drains(stage))
        return FORWARD;
    return on_their_way(stage) ? BACKWARD : NOTHING;
}

static bool backward_may_begin(void *arg)
{
    const struct hr_stage *stage = arg;
    const size_t k = stage->rank;
    return k + 1 == stage->pipeline->ranks || /* partner: hand_over, in stage.c */
           hr_atom64_load_acquire(&stage->at.boundary[k].backward) > stage->backwards;
}

static bool forward_may_begin(const struct hr_stage *stage)
{
    if (!hr_atom64_load_acquire(&stage->at.step->begun)) /* partner: begin */
        return false;
    /* Partner: hand_over, in stage.c. */
    return hr_atom64_load_acquire(&stage->at.boundary[stage->rank - 1].forward) > stage->forwards;
}

/* --- a forward, a backward --- */

static float *stashed_at(const struct hr_stage *stage, uint64_t n)
{
    const struct hr_pipeline_options *o = &stage->pipeline->options;
    const size_t versions = o->schedule->versions(&o->shape, stage->rank);
    return stage->stash + n % versions * hr_model_param_count(stage->pipeline->part[stage->rank]);
}

static size_t slot_of(const struct hr_stage *stage, uint64_t n)
{
    return n % stage->pipeline->options.shape.micro_batches;
}

static void book(struct hr_stage *stage, int64_t began_ns)
{
    stage->place.account->actions++;
    stage->place.account->busy_ns += hr_clock_ns() - began_ns;
}

static void do_forward(struct hr_stage *stage)
{
    const int64_t began = hr_clock_ns();
    const uint64_t n = stage->forwards++;
    if (stage->stash)
        memcpy(stashed_at(stage, n), hr_stage_weights(stage),
               hr_model_param_count(stage->pipeline->part[stage->rank]) * sizeof(float));
    stage->read[slot_of(stage, n)] = stage->backwards;
    hr_stage_forward(stage, n);
    book(stage, began);
}

static void count_staleness(struct hr_stage *stage, uint64_t n)
{
    struct hr_stage_stale *stale = &stage->place.account->stale;
    const uint64_t forward = n - stage->read[slot_of(stage, n)];
    const bool fills = stale->since + 1 < stage->pipeline->ranks;
    hr_stage_stale_count(stale, fills, forward, stage->stash ? forward : 0);
}

static enum hr_status do_backward(struct hr_stage *stage)
{
    const int64_t began = hr_clock_ns();
    const uint64_t n = stage->backwards;
    const size_t k = stage->rank;
    const struct hr_model *part = stage->pipeline->part[k];
    const struct hr_pipeline_micro *micro = &stage->at.micro[slot_of(stage, n)];
    struct hr_stage_update update = {
        .begin = hr_part_param_begin(part),
        .count = hr_model_param_count(part),
        .grads = hr_stage_grads(stage, k),
        .number = n,
        .index = micro->index, /* rank 0 may write the next one's as soon as dx is handed over */
        .samples = micro->count,
    };
    hr_stage_backward(stage, n, stage->stash ? stashed_at(stage, n) : NULL);
    update.loss_sum = k + 1 == stage->pipeline->ranks ? micro->result.loss_sum : 0;
    HR_TRY(stage->place.update(stage->place.update_arg, &update));
    count_staleness(stage, n);
    stage->backwards++;
    book(stage, began);
    return HR_OK;
}

/* --- rank 0 --- */

static bool all_are_drained(void *arg)
{
    const struct hr_stage *lead = arg;
    for (size_t k = 1; k < lead->pipeline->ranks; k++) /* partner: say_drained */
        if (hr_atom64_load_acquire(&lead->at.rank[k].done) < lead->forwards)
            return false;
    return true;
}

static enum hr_status finish_oldest(struct hr_stage *lead, const struct hr_stage_context *context,
                                    struct hr_stream_done *done)
{
    const struct hr_pipeline_micro *micro = &lead->at.micro[slot_of(lead, lead->backwards)];
    HR_TRY(hr_stage_wait(context, backward_may_begin, lead, "another stage of the pipeline"));
    HR_TRY(do_backward(lead));
    *done = (struct hr_stream_done){true, micro->index, micro->count, micro->result};
    return HR_OK;
}

static enum hr_status wait_for_room(struct hr_stage *lead, const struct hr_stage_context *context)
{
    return hr_stage_wait(context, hr_stage_may_publish, lead,
                         "another machine to take a minibatch");
}

/* Where weights and gradients are, before the first minibatch. */
static void begin(struct hr_stage *lead, const struct hr_stage_task *task)
{
    struct hr_pipeline_step *step = lead->at.step;
    step->weights = (uintptr_t)task->weights - (uintptr_t)lead->place.origin;
    step->grads = (uintptr_t)task->grads - (uintptr_t)lead->place.origin;
    hr_atom64_store_release(&step->begun, 1); /* partner: forward_may_begin */
    hr_remote_publish(lead, true);
}

enum hr_status hr_stream_put(struct hr_stage *lead, const struct hr_stage_context *context,
                             const struct hr_stage_task *task, struct hr_stream_done *done)
{
    const int64_t began = hr_clock_ns();
    struct hr_pipeline_micro *micro = &lead->at.micro[slot_of(lead, lead->forwards)];
    *done = (struct hr_stream_done){0};
    HR_TRY(wait_for_room(lead, context));
    if (lead->forwards == 0)
        begin(lead, task);
    micro->index = task->index;
    micro->count = task->count;
    do_forward(lead);
    if (is_full(lead))
        HR_TRY(finish_oldest(lead, context, done));
    lead->place.account->span_ns += hr_clock_ns() - began;
    return HR_OK;
}

enum hr_status hr_stream_drain(struct hr_stage *lead, const struct hr_stage_context *context,
                               struct hr_stream_done *done)
{
    const int64_t began = hr_clock_ns();
    *done = (struct hr_stream_done){0};
    if (!drains(lead)) {
        HR_TRY(wait_for_room(lead, context));
        hr_atom64_store_release(&lead->at.step->drains, lead->forwards); /* partner: drains */
        hr_remote_drain(lead);
        hr_stage_ring_all(lead);
    }
    if (on_their_way(lead))
        HR_TRY(finish_oldest(lead, context, done));
    else
        HR_TRY(hr_stage_wait(context, all_are_drained, lead, "the other stages of the pipeline"));
    lead->place.account->stale.since *= on_their_way(lead) > 0;
    lead->place.account->span_ns += hr_clock_ns() - began;
    return HR_OK;
}

/* --- the others --- */

/* Nothing of what drains is on its way here, and it has not said so. */
static bool is_drained(const struct hr_stage *stage)
{
    const struct hr_atom64 *done = &stage->at.rank[stage->rank].done; /* its own word */
    return drains(stage) && !on_their_way(stage) && hr_atom64_load_relaxed(done) < stage->backwards;
}

static bool has_next(void *arg)
{
    const struct hr_stage *stage = arg;
    if (hr_stage_is_over(stage) && next_of(stage) != BACKWARD)
        return true;
    if (!hr_remote_has_room(stage))
        return false;
    if (is_drained(stage))
        return true;
    return next_of(stage) == BACKWARD ? backward_may_begin(arg) : forward_may_begin(stage);
}

static void say_drained(struct hr_stage *stage)
{
    stage->place.account->stale.since = 0;
    hr_atom64_store_release(&stage->at.rank[stage->rank].done, /* partner: all_are_drained */
                            stage->backwards);
    hr_remote_drained(stage);
    hr_stage_ring_all(stage);
}

static void begin_next(struct hr_stage *stage, const struct hr_stage_context *context)
{
    hr_control_step(context->control, context->rank,
                    stage->at.micro[slot_of(stage, stage->forwards)].index);
    hr_stage_report(stage, &context->control->rank[context->rank].gauge, stage->backwards,
                    context->waiter->waited_ns);
    do_forward(stage);
}

enum hr_status hr_stream_serve(struct hr_stage *stage, const struct hr_stage_context *context)
{
    const int64_t timeout = context->waiter->timeout_ns;
    for (;;) {
        /* Rank 0 begins minibatches when it may: evaluations and saves take their time. */
        context->waiter->timeout_ns = next_of(stage) == BACKWARD ? timeout : 0;
        HR_TRY(hr_stage_wait(context, has_next, stage, "another stage of the pipeline"));
        if (hr_stage_is_over(stage))
            return HR_OK;
        if (is_drained(stage))
            say_drained(stage);
        else if (!is_full(stage) && forward_may_begin(stage))
            begin_next(stage, context);
        else if (next_of(stage) == BACKWARD && backward_may_begin(stage))
            HR_TRY(do_backward(stage));
    }
}
