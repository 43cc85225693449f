/* A rank that was started again waits until it is welcome, or has come too late; one that rests
 * goes on though it has slept through a round. */
#include "drive/quiesce.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { NRANKS = 2 };

static struct hr_control *new_control(void)
{
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(NRANKS));
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(NRANKS));
    hr_control_init(control, NRANKS);
    return control;
}

/* Others: when rank 1 rests, a term begins, and they go through one more round. */
static void *go_on(void *arg)
{
    struct hr_control *control = arg;
    while (!hr_roster_is_quiescent(control, 1))
        sched_yield();
    hr_atom32_store_relaxed(&control->roster.term, 1);
    hr_atom32_store_release(&control->roster.rounds, 2);
    hr_bell_ring(&control->rank[1].bell);
    return NULL;
}

static void who_slept_through_a_round_goes_on(void **state)
{
    (void)state;
    struct hr_control *control = new_control();
    struct hr_waiter waiter = {.abort = &control->abort, .timeout_ns = 1000000000};
    struct hr_quiesce rest;
    pthread_t others;
    hr_quiesce_open(&rest, control, &waiter, 1);
    assert_int_equal(pthread_create(&others, NULL, go_on, control), 0);
    CHECK_FAILS(hr_quiesce_at(&rest, HR_STAGE_SPAN), HR_E_REVOKED);
    assert_true(rest.new_term);
    pthread_join(others, NULL);
    free(control);
}

static void who_comes_too_late_leaves(void **state)
{
    (void)state;
    struct hr_waiter waiter = {.abort = NULL};
    struct hr_quiesce rest;
    bool over = false;
    struct hr_control *control = new_control();
    waiter.abort = &control->abort;
    hr_roster_lose(control, 1, false);
    hr_quiesce_open(&rest, control, &waiter, 1);
    hr_roster_end(control);
    CHECK_OK(hr_quiesce_join(&rest, &over));
    assert_true(over);
    assert_int_equal(hr_atom32_load_relaxed(&control->rank[1].stage), HR_STAGE_JOINS);
    hr_roster_welcome(control, 1); /* and one who does not is in time */
    CHECK_OK(hr_quiesce_join(&rest, &over));
    assert_false(over);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_too_late_leaves),
        cmocka_unit_test(who_slept_through_a_round_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
