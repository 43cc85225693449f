/* --overlap on with servers: a push leaves in parts while backward computes the rest. It changes no
 * bit and no promise; in virtual time a part leaves when its layers are done, and no sooner. */
#include <stdio.h>
#include <string.h>

#include "support/losing_runs.h"
#include "support/runs.h"
#include "support/multinode_runs.h"

#define SET(field, ...) snprintf(o.field, sizeof o.field, __VA_ARGS__)

static const char *const strategies[] = {"ps-sync", "ps-async", "ssp", "backup-workers"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static struct hr_train_options options_of(const char *strategy, size_t workers, size_t servers,
                                          const char *overlap)
{
    struct hr_train_options o = run_options(strategy, workers);
    SET(model, "flatten, dense 13, relu, dense 11, batchnorm, relu, dense 10");
    SET(overlap, "%s", overlap);
    SET(bucket_size, "256");
    o.servers = servers;
    o.staleness = 1;
    o.epochs = 2;
    o.epoch_size = 160;
    o.timeout = 5;
    return o;
}

static struct hr_train_options in_virtual_time(const char *strategy, size_t workers, size_t servers,
                                               const char *overlap)
{
    struct hr_train_options o = options_of(strategy, workers, servers, overlap);
    SET(clock, "virtual");
    SET(compute_time, "10ms");
    SET(link, "1MB/s,1ms");
    return o;
}

/* --- on machines: first, since they fork --- */

static void in_step_machines_have_the_bits_of_one_that_does_not(void **state)
{
    (void)state;
    for (size_t servers = 1; servers <= 3; servers++)
        for (size_t colocated = 0; colocated < 2; colocated++) {
            struct hr_train_options o = options_of("ps-sync", 3, servers, "off");
            SET(placement, colocated ? "colocated" : "dedicated");
            const struct said alone = multinode_alone(&o, run_digits());
            SET(overlap, "on");
            const struct said several = multinode_alike(3, &o, run_digits());
            multinode_check_equal(&several, &alone);
            assert_int_equal(several.bytes_sent, alone.bytes_sent);
        }
}

/* A machine's workers would push as one: who wants parts says so. */
static void parts_come_before_a_sum_of_a_machine(void **state)
{
    (void)state;
    struct hr_train_options o = options_of("ps-sync", 4, 2, "off");
    o.clip_norm = 0.1;
    o.servers = 1;
    const struct said alone = multinode_alone(&o, run_digits());
    SET(overlap, "on");
    static const char refused[] =
        "--overlap on: a machine's workers push as one (--aggregate node), whole; expected "
        "--aggregate none as well, or --overlap off";
    multinode_check_refused(&o, HR_E_USAGE, refused, run_digits());
    SET(aggregate, "node");
    multinode_check_refused(&o, HR_E_USAGE, refused, run_digits());
    SET(aggregate, "none");
    const struct said several = multinode_alike(2, &o, run_digits());
    multinode_check_equal(&several, &alone);
}

/* Every sample counts once, no bound is passed, each push is one update of one staleness. */
static void as_it_comes_promises_are_kept(void **state)
{
    (void)state;
    char folder[64];
    run_folder_make(folder);
    for (size_t i = 1; i < STRATEGIES; i++) {
        struct hr_train_options o = options_of(strategies[i], 4, i == 3 ? 1 : 3, "on");
        if (i < 3)
            SET(record, "%s/trace", folder);
        const struct said got = multinode_alike(2, &o, run_digits());
        assert_int_equal(got.samples + got.dropped_samples, o.epochs * o.epoch_size);
        assert_true(i != 2 || got.max_skew <= o.staleness);
        assert_int_equal(got.stale_of_keys, got.keys * got.stale_updates);
        assert_true(i == 3 || got.stale_updates == got.updates);
        if (i < 3)
            multinode_check_replay(o.record, &got, run_digits());
    }
    run_folder_remove(folder);
}

/* --- on one --- */

static void in_step_nothing_else_changes_bits(void **state)
{
    (void)state;
    for (size_t servers = 1; servers <= 3; servers++) {
        char want[33];
        struct hr_train_options o = options_of("ps-sync", 3, servers, "off");
        run_digest(&o, want);
        SET(overlap, "on");
        CHECK_DIGEST(&o, want);
        SET(schedule, "explore:3");
        CHECK_DIGEST(&o, want);
        o = in_virtual_time("ps-sync", 3, servers, "on");
        CHECK_DIGEST(&o, want);
        SET(placement, "colocated");
        CHECK_DIGEST(&o, want);
        SET(inject, "slow:1x3");
        SET(compute_time, "exponential(10ms)");
        CHECK_DIGEST(&o, want);
    }
}

/* A push that is lost is what had not gone ahead: that is sent again. */
static void what_went_ahead_is_not_lost(void **state)
{
    (void)state;
    struct hr_run_result result[2];
    struct hr_train_options o = in_virtual_time("ps-sync", 3, 2, "off");
    SET(inject, "drop-push:p=0.3+1ms");
    for (size_t on = 0; on < 2; on++) {
        SET(overlap, on ? "on" : "off");
        result[on] = run_train(&o);
    }
    SET(inject, "%s", "");
    struct hr_run_result whole = run_train(&o);
    assert_string_equal(result[0].weights_digest, whole.weights_digest);
    assert_string_equal(result[1].weights_digest, whole.weights_digest);
    assert_true(result[1].resent > 0 && result[1].resent == result[0].resent);
    assert_true(result[1].bytes_sent > whole.bytes_sent);
    assert_true(result[1].bytes_sent < result[0].bytes_sent);
    for (size_t on = 0; on < 2; on++)
        hr_run_result_free(&result[on]);
    hr_run_result_free(&whole);
}

static double seconds_of(struct hr_train_options o, const char *overlap)
{
    SET(overlap, "%s", overlap);
    struct hr_run_result result = run_train(&o);
    const double seconds = result.seconds;
    hr_run_result_free(&result);
    return seconds;
}

/* 64 features. The second layer, 650 parameters, is done when (4736 + 1280) / 10112 of the gradient
 * are; then its part, with a head of 64 bytes, takes the link, and the push behind it that. */
static void a_part_leaves_when_its_layers_are_done(void **state)
{
    (void)state;
    enum { STEPS = 8 };
    struct hr_train_options o = in_virtual_time("ps-async", 1, 1, "on");
    const double done_s = 0.010 * 6016 / 10112;
    SET(model, "flatten, dense 64, relu, dense 10");
    o.max_steps = STEPS;
    const double hidden = seconds_of(o, "off") - seconds_of(o, "on");
    CHECK_NEAR(hidden, STEPS * 650 * 4 * 1e-6, 0, 1e-8); /* all of it */
    SET(link, "100KB/s,1ms");
    const double slow = seconds_of(o, "off") - seconds_of(o, "on");
    CHECK_NEAR(slow, STEPS * (0.010 - done_s - 64 * 1e-5), 0, 1e-8); /* what fits, less the head */
    SET(inject, "load:0+5ms"); /* comes before, and hides nothing */
    CHECK_NEAR(seconds_of(o, "off") - seconds_of(o, "on"), slow, 0, 1e-8);
    SET(bucket_size, "3K"); /* no layer behind the first is so large */
    CHECK_NEAR(seconds_of(o, "off") - seconds_of(o, "on"), 0, 0, 1e-12);
}

/* What travels while it computes is no communicating of its own; all its time is somewhere. */
static void hidden_time_is_booked_once(void **state)
{
    (void)state;
    struct hr_train_options o = in_virtual_time("ps-async", 1, 1, "on");
    SET(model, "flatten, dense 64, relu, dense 10");
    o.max_steps = 8;
    for (size_t slow = 0; slow < 2; slow++) {
        SET(link, slow ? "100KB/s,1ms" : "1MB/s,1ms");
        struct hr_run_result result = run_train(&o);
        CHECK_NEAR(result.compute_s, 8 * 0.010, 0, 1e-6);
        CHECK_NEAR(result.compute_s + result.communicate_s + result.wait_s, result.seconds, 0,
                   1e-6);
        CHECK_NEAR(result.wait_s, 0, 0, 1e-6); /* something of its is always under way */
        hr_run_result_free(&result);
    }
    double communicate_s[2];
    o = in_virtual_time("ps-sync", 2, 1, "off");
    SET(model, "flatten, dense 64, relu, dense 10");
    SET(inject, "slow:1x4"); /* for which worker 0 waits: its parts take none of that time */
    for (size_t on = 0; on < 2; on++) {
        SET(overlap, on ? "on" : "off");
        struct hr_run_result result = run_train(&o);
        communicate_s[on] = result.communicate_s;
        hr_run_result_free(&result);
    }
    assert_true(communicate_s[1] < communicate_s[0]);
}

static void virtual_runs_keep_promises_and_are_the_same_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < STRATEGIES; i++) {
        char first[33];
        struct hr_train_options o = in_virtual_time(strategies[i], 5, i == 3 ? 1 : 2, "on");
        SET(compute_time, "lognormal(10ms,0.8)");
        struct hr_run_result result = run_train(&o);
        assert_int_equal(result.samples + result.dropped_samples, o.epochs * o.epoch_size);
        assert_true(i != 2 || result.max_skew <= o.staleness);
        hr_run_result_free(&result);
        run_digest(&o, first);
        CHECK_DIGEST(&o, first);
        if (i < 3)
            run_check_replay(o);
    }
}

/* Worker 1 dies at its first gradient, when a part of it has come to the server: nothing of that is
 * in the weights, as if it had not left. */
static void who_dies_in_the_middle_has_pushed_nothing(void **state)
{
    (void)state;
    char want[33], digest[33];
    struct hr_train_options o = in_virtual_time("ps-async", 2, 1, "off");
    SET(model, "flatten, dense 64, relu, dense 10");
    SET(on_loss, "continue");
    SET(lost_batch, "count");
    SET(inject, "slow:1x20,kill:1@time=180ms"); /* its part leaves at 120 ms */
    struct hr_run_result result = losing_run(&o);
    memcpy(want, result.weights_digest, sizeof want);
    assert_int_equal(result.nlosses, 1);
    hr_run_result_free(&result);
    SET(overlap, "on");
    result = losing_run(&o);
    memcpy(digest, result.weights_digest, sizeof digest);
    assert_string_equal(digest, want);
    assert_int_equal(result.losses[0].partial, 0);
    hr_run_result_free(&result);
}

/* Whoever dies, and whenever: every sample was trained on, lost or dropped, and times add up. */
static void losses_are_counted_as_ever(void **state)
{
    (void)state;
    static const enum losing_strategy kinds[] = {PS_ASYNC, SSP, BACKUP_WORKERS, WITH_BACKUPS,
                                                 PS_SYNC};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t restart = 0; restart < 2; restart++) {
            struct hr_train_options o =
                losing_options_virtual(kinds[i], 3, restart ? "restart" : "continue",
                                       "kill:1@time=17ms,kill:2@step=4,kill:0@time=59ms");
            SET(model, "flatten, dense 12, relu, dense 10");
            SET(overlap, "on");
            SET(bucket_size, "256");
            SET(link, "1MB/s,1ms");
            if (!restart)
                SET(inject, "kill:1@time=17ms,kill:2@step=4");
            struct hr_run_result result = losing_run_checked(&o, kinds[i]);
            assert_true(result.nlosses >= 2);
            hr_run_result_free(&result);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_step_machines_have_the_bits_of_one_that_does_not),
        cmocka_unit_test(parts_come_before_a_sum_of_a_machine),
        cmocka_unit_test(as_it_comes_promises_are_kept),
        cmocka_unit_test(in_step_nothing_else_changes_bits),
        cmocka_unit_test(what_went_ahead_is_not_lost),
        cmocka_unit_test(a_part_leaves_when_its_layers_are_done),
        cmocka_unit_test(hidden_time_is_booked_once),
        cmocka_unit_test(virtual_runs_keep_promises_and_are_the_same_again),
        cmocka_unit_test(who_dies_in_the_middle_has_pushed_nothing),
        cmocka_unit_test(losses_are_counted_as_ever),
    };
    multinode_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
