/* bench_store.h - hogring bench store: one measurement (bench_store_loop.c), and the sweep over
 * workers and servers (bench_store.c).
 *
 * The loop: all workers meet at the store's barrier; each begins a push_pull of every key, and
 * waits for all; the time of an iteration is that of its slowest worker. An emulated link of a
 * server is a rule of update that takes as long as the link would: it carries one part at a time,
 * there and back.
 */
#ifndef HR_BENCH_STORE_H
#define HR_BENCH_STORE_H

#include <stdbool.h>

#include "options/command_line.h"
#include "hogring/group.h"
#include "report/benches.h"
#include "netsim/link.h"

enum { HR_STORE_BENCH_KEYS = 1024 };

struct hr_store_case {
    struct hr_world_options world; /* nranks and arena_bytes are set here */
    const char *placement;
    size_t workers, servers;
    size_t keys;  /* 1 .. HR_STORE_BENCH_KEYS, and at most bytes / 4 */
    size_t bytes; /* of all keys */
    bool synchronous, own_memory;
    struct hr_link link; /* bandwidth 0: as fast as memory */
};

/* Measure it; fills *row. */
HR_CHECKED enum hr_status hr_store_measure(const struct hr_store_case *what,
                                           struct hr_store_row *row);

HR_CHECKED enum hr_status hr_bench_store(struct hr_cli *cli);

#endif
