#include "stages/spans.h"

#include <stdlib.h>

static size_t actions_of(const struct hr_pipeline *pipeline, size_t rank)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    return o->schedule->actions(&o->shape, rank, NULL);
}

size_t hr_spans_of_a_stage(const struct hr_pipeline *pipeline)
{
    size_t most = 0;
    for (size_t k = 0; k < pipeline->ranks; k++)
        most = actions_of(pipeline, k) > most ? actions_of(pipeline, k) : most;
    return most * pipeline->ranks <= HR_SPANS ? most : 0;
}

static char letter_of(enum hr_stage_work work)
{
    static const char letters[] = {'F', 'B', 'D', 'W'};
    return letters[work];
}

static void put(struct hr_stage_span *span, size_t stage, const struct hr_stage_action *action)
{
    *span = (struct hr_stage_span){.stage = stage,
                                   .work = letter_of(action->work),
                                   .micro_batch = action->micro,
                                   .chunk = action->chunk};
}

static enum hr_status take(struct hr_stage_span **span, size_t n)
{
    *span = n && n <= HR_SPANS ? calloc(n, sizeof **span) : NULL;
    if (n && n <= HR_SPANS && !*span)
        return hr_fail(HR_E_NOMEM, "no memory for a picture of %zu actions", n);
    return HR_OK;
}

enum hr_status hr_spans_of_walk(const struct hr_pipeline_walk *walk, double unit_s,
                                struct hr_stage_span **span, size_t *n)
{
    size_t all = 0;
    *n = 0;
    for (size_t k = 0; k < walk->shape.stages; k++)
        all += walk->rank[k].count;
    HR_TRY(take(span, all));
    for (size_t k = 0; *span && k < walk->shape.stages; k++)
        for (size_t i = 0; i < walk->rank[k].count; i++) {
            const struct hr_pipeline_span *of = &walk->rank[k].span[i];
            struct hr_stage_span *to = &(*span)[(*n)++];
            put(to, k, &of->action);
            to->start_s = (double)of->start * unit_s;
            to->end_s = (double)of->end * unit_s;
        }
    return HR_OK;
}

enum hr_status hr_spans_of_step(const struct hr_pipeline *pipeline,
                                const struct hr_stage_when *when, struct hr_stage_span **span,
                                size_t *n)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    const size_t most = hr_spans_of_a_stage(pipeline), all = most * pipeline->ranks;
    struct hr_stage_action *list = calloc(most + 1, sizeof *list);
    int64_t began = INT64_MAX;
    *n = 0;
    *span = NULL;
    if (!list)
        return hr_fail(HR_E_NOMEM, "no memory for a picture of %zu actions", all);
    for (size_t i = 0; i < all; i++)
        if (when[i].end_ns && when[i].start_ns < began)
            began = when[i].start_ns;
    const enum hr_status status = began < INT64_MAX ? take(span, all) : HR_OK;
    for (size_t k = 0; *span && k < pipeline->ranks; k++) {
        const size_t count = o->schedule->actions(&o->shape, k, list);
        for (size_t i = 0; i < count; i++) {
            struct hr_stage_span *to = &(*span)[(*n)++];
            put(to, k, &list[i]);
            to->start_s = (double)(when[k * most + i].start_ns - began) * 1e-9;
            to->end_s = (double)(when[k * most + i].end_ns - began) * 1e-9;
        }
    }
    free(list);
    return status;
}
