#include "group/member.h"

#include <stdio.h>

struct hr_bell *hr_member_bell_of(const struct hr_member *member, size_t rank)
{
    const struct hr_place *place = &member->place;
    return &place->control->rank[hr_place_world_rank(place, rank)].bell;
}

/* To each other rank go its chunk's part and the own chunk's sum; as much comes back. */
void hr_member_account_direct(struct hr_member *member, size_t count)
{
    const size_t n = member->options.nranks;
    const struct hr_layout layout = {
        .count = count, .elem_bytes = hr_type_bytes(member->job.kind.type), .nchunks = n};
    const uint64_t mine = hr_layout_region(&layout, member->rank, 1).bytes;
    for (size_t r = 0; r < n; r++)
        if (r != member->rank)
            hr_traffic_add(&member->traffic[r], mine + hr_layout_region(&layout, r, 1).bytes, 2);
}

enum hr_status hr_member_mismatch(const struct hr_member *member, const struct hr_call *mine,
                                  size_t peer, const struct hr_call *theirs)
{
    char here[160], there[160];
    hr_call_describe(here, sizeof here, mine);
    hr_call_describe(there, sizeof there, theirs);
    char group[24] = "";
    if (member->place.number)
        snprintf(group, sizeof group, "; in group %u", member->place.number);
    return hr_fail(HR_E_MISMATCH, "rank %zu called %s; rank %zu called %s%s", member->rank, here,
                   peer, there, group);
}

enum hr_status hr_member_name_failure(const struct hr_member *member, const char *what)
{
    char text[400];
    const enum hr_status first = hr_control_failure(member->place.control);
    snprintf(text, sizeof text, "%s", hr_error_message());
    return hr_fail(first == HR_E_LOST ? HR_E_LOST : HR_E_ABORTED,
                   "another rank failed while this one waited for %s: %s", what, text);
}
