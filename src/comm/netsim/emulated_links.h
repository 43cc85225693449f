/* emulated_links.h - when would what is sent now arrive, if links were all there is?
 *
 * From each rank to each other leads a path of channels, as in virtual_links.h, but in real time
 * and for ranks that run at once: when a channel is free next is a word in shared memory, which
 * every sender over it moves on. A message holds each channel of its path for bytes / smallest
 * bandwidth, and arrives when it has passed the last, plus the latencies.
 *
 *     HR_TRY(hr_wires_open(&wires, nranks, "1GB/s,5us", NULL, 1));
 *     wires.free_at = ... hr_wires_bytes(&wires), zeroed, in the segment
 *     hr_wires_close(&wires);
 *
 * Threads: hr_wires_send by any rank at any time; the description is constant.
 * Test: tests/unit/netsim/test_emulated_links.c
 */
#ifndef HR_NETSIM_EMULATED_LINKS_H
#define HR_NETSIM_EMULATED_LINKS_H

#include <stddef.h>

#include "base/error.h"
#include "shm/atom.h"

enum { HR_WIRE_HOPS = 32 }; /* on a path, at most */

struct hr_wire_path {
    uint16_t hops;
    uint16_t channel[HR_WIRE_HOPS];
    uint64_t latency_ns;
    double ns_per_byte;
};

/* The description is private (or the forked parent's); the words are shared. */
struct hr_wires {
    size_t nranks, nchannels;
    struct hr_wire_path *path; /* (nranks, nranks) from, to; owned */
    struct hr_atom64 *free_at; /* (nchannels) on the monotonic clock, ns; lent */
};

/* Either every rank has a link of its own to every other (`link`, as "1GB/s,5us"), or ranks are the
 * first nranks of a topology (as hr_topology_open has it, of links like `link` where it is a
 * family). Bandwidths are divided by `slower`. HR_E_USAGE, HR_E_FORMAT, HR_E_IO, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_wires_open(struct hr_wires *wires, size_t nranks, const char *link,
                                        const char *topology, double slower);
size_t hr_wires_bytes(const struct hr_wires *wires);
/* Harmless on a zeroed struct. */
void hr_wires_close(struct hr_wires *wires);

/* Send `bytes` from one rank to another now; when they arrive, on the monotonic clock in ns. */
uint64_t hr_wires_send(const struct hr_wires *wires, size_t from, size_t to, size_t bytes);

#endif
