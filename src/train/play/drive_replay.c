/* The driver that repeats a recorded run: each owner takes inputs in the order of its log, workers
 * act whenever they can, and all processors compute gradients.
 *
 *   Why it cannot deadlock   the earliest recorded step that is not yet repeated depends only on
 *                            earlier ones, so it can happen: some owner's next entry is enabled, or
 *                            some gradient is being computed. Else the log is of another run.
 *   Why the bits are same    the order in which owners take inputs decides everything else
 *                            (trace/pick.h). Each repeated entry is compared with what was really
 *                            taken: kind, step, batch or staleness.
 *   Cut short                after the index of --max-steps workers get no batch where the
 *                            recorded ones got one; from there on owners take any input.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "server/server.h"
#include "strategy/peers.h"
#include "play/play_pause.h"
#include "play/replay_losses.h"

struct replayer {
    struct hr_play play;
    struct hr_trace_cursor *log; /* (owners) owned */
    size_t nlogs;
    struct hr_replay_losses losses;
    unsigned char *enabled; /* (workers) owned; scratch */
    int64_t submitted;      /* gradients, in the order in which they are due */
    size_t idle;            /* looks in a row that changed nothing */
    bool off;               /* cut short: the logs no longer count */
};

/* A look advances a collective by at least one row or does nothing (drive_explore.c). */
enum { IDLE_LOOKS = 4 * HR_MAX_RANKS };

static enum hr_status misfit(const struct replayer *replayer, size_t shard,
                             const struct hr_trace_entry *entry, const char *but)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: does not fit the run that it describes: owner %zu next takes input %u of "
                   "worker %u at step %" PRIu64 " (value %" PRIu64 "), but %s",
                   replayer->play.drive->replay->path, shard, entry->kind, entry->rank, entry->step,
                   entry->value, but);
}

/* Does its rank take messages? */
static bool serves(const struct replayer *replayer, size_t shard)
{
    const struct hr_play *play = &replayer->play;
    return play->state[play->shared->workers + shard] == HR_WANTS;
}

static bool is_enabled(struct replayer *replayer, size_t shard, size_t worker)
{
    struct hr_play *play = &replayer->play;
    memset(replayer->enabled, 0, play->shared->workers);
    replayer->enabled[worker] = 1;
    play->shared->strategy->enabled(&play->shard[shard], replayer->enabled);
    return replayer->enabled[worker];
}

/* A loss is taken where the log has it, whatever the dead worker has sent beyond. */
static bool may_take(struct replayer *replayer, size_t shard, const struct hr_trace_entry *entry)
{
    struct hr_play *play = &replayer->play;
    const bool gone = play->shared->outlives && entry->kind == HR_GONE;
    if (!serves(replayer, shard))
        return false;
    play->shard[shard].told = gone ? entry->rank + 1 : 0;
    return gone ? hr_shard_sees_loss(&play->shard[shard], entry->rank)
                : is_enabled(replayer, shard, entry->rank);
}

static enum hr_status take_entry(struct replayer *replayer, size_t shard,
                                 const struct hr_trace_entry *entry)
{
    struct hr_play *play = &replayer->play;
    char but[120];
    hr_play_take(play, shard, entry->rank);
    const struct hr_taken *taken = &play->shard[shard].taken;
    if (taken->kind == entry->kind && taken->worker == entry->rank && taken->step == entry->step &&
        taken->value == entry->value)
        return HR_OK;
    snprintf(but, sizeof but, "it was input %u at step %" PRIu64 " (value %" PRIu64 ")",
             taken->kind, taken->step, taken->value);
    return misfit(replayer, shard, entry, but);
}

/* Has the run left the recorded order? It was interrupted, or it is cut short and at its end: no
 * batch is left, or some synchronous worker is at the last cut. Relaxed: one thread. */
static bool has_left_the_log(const struct replayer *replayer)
{
    const struct hr_play *play = &replayer->play;
    const struct hr_shared_state *shared = play->shared;
    if (hr_atom32_load_relaxed(&shared->dispenser->stop) != HR_STOP_NOT)
        return true;
    if (!hr_replay_is_cut_short(play->drive))
        return false;
    if (!shared->strategy->synchronous)
        return hr_atom64_load_relaxed(&shared->dispenser->next) >= shared->schedule.end;
    for (size_t r = 0; r < shared->workers; r++)
        if (play->task[r].kind == HR_TASK_CUT && play->task[r].index >= shared->schedule.end)
            return true;
    return false;
}

/* Take the log's next inputs, as far as they are enabled. */
static enum hr_status follow_log(struct replayer *replayer, size_t shard, bool *moved)
{
    struct hr_trace_cursor *log = &replayer->log[shard];
    const struct hr_trace_entry *entry;
    while (!has_left_the_log(replayer) && (entry = hr_trace_peek(log)) &&
           may_take(replayer, shard, entry)) {
        HR_TRY(take_entry(replayer, shard, entry));
        hr_trace_next(log);
        *moved = true;
    }
    return HR_OK;
}

/* After the end of a run cut short: take any input, workers in turn. */
static void take_any(struct replayer *replayer, size_t shard, bool *moved)
{
    struct hr_play *play = &replayer->play;
    for (size_t w = 0; serves(replayer, shard) && w < play->shared->workers; w++)
        if (is_enabled(replayer, shard, w)) {
            hr_play_take(play, shard, w);
            *moved = true;
        }
}

static struct hr_replay_log *replay_log(struct replayer *replayer, size_t rank)
{
    return &replayer->play.worker[rank].worker.replay;
}

/* A worker that came back goes on in its log. */
static void give_logs(struct replayer *replayer)
{
    const struct hr_play *play = &replayer->play;
    for (size_t r = 0; r < play->shared->workers; r++) {
        if (!play->played[r].up || replayer->off)
            continue;
        replay_log(replayer, r)->recorded = &replayer->log[r];
        replay_log(replayer, r)->until = hr_replay_entries(&replayer->losses, r);
    }
}

/* Continue without the logs; an error when a worker's log has batches that the run has not. */
static enum hr_status leave_the_log(struct replayer *replayer)
{
    struct hr_play *play = &replayer->play;
    const size_t workers = play->shared->workers;
    const bool logs = hr_workers_log(play->shared->strategy);
    bool beyond = false;
    for (size_t r = 0; r < workers; r++)
        beyond = beyond || (logs && play->played[r].up && replay_log(replayer, r)->beyond);
    if (beyond && !hr_replay_is_cut_short(play->drive))
        return hr_fail(HR_E_FORMAT,
                       "%s: does not fit the run that it describes: a worker's log has more "
                       "batches than the run",
                       play->drive->replay->path);
    replayer->off = replayer->off || beyond || has_left_the_log(replayer);
    for (size_t r = 0; r < workers && logs && replayer->off; r++)
        if (play->played[r].up)
            replay_log(replayer, r)->recorded = NULL;
    return HR_OK;
}

static enum hr_status serve_all(struct replayer *replayer, bool *moved)
{
    const struct hr_shared_state *shared = replayer->play.shared;
    HR_TRY(leave_the_log(replayer));
    HR_TRY(replayer->off ? hr_replay_losses_leave(&replayer->losses, moved)
                         : hr_replay_losses_go_on(&replayer->losses, moved));
    if (hr_workers_log(shared->strategy))
        give_logs(replayer);
    for (size_t s = 0; s < shared->servers; s++) {
        if (replayer->off)
            take_any(replayer, s, moved);
        else
            HR_TRY(follow_log(replayer, s, moved));
    }
    return HR_OK;
}

static uint64_t operations(struct replayer *replayer, size_t rank)
{
    return replayer->play.played[rank].up ? replay_log(replayer, rank)->moved : 0;
}

/* A gradient that was not handed in is computed alone. */
static enum hr_status act_once(struct replayer *replayer, size_t rank, bool *idle)
{
    struct hr_play *play = &replayer->play;
    *idle = false;
    return play->state[rank] == HR_HAS && hr_replay_keeps(&replayer->losses, rank)
               ? hr_play_finish_gradient(play, rank)
               : hr_play_act(play, rank, idle);
}

/* Let a worker act until it waits for an owner, or for its gradient. */
static enum hr_status act(struct replayer *replayer, size_t rank, bool *moved)
{
    struct hr_play *play = &replayer->play;
    while (hr_play_may_act(play, rank) && !hr_replay_holds(&replayer->losses, rank)) {
        const uint64_t before = operations(replayer, rank);
        bool idle;
        if (play->state[rank] == HR_HAS && !hr_pool_has(play->pool, rank))
            HR_TRY(hr_play_compute(play, rank, replayer->submitted++));
        if (play->state[rank] == HR_HAS && !hr_pool_done(play->pool, rank))
            return HR_OK;
        HR_TRY(act_once(replayer, rank, &idle));
        *moved = *moved || !idle || operations(replayer, rank) != before;
        if (idle)
            return HR_OK;
    }
    return HR_OK;
}

static bool computes(struct replayer *replayer, size_t rank)
{
    return replayer->play.state[rank] == HR_HAS && !hr_replay_holds(&replayer->losses, rank);
}

/* The worker whose gradient to wait for: preferably one that a log needs next. */
static size_t awaited(struct replayer *replayer)
{
    const struct hr_play *play = &replayer->play;
    const size_t workers = play->shared->workers;
    for (size_t s = 0; s < play->shared->servers && !replayer->off; s++) {
        const struct hr_trace_entry *entry = hr_trace_peek(&replayer->log[s]);
        if (entry && computes(replayer, entry->rank))
            return entry->rank;
    }
    for (size_t r = 0; r < workers; r++)
        if (computes(replayer, r))
            return r;
    return workers;
}

static enum hr_status stuck(const struct replayer *replayer)
{
    char event[120];
    hr_replay_losses_awaited(&replayer->losses, event, sizeof event);
    for (size_t s = 0; s < replayer->play.shared->servers && !event[0]; s++) {
        const struct hr_trace_entry *entry = hr_trace_peek(&replayer->log[s]);
        if (entry)
            return misfit(replayer, s, entry, "that will never be there");
    }
    return hr_fail(HR_E_FORMAT,
                   "%s: does not fit the run that it describes: nothing can happen any more, "
                   "and the run is not over%s%s",
                   replayer->play.drive->replay->path,
                   event[0] ? "; the launcher's log next has " : "", event);
}

static enum hr_status one_round(struct replayer *replayer)
{
    struct hr_play *play = &replayer->play;
    const size_t workers = play->shared->workers;
    bool moved = false, idle;
    HR_TRY(serve_all(replayer, &moved));
    for (size_t r = 0; r < workers; r++)
        HR_TRY(act(replayer, r, &moved));
    replayer->idle = moved ? 0 : replayer->idle + 1;
    if (moved || hr_replay_at_cut(&replayer->losses))
        return HR_OK;
    const size_t rank = awaited(replayer);
    if (rank < workers)
        return act_once(replayer, rank, &idle); /* joins */
    /* Without servers only collectives make progress, by looks. */
    if (replayer->idle <= (play->shared->servers ? 0 : IDLE_LOOKS * workers))
        return HR_OK;
    return stuck(replayer);
}

static enum hr_status play_all(struct replayer *replayer)
{
    struct hr_play *play = &replayer->play;
    for (;;) {
        HR_TRY(one_round(replayer));
        HR_TRY(hr_play_pause(play));
        HR_TRY(hr_play_tick(play));
        if (!hr_replay_at_cut(&replayer->losses))
            continue;
        HR_TRY(leave_the_log(replayer)); /* if the run has left it */
        HR_TRY(hr_replay_cut(&replayer->losses));
        if (play->drive->leader->cuts.cut->halt)
            return hr_replay_losses_end(&replayer->losses);
    }
}

static enum hr_status open_logs(struct replayer *replayer, const struct hr_drive *drive)
{
    const struct hr_trace *trace = &hr_replay_own(drive->replay)->trace;
    replayer->log = calloc(trace->nowners, sizeof *replayer->log);
    replayer->enabled = calloc(HR_TRACE_RANKS, sizeof *replayer->enabled);
    if (!replayer->log || !replayer->enabled)
        return hr_fail(HR_E_NOMEM, "no memory to read %zu logs", trace->nowners);
    for (; replayer->nlogs < trace->nowners; replayer->nlogs++)
        HR_TRY(hr_trace_cursor_open(&replayer->log[replayer->nlogs], trace, replayer->nlogs));
    return HR_OK;
}

/* true: a message between two workers, which comes now, or never. */
static bool posted(void *arg, const struct hr_posted *what)
{
    struct replayer *replayer = arg;
    const struct hr_shared_state *shared = replayer->play.shared;
    const bool between = what->from < shared->workers && what->to < shared->workers;
    if (between)
        hr_peers_deliver(shared, what->from, what->to);
    return between;
}

static enum hr_status start_and_play(struct replayer *replayer, struct hr_drive *drive)
{
    enum hr_status status = hr_play_start(&replayer->play, drive);
    drive->job->shared->posted = posted;
    drive->job->shared->posted_arg = replayer;
    if (status == HR_OK)
        status = play_all(replayer);
    hr_play_stop(&replayer->play);
    drive->job->shared->posted = NULL;
    return status;
}

static enum hr_status drive_replay(struct hr_drive *drive)
{
    struct replayer replayer = {0};
    enum hr_status status = open_logs(&replayer, drive);
    if (status == HR_OK) {
        status = hr_replay_losses_open(&replayer.losses, &replayer.play, drive, replayer.log);
        if (status == HR_OK)
            status = start_and_play(&replayer, drive);
        hr_replay_losses_close(&replayer.losses);
    }
    for (size_t s = 0; s < replayer.nlogs; s++) {
        drive->result->trace_entries += replayer.log[s].section->entries - replayer.log[s].left;
        hr_trace_cursor_close(&replayer.log[s]);
    }
    free(replayer.log);
    free(replayer.enabled);
    return status;
}

static size_t one_a_processor(const struct hr_train_options *options)
{
    (void)options;
    return hr_cpus_allowed();
}

const struct hr_driver hr_driver_replay = {.title = "one thread plays all ranks",
                                           .played = true,
                                           .local = true,
                                           .threads = one_a_processor,
                                           .now_ns = hr_driver_real_ns,
                                           .bytes = hr_play_bytes,
                                           .run = drive_replay};
