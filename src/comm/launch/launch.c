#include "launch/launch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/signals.h"
#include "shm/process.h"

/* --- a bell as soon as a process ends ---
 *
 * One thread sleeps in poll on the processes' pidfds, and rings whenever one of them ends. Where
 * there are no pidfds (before Linux 5.3) or no thread is to be had nothing rings: watch looks
 * around from time to time as well. Nothing is forked while it runs: stop, fork, start again. */

struct child_watch {
    struct hr_bell *bell;
    /* [0, count) events only while it lives, fd -1: not watched; [count] it is to stop */
    struct pollfd process[HR_MAX_RANKS + 1];
    size_t count;
    pthread_t thread;
    bool runs;
};

/* Close what has ended; how many live on. */
static size_t count_living(struct child_watch *watch)
{
    size_t living = 0;
    for (size_t i = 0; i < watch->count; i++) {
        struct pollfd *process = &watch->process[i];
        if (process->fd >= 0 && process->revents) {
            close(process->fd);
            process->fd = -1;
        }
        living += process->fd >= 0;
    }
    return living;
}

static void *watch_main(void *arg)
{
    struct child_watch *watch = arg;
    const struct pollfd *stop = &watch->process[watch->count];
    while (count_living(watch) > 0 && !stop->revents) {
        if (poll(watch->process, watch->count + 1, -1) < 0 && errno != EINTR)
            break;
        hr_bell_ring(watch->bell);
    }
    return NULL;
}

/* Watch these processes, children or not, from now on; a pid of -1: none. The struct stays where it
 * is until the stop. */
static void watch_children(struct child_watch *watch, struct hr_bell *bell, const pid_t *pids,
                           size_t count)
{
    const int stop = eventfd(0, EFD_CLOEXEC);
    *watch = (struct child_watch){.bell = bell};
    if (stop < 0)
        return;
    watch->count = count;
    for (size_t i = 0; i < count; i++)
        watch->process[i] = (struct pollfd){.fd = hr_process_open(pids[i]), .events = POLLIN};
    watch->process[count] = (struct pollfd){.fd = stop, .events = POLLIN};
    watch->runs = hr_thread_start(&watch->thread, watch_main, watch) == 0;
}

/* Harmless on a zeroed struct. */
static void stop_watching(struct child_watch *watch)
{
    if (!watch->count)
        return;
    if (watch->runs && eventfd_write(watch->process[watch->count].fd, 1) == 0)
        pthread_join(watch->thread, NULL);
    for (size_t i = 0; i <= watch->count; i++)
        if (watch->process[i].fd >= 0)
            close(watch->process[i].fd);
    *watch = (struct child_watch){0};
}

/* === ranks === */

/* Time for ranks to react to an abort. Then processes are killed; threads can only be left behind.
 */
static const int64_t USUAL_GRACE_NS[] = {
    [HR_LAUNCH_THREAD] = 10 * HR_NS_PER_SECOND, [HR_LAUNCH_PROCESS] = HR_NS_PER_SECOND};
/* How often we check for ended processes, in case nothing rings. */
static const int64_t LOOK_NS = HR_NS_PER_SECOND / 20;
static const int64_t FIRST_WORD_NS = HR_NS_PER_SECOND / 4;

struct slot {
    const struct hr_launch_options *options;
    size_t rank;
    pthread_t thread;
    pid_t pid;
    bool over;
};

enum hr_status hr_launch_parse(const char *name, enum hr_launch *out)
{
    for (int launch = HR_LAUNCH_THREAD; launch <= HR_LAUNCH_PROCESS; launch++)
        if (!strcmp(name, hr_launch_name((enum hr_launch)launch))) {
            *out = (enum hr_launch)launch;
            return HR_OK;
        }
    return hr_fail(HR_E_USAGE, "--launch %s: expected thread or process", name);
}

const char *hr_launch_name(enum hr_launch launch)
{
    return launch == HR_LAUNCH_THREAD ? "thread" : "process";
}

/* --- in the rank --- */

/* The launcher writes this too, since the rank may be stopped before it can. Both write the same.
 */
static void say_pid(const struct slot *slot, pid_t pid)
{
    struct hr_rank_status *line = &slot->options->control->rank[slot->rank];
    hr_atom64_store_release(&line->pid, (uint64_t)pid); /* partner: hr_control_stopped */
}

static enum hr_status run_rank(const struct hr_launch_options *options, size_t rank)
{
    struct hr_rank_status *line = &options->control->rank[rank];
    hr_fp_flush_denormals();
    const enum hr_status status = options->main(options->arg, rank);
    if (status != HR_OK && status != HR_E_GONE) /* does nothing when another rank failed first */
        hr_control_abort(options->control, rank, status, hr_error_message());
    /* Partner: the launcher's is_over. */
    hr_atom32_store_release(&line->result, status == HR_OK       ? HR_RETURNED_OK
                                           : status == HR_E_GONE ? HR_RETURNED_GONE
                                                                 : HR_RETURNED_ERROR);
    hr_bell_ring(&options->control->launcher_bell);
    return status;
}

/* A thread's own copy of what it needs: one that is stuck outlives the call that started it. */
struct errand {
    struct hr_launch_options options;
    size_t rank;
};

static void *thread_main(void *arg)
{
    struct errand *errand = arg;
    run_rank(&errand->options, errand->rank);
    free(errand);
    return NULL;
}

static _Noreturn void process_main(struct slot *slot, pid_t launcher)
{
    say_pid(slot, getpid());
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN); /* it asks the launcher for a checkpoint */
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) /* it died before it could */
        _exit(1);
    _exit(hr_status_exit_code(run_rank(slot->options, slot->rank)));
}

/* --- in the launcher --- */

static enum hr_status start_thread(struct slot *slot)
{
    struct errand *errand = malloc(sizeof *errand);
    if (!errand)
        return hr_fail(HR_E_NOMEM, "no memory to start thread %zu", slot->rank);
    *errand = (struct errand){*slot->options, slot->rank};
    say_pid(slot, getpid());
    errno = pthread_create(&slot->thread, NULL, thread_main, errand);
    if (errno == 0)
        return HR_OK;
    const enum hr_status status = hr_fail_errno(HR_E_NOMEM, "cannot start thread %zu", slot->rank);
    free(errand);
    return status;
}

static enum hr_status start_rank(struct slot *slot)
{
    if (slot->options->launch == HR_LAUNCH_THREAD)
        return start_thread(slot);
    const pid_t launcher = getpid();
    slot->pid = fork();
    if (slot->pid < 0)
        return hr_fail_errno(HR_E_NOMEM, "cannot fork rank %zu", slot->rank);
    if (slot->pid == 0)
        process_main(slot, launcher);
    say_pid(slot, slot->pid);
    return HR_OK;
}

enum { UNKNOWN = -1 }; /* wait status of a process that nobody could wait for */

/* The run goes on without it, or ends. */
static void lose(struct slot *slot, const char *how)
{
    const struct hr_launch_options *options = slot->options;
    const bool running = !hr_atom32_load_acquire(&options->control->abort);
    if (!running || !options->lost || !options->lost(options->losses, slot->rank, how))
        hr_control_abort(options->control, slot->rank, HR_E_LOST, how);
}

/* A process that is gone without having said so was lost. */
static void report_if_lost(struct slot *slot, int wait_status)
{
    struct hr_control *control = slot->options->control;
    const struct hr_rank_status *line = &control->rank[slot->rank];
    char text[200];
    if (hr_atom32_load_acquire(&line->result) != HR_RUNNING) /* partner: run_rank */
        return;
    const char *phase = hr_phase_str((enum hr_phase)hr_atom32_load_relaxed(&line->phase));
    if (wait_status == UNKNOWN)
        snprintf(text, sizeof text, "pid %ld is gone, while %s", (long)slot->pid, phase);
    else if (WIFSIGNALED(wait_status))
        snprintf(text, sizeof text, "pid %ld was killed by signal %d (%s) while %s",
                 (long)slot->pid, WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)), phase);
    else
        snprintf(text, sizeof text, "pid %ld exited with %d while %s", (long)slot->pid,
                 WEXITSTATUS(wait_status), phase);
    lose(slot, text);
}

static bool is_over(struct slot *slot)
{
    if (slot->over)
        return true;
    if (slot->options->launch == HR_LAUNCH_THREAD) {
        slot->over =
            hr_atom32_load_acquire(&slot->options->control->rank[slot->rank].result) != HR_RUNNING;
        if (!slot->over)
            return false;
        pthread_join(slot->thread, NULL);
        if (hr_atom32_load_relaxed(&slot->options->control->rank[slot->rank].result) ==
            HR_RETURNED_GONE)
            lose(slot, "killed by --inject");
        return true;
    }
    int wait_status;
    const pid_t reaped = waitpid(slot->pid, &wait_status, WNOHANG);
    if (reaped == slot->pid || (reaped < 0 && errno == ECHILD)) { /* SIGCHLD is ignored: gone */
        slot->over = true;
        report_if_lost(slot, reaped < 0 ? UNKNOWN : wait_status);
    }
    return slot->over;
}

/* Be told at once when one of those that run ends. */
static void watch_deaths(struct child_watch *children, const struct slot *slots)
{
    const struct hr_launch_options *options = slots[0].options;
    pid_t pids[HR_MAX_RANKS];
    if (options->launch != HR_LAUNCH_PROCESS)
        return;
    for (size_t r = 0; r < options->nranks; r++)
        pids[r] = slots[r].over ? -1 : slots[r].pid;
    watch_children(children, &options->control->launcher_bell, pids, options->nranks);
}

static void start_one_again(struct slot *slot)
{
    struct hr_control *control = slot->options->control;
    hr_atom32_store_release(&control->rank[slot->rank].result, HR_RUNNING); /* partner: is_over */
    hr_control_phase(control, slot->rank, HR_PHASE_STARTING);
    const enum hr_status status = start_rank(slot);
    slot->over = status != HR_OK;
    if (slot->over)
        hr_control_abort(control, HR_MAX_RANKS, status, hr_error_message());
}

/* Start again who may be. Returns whether somebody was, or will be. */
static bool start_again(struct slot *slots, struct child_watch *children)
{
    const struct hr_launch_options *options = slots[0].options;
    size_t r = options->nranks;
    bool was = false;
    while (options->again && !hr_atom32_load_acquire(&options->control->abort_claimed) &&
           (r = options->again(options->losses)) < options->nranks) {
        stop_watching(children); /* it has a thread, and we fork */
        start_one_again(&slots[r]);
        was = true;
    }
    if (was)
        watch_deaths(children, slots);
    return was || r == HR_LATER;
}

static size_t count_running(struct slot *slots)
{
    size_t running = 0;
    for (size_t r = 0; r < slots[0].options->nranks; r++)
        running += !is_over(&slots[r]);
    return running;
}

/* Ranks that ignore an abort: processes are killed; threads are left, and the caller told. */
static bool give_up_on(struct slot *slots)
{
    bool stuck = false;
    for (size_t r = 0; r < slots[0].options->nranks; r++) {
        if (slots[r].over)
            continue;
        if (slots[r].options->launch == HR_LAUNCH_PROCESS) {
            kill(slots[r].pid, SIGKILL);
            while (waitpid(slots[r].pid, NULL, 0) < 0 && errno == EINTR)
                continue;
            hr_control_abort(slots[r].options->control, slots[r].rank, HR_E_LOST,
                             "did not react to the end of the run, and was killed");
        } else {
            pthread_detach(slots[r].thread);
            stuck = true;
        }
    }
    return stuck;
}

/* --- stopped processes --- */

static bool is_stopped(const struct slot *slot)
{
    return slot->options->launch == HR_LAUNCH_PROCESS && !slot->over &&
           hr_process_is_stopped(slot->pid);
}

/* A stopped process reacts to nothing, so we do not wait for it when the run is over. */
static void kill_stopped(const struct slot *slots)
{
    for (size_t r = 0; r < slots[0].options->nranks; r++)
        if (is_stopped(&slots[r]))
            kill(slots[r].pid, SIGKILL);
}

/* No rank may be waiting for a stopped one. Then the launcher reports it, after the time a rank
 * would have waited; ranks report first. *since: when somebody was first seen stopped; 0: nobody
 * is. */
static void wait_for_stopped(const struct hr_launch_options *options, const struct slot *slots,
                             size_t running, int64_t *since)
{
    const int64_t now = hr_clock_ns();
    const int64_t longest = options->timeout_ns + (running > 1 ? FIRST_WORD_NS : 0);
    size_t s = 0;
    while (s < options->nranks && !is_stopped(&slots[s]))
        s++;
    *since = s == options->nranks ? 0 : *since ? *since : now;
    if (!*since || !options->timeout_ns || now - *since < longest)
        return;
    char text[100];
    snprintf(text, sizeof text, "the launcher waited %.1f s for its end (--timeout)",
             hr_seconds(now - *since));
    if (hr_atom32_load_acquire(&options->control->rank[slots[s].rank].result) == HR_RUNNING)
        hr_control_abort(options->control, HR_MAX_RANKS, HR_E_TIMEOUT, text);
    else
        kill(slots[s].pid, SIGKILL); /* it has done all it had to */
}

struct rung {
    const struct hr_bell *bell;
    uint32_t seen;
};

static bool has_rung(void *arg)
{
    const struct rung *rung = arg;
    return hr_atom32_load_acquire(&rung->bell->word) >> 1 != rung->seen >> 1; /* partner: ringer */
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sleep until the bell has rung since `rung->seen` was read: true, or for `longest`: false. */
static bool sleep_until_rung(struct hr_control *control, struct rung *rung, int64_t longest)
{
    static const struct hr_atom32 no_abort;
    struct hr_waiter waiter = {.abort = &no_abort, .timeout_ns = longest > 0 ? longest : 1};
    return hr_wait_until(&waiter, &control->launcher_bell, has_rung, rung, "a tick") == HR_OK;
}

static void run_tick(const struct hr_launch_options *options)
{
    void *arg = options->tick_arg ? options->tick_arg : options->arg;
    const enum hr_status status = options->tick ? options->tick(arg) : HR_OK;
    if (status != HR_OK)
        hr_control_abort(options->control, HR_MAX_RANKS, status, hr_error_message());
}

/* Returns whether threads are stuck. */
static bool watch(const struct hr_launch_options *options, struct slot *slots,
                  struct child_watch *children)
{
    const int64_t grace = options->grace_ns ? options->grace_ns : USUAL_GRACE_NS[options->launch];
    struct hr_control *control = options->control;
    int64_t aborted_at = 0, tick_at = 0, look_at = 0, stopped_since = 0;
    struct hr_stall stall;
    bool woken = true;
    hr_stall_begin(&stall, &options->stall, options->nranks);
    for (;;) {
        /* Read before looking around, so that no ring falls between. */
        struct rung rung = {&control->launcher_bell,
                            hr_atom32_load_acquire(&control->launcher_bell.word)};
        const size_t running = count_running(slots); /* which sees who is lost */
        if (!start_again(slots, children) && running == 0)
            return false;
        if (hr_clock_ns() >= look_at) { /* asks the kernel about each rank: not at every ring */
            wait_for_stopped(options, slots, running, &stopped_since);
            hr_stall_look(&stall, control);
            look_at = hr_clock_ns() + LOOK_NS;
        }
        if (woken || hr_clock_ns() >= tick_at) {
            run_tick(options);
            tick_at = hr_clock_ns() + (options->tick_ns ? options->tick_ns : LOOK_NS);
        }
        const int64_t now = hr_clock_ns();
        if (hr_atom32_load_acquire(&control->abort_claimed)) { /* partner: hr_control_claim */
            aborted_at = aborted_at ? aborted_at : now;
            if (hr_atom32_load_acquire(&control->abort)) /* said, and by then they were named */
                kill_stopped(slots);
            if (now - aborted_at > grace)
                return give_up_on(slots);
        }
        woken = sleep_until_rung(control, &rung, min_ns(LOOK_NS, tick_at - now));
    }
}

/* For who looks from outside. */
static void describe(const struct hr_launch_options *options)
{
    struct hr_about *about = &options->control->about;
    about->rank_kind = options->launch == HR_LAUNCH_THREAD ? HR_RANKS_THREADS : HR_RANKS_PROCESSES;
    about->workers = (uint32_t)options->stall.workers;
    about->owners = (uint32_t)options->stall.owners;
    about->waits = (uint32_t)options->stall.waits;
    about->first_stage = (uint32_t)options->stall.first_stage;
    about->stages = (uint32_t)options->stall.stages;
}

enum hr_status hr_launch_run(const struct hr_launch_options *options, bool *stuck)
{
    struct slot slots[HR_MAX_RANKS] = {0};
    struct child_watch children = {0};
    enum hr_status status = HR_OK;
    HR_ASSERT(options->nranks <= HR_MAX_RANKS);
    describe(options);
    if (!options->hosts) /* else clocks of several machines have to agree */
        hr_standstill_begin();
    for (size_t rank = 0; rank < options->nranks; rank++) {
        const bool elsewhere = options->hosts && !hr_hosts_here(options->hosts, rank);
        slots[rank] = (struct slot){.options = options, .rank = rank, .over = elsewhere};
        if (!elsewhere && status == HR_OK && (status = start_rank(&slots[rank])) != HR_OK)
            hr_control_abort(options->control, HR_MAX_RANKS, status, hr_error_message());
        slots[rank].over |= status != HR_OK;
    }
    watch_deaths(&children, slots);
    *stuck = watch(options, slots, &children);
    stop_watching(&children);
    if (!options->hosts)
        hr_standstill_end();
    return hr_control_failure(options->control);
}
