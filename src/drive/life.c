#include "drive/life.h"

#include "server/server_requests.h"

/* Until all of its push is answered: channels keep order. */
static enum hr_status push_again(struct hr_life *life)
{
    while (hr_requests_unanswered(&life->trainer->worker))
        HR_TRY(life->ways->repeat(life));
    return HR_OK;
}

/* Ask for weights and a batch. */
static enum hr_status next_task(struct hr_life *life)
{
    struct hr_worker *worker = &life->trainer->worker;
    const struct hr_strategy *strategy = worker->shared->strategy;
    HR_TRY(life->ways->stand(life, HR_WANTS));
    HR_TRY(push_again(life));
    strategy->request(worker);
    HR_TRY(life->ways->stand(life, HR_ASKED));
    HR_TRY(push_again(life)); /* it may have been an exchange */
    HR_TRY(life->ways->wait(life, worker->bell, strategy->ready, worker, life->awaited));
    return strategy->accept(worker, life->task);
}

static enum hr_status make_step(struct hr_life *life)
{
    struct hr_worker *worker = &life->trainer->worker;
    HR_TRY(life->ways->stand(life, HR_HAS));
    HR_TRY(life->ways->gradient(life));
    worker->shared->strategy->offer(worker);
    return HR_OK;
}

/* Owners have what they need. */
static enum hr_status arrive(struct hr_life *life)
{
    struct hr_worker *worker = &life->trainer->worker;
    const struct hr_strategy *strategy = worker->shared->strategy;
    struct hr_bell *bell = &worker->shared->control->rank[worker->rank].bell;
    HR_TRY(life->ways->stand(life, HR_AT_CUT));
    HR_TRY(life->ways->wait(life, bell, hr_cut_may_arrive, life->cut,
                            "the checkpoint before this one"));
    strategy->arrive(worker);
    HR_TRY(life->ways->stand(life, HR_ARRIVING));
    HR_TRY(life->ways->wait(life, bell, strategy->arrived, worker, "the servers at a cut"));
    hr_worker_at_cut(worker);
    return life->ways->stand(life, HR_ARRIVED);
}

enum hr_status hr_life_span(struct hr_life *life)
{
    for (;;) {
        HR_TRY(next_task(life));
        if (life->task->kind == HR_TASK_CUT)
            return arrive(life);
        HR_TRY(make_step(life));
    }
}
