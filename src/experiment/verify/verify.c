#include "verify/verify.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/philox.h"
#include "base/pipe.h"
#include "base/signals.h"
#include "json/value.h"
#include "report/human.h"
#include "terminal/grid.h"

#define HR_CHECK_POINTER(name) &hr_check_##name,
static const struct hr_check *const checks[] = {HR_CHECKS(HR_CHECK_POINTER)};
#undef HR_CHECK_POINTER

enum { NCHECKS = sizeof checks / sizeof *checks };
_Static_assert((int)NCHECKS <= (int)HR_VERIFY_CHECKS, "each check has its row");

const struct hr_check *hr_verify_check_at(size_t i)
{
    return i < NCHECKS ? checks[i] : NULL;
}

/* --- which --- */

static const struct hr_check *find(const char *name, size_t length)
{
    for (size_t i = 0; i < NCHECKS; i++)
        if (strlen(checks[i]->name) == length && !memcmp(checks[i]->name, name, length))
            return checks[i];
    return NULL;
}

static void add_row(struct hr_verify *verify, const struct hr_check *check)
{
    for (size_t i = 0; i < verify->n; i++)
        if (verify->row[i].check == check)
            return;
    verify->row[verify->n++] = (struct hr_verify_row){.check = check, .worst = NAN};
}

enum hr_status hr_verify_begin(struct hr_verify *verify, const char *only)
{
    verify->n = 0;
    for (size_t i = 0; !only[0] && i < NCHECKS; i++)
        add_row(verify, checks[i]);
    for (const char *at = only; at[0];) {
        const size_t length = strcspn(at, ",");
        const struct hr_check *check = find(at, length);
        if (!check)
            return hr_fail(HR_E_USAGE, "--only %.*s: there is no such check (--list names them)",
                           (int)length, at);
        add_row(verify, check);
        at += length + (at[length] == ',');
    }
    return HR_OK;
}

/* --- cases in turn --- */

/* Kernels that a run refuses are judged by a check of their own. */
static bool is_of_the_environment(enum hr_status status)
{
    return status == HR_E_NOMEM || status == HR_E_SHM || status == HR_E_IO ||
           status == HR_E_KERNELS;
}

static void take(struct hr_verify_row *row, const struct hr_case_answer *answer)
{
    if (answer->status != HR_OK) {
        const bool cannot = is_of_the_environment(answer->status);
        row->over = true;
        snprintf(row->why, sizeof row->why, "%s", answer->why);
        if (!cannot)
            row->verdict = HR_CHECK_FAILED;
        else if (row->verdict == HR_CHECK_UNTRIED)
            row->verdict = HR_CHECK_SKIPPED;
        return;
    }
    row->verdict = HR_CHECK_HOLDS;
    row->cases++;
    row->compared += answer->compared;
    row->worst = fmax(row->worst, answer->worst); /* of a number and none, the number */
}

/* An untried one; else, of those whose next case should end in time, the one that has used least.
 */
static struct hr_verify_row *next_row(struct hr_verify *verify, double left)
{
    struct hr_verify_row *least = NULL;
    for (size_t i = 0; i < verify->n; i++) {
        struct hr_verify_row *row = &verify->row[i];
        if (row->over)
            continue;
        if (row->verdict == HR_CHECK_UNTRIED)
            return row;
        if (row->seconds / (double)row->cases <= left && (!least || row->seconds < least->seconds))
            least = row;
    }
    return least;
}

enum hr_status hr_verify_run(struct hr_verify *verify, hr_verify_tell_fn tell, void *arg)
{
    const int64_t began = hr_clock_ns();
    struct hr_verify_row *row;
    while ((row = next_row(verify, verify->seconds - verify->took))) {
        if (tell)
            tell(arg, verify, row);
        const int64_t before = hr_clock_ns();
        const struct hr_case_answer answer = hr_case_run(verify, row->check, row->cases);
        HR_TRY(hr_signals_check());
        row->seconds += hr_seconds(hr_clock_ns() - before);
        take(row, &answer);
        verify->took = hr_seconds(hr_clock_ns() - began);
    }
    return HR_OK;
}

size_t hr_verify_count(const struct hr_verify *verify, enum hr_verdict_of_check verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < verify->n; i++)
        n += verify->row[i].verdict == verdict;
    return n;
}

/* --- one case ---
 *
 * One case, in a process of its own: it answers through a pipe. What it says on stderr is kept, and
 * told only when it gives no answer. */

/* --- draws --- */

/* Checks are told apart by their names, so that a new one moves no other. */
static uint32_t sequence_of(const struct hr_check *check)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = check->name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    return hash;
}

size_t hr_trial_draw(struct hr_trial *trial, size_t n)
{
    const uint64_t index = trial->number << 20 | trial->draws++;
    const struct hr_philox block =
        hr_random_block(trial->seed, HR_STREAM_VERIFY, index, sequence_of(trial->check));
    return (size_t)(block.v[0] * (uint64_t)n >> 32);
}

const char *hr_trial_pick(struct hr_trial *trial, const char *const *names)
{
    size_t n = 0;
    while (names[n])
        n++;
    return names[hr_trial_draw(trial, n)];
}

/* --- its folder --- */

enum hr_status hr_trial_folder(struct hr_trial *trial)
{
    struct stat info;
    if (stat(trial->folder, &info) == 0)
        return HR_OK;
    if (mkdir(trial->folder, 0700) != 0)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be made (TMPDIR says where)",
                             trial->folder);
    return HR_OK;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

/* --- in the child --- */

static struct hr_case_answer try_case(struct hr_trial *trial)
{
    struct hr_case_answer answer = {
        .status = trial->check->run(trial), .compared = trial->compared, .worst = trial->worst};
    if (answer.status != HR_OK)
        snprintf(answer.why, sizeof answer.why, "%s", hr_error_message());
    return answer;
}

static _Noreturn void child_main(struct hr_trial *trial, int out, int said)
{
    const struct rlimit no_core = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    if (said >= 0)
        dup2(said, STDERR_FILENO);
    const struct hr_case_answer answer = try_case(trial);
    _exit(write(out, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

/* --- in the parent --- */

/* The last line that the child said; "": it was silent. */
static void last_words(int said, char line[200])
{
    char text[2048];
    line[0] = 0;
    const off_t end = said < 0 ? 0 : lseek(said, 0, SEEK_END);
    const size_t want =
        end < (off_t)sizeof text - 1 ? (size_t)(end > 0 ? end : 0) : sizeof text - 1;
    const ssize_t got = want ? pread(said, text, want, end - (off_t)want) : 0;
    size_t n = got > 0 ? (size_t)got : 0;
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = 0;
    const char *begin = strrchr(text, '\n');
    snprintf(line, 200, "%.199s", n ? (begin ? begin + 1 : text) : "");
}

static void say_how_it_ended(struct hr_case_answer *answer, int wait_status, bool hung,
                             double deadline, int said)
{
    char words[200], how[80];
    last_words(said, words);
    if (hung)
        snprintf(how, sizeof how, "no answer in %g s", deadline);
    else if (WIFSIGNALED(wait_status))
        snprintf(how, sizeof how, "its process ended by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(how, sizeof how, "its process ended without an answer");
    *answer = (struct hr_case_answer){.status = HR_E_FAILED, .worst = NAN};
    snprintf(answer->why, sizeof answer->why, "%s%s%s", how, words[0] ? "; it said: " : "", words);
}

/* Its answer, or how it ended; nobody of it is left. */
static void hear(struct hr_case_answer *answer, pid_t child, int in, double deadline, int said)
{
    const int64_t end_ns = hr_clock_ns() + (int64_t)(deadline * (double)HR_NS_PER_SECOND);
    int wait_status = 0;
    bool there = false;
    while (!there && hr_clock_ns() < end_ns && !hr_signals_seen(NULL))
        there = hr_pipe_wait(in, POLLIN, end_ns);
    const bool heard = there && read(in, answer, sizeof *answer) == sizeof *answer;
    if (!heard && !there)
        kill(child, SIGKILL);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (!heard)
        say_how_it_ended(answer, wait_status, !there, deadline, said);
}

static struct hr_case_answer run_in_child(struct hr_trial *trial, double deadline, int said)
{
    struct hr_case_answer answer = {.worst = NAN};
    int ends[2];
    if (pipe(ends) != 0) {
        answer.status = hr_fail_errno(HR_E_NOMEM, "no pipe for a process");
        snprintf(answer.why, sizeof answer.why, "%s", hr_error_message());
        return answer;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        child_main(trial, ends[1], said);
    }
    if (child < 0) {
        answer.status = hr_fail_errno(HR_E_NOMEM, "no process to try it in");
        snprintf(answer.why, sizeof answer.why, "%s", hr_error_message());
    }
    close(ends[1]);
    if (child > 0)
        hear(&answer, child, ends[0], deadline, said);
    close(ends[0]);
    return answer;
}

struct hr_case_answer hr_case_run(const struct hr_verify *verify, const struct hr_check *check,
                                  uint64_t number)
{
    enum { USUAL_DEADLINE = 120 };
    const char *base = getenv("TMPDIR");
    struct hr_trial trial = {.check = check,
                             .seed = verify->seed,
                             .number = number,
                             .dataset = verify->dataset,
                             .worst = NAN};
    const int said = memfd_create("hogring-verify", MFD_CLOEXEC);
    snprintf(trial.folder, sizeof trial.folder, "%.400s/hogring-verify-%ld-%llu",
             base && base[0] ? base : "/tmp", (long)getpid(), (unsigned long long)number);
    const struct hr_case_answer answer =
        run_in_child(&trial, verify->case_max > 0 ? verify->case_max : USUAL_DEADLINE, said);
    nftw(trial.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (said >= 0)
        close(said);
    return answer;
}

/* --- what came of it ---
 *
 * The table of what was verified, and the same as JSON. */

static const char *const words[] = {"untried", "ok", "FAILED", "skipped"};
static const enum hr_style styles[] = {HR_PLAIN, HR_GOOD, HR_BAD, HR_WARN};

static void write_row(FILE *cells, FILE *out, const struct hr_verify_row *row)
{
    char count[HR_HUMAN_MAX], checked[40] = "-", worst[24] = "";
    if (row->cases)
        snprintf(checked, sizeof checked, "%s %s", hr_human_short(count, (double)row->compared),
                 row->check->what);
    if (!isnan(row->worst))
        snprintf(worst, sizeof worst, "%.1e", row->worst);
    fprintf(cells, "%s\t%s\t%s\t%s\t%.1f\t%s%s%s\n", row->check->name, row->check->claim, checked,
            worst, row->seconds, hr_style(out, styles[row->verdict]), words[row->verdict],
            hr_style(out, HR_PLAIN));
}

static void print_why(FILE *out, const struct hr_verify *verify)
{
    for (size_t i = 0; i < verify->n; i++) {
        const struct hr_verify_row *row = &verify->row[i];
        if (!row->why[0])
            continue;
        if (row->verdict == HR_CHECK_FAILED)
            fprintf(out,
                    "\n%s%s, case %llu: %s%s\n  to re-run: hogring verify --only %s --seed %llu\n",
                    hr_style(out, HR_BAD), row->check->name, (unsigned long long)row->cases,
                    hr_style(out, HR_PLAIN), row->why, row->check->name,
                    (unsigned long long)verify->seed);
        else
            fprintf(out, "\n%s, %s: %s\n", row->check->name,
                    row->verdict == HR_CHECK_SKIPPED ? "skipped" : "not tried further", row->why);
    }
}

void hr_verify_print(FILE *out, const struct hr_verify *verify)
{
    const size_t failed = hr_verify_count(verify, HR_CHECK_FAILED),
                 skipped = hr_verify_count(verify, HR_CHECK_SKIPPED);
    struct hr_grid table;
    hr_grid_begin(&table, "-check\t-what is claimed\tcompared\tlargest\ts\t-");
    for (size_t i = 0; i < verify->n; i++)
        write_row(table.cells, out, &verify->row[i]);
    hr_grid_squeeze(&table, 1, 80);
    hr_grid_end(&table, out, 0);
    print_why(out, verify);
    fprintf(out, "\n%zu check%s in %.1f s, seed %llu: %zu hold, %s%zu FAILED%s, %zu skipped\n",
            verify->n, verify->n == 1 ? "" : "s", verify->took, (unsigned long long)verify->seed,
            hr_verify_count(verify, HR_CHECK_HOLDS), failed ? hr_style(out, HR_BAD) : "", failed,
            failed ? hr_style(out, HR_PLAIN) : "", skipped);
}

void hr_verify_list(FILE *out, const struct hr_verify *verify)
{
    for (size_t i = 0; i < verify->n; i++)
        fprintf(out, "%-12s  %s\n", verify->row[i].check->name, verify->row[i].check->story);
}

static json_t *row_json(const struct hr_verify_row *row)
{
    return json_pack("{ss ss ss so so ss so so so}", "check", row->check->name, "claim",
                     row->check->story, "result", words[row->verdict], "cases",
                     hr_json_count(row->cases), "compared", hr_json_count(row->compared), "of",
                     row->check->what, "largest_error", hr_json_number(row->worst), "seconds",
                     hr_json_number(row->seconds), "why", hr_json_text_or_null(row->why));
}

json_t *hr_verify_json(const struct hr_verify *verify)
{
    json_t *list = json_array();
    for (size_t i = 0; i < verify->n; i++)
        json_array_append_new(list, row_json(&verify->row[i]));
    return json_pack("{so so so so so so}", "seed", hr_json_count(verify->seed), "seconds",
                     hr_json_number(verify->took), "checks", list, "hold",
                     hr_json_count(hr_verify_count(verify, HR_CHECK_HOLDS)), "failed",
                     hr_json_count(hr_verify_count(verify, HR_CHECK_FAILED)), "skipped",
                     hr_json_count(hr_verify_count(verify, HR_CHECK_SKIPPED)));
}
