/* How gradients travel: in place or through the rings, over emulated links. */
#include <string.h>

#include "base/parse.h"
#include "group/executor.h"
#include "train/run.h"

/* Payload of a ring slot. Large, so that a bucket is sent in one go, as a network card would, and
 * backward need not be interrupted for every piece. */
static size_t slot_bytes(size_t workers)
{
    enum { PAYLOAD = 64 << 20, LARGEST = 1 << 20, LEAST = 4096 };
    const size_t streams = workers * (2 * workers - 1);
    size_t slot = LARGEST;
    while (slot > LEAST && slot * streams * HR_STREAM_SLOTS > PAYLOAD)
        slot /= 2;
    return slot;
}

enum hr_status hr_links_setup(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_group_options *group = &run->shared.group_options;
    group->copies = run->job.choices.transport == HR_TRANSPORT_COPY;
    if (group->copies)
        group->slot_bytes = slot_bytes(run->shared.workers);
    if (!o->link[0] || run->job.simulated || run->shared.workers == 1)
        return HR_OK; /* simulated: conditions.c reads it; one worker sends nothing */
    return hr_wires_open(&run->job.wires, run->shared.workers, o->link, NULL, 1);
}
