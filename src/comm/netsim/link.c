#include "netsim/link.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

/* Larger values are taken for a mistake. */
static const double least_bandwidth = 1, most_bandwidth = 1e15, most_latency_s = 3600;

static bool parse(const char *text, struct hr_link *link)
{
    char bandwidth[64];
    double latency_s = 0;
    const char *comma = strchr(text, ',');
    const size_t length = comma ? (size_t)(comma - text) : strlen(text);
    if (length >= sizeof bandwidth)
        return false;
    snprintf(bandwidth, sizeof bandwidth, "%.*s", (int)length, text);
    if (!hr_parse_bandwidth(bandwidth, &link->bandwidth) || link->bandwidth < least_bandwidth ||
        link->bandwidth > most_bandwidth)
        return false;
    if (comma && (!hr_parse_duration(comma + 1, &latency_s) || latency_s > most_latency_s))
        return false;
    link->latency_ps = llround(latency_s * 1e12);
    return true;
}

enum hr_status hr_link_parse(const char *where, const char *text, struct hr_link *out)
{
    struct hr_link link;
    if (!parse(text, &link))
        return hr_fail(HR_E_USAGE,
                       "%s%s: expected BANDWIDTH[,LATENCY], as 16GB/s or 16GB/s,5us (1B/s to "
                       "1000TB/s, at most 1h)",
                       where, text);
    *out = link;
    return HR_OK;
}

int64_t hr_link_busy_ps(uint64_t bytes, double bandwidth)
{
    const double ps = (double)bytes * 1e12 / bandwidth;
    return ps < (double)HR_PS_NEVER ? (int64_t)llround(ps) : HR_PS_NEVER;
}
