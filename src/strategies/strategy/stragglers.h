/* stragglers.h - who was waited for: when each worker came to each exchange, and why the last was
 * late.
 *
 *   Exchange  that workers can leave only together, or after one another: the sum of a step's
 *             gradients, a gate, a mean of weights, a cut. It has a key: its batch, or the cut.
 *   Come      a worker that comes to it says when, and what it has done since it was free to leave
 *             the exchange before: HR_ARRIVALS lines a worker, of which it is the writer.
 *   Leave     when it has waited, it looks at the lines of those it had to wait for (its gradient's
 *             `awaits`). The last of them cost it the time between their arrivals, at most all that
 *             its account booked as waiting since its own. So
 *                 what all cost it + its own stalls + the rest = its waiting;
 *             the rest is waiting for servers, for a processor, for the ends of its sleeps.
 *   Why       of both the doings are compared: what the last one did longer than the one who waited
 *             made it late, each in proportion to how much longer. Where it was late already when
 *             it was free to set out, since it had waited itself, that share goes to the one who
 *             was waited for then, and for that reason: so on a chain of neighbours (gossip) all
 *             waiting goes to the one who is slow.
 *   Missing   lines, of workers that come in this moment, or were lost before they came, count as
 *             if written now.
 *
 * Machines  A line goes to others with the next message (machines/bridge.h, Words), so that who
 *           leaves an exchange since messages of all came has their lines, too.
 *
 * Threads: a line's writer is its worker; readers are the others, any time (a seqlock of two words:
 *          the first and the last are the same when what is between belongs to them). A row of
 *          costs has one writer, the worker that waited; where one thread runs more than
 *          HR_STRAGGLER_ROWS workers they have one row together.
 * Units:   nanoseconds of the run's clock.
 * Test:    tests/unit/strategy/test_stragglers.c
 */
#ifndef HR_STRATEGY_STRAGGLERS_H
#define HR_STRATEGY_STRAGGLERS_H

#include <stdbool.h>

#include "base/account.h"
#include "shm/atom.h"

struct hr_shared_state;
struct hr_worker;

/* What made a worker late. */
enum hr_late {
    HR_LATE_LOAD,
    HR_LATE_COMPUTE,
    HR_LATE_STALL,     /* on purpose: --inject stall */
    HR_LATE_PREEMPTED, /* it computed without a processor */
    HR_LATE_COMMUNICATE,
    HR_LATE_WAIT, /* for servers, a processor to begin with */
    HR_LATES
};

enum {
    HR_ARRIVALS = 8,        /* of a worker that are kept: 7 steps, a cut */
    HR_STRAGGLER_ROWS = 64, /* workers up to which each has a row */
};

/* The key of the exchange behind batch `index`. Those who push as one have batches behind one
 * another, and come to the exchange of the first. */
static inline uint64_t hr_arrival_key(uint64_t index)
{
    return index + 1;
}

/* Does it wait there for the active worker `peer`? */
typedef bool hr_awaits_fn(const struct hr_worker *worker, size_t peer);
hr_awaits_fn hr_awaits_all;

/* Private to a worker. */
struct hr_arrival {
    hr_awaits_fn *awaits;       /* there */
    uint64_t key;               /* it has come there, and not left; 0: it is on its way */
    int64_t at_ns, free_ns;     /* when; since when it was free to come */
    int64_t did_ns[HR_LATES];   /* in all, when it was */
    int64_t since_ns[HR_LATES]; /* since then, when it came */
    int64_t waited_ns;          /* of its account, when it came */
    uint32_t cause;             /* why it was free so late: of_cause */
    uint64_t opened;            /* by whose push a gate was opened: hr_opened_by; 0 */
};

/* A gate's word for who opened it: worker, and the batch that it had pushed. */
static inline uint64_t hr_opened_by(size_t worker, uint64_t index)
{
    return (uint64_t)(worker + 1) << 48 | (hr_arrival_key(index) & ((UINT64_C(1) << 48) - 1));
}

/* Has it come later than who opened before? */
bool hr_stragglers_later(const struct hr_shared_state *shared, uint64_t opened, uint64_t before);

/* Memory of all workers, zeroed. */
size_t hr_stragglers_bytes(size_t workers);

/* What other machines read of a worker: the words of its line i < HR_ARRIVALS. They may be copied
 * there at any time, in their order. */
enum { HR_ARRIVAL_WORDS_BYTES = 88 };
void *hr_stragglers_words(const struct hr_shared_state *shared, size_t worker, size_t i);

/* The span begins; what was before does not count. */
void hr_stragglers_begin(struct hr_worker *worker, int64_t now_ns);
/* It comes to an exchange. Before anything that lets others leave it. */
void hr_stragglers_arrive(struct hr_worker *worker, uint64_t key, int64_t now_ns);
/* It has computed the gradient of batch `index`, and comes to the exchange behind it, if it will
 * wait there (strategy.h, hooks). */
void hr_stragglers_offer(struct hr_worker *worker, uint64_t index, int64_t now_ns);
/* The same as come, to the cut that ends the span. */
void hr_stragglers_arrive_at_cut(struct hr_worker *worker, int64_t now_ns);
/* It leaves the exchange that it has come to, if any; its account is booked. */
void hr_stragglers_leave(struct hr_worker *worker, int64_t now_ns);

/* What worker `last` cost worker `waiter` (workers up to HR_STRAGGLER_ROWS; else all workers
 * together), (HR_LATES). After the run, or from the worker's own. */
int64_t *hr_stragglers_cost(const struct hr_shared_state *shared, size_t waiter, size_t last);

#endif
