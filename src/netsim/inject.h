/* inject.h - trouble on purpose: ranks that are slower than their model says, or that stall.
 *
 * Text:      a comma list of
 *                slow:RANKxF          every step of RANK takes F times as long
 *                slow:RANKxF@P%       only with probability P %, drawn for each step by itself
 *                stall:RANK@step=N+T  RANK waits T before its step N (counted from 0)
 *                load:RANK+T          every batch of RANK takes T longer to load
 *            RANK is a rank or * for every one of them; F 0.001 to 1000; P up to 100; T a time, at
 *            most 24h. As slow:3x2,slow:*x3@10%,stall:1@step=50+3s. What applies to one step is
 *            multiplied; stalls and loading come on top and are not stretched.
 *            kill:RANK@step=N is not there yet, and is refused with a line that says so.
 * Draws:     Philox of (seed, rank, step, place in the list): the same everywhere.
 * Threads:   const after parse.
 * Test:      tests/unit/netsim/test_inject.c
 */
#ifndef HR_NETSIM_INJECT_H
#define HR_NETSIM_INJECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "netsim/link.h"

enum { HR_INJECT_ENTRIES = 64 };

enum hr_inject_kind { HR_INJECT_SLOW, HR_INJECT_STALL, HR_INJECT_LOAD };

#define HR_INJECT_ALL SIZE_MAX /* as a rank: every one */

struct hr_inject_entry {
    enum hr_inject_kind kind;
    size_t rank;
    double factor;      /* slow */
    double probability; /* slow: 0 to 1 */
    uint64_t step;      /* stall */
    int64_t ps;         /* stall, load */
};

/* All zero: nothing is injected. */
struct hr_inject {
    size_t n;
    struct hr_inject_entry entry[HR_INJECT_ENTRIES];
};

/* Read the list for a run of `nranks`; "" is nothing. HR_E_USAGE: "<where><entry>: expected ...".
 * On error *out is untouched. */
HR_CHECKED enum hr_status hr_inject_parse(const char *where, const char *text, size_t nranks,
                                          struct hr_inject *out);

/* How long the gradient of step `step` of `rank` takes instead of base_ps, without stalls and
 * loading. At most HR_PS_NEVER, as those below. */
int64_t hr_inject_ps(const struct hr_inject *inject, uint64_t seed, size_t rank, uint64_t step,
                     int64_t base_ps);
/* How long it stalls before that step. */
int64_t hr_inject_stall_ps(const struct hr_inject *inject, size_t rank, uint64_t step);
/* How much longer each of its batches takes to load. */
int64_t hr_inject_load_ps(const struct hr_inject *inject, size_t rank);

#endif
