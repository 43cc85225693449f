#include "stages/stage.h"

#include "observe/spans.h"
#include "stages/crew.h"

/* Of a micro-batch between part `before` and the next one, unlike all other messages of the run. */
static uint64_t number_of(const struct hr_stage *stage, size_t before, bool forward, size_t micro)
{
    const size_t M = stage->pipeline->options.shape.micro_batches;
    return HR_STAGE_MESSAGE | (uint64_t)stage->place.group << 52 | (uint64_t)before << 42 |
           (uint64_t)forward << 41 | ((stage->step * M + micro) & ((UINT64_C(1) << 41) - 1));
}

/* What travels between ranks: not where one has all parts. */
static void tell_messages(const struct hr_stage *stage, const struct hr_stage_action *action,
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

void hr_stage_acted(const struct hr_stage *stage, const struct hr_stage_action *action,
                    int64_t began_ns, int64_t ended_ns)
{
    struct hr_spans *spans = stage->place.spans;
    const enum hr_span_part part = action->work == HR_FORWARD ? HR_SPAN_FORWARD : HR_SPAN_BACKWARD;
    if (!spans)
        return;
    if (hr_stage_seat_of(stage) == 0) { /* the worker, whose account has it as computing */
        hr_account_look(stage->seat->waiter->account, ended_ns);
        hr_spans_name(spans, HR_SPAN_COMPUTE, part, began_ns, ended_ns);
    } else {
        if (stage->next == 0)
            hr_spans_step(spans, stage->at.step->index, began_ns);
        hr_spans_stage(spans, part, action->micro, began_ns, ended_ns);
    }
    tell_messages(stage, action, began_ns, ended_ns);
    if (hr_stage_seat_of(stage) && stage->next + 1 == stage->nactions)
        hr_spans_step_ends(spans, ended_ns);
}
