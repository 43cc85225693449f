/* links.h - when messages pass over the links of a topology, and how busy that makes them.
 *
 * Model:     a path of links is held whole and cut through:
 *                start      = the latest of now and when its links are free
 *                links free = start + bytes / smallest bandwidth of the path
 *                arrival    = links free + all latencies
 *            A wire has two channels, one a direction; a shared medium is one more channel, held
 *            by whatever crosses a wire on it, either way. Who asks first goes first: a gap before
 *            a message that waits is not given to a later one.
 * Channels:  0 .. 2 nwires - 1: wire w from its a is 2 w, from its b 2 w + 1; then the media.
 * Threads:   none.
 * Test:      tests/unit/netsim/test_virtual_links.c, test_emulated_links.c
 */
#ifndef HR_NETSIM_LINKS_H
#define HR_NETSIM_LINKS_H

#include <stddef.h>

#include "base/error.h"
#include "netsim/topology.h"
#include "shm/atom.h"

struct hr_channel {
    int64_t free_ps; /* when the last message that wants it has passed */
    int64_t busy_ps; /* in all */
    uint64_t bytes, messages;
    uint64_t last; /* message that held it, counted in struct hr_links */
};

struct hr_links {
    const struct hr_topology *topology; /* borrowed */
    uint64_t sent;                      /* messages */
    size_t nchannels;
    struct hr_channel *channel; /* (nchannels) owned */
};

struct hr_passage {
    int64_t start_ps, free_ps, arrival_ps;
};

/* All links free at time 0. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_links_init(struct hr_links *links, const struct hr_topology *topology);
void hr_links_fini(struct hr_links *links);
/* As after init. */
void hr_links_clear(struct hr_links *links);

/* Send `bytes` from node to node at `now_ps`, and say when they start, leave and arrive. Calls are
 * in order of time. A node's message to itself passes at once. */
struct hr_passage hr_links_send(struct hr_links *links, size_t from, size_t to, int64_t now_ps,
                                uint64_t bytes);

/* Is a channel of the way busy at now_ps? If so, *channel is the one that is busy longest, the
 * first among equals. */
bool hr_links_busy(const struct hr_links *links, size_t from, size_t to, int64_t now_ps,
                   size_t *channel);

/* The first channel of the way from one node to another one. */
size_t hr_links_first_channel(const struct hr_links *links, size_t from, size_t to);

/* The channel that was busy longest, a medium before a wire and the first among equals. */
size_t hr_links_busiest(const struct hr_links *links);

enum { HR_CHANNEL_NAME = 2 * HR_TOPOLOGY_NAME + 16 };

/* "gpu0>switch", or "host (shared)". Returns text. */
char *hr_channel_name(const struct hr_topology *topology, size_t channel,
                      char text[HR_CHANNEL_NAME]);

/* === when would what is sent now arrive, if links were all there is? ===
 *
 * From each rank to each other leads a path of channels as above, but in real time and for ranks
 * that run at once: when a channel is free next is a word in shared memory, which every sender over
 * it moves on. A message holds each channel of its path for bytes / smallest bandwidth, and arrives
 * when it has passed the last, plus the latencies.
 *
 *     HR_TRY(hr_wires_open(&wires, nranks, "1GB/s,5us", NULL, 1));
 *     wires.free_at = ... hr_wires_bytes(&wires), zeroed, in the segment
 *     hr_wires_close(&wires);
 *
 * Threads: hr_wires_send by any rank at any time; the description is constant. */

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
