/* The driver for real time: every rank is a thread or a process, and waits for what it needs.
 *
 *   worker   request; wait until ready; accept; gradient; offer; ... at a cut: the steps of run.h
 *   server   wait until an input is enabled; pick one; take it; ... until all workers are done;
 *            colocated, its worker does so: in every wait below, and at the end
 */
#include "base/clock.h"
#include "kernels/gemm.h"
#include "strategy/server.h"
#include "train/record.h"

/* A wait that took too long is mostly for somebody who computes, or sleeps in a computer's stead:
 * say for whom. */
static enum hr_status say_for_whom(const struct hr_run *run, size_t rank, enum hr_status status)
{
    const struct hr_control *control = run->shared.control;
    if (status != HR_E_TIMEOUT)
        return status;
    for (size_t r = 0; r < run->shared.workers; r++) {
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
    const struct hr_run *run;
    struct hr_shard shard;
    struct hr_trace_log log;             /* of what it takes, if anybody wants to know */
    unsigned char enabled[HR_MAX_RANKS]; /* (workers) */
};

static bool has_input(void *arg)
{
    struct server *server = arg;
    server->shard.shared->strategy->enabled(&server->shard, server->enabled);
    for (size_t w = 0; w < server->shard.shared->workers; w++)
        if (server->enabled[w])
            return true;
    return false;
}

/* One of its inputs. */
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
    const struct hr_run *run = server->run;
    const struct hr_shared_state *shared = &run->shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    struct hr_waiter waiter = {
        .abort = &shared->control->abort, .spin_ns = run->spin_ns, .timeout_ns = run->timeout_ns};
    while (!shared->strategy->over(&server->shard)) {
        const int64_t since = hr_calibrates(run) ? hr_clock_ns() : 0;
        HR_TRY(say_for_whom(run, rank,
                            hr_wait_until(&waiter, &shared->control->rank[rank].bell, has_input,
                                          server, "the workers")));
        const int64_t began = hr_calibrates(run) ? hr_clock_ns() : 0;
        take(server);
        hr_calibrate_take(run, &server->shard, since, began);
    }
    return HR_OK;
}

static enum hr_status server_start(struct server *server, struct hr_run *run, size_t shard)
{
    server->run = run;
    HR_TRY(hr_record_open(run, shard, &server->log));
    return run->shared.strategy->shard_start(&server->shard, &run->shared, shard);
}

/* `status`, or what became of its log. Harmless on a zeroed one. */
static enum hr_status server_stop(struct server *server, enum hr_status status)
{
    if (server->shard.shared)
        server->shard.shared->strategy->shard_stop(&server->shard);
    return hr_record_close(&server->log, status);
}

/* --- a worker, and the shard that it owns --- */

struct worker {
    struct hr_trainee trainee;
    bool owns_shard;
    struct server server;
};

/* What a worker waits for. */
struct wanted {
    struct worker *worker;
    hr_ready_fn ready;
    void *arg;
};

/* Drain its shard, then look. The time is the worker's. */
static bool serve_then_look(void *arg)
{
    const struct wanted *wanted = arg;
    struct server *server = &wanted->worker->server;
    while (has_input(server)) {
        const enum hr_activity was = hr_account_turn(server->shard.account, HR_COMMUNICATE);
        take(server);
        hr_account_turn(server->shard.account, was);
    }
    return wanted->ready(wanted->arg);
}

static enum hr_status wait_for(struct worker *worker, struct hr_bell *bell, hr_ready_fn ready,
                               void *arg, const char *what)
{
    struct hr_trainee *trainee = &worker->trainee;
    struct wanted wanted = {worker, ready, arg};
    const bool serves = worker->owns_shard;
    return say_for_whom(trainee->run, trainee->worker.rank,
                        hr_wait_until(&trainee->waiter, bell, serves ? serve_then_look : ready,
                                      serves ? &wanted : arg, what));
}

static enum hr_status wait_at_bell(struct worker *worker, hr_ready_fn ready, void *arg,
                                   const char *what)
{
    struct hr_control *control = worker->trainee.run->shared.control;
    return wait_for(worker, &control->rank[worker->trainee.worker.rank].bell, ready, arg, what);
}

/* Ask for weights and a batch, and take them. */
static enum hr_status next_task(struct worker *me, struct hr_task *task)
{
    struct hr_trainee *trainee = &me->trainee;
    struct hr_worker *worker = &trainee->worker;
    const struct hr_strategy *strategy = worker->shared->strategy;
    const int64_t began = hr_clock_ns(), waited = trainee->waiter.waited_ns,
                  worked = worker->member.barrier.worked_ns;
    hr_control_phase(worker->shared->control, worker->rank, HR_PHASE_COMMUNICATE);
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    strategy->request(worker);
    HR_TRY(wait_for(me, worker->bell, strategy->ready, worker,
                    strategy->served ? "a server's reply" : "the other workers' gradients"));
    hr_calibrate_replies(trainee);
    HR_TRY(strategy->accept(worker, task));
    const int64_t idle = trainee->waiter.waited_ns - waited -
                         (worker->member.barrier.worked_ns - worked); /* helping is no waiting */
    hr_calibrate_step(trainee, task->kind == HR_TASK_CUT, began, idle > 0 ? idle : 0);
    return HR_OK;
}

/* --compute-time and --inject: the gradient that was begun at began_ns, and had own_ns of a
 * processor, takes until then. A slow worker is slow at computing: what it waited for a processor
 * that others had is not stretched. Whoever was woken late, because others had the processor, makes
 * up for it in the next step, so that a busy machine does not stretch every step. */
static enum hr_status take_longer(struct hr_trainee *trainee, uint64_t step, int64_t began_ns,
                                  int64_t own_ns)
{
    const int64_t now = hr_clock_ns(), late = trainee->late_ns;
    const int64_t ps =
        hr_conditions_compute_ps(trainee->run, trainee->worker.rank, step, 1000 * own_ns);
    const int64_t until = began_ns - late + ps / 1000;
    trainee->late_ns = 0;
    if (until <= now)
        return HR_OK;
    HR_TRY(hr_trainee_sleep(trainee, until, "its own slowness"));
    const int64_t woken = hr_clock_ns();
    trainee->late_ns = woken > until ? woken - until : 0;
    return HR_OK;
}

/* --inject stall: the worker does nothing. */
static enum hr_status stall(struct hr_trainee *trainee, uint64_t step)
{
    struct hr_account *account = &trainee->worker.stats->account;
    const int64_t ps = hr_conditions_stall_ps(trainee->run, trainee->worker.rank, step);
    if (ps == 0)
        return HR_OK;
    hr_account_turn(account, HR_WAIT);
    HR_TRY(hr_trainee_sleep(trainee, hr_clock_ns() + ps / 1000, "the end of its stall"));
    hr_account_turn(account, HR_COMPUTE);
    return HR_OK;
}

static enum hr_status differentiate(struct hr_trainee *trainee, const struct hr_task *task,
                                    uint64_t step)
{
    if (!hr_conditions_matter(&trainee->run->conditions))
        return hr_trainee_gradient(trainee, task);
    HR_TRY(stall(trainee, step));
    const int64_t began = hr_clock_ns(), had = hr_clock_thread_ns();
    HR_TRY(hr_trainee_gradient(trainee, task));
    return take_longer(trainee, step, began + trainee->slept_ns, hr_clock_thread_ns() - had);
}

static enum hr_status compute(struct hr_trainee *trainee, const struct hr_task *task)
{
    struct hr_worker *worker = &trainee->worker;
    const int64_t began = hr_clock_ns();
    hr_control_phase(worker->shared->control, worker->rank, HR_PHASE_COMPUTE);
    hr_control_step(worker->shared->control, worker->rank, task->index);
    hr_account_turn(&worker->stats->account, HR_COMPUTE);
    HR_TRY(differentiate(trainee, task, worker->steps));
    worker->took_ns = hr_clock_ns() - began;
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    worker->shared->strategy->offer(worker);
    return HR_OK;
}

/* --- the training clock: it runs from the moment when the first worker may begin to the moment
 * when the last has ended, and stands still in between. Each worker writes down when it came to a
 * barrier; behind it all know when the last did. */

/* Nobody may begin before all have come here. Whoever is late in leaving has waited. */
static enum hr_status begin_span(struct hr_trainee *trainee)
{
    struct hr_run *run = trainee->run;
    struct hr_worker_stats *stats = trainee->worker.stats;
    stats->began_ns = hr_clock_ns();
    HR_TRY(hr_member_barrier(&trainee->worker.member));
    hr_account_open(&stats->account, hr_account_latest(&run->shared.stats->began_ns,
                                                       run->shared.workers, sizeof *stats));
    if (trainee->worker.rank == 0)
        run->leader.cuts.cut->span_began_ns = stats->account.since_ns;
    return HR_OK;
}

/* All have ended; whoever did so before the last has waited for it. */
static enum hr_status end_span(struct hr_trainee *trainee, int64_t *ended_ns)
{
    struct hr_worker_stats *stats = trainee->worker.stats;
    stats->came_ns = hr_clock_ns();
    stats->account.open = false; /* what the barrier does is no training */
    HR_TRY(hr_member_barrier(&trainee->worker.member));
    const struct hr_shared_state *shared = &trainee->run->shared;
    *ended_ns = hr_account_latest(&shared->stats->came_ns, shared->workers, sizeof *stats);
    hr_account_close(&stats->account, *ended_ns);
    return HR_OK;
}

static enum hr_status at_cut(struct worker *me)
{
    struct hr_trainee *trainee = &me->trainee;
    struct hr_run *run = trainee->run;
    struct hr_worker *worker = &trainee->worker;
    const struct hr_strategy *strategy = run->shared.strategy;
    const bool leader = worker->rank == 0;
    int64_t ended;
    hr_control_phase(run->shared.control, worker->rank, HR_PHASE_CUT);
    hr_account_turn(&worker->stats->account, HR_WAIT); /* for the last to come */
    HR_TRY(wait_at_bell(me, hr_cut_may_arrive, run->leader.cuts.cut,
                        "the checkpoint before this one"));
    strategy->arrive(worker);
    HR_TRY(wait_at_bell(me, strategy->arrived, worker, "the servers at a cut"));
    HR_TRY(end_span(trainee, &ended));
    if (leader)
        hr_leader_decide(&run->leader, ended);
    strategy->export_part(worker);
    HR_TRY(hr_member_barrier(&worker->member));
    HR_TRY(strategy->verify(worker));
    if (run->leader.cuts.cut->evaluate)
        hr_trainee_evaluate(trainee);
    HR_TRY(hr_member_barrier(&worker->member));
    if (leader)
        hr_leader_conclude(&run->leader);
    HR_TRY(begin_span(trainee));
    hr_trainee_leave_cut(trainee);
    return HR_OK;
}

static enum hr_status worker_loop(struct worker *me)
{
    struct hr_trainee *trainee = &me->trainee;
    struct hr_run *run = trainee->run;
    HR_TRY(begin_span(trainee));
    do {
        struct hr_task task;
        for (;;) {
            HR_TRY(hr_wait_check(&trainee->waiter)); /* hogwild waits for nobody between cuts */
            HR_TRY(next_task(me, &task));
            if (task.kind == HR_TASK_CUT)
                break;
            HR_TRY(compute(trainee, &task));
        }
        HR_TRY(at_cut(me));
    } while (!run->leader.cuts.cut->halt);
    return HR_OK;
}

/* Where workers keep logs themselves. */
static enum hr_status logged_loop(struct worker *me)
{
    struct hr_trace_log log;
    HR_TRY(hr_record_open(me->trainee.run, me->trainee.worker.rank, &log));
    me->trainee.run->shared.strategy->replay_log(&me->trainee.worker)->log = &log;
    return hr_record_close(&log, worker_loop(me));
}

/* The worker's loop; whoever owns a shard serves it on until all others are done. */
static enum hr_status work(struct worker *me, struct hr_run *run, size_t rank)
{
    me->owns_shard = run->shared.colocated && rank < run->shared.servers;
    enum hr_status status = HR_OK;
    if (me->owns_shard)
        status = server_start(&me->server, run, rank);
    me->server.shard.account = &run->shared.stats[rank].account;
    if (status == HR_OK)
        status = run->shared.strategy->replay_log ? logged_loop(me) : worker_loop(me);
    hr_trainee_stop(&me->trainee); /* says that it is done; sets no message of its own */
    if (status == HR_OK && me->owns_shard)
        status = serve(&me->server);
    return server_stop(&me->server, status);
}

static enum hr_status worker_main(struct hr_run *run, size_t rank)
{
    struct hr_device device;
    struct worker me = {0};
    enum hr_status status;
    HR_TRY(hr_kernels_init_process(run->launch == HR_LAUNCH_THREAD ? run->shared.workers : 1));
    HR_TRY(hr_device_start(&device, run));
    HR_TRY_GOTO(hr_trainee_start(&me.trainee, run, rank), status, out);
    hr_trainee_borrow(&me.trainee, &device);
    status = work(&me, run, rank);
    hr_control_phase(run->shared.control, rank, HR_PHASE_FINISHED);
out:
    hr_device_stop(&device);
    return status;
}

static enum hr_status server_main(struct hr_run *run, size_t rank)
{
    struct server server = {0};
    enum hr_status status = server_start(&server, run, rank - run->shared.workers);
    if (status == HR_OK) {
        hr_control_phase(run->shared.control, rank, HR_PHASE_SERVE);
        status = serve(&server);
        hr_control_phase(run->shared.control, rank, HR_PHASE_FINISHED);
    }
    return server_stop(&server, status);
}

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct hr_run *run = arg;
    return rank < run->shared.workers ? worker_main(run, rank) : server_main(run, rank);
}

enum hr_status hr_drive_threads(struct hr_run *run)
{
    bool stuck = false;
    const struct hr_launch_options options = {
        .launch = run->launch,
        .nranks = run->nranks,
        .control = run->shared.control,
        .main = rank_main,
        .tick = hr_launcher_tick,
        .tick_arg = &run->launcher,
        .tick_ns = HR_NS_PER_SECOND / 10,
        .timeout_ns = run->timeout_ns,
        .arg = run,
    };
    const enum hr_status status = hr_launch_run(&options, &stuck);
    if (!stuck)
        return status;
    /* A thread that computes without end cannot be stopped, and still uses the run's memory. */
    run->segment = run->control_segment = (struct hr_segment){0};
    return status;
}
