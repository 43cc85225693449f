/* The control block: the first failure stands, and is told with its rank and step. */
#include "shm/control.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/check.h"

enum { NRANKS = 3, RIVALS = NRANKS + 1 }; /* the launcher is one of them */

static int control_setup(void **state)
{
    *state = aligned_alloc(HR_LINE, hr_control_bytes(NRANKS));
    if (!*state)
        return -1;
    memset(*state, 0, hr_control_bytes(NRANKS));
    hr_control_init(*state, NRANKS);
    return 0;
}

static int control_teardown(void **state)
{
    free(*state);
    return 0;
}

static void block_says_what_it_is(void **state)
{
    const struct hr_control *control = *state;
    assert_string_equal(control->magic, "HOGRING");
    assert_int_equal(control->version, HR_CONTROL_VERSION);
    assert_int_equal(control->nranks, NRANKS);
    assert_int_equal(control->launcher_pid, getpid());
    assert_non_null(strstr(control->about.command, "test_control"));
    assert_true(control->about.began > 0 && control->about.began <= hr_clock_ns());
    assert_true(control->about.began_s > 1600000000);
    CHECK_OK(hr_control_failure(control));
}

static void every_rank_writes_lines_of_its_own(void **state)
{
    const struct hr_control *control = *state;
    assert_true(hr_control_bytes(HR_MAX_RANKS) >=
                offsetof(struct hr_control, rank) + HR_MAX_RANKS * sizeof *control->rank);
    assert_int_equal(sizeof *control->rank % HR_LINE, 0);
    assert_int_equal(offsetof(struct hr_control, rank) % HR_LINE, 0);
    assert_int_equal(offsetof(struct hr_rank_status, presence), HR_LINE);
    assert_int_equal(offsetof(struct hr_rank_status, gauge), 2 * HR_LINE);
    assert_int_equal(offsetof(struct hr_rank_status, bell), 3 * HR_LINE);
    assert_int_equal(offsetof(struct hr_control, course) % HR_LINE, 0);
    assert_int_equal(offsetof(struct hr_control, launcher_bell) % HR_LINE, 0);
    assert_int_equal(offsetof(struct hr_control, abort) % HR_LINE, 0);
}

static void ranks_on_other_machines_have_their_names(void **state)
{
    struct hr_control *control = *state;
    char longer[2 * HR_HOST_TEXT];
    hr_control_place(control, 2, "node-b");
    assert_false(hr_control_is_elsewhere(control, 0));
    assert_true(hr_control_is_elsewhere(control, 2));
    assert_string_equal(hr_control_rank_text(control, 0).text, "rank 0");
    assert_string_equal(hr_control_rank_text(control, 2).text, "rank 2 (on node-b)");
    hr_control_abort(control, 2, HR_E_FAILED, "disk full");
    CHECK_FAILS(hr_control_failure(control), HR_E_FAILED);
    CHECK_MESSAGE("rank 2 (on node-b): disk full");
    hr_control_step(control, 2, 7);
    CHECK_FAILS(hr_control_failure(control), HR_E_FAILED);
    CHECK_MESSAGE("rank 2 (on node-b), step 7: disk full");
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    hr_control_place(control, 1, longer);
    assert_int_equal(strlen(control->rank[1].host), HR_HOST_TEXT - 1);
}

static void phases_and_steps_belong_to_their_rank(void **state)
{
    struct hr_control *control = *state;
    const int64_t before = hr_clock_coarse_ns();
    hr_control_phase(control, 1, HR_PHASE_COMMUNICATE);
    hr_control_step(control, 1, 42);
    const int64_t since = (int64_t)hr_atom64_load_acquire(&control->rank[1].since); /* it */
    assert_true(since >= before && since <= hr_clock_ns());
    assert_int_equal(hr_atom64_load_acquire(&control->rank[0].since), 0);
    assert_int_equal(hr_atom32_load_acquire(&control->rank[0].phase), HR_PHASE_STARTING);
    assert_int_equal(hr_atom32_load_acquire(&control->rank[1].phase), HR_PHASE_COMMUNICATE);
    assert_int_equal(hr_atom64_load_relaxed(&control->rank[1].step), 42);
    assert_int_equal(hr_atom64_load_relaxed(&control->rank[2].step), 0);
}

static void every_phase_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(hr_phase_str(HR_PHASE_STARTING), "starting");
    assert_string_equal(hr_phase_str(HR_PHASE_FINISHED), "finished");
    for (int phase = HR_PHASE_STARTING; phase <= HR_PHASE_FINISHED; phase++)
        assert_string_not_equal(hr_phase_str((enum hr_phase)phase), "?");
    assert_string_equal(hr_phase_str((enum hr_phase)99), "?");
}

static void first_failure_stands_with_rank_and_step(void **state)
{
    struct hr_control *control = *state;
    hr_control_step(control, 1, 17);
    hr_control_abort(control, 1, HR_E_DIVERGED, "the loss is NaN");
    hr_control_abort(control, 2, HR_E_TIMEOUT, "too late");
    hr_control_abort(control, 1, HR_E_IO, "later");
    hr_control_abort(control, HR_MAX_RANKS, HR_E_INTERRUPTED, "later still");
    CHECK_FAILS(hr_control_failure(control), HR_E_DIVERGED);
    assert_string_equal(hr_error_message(), "rank 1, step 17: the loss is NaN");
    assert_int_equal(control->failure.rank, 1);
}

static void launchers_failure_names_no_rank(void **state)
{
    struct hr_control *control = *state;
    hr_control_abort(control, HR_MAX_RANKS, HR_E_INTERRUPTED, "interrupted twice");
    CHECK_FAILS(hr_control_failure(control), HR_E_INTERRUPTED);
    assert_string_equal(hr_error_message(), "interrupted twice");
}

static void long_message_is_cut(void **state)
{
    struct hr_control *control = *state;
    char text[2 * sizeof control->failure.message];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    hr_control_abort(control, 0, HR_E_IO, text);
    CHECK_FAILS(hr_control_failure(control), HR_E_IO);
    CHECK_MESSAGE("rank 0: xxx");
    assert_int_equal(strlen(control->failure.message), sizeof control->failure.message - 1);
}

static bool rung(const struct hr_bell *bell)
{
    return hr_atom32_load_acquire(&bell->word) != 0;
}

static void abort_rings_every_bell(void **state)
{
    struct hr_control *control = *state;
    hr_control_abort(control, 0, HR_E_IO, "disk full");
    assert_true(hr_atom32_load_acquire(&control->abort));
    for (size_t r = 0; r < NRANKS; r++)
        assert_true(rung(&control->rank[r].bell));
    assert_true(rung(&control->launcher_bell));
}

/* Rank 1 died between claiming the failure and publishing it: the launcher, who knows that it is
 * dead, publishes in its name; somebody else's failure still has to wait. */
static void claim_of_a_dead_rank_is_taken_over(void **state)
{
    struct hr_control *control = *state;
    assert_true(hr_control_claim(control, 1));
    assert_false(hr_control_claim(control, 0));
    hr_control_abort(control, 0, HR_E_TIMEOUT, "rank 0 came second");
    CHECK_OK(hr_control_failure(control));
    hr_control_abort(control, 1, HR_E_LOST, "killed");
    CHECK_FAILS(hr_control_failure(control), HR_E_LOST);
    assert_string_equal(hr_error_message(), "rank 1: killed");
    hr_control_abort(control, 1, HR_E_IO, "once is enough");
    CHECK_FAILS(hr_control_failure(control), HR_E_LOST);
}

/* --- several at once ---------------------------------------------------------------------------
 */

struct rival {
    struct hr_control *control;
    size_t rank;
};

static void *fail_with_own_name(void *arg)
{
    const struct rival *rival = arg;
    char text[100];
    snprintf(text, sizeof text, "failure of %zu", rival->rank);
    hr_control_abort(rival->control, rival->rank, (enum hr_status)(-1 - (int)rival->rank), text);
    return NULL;
}

static void rivals_leave_one_whole_record(void **state)
{
    struct hr_control *control = *state;
    for (size_t round = 0; round < check_count(100, 5000); round++) {
        struct rival rival[RIVALS];
        pthread_t thread[RIVALS];
        memset((void *)control, 0, hr_control_bytes(NRANKS));
        hr_control_init(control, NRANKS);
        for (size_t r = 0; r < RIVALS; r++) {
            rival[r] = (struct rival){control, r < NRANKS ? r : HR_MAX_RANKS};
            assert_int_equal(pthread_create(&thread[r], NULL, fail_with_own_name, &rival[r]), 0);
        }
        while (!hr_atom32_load_acquire(&control->abort))
            hr_cpu_relax();
        const struct hr_failure seen = control->failure; /* whole as soon as it is published */
        for (size_t r = 0; r < RIVALS; r++)
            pthread_join(thread[r], NULL);
        char text[100];
        snprintf(text, sizeof text, "failure of %u", seen.rank);
        assert_string_equal(seen.message, text);
        assert_int_equal(seen.status, -1 - (int)seen.rank);
        assert_memory_equal(&seen, &control->failure, sizeof seen);
    }
}

#define CONTROL_TEST(name) cmocka_unit_test_setup_teardown(name, control_setup, control_teardown)

/* --- a run that stands still ------------------------------------------------------------------
 */

enum { READERS = 2, MS = 1000 * 1000, STOPPED_MS = 1500 };

/* Of each process of a run: what its clock has passed, and did it ever go back? */
struct reading {
    struct hr_atom32 end;
    struct {
        struct hr_atom32 reads, back;
        struct hr_atom64 passed, own;
    } of[READERS];
};

static _Noreturn void read_clock(struct reading *reading, size_t r)
{
    const int64_t own = hr_clock_own_ns(), began = hr_clock_ns();
    for (int64_t last = began; !hr_atom32_load_acquire(&reading->end);) {
        const int64_t coarse = hr_clock_coarse_ns(), now = hr_clock_ns();
        hr_atom32_fetch_add_release(&reading->of[r].back, now < last || coarse > now);
        hr_atom32_fetch_add_release(&reading->of[r].reads, 1);
        hr_atom64_store_release(&reading->of[r].passed, (uint64_t)(now - began));
        hr_atom64_store_release(&reading->of[r].own, (uint64_t)(hr_clock_own_ns() - own));
        last = now;
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    }
    _exit(0);
}

static void await_reads(struct reading *reading)
{
    for (size_t r = 0; r < READERS; r++)
        for (const uint32_t seen = hr_atom32_load_acquire(&reading->of[r].reads);
             hr_atom32_load_acquire(&reading->of[r].reads) < seen + 3;)
            nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
}

/* Of reader 0: how much longer the machine's clock has gone on than the run's, in ms. */
static int64_t stood_still(size_t nstopped)
{
    struct reading *reading =
        mmap(NULL, sizeof *reading, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[READERS];
    assert_true(reading != MAP_FAILED);
    hr_standstill_begin();
    for (size_t r = 0; r < READERS; r++)
        if ((pid[r] = fork()) == 0)
            read_clock(reading, r);
    await_reads(reading);
    for (size_t r = 0; r < nstopped; r++)
        kill(pid[r], SIGSTOP);
    nanosleep(&(struct timespec){STOPPED_MS / 1000, STOPPED_MS % 1000 * MS}, NULL);
    for (size_t r = 0; r < nstopped; r++)
        kill(pid[r], SIGCONT);
    await_reads(reading);
    const int64_t now = hr_clock_ns();
    hr_standstill_end();
    assert_true(hr_clock_ns() >= now && hr_clock_ns() - now < 3600 * HR_NS_PER_SECOND);
    hr_atom32_store_release(&reading->end, 1);
    for (size_t r = 0; r < READERS; r++) {
        waitpid(pid[r], NULL, 0);
        assert_int_equal(reading->of[r].back.word, 0);
    }
    const int64_t stood = (int64_t)(reading->of[0].own.word - reading->of[0].passed.word) / MS;
    munmap(reading, sizeof *reading);
    return stood;
}

static void clock_stands_still_while_nobody_of_the_run_runs(void **state)
{
    (void)state;
    assert_in_range(stood_still(READERS), STOPPED_MS - 500, INT64_MAX);
    int64_t stood = STOPPED_MS; /* one alone: time goes on, but where no other gets a processor */
    for (int attempt = 0; attempt < 20 && stood >= STOPPED_MS / 2; attempt++)
        stood = stood_still(1);
    assert_true(stood < STOPPED_MS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTROL_TEST(block_says_what_it_is),
        CONTROL_TEST(every_rank_writes_lines_of_its_own),
        CONTROL_TEST(ranks_on_other_machines_have_their_names),
        CONTROL_TEST(phases_and_steps_belong_to_their_rank),
        CONTROL_TEST(every_phase_has_a_text),
        CONTROL_TEST(first_failure_stands_with_rank_and_step),
        CONTROL_TEST(launchers_failure_names_no_rank),
        CONTROL_TEST(long_message_is_cut),
        CONTROL_TEST(abort_rings_every_bell),
        CONTROL_TEST(claim_of_a_dead_rank_is_taken_over),
        CONTROL_TEST(rivals_leave_one_whole_record),
        cmocka_unit_test(clock_stands_still_while_nobody_of_the_run_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
