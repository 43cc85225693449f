#include "drive/leader.h"

#include "worker/worker.h"

/* The index at which all workers are. */
static uint64_t index_of_cut(const struct hr_leader *leader)
{
    const struct hr_shared_state *shared = leader->job->shared;
    const struct hr_dispenser *dispenser = shared->dispenser;
    if (shared->strategy->synchronous) {
        const uint64_t cut =
            hr_batch_schedule_next_cut(&shared->schedule, leader->cuts.cut->begins);
        const uint64_t stop_at = hr_atom64_load_acquire(&dispenser->stop_at);
        return stop_at < cut ? stop_at : cut;
    }
    const uint64_t next = hr_atom64_load_acquire(&dispenser->next);
    const uint64_t cut = hr_atom64_load_acquire(&dispenser->cut);
    return next < cut ? next : cut;
}

void hr_leader_decide(const struct hr_leader *leader)
{
    const struct hr_shared_state *shared = leader->job->shared;
    const struct hr_dispenser *dispenser = shared->dispenser;
    const uint32_t stop = hr_atom32_load_acquire(&dispenser->stop); /* partner: the launcher */
    const uint64_t index = index_of_cut(leader);
    /* A request too late for this cut is seen at the next. */
    const bool in_time =
        !shared->strategy->synchronous || index >= hr_atom64_load_acquire(&dispenser->stop_at);
    hr_cut_decide(&leader->cuts, index, in_time ? (enum hr_stop)stop : HR_STOP_NOT);
}

/* Samples and losses so far, folded in rank order. */
static void fold_training(const struct hr_leader *leader)
{
    const struct hr_shared_state *shared = leader->job->shared;
    struct hr_trained *trained = &leader->cuts.cut->trained;
    *trained = (struct hr_trained){0};
    for (size_t w = 0; w < shared->workers; w++) {
        const struct hr_worker_stats *stats = &shared->stats[w];
        shared->snapshot.shares[w] =
            (struct hr_epoch_share){stats->epoch_loss, (double)stats->epoch_samples};
        trained->epoch_loss += stats->epoch_loss;
        trained->epoch_samples += stats->epoch_samples;
        trained->samples += stats->samples;
        trained->updates += stats->updates;
    }
}

static double mean_epoch_loss(const struct hr_trained *trained)
{
    return trained->epoch_samples ? trained->epoch_loss / (double)trained->epoch_samples : 0;
}

static void add_curve_point(const struct hr_leader *leader)
{
    const struct hr_cut *cut = leader->cuts.cut;
    struct hr_curve_point point = {
        .epoch = (double)cut->index / (double)leader->job->shared->schedule.batches_per_epoch,
        .train_loss = mean_epoch_loss(&cut->trained),
    };
    const struct hr_measured measured = hr_train_job_measured(leader->job);
    point.test_loss = measured.loss;
    point.test_accuracy = measured.accuracy;
    point.values = leader->cuts.values;
    point.text = leader->cuts.text;
    point.fit = measured.fit;
    point = hr_cut_measured(&leader->cuts, point);
    if (hr_cut_improves(&leader->cuts, &point))
        hr_best_weights_keep(&leader->job->best, leader->job->shared->snapshot.weights);
    hr_cut_add_point(&leader->cuts, point);
}

static bool ends_epoch(const struct hr_leader *leader)
{
    const struct hr_cut *cut = leader->cuts.cut;
    return !cut->again && hr_batch_schedule_ends_epoch(&leader->job->shared->schedule, cut->index);
}

/* For all, who rest: with the cut's index their counters become those that a rollback goes to. Not
 * where batches wait to be handed out again: none of them is trained on yet. */
static void leave_cut(const struct hr_leader *leader)
{
    const struct hr_shared_state *shared = leader->job->shared;
    for (size_t w = 0; w < shared->workers; w++)
        shared->stats[w].last.any = false;
    if (leader->cuts.cut->again)
        return;
    for (size_t w = 0; w < shared->workers; w++)
        hr_stats_leave_cut(&shared->stats[w], ends_epoch(leader));
}

static void note_epoch_loss(const struct hr_leader *leader)
{
    const struct hr_cut *cut = leader->cuts.cut;
    struct hr_epoch_losses *losses = leader->job->shared->snapshot.losses;
    if (!ends_epoch(leader) || !cut->trained.epoch_samples)
        return;
    losses->last = mean_epoch_loss(&cut->trained);
    if (losses->first == 0)
        losses->first = losses->last;
}

/* Once: behind it counters may change. */
static void count(const struct hr_leader *leader)
{
    struct hr_cut *cut = leader->cuts.cut;
    if (cut->counted > cut->concluded)
        return;
    fold_training(leader);
    note_epoch_loss(leader);
    if (cut->evaluate)
        add_curve_point(leader);
    hr_fence_of_death();
    cut->counted = cut->concluded + 1;
    hr_fence_of_death();
}

void hr_leader_conclude(const struct hr_leader *leader)
{
    const struct hr_cut *cut = leader->cuts.cut;
    const struct hr_shared_state *shared = leader->job->shared;
    count(leader);
    if (!cut->halt && !cut->again) { /* what else is asked for is agreed upon anew */
        hr_atom64_store_release(&shared->dispenser->stop_at, UINT64_MAX);
        hr_atom64_store_release(&shared->dispenser->begins, cut->index);
    }
    if (!cut->halt && !shared->strategy->synchronous) {
        hr_atom64_store_release(&shared->dispenser->next, cut->index); /* hogwild has drawn more */
        hr_atom64_store_release(
            &shared->dispenser->cut,
            cut->again ? cut->index : hr_batch_schedule_next_cut(&shared->schedule, cut->index));
    }
    leave_cut(leader);
    hr_cut_conclude(&leader->cuts);
}
