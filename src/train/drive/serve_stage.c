#include "drive/serve.h"

#include "base/clock.h"
#include "drive/resting.h"
#include "observe/spans.h"
#include "products/ready.h"
#include "worker/staged.h"
#include "worker/streamed.h"

/* --- a server --- */

/* One that was started again: all others are recalled, and the snapshot is that of the last cut; at
 * once, or where its replica has gone on at the next cut, however far away that is. */
static enum hr_status come_back(struct hr_server *server, bool *over)
{
    const int64_t timeout = server->waiter.timeout_ns;
    server->waiter.timeout_ns = 0;
    const enum hr_status status = hr_rest_join(&server->rest, over);
    server->waiter.timeout_ns = timeout;
    HR_TRY(status);
    return *over ? HR_OK : hr_server_rest(server);
}

static void tell_spans(struct hr_server *server, size_t rank)
{
    const struct hr_drive *drive = server->drive;
    const struct hr_shared_state *shared = drive->job->shared;
    if (!shared->spans)
        return;
    hr_spans_open(&server->spans, &shared->feed, rank, &server->waiter, drive->driver->now_ns,
                  drive);
    shared->spans[rank] = &server->spans;
}

static enum hr_status serve_shard(const struct hr_drive *drive, size_t rank)
{
    struct hr_control *control = drive->job->shared->control;
    struct hr_server server = {0};
    enum hr_status status = hr_server_open(&server, drive, rank - drive->job->shared->workers);
    bool over = false;
    if (status == HR_OK && hr_roster_is_gone(control, rank))
        status = come_back(&server, &over);
    if (status == HR_OK && !over) {
        hr_control_phase(control, rank, HR_PHASE_SERVE);
        if (drive->resting) {
            status = hr_resting_lend(drive->resting, &server);
        } else {
            server.began_ns = hr_clock_coarse_ns();
            tell_spans(&server, rank);
            status = hr_serve(&server);
        }
        hr_control_phase(control, rank, HR_PHASE_FINISHED);
    }
    hr_server_close(&server);
    return status;
}

/* --- a stage of a pipeline --- */

static enum hr_status serve_stage(const struct hr_drive *drive, size_t rank)
{
    const struct hr_train_job *job = drive->job;
    struct hr_control *control = job->shared->control;
    struct hr_waiter waiter = {.abort = &control->abort,
                               .spin_ns = job->spin_ns,
                               .yield_ns = job->yield_ns,
                               .timeout_ns = job->timeout_ns,
                               .poll = job->poll,
                               .poll_arg = job->poll_arg};
    struct hr_bell *bell[HR_MAX_RANKS];
    struct hr_stage stage;
    const struct hr_stage_seat seat = {
        .waiter = &waiter, .control = control, .rank = rank, .stage = &stage};
    size_t worker, k;
    hr_staged_seat(job, rank, &worker, &k);
    struct hr_spans spans;
    if (job->shared->spans) {
        hr_spans_open(&spans, &job->shared->feed, rank, &waiter, drive->driver->now_ns, drive);
        job->shared->spans[rank] = &spans;
    }
    struct hr_stage_place place = hr_staged_place(job, worker, k, bell);
    struct hr_streamed_stage streamed = hr_streamed_stage_of(job, worker);
    if (hr_train_job_streams(job))
        hr_streamed_place(&streamed, &place);
    HR_TRY(hr_kernels_init_process(hr_train_job_threads(job)));
    HR_TRY(hr_stage_start(&stage, job->pipeline, k));
    hr_stage_sit(&stage, &place);
    const enum hr_status status = hr_say_for_whom(
        job->shared, rank,
        (hr_train_job_streams(job) ? hr_stream_serve : hr_stage_serve)(&stage, &seat));
    hr_stage_stop(&stage);
    hr_control_phase(control, rank, HR_PHASE_FINISHED);
    return status;
}

enum hr_status hr_serve_beside(const struct hr_drive *drive, size_t rank)
{
    const struct hr_train_job *job = drive->job;
    return job->pipeline && rank >= job->first_stage ? serve_stage(drive, rank)
                                                     : serve_shard(drive, rank);
}
