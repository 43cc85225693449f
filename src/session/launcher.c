#include "session/launcher.h"

#include "base/clock.h"
#include "base/log.h"

void hr_launcher_begin(struct hr_launcher *launcher)
{
    launcher->began_ns = launcher->now_ns(launcher->clock);
    launcher->points_shown = launcher->cuts->past.points;
}

static double seconds_so_far(const struct hr_launcher *launcher)
{
    return hr_seconds(launcher->now_ns(launcher->clock) - launcher->began_ns);
}

static uint64_t samples_so_far(const struct hr_launcher *launcher)
{
    const unsigned char *first = (const unsigned char *)launcher->seen;
    uint64_t sum = 0;
    for (size_t w = 0; w < launcher->workers; w++)
        sum += hr_atom64_load_relaxed(
            (const struct hr_atom64 *)(const void *)(first + w * launcher->seen_stride));
    return sum;
}

static void show_progress(const struct hr_launcher *launcher)
{
    const struct hr_batch_schedule *schedule = launcher->cuts->schedule;
    const struct hr_batch begin = hr_batch_schedule_batch(schedule, schedule->first);
    const uint64_t before = begin.epoch * schedule->samples + begin.first;
    struct hr_progress progress = {.seconds = seconds_so_far(launcher),
                                   .samples = samples_so_far(launcher)};
    progress.total = schedule->end / schedule->batches_per_epoch * schedule->samples +
                     schedule->end % schedule->batches_per_epoch * schedule->batch - before;
    progress.epoch = (double)(before + progress.samples) / (double)schedule->samples;
    launcher->observer->progress(launcher->observer->arg, &progress);
}

static void show_new_points(struct hr_launcher *launcher)
{
    const struct hr_observer *observer = launcher->observer;
    const struct hr_cuts *cuts = launcher->cuts;
    const uint64_t written = hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: add_point */
    for (; launcher->points_shown < written; launcher->points_shown++)
        if (observer->evaluated)
            observer->evaluated(observer->arg, &cuts->curve[launcher->points_shown]);
}

static enum hr_status look_for_stop(struct hr_launcher *launcher)
{
    const struct hr_observer *observer = launcher->observer;
    const int asked = observer->should_stop ? observer->should_stop(observer->arg) : 0;
    if (asked >= 2)
        return hr_fail(HR_E_INTERRUPTED, "interrupted twice: left at once, without saving");
    if (asked == 1)
        hr_atom32_store_release(launcher->stop, HR_STOP_INTERRUPTED); /* partner: in the header */
    else if (launcher->max_seconds > 0 && seconds_so_far(launcher) >= launcher->max_seconds)
        hr_atom32_store_release(launcher->stop, HR_STOP_DONE);
    return HR_OK;
}

/* A periodic save that fails costs a warning; the run goes on, and the next may succeed. */
static void save_if_asked(struct hr_launcher *launcher)
{
    struct hr_cut *cut = launcher->cuts->cut;
    const uint64_t asked = hr_atom64_load_acquire(&cut->saves_asked); /* partner: conclude */
    if (asked == launcher->saves_seen)
        return;
    launcher->save_status = launcher->save(launcher->engine);
    if (launcher->save_status != HR_OK)
        hr_log(HR_LOG_WARNING, "%s; training goes on", hr_error_message());
    else if (launcher->observer->saved)
        launcher->observer->saved(launcher->observer->arg, launcher->checkpoint);
    launcher->saves_seen = asked;
    hr_atom64_store_release(&cut->saves_done, asked); /* partner: hr_cut_may_arrive */
    for (size_t w = 0; w < launcher->workers; w++)
        hr_bell_ring(&launcher->cuts->control->rank[w].bell);
}

enum hr_status hr_launcher_tick(void *arg)
{
    struct hr_launcher *launcher = arg;
    show_new_points(launcher);
    save_if_asked(launcher);
    if (launcher->observer->progress)
        show_progress(launcher);
    return look_for_stop(launcher);
}

int64_t hr_launcher_ps(const struct hr_launcher *launcher)
{
    return 1000 * (launcher->now_ns(launcher->clock) - launcher->began_ns);
}
