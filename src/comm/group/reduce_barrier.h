/* reduce_barrier.h - ranks come together, and may sum on the way: the barrier, and large direct
 * all-reduces.
 *
 *   [ arrived | closed, open, bell | done | entry 0 | entry 1 | ... ]    a line each, shared memory
 *
 *   Story    every rank fills its entry (what it calls, where its buffer lies) and counts itself
 *            in. The last to arrive has everybody's entry before it: it compares the calls, and
 *            then
 *              - does a barrier, or a sum so small that sharing costs more, alone, and closes;
 *              - else opens the barrier for work: whoever is running claims blocks, its own chunk's
 *                first, then the others'; whoever finishes the last block closes.
 *            Everybody leaves when it is closed. When ranks outnumber processors only as many are
 *            woken to help with a large sum as there are other processors: the last to arrive is
 *            hot and does a small one alone, and each rank parks about once.
 *   Order    T(n) for each element, whoever adds it.
 *   Atomics  arrived, claim, done: read-modify-write by all (acq_rel, but for claim: a block's
 *            number carries no data). open: by the last to arrive; closed: by the finisher.
 *            arrived (release by each, acquire by the last) carries entries and inputs;
 *            open -> claimers; done (release) -> finisher (acquire) carries outputs; closed -> all.
 *            Counters are not reset while anybody could look at them: claim and done are zeroed by
 *            the last to arrive, when all others have left the previous barrier.
 */
#ifndef HR_GROUP_REDUCE_BARRIER_H
#define HR_GROUP_REDUCE_BARRIER_H

#include <stdbool.h>

#include "plan/layout.h"
#include "shm/wait.h"

struct hr_method;

struct hr_barrier_entry {
    alignas(HR_LINE) struct hr_call call;    /* this line's writer: the rank */
    uint64_t in, out;                        /* where its buffers lie, from the segment's start */
    struct hr_atom64 said[3];                /* the call in progress, for hr_barrier_entry_read */
    alignas(HR_LINE) struct hr_atom64 claim; /* blocks of this rank's chunk taken so far */
};

struct hr_reduce_barrier {
    alignas(HR_LINE) struct hr_atom64 arrived;
    alignas(HR_LINE) struct hr_atom64 closed; /* barriers closed so far */
    struct hr_atom64 open;                    /* number of the last barrier opened for work */
    struct hr_bell bell;
    alignas(HR_LINE) struct hr_atom64 done; /* blocks summed in this barrier */
    struct hr_barrier_entry entry[];
};

size_t hr_reduce_barrier_bytes(size_t nranks);

/* What becomes of a sum where it is made, instead of being stored in everybody's buffer.
 *   sum  (count) of elements [begin, begin + count) of the whole; private to the call
 * Each element is handed over exactly once, by whichever rank sums it, in no particular order and
 * by several ranks at a time. When the barrier is over everybody sees what was done. */
typedef void (*hr_apply_fn)(void *arg, size_t begin, size_t count, const float *sum);

/* Say what this rank calls now, in this barrier or elsewhere. By the entry's rank. */
void hr_barrier_entry_write(struct hr_barrier_entry *entry, const struct hr_call *call);

/* The number of the call that the entry's rank is in, or was in last. Any rank at any time. */
static inline uint64_t hr_barrier_entry_sequence(const struct hr_barrier_entry *entry)
{
    return hr_atom64_load_acquire(&entry->said[0]); /* partner: hr_barrier_entry_write */
}

/* Is call number `sequence` the one that the entry's rank is in? Then *call is what it said. Any
 * rank at any time. */
bool hr_barrier_entry_read(const struct hr_barrier_entry *entry, uint64_t sequence,
                           struct hr_call *call);

/* One rank's view; private memory. */
struct hr_barrier_view {
    struct hr_reduce_barrier *shared;
    unsigned char *segment; /* what offsets count from */
    size_t rank, nranks;
    bool crowded;     /* more runnable threads than processors */
    uint32_t helpers; /* when crowded: how many to wake for a large sum */
    uint64_t number;  /* of the barrier this rank is in, or was in last */
    struct hr_kind kind;
    size_t first;      /* of the whole, where only a part is reduced */
    size_t count;      /* elements to reduce; 0: a barrier */
    hr_apply_fn apply; /* of this barrier; NULL: the sum is stored in all buffers */
    void *apply_arg;
    bool helped;
    struct hr_account *account; /* the rank's, to book summing; NULL: it has none */
    int64_t worked_ns;          /* spent summing, in all; happens inside waits */
    long odd_one_out;           /* after a mismatch: a rank whose call differs from ours, else -1 */
};

/* Take the entry with this call; kind, count and apply being set. in (count) is reduced into out
 * (count), perhaps the same; a barrier has neither. Does the work at once where the last to arrive
 * does. Never waits. False: another rank's call differs (odd_one_out). */
bool hr_reduce_barrier_enter(struct hr_barrier_view *barrier, const struct hr_call *call,
                             const void *in, void *out);

/* Help where there is work; true when the barrier is over. Never waits. */
bool hr_reduce_barrier_test(struct hr_barrier_view *barrier);

extern const struct hr_method hr_by_reduce_barrier;

#endif
