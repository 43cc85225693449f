#include "timeline/flows.h"

#include <stdlib.h>

#include "observe/spans.h"

static size_t place_of(const struct hr_flows *flows, uint64_t number)
{
    return (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (flows->room - 1);
}

static struct hr_flow_end *find(const struct hr_flows *flows, uint64_t number)
{
    size_t at = place_of(flows, number);
    while (flows->slot[at].used && flows->slot[at].number != number)
        at = (at + 1) & (flows->room - 1);
    return &flows->slot[at];
}

static bool grow(struct hr_flows *flows)
{
    struct hr_flows more = {.room = flows->room ? 2 * flows->room : 1024};
    more.slot = calloc(more.room, sizeof *more.slot);
    if (!more.slot)
        return false;
    for (size_t i = 0; i < flows->room; i++)
        if (flows->slot[i].used)
            *find(&more, flows->slot[i].number) = flows->slot[i];
    more.n = flows->n;
    free(flows->slot);
    *flows = more;
    return true;
}

/* Those behind it in its row move up, where they were pushed back. */
static void forget(struct hr_flows *flows, struct hr_flow_end *end)
{
    size_t at = (size_t)(end - flows->slot);
    end->used = false;
    flows->n--;
    for (size_t next = (at + 1) & (flows->room - 1); flows->slot[next].used;
         next = (next + 1) & (flows->room - 1)) {
        const struct hr_flow_end moved = flows->slot[next];
        flows->slot[next].used = false;
        *find(flows, moved.number) = moved;
    }
}

bool hr_flows_match(struct hr_flows *flows, const struct hr_flow_end *end,
                    struct hr_flow_end *other)
{
    if (2 * (flows->n + 1) > flows->room && !grow(flows))
        return false;
    struct hr_flow_end *slot = find(flows, end->number);
    if (slot->used && slot->sent != end->sent) {
        *other = *slot;
        forget(flows, slot);
        return true;
    }
    flows->n += !slot->used; /* the same end once more: it was repeated */
    *slot = *end;
    slot->used = true;
    return false;
}

const char *hr_flow_name(uint64_t number)
{
    if (number & HR_STAGE_MESSAGE)
        return "activation";
    if (number & HR_PEER_MESSAGE)
        return "replica";
    return number >> 40 & 1 ? "request" : "reply";
}

void hr_flows_clear(struct hr_flows *flows)
{
    free(flows->slot);
    *flows = (struct hr_flows){0};
}
