#include "drive/losses.h"

#include <stdio.h>

#include "base/log.h"
#include "drive/driver.h"
#include "worker/staged.h"

/* It is started again with its worker. */
static void plan_stage(struct hr_losses *losses, size_t rank, size_t worker)
{
    if (!losses->comes[rank] || !losses->comes[worker])
        return;
    losses->comes[rank] = false;
    losses->again_ns[rank] = losses->again_ns[worker] ? losses->again_ns[worker] : 1;
}

static bool lose_stage(struct hr_losses *losses, size_t rank, const char *how)
{
    const struct hr_train_job *job = losses->leader->job;
    size_t worker, k;
    hr_staged_seat(job, rank, &worker, &k);
    hr_log(HR_LOG_WARNING, "rank %zu, stage %zu of worker %zu, was lost: %s", rank, k, worker, how);
    snprintf(losses->stage_how, sizeof losses->stage_how, "its stage %zu: %s", k, how);
    losses->stage_of = worker;
    losses->comes[rank] = true;
    hr_staged_lose(job, worker);
    if (hr_roster_is_gone(job->shared->control, worker))
        plan_stage(losses, rank, worker);
    return true;
}

static bool lose_worker(struct hr_losses *losses, size_t worker, const char *how)
{
    const struct hr_train_job *job = losses->leader->job;
    const bool by_stage = losses->stage_how[0] && losses->stage_of == worker;
    hr_staged_lose(job, worker);
    const bool goes_on = hr_losses_lost(losses, worker, by_stage ? losses->stage_how : how);
    if (by_stage)
        losses->stage_how[0] = '\0';
    for (size_t k = 1; goes_on && k < job->pipeline->seats; k++)
        plan_stage(losses, hr_staged_rank(job, worker, k), worker);
    return goes_on;
}

bool hr_replica_lost(void *arg, size_t rank, const char *how)
{
    struct hr_losses *losses = arg;
    const struct hr_train_job *job = losses->leader->job;
    if (!job->pipeline)
        return hr_losses_lost(losses, rank, how);
    if (rank >= job->first_stage)
        return lose_stage(losses, rank, how);
    return rank < job->shared->workers ? lose_worker(losses, rank, how)
                                       : hr_losses_lost(losses, rank, how);
}
