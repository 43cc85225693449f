/* link.h - one link: how many bytes a second, and how long the first of them takes.
 *
 * Text:      BANDWIDTH[,LATENCY], as 16GB/s,5us; the same in --link and in topology files.
 * Units:     times of the cost model are whole picoseconds: 4 bytes at 16 GB/s are 250, and sums
 *            do not depend on their order. What is longer than HR_PS_NEVER (53 days) is cut to it.
 */
#ifndef HR_NETSIM_LINK_H
#define HR_NETSIM_LINK_H

#include <stdint.h>

#include "base/error.h"

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

#endif
