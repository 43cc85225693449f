#include "stages/crew.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* --- ranks that wait --- */

/* For what the other stages do, in this step. */
static enum hr_status wait_for(struct hr_stage *stage, const struct hr_stage_seat *seat,
                               hr_ready_fn ready, const char *what)
{
    if (ready(stage))
        return hr_wait_check(seat->waiter);
    hr_control_phase(seat->control, seat->rank, HR_PHASE_COMMUNICATE);
    HR_TRY(hr_wait_until(seat->waiter, &seat->control->rank[seat->rank].bell, ready, stage, what));
    hr_control_phase(seat->control, seat->rank, HR_PHASE_COMPUTE);
    return HR_OK;
}

static enum hr_status do_actions(struct hr_stage *stage, const struct hr_stage_seat *seat)
{
    hr_stage_begin(stage);
    while (!hr_stage_is_done(stage)) {
        HR_TRY(wait_for(stage, seat, hr_stage_may_act, "another stage of the pipeline"));
        hr_stage_act(stage);
    }
    return HR_OK;
}

enum hr_status hr_stage_lead(struct hr_stage *lead, const struct hr_stage_seat *seat,
                             const struct hr_stage_task *task, struct hr_batch_result *result)
{
    const int64_t began = hr_clock_ns();
    hr_stage_publish(lead, task);
    HR_TRY(do_actions(lead, seat));
    HR_TRY(wait_for(lead, seat, hr_stage_all_are_done, "the other stages of the pipeline"));
    lead->place.account->span_ns += hr_clock_ns() - began;
    *result = hr_stage_result(lead);
    return HR_OK;
}

enum hr_status hr_stage_serve(struct hr_stage *stage, const struct hr_stage_seat *seat)
{
    const int64_t timeout = seat->waiter->timeout_ns;
    for (;;) {
        hr_control_phase(seat->control, seat->rank, HR_PHASE_COMMUNICATE);
        seat->waiter->timeout_ns = 0; /* evaluations, saves and other workers take their time */
        HR_TRY(hr_wait_until(seat->waiter, &seat->control->rank[seat->rank].bell, hr_stage_has_task,
                             stage, "the next step of the pipeline"));
        seat->waiter->timeout_ns = timeout;
        if (hr_stage_is_over(stage))
            return HR_OK;
        hr_control_phase(seat->control, seat->rank, HR_PHASE_COMPUTE);
        hr_control_step(seat->control, seat->rank, stage->at.step->index);
        HR_TRY(do_actions(stage, seat));
    }
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
                                    struct hr_stage_account *accounts, hr_load_fn load, void *arg)
{
    const size_t ranks = crew->stage->pipeline->ranks;
    for (size_t k = 0; k < ranks; k++)
        hr_stage_sit(&crew->stage[k], &(struct hr_stage_place){.memory = crew->memory,
                                                               .origin = task->grads,
                                                               .account = &accounts[k]});
    crew->stage->load = load;
    crew->stage->load_arg = arg;
    hr_stage_publish(crew->stage, task);
    for (size_t k = 0; k < ranks; k++)
        hr_stage_begin(&crew->stage[k]);
    while (!hr_stage_all_are_done(crew->stage))
        for (size_t k = 0; k < ranks; k++)
            while (!hr_stage_is_done(&crew->stage[k]) && hr_stage_may_act(&crew->stage[k]))
                hr_stage_act(&crew->stage[k]);
    return hr_stage_result(crew->stage);
}
