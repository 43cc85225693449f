/* The driver for real time: every rank is a thread or a process, and waits for what it needs.
 *
 *   worker   request; wait until ready; accept; gradient; offer; ... at a cut: the steps of
 *            session/cut.h
 *   server   wait until an input is enabled; pick one; take it; ... until all workers are done;
 *            colocated, its worker does so: in every wait below, and at the end
 */
#include "base/clock.h"
#include "kernels/gemm.h"
#include "strategy/server.h"
#include "drive/record.h"
#include "worker/worker.h"

/* A wait passed its deadline: name a rank that is computing, or sleeping for --inject, which is the
 * usual cause. */
static enum hr_status say_for_whom(const struct hr_shared_state *shared, size_t rank,
                                   enum hr_status status)
{
    const struct hr_control *control = shared->control;
    if (status != HR_E_TIMEOUT)
        return status;
    for (size_t r = 0; r < shared->workers; r++) {
        const uint32_t phase = hr_atom32_load_relaxed(&control->rank[r].phase); /* partner: r */
        if (r != rank && phase == HR_PHASE_COMPUTE)
            return hr_fail(status, "%s; rank %zu is still computing the gradient of step %llu",
                           hr_error_message(), r,
                           (unsigned long long)hr_atom64_load_relaxed(&control->rank[r].step));
    }
    return status;
}

/* --- a shard --- */

struct server {
    const struct hr_drive *drive;
    struct hr_shard shard;
    struct hr_trace_log log;             /* of its inputs, when the run is recorded */
    unsigned char enabled[HR_MAX_RANKS]; /* (workers) */
};

static bool has_input(void *arg)
{
    struct server *server = arg;
    memset(server->enabled, 1, server->shard.shared->workers);
    server->shard.shared->strategy->enabled(&server->shard, server->enabled);
    for (size_t w = 0; w < server->shard.shared->workers; w++)
        if (server->enabled[w])
            return true;
    return false;
}

/* Take one input. */
static void take(struct server *server)
{
    const struct hr_shared_state *shared = server->shard.shared;
    shared->strategy->take(&server->shard,
                           hr_pick(&server->shard.picker, server->enabled, shared->workers));
    hr_record_taken(&server->log, &server->shard.taken);
}

/* Until all workers are done. */
static enum hr_status serve(struct server *server)
{
    const struct hr_drive *drive = server->drive;
    const struct hr_shared_state *shared = drive->job->shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    const bool measures = drive->calibration.compute;
    struct hr_waiter waiter = {.abort = &shared->control->abort,
                               .spin_ns = drive->job->spin_ns,
                               .timeout_ns = drive->job->timeout_ns};
    while (!shared->strategy->over(&server->shard)) {
        const int64_t since = measures ? hr_clock_ns() : 0;
        HR_TRY(say_for_whom(shared, rank,
                            hr_wait_until(&waiter, &shared->control->rank[rank].bell, has_input,
                                          server, "the workers")));
        const int64_t began = measures ? hr_clock_ns() : 0;
        take(server);
        hr_calibrate_take(drive, &server->shard, since, began);
    }
    return HR_OK;
}

static enum hr_status server_start(struct server *server, const struct hr_drive *drive,
                                   size_t shard)
{
    struct hr_shared_state *shared = drive->job->shared;
    server->drive = drive;
    HR_TRY(hr_record_open(drive, shard, &server->log));
    return shared->strategy->shard_start(&server->shard, shared, shard);
}

/* Returns `status`, or the log's error. Harmless on a zeroed one. */
static enum hr_status server_stop(struct server *server, enum hr_status status)
{
    if (server->shard.shared)
        server->shard.shared->strategy->shard_stop(&server->shard);
    return hr_record_close(&server->log, status);
}

static enum hr_status server_main(const struct hr_drive *drive, size_t rank)
{
    struct hr_control *control = drive->job->shared->control;
    struct server server = {0};
    enum hr_status status = server_start(&server, drive, rank - drive->job->shared->workers);
    if (status == HR_OK) {
        hr_control_phase(control, rank, HR_PHASE_SERVE);
        status = serve(&server);
        hr_control_phase(control, rank, HR_PHASE_FINISHED);
    }
    return server_stop(&server, status);
}

/* --- a worker, and the shard that it owns --- */

struct seat {
    const struct hr_drive *drive;
    const struct hr_shared_state *shared;
    const struct hr_strategy *strategy;
    struct hr_train_worker trainer;
    struct hr_worker *worker; /* trainer.worker */
    int64_t accepted_ns;      /* when it accepted its task, for --calibrate */
    int64_t late_ns;          /* how much too late it was woken last */
    bool owns_shard;
    struct server server;
};

/* What a worker waits for. */
struct wanted {
    struct server *server;
    hr_ready_fn ready;
    void *arg;
};

/* Drain its shard, then look. The time is booked for the worker. */
static bool serve_then_look(void *arg)
{
    const struct wanted *wanted = arg;
    struct server *server = wanted->server;
    while (has_input(server)) {
        const enum hr_activity was = hr_account_turn(server->shard.account, HR_COMMUNICATE);
        take(server);
        hr_account_turn(server->shard.account, was);
    }
    return wanted->ready(wanted->arg);
}

static enum hr_status wait_at(struct seat *seat, struct hr_bell *bell, hr_ready_fn ready, void *arg,
                              const char *what)
{
    struct wanted wanted = {&seat->server, ready, arg};
    const bool serves = seat->owns_shard;
    return say_for_whom(seat->shared, seat->worker->rank,
                        hr_wait_until(&seat->trainer.waiter, bell, serves ? serve_then_look : ready,
                                      serves ? &wanted : arg, what));
}

/* --- a step: ask for weights and a batch, compute its gradient, hand it in --- */

static enum hr_status next_task(struct seat *seat, struct hr_task *task)
{
    struct hr_worker *worker = seat->worker;
    const struct hr_strategy *strategy = seat->strategy;
    const struct hr_waiter *waiter = &seat->trainer.waiter;
    const int64_t began = hr_clock_ns(), waited = waiter->waited_ns,
                  worked = worker->member.barrier.worked_ns;
    hr_control_phase(seat->shared->control, worker->rank, HR_PHASE_COMMUNICATE);
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    strategy->request(worker);
    HR_TRY(wait_at(seat, worker->bell, strategy->ready, worker,
                   strategy->served ? "a server's reply" : "the other workers' gradients"));
    hr_calibrate_replies(seat->drive, worker->rank);
    HR_TRY(strategy->accept(worker, task));
    const int64_t idle = waiter->waited_ns - waited -
                         (worker->member.barrier.worked_ns - worked); /* summing is not waiting */
    seat->accepted_ns = hr_calibrate_step(seat->drive, worker->rank,
                                          &(struct hr_step_times){seat->accepted_ns, began, idle},
                                          task->kind == HR_TASK_CUT);
    return HR_OK;
}

/* --compute-time and --inject: sleep until the gradient, begun at began_ns with own_ns of processor
 * time, has taken as long as the conditions say. Only processor time is stretched, not waiting for
 * a processor. A worker that wakes late sleeps less in the next step, so that a busy machine does
 * not slow every step. */
static enum hr_status take_longer(struct seat *seat, uint64_t step, int64_t began_ns,
                                  int64_t own_ns)
{
    const int64_t now = hr_clock_ns(), late = seat->late_ns;
    const int64_t ps =
        hr_conditions_compute_ps(seat->drive->job, seat->worker->rank, step, 1000 * own_ns);
    const int64_t until = began_ns - late + ps / 1000;
    seat->late_ns = 0;
    if (until <= now)
        return HR_OK;
    HR_TRY(hr_train_worker_sleep(&seat->trainer, until, "its own slowness"));
    const int64_t woken = hr_clock_ns();
    seat->late_ns = woken > until ? woken - until : 0;
    return HR_OK;
}

static enum hr_status stall(struct seat *seat, uint64_t step)
{
    struct hr_account *account = &seat->worker->stats->account;
    const int64_t ps = hr_conditions_stall_ps(seat->drive->job, seat->worker->rank, step);
    if (ps == 0)
        return HR_OK;
    hr_account_turn(account, HR_WAIT);
    HR_TRY(
        hr_train_worker_sleep(&seat->trainer, hr_clock_ns() + ps / 1000, "the end of its stall"));
    hr_account_turn(account, HR_COMPUTE);
    return HR_OK;
}

static enum hr_status compute_slowly(struct seat *seat, const struct hr_task *task)
{
    const uint64_t step = seat->worker->steps;
    HR_TRY(stall(seat, step));
    const int64_t began = hr_clock_ns(), had = hr_clock_thread_ns();
    HR_TRY(hr_train_worker_gradient(&seat->trainer, task));
    return take_longer(seat, step, began + seat->trainer.slept_ns, hr_clock_thread_ns() - had);
}

static enum hr_status make_step(struct seat *seat, const struct hr_task *task)
{
    struct hr_worker *worker = seat->worker;
    const int64_t began = hr_clock_ns();
    hr_control_phase(seat->shared->control, worker->rank, HR_PHASE_COMPUTE);
    hr_control_step(seat->shared->control, worker->rank, task->index);
    hr_account_turn(&worker->stats->account, HR_COMPUTE);
    HR_TRY(hr_conditions_matter(&seat->drive->job->conditions)
               ? compute_slowly(seat, task)
               : hr_train_worker_gradient(&seat->trainer, task));
    worker->took_ns = hr_clock_ns() - began;
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    seat->strategy->offer(worker);
    return HR_OK;
}

/* --- the training clock: runs from when the last worker comes to the barrier before a span until
 * the last one comes to the barrier after it, and stands still at cuts. Each worker writes down
 * when it came; after the barrier all know the latest. */

/* Nobody begins before all have come. From then on a worker still in the barrier is waiting. */
static enum hr_status begin_span(struct seat *seat)
{
    const struct hr_shared_state *shared = seat->shared;
    struct hr_worker_stats *stats = seat->worker->stats;
    stats->began_ns = hr_clock_ns();
    HR_TRY(hr_member_barrier(&seat->worker->member));
    hr_account_open(&stats->account,
                    hr_account_latest(&shared->stats->began_ns, shared->workers, sizeof *stats));
    if (seat->worker->rank == 0)
        seat->drive->leader->cuts.cut->span_began_ns = stats->account.since_ns;
    return HR_OK;
}

/* All have ended; those before the last one have waited for it. */
static enum hr_status end_span(struct seat *seat, int64_t *ended_ns)
{
    const struct hr_shared_state *shared = seat->shared;
    struct hr_worker_stats *stats = seat->worker->stats;
    stats->came_ns = hr_clock_ns();
    stats->account.open = false; /* the barrier books no time: it is not training */
    HR_TRY(hr_member_barrier(&seat->worker->member));
    *ended_ns = hr_account_latest(&shared->stats->came_ns, shared->workers, sizeof *stats);
    hr_account_close(&stats->account, *ended_ns);
    return HR_OK;
}

static enum hr_status at_cut(struct seat *seat)
{
    struct hr_worker *worker = seat->worker;
    struct hr_bell *bell = &seat->shared->control->rank[worker->rank].bell;
    const struct hr_leader *leader = seat->drive->leader;
    int64_t ended;
    hr_control_phase(seat->shared->control, worker->rank, HR_PHASE_CUT);
    hr_account_turn(&worker->stats->account, HR_WAIT); /* for the last to come */
    HR_TRY(
        wait_at(seat, bell, hr_cut_may_arrive, leader->cuts.cut, "the checkpoint before this one"));
    seat->strategy->arrive(worker);
    HR_TRY(wait_at(seat, bell, seat->strategy->arrived, worker, "the servers at a cut"));
    hr_worker_at_cut(worker);
    HR_TRY(end_span(seat, &ended));
    if (worker->rank == 0)
        hr_leader_decide(leader, ended);
    seat->strategy->export_part(worker);
    HR_TRY(hr_member_barrier(&worker->member));
    HR_TRY(seat->strategy->verify(worker));
    if (leader->cuts.cut->evaluate)
        hr_train_worker_evaluate(&seat->trainer);
    HR_TRY(hr_member_barrier(&worker->member));
    if (worker->rank == 0)
        hr_leader_conclude(leader);
    HR_TRY(begin_span(seat));
    hr_train_worker_leave_cut(&seat->trainer);
    return HR_OK;
}

static enum hr_status worker_loop(struct seat *seat)
{
    HR_TRY(begin_span(seat));
    do {
        struct hr_task task;
        for (;;) {
            HR_TRY(hr_wait_check(&seat->trainer.waiter)); /* hogwild never waits between cuts */
            HR_TRY(next_task(seat, &task));
            if (task.kind == HR_TASK_CUT)
                break;
            HR_TRY(make_step(seat, &task));
        }
        HR_TRY(at_cut(seat));
    } while (!seat->drive->leader->cuts.cut->halt);
    return HR_OK;
}

/* For strategies whose workers own the logs. */
static enum hr_status logged_loop(struct seat *seat)
{
    struct hr_trace_log log;
    HR_TRY(hr_record_open(seat->drive, seat->worker->rank, &log));
    seat->strategy->replay_log(seat->worker)->log = &log;
    return hr_record_close(&log, worker_loop(seat));
}

/* The worker's loop; then an owner of a shard serves it until all workers are done. */
static enum hr_status work(struct seat *seat)
{
    const struct hr_shared_state *shared = seat->shared;
    const size_t rank = seat->worker->rank;
    seat->owns_shard = shared->colocated && rank < shared->servers;
    enum hr_status status = HR_OK;
    if (seat->owns_shard)
        status = server_start(&seat->server, seat->drive, rank);
    seat->server.shard.account = &shared->stats[rank].account;
    if (status == HR_OK)
        status = seat->strategy->replay_log ? logged_loop(seat) : worker_loop(seat);
    hr_train_worker_stop(&seat->trainer); /* says that it is done; sets no message of its own */
    if (status == HR_OK && seat->owns_shard)
        status = serve(&seat->server);
    return server_stop(&seat->server, status);
}

static enum hr_status worker_main(const struct hr_drive *drive, size_t rank)
{
    const struct hr_train_job *job = drive->job;
    struct hr_shared_state *shared = job->shared;
    struct hr_compute_buffers buffers;
    struct seat seat = {.drive = drive, .shared = shared, .strategy = shared->strategy};
    enum hr_status status;
    HR_TRY(hr_kernels_init_process(job->launch == HR_LAUNCH_THREAD ? shared->workers : 1));
    HR_TRY(hr_compute_buffers_start(&buffers, job));
    HR_TRY_GOTO(hr_train_worker_start(&seat.trainer, job, rank), status, out);
    seat.worker = &seat.trainer.worker;
    hr_train_worker_borrow(&seat.trainer, &buffers);
    status = work(&seat);
    hr_control_phase(shared->control, rank, HR_PHASE_FINISHED);
out:
    hr_compute_buffers_stop(&buffers);
    return status;
}

static enum hr_status rank_main(void *arg, size_t rank)
{
    const struct hr_drive *drive = arg;
    return rank < drive->job->shared->workers ? worker_main(drive, rank) : server_main(drive, rank);
}

enum hr_status hr_drive_threads(struct hr_drive *drive)
{
    const struct hr_train_job *job = drive->job;
    const struct hr_launch_options options = {
        .launch = job->launch,
        .nranks = job->nranks,
        .control = job->shared->control,
        .main = rank_main,
        .tick = hr_launcher_tick,
        .tick_arg = drive->launcher,
        .tick_ns = HR_NS_PER_SECOND / 10,
        .timeout_ns = job->timeout_ns,
        .arg = drive,
    };
    return hr_launch_run(&options, &drive->stuck);
}
