#include "play/play_cut.h"

#include "drive/roll.h"
#include "worker/evaluate.h"

bool hr_play_at_cut(const struct hr_play *play)
{
    const struct hr_losses *losses = &play->drive->losses;
    size_t arrived = 0;
    for (size_t r = 0; r < play->shared->workers; r++) {
        const enum hr_stand state = play->state[r];
        if (state != HR_ARRIVED && state != HR_RESTS && state != HR_LOST)
            return false;
        arrived += state == HR_ARRIVED;
    }
    return arrived > 0 && (!play->shared->outlives ||
                           (!hr_losses_recalled(losses) && hr_losses_are_taken(losses)));
}

/* A job of the pool: a worker's part of an evaluation. */
static enum hr_status evaluate(void *arg, size_t rank, struct hr_compute_buffers *buffers)
{
    struct hr_play *play = arg;
    hr_train_worker_borrow(&play->worker[rank], buffers);
    return hr_train_worker_evaluate(&play->worker[rank]);
}

static enum hr_status evaluate_all(struct hr_play *play)
{
    const struct hr_seats *seats = play->shared->seats;
    const size_t blocks = play->drive->job->neval, parts = seats->n < blocks ? seats->n : blocks;
    for (size_t s = 0; s < parts; s++)
        HR_TRY(hr_pool_submit(play->pool, evaluate, play, seats->rank[s], 0));
    for (size_t s = 0; s < parts; s++)
        HR_TRY(hr_pool_join(play->pool, seats->rank[s]));
    return HR_OK;
}

/* Somebody was lost on the way, or is back: who is here takes a seat for what follows. */
static enum hr_status take_seats(struct hr_play *play)
{
    struct hr_losses *losses = &play->drive->losses;
    if (play->shared->outlives && hr_losses_changed(losses))
        HR_TRY(hr_play_begin_term(play));
    if (play->shared->outlives)
        hr_losses_settle(losses);
    return HR_OK;
}

static void go_on(struct hr_play *play)
{
    for (size_t r = 0; r < play->shared->workers; r++)
        if (play->state[r] == HR_ARRIVED) {
            hr_train_worker_leave_cut(&play->worker[r]);
            play->state[r] = HR_WANTS;
        }
}

/* All that they have done since the cut before is done. */
static enum hr_status tell_steps(struct hr_play *play)
{
    const struct hr_cut *cut = play->drive->leader->cuts.cut;
    const int64_t trained = cut->before_ns + cut->span_ended_ns - cut->span_began_ns;
    for (size_t r = 0; r < play->shared->workers; r++)
        if (play->state[r] == HR_ARRIVED)
            HR_TRY(hr_tell_steps(&play->worker[r], trained));
    hr_launcher_release(play->drive->launcher);
    return HR_OK;
}

enum hr_status hr_play_cut(struct hr_play *play)
{
    struct hr_drive *drive = play->drive;
    const size_t workers = play->shared->workers;
    HR_TRY(take_seats(play));
    drive->leader->cuts.cut->span_ended_ns = drive->driver->now_ns(drive);
    HR_TRY(tell_steps(play));
    hr_leader_decide(drive->leader);
    hr_roll_cut(drive, drive->leader->cuts.cut->halt);
    for (size_t r = 0; r < workers; r++)
        if (play->state[r] == HR_ARRIVED)
            hr_worker_export(&play->worker[r].worker);
    for (size_t r = 0; r < workers; r++)
        if (play->state[r] == HR_ARRIVED)
            HR_TRY(hr_rows_verify(&play->worker[r].worker));
    if (drive->leader->cuts.cut->evaluate)
        HR_TRY(evaluate_all(play));
    hr_leader_conclude(drive->leader);
    if (play->shared->outlives)
        hr_losses_keep_cut(&drive->losses);
    go_on(play);
    const enum hr_status status = hr_launcher_tick(drive->launcher);
    drive->leader->cuts.cut->span_began_ns = drive->driver->now_ns(drive);
    return status;
}
