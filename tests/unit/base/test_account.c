/* Where time goes: each moment to one activity, and all of a span to some. */
#include "base/account.h"

#include "support/check.h"

static int64_t sum_of(const struct hr_account *account)
{
    int64_t sum = 0;
    for (size_t i = 0; i < HR_ACTIVITIES; i++)
        sum += account->spent_ns[i];
    return sum;
}

static void the_four_add_up_to_the_span(void **state)
{
    (void)state;
    struct hr_account account = {0};
    const int64_t began = hr_clock_ns() - 1000;
    hr_account_open(&account, began);
    for (size_t turn = 0; turn < 1000; turn++)
        hr_account_turn(&account, (enum hr_activity)(turn * 7 % 5 % HR_ACTIVITIES));
    const int64_t ended = hr_clock_ns() + 500;
    hr_account_close(&account, ended);
    assert_int_equal(sum_of(&account), ended - began);
}

static void what_comes_before_the_first_turn_is_waiting(void **state)
{
    (void)state;
    struct hr_account account = {0};
    hr_account_open(&account, hr_clock_ns() - HR_NS_PER_SECOND);
    assert_int_equal(hr_account_turn(&account, HR_COMPUTE), HR_WAIT);
    assert_true(account.spent_ns[HR_WAIT] >= HR_NS_PER_SECOND);
    assert_int_equal(account.spent_ns[HR_COMPUTE], 0);
}

/* The last activity has the time until the end, which others may have come to later. */
static void a_span_ends_for_everybody_at_once(void **state)
{
    (void)state;
    struct hr_account account = {0};
    hr_account_open(&account, hr_clock_ns());
    hr_account_turn(&account, HR_LOAD);
    const int64_t ended = account.since_ns + 12345;
    hr_account_close(&account, ended);
    assert_int_equal(account.spent_ns[HR_LOAD], 12345);
}

/* A span's end is found once more when a lost worker has come back for it. */
static void a_span_that_ended_later_than_was_thought_was_waited_for(void **state)
{
    (void)state;
    struct hr_account account = {0};
    hr_account_open(&account, hr_clock_ns());
    hr_account_turn(&account, HR_LOAD);
    const int64_t ended = account.since_ns + 100, waited = account.spent_ns[HR_WAIT];
    hr_account_pause(&account);
    hr_account_close(&account, ended);
    hr_account_close(&account, ended);
    hr_account_close(&account, ended + 7);
    assert_int_equal(account.spent_ns[HR_LOAD], 100);
    assert_int_equal(account.spent_ns[HR_WAIT] - waited, 7);
}

static void a_turn_tells_what_was_done_before(void **state)
{
    (void)state;
    struct hr_account account = {0};
    hr_account_open(&account, hr_clock_ns());
    hr_account_turn(&account, HR_COMMUNICATE);
    const enum hr_activity was = hr_account_turn(&account, HR_COMPUTE);
    assert_int_equal(was, HR_COMMUNICATE);
    hr_account_turn(&account, was);
    assert_int_equal(account.doing, HR_COMMUNICATE);
}

static void a_closed_account_or_none_takes_nothing_down(void **state)
{
    (void)state;
    struct hr_account account = {0};
    hr_account_turn(&account, HR_COMPUTE);
    hr_account_turn(&account, HR_LOAD);
    assert_int_equal(hr_account_turn(NULL, HR_COMPUTE), HR_WAIT);
    assert_int_equal(sum_of(&account), 0);
}

static void the_latest_of_several_is_found_wherever_it_stands(void **state)
{
    (void)state;
    struct {
        char other[24];
        int64_t ns;
    } worker[4] = {{.ns = 3}, {.ns = 1}, {.ns = 9}, {.ns = 9}};
    assert_int_equal(hr_account_latest(&worker[0].ns, 4, sizeof *worker), 9);
    assert_int_equal(hr_account_latest(&worker[0].ns, 2, sizeof *worker), 3);
    assert_int_equal(hr_account_latest(&worker[1].ns, 1, sizeof *worker), 1);
}

static struct hr_account watched;

static void wait_while_told(struct hr_account_watch *watch, enum hr_activity activity,
                            int64_t begin_ns, int64_t end_ns)
{
    (void)watch, (void)activity, (void)begin_ns, (void)end_ns;
    hr_account_watch = NULL;
    hr_account_turn(&watched, hr_account_turn(&watched, HR_WAIT));
}

static void no_time_counts_twice_where_the_watch_waits(void **state)
{
    (void)state;
    struct hr_account_watch watch = {wait_while_told};
    const int64_t began = hr_clock_ns() - 1000000000;
    watched = (struct hr_account){.open = true, .doing = HR_COMPUTE, .since_ns = began};
    hr_account_watch = &watch;
    hr_account_look(&watched, began + 500000000);
    const int64_t ended = hr_clock_ns();
    hr_account_close(&watched, ended);
    int64_t all = 0;
    for (size_t i = 0; i < HR_ACTIVITIES; i++)
        all += watched.spent_ns[i];
    assert_int_equal(all, ended - began);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_four_add_up_to_the_span),
        cmocka_unit_test(what_comes_before_the_first_turn_is_waiting),
        cmocka_unit_test(a_span_ends_for_everybody_at_once),
        cmocka_unit_test(a_span_that_ended_later_than_was_thought_was_waited_for),
        cmocka_unit_test(a_turn_tells_what_was_done_before),
        cmocka_unit_test(a_closed_account_or_none_takes_nothing_down),
        cmocka_unit_test(no_time_counts_twice_where_the_watch_waits),
        cmocka_unit_test(the_latest_of_several_is_found_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
