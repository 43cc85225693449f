/* rows.h - what a run keeps, said once by its strategy: weights, and the state of the optimizer.
 *
 * From the rows of the table (strategy->rows) follow what a worker begins with, its part of the
 * snapshot at a cut, the check of replicas, the copy to which losses take all back, checkpoints
 * (state/state.c) and the plan of memory. All zero is the plainest: equal replicas, with equal
 * states.
 *
 *   Cut   all are quiescent; each exports its part, a stripe where all have the same; (several
 *         machines: all meet, and means are made of what came;) all meet; each is checked, or
 *         begins again.
 *
 * Threads: a worker's own, as strategy.h; what follows from `shared` alone: constants.
 * Test:    tests/unit/strategies/test_replicas.c, test_requested_cuts.c
 */
#ifndef HR_STRATEGY_ROWS_H
#define HR_STRATEGY_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hr_shared_state;
struct hr_worker;

enum hr_kept_how {
    HR_KEPT_EQUAL,  /* each worker has all of it, and the same bits at a cut, which is checked */
    HR_KEPT_SHARED, /* weights in one memory, of which workers have copies; no two to compare, but
                       where each machine has such a memory: these are equal at a cut */
    HR_KEPT_SERVED, /* servers have slices, and export them when all have arrived at a cut */
    HR_KEPT_OWN,    /* a state of each worker's own */
    HR_KEPT_MEAN,   /* weights of each worker's own, which a cut leaves as they are; the model is
                       their mean */
};

struct hr_rows {
    enum hr_kept_how weights; /* EQUAL, SHARED, SERVED, MEAN */
    enum hr_kept_how state;   /* EQUAL, SERVED, OWN */
    /* SHARED, SERVED: where the weights stand, all together, while all are quiescent at a cut, and
     * may be read. NULL: nowhere. */
    float *(*memory)(const struct hr_shared_state *shared);
    /* EQUAL: do all workers update one state together, the first bytes of shared->own? NULL, or
     * false: each has one in memory of its own. */
    bool (*one_state)(const struct hr_shared_state *shared);
    /* MEAN: where the replica of a worker lies. NULL: shared->weights. */
    float *(*replica)(const struct hr_worker *worker, size_t rank);
    /* EQUAL, but replicas drift: the index of the batch before which they are made equal. At a cut
     * below it they are kept as MEAN. NULL: they never differ at a cut. */
    uint64_t *(*due)(struct hr_worker *worker);
    /* Names of arrays of (params) floats that each worker has besides, worker->more: they begin at
     * 0, and are the same everywhere at a cut. Checkpoints have them as "0.weight.NAME". A NULL
     * behind the last; NULL: there are none. */
    const char *const *more;
    /* SERVED, and each worker has a replica of its own, which begins again with the weights at a
     * cut that is more than a rest: steps since it was tied to them. NULL: there are none. */
    uint64_t *(*since)(struct hr_worker *worker);
};

/* Are the model's weights at a cut a mean, always or now and then? */
bool hr_rows_mean(const struct hr_rows *rows);

/* Do they stand somewhere, all together, while all are quiescent at a cut? There they are, when
 * memory is laid out. */
bool hr_rows_stand(const struct hr_rows *rows);
float *hr_rows_memory(const struct hr_shared_state *shared);

/* Arrays in rows->more. */
size_t hr_rows_more(const struct hr_rows *rows);

/* Floats of a state that a worker has in memory of its own, with its ratio and what is more; 0: it
 * has none. */
size_t hr_rows_worker_floats(const struct hr_shared_state *shared);
/* Where one_state: it becomes the snapshot's. */
void hr_rows_init(struct hr_shared_state *shared);

/* A worker begins: its weights and state are the snapshot's. HR_E_NOMEM. It ends. */
HR_CHECKED enum hr_status hr_rows_start(struct hr_worker *worker);
void hr_rows_stop(struct hr_worker *worker);

/* All are quiescent at a cut: its part of the snapshot. Then, where ranks are on several machines
 * and hr_rows_mean, its stripe of the mean, when all have exported. Then, when all have, the check
 * of replicas: HR_E_FAILED: this one differs from those of others. */
void hr_rows_export(struct hr_worker *worker);
void hr_rows_combine(struct hr_worker *worker);
HR_CHECKED enum hr_status hr_rows_verify(struct hr_worker *worker);

/* --- the snapshot --- */

/* The state of the model at a cut: what evaluation reads and checkpoints hold. Where nobody saves a
 * run, records it or takes it back to a cut, it needs no copy: all are quiescent while it is
 * read. */
struct hr_snapshot {
    /* What it has: */
    bool live;             /* `weights` are those of the run itself (hr_rows_memory) */
    bool copied;           /* state, and errors of what is compressed */
    size_t state_copies;   /* 1, or one per worker where each has a state of its own */
    size_t replica_copies; /* workers, or 0 */
    bool tied;             /* replicas that are tied to the weights, and `since` */

    float *weights;    /* (params) */
    float *state;      /* (state_copies, nstates, params) the optimiser's; NULL: it begins at 0, and
                          nobody reads it */
    uint64_t *applied; /* (state_copies) updates ever made to that copy */
    float *more;       /* (rows.more, params) or NULL, as of state */
    float *replicas;   /* (replica_copies, params) of workers; all are `weights` where not `apart`,
                          unless rows.weights are HR_KEPT_MEAN, or rows.since */
    uint64_t *apart;   /* rows.due: batches until replicas are made equal; 0: they are */
    double *since;     /* (workers) rows.since, where replicas go on; else NULL */
    float *errors;     /* (workers, hr_compression_state_floats) or NULL */
    struct hr_epoch_losses *losses;
    struct hr_epoch_share *shares; /* (workers) */
};

/* An array of the snapshot. */
struct hr_snapshot_part {
    size_t field; /* a pointer in struct hr_snapshot: this many bytes behind its beginning */
    size_t bytes; /* of one copy */
    size_t copies;
    bool floats;
};

enum { HR_SNAPSHOT_PARTS = 8 };

/* What a snapshot has as its numbers of copies say, `copied` and `tied`, in the order in which it
 * lies in memory. Without losses and shares, which ranks do not export. */
size_t hr_snapshot_parts(const struct hr_shared_state *shared, const struct hr_snapshot *snapshot,
                         struct hr_snapshot_part parts[HR_SNAPSHOT_PARTS]);
void hr_snapshot_place(struct hr_snapshot *snapshot, const struct hr_snapshot_part *part,
                       void *memory);

/* For runs that go back to the last cut when a rank is lost: the snapshot is written at every cut,
 * and who dies meanwhile leaves it torn. It is whole: copy it into shared->last_cut. Make it what
 * it was then. (Threads: the launcher's, while all are quiescent.) */
void hr_last_cut_keep(const struct hr_shared_state *shared);
void hr_last_cut_restore(const struct hr_shared_state *shared);

#endif
