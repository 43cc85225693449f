/* The driver for real time: every rank is a thread or a process, and waits for what it needs.
 *
 *   worker   a life (strategy/rank.h) from cut to cut; at a cut: the steps of session/cut.h
 *   server   wait until an input is enabled; pick one; take it; ... until all workers are done;
 *            colocated, its worker does so: in every wait below, and at the end
 *   losses   where the run outlives them (losses.h), workers meet through the launcher (quiesce.h)
 */
#include "base/clock.h"
#include "drive/driver.h"
#include "drive/losses.h"
#include "drive/record.h"
#include "drive/losses_multinode.h"
#include "drive/quiesce.h"
#include "drive/serve.h"
#include "observe/spans.h"
#include "products/ready.h"
#include "server/server_worker.h"
#include "strategy/rank.h"
#include "strategy/shared.h"
#include "worker/compute_buffers.h"
#include "worker/worker.h"

/* A worker in real time: where it stands, and the training clock.
 *
 * The clock runs from when the last worker comes to the barrier before a span until the last one
 * comes to the barrier after it, and stands still at cuts. Each worker writes down when it came;
 * after the barrier all know the latest.
 *
 * Threads: its own.
 */
struct real_worker {
    const struct hr_drive *drive;
    const struct hr_shared_state *shared;
    const struct hr_strategy *strategy;
    struct hr_train_worker trainer;
    struct hr_worker *worker;              /* trainer.worker */
    int64_t accepted_ns;                   /* when it accepted its task, for --calibrate */
    int64_t offered_ns;                    /* when it handed in its last gradient */
    struct hr_task task;                   /* what it has in hand */
    int64_t asks_ns, waited_ns, worked_ns; /* when it asked for that; what it had waited by then,
                                              and summed meanwhile */
    int64_t computes_ns;                   /* when it began to compute */
    int64_t trained_ns;                    /* training before this span, less when that began */
    bool owns_shard;
    struct hr_server server; /* that shard */
    /* Where it stands: at the beginning of a span, in it, or (arrived) at the cut behind it. */
    bool begun, arrived, over;
    bool sits_out;             /* it came back, and is not active */
    struct hr_quiesce quiesce; /* of runs that outlive losses */
    uint32_t losses_seen;
    struct hr_spans spans;
};

static void report_spans(struct real_worker *self)
{
    const struct hr_drive *drive = self->drive;
    struct hr_worker *worker = self->worker;
    if (!self->shared->spans)
        return;
    hr_spans_open(&self->spans, &self->shared->feed, worker->rank, &self->trainer.waiter,
                  drive->driver->now_ns, drive);
    worker->spans = self->shared->spans[worker->rank] = &self->spans;
    hr_account_watch = &self->spans.watch;
}

/* Who looks on is told of its time, from now on; until it stops. */
static void stop_spans(struct real_worker *self)
{
    if (!self->shared->spans || !self->worker)
        return;
    hr_account_watch = NULL;
    hr_spans_close(&self->spans);
    self->shared->spans[self->worker->rank] = NULL;
}

/* Where a machine's workers push as one, its first worker has the gradients of the others, and what
 * servers reply. */
static const char *awaited_reply(const struct real_worker *self)
{
    const size_t node = self->shared->node_workers;
    if (!hr_strategy_is_served(self->strategy))
        return "the other workers' gradients";
    if (!node)
        return "a server's reply";
    return self->worker->rank % node ? "the worker that pushes for its machine"
                                     : "its machine's gradients, or a server's reply";
}

/* All come to a barrier. */
static enum hr_status barrier_of_all(struct real_worker *self, enum hr_quiesce_stage stage)
{
    if (self->drive->job->barrier && !self->shared->outlives)
        return self->drive->job->barrier(self->drive->job->machines_arg, self->worker->rank,
                                         &self->trainer.waiter, stage);
    return self->shared->outlives ? hr_quiesce_at(&self->quiesce, stage)
                                  : hr_member_barrier(&self->worker->member);
}

/* Of all workers' times; *at: where the launcher has put it, or the leader does. */
static int64_t latest_of(const struct real_worker *self, const int64_t *of_first, int64_t *at)
{
    const struct hr_shared_state *shared = self->shared;
    if (shared->outlives)
        return *at;
    const int64_t latest = hr_account_latest(of_first, shared->workers, sizeof *shared->stats);
    if (self->worker->group_rank == 0)
        *at = latest;
    return latest;
}

/* Nobody begins before all have come. From then on a worker still in the barrier is waiting. */
static enum hr_status begin_span(struct real_worker *self)
{
    struct hr_cut *cut = self->drive->leader->cuts.cut;
    struct hr_worker_stats *stats = self->worker->stats;
    stats->began_ns = hr_clock_ns();
    HR_TRY(barrier_of_all(self, HR_STAGE_BEGINS));
    const int64_t began = latest_of(self, &self->shared->stats->began_ns, &cut->span_began_ns);
    hr_spans_cut_ends(self->worker->spans, began);
    hr_account_open(&stats->account, began);
    hr_stragglers_begin(self->worker, began);
    self->trained_ns = cut->before_ns - began;
    hr_train_worker_leave_cut(&self->trainer);
    self->begun = true;
    self->over = cut->halt;
    if (self->over) /* what it still says to servers is in no span */
        hr_spans_cut_begins(self->worker->spans, began);
    return HR_OK;
}

/* It is in a span that others began. */
static void join_span(struct real_worker *self)
{
    const struct hr_cut *cut = self->drive->leader->cuts.cut;
    self->trained_ns = cut->before_ns - cut->span_began_ns;
}

/* All have ended; those before the last one have waited for it. */
static enum hr_status end_span(struct real_worker *self)
{
    struct hr_cut *cut = self->drive->leader->cuts.cut;
    HR_TRY(barrier_of_all(self, HR_STAGE_ENDED));
    const int64_t ended = latest_of(self, &self->shared->stats->came_ns, &cut->span_ended_ns);
    hr_account_close(&self->worker->stats->account, ended);
    hr_stragglers_leave(self->worker, ended);
    hr_spans_cut_begins(self->worker->spans, ended);
    return hr_report_steps(&self->trainer, self->trained_ns + ended);
}

static enum hr_status wait_at(struct real_worker *self, struct hr_bell *bell, hr_ready_fn ready,
                              void *arg, const char *what)
{
    struct hr_wanted wanted = {&self->server, ready, arg};
    struct hr_resting_asker asker = {.resting = self->drive->resting,
                                     .rank = self->worker->rank,
                                     .account = &self->worker->stats->account,
                                     .sent = &self->worker->requests.sent,
                                     .ready = ready,
                                     .arg = arg};
    if (self->owns_shard) {
        ready = hr_serve_then_look;
        arg = &wanted;
    } else if (asker.resting) {
        hr_resting_ask(&asker);
        ready = hr_resting_serve_then_look;
        arg = &asker;
    }
    if (ready(arg))
        return HR_OK;
    hr_train_worker_pass(&self->trainer);
    return hr_say_for_whom(self->shared, self->worker->rank,
                           hr_wait_until(&self->trainer.waiter, bell, ready, arg, what));
}

/* --- how it waits in a life (strategy/rank.h), and what is noted of it --- */

static enum hr_status begins_to_ask(struct real_worker *self)
{
    const struct hr_waiter *waiter = &self->trainer.waiter;
    HR_TRY(hr_wait_check(waiter));   /* hogwild never waits between cuts */
    if (hr_wait_is_recalled(waiter)) /* nor does one that is alone */
        return hr_fail(HR_E_REVOKED, "revoked");
    self->asks_ns = hr_clock_ns();
    self->waited_ns = waiter->waited_ns;
    self->worked_ns = self->worker->member.barrier.worked_ns;
    hr_turn_to(self->worker, HR_PHASE_COMMUNICATE, HR_COMMUNICATE);
    return HR_OK;
}

static void has_accepted(struct real_worker *self)
{
    struct hr_worker *worker = self->worker;
    hr_stragglers_leave(worker, worker->stats->account.since_ns);
    hr_losses_resumed(&self->drive->losses, &self->losses_seen, self->offered_ns);
    const int64_t idle = self->trainer.waiter.waited_ns - self->waited_ns -
                         (worker->member.barrier.worked_ns - self->worked_ns); /* summing is none */
    self->accepted_ns = hr_calibrate_step(
        self->drive, worker->rank, &(struct hr_step_times){self->accepted_ns, self->asks_ns, idle},
        self->task.kind == HR_TASK_CUT);
}

static enum hr_status begins_to_compute(struct real_worker *self)
{
    struct hr_worker *worker = self->worker;
    has_accepted(self);
    HR_TRY(hr_report_steps(&self->trainer, self->trained_ns + hr_clock_ns()));
    self->computes_ns = hr_clock_ns();
    hr_control_step(self->shared->control, worker->rank, self->task.index);
    hr_turn_to(worker, HR_PHASE_COMPUTE, HR_COMPUTE);
    hr_spans_step(worker->spans, self->task.index, worker->stats->account.since_ns);
    return HR_OK;
}

static enum hr_status comes_to_cut(struct real_worker *self)
{
    struct hr_worker *worker = self->worker;
    has_accepted(self);
    hr_train_worker_pass(&self->trainer);
    HR_TRY(hr_say_for_whom(self->shared, worker->rank, hr_train_worker_drain(&self->trainer)));
    hr_turn_to(worker, HR_PHASE_CUT, HR_WAIT); /* for the last to come */
    hr_stragglers_arrive_at_cut(worker, worker->stats->account.since_ns);
    return HR_OK;
}

static enum hr_status stand(struct hr_rank *rank)
{
    struct real_worker *self = rank->of;
    switch (rank->where) {
    case HR_WANTS:
        return begins_to_ask(self);
    case HR_HAS:
        return begins_to_compute(self);
    case HR_AT_CUT:
        return comes_to_cut(self);
    case HR_ARRIVED:
        self->worker->stats->came_ns = hr_clock_ns();
        hr_account_pause(&self->worker->stats->account); /* what the barrier takes is no training */
        self->arrived = true;
        return HR_OK;
    default:
        return HR_OK;
    }
}

static const char *awaited(const struct hr_rank *rank)
{
    return rank->where == HR_AT_CUT     ? "the checkpoint before this one"
           : rank->where == HR_ARRIVING ? "the servers at a cut"
                                        : awaited_reply(rank->of);
}

static enum hr_status wait_in_life(struct hr_rank *rank, struct hr_bell *bell)
{
    struct real_worker *self = rank->of;
    HR_TRY(wait_at(self, bell, rank->ready, rank->arg, awaited(rank)));
    if (rank->where == HR_ASKED)
        hr_calibrate_replies(self->drive, self->worker->rank);
    return HR_OK;
}

static enum hr_status repeat(struct hr_rank *rank)
{
    struct real_worker *self = rank->of;
    struct hr_deadline deadline = hr_deadline_begin(&self->trainer);
    struct hr_bell *bell = &self->shared->control->rank[self->worker->rank].bell;
    HR_TRY(wait_at(self, bell, hr_deadline_has_passed, &deadline,
                   "the time to send a lost push again"));
    hr_requests_repeat(self->worker);
    return HR_OK;
}

static enum hr_status gradient(struct hr_rank *rank)
{
    struct real_worker *self = rank->of;
    struct hr_worker *worker = self->worker;
    HR_TRY(hr_say_for_whom(self->shared, worker->rank,
                           hr_gradient_in_time(&self->trainer, self->task.index,
                                               hr_launcher_ps(self->drive->launcher))));
    self->offered_ns = hr_clock_ns();
    worker->took_ns = self->offered_ns - self->computes_ns;
    hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    hr_spans_offer(worker->spans);
    hr_stragglers_offer(worker, self->task.index, self->offered_ns);
    return HR_OK;
}

static const struct hr_rank_ways ways = {stand, wait_in_life, repeat, gradient};

/* --- a cut --- */

/* May be repeated from here where a worker is lost. */
static enum hr_status at_cut(struct real_worker *self)
{
    struct hr_worker *worker = self->worker;
    const struct hr_leader *leader = self->drive->leader;
    HR_TRY(end_span(self));
    if (worker->group_rank == 0)
        hr_leader_decide(leader);
    hr_worker_export(worker);
    if (self->drive->job->barrier && hr_rows_mean(&self->strategy->rows)) {
        HR_TRY(barrier_of_all(self, HR_STAGE_COMBINED));
        hr_rows_combine(worker);
    }
    HR_TRY(barrier_of_all(self, HR_STAGE_EXPORTED));
    HR_TRY(hr_rows_verify(worker));
    if (leader->cuts.cut->evaluate)
        HR_TRY(hr_train_worker_evaluate(&self->trainer));
    HR_TRY(barrier_of_all(self, HR_STAGE_EVALUATED));
    if (worker->group_rank == 0)
        hr_leader_conclude(leader);
    self->begun = self->arrived = false;
    return HR_OK;
}

/* --- from one thing to the next --- */

static enum hr_status advance(struct real_worker *self)
{
    struct hr_rank rank = {.ways = &ways,
                           .of = self,
                           .worker = self->worker,
                           .task = &self->task,
                           .may_arrive = hr_cut_may_arrive,
                           .cut = self->drive->leader->cuts.cut};
    if (!self->begun)
        return begin_span(self);
    return self->arrived ? at_cut(self) : hr_rank_span(&rank);
}

/* Where it is not active (--reduce repro) there is nothing to do until another term, or the end. It
 * quiesces as often as all others, in the middle of a cut, too. Its time is nobody's. */
static enum hr_status sit_out(struct real_worker *self)
{
    struct hr_account *account = &self->worker->stats->account;
    const int64_t timeout = self->trainer.waiter.timeout_ns;
    enum hr_status status = HR_OK;
    if (account->open)
        hr_account_close(account, hr_clock_ns());
    self->trainer.waiter.timeout_ns = 0; /* a span may be longer */
    while (status == HR_OK && !self->over) {
        status = hr_quiesce_at(&self->quiesce, HR_STAGE_SPAN);
        self->over = hr_quiesce_is_over(&self->quiesce);
    }
    self->trainer.waiter.timeout_ns = timeout;
    if (status == HR_E_REVOKED && !self->quiesce.begins)
        hr_account_open(account, hr_clock_ns());
    return status;
}

/* A new term: take its group rank, and where all were revoked begin again from the snapshot. */
static enum hr_status begin_term(struct real_worker *self)
{
    struct hr_account *account = &self->worker->stats->account;
    while (!hr_train_worker_enter_group(&self->trainer)) {
        if (self->quiesce.revoked)
            hr_worker_sit_out(self->worker);
        const enum hr_status status = sit_out(self);
        if (status != HR_E_REVOKED)
            return status;
    }
    self->quiesce.new_term = false; /* nor is one that began while it was not active */
    if (self->quiesce.revoked) {
        HR_TRY(hr_train_worker_restart(&self->trainer));
        if (self->owns_shard)
            HR_TRY(hr_server_restart(&self->server));
        join_span(self);
        self->arrived = false;
        self->begun = true;
        self->accepted_ns = 0; /* what it had in hand is no sample of --calibrate */
    }
    if (self->quiesce.begins)
        self->begun = self->arrived = false;
    else if (self->quiesce.revoked)
        hr_account_resume(account);
    return HR_OK;
}

static enum hr_status worker_loop(struct real_worker *self)
{
    /* It has started: from here on others wait for those who have not. */
    hr_control_phase(self->shared->control, self->worker->rank, HR_PHASE_COMMUNICATE);
    if (self->sits_out)
        HR_TRY(begin_term(self));
    while (!self->over) {
        enum hr_status status = advance(self);
        if (status == HR_E_REVOKED)
            hr_stragglers_leave(self->worker, hr_clock_ns());
        if (status == HR_E_REVOKED && !self->quiesce.new_term)
            status = hr_quiesce_at(&self->quiesce, HR_STAGE_SPAN);
        if (status == HR_E_REVOKED)
            status = begin_term(self);
        HR_TRY(status);
    }
    return HR_OK;
}

/* The worker's loop; then an owner of a shard serves it until all workers are done. */
static enum hr_status work(struct real_worker *self)
{
    const struct hr_shared_state *shared = self->shared;
    const size_t rank = self->worker->rank;
    self->owns_shard = hr_owns_shard(shared, rank);
    enum hr_status status = HR_OK;
    if (self->owns_shard)
        status = hr_server_open(&self->server, self->drive, rank);
    self->server.shard.account = &shared->stats[rank].account;
    if (hr_workers_log(self->strategy))
        self->worker->replay.log = hr_record_log(self->drive, rank);
    if (status == HR_OK)
        status = worker_loop(self);
    if (status == HR_E_GONE)
        hr_train_worker_drop(&self->trainer);
    else
        hr_train_worker_stop(&self->trainer); /* says that it is done; sets no message of its own */
    if (status == HR_OK && self->owns_shard)
        status = hr_serve(&self->server);
    hr_server_close(&self->server);
    return status;
}

/* Or are all revoked, and begin anew? (hr_ready_fn) */
static bool may_join(void *arg)
{
    const struct real_worker *self = arg;
    return hr_server_may_join(self->shared, self->quiesce.rank) ||
           hr_roster_is_revoked(self->shared->control);
}

/* A rank that was started again: owners must have taken its loss; then it is welcome, and joins the
 * others, or begins with them in the term that waits for it. */
static enum hr_status come_back(struct real_worker *self, size_t rank, bool *joins)
{
    const struct hr_train_job *job = self->drive->job;
    struct hr_control *control = job->shared->control;
    struct hr_waiter waiter = {.abort = &control->abort, .timeout_ns = job->waits.timeout_ns};
    hr_quiesce_open(&self->quiesce, control, &waiter, rank);
    waiter.revoke = NULL;
    HR_TRY(hr_wait_until(&waiter, &control->rank[rank].bell, may_join, self,
                         "the servers to see that it was gone"));
    HR_TRY(hr_quiesce_join(&self->quiesce, &self->over));
    self->begun = !hr_atom32_load_acquire(&control->rank[rank].presence.begins);
    *joins = hr_shared_takes_losses(job->shared) && !hr_roster_is_revoked(control);
    if (self->over || *joins)
        return HR_OK;
    const enum hr_status status = hr_quiesce_at(&self->quiesce, HR_STAGE_SPAN);
    self->begun = !self->quiesce.begins;
    return status == HR_E_REVOKED ? HR_OK : status;
}

static enum hr_status worker_main(const struct hr_drive *drive, size_t rank)
{
    const struct hr_train_job *job = drive->job;
    struct hr_shared_state *shared = job->shared;
    struct hr_compute_buffers own = {0};
    struct real_worker self = {.drive = drive, .shared = shared, .strategy = shared->strategy};
    enum hr_status status = HR_OK;
    bool joins = false;
    HR_TRY(hr_kernels_init_process(hr_train_job_threads(job)));
    if (!job->pool)
        HR_TRY(hr_compute_buffers_start(&own, job));
    if (hr_roster_is_gone(shared->control, rank))
        HR_TRY_GOTO(come_back(&self, rank, &joins), status, out);
    if (self.over) /* it came too late */
        goto out;
    HR_TRY_GOTO(hr_train_worker_start(&self.trainer, job, rank, joins), status, out);
    self.worker = &self.trainer.worker;
    self.sits_out = !joins && !hr_train_worker_enter_group(&self.trainer);
    if (shared->outlives)
        hr_quiesce_open(&self.quiesce, shared->control, &self.trainer.waiter, rank);
    if (self.begun) {
        join_span(&self);
        hr_account_open(&self.worker->stats->account, hr_clock_ns());
    }
    hr_stragglers_begin(self.worker, hr_clock_ns());
    if (!job->pool)
        hr_train_worker_borrow(&self.trainer, &own);
    report_spans(&self);
    status = work(&self);
    stop_spans(&self);
    hr_control_phase(shared->control, rank, HR_PHASE_FINISHED);
out:
    hr_compute_buffers_stop(&own);
    return status;
}

static enum hr_status rank_main(void *arg, size_t rank)
{
    const struct hr_drive *drive = arg;
    return rank < drive->job->shared->workers ? worker_main(drive, rank)
                                              : hr_serve_beside(drive, rank);
}

/* At every ring of its bell. */
static enum hr_status look_around(void *arg)
{
    struct hr_drive *drive = arg;
    const struct hr_train_job *job = drive->job;
    if (job->tend)
        HR_TRY(job->tend(job->machines_arg));
    if (job->shared->outlives)
        HR_TRY(hr_quiesce_release(&drive->losses));
    hr_losses_mind_copy(&drive->losses);
    return hr_launcher_tick(drive->launcher);
}

/* A machine whose workers are all lost goes along with the others until they have ended: they have
 * no orders for part of the machines. */
static enum hr_status go_along(struct hr_drive *drive, enum hr_status status)
{
    struct hr_losses *losses = &drive->losses;
    while (status == HR_OK && losses->multinode && !losses->halted) {
        status = look_around(drive);
        if (status == HR_OK && !losses->halted)
            status = hr_losses_multinode_wait(losses);
    }
    return status == HR_E_ABORTED ? hr_control_failure(drive->job->shared->control) : status;
}

static enum hr_status drive_threads(struct hr_drive *drive)
{
    struct hr_train_job *job = drive->job;
    hr_losses_begin(drive);
    HR_TRY(hr_buffer_pool_start(job, &job->pool));
    enum hr_status status = hr_resting_open(drive, &drive->resting);
    const struct hr_launch_options options = {
        .launch = job->launch,
        .nranks = job->nranks,
        .hosts = hr_shared_is_multinode(job->shared) ? &job->shared->hosts : NULL,
        .control = job->shared->control,
        .main = rank_main,
        .tick = look_around,
        .tick_arg = drive,
        .tick_ns = HR_NS_PER_SECOND / 10,
        .timeout_ns = job->waits.timeout_ns,
        .stall = job->stall,
        .arg = drive,
        .lost = !job->shared->outlives    ? NULL
                : drive->losses.multinode ? hr_losses_multinode_lost
                                          : hr_replica_lost,
        .again = job->shared->outlives ? hr_losses_again : NULL,
        .losses = &drive->losses,
    };
    if (status == HR_OK)
        status = go_along(drive, hr_launch_run(&options, &drive->stuck));
    if (!drive->stuck) { /* else a thread may still have one of them */
        hr_resting_close(drive->resting);
        drive->resting = NULL;
        hr_buffer_pool_stop(job->pool);
        job->pool = NULL;
    }
    return status;
}

const struct hr_driver hr_driver_threads = {.now_ns = hr_driver_real_ns, .run = drive_threads};
