#include "machines/machines.h"

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"

/* One may read a large data set before it comes to where another waits. */
static const int64_t BEGIN_NS = 600 * HR_NS_PER_SECOND, PART_NS = 5 * HR_NS_PER_SECOND;

enum hr_status hr_machines_open(struct hr_wire *wire, struct hr_machines *out)
{
    const uint64_t mine = hr_cpus_allowed();
    uint64_t all[HR_WIRE_MACHINES];
    *out = (struct hr_machines){.wire = wire, .processors = (size_t)mine};
    hr_together_open(wire, BEGIN_NS, &out->together);
    HR_TRY(hr_together_clock(&out->together));
    HR_TRY(hr_together_gather(&out->together, &mine, sizeof mine, all, "all machines to begin"));
    for (size_t m = 0; m < wire->machines; m++)
        out->processors = hr_min_size(out->processors, (size_t)all[m]);
    return HR_OK;
}

void hr_machines_close(struct hr_machines *machines)
{
    machines->together.timeout_ns = PART_NS;
    /* Who is not there has ended in another way, and has said so, or been missed. */
    const enum hr_status ignored = hr_together_part(&machines->together);
    (void)ignored;
    hr_together_close(&machines->together);
}
