/* The lock of --strategy locked: one worker at a time updates weights. */
#include "sparse/run.h"

static bool lock_is_mine(void *arg)
{
    struct hr_sparse_lock *lock = arg;
    return hr_atom64_replace_acq_rel(&lock->taken, 0, 1); /* partner: hr_sparse_lock_leave */
}

enum hr_status hr_sparse_lock_take(struct hr_sparse_worker *worker)
{
    struct hr_sparse_lock *lock = worker->run->lock;
    return lock_is_mine(lock) ? HR_OK
                              : hr_wait_until(&worker->waiter, &lock->bell, lock_is_mine, lock,
                                              "the lock on the weights");
}

void hr_sparse_lock_leave(struct hr_sparse_worker *worker)
{
    struct hr_sparse_lock *lock = worker->run->lock;
    hr_atom64_store_release(&lock->taken, 0); /* partner: lock_is_mine */
    hr_bell_ring(&lock->bell);
}
