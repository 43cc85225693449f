/* A shard in real time. */
#include "drive/serve.h"

#include <string.h>

#include "base/clock.h"
#include "drive/record.h"
#include "server/server.h"
#include "worker/conditions.h"

enum hr_status hr_say_for_whom(const struct hr_shared_state *shared, size_t rank,
                               enum hr_status status)
{
    const struct hr_control *control = shared->control;
    if (status != HR_E_TIMEOUT)
        return status;
    for (size_t r = 0; r < control->nranks; r++) {
        const uint32_t phase = hr_atom32_load_relaxed(&control->rank[r].phase); /* partner: r */
        if (r != rank && phase == HR_PHASE_COMPUTE)
            return hr_fail(status, "%s; rank %zu is still computing the gradient of step %llu",
                           hr_error_message(), r,
                           (unsigned long long)hr_atom64_load_relaxed(&control->rank[r].step));
    }
    return status;
}

bool hr_server_has_input(void *arg)
{
    struct hr_server *server = arg;
    memset(server->enabled, 1, server->shard.shared->workers);
    server->shard.shared->strategy->enabled(&server->shard, server->enabled);
    for (size_t w = 0; w < server->shard.shared->workers; w++)
        if (server->enabled[w])
            return true;
    return false;
}

/* For hogring top. */
static void tell(struct hr_server *server)
{
    const struct hr_shared_state *shared = server->shard.shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    struct hr_gauge *gauge = &shared->control->rank[rank].gauge;
    size_t waiting = 0;
    for (size_t w = 0; w < shared->workers; w++)
        waiting += server->enabled[w] != 0;
    hr_gauge_served(gauge, ++server->inputs, waiting);
    if (server->began_ns) {
        const int64_t waited = server->waiter.waited_ns;
        hr_atom64_store_relaxed(&gauge->spent_ns[HR_WAIT], (uint64_t)waited);
        hr_atom64_store_relaxed(&gauge->spent_ns[HR_COMPUTE],
                                (uint64_t)(hr_clock_coarse_ns() - server->began_ns - waited));
    }
}

void hr_server_take(struct hr_server *server)
{
    const struct hr_shared_state *shared = server->shard.shared;
    const int64_t began = server->spans.feed ? hr_clock_ns() : 0;
    tell(server);
    hr_shard_take_and_note(&server->shard,
                           hr_pick(&server->shard.picker, server->enabled, shared->workers));
    if (server->spans.feed)
        hr_spans_serve(&server->spans, server->shard.taken.worker, server->shard.taken.kind, began,
                       hr_clock_ns());
}

bool hr_serve_then_look(void *arg)
{
    const struct hr_wanted *wanted = arg;
    struct hr_server *server = wanted->server;
    while (hr_server_has_input(server)) {
        const enum hr_activity was = hr_account_turn(server->shard.account, HR_COMMUNICATE);
        hr_server_take(server);
        hr_account_turn(server->shard.account, was);
    }
    return wanted->ready(wanted->arg);
}

static bool has_input_or_is_over(void *arg)
{
    const struct hr_server *server = arg;
    return hr_server_has_input(arg) || server->shard.shared->strategy->over(&server->shard);
}

/* Wait for an input, and take it, or for the end. */
static enum hr_status take_next(struct hr_server *server)
{
    const struct hr_drive *drive = server->drive;
    const struct hr_shared_state *shared = drive->job->shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    const bool measures = drive->calibration.compute;
    const int64_t since = measures ? hr_clock_ns() : 0;
    HR_TRY(hr_wait_until(&server->waiter, &shared->control->rank[rank].bell, has_input_or_is_over,
                         server, "the workers"));
    if (shared->strategy->over(&server->shard))
        return HR_OK;
    if (hr_conditions_kill_server(drive->job, server->shard.number, server->taken++,
                                  hr_launcher_ps(drive->launcher)))
        return hr_conditions_die(drive->job, rank);
    const int64_t began = measures ? hr_clock_ns() : 0;
    hr_server_take(server);
    hr_calibrate_take(drive, &server->shard, since, began);
    return HR_OK;
}

enum hr_status hr_server_rest(struct hr_server *server)
{
    struct hr_shared_state *shared = server->shard.shared;
    const enum hr_status rested = hr_rest_at(&server->rest, HR_STAGE_SPAN);
    if (rested != HR_E_RECALLED)
        return rested;
    shared->strategy->shard_stop(&server->shard);
    return shared->strategy->shard_start(&server->shard, shared, server->shard.number);
}

enum hr_status hr_serve(struct hr_server *server)
{
    const struct hr_shared_state *shared = server->shard.shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    while (!shared->strategy->over(&server->shard)) {
        enum hr_status status = take_next(server);
        if (status == HR_E_RECALLED)
            status = hr_server_rest(server);
        HR_TRY(hr_say_for_whom(shared, rank, status));
    }
    return HR_OK;
}

enum hr_status hr_server_open(struct hr_server *server, const struct hr_drive *drive, size_t shard)
{
    struct hr_shared_state *shared = drive->job->shared;
    const size_t rank = hr_shard_rank(shared, shard);
    server->drive = drive;
    server->waiter = (struct hr_waiter){.abort = &shared->control->abort,
                                        .spin_ns = drive->job->spin_ns,
                                        .timeout_ns = drive->job->timeout_ns,
                                        .poll = drive->job->poll,
                                        .poll_arg = drive->job->poll_arg};
    hr_rest_open(&server->rest, shared->control, &server->waiter, rank);
    if (hr_roster_is_gone(shared->control, rank)) { /* it begins with all others: come_back */
        server->shard = (struct hr_shard){.shared = shared, .number = shard};
        return HR_OK;
    }
    return shared->strategy->shard_start(&server->shard, shared, shard);
}

void hr_server_close(struct hr_server *server)
{
    if (server->shard.shared)
        server->shard.shared->strategy->shard_stop(&server->shard);
}
