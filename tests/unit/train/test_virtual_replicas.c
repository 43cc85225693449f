/* Servers with replicas in virtual time: what that costs, and what follows a death. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/losing_runs.h"

static const enum losing_strategy served[] = {PS_ASYNC,       SSP,          ELASTIC_AVERAGING,
                                              BACKUP_WORKERS, WITH_BACKUPS, PS_SYNC};
enum { SERVED = sizeof served / sizeof *served };

static struct hr_train_options options_of(enum losing_strategy strategy, size_t workers,
                                          const char *on_loss, const char *inject)
{
    struct hr_train_options options = losing_options_virtual(strategy, workers, on_loss, inject);
    options.server_replicas = 2;
    return options;
}

/* Of one worker and one server. */
static double seconds_of(size_t copies, const char *link, const char *server_time,
                         const char *inject)
{
    struct hr_train_options options = options_of(PS_ASYNC, 1, "continue", inject);
    options.servers = 1;
    options.server_replicas = copies;
    snprintf(options.link, sizeof options.link, "%s", link);
    snprintf(options.server_time, sizeof options.server_time, "%s", server_time);
    struct hr_run_result result = losing_run_checked(&options, PS_ASYNC);
    const double seconds = result.seconds;
    hr_run_result_free(&result);
    return seconds;
}

enum { BATCHES = LOSING_EPOCH / LOSING_BATCH };

/* Of each epoch: a pull for each batch, one for which none is left, and the cut. A passage is of
 * 2 x 100 us. */
static void an_answer_comes_one_passage_and_one_service_later(void **state)
{
    (void)state;
    const char link[] = "1000000GB/s,100us";
    const double answers = LOSING_EPOCHS * (BATCHES + 2);
    CHECK_NEAR(seconds_of(2, link, "1ms", "") - seconds_of(1, link, "1ms", ""), answers * 0.0012, 0,
               1e-6);
}

/* Behind a push, whose 650 numbers are passed on, too, the pull waits for them. */
static void what_is_passed_on_is_as_long_as_what_came(void **state)
{
    (void)state;
    const char link[] = "1MB/s,0us";
    const double epoch = BATCHES * (64 + 650 * 4) * 1e-6 + 2 * 64e-6;
    CHECK_NEAR(seconds_of(2, link, "", "") - seconds_of(1, link, "", ""), LOSING_EPOCHS * epoch, 0,
               1e-6);
}

/* The first pull comes after 20 ms, whoever is there then. */
static void what_is_on_its_way_comes_when_it_would_have_come(void **state)
{
    (void)state;
    const char link[] = "1GB/s,10ms";
    const double early = seconds_of(2, link, "", "kill:server:0@time=1ms"),
                 late = seconds_of(2, link, "", "kill:server:0@time=16ms");
    CHECK_NEAR(early, late, 0, 1e-9);
}

/* Until the death is noticed nobody is answered; nobody goes back. */
static void whoever_of_a_pair_dies_the_other_goes_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * SERVED; i++) {
        char inject[80];
        const enum losing_strategy s = served[i % SERVED];
        const size_t servers = losing_kinds[s].servers, pair = i / SERVED % 2 * servers;
        snprintf(inject, sizeof inject,
                 i < 2 * SERVED ? "kill:server:%zu@time=25ms" : "kill:server:%zu@step=9", pair);
        const struct hr_train_options options = options_of(s, 3, "continue", inject);
        struct hr_run_result result = losing_run_checked(&options, s);
        assert_int_equal(result.nlosses, 1);
        const struct hr_loss *loss = result.losses;
        assert_true(loss->server && loss->replaced && !loss->rolled_back);
        assert_int_equal(loss->rank, pair);
        assert_int_equal(loss->again_samples, 0);
        if (i < 2 * SERVED)
            CHECK_NEAR(loss->seconds, 0.028, 0, 1e-9);
        hr_run_result_free(&result);
    }
}

/* At any moment, beside workers, with messages on their way that are lost or late. */
static void drawn_deaths_lose_nothing_and_are_the_same_again(void **state)
{
    (void)state;
    static const char *const links[] = {"", "100KB/s,1ms", "1MB/s,5ms", "1GB/s,10us"};
    for (size_t i = 0; i < check_count(120, 4000); i++) {
        char inject[200];
        const enum losing_strategy s = served[i % SERVED];
        const size_t servers = losing_kinds[s].servers;
        snprintf(inject, sizeof inject,
                 "kill:server:%zu@time=%zums,kill:%zu@time=%zums,kill:server:%zu@time=%zums%s",
                 i % (2 * servers), 11 + 7 * i % 50, i % 3, 13 + 11 * i % 40,
                 (i + 1) % (2 * servers), 90 + i % 60, i % 4 == 1 ? ",drop-push:p=0.2+4ms" : "");
        struct hr_train_options options = options_of(s, 3, i % 2 ? "restart" : "continue", inject);
        snprintf(options.link, sizeof options.link, "%s", links[i / 2 % 4]);
        snprintf(options.server_time, sizeof options.server_time, "%s", i % 3 ? "300us" : "");
        snprintf(options.compute_time, sizeof options.compute_time, "lognormal(8ms,0.4)");
        struct hr_run_result a = losing_run(&options), b = losing_run(&options);
        losing_check(&options, s, &a);
        assert_string_equal(a.weights_digest, b.weights_digest);
        assert_true(a.seconds == b.seconds && a.nlosses == b.nlosses && a.nlosses > 0);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
    }
}

/* From the next cut on; then the other may go. */
static void who_is_started_again_is_a_replica_from_the_next_cut_on(void **state)
{
    (void)state;
    const struct hr_train_options options =
        options_of(PS_ASYNC, 3, "restart", "kill:server:0@time=25ms,kill:server:2@time=120ms");
    struct hr_run_result result = losing_run_checked(&options, PS_ASYNC);
    assert_int_equal(result.nlosses, 2);
    assert_true(result.losses[0].replaced && result.losses[0].back);
    assert_true(result.losses[1].replaced);
    hr_run_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_one_passage_and_one_service_later),
        cmocka_unit_test(what_is_passed_on_is_as_long_as_what_came),
        cmocka_unit_test(what_is_on_its_way_comes_when_it_would_have_come),
        cmocka_unit_test(whoever_of_a_pair_dies_the_other_goes_on),
        cmocka_unit_test(drawn_deaths_lose_nothing_and_are_the_same_again),
        cmocka_unit_test(who_is_started_again_is_a_replica_from_the_next_cut_on),
    };
    losing_in_silence();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
