/* What happens at a cut. Nothing here waits, and nothing here is concurrent: the barriers between
 * the steps (run.h) order every access, so the fields are plain. */
#include "base/clock.h"
#include "train/run.h"

bool hr_cut_may_arrive(void *arg)
{
    const struct hr_run *run = arg;
    /* Both partners: hr_launcher_tick and hr_cut_conclude. */
    return hr_atom64_load_acquire(&run->board->saves_done) ==
           hr_atom64_load_acquire(&run->board->saves_asked);
}

/* The index at which everybody stands. */
static uint64_t index_of_cut(const struct hr_run *run)
{
    const struct hr_dispenser *dispenser = run->shared.dispenser;
    if (run->shared.strategy->synchronous) {
        const uint64_t cut = hr_batch_schedule_next_cut(&run->shared.course, run->board->index);
        const uint64_t stop_at = hr_atom64_load_acquire(&dispenser->stop_at);
        return stop_at < cut ? stop_at : cut;
    }
    const uint64_t next = hr_atom64_load_acquire(&dispenser->next);
    const uint64_t cut = hr_atom64_load_acquire(&dispenser->cut);
    return next < cut ? next : cut;
}

void hr_cut_decide(struct hr_run *run, int64_t ended_ns)
{
    struct hr_board *board = run->board;
    const struct hr_batch_schedule *course = &run->shared.course;
    const uint32_t stop =
        hr_atom32_load_acquire(&run->shared.dispenser->stop); /* partner: launcher */
    const uint64_t index = index_of_cut(run);
    /* A request that came too late for this cut is seen at the next. */
    const bool stopped =
        stop != HR_STOP_NOT && (!run->shared.strategy->synchronous ||
                                index >= hr_atom64_load_acquire(&run->shared.dispenser->stop_at));
    board->train_ns += ended_ns - board->span_began_ns;
    board->index = index;
    board->interrupted = stopped && stop == HR_STOP_INTERRUPTED;
    board->halt = stopped || index >= course->end;
    /* An epoch's end has its point even if somebody waits for the run to stop: a run that goes on
     * from here does not come by again. */
    board->evaluate = hr_batch_schedule_ends_epoch(course, index) || index >= course->end ||
                      (board->halt && !board->interrupted);
    board->save =
        run->options->checkpoint_dir[0] && (board->halt || hr_batch_schedule_saves(course, index));
}

/* The losses of the epoch so far, folded in rank order. */
static void fold_training(struct hr_run *run)
{
    struct hr_board *board = run->board;
    board->epoch_loss = 0;
    board->epoch_samples = board->samples = board->updates = 0;
    for (size_t w = 0; w < run->shared.workers; w++) {
        const struct hr_worker_stats *stats = &run->shared.stats[w];
        run->shared.snapshot.shares[w] =
            (struct hr_epoch_share){stats->epoch_loss, (double)stats->epoch_samples};
        board->epoch_loss += stats->epoch_loss;
        board->epoch_samples += stats->epoch_samples;
        board->samples += stats->samples;
        board->updates += stats->updates;
    }
}

static void add_curve_point(struct hr_run *run)
{
    struct hr_board *board = run->board;
    const struct hr_batch_schedule *course = &run->shared.course;
    const uint64_t number = hr_atom64_load_relaxed(&board->ncurve); /* our own word */
    const double tests = (double)run->dataset->test.count;
    double loss = 0;
    uint64_t correct = 0;
    for (size_t block = 0; block < run->neval; block++) {
        loss += run->cells[block].loss_sum;
        correct += run->cells[block].correct;
    }
    HR_ASSERT(number < run->curve_room);
    run->curve[number] = (struct hr_curve_point){
        .samples = run->past.samples + board->samples,
        .seconds = run->past.seconds + hr_seconds(board->train_ns),
        .epoch = (double)board->index / (double)course->batches_per_epoch,
        .train_loss = board->epoch_samples ? board->epoch_loss / (double)board->epoch_samples : 0,
        .test_loss = loss / tests,
        .test_accuracy = (double)correct / tests,
    };
    hr_atom64_store_release(&board->ncurve, number + 1); /* partner: hr_launcher_tick */
}

static void note_epoch_loss(struct hr_run *run)
{
    const struct hr_board *board = run->board;
    struct hr_epoch_losses *losses = run->shared.snapshot.losses;
    if (!hr_batch_schedule_ends_epoch(&run->shared.course, board->index) || !board->epoch_samples)
        return;
    losses->last = board->epoch_loss / (double)board->epoch_samples;
    if (losses->first == 0)
        losses->first = losses->last;
}

void hr_cut_conclude(struct hr_run *run)
{
    struct hr_board *board = run->board;
    struct hr_dispenser *dispenser = run->shared.dispenser;
    fold_training(run);
    note_epoch_loss(run);
    if (board->evaluate)
        add_curve_point(run);
    if (board->save) /* partner: hr_launcher_tick */
        hr_atom64_store_release(&board->saves_asked,
                                hr_atom64_load_relaxed(&board->saves_asked) + 1);
    if (!board->halt && !run->shared.strategy->synchronous) {
        hr_atom64_store_release(&dispenser->next,
                                board->index); /* hogwild has drawn past the cut */
        hr_atom64_store_release(&dispenser->cut,
                                hr_batch_schedule_next_cut(&run->shared.course, board->index));
    }
    hr_bell_ring(&run->shared.control->launcher_bell);
    hr_atom64_store_relaxed(&board->shown_ns, (uint64_t)board->train_ns);
}

void hr_cut_leave(struct hr_trainee *trainee)
{
    const struct hr_run *run = trainee->run;
    struct hr_worker *worker = &trainee->worker;
    if (hr_batch_schedule_ends_epoch(&run->shared.course, run->board->index)) {
        worker->stats->epoch_loss = 0;
        worker->stats->epoch_samples = 0;
    }
    if (!run->board->halt && run->shared.strategy->synchronous)
        worker->cut = hr_batch_schedule_next_cut(&run->shared.course, run->board->index);
}
