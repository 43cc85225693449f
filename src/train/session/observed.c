#include "session/observed.h"

#include <math.h>

#include "base/clock.h"

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
static double rate_of(const struct hr_observed *observed, const struct hr_step_record *record)
{
    const struct hr_batch_schedule *schedule = observed->cuts->schedule;
    if (observed->rateless)
        return NAN;
    if (observed->by_rows)
        return (double)hr_lr_at(&schedule->lr, (double)(record->index / schedule->samples), 1);
    const double rate = (double)hr_batch_schedule_lr(schedule, record->index);
    const bool slower = observed->by_staleness && record->staleness < HR_DROPPED;
    return slower ? rate / (1 + (double)record->staleness) : rate;
}

static void take_step(const struct hr_observed *observed, size_t rank,
                      const struct hr_step_record *record)
{
    const struct hr_cuts *cuts = observed->cuts;
    const struct hr_batch_schedule *schedule = cuts->schedule;
    const struct hr_batch batch = hr_batch_schedule_batch(schedule, record->index);
    const bool counted = record->staleness < HR_DROPPED;
    const struct hr_step_report report = {
        .worker = rank,
        .step = 1 + record->index + cuts->past.steps,
        .epoch = 1 + batch.epoch,
        .samples = cuts->past.samples + batch.epoch * schedule->samples + batch.first +
                   batch.count - samples_before(schedule, schedule->first),
        .seconds = cuts->past.seconds + hr_seconds(record->at_ns),
        .batch = record->samples,
        .loss = record->loss_sum / (double)record->samples,
        .rows = observed->by_rows ? record->samples : 0,
        .lr = rate_of(observed, record),
        .norm = (double)record->norm,
        .staleness = counted ? (int64_t)record->staleness : -1,
        .dropped = record->staleness == HR_DROPPED,
        .load_s = hr_seconds(hr_record_spent_ns(record, HR_LOAD)),
        .compute_s = hr_seconds(hr_record_spent_ns(record, HR_COMPUTE)),
        .communicate_s = hr_seconds(hr_record_spent_ns(record, HR_COMMUNICATE)),
        .wait_s = hr_seconds(hr_record_spent_ns(record, HR_WAIT)),
    };
    observed->observer->stepped(observed->observer->arg, &report);
}

static void take_span(const struct hr_observed *observed, size_t rank,
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
    observed->observer->spanned(observed->observer->arg, &report);
}

/* Is it behind a point that is to be told first? A worker that tells of such a step has gone on
 * from the cut, so that the point is there. */
static bool is_behind(const struct hr_observed *observed, const struct hr_step_record *record)
{
    return record->index >= observed->ends &&
           observed->points < hr_atom64_load_acquire(&observed->cuts->cut->ncurve);
}

static bool take(void *arg, size_t rank, const struct hr_message *message)
{
    struct hr_observed *observed = arg;
    const void *record = message;
    if (message->kind == HR_RECORD_STEP && is_behind(observed, record)) {
        observed->held = true;
        return false;
    }
    if (message->kind == HR_RECORD_STEP && observed->observer->stepped)
        take_step(observed, rank, record);
    if (message->kind == HR_RECORD_SPAN && observed->observer->spanned)
        take_span(observed, rank, record);
    return true;
}

/* For hogring top. */
static void note_point(const struct hr_observed *observed, const struct hr_curve_point *point)
{
    struct hr_course *course = &observed->cuts->control->course;
    hr_course_store(&course->train_loss, point->train_loss);
    hr_course_store(&course->loss, hr_curve_loss(point));
    hr_course_store(&course->accuracy, hr_curve_accuracy(point));
    hr_atom64_store_relaxed(&course->points, observed->points + 1);
}

static void tell_point(struct hr_observed *observed)
{
    const struct hr_observer *observer = observed->observer;
    const struct hr_curve_point *point = &observed->cuts->curve[observed->points];
    note_point(observed, point);
    if (observer->evaluated)
        observer->evaluated(observer->arg, point);
    observed->points++;
    observed->ends = hr_batch_schedule_next_end(observed->cuts->schedule, observed->ends);
}

void hr_observed_begin(struct hr_observed *observed)
{
    const struct hr_batch_schedule *schedule = observed->cuts->schedule;
    observed->points = observed->cuts->past.points;
    observed->ends = hr_batch_schedule_next_end(schedule, schedule->first);
}

void hr_observed_tell(struct hr_observed *observed)
{
    const struct hr_cut *cut = observed->cuts->cut;
    for (;;) {
        const uint64_t points = hr_atom64_load_acquire(&cut->ncurve); /* partner: add_point */
        observed->held = false;
        if (observed->feed && hr_feed_is_on(observed->feed)) /* all that was before those points */
            hr_feed_drain(observed->feed, take, observed);
        if (observed->points < points)
            tell_point(observed);
        else if (!observed->held)
            return;
    }
}

void hr_observed_saving(struct hr_observed *observed)
{
    const struct hr_observer *observer = observed->observer;
    hr_observed_tell(observed);
    if (observer->saving)
        observer->saving(observer->arg, hr_cut_step(observed->cuts));
}

void hr_observed_writing(struct hr_observed *observed)
{
    hr_observed_tell(observed);
    if (observed->observer->writing)
        observed->observer->writing(observed->observer->arg);
}

void hr_observed_lost(struct hr_observed *observed, const struct hr_loss *loss)
{
    hr_observed_tell(observed);
    if (observed->observer->lost)
        observed->observer->lost(observed->observer->arg, loss);
}
