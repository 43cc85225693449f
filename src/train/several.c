#include "train/several.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "checkpoint/digest.h"
#include "drive/losses_apart.h"
#include "drive/record_carried.h"
#include "drive/rest.h"
#include "machines/carried_group.h"
#include "machines/machines.h"
#include "server/server_carried.h"
#include "server/staleness.h"
#include "strategy/shared.h"
#include "worker/staged.h"

/* Letters between machines. */
enum { MEETINGS, REQUESTS, LOGS, LOSSES };

enum { SAVE, STOP };

static const int64_t LEAVE_NS = 5 * HR_NS_PER_SECOND;

struct hr_several {
    struct hr_carrier *carrier;
    struct hr_meet *meet;
    struct hr_carried_group carried, carried_leaders;
    struct hr_asked_elsewhere elsewhere;
    bool started; /* the carrier */
    struct hr_losses_apart losses;
};

/* --- joined --- */

/* Requests of a launcher that follows. */
static bool place_request(void *arg, size_t from, const void *note, size_t note_bytes,
                          size_t body_bytes, void **where)
{
    (void)arg, (void)from, (void)note, (void)where;
    return note_bytes == sizeof(uint64_t) && body_bytes == 0;
}

static void take_request(void *arg, size_t from, const void *note, size_t note_bytes)
{
    struct hr_run *run = arg;
    struct hr_asked_elsewhere *elsewhere = &run->several->elsewhere;
    uint64_t what;
    (void)from;
    memcpy(&what, note, note_bytes);
    if (what == STOP)
        hr_atom32_store_release(&elsewhere->stop, 1); /* partner: the launcher */
    else
        hr_atom32_store_release(&elsewhere->saves, hr_atom32_load_relaxed(&elsewhere->saves) + 1);
    hr_bell_ring(&run->shared.control->launcher_bell);
}

static enum hr_status pass_on(void *arg, bool stop)
{
    const struct hr_run *run = arg;
    const uint64_t what = stop ? STOP : SAVE;
    return hr_carrier_post(run->several->carrier, 0, REQUESTS, &what, sizeof what, NULL, 0, NULL,
                           NULL);
}

size_t hr_several_bytes(const struct hr_run *run)
{
    return run->machines ? hr_meet_bytes(run->areas.area, run->areas.n) : 0;
}

static struct hr_cargo cargo_of(const void *arg, const struct hr_ring *ring,
                                const struct hr_message *message)
{
    (void)arg, (void)ring;
    return (struct hr_cargo){.offset = message->word[0], .bytes = message->word[1]};
}

static enum hr_status add_ring(void *carrier, size_t from, size_t to, struct hr_ring *ring)
{
    return hr_carrier_add_ring(carrier, ring, from, to, cargo_of, NULL);
}

/* Of those who have seats. */
static enum hr_status add_group(void *arg)
{
    const struct hr_run *run = arg;
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_group_options options = hr_group_of_seats(shared);
    const struct hr_place place = {
        .group = shared->group, .segment = shared->segment, .world_rank = shared->seats->rank};
    return hr_carrier_add_group(run->several->carrier, &run->several->carried, &options, &place);
}

static enum hr_status add_rings(struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_feed *feed = &shared->feed;
    struct hr_carrier *carrier = run->several->carrier;
    hr_carrier_track(carrier, 0, &shared->dispenser->stop_at, sizeof shared->dispenser->stop_at);
    for (size_t w = 0; w < shared->workers; w++)
        for (size_t i = 0; i < HR_ARRIVALS; i++)
            hr_carrier_track(carrier, w, hr_arrivals_words(shared, w, i), HR_ARRIVAL_WORDS_BYTES);
    for (size_t r = 0; hr_feed_is_on(feed) && r < feed->nranks; r++)
        HR_TRY(hr_carrier_add_ring(carrier, hr_feed_ring(feed, r), r, 0, NULL, NULL));
    HR_TRY(hr_peers_each_ring(shared, add_ring, carrier));
    if (hr_strategy_is_served(shared->strategy))
        HR_TRY(hr_server_carry(shared, carrier));
    if (run->job.pipeline)
        HR_TRY(hr_staged_each_ring(&run->job, add_ring, carrier));
    const struct hr_leaders *leaders = &shared->leaders;
    const struct hr_place of_leaders = {
        .group = leaders->group, .segment = shared->segment, .world_rank = leaders->rank};
    if (leaders->options.nranks)
        HR_TRY(hr_carrier_add_group(carrier, &run->several->carried_leaders, &leaders->options,
                                    &of_leaders));
    run->several->losses.first_ring = hr_carrier_rings(carrier);
    return add_group(run);
}

/* Beside a thread nobody forks: where ranks are processes it begins behind all of them. */
static enum hr_status start_carrier(struct hr_run *run)
{
    struct hr_several *several = run->several;
    if (several->started)
        return HR_OK;
    several->started = true;
    return hr_carrier_start(several->carrier);
}

/* The launcher conducts meetings where no worker lives, or workers are processes. */
static enum hr_status tend(void *arg)
{
    struct hr_run *run = arg;
    struct hr_waiter waiter = {.abort = &run->shared.control->abort,
                               .timeout_ns = run->job.timeout_ns,
                               .poll = hr_carrier_poll,
                               .poll_arg = run->several->carrier};
    HR_TRY(start_carrier(run));
    return hr_meet_conduct(run->several->meet, &waiter, "a cut");
}

static void open_losses(struct hr_run *run)
{
    struct hr_losses_apart *losses = &run->several->losses;
    losses->carrier = run->several->carrier;
    losses->meet = run->several->meet;
    losses->wire = run->machines->wire;
    losses->homes = run->shared.homes;
    losses->control = run->shared.control;
    losses->timeout_ns = run->job.timeout_ns;
    losses->channel = LOSSES;
    losses->carry = add_group;
    losses->arg = run;
    run->drive.losses.apart = losses;
    run->drive.losses.begin = hr_losses_apart_begin;
    const struct hr_wire_sink sink = hr_losses_apart_sink(losses);
    hr_carrier_listen(losses->carrier, LOSSES, &sink);
}

static enum hr_status open_all(struct hr_run *run)
{
    struct hr_several *several = run->several;
    struct hr_shared_state *shared = &run->shared;
    const bool apart = run->job.launch == HR_LAUNCH_PROCESS; /* ranks have no carrier */
    const struct hr_carrier_options carried = {.wire = run->machines->wire,
                                               .homes = shared->homes,
                                               .control = shared->control,
                                               .segment = run->segment.base,
                                               .segment_bytes = run->segment.bytes,
                                               .timeout_ns = run->job.timeout_ns,
                                               .lost =
                                                   shared->outlives ? hr_losses_apart_saw : NULL,
                                               .lost_arg = &several->losses};
    HR_TRY(hr_carrier_open(&carried, &several->carrier));
    HR_TRY(add_rings(run));
    const struct hr_meet_options meets = {.carrier = several->carrier,
                                          .wire = run->machines->wire,
                                          .homes = shared->homes,
                                          .nranks = shared->workers,
                                          .in_order = shared->outlives,
                                          .led = apart || hr_workers_here(shared) == 0 ||
                                                 shared->outlives,
                                          .control = shared->control,
                                          .segment = run->segment.base,
                                          .area = run->areas.area,
                                          .nareas = run->areas.n,
                                          .words = run->meet_words,
                                          .channel = MEETINGS};
    HR_TRY(hr_meet_open(&meets, &several->meet));
    const struct hr_wire_sink requests = {run, place_request, take_request};
    hr_carrier_listen(several->carrier, REQUESTS, &requests);
    hr_record_listen(&run->drive, several->carrier, LOGS);
    if (shared->outlives)
        open_losses(run);
    run->job.meet = several->meet;
    run->job.poll = apart ? NULL : hr_carrier_poll;
    run->job.poll_arg = several->carrier;
    run->job.tend = tend;
    run->job.tend_arg = run;
    return HR_OK;
}

void hr_several_lead(struct hr_run *run)
{
    if (!run->several)
        return;
    if (hr_several_is_first(run)) {
        run->launcher.elsewhere = &run->several->elsewhere;
    } else {
        run->launcher.pass_on = pass_on;
        run->launcher.pass_arg = run;
    }
}

/* Where all machines' memory is alike to begin with. */
struct layout {
    uint64_t bytes, areas, weights, first;
};

static enum hr_status compare_layouts(struct hr_run *run)
{
    struct hr_machines *machines = run->machines;
    const struct layout mine = {
        run->segment.bytes, hr_digest64(run->areas.area, run->areas.n * sizeof *run->areas.area),
        run->job.begins_with, run->shared.schedule.first};
    struct layout all[HR_WIRE_MACHINES];
    HR_TRY(hr_together_gather(&machines->together, &mine, sizeof mine, all,
                              "all machines to be ready"));
    for (size_t m = 1; m < machines->wire->machines; m++) {
        if (all[m].weights != all[0].weights || all[m].first != all[0].first)
            return hr_fail(HR_E_USAGE,
                           "%s begins with other weights, or elsewhere, than %s; expected the same "
                           "checkpoint on all machines",
                           machines->wire->host[m], machines->wire->host[0]);
        if (all[m].bytes != all[0].bytes || all[m].areas != all[0].areas)
            return hr_fail(HR_E_FAILED, "%s has laid out %llu bytes of memory and %s %llu",
                           machines->wire->host[m], (unsigned long long)all[m].bytes,
                           machines->wire->host[0], (unsigned long long)all[0].bytes);
    }
    return HR_OK;
}

enum hr_status hr_several_join(struct hr_run *run, enum hr_status status)
{
    struct hr_machines *machines = run->machines;
    if (!machines)
        return status;
    if (status == HR_OK) {
        run->several = calloc(1, sizeof *run->several);
        status = run->several ? open_all(run) : hr_fail(HR_E_NOMEM, "no memory for machines");
    }
    HR_TRY(hr_together_fail(&machines->together, status, "all machines to get ready"));
    HR_TRY(compare_layouts(run));
    for (size_t r = 0; r < run->job.nranks; r++)
        if (!hr_homes_here(&run->shared.homes, r))
            hr_control_place(run->shared.control, r,
                             machines->wire->host[run->shared.homes.machine[r]]);
    return run->job.launch == HR_LAUNCH_THREAD ? start_carrier(run) : HR_OK;
}

/* --- the end --- */

/* A wait for a machine may pass its deadline before that machine's silence does: the wire may hold
 * up whoever looks. By now that has been noticed, too. */
static enum hr_status say_why(struct hr_carrier *carrier, enum hr_status status,
                              const char *message)
{
    char loss[600];
    hr_carrier_loss(carrier, loss, sizeof loss);
    if (status == HR_E_TIMEOUT && loss[0])
        return hr_fail(HR_E_LOST, "%s; %s", loss, message);
    return hr_fail(status, "%s", message);
}

enum hr_status hr_several_end(struct hr_run *run, enum hr_status status)
{
    static struct hr_bell nobodys;
    static const struct hr_atom32 no_abort;
    if (!run->several)
        return status;
    struct hr_carrier *carrier = run->several->carrier;
    struct hr_control *control = run->shared.control;
    struct hr_waiter waiter = {.abort = &control->abort,
                               .timeout_ns = run->job.timeout_ns,
                               .poll = hr_carrier_poll,
                               .poll_arg = carrier};
    if (status == HR_OK && !hr_several_is_first(run))
        status = hr_record_bring(&run->drive, carrier, LOGS);
    if (status == HR_OK && run->shared.outlives)
        status = hr_losses_apart_end(&run->drive.losses);
    else if (status == HR_OK)
        status = hr_meet_alone(run->several->meet, &waiter, HR_STAGE_OVER, "the end of the run");
    if (status == HR_OK)
        hr_staleness_gather(&run->shared);
    if (status == HR_E_ABORTED)
        status = hr_control_failure(control);
    else if (status != HR_OK) /* does nothing where a rank has failed before */
        hr_control_abort(control, HR_MAX_RANKS, status, hr_error_message());
    char message[600];
    snprintf(message, sizeof message, "%s", hr_error_message());
    hr_carrier_leave(carrier);
    waiter.abort = &no_abort;
    waiter.timeout_ns = LEAVE_NS;
    const enum hr_status left =
        hr_wait_until(&waiter, &nobodys, hr_carrier_is_over, carrier, "the others to leave");
    run->machines->together.ran = true;
    for (size_t m = 0; m < run->machines->wire->machines; m++)
        run->machines->together.lost[m] |= hr_carrier_has_lost(carrier, m);
    run->job.poll = NULL;
    if (status != HR_OK)
        status = say_why(carrier, status, message);
    hr_carrier_close(carrier);
    run->several->carrier = NULL;
    /* A run that went on without them goes on to its end. */
    for (size_t m = 0; m < run->machines->wire->machines && status != HR_OK; m++)
        run->machines->wire->abandoned |= run->machines->together.lost[m];
    for (size_t m = 0; m < run->machines->wire->machines && status == HR_OK; m++)
        run->machines->together.without[m] = run->machines->together.lost[m];
    return status != HR_OK ? status : left;
}

void hr_several_free(struct hr_run *run)
{
    if (!run->several)
        return;
    hr_carrier_close(run->several->carrier);
    hr_meet_close(run->several->meet);
    free(run->several);
    run->several = NULL;
}
