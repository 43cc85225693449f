#include "group/notices.h"

#include <string.h>

size_t hr_notices_bytes(size_t nranks)
{
    return 2 * nranks * sizeof(struct hr_slot);
}

static struct hr_slot *slot_of(const struct hr_notices *notices, size_t rank)
{
    return &notices->slots[notices->number % 2 * notices->nranks + rank];
}

const struct hr_slot *hr_notices_slot(const struct hr_notices *notices, size_t rank)
{
    return slot_of(notices, rank);
}

void hr_notices_post(struct hr_notices *notices, const struct hr_call *call, const void *payload,
                     size_t bytes)
{
    notices->number++;
    notices->next = 0;
    struct hr_slot *slot = slot_of(notices, notices->rank);
    slot->call = *call;
    if (bytes)
        memcpy(slot->payload, payload, bytes);
    hr_bell_ring(&slot->bell); /* partner: hr_notices_complete */
}

bool hr_notices_complete(struct hr_notices *notices)
{
    const uint32_t postings = (uint32_t)((notices->number + 1) / 2); /* made in each slot by now */
    for (; notices->next < notices->nranks; notices->next++)
        if (!hr_bell_has_rung(&slot_of(notices, notices->next)->bell, postings))
            return false;
    return true;
}

struct hr_bell *hr_notices_bell(const struct hr_notices *notices)
{
    return &slot_of(notices, notices->next < notices->nranks ? notices->next : notices->rank)->bell;
}
