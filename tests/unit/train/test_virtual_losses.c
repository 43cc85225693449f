/* Losses in virtual time: when they happen, what they cost, and what follows. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/losing_runs.h"

static const double notice_s = 0.003;

/* --- when --- */

/* Constant times, and no links: all stands on multiples of 10 ms. */
static void a_death_is_noticed_after_a_while(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        const struct hr_train_options options =
            losing_options_virtual(s, 3, "continue", "kill:1@step=3,kill:2@time=55ms");
        struct hr_run_result result = losing_run_checked(&options, s);
        assert_int_equal(result.nlosses, 2);
        assert_int_equal(result.losses[0].rank, 1);
        assert_int_equal(result.losses[0].step, 3);
        assert_int_equal(result.losses[1].rank, 2);
        CHECK_NEAR(result.losses[0].seconds, 0.030 + notice_s, 0, 1e-9);
        CHECK_NEAR(result.losses[1].seconds, 0.055 + notice_s, 0, 1e-9);
        hr_run_result_free(&result);
    }
}

static uint64_t bytes_of(size_t workers, const char *inject)
{
    struct hr_train_options options =
        losing_options_virtual(ALLREDUCE, workers, "continue", inject);
    options.global_batch_size = 12; /* 16 steps, whoever shares them */
    snprintf(options.algorithm, sizeof options.algorithm, "ring");
    struct hr_run_result result = losing_run(&options);
    assert_true(result.bytes_sent == result.bytes_received);
    hr_run_result_free(&result);
    return result.bytes_sent;
}

/* Five sums of three workers; then all sums, which begin again, of two. */
static void what_was_sent_before_a_recall_is_counted(void **state)
{
    (void)state;
    const uint64_t of_three = bytes_of(3, "") / 16, of_two = bytes_of(2, "") / 16;
    assert_true(of_two > 0 && of_three > of_two);
    assert_int_equal(bytes_of(3, "kill:1@step=5"), 5 * of_three + 16 * of_two);
}

/* In the middle of a gradient, which it had computed for half its time. */
static void the_time_until_a_death_is_booked_and_no_more(void **state)
{
    (void)state;
    const struct hr_train_options options = losing_options_virtual(
        HOGWILD, 3, "continue", "kill:1@time=35ms,load:1+4ms,stall:2@step=0+5ms,kill:2@time=2ms");
    struct hr_run_result result = losing_run_checked(&options, HOGWILD);
    const struct hr_worker_time *time = &result.worker_time[1];
    CHECK_NEAR(time->compute_s, 0.023, 0, 1e-9); /* 4 + 10 + 4 + 10 + 4 + 3 */
    CHECK_NEAR(time->load_s, 0.012, 0, 1e-9);
    CHECK_NEAR(time->wait_s, 0, 0, 1e-9);
    time = &result.worker_time[2];
    CHECK_NEAR(time->wait_s, 0.002, 0, 1e-9);
    CHECK_NEAR(time->compute_s + time->load_s, 0, 0, 1e-9);
    hr_run_result_free(&result);
}

/* Its push begins its way of 27 ms at 64 ms, and is applied before its loss is taken. */
static void what_the_dead_have_sent_arrives_before_their_loss_is_noticed(void **state)
{
    (void)state;
    struct hr_train_options options =
        losing_options_virtual(PS_ASYNC, 2, "continue", "slow:0x1000,kill:1@time=70ms");
    options.servers = 1;
    snprintf(options.link, sizeof options.link, "100KB/s,0us");
    struct hr_run_result result = losing_run_checked(&options, PS_ASYNC);
    assert_int_equal(result.nlosses, 1);
    assert_int_equal(result.losses[0].step, 1);
    assert_true(result.losses[0].seconds > 0.085);
    CHECK_NEAR(result.worker_time[0].compute_s, 10.0 * 47, 0, 1e-6); /* all batches but that one */
    hr_run_result_free(&result);
}

/* It is back at once, then after 0.1 s, then after 0.2 s. */
static void restarts_wait_longer_each_time(void **state)
{
    (void)state;
    struct hr_train_options options =
        losing_options_virtual(HOGWILD, 1, "restart", "kill:0@step=3,kill:0@step=5,kill:0@step=9");
    struct hr_run_result result = losing_run_checked(&options, HOGWILD);
    const double batches = LOSING_EPOCHS * LOSING_EPOCH / (double)LOSING_BATCH;
    assert_int_equal(result.restarts, 3);
    CHECK_NEAR(result.seconds, 0.010 * batches + 3 * notice_s + 0.3, 0, 1e-9);
    CHECK_NEAR(result.worker_time[0].compute_s, 0.010 * batches, 0, 1e-9);
    CHECK_NEAR(result.worker_time[0].wait_s, 0, 0, 1e-9); /* while it was away it did not wait */
    hr_run_result_free(&result);
}

/* --- what follows --- */

/* As a process does: 21 messages are ten batches of two workers, and more. */
static void a_server_that_came_back_counts_its_messages_anew(void **state)
{
    (void)state;
    const struct hr_train_options options = losing_options_virtual(
        PS_ASYNC, 2, "continue", "kill:server:0@step=20,kill:server:0@step=21");
    struct hr_run_result result = losing_run_checked(&options, PS_ASYNC);
    assert_int_equal(result.nlosses, 2);
    assert_true(result.losses[1].seconds - result.losses[0].seconds > 0.045);
    hr_run_result_free(&result);
}

/* Who is left has the links of those who are left, and the whole batch. */
static void those_who_are_left_take_the_time_of_so_many(void **state)
{
    (void)state;
    struct hr_train_options four =
        losing_options_virtual(ALLREDUCE, 4, "continue", "kill:1@step=0");
    four.global_batch_size = 12;
    four.batch_size = 32;
    snprintf(four.algorithm, sizeof four.algorithm, "ring");
    snprintf(four.link, sizeof four.link, "1MB/s,100us");
    struct hr_train_options three = four;
    three.inject[0] = '\0';
    three.workers = 3;
    three.accumulate = 2; /* a share that is larger than a worker has room for is two */
    three.global_batch_size /= 2;
    struct hr_run_result a = losing_run(&three), b = losing_run_checked(&four, ALLREDUCE);
    CHECK_NEAR(b.seconds, a.seconds + 0.010, 0, 1e-8); /* the others were computing */
    assert_string_equal(a.weights_digest, b.weights_digest);
    hr_run_result_free(&a);
    hr_run_result_free(&b);
}

/* Steps decide, not times: an explored schedule has the same bits. */
static void synchronous_bits_are_those_of_explored_schedules(void **state)
{
    (void)state;
    static const size_t synchronous[] = {ALLREDUCE, PS_SYNC};
    for (size_t i = 0; i < 2; i++) {
        char want[33];
        struct hr_train_options options =
            losing_options(synchronous[i], 3, "continue", "kill:2@step=5");
        snprintf(options.schedule, sizeof options.schedule, "explore:3");
        struct hr_run_result explored = losing_run(&options);
        memcpy(want, explored.weights_digest, sizeof want);
        hr_run_result_free(&explored);
        options = losing_options_virtual(synchronous[i], 3, "continue", "kill:2@step=5,slow:1x3");
        struct hr_run_result result = losing_run_checked(&options, synchronous[i]);
        assert_string_equal(result.weights_digest, want);
        hr_run_result_free(&result);
    }
}

static void with_repro_no_death_changes_the_weights(void **state)
{
    (void)state;
    static const char *const deaths[] = {"kill:3@step=2", "kill:0@step=1,kill:1@step=1",
                                         "kill:0@time=5ms,kill:2@time=5ms,kill:1@step=7",
                                         "kill:1@time=0ms,kill:1@step=3,kill:1@time=200ms"};
    static const size_t synchronous[] = {ALLREDUCE, PS_SYNC};
    char want[33];
    for (size_t i = 0; i < 2 * sizeof deaths / sizeof *deaths; i++)
        for (size_t how = 0; how < 2; how++) {
            struct hr_train_options options =
                losing_options_virtual(synchronous[i % 2], 4, how ? "restart" : "continue", "");
            options.batch_size = 32;
            options.global_batch_size = 16;
            snprintf(options.reduce, sizeof options.reduce, "repro");
            run_digest(&options, want);
            snprintf(options.inject, sizeof options.inject, "%s", deaths[i / 2]);
            struct hr_run_result result = losing_run_checked(&options, synchronous[i % 2]);
            assert_true(result.nlosses > 0);
            assert_string_equal(result.weights_digest, want);
            hr_run_result_free(&result);
        }
}

/* Three are left, and two are active: worker 2's time is nobody's from then on. */
static void who_is_not_active_is_absent(void **state)
{
    (void)state;
    struct hr_train_options options =
        losing_options_virtual(ALLREDUCE, 4, "continue", "kill:3@time=25ms");
    options.batch_size = 32;
    options.global_batch_size = 16;
    snprintf(options.reduce, sizeof options.reduce, "repro");
    struct hr_run_result result = losing_run_checked(&options, ALLREDUCE);
    const struct hr_worker_time *time = result.worker_time;
    CHECK_NEAR(time[2].compute_s + time[2].wait_s, 0.030, 0, 1e-9);
    CHECK_NEAR(time[1].compute_s + time[1].wait_s, result.seconds, 0, 1e-9);
    hr_run_result_free(&result);
}

/* All exchange at the same moment, and three wait for the server's link when it is lost at 23 ms.
 * One is on it: behind that all is as if nobody had begun. */
static void what_waits_for_a_link_is_dropped_where_all_begin_again(void **state)
{
    (void)state;
    struct hr_train_options options = losing_options_virtual(ELASTIC_AVERAGING, 4, "continue", "");
    options.servers = options.sync_every = 1;
    snprintf(options.link, sizeof options.link, "100KB/s,0us");
    struct hr_run_result whole = losing_run_checked(&options, ELASTIC_AVERAGING);
    snprintf(options.inject, sizeof options.inject, "kill:server:0@time=20ms");
    struct hr_run_result result = losing_run_checked(&options, ELASTIC_AVERAGING);
    const double more = result.seconds - whole.seconds, message = 0.02664;
    assert_true(more > 0.020 + notice_s && more < 0.020 + notice_s + message);
    assert_string_equal(result.weights_digest, whole.weights_digest);
    hr_run_result_free(&whole);
    hr_run_result_free(&result);
}

/* All go back to the last cut: here, the first. */
static void with_a_server_all_go_back_to_the_last_cut(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        if (!losing_kinds[s].servers)
            continue;
        struct hr_train_options options = losing_options_virtual(
            s, 3, "continue", "kill:server:0@time=95ms,kill:server:0@step=200");
        options.epochs = 6;
        struct hr_run_result result = losing_run_checked(&options, s);
        assert_true(result.nlosses >= 1);
        for (size_t i = 0; i < result.nlosses; i++)
            assert_true(result.losses[i].server && result.losses[i].back);
        assert_true(result.losses[0].again_samples > 0);
        CHECK_NEAR(result.losses[0].seconds, 0.095 + notice_s, 0, 1e-9);
        hr_run_result_free(&result);
    }
}

/* As they do with a worker that it lives in: where no order decides anything, without a trace. */
static void so_they_do_with_a_worker_that_a_server_lives_in(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        if (!losing_kinds[s].servers)
            continue;
        struct hr_train_options options =
            losing_options_virtual(s, 3, "continue", "kill:0@time=95ms,slow:1x2");
        options.epochs = 6;
        snprintf(options.placement, sizeof options.placement, "colocated");
        snprintf(options.link, sizeof options.link, "100MB/s,20us");
        struct hr_run_result result = losing_run_checked(&options, s);
        assert_int_equal(result.nlosses, 1);
        assert_true(result.losses[0].back && result.losses[0].again_samples > 0);
        snprintf(options.inject, sizeof options.inject, "slow:1x2");
        struct hr_run_result whole = losing_run_checked(&options, s);
        if (s == PS_SYNC)
            assert_string_equal(result.weights_digest, whole.weights_digest);
        assert_true(result.seconds > whole.seconds);
        hr_run_result_free(&whole);
        hr_run_result_free(&result);
    }
}

/* Worker 0 holds up all others at the end of the epoch; there worker 2 dies. */
static void some_die_while_they_wait_at_a_cut(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++)
        for (size_t how = 0; how < 2; how++) {
            char inject[100];
            struct hr_train_options options =
                losing_options_virtual(s, 3, how ? "restart" : "continue", "slow:0x40");
            struct hr_run_result whole = losing_run_checked(&options, s);
            snprintf(inject, sizeof inject, "slow:0x40,kill:2@time=%.0fms",
                     1e3 * whole.curve[1].seconds - 1);
            options = losing_options_virtual(s, 3, how ? "restart" : "continue", inject);
            struct hr_run_result result = losing_run_checked(&options, s);
            assert_int_equal(result.nlosses, 1);
            hr_run_result_free(&whole);
            hr_run_result_free(&result);
        }
}

static void the_last_worker_ends_the_run_unless_it_comes_back(void **state)
{
    (void)state;
    static const char all[] = "kill:0@step=3,kill:1@step=3,kill:2@time=31ms";
    struct hr_run_result result;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        struct hr_train_options options = losing_options_virtual(s, 3, "continue", all);
        CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
        options = losing_options_virtual(s, 3, "restart", all);
        result = losing_run_checked(&options, s);
        assert_int_equal(result.nlosses, 3);
        hr_run_result_free(&result);
    }
}

static void without_on_loss_a_death_ends_the_run(void **state)
{
    (void)state;
    static const char *const deaths[] = {"kill:1@step=1", "kill:1@time=15ms"};
    struct hr_run_result result;
    for (size_t i = 0; i < 2 * LOSING_STRATEGIES; i++) {
        const struct hr_train_options options =
            losing_options_virtual(i / 2, 3, "stop", deaths[i % 2]);
        CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
        CHECK_MESSAGE("rank 1: killed by --inject");
    }
}

/* Restarts are for the whole run; then a worker stays away, and a server ends it. */
static void restarts_are_limited(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options =
        losing_options_virtual(PS_ASYNC, 3, "restart", "kill:0@step=1,kill:1@step=2,kill:2@step=3");
    options.max_restarts = 2;
    result = losing_run_checked(&options, PS_ASYNC);
    assert_int_equal(result.restarts, 2);
    assert_true(result.losses[0].back && result.losses[1].back && !result.losses[2].back);
    hr_run_result_free(&result);
    snprintf(options.inject, sizeof options.inject, "kill:server:1@step=7,kill:0@step=0");
    options.max_restarts = 1;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
}

static void batches_of_the_lost_are_lost_where_that_is_wanted(void **state)
{
    (void)state;
    static const size_t counting[] = {HOGWILD, PS_ASYNC, SSP, ELASTIC_AVERAGING};
    for (size_t i = 0; i < sizeof counting / sizeof *counting; i++) {
        struct hr_train_options options =
            losing_options_virtual(counting[i], 3, "continue", "kill:1@time=55ms");
        snprintf(options.lost_batch, sizeof options.lost_batch, "count");
        struct hr_run_result result = losing_run(&options);
        losing_check_times(&options, &result);
        assert_true(result.losses[0].lost_samples > 0);
        assert_int_equal(result.samples + result.losses[0].lost_samples,
                         LOSING_EPOCHS * LOSING_EPOCH);
        hr_run_result_free(&result);
    }
}

/* To be ready for losses costs no bit and no time; nor does it change what happens without. */
static void where_nobody_dies_nothing_changes(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        const struct hr_train_options ready = losing_options_virtual(s, 3, "restart", "slow:1x3");
        const struct hr_train_options not_ready = losing_options_virtual(s, 3, "stop", "slow:1x3");
        struct hr_run_result a = losing_run_checked(&ready, s);
        struct hr_run_result b = losing_run_checked(&not_ready, s);
        assert_string_equal(a.weights_digest, b.weights_digest);
        assert_memory_equal(&a.seconds, &b.seconds, sizeof a.seconds);
        assert_memory_equal(a.worker_time, b.worker_time, a.workers * sizeof *a.worker_time);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
    }
}

/* --- many --- */

static void many_workers_outlive_some(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        struct hr_train_options options = losing_options_virtual(
            s, 256, "restart",
            "kill:0@step=0,kill:255@step=1,kill:17@time=12ms,kill:18@time=12ms,kill:17@time=40ms");
        options.batch_size = 1;
        options.epoch_size = 768;
        options.epochs = 1;
        struct hr_run_result result = losing_run_checked(&options, s);
        assert_true(result.nlosses >= 4);
        hr_run_result_free(&result);
    }
}

/* Each has a word in what became of a worker. */
static void many_servers_outlive_workers(void **state)
{
    (void)state;
    static const size_t served[] = {PS_ASYNC, SSP, ELASTIC_AVERAGING, PS_SYNC};
    for (size_t i = 0; i < sizeof served / sizeof *served; i++) {
        struct hr_train_options options = losing_options_virtual(
            served[i], 3, "restart", "kill:0@step=1,kill:server:290@time=25ms");
        options.servers = 300;
        struct hr_run_result result = losing_run_checked(&options, served[i]);
        assert_int_equal(result.nlosses, 2);
        hr_run_result_free(&result);
    }
}

static void a_thousand_workers_outlive_some(void **state)
{
    (void)state;
    static const size_t some[] = {ALLREDUCE, HOGWILD, PS_ASYNC};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        struct hr_train_options options =
            losing_options_virtual(some[i], some[i] == PS_ASYNC ? 1023 : 1024, "continue",
                                   "kill:1020@step=0,kill:4@step=1");
        options.servers = 1;
        options.batch_size = 1;
        options.epoch_size = 3072;
        options.epochs = 1;
        struct hr_run_result result = losing_run_checked(&options, some[i]);
        assert_int_equal(result.nlosses, 2);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_is_noticed_after_a_while),
        cmocka_unit_test(what_was_sent_before_a_recall_is_counted),
        cmocka_unit_test(the_time_until_a_death_is_booked_and_no_more),
        cmocka_unit_test(what_the_dead_have_sent_arrives_before_their_loss_is_noticed),
        cmocka_unit_test(restarts_wait_longer_each_time),
        cmocka_unit_test(a_server_that_came_back_counts_its_messages_anew),
        cmocka_unit_test(those_who_are_left_take_the_time_of_so_many),
        cmocka_unit_test(synchronous_bits_are_those_of_explored_schedules),
        cmocka_unit_test(with_repro_no_death_changes_the_weights),
        cmocka_unit_test(who_is_not_active_is_absent),
        cmocka_unit_test(what_waits_for_a_link_is_dropped_where_all_begin_again),
        cmocka_unit_test(with_a_server_all_go_back_to_the_last_cut),
        cmocka_unit_test(so_they_do_with_a_worker_that_a_server_lives_in),
        cmocka_unit_test(some_die_while_they_wait_at_a_cut),
        cmocka_unit_test(the_last_worker_ends_the_run_unless_it_comes_back),
        cmocka_unit_test(without_on_loss_a_death_ends_the_run),
        cmocka_unit_test(restarts_are_limited),
        cmocka_unit_test(batches_of_the_lost_are_lost_where_that_is_wanted),
        cmocka_unit_test(where_nobody_dies_nothing_changes),
        cmocka_unit_test(many_workers_outlive_some),
        cmocka_unit_test(many_servers_outlive_workers),
        cmocka_unit_test(a_thousand_workers_outlive_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
