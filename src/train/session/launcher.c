#include "session/launcher.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"

static void *write_main(void *arg)
{
    struct hr_writer *writer = arg;
    const int64_t began = hr_clock_ns();
    writer->status = writer->write(writer->arg);
    if (writer->status != HR_OK)
        snprintf(writer->message, sizeof writer->message, "%s", hr_error_message());
    writer->took_ns = hr_clock_ns() - began;
    hr_atom32_store_release(&writer->done, 1); /* partner: hr_writer_is_done */
    hr_bell_ring(writer->bell);
    return NULL;
}

void hr_writer_start(struct hr_writer *writer, enum hr_status (*write)(void *arg), void *arg,
                     struct hr_bell *bell)
{
    HR_ASSERT(!writer->busy);
    *writer = (struct hr_writer){.write = write, .arg = arg, .bell = bell, .busy = true};
    writer->threaded = hr_thread_start(&writer->thread, write_main, writer) == 0;
    if (!writer->threaded)
        write_main(writer);
}

bool hr_writer_is_busy(const struct hr_writer *writer)
{
    return writer->busy;
}

bool hr_writer_is_done(const struct hr_writer *writer)
{
    return writer->busy && hr_atom32_load_acquire(&writer->done); /* partner: write_main */
}

enum hr_status hr_writer_finish(struct hr_writer *writer)
{
    HR_ASSERT(writer->busy);
    if (writer->threaded)
        pthread_join(writer->thread, NULL);
    writer->busy = false;
    return writer->status == HR_OK ? HR_OK : hr_fail(writer->status, "%s", writer->message);
}

enum hr_status hr_observer_begins(const struct hr_observer *observer,
                                  const struct hr_run_info *info)
{
    if (observer->admits)
        HR_TRY(observer->admits(observer->arg, info));
    if (observer->started)
        observer->started(observer->arg, info);
    return HR_OK;
}

/* Samples that this run's schedule hands out before batch `index`. */
static uint64_t samples_before(const struct hr_batch_schedule *schedule, uint64_t index)
{
    const struct hr_batch batch = hr_batch_schedule_batch(schedule, index);
    return batch.epoch * schedule->samples + batch.first;
}

/* Of the update that a record tells of. */
static double rate_of(const struct hr_launcher *launcher, const struct hr_step_record *record)
{
    const struct hr_batch_schedule *schedule = launcher->cuts->schedule;
    if (launcher->rateless)
        return NAN;
    if (launcher->by_rows)
        return (double)hr_lr_at(&schedule->lr, (double)(record->index / schedule->samples), 1);
    const double rate = (double)hr_batch_schedule_lr(schedule, record->index);
    const bool slower = launcher->by_staleness && record->staleness < HR_DROPPED;
    return slower ? rate / (1 + (double)record->staleness) : rate;
}

static void take_step(const struct hr_launcher *launcher, size_t rank,
                      const struct hr_step_record *record)
{
    const struct hr_cuts *cuts = launcher->cuts;
    const struct hr_batch_schedule *schedule = cuts->schedule;
    const struct hr_batch batch = hr_batch_schedule_batch(schedule, record->index);
    const bool counted = record->staleness < HR_DROPPED;
    const struct hr_step_report report = {
        .worker = rank,
        .step = 1 + record->index + cuts->history.steps,
        .epoch = 1 + batch.epoch,
        .samples = cuts->history.samples + batch.epoch * schedule->samples + batch.first +
                   batch.count - samples_before(schedule, schedule->first),
        .seconds = cuts->history.seconds + hr_seconds(record->at_ns),
        .batch = record->samples,
        .loss = record->loss_sum / (double)record->samples,
        .rows = launcher->by_rows ? record->samples : 0,
        .lr = rate_of(launcher, record),
        .norm = (double)record->norm,
        .staleness = counted ? (int64_t)record->staleness : -1,
        .dropped = record->staleness == HR_DROPPED,
        .load_s = hr_seconds(hr_record_spent_ns(record, HR_LOAD)),
        .compute_s = hr_seconds(hr_record_spent_ns(record, HR_COMPUTE)),
        .communicate_s = hr_seconds(hr_record_spent_ns(record, HR_COMMUNICATE)),
        .wait_s = hr_seconds(hr_record_spent_ns(record, HR_WAIT)),
    };
    launcher->observer->stepped(launcher->observer->arg, &report);
}

static void take_span(const struct hr_launcher *launcher, size_t rank,
                      const struct hr_span_record *record)
{
    const struct hr_span_report report = {
        .rank = rank,
        .kind = (enum hr_span_kind)(record->what & 0xff),
        .part = (enum hr_span_part)(record->what >> 8),
        .step = record->step,
        .begin_ns = record->begin_ns,
        .end_ns = record->end_ns,
        .peer = record->peer == HR_NO_PEER ? HR_SPAN_NOBODY : (int64_t)record->peer,
        .note = record->note[0],
    };
    launcher->observer->spanned(launcher->observer->arg, &report);
}

/* Is it behind a point that is to be told first? A worker that tells of such a step has gone on
 * from the cut, so that the point is there. */
static bool is_behind(const struct hr_launcher *launcher, const struct hr_step_record *record)
{
    return record->index >= launcher->reported.ends &&
           launcher->reported.points < hr_atom64_load_acquire(&launcher->cuts->cut->ncurve);
}

static bool take(void *arg, size_t rank, const struct hr_message *message)
{
    struct hr_launcher *launcher = arg;
    const void *record = message;
    if (message->kind == HR_RECORD_STEP && is_behind(launcher, record)) {
        launcher->reported.held = true;
        return false;
    }
    if (message->kind == HR_RECORD_STEP && launcher->observer->stepped)
        take_step(launcher, rank, record);
    if (message->kind == HR_RECORD_SPAN && launcher->observer->spanned)
        take_span(launcher, rank, record);
    return true;
}

/* For hogring top. */
static void note_point(const struct hr_launcher *launcher, const struct hr_curve_point *point)
{
    struct hr_course *course = &launcher->cuts->control->course;
    hr_course_store(&course->train_loss, point->train_loss);
    hr_course_store(&course->loss, hr_curve_loss(point));
    hr_course_store(&course->accuracy, hr_curve_accuracy(point));
    hr_atom64_store_relaxed(&course->points, launcher->reported.points + 1);
}

static void report_point(struct hr_launcher *launcher)
{
    const struct hr_observer *observer = launcher->observer;
    const struct hr_curve_point *point = &launcher->cuts->curve[launcher->reported.points];
    note_point(launcher, point);
    if (observer->evaluated)
        observer->evaluated(observer->arg, point);
    launcher->reported.points++;
    launcher->reported.ends =
        hr_batch_schedule_next_end(launcher->cuts->schedule, launcher->reported.ends);
}

/* Before ranks run. The caller has set what is not said to be told. */
static void begin_reports(struct hr_launcher *launcher)
{
    const struct hr_batch_schedule *schedule = launcher->cuts->schedule;
    launcher->reported.points = launcher->cuts->history.points;
    launcher->reported.ends = hr_batch_schedule_next_end(schedule, schedule->first);
}

void hr_launcher_report(struct hr_launcher *launcher)
{
    const struct hr_cut *cut = launcher->cuts->cut;
    for (;;) {
        const uint64_t points =
            hr_atom64_load_acquire(&cut->ncurve); /* partner: hr_cut_add_point */
        launcher->reported.held = false;
        if (launcher->feed && hr_feed_is_on(launcher->feed)) /* all that was before those points */
            hr_feed_drain(launcher->feed, take, launcher);
        if (launcher->reported.points < points)
            report_point(launcher);
        else if (!launcher->reported.held)
            return;
    }
}

/* The state as it is at the current cut, or pause, is copied, and will be saved. */
static void report_saving(struct hr_launcher *launcher)
{
    const struct hr_observer *observer = launcher->observer;
    hr_launcher_report(launcher);
    if (observer->saving)
        observer->saving(observer->arg, hr_cut_step(launcher->cuts));
}

/* All that is in it is told, and it is about to be written. */
static void report_writing(struct hr_launcher *launcher)
{
    hr_launcher_report(launcher);
    if (launcher->observer->writing)
        launcher->observer->writing(launcher->observer->arg);
}

/* --checkpoint-every of seconds. */
static int64_t ns_between_saves(const struct hr_launcher *launcher)
{
    const double ns = launcher->saver->options->checkpoint_every.seconds * (double)HR_NS_PER_SECOND;
    return ns < 1 ? 1 : ns > 0x1p61 ? (int64_t)1 << 61 : (int64_t)ns;
}

void hr_launcher_begin(struct hr_launcher *launcher)
{
    launcher->began_ns = launcher->now_ns(launcher->clock);
    begin_reports(launcher);
    launcher->due_ns = launcher->began_ns + ns_between_saves(launcher);
}

static double seconds_so_far(const struct hr_launcher *launcher)
{
    return hr_seconds(launcher->now_ns(launcher->clock) - launcher->began_ns);
}

/* Its counters come at cuts; between them its machine tells ten times per second. */
static uint64_t reported_elsewhere(const struct hr_launcher *launcher, size_t w)
{
    const struct hr_control *control = launcher->cuts->control;
    return hr_control_is_elsewhere(control, w)
               ? hr_atom64_load_relaxed(&control->rank[w].gauge.samples) /* partner: the bridge */
               : 0;
}

static uint64_t samples_so_far(const struct hr_launcher *launcher)
{
    const unsigned char *first = (const unsigned char *)launcher->seen;
    uint64_t sum = 0;
    for (size_t w = 0; w < launcher->saver->options->workers; w++) {
        const struct hr_atom64 *seen = (const void *)(first + w * launcher->seen_stride);
        const uint64_t counted = hr_atom64_load_relaxed(seen),
                       reported = reported_elsewhere(launcher, w);
        sum += counted > reported ? counted : reported;
    }
    return sum;
}

/* For hogring top. */
static void report_course(const struct hr_launcher *launcher, const struct hr_progress *progress)
{
    const struct hr_batch_schedule *schedule = launcher->cuts->schedule;
    struct hr_course *course = &launcher->cuts->control->course;
    hr_atom64_store_relaxed(&course->samples, progress->samples);
    hr_atom64_store_relaxed(&course->total, progress->total);
    hr_atom64_store_relaxed(&course->batches, schedule->end);
    hr_course_store(&course->epoch, progress->epoch);
    hr_course_store(&course->epochs, (double)schedule->end / (double)schedule->batches_per_epoch);
    hr_course_store(&course->seconds, progress->seconds);
    hr_atom64_store_relaxed(&course->updated_ns, (uint64_t)hr_clock_coarse_ns());
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
    if (launcher->max_seconds > 0 && progress.seconds > 0) /* as it goes now, it ends there */
        progress.total = (uint64_t)fmin((double)progress.total,
                                        (double)progress.samples *
                                            fmax(launcher->max_seconds / progress.seconds, 1));
    progress.epoch = (double)(before + progress.samples) / (double)schedule->samples;
    report_course(launcher, &progress);
    if (launcher->observer->progress)
        launcher->observer->progress(launcher->observer->arg, &progress);
}

static enum hr_status look_for_stop(struct hr_launcher *launcher)
{
    const struct hr_observer *observer = launcher->observer;
    const int asked = observer->should_stop ? observer->should_stop(observer->arg) : 0;
    if (asked >= 2)
        return hr_fail(HR_E_INTERRUPTED, "interrupted twice: left at once, without saving");
    const bool elsewhere = /* partner: who takes messages */
        launcher->elsewhere && hr_atom32_load_acquire(&launcher->elsewhere->stop);
    if (asked == 1 || elsewhere)
        hr_atom32_store_release(launcher->stop, HR_STOP_INTERRUPTED); /* partner: in the header */
    else if (launcher->max_seconds > 0 && seconds_so_far(launcher) >= launcher->max_seconds)
        hr_atom32_store_release(launcher->stop, HR_STOP_DONE);
    return HR_OK;
}

/* --- saves --- */

/* Else only digests are kept of what is taken. */
static bool saves_files(const struct hr_launcher *launcher)
{
    return launcher->saver->options->checkpoint_dir[0];
}

/* A periodic save that fails costs a warning; the run goes on, and the next may succeed. */
static void note_saved(struct hr_launcher *launcher, enum hr_status status)
{
    const struct hr_observer *observer = launcher->observer;
    struct hr_run_result *result = launcher->result;
    launcher->save_status = status;
    if (status == HR_OK && !saves_files(launcher))
        return;
    if (status != HR_OK) {
        result->saves.failed++;
        hr_log(HR_LOG_WARNING, "%s; training goes on", hr_error_message());
        return;
    }
    result->saves.written++;
    snprintf(result->checkpoint, sizeof result->checkpoint, "%s", hr_save_path(launcher->saver));
    if (observer->saved)
        observer->saved(observer->arg, result->checkpoint);
}

bool hr_launcher_writes(const struct hr_launcher *launcher)
{
    return hr_writer_is_busy(&launcher->writer);
}

static void start_writing(struct hr_launcher *launcher)
{
    launcher->held = false;
    report_writing(launcher);
    hr_writer_start(&launcher->writer, hr_save_write, launcher->saver,
                    &launcher->cuts->control->launcher_bell);
}

void hr_launcher_release(struct hr_launcher *launcher)
{
    if (!launcher->held)
        return;
    start_writing(launcher);
}

/* Wait for what is being written. */
static void resolve(struct hr_launcher *launcher)
{
    hr_launcher_release(launcher);
    if (!hr_launcher_writes(launcher))
        return;
    const enum hr_status status = hr_writer_finish(&launcher->writer);
    launcher->result->saves.write_s += hr_seconds(launcher->writer.took_ns);
    note_saved(launcher, status);
    hr_save_drop(launcher->saver);
}

/* The snapshot may be overwritten: it is copied, or cannot be. */
static void let_go_on(struct hr_launcher *launcher, uint64_t asked)
{
    launcher->saves_seen = asked;
    /* Partner: hr_cut_may_arrive. */
    hr_atom64_store_release(&launcher->cuts->cut->saves_done, asked);
    for (size_t w = 0; w < launcher->saver->options->workers; w++)
        hr_bell_ring(&launcher->cuts->control->rank[w].bell);
}

/* A replay rests there, too. */
static void note_requested_cut(struct hr_launcher *launcher)
{
    const struct hr_cut *cut = launcher->cuts->cut;
    const size_t more = launcher->requested_cuts.n ? 2 * launcher->requested_cuts.n : 16;
    if (!cut->asked)
        return;
    if (launcher->requested_cuts.n == launcher->requested_cuts.room) {
        uint64_t *index = realloc(launcher->requested_cuts.index, more * sizeof *index);
        if (!index) {
            hr_log(HR_LOG_WARNING, "no memory to note a save for the trace");
            return;
        }
        launcher->requested_cuts.index = index;
        launcher->requested_cuts.room = more;
    }
    launcher->requested_cuts.index[launcher->requested_cuts.n++] = cut->index;
}

static void take_and_write(struct hr_launcher *launcher, uint64_t asked)
{
    const int64_t began = hr_clock_ns();
    report_saving(launcher);
    const enum hr_status status = hr_save_take(launcher->saver);
    launcher->result->saves.copy_s += hr_seconds(hr_clock_ns() - began);
    note_requested_cut(launcher);
    let_go_on(launcher, asked);
    launcher->held = status == HR_OK && launcher->holds;
    if (status != HR_OK)
        note_saved(launcher, status);
    else if (!launcher->held)
        start_writing(launcher);
}

void hr_launcher_take(struct hr_launcher *launcher)
{
    /* Partner: hr_cut_conclude. */
    const uint64_t asked = hr_atom64_load_acquire(&launcher->cuts->cut->saves_asked);
    if (asked == launcher->saves_seen)
        return;
    resolve(launcher);
    take_and_write(launcher, asked);
}

/* --- asked for between cuts --- */

static void ask(const struct hr_launcher *launcher)
{
    struct hr_save_request *request = launcher->cuts->request;
    if (request && !hr_save_is_asked(request)) /* partner: who begins a batch */
        hr_atom32_store_release(&request->asked, hr_atom32_load_relaxed(&request->asked) + 1);
}

void hr_launcher_mind_time(struct hr_launcher *launcher)
{
    const bool waits = hr_launcher_writes(launcher) && !launcher->alone;
    if (launcher->saver->options->checkpoint_every.seconds <= 0 || !launcher->cuts->saves || waits)
        return;
    const int64_t now = launcher->now_ns(launcher->clock);
    const int64_t every = ns_between_saves(launcher);
    if (now < launcher->due_ns)
        return;
    ask(launcher);
    launcher->due_ns += (now - launcher->due_ns) / every * every + every;
}

static void mind_asks(struct hr_launcher *launcher)
{
    const struct hr_observer *observer = launcher->observer;
    unsigned asks = observer->saves_asked ? observer->saves_asked(observer->arg) : 0;
    if (launcher->elsewhere) /* partner: who takes messages */
        asks += hr_atom32_load_acquire(&launcher->elsewhere->saves);
    if (asks == launcher->asks_seen)
        return;
    launcher->asks_seen = asks;
    if (launcher->cuts->saves && saves_files(launcher) && !launcher->cuts->request)
        hr_log(HR_LOG_WARNING, "SIGUSR1: a replay saves at the ends of epochs; it goes on");
    else if (launcher->cuts->saves && saves_files(launcher))
        ask(launcher);
    else
        hr_log(HR_LOG_WARNING, "SIGUSR1 asks for a checkpoint: where to? start with "
                               "--checkpoint-dir; training goes on");
}

static void mind_saves(struct hr_launcher *launcher)
{
    if (hr_writer_is_done(&launcher->writer))
        resolve(launcher);
    if (launcher->alone || !hr_launcher_writes(launcher))
        hr_launcher_take(launcher);
}

/* --- a launcher that follows --- */

/* The snapshot that is saved is another machine's: here it may be overwritten at once. */
static enum hr_status follow(struct hr_launcher *launcher)
{
    const struct hr_observer *observer = launcher->observer;
    /* Partner: hr_cut_conclude, of another machine. */
    const uint64_t wanted = hr_atom64_load_acquire(&launcher->cuts->cut->saves_asked);
    const int asked = observer->should_stop ? observer->should_stop(observer->arg) : 0;
    const unsigned asks = observer->saves_asked ? observer->saves_asked(observer->arg) : 0;
    if (wanted != launcher->saves_seen)
        let_go_on(launcher, wanted);
    if (asked >= 2)
        return hr_fail(HR_E_INTERRUPTED, "interrupted twice: left at once, without saving");
    if (asked && !launcher->stop_passed)
        HR_TRY(launcher->pass_on(launcher->pass_arg, true));
    if (asks != launcher->asks_seen)
        HR_TRY(launcher->pass_on(launcher->pass_arg, false));
    launcher->stop_passed = asked > 0;
    launcher->asks_seen = asks;
    return HR_OK;
}

enum hr_status hr_launcher_tick(void *arg)
{
    struct hr_launcher *launcher = arg;
    if (launcher->pass_on)
        return follow(launcher);
    hr_launcher_report(launcher);
    mind_saves(launcher);
    mind_asks(launcher);
    if (!launcher->alone)
        hr_launcher_mind_time(launcher);
    show_progress(launcher);
    return look_for_stop(launcher);
}

enum hr_status hr_launcher_end(struct hr_launcher *launcher)
{
    if (launcher->pass_on)
        return HR_OK;
    hr_launcher_take(launcher);
    resolve(launcher);
    launcher->result->digests = launcher->saver->digests.list;
    launcher->result->ndigests = launcher->saver->digests.n;
    launcher->saver->digests = (struct hr_step_digests){0};
    return hr_launcher_tick(launcher);
}

void hr_launcher_stop(struct hr_launcher *launcher)
{
    if (!launcher->cuts || launcher->pass_on) /* it has not begun, or follows */
        return;
    hr_launcher_take(launcher);
    resolve(launcher);
    free(launcher->saver->digests.list);
    launcher->saver->digests = (struct hr_step_digests){0};
    hr_launcher_report(launcher); /* what ranks have told before they failed */
    free(launcher->requested_cuts.index);
    launcher->requested_cuts.index = NULL;
    launcher->requested_cuts.n = launcher->requested_cuts.room = 0;
}

enum hr_status hr_launcher_saved(const struct hr_launcher *launcher)
{
    return launcher->save_status == HR_OK
               ? HR_OK
               : hr_fail(launcher->save_status,
                         "the last checkpoint could not be saved: see above");
}

int64_t hr_launcher_ps(const struct hr_launcher *launcher)
{
    return 1000 * (launcher->now_ns(launcher->clock) - launcher->began_ns);
}
