/* wires.h - emulated links: when would what is sent now arrive, if memory were that slow?
 *
 * From each rank to each other leads a path of links. Each link carries one message at a time: a
 * message holds a link from when it is free for bytes / bandwidth, and arrives when its last byte
 * has passed the last link, plus the latencies. When a link is free next is a word in shared
 * memory, which every sender over it moves on.
 *
 * Threads: hr_wires_send by any rank at any time.
 * Test: tests/schedule/test_wires.c
 */
#ifndef HR_SCHEDULE_WIRES_H
#define HR_SCHEDULE_WIRES_H

#include <stddef.h>

#include "shm/atom.h"

enum { HR_WIRE_LINKS = 8 }; /* on a path, at most */

struct hr_wire_path {
    uint16_t nlinks;
    uint16_t link[HR_WIRE_LINKS];
    int64_t latency_ns;
    double ns_per_byte[HR_WIRE_LINKS];
};

/* The description is private (or the forked parent's); the words are shared. */
struct hr_wires {
    size_t nranks, nlinks;
    struct hr_wire_path *path; /* (nranks, nranks) from, to */
    struct hr_atom64 *free_at; /* (nlinks) on the monotonic clock, ns */
};

/* Send `bytes` from one rank to another now; when they arrive, on the monotonic clock in ns. */
uint64_t hr_wires_send(const struct hr_wires *wires, size_t from, size_t to, size_t bytes);

#endif
