#include "products/gemm_check.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/philox.h"
#include "base/pipe.h"
#include "products/gemm_naive.h"

enum { THREADS = 2, ROUNDS = 4, MOST_M = 64, MOST_N = 128, MOST_K = 196, NSHAPES = 3, NFORMS = 3 };

/* Shapes that use the blocked and the left-over paths of a kernel. */
static const struct {
    size_t M, N, K;
} shapes[NSHAPES] = {{MOST_M, MOST_N, MOST_K}, {32, 10, 128}, {33, 65, 31}};

/* Sums of at most 196 products of numbers in [-1, 1): rounding stays below 1e-4. */
static const float TOLERANCE = 1e-3f;

static const enum hr_gemm_form forms[NFORMS] = {HR_GEMM_NN, HR_GEMM_NT, HR_GEMM_TN};

/* Memory that only the child touches. */
static float a[MOST_M * MOST_K], b[MOST_K * MOST_N], want[NSHAPES][NFORMS][MOST_M * MOST_N],
    got[THREADS][MOST_M * MOST_N];

void hr_gemm_answer_text(const struct hr_gemm_answer *answer, char out[HR_GEMM_ANSWER_MAX])
{
    static const char *const texts[] = {[HR_GEMM_GOOD] = "right products",
                                        [HR_GEMM_WRONG] = "wrong products",
                                        [HR_GEMM_ENDED] = "no answer: their process ended",
                                        [HR_GEMM_HUNG] = "no answer",
                                        [HR_GEMM_STARVED] = "no process or thread to do it in"};
    const char *text = texts[answer->verdict];
    const size_t size = HR_GEMM_ANSWER_MAX;
    if (answer->verdict == HR_GEMM_ENDED && answer->cause)
        snprintf(out, size, "%s by signal %d (%s)", text, answer->cause, strsignal(answer->cause));
    else if (answer->verdict == HR_GEMM_HUNG)
        snprintf(out, size, "%s in %g s", text, answer->cause / 1000.0);
    else if (answer->verdict == HR_GEMM_STARVED)
        snprintf(out, size, "%s: %s", text, strerror(answer->cause));
    else
        snprintf(out, size, "%s", text);
}

/* --- in the child --- */

static void multiply(hr_gemm_fn fn, size_t shape, size_t form, float *c)
{
    fn(&(struct hr_gemm){.form = forms[form],
                         .M = shapes[shape].M,
                         .N = shapes[shape].N,
                         .K = shapes[shape].K,
                         .a = a,
                         .b = b,
                         .c = c});
}

static bool is_near(const float *x, const float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(x[i] - y[i]) <= TOLERANCE)) /* false for NaN */
            return false;
    return true;
}

struct tester {
    hr_gemm_fn fn;
    pthread_barrier_t *together;
    float *c;
    bool good;
};

static void *test_main(void *arg)
{
    struct tester *tester = arg;
    tester->good = true;
    pthread_barrier_wait(tester->together);
    for (size_t i = 0; i < ROUNDS * NSHAPES * NFORMS; i++) {
        const size_t shape = i / NFORMS % NSHAPES, form = i % NFORMS;
        multiply(tester->fn, shape, form, tester->c);
        tester->good &= is_near(tester->c, want[shape][form], shapes[shape].M * shapes[shape].N);
    }
    return NULL;
}

static void fill(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 2 * hr_random_unit(hr_random_block(1, HR_STREAM_TEST, i / 4, sequence).v[i % 4]) - 1;
}

static struct hr_gemm_answer judge(hr_gemm_fn fn)
{
    pthread_t threads[THREADS];
    struct tester testers[THREADS];
    pthread_barrier_t together;
    bool good = true;
    fill(a, sizeof a / sizeof *a, 1);
    fill(b, sizeof b / sizeof *b, 2);
    for (size_t i = 0; i < NSHAPES * NFORMS; i++)
        multiply(hr_gemm_naive, i / NFORMS, i % NFORMS, want[i / NFORMS][i % NFORMS]);
    pthread_barrier_init(&together, NULL, THREADS);
    for (size_t t = 0; t < THREADS; t++) {
        testers[t] = (struct tester){fn, &together, got[t], false};
        const int cause = pthread_create(&threads[t], NULL, test_main, &testers[t]);
        if (cause != 0) /* one thread alone proves nothing; it ends with the process */
            return (struct hr_gemm_answer){HR_GEMM_STARVED, cause};
    }
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        good &= testers[t].good;
    }
    return (struct hr_gemm_answer){good ? HR_GEMM_GOOD : HR_GEMM_WRONG, 0};
}

static _Noreturn void child_main(hr_gemm_fn fn, int out)
{
    const struct rlimit no_core = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    const struct hr_gemm_answer answer = judge(fn);
    _exit(write(out, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

/* --- in the parent --- */

/* What the child sends. The end of the pipe without it means that the child ended; reap says how.
 */
static struct hr_gemm_answer hear(int in, int deadline_ms)
{
    struct hr_gemm_answer answer;
    if (!hr_pipe_wait(in, POLLIN, hr_clock_ns() + deadline_ms * INT64_C(1000000)))
        return (struct hr_gemm_answer){HR_GEMM_HUNG, deadline_ms};
    if (read(in, &answer, sizeof answer) == sizeof answer)
        return answer;
    return (struct hr_gemm_answer){HR_GEMM_ENDED, 0};
}

/* It has answered, ended, or hangs. */
static void reap(pid_t child, struct hr_gemm_answer *answer)
{
    int wait_status = 0;
    kill(child, SIGKILL);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (answer->verdict == HR_GEMM_ENDED && WIFSIGNALED(wait_status))
        answer->cause = WTERMSIG(wait_status);
}

struct hr_gemm_answer hr_gemm_check(hr_gemm_fn fn, int deadline_ms)
{
    int ends[2];
    if (pipe(ends) != 0)
        return (struct hr_gemm_answer){HR_GEMM_STARVED, errno};
    const pid_t child = fork();
    struct hr_gemm_answer answer = {HR_GEMM_STARVED, errno};
    if (child == 0) {
        close(ends[0]);
        child_main(fn, ends[1]);
    }
    close(ends[1]);
    if (child > 0) {
        answer = hear(ends[0], deadline_ms);
        reap(child, &answer);
    }
    close(ends[0]);
    return answer;
}
