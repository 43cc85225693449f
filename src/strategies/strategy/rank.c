#include "strategy/rank.h"

#include "shm/control.h"
#include "strategy/shared.h"

bool hr_next_batch(struct hr_worker *worker, uint64_t meet, uint64_t *index)
{
    struct hr_dispenser *dispenser = worker->shared->dispenser;
    const uint64_t stop_at = hr_atom64_load_acquire(&dispenser->stop_at); /* partner: below */
    if (worker->index >= worker->cut || worker->index >= stop_at)
        return false;
    /* Partner: the load above, in every worker, after the sum before `meet`: that sum needs what
     * this worker offers after this store, so a worker that has the sum sees the store. */
    if (worker->group_rank == 0 && stop_at == UINT64_MAX &&
        hr_shared_quiesces(worker->shared, meet))
        hr_atom64_store_release(&dispenser->stop_at, meet);
    *index = worker->index++;
    return true;
}

static enum hr_status stand(struct hr_rank *rank, enum hr_stand where, hr_ready_fn ready, void *arg)
{
    rank->where = where;
    rank->ready = ready;
    rank->arg = arg;
    return rank->ways->stand(rank);
}

static enum hr_status wait_at(struct hr_rank *rank, struct hr_bell *bell)
{
    const struct hr_worker *worker = rank->worker;
    return rank->ways->wait(rank, bell ? bell : &worker->shared->control->rank[worker->rank].bell);
}

/* Until all of its push is answered: channels keep order. */
static enum hr_status push_again(struct hr_rank *rank)
{
    while (rank->worker->requests.attempts > 0)
        HR_TRY(rank->ways->repeat(rank));
    return HR_OK;
}

enum hr_status hr_rank_ask(struct hr_rank *rank)
{
    HR_TRY(stand(rank, HR_WANTS, NULL, NULL));
    return push_again(rank);
}

enum hr_status hr_rank_await(struct hr_rank *rank, struct hr_bell *bell, hr_ready_fn ready,
                             void *arg)
{
    HR_TRY(stand(rank, HR_ASKED, ready, arg));
    HR_TRY(push_again(rank)); /* it may have been an exchange */
    return wait_at(rank, bell);
}

enum hr_status hr_rank_gradient(struct hr_rank *rank, uint64_t index,
                                const struct hr_gradient_hooks *hooks)
{
    static const struct hr_gradient_hooks none = {0};
    rank->worker->hooks = hooks ? hooks : &none;
    *rank->task = (struct hr_task){HR_TASK_BATCH, index};
    HR_TRY(stand(rank, HR_HAS, NULL, NULL));
    return rank->ways->gradient(rank);
}

enum hr_status hr_rank_come_to_cut(struct hr_rank *rank, uint64_t index)
{
    *rank->task = (struct hr_task){HR_TASK_CUT, index};
    HR_TRY(stand(rank, HR_AT_CUT, rank->may_arrive, rank->cut));
    return wait_at(rank, NULL);
}

enum hr_status hr_rank_await_cut(struct hr_rank *rank, hr_ready_fn ready, void *arg)
{
    HR_TRY(stand(rank, HR_ARRIVING, ready, arg));
    return wait_at(rank, NULL);
}

enum hr_status hr_rank_barrier(struct hr_rank *rank, struct hr_bell *bell, hr_ready_fn ready,
                               void *arg)
{
    HR_TRY(hr_rank_ask(rank));
    return hr_rank_await(rank, bell, ready, arg);
}

enum hr_status hr_rank_pass(struct hr_rank *rank)
{
    return hr_rank_barrier(rank, NULL, hr_always_ready, rank->worker);
}

enum hr_status hr_rank_quiesce(struct hr_rank *rank, uint64_t index)
{
    HR_TRY(hr_rank_come_to_cut(rank, index));
    return hr_rank_await_cut(rank, hr_always_ready, rank->worker);
}

enum hr_status hr_rank_span(struct hr_rank *rank)
{
    HR_TRY(rank->worker->shared->strategy->span(rank));
    return stand(rank, HR_ARRIVED, NULL, NULL);
}
