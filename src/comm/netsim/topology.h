/* topology.h - who is wired to whom: nodes, links, and the routes between them.
 *
 * Text:      one statement a line, blanks between words, # begins a comment.
 *
 *     gpu NAME...                 nodes that are ranks, in this order
 *     node NAME...                other nodes: switches, processors, hosts
 *     link A B 16GB/s [5us] [x2] [shared NAME]
 *                                 a full-duplex wire: bandwidth of a direction, latency (none), x2:
 *                                 two lanes side by side. All links that are `shared` by one name
 *                                 are one medium: a transfer on any, either way, has it
 *                                 for itself.
 *
 * Families:  star:N (ranks around a switch) and ring:N, on paper, all links alike.
 * Routes:    fewest links; among those the widest; among those the one found first, walking from
 *            the destination over links in the order of the text. Ranks forward where they are on
 *            the way.
 * Limits:    HR_TOPOLOGY_*; checked before memory is taken.
 * Threads:   const after open.
 * Test:      tests/unit/netsim/test_topology.c
 */
#ifndef HR_NETSIM_TOPOLOGY_H
#define HR_NETSIM_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* === one link: how many bytes per second, and how long the first of them takes ===
 *
 * Text:      BANDWIDTH[,LATENCY], as 16GB/s,5us; the same in --link and in topology files.
 * Units:     times of the cost model are whole picoseconds: 4 bytes at 16 GB/s are 250, and sums
 *            do not depend on their order. What is longer than HR_PS_NEVER (53 days) is cut to
 *            it. */

#define HR_PS_NEVER ((int64_t)1 << 62)

struct hr_link {
    double bandwidth; /* bytes/s, of one lane and direction; > 0 */
    int64_t latency_ps;
};

/* Read BANDWIDTH[,LATENCY]. HR_E_USAGE: "<where><text>: ..." with what is expected. */
HR_CHECKED enum hr_status hr_link_parse(const char *where, const char *text, struct hr_link *out);

/* How long `bytes` occupy a link of this bandwidth. */
int64_t hr_link_busy_ps(uint64_t bytes, double bandwidth);

/* a + b, at most HR_PS_NEVER. Neither is negative or more than that. */
static inline int64_t hr_ps_add(int64_t a, int64_t b)
{
    return a < HR_PS_NEVER - b ? a + b : HR_PS_NEVER;
}

static inline double hr_ps_seconds(int64_t ps)
{
    return (double)ps / 1e12;
}

enum {
    HR_TOPOLOGY_RANKS = 1024,
    HR_TOPOLOGY_NODES = 2048,
    HR_TOPOLOGY_WIRES = 16384,
    HR_TOPOLOGY_LANES = 64,
    HR_TOPOLOGY_NAME = 32,
    HR_TOPOLOGY_NONE = 0xffff /* no such node, wire, medium */
};

struct hr_node {
    char name[HR_TOPOLOGY_NAME];
};

/* A link of the text: two directions. */
struct hr_topology_wire {
    uint16_t a, b; /* nodes */
    uint16_t lanes;
    uint16_t medium; /* HR_TOPOLOGY_NONE: its own */
    struct hr_link link;
};

struct hr_topology {
    size_t nnodes, nranks, nwires, nmedia;
    struct hr_node *node;          /* (nnodes) owned, as all that follow */
    uint16_t *rank_node;           /* (nranks) */
    struct hr_topology_wire *wire; /* (nwires) */
    struct hr_node *medium;        /* (nmedia) */
    uint16_t *next;                /* (nnodes, nnodes) from, to: the wire to take first */
};

/* star:N, ring:N with links like `link`, or else a file. HR_E_USAGE, HR_E_FORMAT ("file:line:
 * what: expected"), HR_E_IO, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_topology_open(const char *what, const struct hr_link *link,
                                           struct hr_topology *out);

/* A topology from text; `name` begins messages. */
HR_CHECKED enum hr_status hr_topology_parse(const char *name, const char *text,
                                            struct hr_topology *out);

/* Harmless on a zeroed struct. */
void hr_topology_fini(struct hr_topology *topology);

/* The node of that name, or HR_TOPOLOGY_NONE. */
size_t hr_topology_node(const struct hr_topology *topology, const char *name);

/* The other end of a wire. */
static inline size_t hr_wire_across(const struct hr_topology_wire *wire, size_t node)
{
    return wire->a == node ? wire->b : wire->a;
}

/* Of all its lanes together. */
static inline double hr_wire_bandwidth(const struct hr_topology_wire *wire)
{
    return wire->link.bandwidth * wire->lanes;
}

/* One more wire, before routes are made. */
HR_CHECKED enum hr_status hr_topology_add_wire(struct hr_topology *topology,
                                               const struct hr_topology_wire *wire);

#endif
