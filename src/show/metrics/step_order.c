#include "metrics/step_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum hr_status hr_step_order_open(struct hr_step_order *order, size_t workers)
{
    *order = (struct hr_step_order){.workers = workers};
    order->newest = calloc(workers, sizeof *order->newest);
    return order->newest ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for %zu workers", workers);
}

void hr_step_order_close(struct hr_step_order *order)
{
    free(order->newest);
    free(order->pending);
    *order = (struct hr_step_order){.workers = 0};
}

/* Room for one more behind the last. */
static enum hr_status make_room(struct hr_step_order *order)
{
    const size_t n = order->end - order->first, room = order->room ? 2 * order->room : 64;
    if (order->end < order->room)
        return HR_OK;
    if (order->first > order->room / 2) {
        memmove(order->pending, order->pending + order->first, n * sizeof *order->pending);
        order->first = 0;
        order->end = n;
        return HR_OK;
    }
    struct hr_merged_step *grown = realloc(order->pending, room * sizeof *grown);
    if (!grown)
        return hr_fail(HR_E_NOMEM, "no memory for %zu steps", room);
    order->pending = grown;
    order->room = room;
    return HR_OK;
}

/* That of this step, made in its place where there is none: most come near the end. */
static struct hr_merged_step *place_of(struct hr_step_order *order, uint64_t step)
{
    size_t at = order->end;
    while (at > order->first && order->pending[at - 1].step > step)
        at--;
    if (at > order->first && order->pending[at - 1].step == step)
        return &order->pending[at - 1];
    memmove(order->pending + at + 1, order->pending + at,
            (order->end - at) * sizeof *order->pending);
    order->end++;
    order->pending[at] = (struct hr_merged_step){.step = step};
    return &order->pending[at];
}

enum hr_status hr_step_order_add(struct hr_step_order *order, const struct hr_step_report *step)
{
    HR_TRY(make_room(order));
    struct hr_merged_step *merged = place_of(order, step->step);
    uint64_t *newest = &order->newest[step->worker];
    *newest = step->step > *newest ? step->step : *newest;
    merged->seconds = step->seconds > merged->seconds ? step->seconds : merged->seconds;
    merged->lr = step->lr;
    merged->rows = step->rows;
    if (step->dropped)
        return HR_OK;
    if (isfinite(step->norm)) {
        merged->norm += step->norm;
        merged->norms++;
    }
    merged->loss += step->loss * (double)step->batch;
    merged->samples += step->batch;
    return HR_OK;
}

static uint64_t told_by_all(const struct hr_step_order *order)
{
    uint64_t least = UINT64_MAX;
    for (size_t w = 0; w < order->workers; w++)
        least = order->newest[w] < least ? order->newest[w] : least;
    return least;
}

bool hr_step_order_next(struct hr_step_order *order, uint64_t complete, struct hr_merged_step *out)
{
    if (order->first == order->end)
        return false;
    const uint64_t step = order->pending[order->first].step;
    if (step > complete && step > told_by_all(order))
        return false;
    *out = order->pending[order->first++];
    if (order->first == order->end)
        order->first = order->end = 0;
    return true;
}
