#include "strategy/batch_schedule.h"

#include "base/error.h"

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct hr_batch hr_batch_schedule_batch(const struct hr_batch_schedule *schedule, uint64_t index)
{
    const uint64_t first = index % schedule->batches_per_epoch * schedule->batch;
    return (struct hr_batch){
        .epoch = index / schedule->batches_per_epoch,
        .first = first,
        .count = min_u64(schedule->batch, schedule->samples - first),
    };
}

struct hr_piece hr_batch_schedule_piece(const struct hr_batch_schedule *schedule,
                                        const struct hr_batch *batch, uint64_t done)
{
    const uint64_t position = batch->epoch * schedule->samples + batch->first + done;
    const uint64_t first = position % schedule->pass;
    return (struct hr_piece){
        .pass = position / schedule->pass,
        .first = first,
        .count = min_u64(batch->count - done, schedule->pass - first),
    };
}

float hr_batch_schedule_lr(const struct hr_batch_schedule *schedule, uint64_t index)
{
    const struct hr_batch batch = hr_batch_schedule_batch(schedule, index);
    const double samples = (double)schedule->samples;
    const double epoch = (double)batch.epoch + (double)batch.first / samples;
    const float lr = hr_lr_at(&schedule->lr, epoch, (double)batch.count / samples);
    return (float)((double)lr * schedule->lr_factor);
}

static uint64_t next_multiple(uint64_t index, uint64_t of)
{
    return (index / of + 1) * of;
}

uint64_t hr_batch_schedule_next_end(const struct hr_batch_schedule *schedule, uint64_t index)
{
    return next_multiple(index, schedule->batches_per_epoch);
}

/* The first of `requested_cuts` behind index; HR_NO_INDEX: there is none. */
static uint64_t next_requested_cut(const struct hr_batch_schedule *schedule, uint64_t index)
{
    size_t from = 0, to = schedule->nrequested_cuts;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (schedule->requested_cuts[middle] > index)
            to = middle;
        else
            from = middle + 1;
    }
    return from < schedule->nrequested_cuts ? schedule->requested_cuts[from] : HR_NO_INDEX;
}

uint64_t hr_batch_schedule_next_cut(const struct hr_batch_schedule *schedule, uint64_t index)
{
    uint64_t cut = min_u64(schedule->end, hr_batch_schedule_next_end(schedule, index));
    if (schedule->checkpoint_every && !schedule->pauses)
        cut = min_u64(cut, next_multiple(index, schedule->checkpoint_every));
    return min_u64(cut, next_requested_cut(schedule, index));
}

uint64_t hr_batch_schedule_longest_span(const struct hr_batch_schedule *schedule)
{
    const uint64_t epoch = min_u64(schedule->batches_per_epoch, schedule->end - schedule->first);
    const bool cuts = schedule->checkpoint_every && !schedule->pauses;
    return cuts ? min_u64(epoch, schedule->checkpoint_every) : epoch;
}

uint64_t hr_batch_schedule_next_save(const struct hr_batch_schedule *schedule, uint64_t index)
{
    return schedule->checkpoint_every ? next_multiple(index, schedule->checkpoint_every)
                                      : UINT64_MAX;
}

uint64_t hr_batch_schedule_every(const struct hr_batch_schedule *schedule,
                                 const struct hr_every *every)
{
    if (every->seconds > 0 || every->epochs > HR_NO_INDEX / schedule->batches_per_epoch)
        return HR_NO_INDEX;
    return every->epochs ? every->epochs * schedule->batches_per_epoch : every->steps;
}

bool hr_batch_schedule_ends_epoch(const struct hr_batch_schedule *schedule, uint64_t index)
{
    return index % schedule->batches_per_epoch == 0;
}

bool hr_batch_schedule_only_quiesces(const struct hr_batch_schedule *schedule, uint64_t index)
{
    return !schedule->levels && !hr_batch_schedule_ends_epoch(schedule, index);
}

bool hr_batch_schedule_saves(const struct hr_batch_schedule *schedule, uint64_t index)
{
    return schedule->checkpoint_every ? index % schedule->checkpoint_every == 0
                                      : hr_batch_schedule_ends_epoch(schedule, index);
}

/* --- batches that came back --- */

void hr_returned_add(struct hr_returned *returned, uint64_t index)
{
    const uint64_t number = hr_atom64_load_relaxed(&returned->added); /* our own word */
    HR_ASSERT(number - hr_atom64_load_relaxed(&returned->taken) < returned->room);
    returned->index[number % returned->room] = index;
    hr_atom64_store_release(&returned->added, number + 1); /* partner: hr_returned_take */
}

bool hr_returned_any(const struct hr_returned *returned)
{
    return hr_atom64_load_acquire(&returned->added) != hr_atom64_load_acquire(&returned->taken);
}

bool hr_returned_look(const struct hr_returned *returned, uint64_t ahead, uint64_t *index)
{
    const uint64_t number = hr_atom64_load_acquire(&returned->taken) + ahead;
    /* Partner: hr_returned_add. */
    if (number >= hr_atom64_load_acquire(&returned->added))
        return false;
    *index = returned->index[number % returned->room];
    return true;
}

bool hr_returned_take(struct hr_returned *returned, uint64_t *index)
{
    for (;;) {
        const uint64_t number = hr_atom64_load_acquire(&returned->taken);
        if (number == hr_atom64_load_acquire(&returned->added)) /* partner: hr_returned_add */
            return false;
        *index = returned->index[number % returned->room];
        if (hr_atom64_replace_acq_rel(&returned->taken, number, number + 1))
            return true;
    }
}
