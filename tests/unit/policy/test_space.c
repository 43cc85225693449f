/* Policies that a text names: each combination once, without what means nothing to a strategy. */
#include "policy/policy.h"

#include <stdio.h>
#include <string.h>

#include "hogring/data.h"
#include "support/check.h"

static struct hr_cli cli;

static void begin(const char *search)
{
    hr_cli_defaults(&cli);
    CHECK_OK(hr_cli_set(&cli, HR_TRAIN, "clock", "virtual", ""));
    snprintf(cli.search, sizeof cli.search, "%s", search);
}

static void check_labels(const struct hr_policy_space *space, const char *const *want)
{
    size_t n = 0;
    for (; want[n]; n++) {
        assert_true(n < space->n);
        assert_string_equal(space->label[n], want[n]);
    }
    assert_int_equal(space->n, n);
}

static void each_policy_is_there_once(void **state)
{
    (void)state;
    static const char *const want[] = {"allreduce",
                                       "ssp staleness=1 servers=1",
                                       "ssp staleness=1 servers=2",
                                       "ssp staleness=4 servers=1",
                                       "ssp staleness=4 servers=2",
                                       "ps-async servers=1",
                                       "ps-async servers=2",
                                       NULL};
    struct hr_policy_space space;
    begin("strategy=allreduce,ssp,ps-async; staleness = 1,4;servers=1,2");
    CHECK_OK(hr_policy_space_read(&cli, &space));
    assert_int_equal(space.points, 12);
    check_labels(&space, want);
    assert_int_equal(space.options[3].staleness, 4);
    assert_int_equal(space.options[6].servers, 2);
    assert_string_equal(space.left_out, "staleness does not apply to allreduce, ps-async; servers "
                                        "does not apply to allreduce");
    hr_policy_space_free(&space);
}

static void values_with_commas_stand_in_quotes(void **state)
{
    (void)state;
    struct hr_policy_space space;
    begin("inject=(slow:0x2,slow:1x2),slow:1x3;lr=0.1,0.2");
    CHECK_OK(hr_policy_space_read(&cli, &space));
    assert_string_equal(space.options[0].inject, "slow:0x2,slow:1x2");
    assert_string_equal(space.options[2].inject, "slow:1x3");
    assert_int_equal(space.n, 4);
    hr_policy_space_free(&space);
}

static void what_cannot_be_is_left_out_unless_nothing_is_left(void **state)
{
    (void)state;
    struct hr_dataset digits;
    struct hr_policy_space space;
    CHECK_OK(hr_dataset_open("digits", &digits));
    begin("strategy=backup-workers,ps-sync;servers=1,2");
    CHECK_OK(hr_policy_space_read(&cli, &space));
    CHECK_OK(hr_policy_space_check(&space, &digits));
    assert_int_equal(space.n, 3);
    assert_string_equal(space.label[1], "ps-sync servers=1");
    assert_int_equal(space.nrefused, 1);
    assert_non_null(strstr(space.refused, "backup-workers servers=2: --servers 2"));
    hr_policy_space_free(&space);
    begin("strategy=backup-workers;servers=2,3");
    CHECK_OK(hr_policy_space_read(&cli, &space));
    assert_int_equal(hr_policy_space_check(&space, &digits), HR_E_USAGE);
    hr_policy_space_free(&space);
    hr_dataset_close(&digits);
}

static void what_does_not_parse_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"strategy",
                                        "strategy=",
                                        "staleness=1,x",
                                        "stalenes=1,2",
                                        "seed=1,2",
                                        "json=a,b",
                                        "lr=0.1,0.1",
                                        "lr=0.1;lr=0.2",
                                        "strategy=allreduce;;lr=0.1",
                                        "strategy=allreduce,ssp,allreduce",
                                        "lr=(0.1,0.2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hr_policy_space space;
        begin(wrong[i]);
        if (hr_policy_space_read(&cli, &space) != HR_E_USAGE)
            fail_msg("%s is taken", wrong[i]);
        hr_policy_space_free(&space);
    }
}

/* An option in two places; and one that no policy obeys. */
static void what_is_given_too_is_refused(void **state)
{
    (void)state;
    struct hr_policy_space space;
    begin("strategy=allreduce,ssp;workers=2,4");
    hr_cli_mark_given(&cli, "workers");
    assert_int_equal(hr_policy_space_read(&cli, &space), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "--workers was given too"));
    hr_policy_space_free(&space);
    begin("strategy=allreduce,ssp");
    hr_cli_mark_given(&cli, "staleness");
    CHECK_OK(hr_policy_space_read(&cli, &space));
    hr_policy_space_free(&space);
    hr_cli_mark_given(&cli, "sync-every");
    assert_int_equal(hr_policy_space_read(&cli, &space), HR_E_USAGE);
    hr_policy_space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_is_there_once),
        cmocka_unit_test(values_with_commas_stand_in_quotes),
        cmocka_unit_test(what_cannot_be_is_left_out_unless_nothing_is_left),
        cmocka_unit_test(what_does_not_parse_is_refused),
        cmocka_unit_test(what_is_given_too_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
