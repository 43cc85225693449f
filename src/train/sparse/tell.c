/* A worker tells who looks on (observe/feed.h) of each block of rows that it has trained.
 *
 * Blocks are numbered as they are done, by the rows that all workers have trained then: so at a
 * cut, in the middle of an epoch too, those up to its index are the ones that it has. A block is
 * told when its worker begins the next, or its account stands at a cut: its time is that since the
 * one before was told. Nobody knows how stale an update is, and a row's gradient has no norm of
 * use.
 */
#include <math.h>

#include "sparse/run.h"

void hr_sparse_done_block(struct hr_sparse_worker *worker, size_t rows)
{
    if (!worker->tells)
        return;
    const uint64_t before = hr_atom64_fetch_add_relaxed(worker->run->trained, rows);
    worker->untold = (struct hr_step_record){.kind = HR_RECORD_STEP,
                                             .index = before + rows - 1,
                                             .samples = (uint32_t)rows,
                                             .loss_sum = worker->loss_sum,
                                             .norm = NAN,
                                             .staleness = HR_NOT_STALE};
    worker->loss_sum = 0;
}

enum hr_status hr_sparse_tell(struct hr_sparse_worker *worker)
{
    const struct hr_sparse_run *run = worker->run;
    struct hr_account *account = &worker->tally->account;
    struct hr_step_record *record = &worker->untold;
    if (!record->samples)
        return HR_OK;
    hr_account_look(account, hr_clock_ns());
    record->at_ns = run->cuts.cut->before_ns + account->since_ns - worker->span_began_ns;
    for (int a = 0; a < HR_ACTIVITIES; a++) {
        hr_record_spend(record, (enum hr_activity)a, account->spent_ns[a] - worker->told_ns[a]);
        worker->told_ns[a] = account->spent_ns[a];
    }
    HR_TRY(hr_feed_put(&run->feed, worker->rank, &worker->waiter, record));
    record->samples = 0;
    return HR_OK;
}
