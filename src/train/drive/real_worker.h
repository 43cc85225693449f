/* real_worker.h - a worker in real time: where it stands, and the training clock.
 *
 * The clock runs from when the last worker comes to the barrier before a span until the last one
 * comes to the barrier after it, and stands still at cuts. Each worker writes down when it came;
 * after the barrier all know the latest.
 *
 * Threads: its own.
 */
#ifndef HR_DRIVE_REAL_WORKER_H
#define HR_DRIVE_REAL_WORKER_H

#include "drive/rest.h"
#include "drive/serve.h"
#include "observe/spans.h"
#include "strategy/rank.h"
#include "worker/worker.h"

struct hr_real_worker {
    const struct hr_drive *drive;
    const struct hr_shared_state *shared;
    const struct hr_strategy *strategy;
    struct hr_train_worker trainer;
    struct hr_worker *worker;              /* trainer.worker */
    int64_t accepted_ns;                   /* when it accepted its task, for --calibrate */
    int64_t offered_ns;                    /* when it handed in its last gradient */
    struct hr_task task;                   /* what it has in hand */
    int64_t asks_ns, waited_ns, worked_ns; /* when it asked for that; what it had waited by then,
                                              and summed meanwhile */
    int64_t computes_ns;                   /* when it began to compute */
    int64_t trained_ns;                    /* training before this span, less when that began */
    bool owns_shard;
    struct hr_server server; /* that shard */
    /* Where it stands: at the beginning of a span, in it, or (arrived) at the cut behind it. */
    bool begun, arrived, over;
    bool sits_out;       /* it came back, and found no seat */
    struct hr_rest rest; /* of runs that outlive losses */
    uint32_t losses_seen;
    struct hr_spans spans;
};

/* Who looks on is told of its time, from now on; until it stops. */
void hr_real_worker_tell_spans(struct hr_real_worker *seat);
void hr_real_worker_stop_spans(struct hr_real_worker *seat);

/* What it waits for in a step, in words. */
const char *hr_real_worker_awaited(const struct hr_real_worker *seat);

/* All come to a barrier. */
HR_CHECKED enum hr_status hr_real_worker_meet(struct hr_real_worker *seat,
                                              enum hr_rest_stage stage);

/* Nobody begins before all have come. From then on a worker still in the barrier is waiting. */
HR_CHECKED enum hr_status hr_real_worker_begin_span(struct hr_real_worker *seat);
/* It is in a span that others began. */
void hr_real_worker_join_span(struct hr_real_worker *seat);
/* All have ended; those before the last one have waited for it. */
HR_CHECKED enum hr_status hr_real_worker_end_span(struct hr_real_worker *seat);

#endif
