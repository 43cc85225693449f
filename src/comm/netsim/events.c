#include "netsim/events.h"

#include <stdlib.h>

static bool before(const struct hr_event *a, const struct hr_event *b)
{
    return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static enum hr_status make_room(struct hr_events *events)
{
    if (events->n < events->capacity)
        return HR_OK;
    const size_t capacity = events->capacity ? 2 * events->capacity : 64;
    struct hr_event *heap = realloc(events->heap, capacity * sizeof *heap);
    if (!heap)
        return hr_fail(HR_E_NOMEM, "no memory for %zu events", capacity);
    events->heap = heap;
    events->capacity = capacity;
    return HR_OK;
}

enum hr_status hr_events_push(struct hr_events *events, int64_t time, uint64_t what)
{
    HR_TRY(make_room(events));
    const struct hr_event event = {time, events->inserted++, what};
    size_t at = events->n++;
    for (; at > 0 && before(&event, &events->heap[(at - 1) / 2]); at = (at - 1) / 2)
        events->heap[at] = events->heap[(at - 1) / 2];
    events->heap[at] = event;
    return HR_OK;
}

/* Let the hole at the top sink until `event` fits there. */
static size_t sink(struct hr_events *events, const struct hr_event *event)
{
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < events->n; at = child) {
        if (child + 1 < events->n && before(&events->heap[child + 1], &events->heap[child]))
            child++;
        if (!before(&events->heap[child], event))
            break;
        events->heap[at] = events->heap[child];
    }
    return at;
}

bool hr_events_pop(struct hr_events *events, int64_t *time, uint64_t *what)
{
    if (events->n == 0)
        return false;
    *time = events->heap[0].time;
    *what = events->heap[0].what;
    const struct hr_event last = events->heap[--events->n];
    events->heap[sink(events, &last)] = last;
    return true;
}

void hr_events_fini(struct hr_events *events)
{
    free(events->heap);
    *events = (struct hr_events){0};
}
