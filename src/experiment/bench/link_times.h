/* link_times.h - results of `hogring bench links`: plans over links, rings, laws of servers. */
#ifndef HR_BENCH_LINK_TIMES_H
#define HR_BENCH_LINK_TIMES_H

#include <jansson.h>
#include <stdio.h>

#include "netsim/walk.h"
#include "netsim/rings.h"

/* One algorithm. */
struct hr_links_row {
    char algorithm[64];
    char formula[64];    /* the textbook's; "": none */
    double textbook_s;   /* its value; NaN: none */
    struct hr_walk walk; /* owned by the row's maker */
    double emulated_s;   /* measured over throttled rings, in the topology's time; NaN: not */
};

struct hr_links_table {
    const char *name; /* of the topology, as it was asked for */
    const struct hr_topology *topology;
    uint64_t bytes;
    double bandwidth; /* B of the formulas: of the slowest lane at a rank */
    const char *root; /* name of the master's node */
    size_t workers;
    double slower; /* what the bandwidths were divided by for the emulation; 0: there was none */
    struct hr_links_row row[16];
    size_t n;
};

/* Time of one synchronisation round, for each number of workers (from 1) and servers. */
enum { HR_SWEEP_WORKERS = 32, HR_SWEEP_SERVERS = 4 };

struct hr_sweep {
    uint64_t bytes;
    struct hr_link link;
    size_t servers[HR_SWEEP_SERVERS];
    double seconds[HR_SWEEP_WORKERS][HR_SWEEP_SERVERS];
    double slope_s[HR_SWEEP_SERVERS]; /* a worker, fitted where workers >= servers */
    double law_s[HR_SWEEP_SERVERS];   /* 2 N / (n B) */
};

void hr_links_print(FILE *out, const struct hr_links_table *table);
void hr_sweep_print(FILE *out, const struct hr_sweep *sweep);
void hr_rings_print(FILE *out, const struct hr_topology *topology, const struct hr_rings *rings);

/* The same as {"rows": [...]} (json/value.h). */
json_t *hr_json_links(const struct hr_links_table *table);
json_t *hr_json_sweep(const struct hr_sweep *sweep);
json_t *hr_json_rings(const struct hr_topology *topology, const struct hr_rings *rings);

#endif
