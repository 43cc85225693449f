/* feed.h - records from every rank of a run to its launcher: who looks on sees all of them, and the
 * run goes on as it would without.
 *
 *   rank       if (hr_feed_is_on(feed))                      one branch where nobody looks on
 *                  HR_TRY(hr_feed_put(feed, rank, &waiter, &record));
 *   launcher   hr_feed_drain(feed, take, arg)                at every tick, when a ring is half
 *                                                            full, and before points of the curve
 *
 * Picture:   in the run's segment: [ room bell | ring ] of rank 0 | of rank 1 | ...
 *            Workers come first, then servers, as everywhere.
 * Promise    Nothing is lost: where a ring is full its rank waits for the launcher, with a
 *            deadline, and gives up when the run is aborted; that time counts as waiting. A record
 *            is there whole or not at all, whatever kills its rank, and those that are there
 *            outlive it. A rank that was started again goes on in the ring of its former life.
 * Order      Records of a rank come in the order in which it put them. What a rank put before a
 *            barrier is drained by who drains behind it.
 * Serial     One thread that runs all ranks is its own launcher: where a ring is full it drains
 *            (make_room). Only that thread puts, none of those that compute for it.
 * Cost       put: some 64 bytes written, no call of the kernel but at every half of a ring that
 *            nobody has drained. Off: no memory.
 * Threads    A ring has one writer, its rank; the launcher drains. struct hr_feed is private to
 *            each process, and constant while ranks run.
 * Test       tests/unit/observe/test_feed.c
 */
#ifndef HR_OBSERVE_FEED_H
#define HR_OBSERVE_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "shm/ring.h"
#include "shm/wait.h"

/* === what ranks tell the launcher, each in one message of a ring (shm/ring.h) ===
 *
 * A kind of record is a struct of 64 bytes with its kind where a message has it. A new kind: a name
 * in the list, a struct, and in session/launcher.c a line that hands it on.
 *
 * Times are nanoseconds of the run's clock (real, virtual). */

enum { HR_RECORD_STEP = 1, HR_RECORD_SPAN };

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
    uint32_t what; /* whose meaning is the writer's and the reader's */
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

/* Records that a rank may be ahead of the launcher: 64 KiB per rank. */
enum { HR_FEED_SLOTS = 1024 };

struct hr_feed {
    void *memory;                  /* (nranks) lines in the segment; NULL: it is off */
    size_t nranks, slots;          /* of a ring: a power of two, at least 2 */
    bool steps, spans;             /* what ranks tell of */
    uint64_t spans_from, spans_to; /* of batches, for struct hr_spans */
    struct hr_bell *launcher;      /* rung when a ring is half full */
    /* Where the thread that puts is the one that drains: drain now. NULL: it waits. */
    void (*make_room)(void *arg);
    void *arg;
};

static inline bool hr_feed_is_on(const struct hr_feed *feed)
{
    return feed->memory != NULL;
}

/* Bytes of its memory, aligned to HR_LINE. */
size_t hr_feed_bytes(size_t nranks, size_t slots);

/* The ring of a rank: to be carried to the machine of the launcher that drains it. */
struct hr_ring *hr_feed_ring(const struct hr_feed *feed, size_t rank);

/* Begin, with nranks, slots and launcher set, in memory of that size. Once, before ranks run. */
void hr_feed_init(struct hr_feed *feed, void *memory);

/* Tell the launcher. record: a struct of the above, its kind set.
 *   waiter  of the rank: its deadline, abort word and account; a revocation does not end this wait
 * HR_E_ABORTED, HR_E_TIMEOUT: the launcher drains nothing; the record is not told. */
HR_CHECKED enum hr_status hr_feed_put(const struct hr_feed *feed, size_t rank,
                                      struct hr_waiter *waiter, const void *record);

/* take all records that are there now; each is valid during the call. Launcher only.
 * take: false: not yet; it stays, and all behind it of its rank. */
typedef bool (*hr_take_record_fn)(void *arg, size_t rank, const struct hr_message *record);
void hr_feed_drain(const struct hr_feed *feed, hr_take_record_fn take, void *arg);

#endif
