#include "stages/crew.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plan/layout.h"
#include "stages/remote.h"
#include "stages/stage.h"

/* --- ranks that wait --- */

struct wanted {
    const struct hr_stage_context *context;
    hr_ready_fn ready;
    void *arg;
};

static bool is_lost(const struct hr_stage_context *context)
{
    return context->lives &&
           hr_atom32_load_acquire(context->lives) != context->life; /* partner: launcher */
}

static bool ready_or_lost(void *arg)
{
    const struct wanted *wanted = arg;
    if (wanted->context->stage)
        hr_remote_take(wanted->context->stage);
    return is_lost(wanted->context) || wanted->ready(wanted->arg);
}

static enum hr_status check_life(const struct hr_stage_context *context)
{
    return is_lost(context) ? hr_fail(HR_E_GONE, "another rank of its pipeline was lost") : HR_OK;
}

enum hr_status hr_stage_wait(const struct hr_stage_context *context, hr_ready_fn ready, void *arg,
                             const char *what)
{
    struct wanted wanted = {context, ready, arg};
    HR_TRY(check_life(context));
    if (ready(arg))
        return hr_wait_check(context->waiter);
    hr_control_phase(context->control, context->rank, HR_PHASE_COMMUNICATE);
    HR_TRY(hr_wait_until(context->waiter, &context->control->rank[context->rank].bell,
                         ready_or_lost, &wanted, what));
    HR_TRY(check_life(context));
    hr_control_phase(context->control, context->rank, HR_PHASE_COMPUTE);
    return HR_OK;
}

/* (nn/model.h) A team's ranks, in the middle of an action. Waiting is no work. */
static bool barrier(void *arg, bool sums)
{
    struct hr_stage *stage = arg;
    struct hr_flight *flight = stage->place.flight;
    const int64_t began = hr_clock_ns();
    const uint32_t kind =
        hr_call_kind(sums ? HR_OP_ALL_REDUCE : HR_OP_BARRIER, NULL, (struct hr_kind){0}, false);
    hr_stage_arrive(stage);
    if (flight)
        hr_flight_begin(flight, stage->meetings, kind, stage->place.group, stage->pipeline->team,
                        hr_clock_coarse_ns());
    stage->status = hr_stage_wait(stage->context, hr_stage_has_met, stage,
                                  "the other ranks of its split layers");
    if (flight)
        hr_flight_end(flight, hr_clock_coarse_ns());
    stage->place.account->busy_ns -= hr_clock_ns() - began;
    return stage->status == HR_OK;
}

static enum hr_status do_actions(struct hr_stage *stage, const struct hr_stage_context *context)
{
    stage->barrier = barrier;
    stage->context = context;
    hr_stage_begin(stage);
    while (!hr_stage_is_done(stage)) {
        HR_TRY(hr_stage_wait(context, hr_stage_may_act, stage, "another stage of the pipeline"));
        hr_stage_act(stage);
        HR_TRY(stage->status);
    }
    return HR_OK;
}

/* A step of rank 0. */
struct leading {
    struct hr_stage *lead;
    const struct hr_stage_context *context;
    size_t unreported; /* parts [unreported, parts) are final, and the worker has heard of them */
    int64_t report_ns;
};

static bool may_report(const struct leading *it)
{
    return it->context->final && it->unreported &&
           hr_stage_part_is_done(it->lead, it->unreported - 1);
}

static bool may_act_or_report(void *arg)
{
    const struct leading *it = arg;
    return may_report(it) || (!hr_stage_is_done(it->lead) && hr_stage_may_act(it->lead));
}

static void report(struct leading *it)
{
    const int64_t began = hr_clock_ns();
    while (may_report(it))
        it->context->final(it->context->arg,
                           hr_part_param_begin(it->lead->pipeline->part[--it->unreported]));
    it->report_ns += hr_clock_ns() - began;
}

static enum hr_status lead_actions(struct leading *it)
{
    struct hr_stage *lead = it->lead;
    lead->barrier = barrier;
    lead->context = it->context;
    hr_stage_begin(lead);
    while (!hr_stage_is_done(lead) || (it->context->final && it->unreported)) {
        HR_TRY(hr_stage_wait(it->context, may_act_or_report, it, "another stage of the pipeline"));
        report(it);
        if (!hr_stage_is_done(lead) && hr_stage_may_act(lead))
            hr_stage_act(lead);
        HR_TRY(lead->status);
    }
    return HR_OK;
}

enum hr_status hr_stage_lead(struct hr_stage *lead, const struct hr_stage_context *context,
                             const struct hr_stage_task *task, struct hr_batch_result *result)
{
    const int64_t began = hr_clock_ns();
    struct leading it = {lead, context, lead->pipeline->parts, 0};
    HR_TRY(hr_stage_wait(context, hr_stage_may_publish, lead, "another machine to take a step"));
    hr_stage_publish(lead, task);
    HR_TRY(lead_actions(&it));
    HR_TRY(hr_stage_wait(context, hr_stage_all_are_done, lead, "the other stages of the pipeline"));
    lead->place.account->span_ns += hr_clock_ns() - began - it.report_ns;
    *result = hr_stage_result(lead);
    return HR_OK;
}

/* A stage that waits for its next step; it may be the last that is left of its replica. */
struct server {
    struct hr_stage *stage;
    struct hr_stage_context context;
};

static bool may_leave(const struct server *server)
{
    /* Partner: hr_roster_end. */
    return hr_stage_is_over(server->stage) ||
           hr_atom32_load_acquire(&server->context.control->roster.over);
}

static bool has_task_or_end(void *arg)
{
    const struct server *server = arg;
    return may_leave(server) || hr_stage_has_task(server->stage);
}

static enum hr_status serve_step(struct server *server)
{
    struct hr_stage_context *context = &server->context;
    const int64_t timeout = context->waiter->timeout_ns;
    context->life = server->stage->life;
    context->waiter->timeout_ns = 0; /* evaluations, saves and other workers take their time */
    const enum hr_status status =
        hr_stage_wait(context, has_task_or_end, server, "the next step of the pipeline");
    context->waiter->timeout_ns = timeout;
    HR_TRY(status);
    if (may_leave(server))
        return HR_OK;
    hr_control_phase(context->control, context->rank, HR_PHASE_COMPUTE);
    hr_control_step(context->control, context->rank, server->stage->at.step->index);
    hr_stage_report(server->stage, &context->control->rank[context->rank].gauge,
                    server->stage->step, context->waiter->waited_ns);
    return do_actions(server->stage, context);
}

enum hr_status hr_stage_serve(struct hr_stage *stage, const struct hr_stage_context *context)
{
    struct server server = {stage, *context};
    server.context.lives = &stage->at.step->lives;
    while (!may_leave(&server)) {
        hr_control_phase(context->control, context->rank, HR_PHASE_COMMUNICATE);
        const enum hr_status status = serve_step(&server);
        if (status == HR_E_GONE)
            hr_stage_begin_life(stage);
        else
            HR_TRY(status);
    }
    return HR_OK;
}

/* --- one thread --- */

size_t hr_crew_bytes(const struct hr_pipeline *pipeline)
{
    size_t bytes = hr_pipeline_bytes(pipeline);
    for (size_t k = 0; k < pipeline->ranks; k++) {
        const size_t of_stage = hr_stage_bytes(pipeline, k);
        if (of_stage == 0)
            return 0;
        bytes += of_stage;
    }
    return bytes;
}

enum hr_status hr_crew_start(struct hr_crew *crew, const struct hr_pipeline *pipeline)
{
    const size_t bytes = hr_pipeline_bytes(pipeline);
    *crew = (struct hr_crew){.stage = calloc(pipeline->ranks, sizeof *crew->stage),
                             .memory = aligned_alloc(HR_LINE, bytes)};
    enum hr_status status = HR_OK;
    if (crew->stage && crew->memory)
        memset(crew->memory, 0, bytes);
    else
        status = hr_fail(HR_E_NOMEM, "no memory for a pipeline of %zu stages", pipeline->ranks);
    for (size_t k = 0; status == HR_OK && k < pipeline->ranks; k++)
        status = hr_stage_start(&crew->stage[k], pipeline, k);
    if (status != HR_OK)
        hr_crew_stop(crew);
    return status;
}

void hr_crew_stop(struct hr_crew *crew)
{
    const size_t ranks = crew->stage && crew->stage->pipeline ? crew->stage->pipeline->ranks : 0;
    for (size_t k = 0; k < ranks; k++)
        hr_stage_stop(&crew->stage[k]);
    free(crew->stage);
    free(crew->memory);
    *crew = (struct hr_crew){0};
}

struct hr_batch_result hr_crew_step(struct hr_crew *crew, const struct hr_stage_task *task,
                                    const struct hr_crew_replica *replica)
{
    const size_t ranks = crew->stage->pipeline->ranks;
    for (size_t k = 0; k < ranks; k++)
        hr_stage_sit(&crew->stage[k], &(struct hr_stage_place){.memory = crew->memory,
                                                               .origin = task->grads,
                                                               .account = &replica->accounts[k],
                                                               .versions = replica->versions});
    crew->stage->load = replica->load;
    crew->stage->load_arg = replica->load_arg;
    hr_stage_publish(crew->stage, task);
    for (size_t k = 0; k < ranks; k++)
        hr_stage_begin(&crew->stage[k]);
    while (!hr_stage_all_are_done(crew->stage))
        for (size_t k = 0; k < ranks; k++)
            while (!hr_stage_is_done(&crew->stage[k]) && hr_stage_may_act(&crew->stage[k]))
                hr_stage_act(&crew->stage[k]);
    return hr_stage_result(crew->stage);
}
