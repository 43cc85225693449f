#include "drive/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "checkpoint/safetensors.h"
#include "options/train_options.h"
#include "session/machine_bits.h"
#include "drive/record.h"

/* In version 1 the launcher's log said other things. */
static enum hr_status check_version(const struct hr_trace *trace,
                                    const struct hr_train_options *options)
{
    if (trace->version >= HR_TRACE_VERSION_LOSSES || !hr_train_outlives(options))
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "is a trace of version %u of a run with --on-loss %s, expected %d: an earlier "
                   "version of hogring made it; record the run anew",
                   trace->version, hr_printable(options->on_loss).text, HR_TRACE_VERSION_LOSSES);
}

static enum hr_status open_into(const char *path, struct hr_replay *replay,
                                struct hr_replay_own *own)
{
    HR_TRY(hr_trace_open(path, &own->trace));
    enum hr_status status =
        hr_trace_text_read(own->trace.header, own->trace.trailer, replay, &own->texts);
    if (status == HR_OK)
        status = check_version(&own->trace, &replay->options);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "%s", path);
}

enum hr_status hr_replay_open(const char *path, struct hr_replay **out)
{
    struct hr_replay *replay = calloc(1, sizeof *replay);
    struct hr_replay_own *own = calloc(1, sizeof *own);
    if (!replay || !own) {
        free(replay);
        free(own);
        return hr_fail(HR_E_NOMEM, "%s: no memory for a trace", path);
    }
    replay->own = own;
    snprintf(replay->path, sizeof replay->path, "%s", path);
    const enum hr_status status = open_into(path, replay, own);
    if (status == HR_OK)
        *out = replay;
    else
        hr_replay_close(replay);
    return status;
}

void hr_replay_close(struct hr_replay *replay)
{
    if (!replay)
        return;
    struct hr_replay_own *own = replay->own;
    hr_trace_fini(&own->trace);
    hr_trace_texts_free(&own->texts);
    free(own);
    free(replay);
}

static enum hr_status check_data(const struct hr_replay *replay, const struct hr_dataset *dataset)
{
    if (!strcmp(replay->data_digest, dataset->digest))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: was recorded on other data: their digest was %s, that of %s is %s (--data "
                   "names where they are now)",
                   replay->path, hr_printable(replay->data_digest).text, dataset->name,
                   dataset->digest);
}

/* In earlier builds some strategies brought workers together wherever they saved. */
static enum hr_status check_saves(const struct hr_replay *replay,
                                  const struct hr_shared_state *shared)
{
    const struct hr_strategy *strategy = shared->strategy;
    const bool changed =
        strategy->rows.due || strategy->rows.since || shared->staleness_bound < UINT64_MAX;
    if (hr_replay_own(replay)->texts.pure_saves || !changed ||
        !replay->options.checkpoint_every.steps)
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: an earlier version of hogring made it, in which saves inside of an epoch "
                   "(--checkpoint-every %llu) changed a run of %s",
                   replay->path, (unsigned long long)replay->options.checkpoint_every.steps,
                   strategy->name);
}

enum hr_status hr_replay_prepare(struct hr_drive *drive)
{
    const struct hr_replay *replay = drive->replay;
    const struct hr_trace *trace = &hr_replay_own(replay)->trace;
    struct hr_batch_schedule *schedule = &drive->job->shared->schedule;
    const size_t owners = hr_record_owners(drive);
    HR_TRY(check_data(replay, drive->job->dataset));
    HR_TRY(check_saves(replay, drive->job->shared));
    HR_TRY(hr_strategy_same_graph(drive->job->shared, replay->options.gossip_graph,
                                  replay->graph_digest));
    HR_TRY(hr_machine_bits_check(hr_replay_own(replay)->texts.machine,
                                 hr_machine_bits_are_bf16(drive->job->options->precision),
                                 replay->path));
    if (trace->nowners != owners)
        return hr_fail(HR_E_FORMAT, "%s: has logs of %zu owners, expected %zu", replay->path,
                       trace->nowners, owners);
    for (size_t s = 0; s < owners; s++)
        if (trace->owner[s].nranks != hr_record_ranks(drive, s))
            return hr_fail(HR_E_FORMAT, "%s: the log of owner %zu is of %zu rank%s, expected %zu",
                           replay->path, s, trace->owner[s].nranks,
                           trace->owner[s].nranks == 1 ? "" : "s", hr_record_ranks(drive, s));
    schedule->checkpoint_every = drive->job->options->checkpoint_every.steps;
    schedule->pauses &= hr_replay_own(replay)->texts.pauses;
    if (drive->job->shared->outlives) /* its launcher's log has the cuts */
        return HR_OK;
    schedule->rests = hr_replay_own(replay)->texts.rests;
    schedule->nrests = hr_replay_own(replay)->texts.nrests;
    if (replay->end < schedule->end)
        schedule->end = replay->end;
    return HR_OK;
}

enum hr_status hr_replay_check_state(const struct hr_drive *drive)
{
    const struct hr_replay *replay = drive->replay;
    const struct hr_trace_begin_state *there = &hr_replay_own(replay)->texts.begin;
    struct hr_trace_begin_state here;
    hr_trace_begin_state(drive, &here);
    if (there->index == here.index && !strcmp(there->weights, here.weights) &&
        !strcmp(there->state, here.state))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: began at step %llu with weights %s, here it would begin at step %llu with "
                   "%s (--init-weights and --resume name where they are now)",
                   replay->path, (unsigned long long)there->index,
                   hr_printable(there->weights).text, (unsigned long long)here.index, here.weights);
}
