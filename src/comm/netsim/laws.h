/* laws.h - what the literature says that synchronisation costs, beside which a walk is put.
 *
 * Words:     N bytes, P workers, B bytes/s of a link.
 * Test:      tests/unit/netsim/test_laws.c
 */
#ifndef HR_NETSIM_LAWS_H
#define HR_NETSIM_LAWS_H

#include "plan/plan.h"
#include "netsim/link.h"

/* The formula for an algorithm, or NULL where there is none.
 *   master-worker   2 (P - 1) N / B; P instead of P - 1 where the root is no worker
 *   ring, direct    2 (N / P) (P - 1) / B
 *   bidirectional-ring   half of that
 *   tree            log2(P) N / B */
const char *hr_law_formula(const char *algorithm);

/* Its value in seconds; NaN where there is none. `others`: workers besides the root. */
double hr_law_seconds(const char *algorithm, size_t workers, size_t others, double bytes,
                      double bandwidth);

/* How long the round takes with `workers` and `servers` around one switch, each on a link like
 * `link`. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_law_server_round(size_t workers, size_t servers, uint64_t bytes,
                                              const struct hr_link *link, int64_t *ps);

/* Slope of the line through n points, by least squares; n >= 2, x not all equal. */
double hr_law_slope(const double *x, const double *y, size_t n);

#endif
