/* The driver for real time: every rank is a thread or a process, and waits for what it needs.
 *
 *   worker   request; wait until ready; accept; gradient; offer; ... at a cut: the steps of run.h
 *   server   wait until an input is enabled; pick one; take it; ... until all workers are done
 */
#include "base/clock.h"
#include "nn/gemm.h"
#include "train/record.h"

/* A wait that took too long is mostly for somebody who computes, or sleeps in a computer's stead:
 * say for whom. */
static enum hr_status say_for_whom(const struct hr_run *run, size_t rank, enum hr_status status)
{
    const struct hr_control *control = run->world.control;
    if (status != HR_E_TIMEOUT)
        return status;
    for (size_t r = 0; r < run->world.workers; r++) {
        const uint32_t phase = hr_atom32_load_relaxed(&control->rank[r].phase); /* partner: r */
        if (r != rank && phase == HR_PHASE_COMPUTE)
            return hr_fail(status, "%s; rank %zu is still computing the gradient of step %llu",
                           hr_error_message(), r,
                           (unsigned long long)hr_atom64_load_relaxed(&control->rank[r].step));
    }
    return status;
}

static enum hr_status wait_at_bell(struct hr_trainee *trainee, hr_ready_fn ready, void *arg,
                                   const char *what)
{
    struct hr_control *control = trainee->run->world.control;
    const size_t rank = trainee->worker.rank;
    return say_for_whom(
        trainee->run, rank,
        hr_wait_until(&trainee->waiter, &control->rank[rank].bell, ready, arg, what));
}

/* Ask for weights and a batch, and take them; what is neither waiting nor updating is
 * communication. */
static enum hr_status next_task(struct hr_trainee *trainee, struct hr_task *task)
{
    struct hr_worker *worker = &trainee->worker;
    const struct hr_strategy *strategy = worker->world->strategy;
    const int64_t began = hr_clock_ns(), waited = trainee->waiter.waited_ns,
                  updated = worker->update_ns;
    const int64_t worked = worker->member.attendance.worked_ns;
    hr_control_phase(worker->world->control, worker->rank, HR_PHASE_COMMUNICATE);
    strategy->request(worker);
    HR_TRY(say_for_whom(
        trainee->run, worker->rank,
        hr_wait_until(&trainee->waiter, worker->bell, strategy->ready, worker,
                      strategy->served ? "a server's reply" : "the other workers' gradients")));
    hr_calibrate_replies(trainee);
    HR_TRY(strategy->accept(worker, task));
    const int64_t work = worker->member.attendance.worked_ns - worked;
    const int64_t wait = trainee->waiter.waited_ns - waited;
    const int64_t idle = wait > work ? wait - work : 0; /* helping with a sum is no waiting */
    const int64_t update = worker->update_ns - updated;
    hr_calibrate_step(trainee, task->kind == HR_TASK_CUT, began, idle);
    worker->stats->wait_ns += idle;
    worker->stats->compute_ns += update;
    worker->stats->communicate_ns += hr_clock_ns() - began - idle - update;
    return HR_OK;
}

struct sleeper {
    struct hr_waiter waiter;
    const struct hr_atom32 *stop;
    int64_t until_ns;
};

/* Ready when the time has come, or the run is to stop: nobody waits for a slowness of an hour. */
static bool has_slept(void *arg)
{
    struct sleeper *sleeper = arg;
    sleeper->waiter.alarm_ns = sleeper->until_ns;
    return hr_clock_ns() >= sleeper->until_ns ||
           hr_atom32_load_acquire(sleeper->stop) != 0; /* partner: launcher.c */
}

/* --compute-time and --inject: the gradient that was begun at began_ns, and had own_ns of a
 * processor, takes until then. A slow worker is slow at computing: what it waited for a processor
 * that others had is not stretched. Whoever was woken late, because others had the processor, makes
 * up for it in the next step, so that a busy machine does not stretch every step. */
static enum hr_status take_longer(struct hr_trainee *trainee, uint64_t step, int64_t began_ns,
                                  int64_t own_ns)
{
    const struct hr_run *run = trainee->run;
    const size_t rank = trainee->worker.rank;
    struct sleeper sleeper = {.waiter = {.abort = trainee->waiter.abort},
                              .stop = &run->world.dispenser->stop};
    const int64_t now = hr_clock_ns(), late = trainee->late_ns;
    const int64_t ps = hr_conditions_compute_ps(run, rank, step, 1000 * own_ns);
    sleeper.until_ns = began_ns - late + ps / 1000;
    trainee->late_ns = 0;
    if (sleeper.until_ns <= now)
        return HR_OK;
    HR_TRY(hr_wait_until(&sleeper.waiter, &run->world.control->rank[rank].bell, has_slept, &sleeper,
                         "its own slowness"));
    const int64_t woken = hr_clock_ns();
    trainee->late_ns = woken > sleeper.until_ns ? woken - sleeper.until_ns : 0;
    return HR_OK;
}

static enum hr_status differentiate(struct hr_trainee *trainee, const struct hr_task *task,
                                    uint64_t step)
{
    if (!hr_conditions_matter(&trainee->run->conditions))
        return hr_trainee_gradient(trainee, task);
    const int64_t began = hr_clock_ns(), had = hr_clock_thread_ns();
    HR_TRY(hr_trainee_gradient(trainee, task));
    return take_longer(trainee, step, began, hr_clock_thread_ns() - had);
}

static enum hr_status compute(struct hr_trainee *trainee, const struct hr_task *task)
{
    struct hr_worker *worker = &trainee->worker;
    const uint64_t step = worker->steps;
    const int64_t began = hr_clock_ns(), loaded = worker->stats->load_ns;
    const int64_t overlapped = trainee->overlapped_ns;
    hr_control_phase(worker->world->control, worker->rank, HR_PHASE_COMPUTE);
    hr_control_step(worker->world->control, worker->rank, task->index);
    HR_TRY(differentiate(trainee, task, step));
    const int64_t computed = hr_clock_ns(), updated = worker->update_ns;
    worker->took_ns = computed - began;
    worker->world->strategy->offer(worker);
    const int64_t update = worker->update_ns - updated;
    const int64_t inside = trainee->overlapped_ns - overlapped;
    worker->stats->compute_ns +=
        computed - began + update - inside - (worker->stats->load_ns - loaded);
    worker->stats->communicate_ns += hr_clock_ns() - computed - update + inside;
    return HR_OK;
}

static enum hr_status at_cut(struct hr_trainee *trainee)
{
    struct hr_run *run = trainee->run;
    struct hr_worker *worker = &trainee->worker;
    const struct hr_strategy *strategy = run->world.strategy;
    const bool leader = worker->rank == 0;
    const int64_t came = hr_clock_ns();
    hr_control_phase(run->world.control, worker->rank, HR_PHASE_CUT);
    HR_TRY(wait_at_bell(trainee, hr_cut_may_arrive, run, "the checkpoint before this one"));
    strategy->arrive(worker);
    HR_TRY(wait_at_bell(trainee, strategy->arrived, worker, "the servers at a cut"));
    HR_TRY(hr_member_barrier(&worker->member));
    worker->stats->wait_ns += hr_clock_ns() - came; /* for the last to come; then no time counts */
    if (leader)
        hr_cut_decide(run);
    strategy->export_part(worker);
    HR_TRY(hr_member_barrier(&worker->member));
    HR_TRY(strategy->verify(worker));
    if (run->board->evaluate)
        hr_trainee_evaluate(trainee);
    HR_TRY(hr_member_barrier(&worker->member));
    if (leader)
        hr_cut_conclude(run);
    HR_TRY(hr_member_barrier(&worker->member));
    hr_cut_leave(trainee);
    return HR_OK;
}

static enum hr_status worker_loop(struct hr_trainee *trainee)
{
    struct hr_run *run = trainee->run;
    HR_TRY(hr_member_barrier(&trainee->worker.member)); /* the clock starts when all are set up */
    if (trainee->worker.rank == 0)
        run->board->span_began_ns = hr_clock_ns();
    do {
        struct hr_task task;
        for (;;) {
            HR_TRY(hr_wait_check(&trainee->waiter)); /* hogwild waits for nobody between cuts */
            HR_TRY(next_task(trainee, &task));
            if (task.kind == HR_TASK_CUT)
                break;
            HR_TRY(compute(trainee, &task));
        }
        HR_TRY(at_cut(trainee));
    } while (!run->board->halt);
    return HR_OK;
}

/* Where workers keep logs themselves. */
static enum hr_status logged_loop(struct hr_trainee *trainee)
{
    struct hr_trace_log log;
    HR_TRY(hr_record_open(trainee->run, trainee->worker.rank, &log));
    trainee->worker.diary.log = &log;
    return hr_record_close(&log, worker_loop(trainee));
}

static enum hr_status worker_main(struct hr_run *run, size_t rank)
{
    struct hr_device device;
    struct hr_trainee trainee;
    enum hr_status status;
    HR_TRY(hr_kernels_init_process(run->launch == HR_LAUNCH_THREAD ? run->world.workers : 1));
    HR_TRY(hr_device_start(&device, run));
    HR_TRY_GOTO(hr_trainee_start(&trainee, run, rank), status, out);
    hr_trainee_borrow(&trainee, &device);
    status = run->world.strategy->logged ? logged_loop(&trainee) : worker_loop(&trainee);
    hr_trainee_stop(&trainee); /* sets no message of its own */
    hr_control_phase(run->world.control, rank, HR_PHASE_FINISHED);
out:
    hr_device_stop(&device);
    return status;
}

struct server {
    struct hr_shard shard;
    struct hr_trace_log log;             /* of what it takes, if anybody wants to know */
    unsigned char enabled[HR_MAX_RANKS]; /* (workers) */
};

static bool has_input(void *arg)
{
    struct server *server = arg;
    server->shard.world->strategy->enabled(&server->shard, server->enabled);
    for (size_t w = 0; w < server->shard.world->workers; w++)
        if (server->enabled[w])
            return true;
    return false;
}

static enum hr_status serve(struct server *server, struct hr_run *run, size_t rank)
{
    const struct hr_world *world = &run->world;
    struct hr_waiter waiter = {
        .abort = &world->control->abort, .spin_ns = run->spin_ns, .timeout_ns = run->timeout_ns};
    while (!world->strategy->over(&server->shard)) {
        const int64_t since = hr_calibrates(run) ? hr_clock_ns() : 0;
        HR_TRY(say_for_whom(run, rank,
                            hr_wait_until(&waiter, &world->control->rank[rank].bell, has_input,
                                          server, "the workers")));
        const int64_t began = hr_calibrates(run) ? hr_clock_ns() : 0;
        world->strategy->take(&server->shard,
                              hr_pick(&server->shard.picker, server->enabled, world->workers));
        hr_calibrate_take(run, &server->shard, since, began);
        hr_record_taken(&server->log, &server->shard.taken);
    }
    return HR_OK;
}

static enum hr_status server_main(struct hr_run *run, size_t rank)
{
    struct hr_world *world = &run->world;
    struct server server;
    enum hr_status status = hr_record_open(run, rank - world->workers, &server.log);
    HR_TRY(status);
    status = world->strategy->shard_start(&server.shard, world, rank - world->workers);
    if (status == HR_OK) {
        hr_control_phase(world->control, rank, HR_PHASE_SERVE);
        status = serve(&server, run, rank);
        world->strategy->shard_stop(&server.shard);
        hr_control_phase(world->control, rank, HR_PHASE_FINISHED);
    }
    return hr_record_close(&server.log, status);
}

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct hr_run *run = arg;
    return rank < run->world.workers ? worker_main(run, rank) : server_main(run, rank);
}

enum hr_status hr_drive_threads(struct hr_run *run)
{
    bool stuck = false;
    const struct hr_launch_options options = {
        .launch = run->launch,
        .nranks = run->nranks,
        .control = run->world.control,
        .main = rank_main,
        .tick = hr_launcher_tick,
        .tick_ns = HR_NS_PER_SECOND / 10,
        .arg = run,
    };
    const enum hr_status status = hr_launch_run(&options, &stuck);
    if (!stuck)
        return status;
    /* A thread that computes without end cannot be stopped, and still uses the run's memory. */
    run->segment = run->control_segment = (struct hr_segment){0};
    return status;
}
