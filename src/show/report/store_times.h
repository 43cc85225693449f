/* store_times.h - results of `hogring bench store`: push_pull over workers, servers and sizes. */
#ifndef HR_REPORT_STORE_TIMES_H
#define HR_REPORT_STORE_TIMES_H

#include "terminal/grid.h"

struct hr_store_row {
    char setup[32]; /* "2W1PS", "2W2PS colocated" */
    const char *placement;
    size_t workers, servers;
    size_t bytes; /* of all keys */
    double p10_us, p50_us, p90_us;
    double gbs;     /* pushed and pulled by all workers, over p50; GB/s, decimal */
    double law_us;  /* data / total bandwidth of the emulated links; NaN: there are none */
    double balance; /* largest shard over the mean */
    size_t wrong;   /* elements with a wrong value */
};

/* What all rows have in common. */
struct hr_store_table {
    const char *launch, *buffers, *strategy, *link;
    size_t keys;
    const struct hr_store_row *row;
    size_t n;
};

/* Its heads; rows are shown as they come. */
void hr_store_begin(struct hr_grid *cells, FILE *out, const struct hr_store_table *table);
void hr_store_print_row(struct hr_grid *cells, FILE *out, const struct hr_store_row *row);

#endif
