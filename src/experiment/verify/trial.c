/* One case, in a process of its own: it answers through a pipe. What it says on stderr is kept, and
 * told only when it gives no answer. */
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
#include "verify/verify.h"

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
