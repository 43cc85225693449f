#include "state/pause_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "session/saved.h"
#include "state/model_tensors.h"
#include "strategy/pause.h"
#include "strategy/shared.h"

static const char hands_name[] = "in_hand";

enum { HAND = 2 };

static const struct hr_pause *pause_of(const struct hr_run *run)
{
    const struct hr_pause *pause = run->shared.pause;
    return pause && pause->is_saved ? pause : NULL;
}

const struct hr_snapshot *hr_saved_snapshot(const struct hr_run *run)
{
    const struct hr_pause *pause = pause_of(run);
    return pause ? &pause->snapshot : &run->shared.snapshot;
}

size_t hr_pause_state_bytes(const struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    return shared->strategy->pause
               ? (HAND * hr_pause_room(shared) + shared->workers) * sizeof(double)
               : 0;
}

/* --- saved --- */

/* Where the first sample of a batch stands since training began. */
static uint64_t position_of(const struct hr_batch_schedule *schedule, uint64_t index)
{
    const struct hr_batch batch = hr_batch_schedule_batch(schedule, index);
    return batch.epoch * schedule->samples + batch.first;
}

static void put_hands(const struct hr_run *run, const struct hr_pause *pause,
                      struct hr_tensor_file *trainer)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    for (size_t i = 0; i < pause->hands; i++) {
        const struct hr_hand *hand = &pause->hand[i];
        uint64_t samples = 0;
        for (uint64_t k = 0; k < hand->count; k++)
            samples += hr_batch_schedule_batch(schedule, hand->first + k).count;
        pause->saved_hands[HAND * i] = (double)position_of(schedule, hand->first);
        pause->saved_hands[HAND * i + 1] = (double)samples;
    }
    hr_saved_put_table(trainer, hands_name, pause->hands, HAND, pause->saved_hands);
}

void hr_pause_state_put(const struct hr_run *run, struct hr_tensor_file *trainer)
{
    if (pause_of(run))
        put_hands(run, pause_of(run), trainer);
}

/* --- read --- */

static enum hr_status not_ours(const struct hr_run *run, const struct hr_checkpoint *checkpoint,
                               const double *row)
{
    return hr_fail(HR_E_USAGE,
                   "--resume %s: %.0f samples from number %.0f on were in hand, which are no whole "
                   "batches of this run's %" PRIu64 " samples; expected the batch size it had",
                   checkpoint->path, row[1], row[0], run->shared.schedule.batch);
}

/* The batches of a row. */
static enum hr_status take_hand(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                const double *row)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    struct hr_begins_with *begins = &run->shared.begins_with;
    uint64_t position, samples;
    HR_TRY(hr_saved_samples(checkpoint, hands_name, row[0], &position));
    HR_TRY(hr_saved_samples(checkpoint, hands_name, row[1], &samples));
    uint64_t index = position / schedule->samples * schedule->batches_per_epoch +
                     position % schedule->samples / schedule->batch;
    if (position_of(schedule, index) != position)
        return not_ours(run, checkpoint, row);
    for (; samples > 0; index++) {
        const uint64_t count = hr_batch_schedule_batch(schedule, index).count;
        if (count > samples)
            return not_ours(run, checkpoint, row);
        if (index >= schedule->first)
            return hr_fail(HR_E_FORMAT, "%s: batches in hand are behind its position",
                           checkpoint->path);
        uint64_t *more = realloc(begins->index, (begins->n + 1) * sizeof *more);
        if (!more)
            return hr_fail(HR_E_NOMEM, "no memory for batches in hand");
        begins->index = more;
        more[begins->n++] = index;
        begins->lowest = index < begins->lowest ? index : begins->lowest;
        samples -= count;
    }
    return HR_OK;
}

static void say_untrained(const struct hr_run *run, const struct hr_checkpoint *checkpoint,
                          const double *rows, size_t n)
{
    double samples = 0;
    for (size_t i = 0; i < n; i++)
        samples += rows[HAND * i + 1];
    hr_log(HR_LOG_WARNING,
           "%s: %.0f samples were in hand when it was saved, and %s does not hand them out again: "
           "they are not trained on in this epoch",
           checkpoint->path, samples, run->job.options->strategy);
}

enum hr_status hr_pause_state_position(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const double *rows;
    size_t n;
    run->shared.begins_with.lowest = run->shared.schedule.first;
    HR_TRY(hr_saved_table(checkpoint, hands_name, HAND, &n, &rows));
    if (n && !run->shared.strategy->pause) {
        say_untrained(run, checkpoint, rows, n);
        return HR_OK;
    }
    const size_t before = hr_pause_state_bytes(run);
    for (size_t i = 0; i < n; i++)
        HR_TRY(take_hand(run, checkpoint, rows + HAND * i));
    run->saver.bytes += hr_pause_state_bytes(run) - before;
    return HR_OK;
}
