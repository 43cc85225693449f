/* roofs.h - how fast this machine could compute and move data at best, and which of the two a
 * piece of work runs into.
 *
 *     compute   multiply-adds of a matrix product: OpenBLAS at 1024^3, or the register tile of
 *               tiles/tile_roof.h out of L1, whichever is faster; with the reference kernels the
 *               latter
 *     memory    x[i] = a * x[i] over a buffer that stays in L1, L2, L3, or in no cache: bytes read
 *               plus bytes written
 *
 * Work of F operations and B bytes that takes t seconds reaches F / t of the compute roof, and
 * B / t of the memory roof of the smallest level that B bytes fit into. The larger share says which
 * of the two binds it; where both are small it is neither, but overhead.
 *
 * All with as many threads as the work has, together. A roof is a median over rounds, which the
 * caller puts between rounds of the work, so that a disturbance hits both.
 * Source: Williams, Waterman, Patterson: "Roofline", CACM 2009.
 *
 * Threads: one thread measures; it starts a team (kernels/team.h).
 * Test: tests/unit/products/test_roofs.c
 */
#ifndef HR_PRODUCTS_ROOFS_H
#define HR_PRODUCTS_ROOFS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tiles/tile_roof.h"

enum hr_level { HR_LEVEL_L1, HR_LEVEL_L2, HR_LEVEL_L3, HR_LEVEL_MEMORY, HR_LEVELS };

/* "L1", "L2", "L3", "DRAM" */
const char *hr_level_name(enum hr_level level);

struct hr_roofs {
    enum hr_roof_kind kind; /* what is multiplied for the compute roof */
    size_t threads;
    double blas_flops; /* operations a second, two a multiply-add; 0: no BLAS in use for these */
    double tile_flops;
    double bytes_per_s[HR_LEVELS];
    double level_bytes[HR_LEVELS]; /* what stays there; 0: no such level; DRAM: infinite */
    /* How far the rounds left each of them open, as a share of it (hr_middle_spread). */
    double blas_spread, tile_spread, level_spread[HR_LEVELS];
};

/* A roof that wavers more than this is not fit to be divided by, and a share above 1 cannot be. */
#define HR_ROOF_MOST_SPREAD 0.05
bool hr_roofs_is_share(double of_roof, double spread);

/* The compute roof, and whether it is OpenBLAS's ("OpenBLAS" or "register tile"). */
double hr_roofs_flops(const struct hr_roofs *roofs);
const char *hr_roofs_flops_source(const struct hr_roofs *roofs);
double hr_roofs_flops_spread(const struct hr_roofs *roofs);

/* The smallest level that holds so many bytes, shared out over the threads. */
enum hr_level hr_roofs_level(const struct hr_roofs *roofs, double bytes);

/* --- judging --- */

struct hr_work {
    double madds; /* multiply-adds, two operations each */
    double bytes; /* at least to be read or written */
};

enum hr_bound { HR_BOUND_COMPUTE, HR_BOUND_MEMORY, HR_BOUND_OVERHEAD, HR_BOUNDS };

/* "compute", "memory", "overhead" */
const char *hr_bound_name(enum hr_bound bound);

/* Below this share of both roofs, neither of them limits: the time is overhead. */
#define HR_OVERHEAD_SHARE 0.1

struct hr_judgement {
    double flops, bytes_per_s;    /* reached */
    double of_compute, of_memory; /* as shares of the roofs */
    enum hr_level level;          /* whose roof */
    enum hr_bound bound;
};

/* seconds > 0 */
struct hr_judgement hr_roofs_judge(const struct hr_roofs *roofs, struct hr_work work,
                                   double seconds);

/* --- measuring --- */

struct hr_roof_meter;

/* Memory for `rounds` rounds with `threads` threads: twice L3, at least 64 MiB. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_roof_meter_create(enum hr_roof_kind kind, size_t threads,
                                               size_t rounds, struct hr_roof_meter **out);
void hr_roof_meter_destroy(struct hr_roof_meter *meter);

/* One measurement of every roof, some 50 ms; at most `rounds` of them. */
void hr_roof_meter_round(struct hr_roof_meter *meter);

/* The medians so far. */
struct hr_roofs hr_roof_meter_read(struct hr_roof_meter *meter);

#endif
