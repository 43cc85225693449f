#include "machines/machines.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/size.h"

/* One may read a large data set before it comes to where another waits. */
static const int64_t BEGIN_NS = 600 * HR_NS_PER_SECOND, PART_NS = 5 * HR_NS_PER_SECOND;

/* The same bits on all: what one has not, none uses. */
static void settle_isa(const struct hr_machines *machines)
{
    char(*const host)[HR_WIRE_HOST] = machines->wire->host;
    const struct hr_machine_traits *traits = machines->traits;
    const bool says = machines->wire->self == 0;
    size_t lowest = 0, highest = 0, with_amx = 0, without_amx = 0;
    for (size_t m = 0; m < machines->wire->machines; m++) {
        lowest = traits[m].level < traits[lowest].level ? m : lowest;
        highest = traits[m].level > traits[highest].level ? m : highest;
        *(traits[m].sums_as_amx ? &with_amx : &without_amx) = m;
    }
    const char *name = hr_isa_level_name(traits[lowest].level);
    const bool apart = traits[with_amx].sums_as_amx && !traits[without_amx].sums_as_amx;
    if (says && traits[lowest].level < traits[highest].level)
        hr_log(HR_LOG_INFO, "%s has the instruction set %s, and %s no more than %s: all use %s",
               host[highest], traits[highest].isa, host[lowest], name, name);
    else if (says && apart)
        hr_log(HR_LOG_INFO, "%s has AMX tiles, or their order, and %s has not: none uses it",
               host[with_amx], host[without_amx]);
    if (traits[lowest].level < hr_isa())
        hr_isa_lower(traits[lowest].level);
    if (!traits[without_amx].sums_as_amx)
        hr_isa_sum_as_amx(false);
}

enum hr_status hr_machines_open(struct hr_wire *wire, struct hr_machines *out)
{
    struct hr_machine_traits mine = {
        .processors = hr_cpus_allowed(), .level = hr_isa(), .sums_as_amx = hr_isa_sums_as_amx()};
    snprintf(mine.isa, sizeof mine.isa, "%s", hr_isa_full_name());
    *out = (struct hr_machines){.wire = wire, .processors = (size_t)mine.processors};
    hr_together_open(wire, BEGIN_NS, &out->together);
    HR_TRY(hr_together_clock(&out->together));
    HR_TRY(hr_together_gather(&out->together, &mine, sizeof mine, out->traits,
                              "all machines to begin"));
    for (size_t m = 0; m < wire->machines; m++)
        out->processors = hr_min_size(out->processors, (size_t)out->traits[m].processors);
    settle_isa(out);
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
