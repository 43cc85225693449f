/* The runs of a seed at once, each in a process that sends its result back through a pipe. */
#include "compare/compare.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "shm/gauge.h"
#include "terminal/output.h"
#include "watch/watch.h"

/* --- runs at once, each in a process of its own, and one line of progress for all of them ---
 *
 * Memory:   shared with the processes that are forked behind crowd_open; a cell's writer is its
 *           process, its reader who has forked them.
 * Test:     tests/cli/terminal.bats */

struct hr_crowd {
    struct hr_course *cell; /* (runs->per_seed) of those that are at work; NULL: there is none */
    size_t bytes;
    struct hr_progress_view view;
    struct hr_remaining seeds; /* the runs of a seed take as long as the longest */
    const struct hr_compare_runs *runs;
    size_t first; /* of the runs */
    int64_t began_ns;
};

static const double basis_s = 1.0;

/* Without memory for it nothing is shown. */
static void crowd_open(struct hr_crowd *crowd, const struct hr_compare_runs *runs,
                       enum hr_telling telling)
{
    const struct hr_progress_subject subject = hr_compare_runs_subject(runs, 0);
    *crowd = (struct hr_crowd){.bytes = runs->per_seed * sizeof *crowd->cell,
                               .seeds = {.n = runs->n / runs->per_seed, .per_seed = 1},
                               .runs = runs};
    hr_progress_view_init(&crowd->view, hr_output_terminal(), &subject, telling);
    void *memory =
        mmap(NULL, crowd->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crowd->cell = memory == MAP_FAILED ? NULL : memory;
}

static void crowd_close(struct hr_crowd *crowd)
{
    hr_progress_view_end(&crowd->view);
    if (crowd->cell)
        munmap(crowd->cell, crowd->bytes);
    crowd->cell = NULL;
}

/* Runs from `first` begin, and are over. */
static void crowd_begin(struct hr_crowd *crowd, size_t first)
{
    crowd->first = first;
    crowd->began_ns = hr_clock_ns();
    for (size_t k = 0; crowd->cell && k < crowd->runs->per_seed; k++) {
        hr_atom64_store_relaxed(&crowd->cell[k].samples, 0); /* nobody is at work */
        hr_atom64_store_relaxed(&crowd->cell[k].total, 0);
        hr_course_store(&crowd->cell[k].epoch, 0);
    }
}

static void crowd_end(struct hr_crowd *crowd)
{
    crowd->seeds.seconds[crowd->first / crowd->runs->per_seed] =
        hr_seconds(hr_clock_ns() - crowd->began_ns);
}

/* Of run `first + k`, for hr_watch_join: its cell, and by whom it is written. */
static void *crowd_cell(const struct hr_crowd *crowd, size_t k)
{
    return crowd->cell ? &crowd->cell[k] : NULL;
}

static void crowd_tell(void *arg, const struct hr_progress *progress)
{
    struct hr_course *cell = arg;
    if (!cell)
        return;
    hr_atom64_store_relaxed(&cell->samples, progress->samples); /* partner of all: crowd_draw */
    hr_course_store(&cell->epoch, progress->epoch);
    hr_atom64_store_relaxed(&cell->total, progress->total);
}

/* Seconds until the last of them is over; not a number: some have no basis yet. */
static double left_of(const struct hr_course *cell, double passed)
{
    const double done = (double)hr_atom64_load_relaxed(&cell->samples),
                 total = (double)hr_atom64_load_relaxed(&cell->total); /* partner: tell */
    return passed >= basis_s && done > 0 && total >= done ? passed / done * (total - done) : NAN;
}

/* Some times a second. */
static void crowd_draw(struct hr_crowd *crowd)
{
    const size_t n = crowd->runs->per_seed;
    const double passed = hr_seconds(hr_clock_ns() - crowd->began_ns);
    struct hr_progress_crowd seen = {.first = crowd->first + 1,
                                     .last = crowd->first + n,
                                     .runs = crowd->runs->n,
                                     .least_epoch = INFINITY,
                                     .epochs = crowd->view.subject.epochs};
    double samples = 0;
    for (size_t k = 0; crowd->cell && k < n; k++) {
        const double epoch = hr_course_load(&crowd->cell[k].epoch);
        const double left = left_of(&crowd->cell[k], passed);
        seen.least_epoch = fmin(seen.least_epoch, epoch);
        seen.most_epoch = fmax(seen.most_epoch, epoch);
        seen.left_s = isnan(left) || left > seen.left_s ? left : seen.left_s;
        samples += (double)hr_atom64_load_relaxed(&crowd->cell[k].samples); /* partner: tell */
    }
    seen.samples_per_s = passed >= basis_s ? samples / passed : NAN;
    seen.left_s += hr_remaining_after(&crowd->seeds, crowd->first / n, passed + seen.left_s);
    if (crowd->cell)
        hr_progress_view_crowd(&crowd->view, &seen);
}

/* Run i has ended. */
static void crowd_ran(struct hr_crowd *crowd, size_t i, const struct hr_run_result *result)
{
    crowd->view.subject = hr_compare_runs_subject(crowd->runs, i);
    hr_progress_view_ran(&crowd->view, result);
}

/* What a process sends back through its pipe; the result's lists follow. */
struct parcel {
    enum hr_status status;
    bool unwritten;
    char message[480];
    struct hr_run_result result;
};

struct entrant {
    pid_t pid;
    int pipe;
};

static bool write_all(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t wrote = write(fd, at, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += wrote;
        bytes -= (size_t)wrote;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        const ssize_t got = read(fd, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* Give entrant i of n its share of the processors; where there are too few, all share all. */
static void take_share(size_t i, size_t n)
{
    cpu_set_t all, mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || (size_t)CPU_COUNT(&all) < n)
        return;
    size_t seen = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ % n == i)
            CPU_SET(cpu, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

static bool processors_suffice(size_t n)
{
    cpu_set_t all;
    return sched_getaffinity(0, sizeof all, &all) == 0 && (size_t)CPU_COUNT(&all) >= n;
}

/* All lists that a result owns (hr_run_result_free), and how long they are. */
struct list {
    void *field; /* of the result: the pointer to it */
    size_t bytes;
};
enum { LISTS = 14 };

static void lists_of(struct hr_run_result *r, struct list out[LISTS])
{
#define LIST(of, n)                                                                                \
    {                                                                                              \
        &(of), (n) * sizeof *(of)                                                                  \
    }
    const struct list lists[LISTS] = {
        LIST(r->curve, r->ncurve),
        LIST(r->stale_parts, r->nstale_workers + r->nstale_keys),
        LIST(r->stale_counts, r->nstale_counts),
        LIST(r->dropped_by, r->ndropped_by),
        LIST(r->worker_time, r->nworker_times),
        LIST(r->waited_for, r->nwaited),
        LIST(r->waited_s, r->waited_s ? r->nwaited * r->nwaited : 0),
        LIST(r->losses, r->nlosses),
        LIST(r->answers, r->nanswers),
        LIST(r->digests, r->ndigests),
        LIST(r->machines, r->nmachines),
        LIST(r->pipeline.stage, r->pipeline.stages),
        LIST(r->pipeline.span, r->pipeline.nspans),
        LIST(r->tensor.layer, r->tensor.nlayers),
    };
#undef LIST
    memcpy(out, lists, sizeof lists);
}

static bool write_lists(int fd, struct hr_run_result *result)
{
    struct list list[LISTS];
    bool whole = true;
    lists_of(result, list);
    for (size_t i = 0; i < LISTS; i++) {
        const void *data;
        memcpy(&data, list[i].field, sizeof data);
        whole = whole && write_all(fd, data, list[i].bytes);
    }
    return whole;
}

/* The pointers are the other process's: each becomes a list of our own, malloc'd, or NULL. */
static bool read_lists(int fd, struct hr_run_result *result)
{
    struct list list[LISTS];
    bool whole = true;
    lists_of(result, list);
    for (size_t i = 0; i < LISTS; i++) {
        void *data = whole && list[i].bytes > 0 ? malloc(list[i].bytes) : NULL;
        whole = whole && (list[i].bytes == 0 || (data && read_all(fd, data, list[i].bytes)));
        memcpy(list[i].field, &data, sizeof data);
    }
    return whole;
}

static _Noreturn void entrant_main(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                   const struct hr_crowd *crowd, size_t i, int out)
{
    const struct hr_compare_runs *runs = crowd->runs;
    struct hr_watch_share share = runs->share;
    struct hr_watch watch;
    struct parcel parcel = {0};
    struct hr_train_options options = runs->options[i];
    hr_signals_obey_parent();
    hr_signals_forget_asks(); /* they are passed on to it, and may wait for it already */
    hr_signals_hold_asks(false);
    if (processors_suffice(runs->per_seed))
        take_share(i - crowd->first, runs->per_seed);
    else
        options.ranks_beside = runs->per_seed; /* more than enough to be crowded */
    const struct hr_progress_subject subject = hr_compare_runs_subject(runs, i);
    struct hr_observer observer =
        hr_watch_begin(&watch, &options, cli->data, &subject, hr_watch_telling(cli));
    hr_watch_join(&watch, crowd_tell, crowd_cell(crowd, i - crowd->first));
    watch.first = crowd->first == 0;
    share.said = share.crowded = i > 0;
    watch.share = &share;
    const struct hr_metrics_wish wish = hr_watch_wish(cli, &options, dataset, runs->name[i]);
    hr_watch_write(&watch, &wish, &observer);
    parcel.status = hr_train(&options, dataset, &observer, &parcel.result);
    const bool ended = parcel.status == HR_OK;
    parcel.unwritten =
        hr_watch_close(&watch, ended ? &parcel.result : NULL, parcel.status) != parcel.status;
    snprintf(parcel.message, sizeof parcel.message, "%s",
             parcel.status == HR_OK ? "" : hr_error_message());
    const bool sent = write_all(out, &parcel, sizeof parcel) && write_lists(out, &parcel.result);
    _exit(sent ? 0 : 1);
}

static enum hr_status start_entrant(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                    const struct hr_crowd *crowd, size_t i, struct entrant *entrant)
{
    const struct hr_compare_runs *runs = crowd->runs;
    int ends[2];
    if (pipe(ends) != 0)
        return hr_fail_errno(HR_E_IO, "no pipe for %s", runs->entry[i]);
    fflush(NULL);
    hr_signals_hold_asks(true);
    entrant->pid = fork();
    if (entrant->pid != 0)
        hr_signals_hold_asks(false);
    if (entrant->pid == 0) {
        close(ends[0]);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        entrant_main(cli, dataset, crowd, i, ends[1]);
    }
    close(ends[1]);
    entrant->pipe = ends[0];
    if (entrant->pid > 0)
        return HR_OK;
    close(ends[0]);
    return hr_fail_errno(HR_E_NOMEM, "cannot fork a process for %s", runs->entry[i]);
}

struct forwarded {
    int stops;
    unsigned asks; /* for a checkpoint */
};

/* Signals that came to us go on to the entrants, as often as they came: they stand in process
 * groups of their own, so that a terminal's Ctrl-C does not reach them twice. */
static void forward_signals(const struct entrant *entrants, size_t n, struct forwarded *forwarded)
{
    const unsigned asks = hr_signals_saves_asked(NULL);
    for (size_t k = 0; k < n && forwarded->asks != asks; k++)
        kill(entrants[k].pid, SIGUSR1);
    forwarded->asks = asks;
    for (; forwarded->stops < hr_signals_seen(NULL); forwarded->stops++)
        for (size_t k = 0; k < n; k++) {
            kill(entrants[k].pid, SIGTERM);
            kill(entrants[k].pid, SIGCONT); /* one that was stopped does not see it before */
        }
}

static void wait_for_parcel(struct hr_crowd *crowd, const struct entrant *entrants, size_t n,
                            size_t k, struct forwarded *forwarded)
{
    struct pollfd readable = {.fd = entrants[k].pipe, .events = POLLIN};
    while (poll(&readable, 1, 100) <= 0) {
        crowd_draw(crowd);
        forward_signals(entrants, n, forwarded);
    }
}

static void receive(struct hr_compare_runs *runs, size_t i, const struct entrant *entrant)
{
    struct parcel parcel = {0};
    struct hr_run_result *result = &parcel.result;
    bool whole = read_all(entrant->pipe, &parcel, sizeof parcel);
    if (!whole)
        parcel = (struct parcel){0}; /* half a parcel has pointers, too */
    whole = whole && read_lists(entrant->pipe, result);
    close(entrant->pipe);
    while (waitpid(entrant->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (!whole) {
        hr_run_result_free(result);
        hr_compare_runs_note(runs, i, HR_E_LOST, "its process ended without a result");
        return;
    }
    runs->results[i] = parcel.result;
    runs->unwritten |= parcel.unwritten;
    hr_compare_runs_note(runs, i, parcel.status, parcel.message);
}

enum hr_status hr_compare_side_by_side(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                       struct hr_compare_runs *runs)
{
    struct entrant entrants[HR_COMPARE_RUNS_MAX];
    enum hr_status status = HR_OK;
    struct forwarded forwarded = {0};
    struct hr_crowd crowd;
    crowd_open(&crowd, runs, hr_watch_telling(cli));
    hr_signals_run_begins();
    for (size_t first = 0; first < runs->n && !hr_signals_seen(NULL); first += runs->per_seed) {
        size_t started = 0;
        crowd_begin(&crowd, first);
        for (; started < runs->per_seed && status == HR_OK; started += status == HR_OK)
            status = start_entrant(cli, dataset, &crowd, first + started, &entrants[started]);
        for (size_t k = 0; k < started; k++) {
            wait_for_parcel(&crowd, entrants, started, k, &forwarded);
            receive(runs, first + k, &entrants[k]);
            crowd_ran(&crowd, first + k, &runs->results[first + k]);
        }
        crowd_end(&crowd);
    }
    crowd_close(&crowd);
    hr_signals_run_ended();
    return status;
}
