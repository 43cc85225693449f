/* records.h - what ranks tell the launcher, each in one message of a ring (shm/ring.h).
 *
 * A kind of record is a struct of 64 bytes with its kind where a message has it. A new kind: a name
 * in the list, a struct, and in session/launcher.c a line that hands it on.
 *
 * Times are nanoseconds of the run's clock (real, virtual).
 *
 * Threads: plain values.
 */
#ifndef HR_OBSERVE_RECORDS_H
#define HR_OBSERVE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "shm/ring.h"

enum hr_record_kind { HR_RECORD_STEP = 1, HR_RECORD_SPAN };

/* A gradient of a worker, told when it is known what became of it: when the worker has its next
 * batch, or all have come to a cut. */
struct hr_step_record {
    uint64_t index; /* of its batch */
    uint32_t kind;
    uint32_t samples;   /* in it */
    int64_t at_ns;      /* training so far, without evaluation: when it is told */
    double loss_sum;    /* over the samples */
    uint32_t staleness; /* of its update; HR_NOT_STALE: it made none that is counted */
    float norm;         /* of the mean gradient; NaN: not known */
    uint16_t spent[12]; /* how it spent its time since the record before: hr_record_spent_ns */
};

#define HR_NOT_STALE UINT32_MAX
#define HR_DROPPED (UINT32_MAX - 1) /* it came too late, and counts for nothing */

/* A span of a rank's time. */
struct hr_span_record {
    uint64_t step; /* the rank's own number, or index of a batch */
    uint32_t kind;
    uint32_t what; /* whose meaning is the teller's and the reader's */
    int64_t begin_ns, end_ns;
    uint64_t peer; /* another rank; HR_NO_PEER: none */
    uint64_t note[3];
};

#define HR_NO_PEER UINT64_MAX

_Static_assert(sizeof(struct hr_step_record) == sizeof(struct hr_message), "one slot");
_Static_assert(sizeof(struct hr_span_record) == sizeof(struct hr_message), "one slot");
_Static_assert(offsetof(struct hr_step_record, kind) == offsetof(struct hr_message, kind), "kind");
_Static_assert(offsetof(struct hr_span_record, kind) == offsetof(struct hr_message, kind), "kind");

/* Of 48 bits each: 78 hours. */
static inline int64_t hr_record_spent_ns(const struct hr_step_record *record,
                                         enum hr_activity activity)
{
    const uint16_t *part = record->spent + 3 * (size_t)activity;
    return (int64_t)((uint64_t)part[0] | (uint64_t)part[1] << 16 | (uint64_t)part[2] << 32);
}

static inline void hr_record_spend(struct hr_step_record *record, enum hr_activity activity,
                                   int64_t ns)
{
    uint16_t *part = record->spent + 3 * (size_t)activity;
    const uint64_t most = ((uint64_t)1 << 48) - 1, some = ns < 0 ? 0 : (uint64_t)ns;
    const uint64_t spent = some < most ? some : most;
    for (unsigned i = 0; i < 3; i++)
        part[i] = (uint16_t)(spent >> 16 * i);
}

#endif
