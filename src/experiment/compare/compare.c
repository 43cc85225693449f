#include "compare/compare.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hogring/checkpoint.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "checkpoint/claim.h"
#include "data/hold_out.h"
#include "options/sweep.h"
#include "session/result.h"
#include "shm/gauge.h"
#include "shm/process.h"
#include "terminal/output.h"
#include "train/multinode.h"
#include "train/shared_memory.h"
#include "watch/watch.h"

/* --- what is said of the runs of a comparison while they go on, and how they ended --- */

_Static_assert((int)HR_REMAINING_RUNS >= (int)HR_COMPARE_RUNS_MAX, "each run has its time");

/* 0: a budget says how long it lasts. */
static double epochs_of(const struct hr_train_options *options)
{
    return options->budget[0] ? 0 : (double)options->epochs;
}

/* Those that are run, of the first `end`. */
static size_t count_runs(const struct hr_compare_runs *runs, size_t end)
{
    size_t n = 0;
    for (size_t i = 0; i < end; i++)
        n += !runs->spared[i];
    return n;
}

/* What they have in common. */
static void share_out(struct hr_compare_runs *runs)
{
    const struct hr_train_options *first = &runs->options[0];
    bool workers = true;
    runs->share = (struct hr_watch_share){.head = runs->head, .one_model = true};
    for (size_t i = 0; i < runs->n; i++) {
        workers &= runs->options[i].workers == first->workers;
        runs->share.one_model &= !strcmp(runs->options[i].model, first->model);
    }
    if (workers)
        hr_append(runs->head, sizeof runs->head, ", %zu worker%s", first->workers,
                  first->workers == 1 ? "" : "s");
}

/* They begin: what is said of them, and of run i. */
static void compare_runs_begin(struct hr_compare_runs *runs, bool concurrent)
{
    const size_t seeds = runs->n / runs->per_seed / runs->orders;
    char orders[40] = "";
    const size_t n = count_runs(runs, runs->n);
    if (runs->orders > 1)
        snprintf(orders, sizeof orders, " x %zu orders", runs->orders);
    snprintf(runs->head, sizeof runs->head, "%zu run%s (%zu %s, %zu %s%s%s), %s", n,
             n == 1 ? "" : "s", runs->per_seed, runs->per_seed == 1 ? "setting" : "settings", seeds,
             runs->folds ? "fold" : "seed", seeds == 1 ? "" : "s", orders,
             !concurrent   ? "one at a time"
             : runs->folds ? "those of a fold at once"
                           : "those of a seed at once");
    share_out(runs);
    runs->remaining = (struct hr_remaining){.n = runs->n, .per_seed = runs->per_seed};
    for (size_t i = 0; i < runs->n; i++) {
        runs->remaining.epochs[i] = epochs_of(&runs->options[i]);
        runs->remaining.spared[i] = runs->spared[i];
    }
}

static struct hr_progress_subject compare_runs_subject(const struct hr_compare_runs *runs, size_t i)
{
    return (struct hr_progress_subject){.label = runs->entry[i],
                                        .strategy = runs->options[i].strategy,
                                        .seed = runs->options[i].seed,
                                        .epochs = epochs_of(&runs->options[i]),
                                        .run = count_runs(runs, i) + 1,
                                        .runs = count_runs(runs, runs->n),
                                        .seeds = runs->n > runs->per_seed,
                                        .remaining = &runs->remaining};
}

/* Note how run i ended. */
static void compare_runs_note(struct hr_compare_runs *runs, size_t i, enum hr_status status,
                              const char *message)
{
    runs->ran[i] = true;
    runs->status[i] = status;
    snprintf(runs->message[i], sizeof runs->message[i], "%s", status == HR_OK ? "" : message);
}

/* What tells the run from those of other entries. */
static void name_setting(struct hr_compare_runs *runs, size_t i)
{
    const size_t entry = i % runs->per_seed;
    struct hr_run_result *result = &runs->results[i];
    hr_entry_setting(runs->options + i - entry, runs->per_seed, entry, result->setting,
                     sizeof result->setting);
    result->folds = runs->folds;
    result->fold = runs->folds ? i / runs->per_seed + 1 : 0;
}

enum hr_status hr_compare_sort_out(struct hr_compare_runs *runs, size_t *good)
{
    enum hr_status first = HR_OK;
    *good = 0;
    for (size_t i = 0; i < runs->n; i++) {
        if (!runs->ran[i])
            continue;
        if (runs->status[i] == HR_OK) {
            name_setting(runs, i);
            const struct hr_run_result result = runs->results[i];
            runs->results[i] = runs->results[*good];
            runs->results[(*good)++] = result;
            continue;
        }
        hr_log(HR_LOG_ERROR, "%s, seed %llu: %s", runs->entry[i],
               (unsigned long long)runs->options[i].seed, runs->message[i]);
        runs->failed[runs->nfailed++] =
            (struct hr_failed_run){.label = runs->entry[i],
                                   .strategy = runs->options[i].strategy,
                                   .message = runs->message[i],
                                   .seed = runs->options[i].seed};
        first = first ? first : runs->status[i];
    }
    return first;
}

void hr_compare_free(struct hr_compare_runs *runs)
{
    for (size_t i = 0; runs && i < runs->n; i++)
        hr_run_result_free(&runs->results[i]);
    free(runs);
}

/* --- folds --- */

/* Before run i: where it is the first of its fold, the data with the test samples of that one. The
 * first of all has them. */
static enum hr_status turn_fold(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                                size_t i, struct hr_dataset *dataset)
{
    const struct hr_cv_fold fold = {i / runs->per_seed + 1, runs->folds};
    struct hr_data_options options = cli->data_options;
    if (!runs->folds || i == 0 || i % runs->per_seed)
        return HR_OK;
    HR_TRY(hr_split_with_fold(runs->split, fold, options.split, sizeof options.split));
    hr_dataset_close(dataset);
    return hr_dataset_open_with(cli->data, &options, dataset);
}

/* A result that is whole stands, though a file of the run could not be written: that is said. */
static enum hr_status whole_at_least(enum hr_status status, const struct hr_run_result *result,
                                     const char *entry, bool *unwritten)
{
    if (status == HR_OK || !result->weights_digest[0])
        return status;
    hr_log(HR_LOG_ERROR, "%s, seed %llu: %s", entry, (unsigned long long)result->seed,
           hr_error_message());
    *unwritten = true;
    return HR_OK;
}

/* --- one run after another: each has the machine to itself, so that timings are fair --- */

/* One after another. */
static enum hr_status compare_in_turn(const struct hr_cli *cli, struct hr_dataset *dataset,
                                      struct hr_compare_runs *runs)
{
    struct hr_timeline_watch lines = {.cli = cli};
    enum hr_status turned = HR_OK;
    for (size_t i = 0; i < runs->n && !hr_signals_seen(NULL); i++) {
        if (runs->spared[i])
            continue;
        turned = turn_fold(cli, runs, i, dataset);
        if (turned != HR_OK)
            break;
        struct hr_watch watch;
        const struct hr_train_options *options = &runs->options[i];
        const struct hr_progress_subject subject = compare_runs_subject(runs, i);
        const struct hr_metrics_request request =
            hr_watch_request(cli, options, dataset, runs->name[i]);
        struct hr_observer observer =
            hr_watch_begin(&watch, options, cli->data, &subject, hr_watch_verbosity(cli));
        const int64_t began = hr_clock_ns();
        watch.first = i < runs->per_seed;
        watch.share = &runs->share;
        hr_watch_timeline(&watch, &lines, &observer);
        hr_watch_write(&watch, &request, &observer);
        const enum hr_status status =
            whole_at_least(hr_train_on(NULL, options, dataset, &observer, &runs->results[i]),
                           &runs->results[i], runs->entry[i], &runs->unwritten);
        runs->remaining.seconds[i] = status == HR_OK ? hr_seconds(hr_clock_ns() - began) : 0;
        hr_watch_end(&watch, status == HR_OK ? &runs->results[i] : NULL);
        compare_runs_note(runs, i, status, hr_error_message());
        runs->unwritten |=
            hr_watch_close(&watch, status == HR_OK ? &runs->results[i] : NULL, status) != status;
    }
    const enum hr_status drawn = hr_timeline_end(&lines, turned);
    if (turned == HR_OK && drawn != HR_OK) {
        hr_log(HR_LOG_ERROR, "%s", hr_error_message());
        runs->unwritten = true;
    }
    return turned;
}

/* Runs side by side take what they take at the same time. */
static enum hr_status check_together(const struct hr_compare_runs *runs,
                                     const struct hr_dataset *dataset)
{
    struct hr_needs all = {0};
    for (size_t i = 0; i < runs->per_seed; i++) {
        struct hr_needs one = {0};
        HR_TRY(hr_train_needs(&runs->options[i], dataset, &one));
        hr_needs_join(&all, &one);
    }
    return hr_needs_check(&all, "--concurrent: the runs of a seed together need",
                          "without --concurrent they would fit");
}

enum hr_status hr_compare_admit(const void *arg, struct hr_shape shape)
{
    const struct hr_compare_runs *runs = arg;
    for (size_t i = 0; i < runs->per_seed; i++)
        HR_TRY(hr_train_admit(&(struct hr_train_plan){&runs->options[i], NULL}, shape));
    return HR_OK;
}

/* What could only fail after the runs before it. */
static enum hr_status check_folder(const struct hr_train_options *options)
{
    const struct hr_claimant claimant = {options->checkpoint_dir, NULL, options->overwrite};
    if (!options->checkpoint_dir[0])
        return HR_OK;
    if (!options->resume[0])
        HR_TRY(hr_claim_check(&claimant));
    return hr_checkpoint_prepare(options->checkpoint_dir, 0);
}

static enum hr_status check_outputs(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct hr_metrics_request request =
            hr_watch_request(cli, &runs->options[i], NULL, runs->name[i]);
        if (!runs->spared[i])
            HR_TRY(check_folder(&runs->options[i]));
        HR_TRY(hr_metrics_check(&request));
    }
    return HR_OK;
}

enum hr_status hr_compare_check(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                                const struct hr_dataset *dataset)
{
    for (size_t i = 0; i < runs->n; i++)
        HR_TRY(hr_train_check(&runs->options[i], dataset));
    if (cli->concurrent)
        HR_TRY(check_together(runs, dataset));
    return check_outputs(cli, runs);
}

/* --- those of a seed at once ---
 *
 * The runs of a seed at once, each in a process that sends its result back through a pipe. */

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
                       enum hr_verbosity verbosity)
{
    const struct hr_progress_subject subject = compare_runs_subject(runs, 0);
    *crowd = (struct hr_crowd){.bytes = runs->per_seed * sizeof *crowd->cell,
                               .seeds = {.n = runs->n / runs->per_seed, .per_seed = 1},
                               .runs = runs};
    hr_progress_view_init(&crowd->view, hr_output_terminal(), &subject, verbosity);
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

static void crowd_report(void *arg, const struct hr_progress *progress)
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

/* Some times per second. */
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
    crowd->view.subject = compare_runs_subject(crowd->runs, i);
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

static bool write_lists(int fd, struct hr_run_result *result)
{
    struct hr_result_list list[HR_RESULT_LISTS];
    bool whole = true;
    hr_result_lists(result, list);
    for (size_t i = 0; i < HR_RESULT_LISTS; i++) {
        const void *data;
        memcpy(&data, list[i].field, sizeof data);
        whole = whole && hr_write_all(fd, data, list[i].bytes);
    }
    return whole;
}

/* The pointers are the other process's: each becomes a list of our own, malloc'd, or NULL. */
static bool read_lists(int fd, struct hr_run_result *result)
{
    struct hr_result_list list[HR_RESULT_LISTS];
    bool whole = true;
    hr_result_lists(result, list);
    for (size_t i = 0; i < HR_RESULT_LISTS; i++) {
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
    const struct hr_progress_subject subject = compare_runs_subject(runs, i);
    struct hr_observer observer =
        hr_watch_begin(&watch, &options, cli->data, &subject, hr_watch_verbosity(cli));
    hr_watch_join(&watch, crowd_report, crowd_cell(crowd, i - crowd->first));
    watch.first = crowd->first == 0;
    share.said = share.crowded = i > 0;
    watch.share = &share;
    const struct hr_metrics_request request =
        hr_watch_request(cli, &options, dataset, runs->name[i]);
    hr_watch_write(&watch, &request, &observer);
    parcel.status = whole_at_least(hr_train_on(NULL, &options, dataset, &observer, &parcel.result),
                                   &parcel.result, runs->entry[i], &parcel.unwritten);
    const bool ended = parcel.status == HR_OK;
    parcel.unwritten |=
        hr_watch_close(&watch, ended ? &parcel.result : NULL, parcel.status) != parcel.status;
    snprintf(parcel.message, sizeof parcel.message, "%s",
             parcel.status == HR_OK ? "" : hr_error_message());
    const bool sent = hr_write_all(out, &parcel, sizeof parcel) && write_lists(out, &parcel.result);
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

enum { DRAWN_MS = 100 };

/* Every wait of a run has its deadline, but a process that is stopped minds none: one that has been
 * for timeout_s (0: no limit), in which we were not, is killed; false. */
static bool wait_for_parcel(struct hr_crowd *crowd, const struct entrant *entrants, size_t n,
                            size_t k, double timeout_s, struct forwarded *forwarded)
{
    struct pollfd readable = {.fd = entrants[k].pipe, .events = POLLIN};
    double stopped_ms = 0;
    while (poll(&readable, 1, DRAWN_MS) <= 0) {
        crowd_draw(crowd);
        forward_signals(entrants, n, forwarded);
        stopped_ms = hr_process_is_stopped(entrants[k].pid) ? stopped_ms + DRAWN_MS : 0;
        if (timeout_s > 0 && stopped_ms > timeout_s * 1000) {
            kill(entrants[k].pid, SIGKILL);
            return false;
        }
    }
    return true;
}

static void receive(struct hr_compare_runs *runs, size_t i, const struct entrant *entrant,
                    bool in_time)
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
        compare_runs_note(runs, i, in_time ? HR_E_LOST : HR_E_TIMEOUT,
                          in_time ? "its process ended without a result"
                                  : "its process was stopped for longer than --timeout");
        return;
    }
    runs->results[i] = parcel.result;
    runs->unwritten |= parcel.unwritten;
    compare_runs_note(runs, i, parcel.status, parcel.message);
}

/* All strategies of a seed at once, each in a process of its own that tells the others apart only
 * by the processors they take; seeds one after another. Where there are enough processors each
 * strategy gets a share of its own. */
static enum hr_status compare_side_by_side(const struct hr_cli *cli, struct hr_dataset *dataset,
                                           struct hr_compare_runs *runs)
{
    struct entrant entrants[HR_COMPARE_RUNS_MAX];
    enum hr_status status = HR_OK;
    struct forwarded forwarded = {0};
    struct hr_crowd crowd;
    crowd_open(&crowd, runs, hr_watch_verbosity(cli));
    crowd.view.subject.tokens = dataset->tokens.context;
    hr_signals_run_begins();
    for (size_t first = 0; first < runs->n && !hr_signals_seen(NULL); first += runs->per_seed) {
        size_t started = 0;
        status = turn_fold(cli, runs, first, dataset);
        if (status != HR_OK)
            break;
        crowd_begin(&crowd, first);
        for (; started < runs->per_seed && status == HR_OK; started += status == HR_OK)
            status = start_entrant(cli, dataset, &crowd, first + started, &entrants[started]);
        for (size_t k = 0; k < started; k++) {
            const bool in_time =
                wait_for_parcel(&crowd, entrants, started, k, cli->train.timeout, &forwarded);
            receive(runs, first + k, &entrants[k], in_time);
            crowd_ran(&crowd, first + k, &runs->results[first + k]);
        }
        crowd_end(&crowd);
    }
    crowd_close(&crowd);
    hr_signals_run_ended();
    return status;
}

/* --- all of them --- */

enum hr_status hr_compare_run(const struct hr_cli *cli, struct hr_dataset *dataset,
                              struct hr_compare_runs *runs)
{
    compare_runs_begin(runs, cli->concurrent);
    hr_log_repeat_no_warning();
    return cli->concurrent ? compare_side_by_side(cli, dataset, runs)
                           : compare_in_turn(cli, dataset, runs);
}
