/* flows.h - messages: one end of each is told before the other, in any order; both are needed.
 *
 * Threads: a table belongs to one. Test: tests/unit/timeline/test_flows.c
 */
#ifndef HR_TIMELINE_FLOWS_H
#define HR_TIMELINE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hr_flow_end {
    uint64_t number; /* of the message; both ends have it, and no other message */
    size_t rank;
    int64_t at_ns;
    bool sent; /* else it was taken */
    bool used;
};

/* Ends whose other has not been told: a hash table, open addressing. */
struct hr_flows {
    struct hr_flow_end *slot; /* (room) owned */
    size_t room, n;
};

/* Its other end, if that was told, into *other, and both are forgotten: true. Else it is kept. Of
 * ends for which there is no memory nothing is known. */
bool hr_flows_match(struct hr_flows *flows, const struct hr_flow_end *end,
                    struct hr_flow_end *other);
/* What a message of that number is: "request", "reply", "replica", "activation". */
const char *hr_flow_name(uint64_t number);
/* Forget all, and free them. */
void hr_flows_clear(struct hr_flows *flows);

#endif
