/* The driver for virtual time: a heap of events, ordered by (time, insertion number); what they
 * mean is told in simulator.h. */
#include <stdlib.h>

#include "base/cpus.h"
#include "play/play_pause.h"
#include "virtual/virtual_losses.h"
#include "virtual/virtual_ranks.h"
#include "virtual/simulator.h"

static enum hr_status happen(struct hr_simulator *sim, const struct hr_happening *what)
{
    if (hr_simulator_is_over(sim, what))
        return HR_OK;
    switch (what->kind) {
    case HR_EVENT_COMPUTED:
        return hr_virtual_computed(sim, what->worker);
    case HR_EVENT_ARRIVED:
        HR_TRY(hr_virtual_arrive(sim, what->shard, what->worker));
        return hr_virtual_notice_late(sim, what->worker);
    case HR_EVENT_LANDED:
        sim->seat[what->worker].sent--;
        return hr_virtual_notice_late(sim, what->worker);
    case HR_EVENT_FINAL:
        hr_virtual_go_ahead(sim, what->worker, what->shard);
        return HR_OK;
    case HR_EVENT_REPLIED:
        sim->seat[what->worker].coming--;
        return hr_virtual_look(sim, what->worker);
    case HR_EVENT_SERVED:
        return hr_virtual_served(sim, what->shard);
    case HR_EVENT_SUMMED:
        hr_virtual_release(sim);
        return hr_virtual_look_at_all(sim);
    case HR_EVENT_FREED:
        return hr_virtual_depart(sim);
    case HR_EVENT_DELIVERED:
        hr_virtual_deliver(sim, what->shard, what->worker);
        HR_TRY(hr_virtual_look(sim, what->worker));
        return hr_virtual_notice_late(sim, what->shard);
    case HR_EVENT_DEADLINE:
        return hr_virtual_deadline(sim, what->worker);
    case HR_EVENT_DIES:
        return hr_virtual_die_in_time(sim, what->worker);
    case HR_EVENT_NOTICED:
        return hr_virtual_notice(sim, what->worker);
    case HR_EVENT_AGAIN:
        return HR_OK; /* it has become late enough */
    }
    return HR_OK;
}

static enum hr_status begin(struct hr_simulator *sim)
{
    for (size_t r = 0; r < sim->play.shared->workers; r++) {
        sim->seat[r].account.since_ps = hr_simulator_now(sim);
        hr_arrivals_begin(&sim->play.worker[r].worker, hr_simulator_now(sim) / 1000);
    }
    HR_TRY(hr_virtual_look_at_all(sim));
    return sim->status;
}

/* --max-seconds is of virtual time, so that it stops at the same update again. */
static void stop_in_time(const struct hr_drive *drive)
{
    const double most = drive->launcher->max_seconds;
    if (most > 0 && hr_ps_seconds(drive->now_ps) >= most &&
        hr_atom32_load_relaxed(drive->launcher->stop) == HR_STOP_NOT)
        hr_atom32_store_release(drive->launcher->stop, HR_STOP_DONE);
}

static enum hr_status cut(struct hr_simulator *sim)
{
    const struct hr_shared_state *shared = sim->play.shared;
    for (size_t r = 0; r < shared->workers; r++) {
        hr_simulator_settle(sim, r); /* for the last to come */
        hr_simulator_leave_exchange(sim, r);
        hr_spans_cut_begins(hr_simulator_spans(sim, r), 0);
    }
    HR_TRY(hr_play_cut(&sim->play));
    if (sim->play.drive->leader->cuts.cut->halt)
        return HR_OK;
    if (shared->outlives)
        hr_virtual_begin_anew(sim);
    return begin(sim);
}

/* The next event. */
static enum hr_status step(struct hr_simulator *sim)
{
    struct hr_drive *drive = sim->play.drive;
    uint64_t packed;
    if (!hr_events_pop(&sim->events, &drive->now_ps, &packed))
        return hr_fail(HR_E_FAILED, "nothing can happen any more, and the run is not over");
    const struct hr_happening what = hr_event_unpack(packed);
    stop_in_time(drive);
    hr_launcher_mind_time(drive->launcher);
    HR_TRY(happen(sim, &what));
    if (sim->play.shared->outlives) {
        HR_TRY(hr_virtual_mind_losses(sim));
        hr_losses_mind_copy(&drive->losses);
    }
    HR_TRY(sim->status);
    return hr_play_tick(&sim->play);
}

static enum hr_status simulate(struct hr_simulator *sim)
{
    const struct hr_cut *at = sim->play.drive->leader->cuts.cut;
    HR_TRY(hr_virtual_plan_deaths(sim));
    HR_TRY(begin(sim));
    while (!at->halt) {
        HR_TRY(hr_play_at_cut(&sim->play) ? cut(sim) : step(sim));
        HR_TRY(hr_play_pause(&sim->play));
    }
    return HR_OK;
}

/* Who looks on is told of all ranks' time. */
static enum hr_status begin_spans(struct hr_simulator *sim)
{
    const struct hr_drive *drive = sim->play.drive;
    struct hr_shared_state *shared = sim->play.shared;
    const size_t ranks = shared->workers + shared->servers;
    if (!shared->spans)
        return HR_OK;
    sim->spans = calloc(ranks, sizeof *sim->spans);
    if (!sim->spans)
        return hr_fail(HR_E_NOMEM, "no memory for %zu ranks", ranks);
    for (size_t r = 0; r < ranks; r++) {
        struct hr_waiter *waiter = &sim->play.worker[r < shared->workers ? r : 0].waiter;
        hr_spans_open(&sim->spans[r], &shared->feed, r, waiter, drive->driver->now_ns, drive);
        if (!shared->colocated || r < shared->workers)
            shared->spans[r] = &sim->spans[r];
        if (r < shared->workers)
            sim->play.worker[r].worker.spans = &sim->spans[r];
    }
    return HR_OK;
}

static enum hr_status set_up(struct hr_simulator *sim, struct hr_drive *drive)
{
    HR_TRY(hr_simulator_open(sim, drive));
    hr_virtual_traffic_begin(sim);
    HR_TRY(hr_play_start(&sim->play, drive));
    return begin_spans(sim);
}

static enum hr_status drive_virtual(struct hr_drive *drive)
{
    struct hr_simulator sim = {.play = {.drive = drive, .shared = drive->job->shared}};
    drive->now_ps = 0;
    enum hr_status status = set_up(&sim, drive);
    if (status == HR_OK)
        status = simulate(&sim);
    for (size_t r = 0; sim.spans && r < sim.play.shared->workers; r++)
        hr_spans_close(&sim.spans[r]);
    drive->job->shared->posted = NULL; /* the simulator's, which ends here */
    hr_play_stop(&sim.play);
    hr_simulator_close(&sim);
    return status;
}

/* Threads that compute: one for each threads_per_worker processors. */
static size_t one_a_gradient(const struct hr_train_options *options)
{
    const size_t threads = hr_cpus_allowed() / options->threads_per_worker;
    return threads ? threads : 1;
}

static size_t bytes(const struct hr_shared_state *shared)
{
    return hr_play_bytes(shared) + hr_simulator_bytes(shared);
}

static int64_t virtual_ns(const void *arg)
{
    const struct hr_drive *drive = arg;
    return drive->now_ps / 1000;
}

const struct hr_driver hr_driver_virtual = {.title = "in virtual time",
                                            .played = true,
                                            .simulated = true,
                                            .local = true,
                                            .threads = one_a_gradient,
                                            .now_ns = virtual_ns,
                                            .bytes = bytes,
                                            .run = drive_virtual};
