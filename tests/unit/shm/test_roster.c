/* The roster: who is gone and who is back, who is quiescent, and that a term begins for all at
 * once. */
#include "shm/roster.h"

#include <stdlib.h>
#include <string.h>

#include "shm/control.h"
#include "support/check.h"

enum { NRANKS = 3 };

static struct hr_control *control_of(void)
{
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(NRANKS));
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(NRANKS));
    hr_control_init(control, NRANKS);
    return control;
}

static void a_lost_rank_is_gone_until_it_is_welcome(void **state)
{
    (void)state;
    struct hr_control *control = control_of();
    assert_false(hr_roster_is_gone(control, 1));
    hr_roster_lose(control, 1, false);
    assert_true(hr_roster_is_gone(control, 1));
    assert_false(hr_roster_is_gone(control, 0));
    assert_int_equal(hr_roster_lost(control, 1), 1);
    hr_roster_welcome(control, 1);
    assert_false(hr_roster_is_gone(control, 1));
    hr_roster_lose(control, 1, true);
    assert_true(hr_roster_is_gone(control, 1));
    assert_int_equal(hr_roster_lost(control, 1), 2);
    assert_int_equal(hr_atom32_load_relaxed(&control->roster.view), 3);
    assert_int_equal(hr_atom32_load_relaxed(&control->roster.revoke), 1);
    free(control);
}

static void who_rests_does_so_for_one_round(void **state)
{
    (void)state;
    struct hr_control *control = control_of();
    hr_atom32_store_release(&control->rank[2].quiescent, 1);
    assert_true(hr_roster_is_quiescent(control, 2));
    assert_false(hr_roster_is_quiescent(control, 0));
    hr_roster_release(control);
    assert_false(hr_roster_is_quiescent(control, 2));
    assert_int_equal(hr_atom32_load_relaxed(&control->roster.term), 0);
    hr_atom32_store_release(&control->rank[2].quiescent, 2);
    assert_true(hr_roster_is_quiescent(control, 2));
    hr_roster_begin_term(control, 0, false);
    assert_int_equal(hr_atom32_load_relaxed(&control->roster.term), 1);
    free(control);
}

/* Else it would be awaited no more, while it waits for the others. */
static void who_died_at_rest_does_not_rest_when_it_is_back(void **state)
{
    (void)state;
    struct hr_control *control = control_of();
    hr_roster_release(control);
    hr_atom32_store_release(&control->rank[1].quiescent, 2);
    assert_true(hr_roster_is_quiescent(control, 1));
    hr_roster_lose(control, 1, true);
    hr_roster_welcome(control, 1);
    assert_false(hr_roster_is_quiescent(control, 1));
    hr_atom32_store_release(&control->rank[1].quiescent, 2);
    assert_true(hr_roster_is_quiescent(control, 1));
    free(control);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static void a_revocation_ends_a_wait_that_watches_it(void **state)
{
    (void)state;
    struct hr_control *control = control_of();
    struct hr_waiter waiter = {.abort = &control->abort,
                               .revoke = &control->roster.revoke,
                               .revoke_seen = 0,
                               .timeout_ns = HR_NS_PER_SECOND / 50};
    CHECK_FAILS(hr_wait_until(&waiter, &control->rank[0].bell, never, NULL, "Godot"), HR_E_TIMEOUT);
    hr_roster_lose(control, 1, false); /* calls nobody */
    CHECK_FAILS(hr_wait_until(&waiter, &control->rank[0].bell, never, NULL, "Godot"), HR_E_TIMEOUT);
    hr_roster_lose(control, 2, true);
    waiter.timeout_ns = 0;
    CHECK_FAILS(hr_wait_until(&waiter, &control->rank[0].bell, never, NULL, "Godot"), HR_E_REVOKED);
    free(control);
}

static bool at_the_second_look(void *arg)
{
    return ++*(int *)arg == 2;
}

/* What it waited for may have been complete before: then others have gone on. */
static void a_recalled_wait_looks_once_more(void **state)
{
    (void)state;
    struct hr_control *control = control_of();
    struct hr_waiter waiter = {.abort = &control->abort, .revoke = &control->roster.revoke};
    int looks = 0;
    hr_roster_lose(control, 2, true);
    CHECK_OK(hr_wait_until(&waiter, &control->rank[0].bell, at_the_second_look, &looks, "Godot"));
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_rank_is_gone_until_it_is_welcome),
        cmocka_unit_test(who_rests_does_so_for_one_round),
        cmocka_unit_test(who_died_at_rest_does_not_rest_when_it_is_back),
        cmocka_unit_test(a_revocation_ends_a_wait_that_watches_it),
        cmocka_unit_test(a_recalled_wait_looks_once_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
