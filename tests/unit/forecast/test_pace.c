/* The model of time, given the parts as the virtual simulator has them: what it says of other
 * numbers of workers and servers is what the simulator comes to. */
#include <math.h>
#include <stdio.h>

#include "forecast/pace.h"
#include "support/runs.h"

enum { P = 4 };

/* Seconds for each gradient: 10 ms of computing, and so long for each message of a server. */
static double simulated(const char *serving, const char *strategy, size_t workers, size_t servers)
{
    struct hr_train_options o = run_options(strategy, workers);
    snprintf(o.clock, sizeof o.clock, "virtual");
    snprintf(o.compute_time, sizeof o.compute_time, "10ms");
    snprintf(o.server_time, sizeof o.server_time, "%s", serving);
    o.servers = servers;
    o.sync_every = 4;
    o.epoch_size = 1152; /* whole steps, of any number of workers below */
    o.epochs = 2;
    struct hr_run_result result = run_train(&o);
    const double gradient = result.seconds * (double)o.batch_size / (double)result.samples;
    hr_run_result_free(&result);
    return gradient;
}

/* As anchors.c fills them in. */
static struct hr_pace_parts parts_of_simulator(const char *serving)
{
    struct hr_pace_parts parts = hr_pace_nothing(P);
    parts.alone = simulated(serving, "allreduce", 1, 0);
    parts.together = P * simulated(serving, "allreduce", P, 0);
    parts.compute = parts.alone;
    parts.update = 0;
    parts.free = P * simulated(serving, "hogwild", P, 0);
    parts.served_alone = simulated(serving, "ps-async", 1, 1);
    for (size_t i = 0; i < 2; i++) {
        const size_t workers = i ? 3 * P : P;
        parts.served[i] = simulated(serving, "ps-async", workers, 1);
        parts.served_by_two[i] = simulated(serving, "ps-async", workers, 2);
        parts.in_step[i] = simulated(serving, "ps-sync", workers, 1);
    }
    return parts;
}

static void check(const struct hr_pace_parts *parts, const char *serving, const char *strategy,
                  size_t workers, size_t servers)
{
    const struct hr_pace_ask ask = {hr_pace_kind_of(strategy), workers, servers, 4};
    CHECK_NEAR(hr_pace_gradient(parts, &ask), simulated(serving, strategy, workers, servers), 0.05,
               0);
}

/* A server that hardly works, and one that all wait for. */
static void what_was_not_timed_is_what_the_simulator_says(void **state)
{
    (void)state;
    static const char *const serving[] = {"20us", "6ms"};
    for (size_t i = 0; i < 2; i++) {
        const struct hr_pace_parts parts = parts_of_simulator(serving[i]);
        check(&parts, serving[i], "allreduce", 3, 0);
        check(&parts, serving[i], "hogwild", 3, 0);
        check(&parts, serving[i], "local-sgd", 3, 0);
        check(&parts, serving[i], "ps-async", 3, 1);
        for (size_t workers = 6; workers <= 9; workers += 3) {
            check(&parts, serving[i], "ps-async", workers, 1);
            check(&parts, serving[i], "ps-async", workers, 2);
            check(&parts, serving[i], "ssp", workers, 1);
            check(&parts, serving[i], "ps-sync", workers, 1);
        }
    }
}

/* More workers than processors take turns, which the simulator does not know: by hand. */
static void ranks_that_take_turns(void **state)
{
    (void)state;
    struct hr_pace_parts parts = hr_pace_nothing(2);
    parts.alone = 10e-6;
    parts.together = 12e-6;
    parts.round = 13.2e-6;
    parts.free = 11e-6;
    parts.compute = 9e-6;
    parts.update = 1e-6;
    const struct hr_pace_ask three = {HR_PACE_SUMMED, 3, 0, 1};
    CHECK_NEAR(hr_pace_gradient(&parts, &three), (2 * 10.2e-6 + 3 * 1.5e-6) / 3, 1e-12, 0);
    const struct hr_pace_ask hogs = {HR_PACE_FREE, 3, 0, 1};
    CHECK_NEAR(hr_pace_gradient(&parts, &hogs), 11e-6 / 2 * 1.08, 1e-12, 0);
    parts.compute = parts.together = parts.round = 1; /* a second: all get their share of slices */
    CHECK_NEAR(hr_pace_gradient(&parts, &three), 0.5, 0.01, 0);
    parts.compute = 9e-6;
    parts.together = 12e-6;
    parts.elastic = (10e-6 * 1.08 + 2e-6) / 2; /* exchanges every 8 steps add 1 us to each */
    parts.elastic_period = 8;
    const struct hr_pace_ask rarely = {HR_PACE_ELASTIC, 1, 1, 16};
    CHECK_NEAR(hr_pace_gradient(&parts, &rarely), 10e-6 + 1e-6 / 2, 1e-12, 0);
    const struct hr_pace_ask local = {HR_PACE_AVERAGED, 2, 0, 8};
    CHECK_NEAR(hr_pace_gradient(&parts, &local), (10e-6 + 2e-6 / 8) / 2, 1e-12, 0);
}

/* Two workers who wait for each other asleep may take longer than four who take turns. */
static void turns_cost_no_more_than_was_timed(void **state)
{
    (void)state;
    struct hr_pace_parts parts = hr_pace_nothing(2);
    parts.alone = 70e-6;
    parts.together = 600e-6;
    parts.round = 140e-6;
    parts.compute = 80e-6; /* an exchange of 520 us: more than a step of four */
    for (size_t workers = 4; workers <= 12; workers += 2) {
        const struct hr_pace_ask ask = {HR_PACE_SUMMED, workers, 0, 1};
        CHECK_NEAR(hr_pace_gradient(&parts, &ask), 140e-6 / 2, 1e-12, 0);
    }
}

static void what_was_not_timed_is_not_known(void **state)
{
    (void)state;
    struct hr_pace_parts parts = hr_pace_nothing(2);
    parts.alone = 10;
    const struct hr_pace_ask hogs = {HR_PACE_FREE, 2, 0, 1}, one = {HR_PACE_SUMMED, 1, 0, 1};
    assert_true(isnan(hr_pace_gradient(&parts, &hogs)));
    CHECK_NEAR(hr_pace_gradient(&parts, &one), 10, 0, 0);
}

static void kinds_follow_from_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum hr_pace_kind kind;
    } known[] = {{"allreduce", HR_PACE_SUMMED},       {"hogwild", HR_PACE_FREE},
                 {"local-sgd", HR_PACE_AVERAGED},     {"diloco", HR_PACE_AVERAGED},
                 {"ps-async", HR_PACE_SERVED},        {"ssp", HR_PACE_SERVED},
                 {"ps-sync", HR_PACE_SERVED_IN_STEP}, {"elastic-averaging", HR_PACE_ELASTIC},
                 {"locked", HR_PACE_LOCKED},          {"backup-workers", HR_PACE_UNKNOWN},
                 {"gossip", HR_PACE_UNKNOWN}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(hr_pace_kind_of(known[i].name), known[i].kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_timed_is_what_the_simulator_says),
        cmocka_unit_test(ranks_that_take_turns),
        cmocka_unit_test(turns_cost_no_more_than_was_timed),
        cmocka_unit_test(what_was_not_timed_is_not_known),
        cmocka_unit_test(kinds_follow_from_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
