/* The launcher's side of a run: it shows progress, saves snapshots and passes on requests to stop.
 * It never computes. */
#include "base/clock.h"
#include "base/log.h"
#include "train/run.h"
#include "train/saved.h"

static void show_progress(struct hr_run *run)
{
    const struct hr_batch_schedule *course = &run->shared.course;
    struct hr_progress progress = {.seconds = hr_seconds(hr_run_now_ns(run) - run->began_ns)};
    for (size_t w = 0; w < run->shared.workers; w++)
        progress.samples += hr_atom64_load_relaxed(&run->shared.stats[w].seen); /* an estimate */
    const struct hr_batch begin = hr_batch_schedule_batch(course, course->first);
    const uint64_t before = begin.epoch * course->samples + begin.first;
    progress.total = course->end / course->batches_per_epoch * course->samples +
                     course->end % course->batches_per_epoch * course->batch - before;
    progress.epoch = (double)(before + progress.samples) / (double)course->samples;
    run->observer->progress(run->observer->arg, &progress);
}

static void show_new_points(struct hr_run *run)
{
    const uint64_t written = hr_atom64_load_acquire(&run->board->ncurve); /* partner: cut.c */
    for (; run->points_shown < written; run->points_shown++)
        if (run->observer->evaluated)
            run->observer->evaluated(run->observer->arg, &run->curve[run->points_shown]);
}

static void pass_on_stop(struct hr_run *run, uint32_t reason)
{
    hr_atom32_store_release(&run->shared.dispenser->stop,
                            reason); /* partner: who hands out batches */
}

static enum hr_status look_for_stop(struct hr_run *run)
{
    const int asked =
        run->observer->should_stop ? run->observer->should_stop(run->observer->arg) : 0;
    if (asked >= 2)
        return hr_fail(HR_E_INTERRUPTED, "interrupted twice: left at once, without saving");
    if (asked == 1)
        pass_on_stop(run, HR_STOP_INTERRUPTED);
    else if (run->options->max_seconds > 0 && run->schedule != HR_SCHEDULE_VIRTUAL &&
             hr_seconds(hr_clock_ns() - run->began_ns) >= run->options->max_seconds)
        pass_on_stop(run, HR_STOP_DONE);
    return HR_OK;
}

/* A periodic save that fails costs a warning; the run goes on, and the next may succeed. */
static void save_if_asked(struct hr_run *run)
{
    const uint64_t asked = hr_atom64_load_acquire(&run->board->saves_asked); /* partner: cut.c */
    if (asked == run->saves_seen)
        return;
    run->save_status = hr_save(run);
    if (run->save_status != HR_OK)
        hr_log(HR_LOG_WARNING, "%s; training goes on", hr_error_message());
    else if (run->observer->saved)
        run->observer->saved(run->observer->arg, run->result->checkpoint);
    run->saves_seen = asked;
    hr_atom64_store_release(&run->board->saves_done, asked); /* partner: hr_cut_may_arrive */
    for (size_t w = 0; w < run->shared.workers; w++)
        hr_bell_ring(&run->shared.control->rank[w].bell);
}

enum hr_status hr_launcher_tick(void *arg)
{
    struct hr_run *run = arg;
    show_new_points(run);
    save_if_asked(run);
    if (run->observer->progress)
        show_progress(run);
    return look_for_stop(run);
}
