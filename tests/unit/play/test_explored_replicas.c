/* Explored schedules in which servers with replicas die, at any event: nothing that a worker was
 * told is lost, and nobody goes back. */
#include <stdio.h>

#include "support/losing_runs.h"

enum { WORKERS = 3, ALL_SAMPLES = LOSING_EPOCHS * LOSING_EPOCH };

static const enum losing_strategy strategies[] = {
    PS_ASYNC, SSP, PS_SYNC, ELASTIC_AVERAGING, BACKUP_WORKERS, WITH_BACKUPS};
enum {
    STRATEGIES = sizeof strategies / sizeof *strategies,
    NO_REPLICAS = 3 /* of weights: the first */
};

static struct hr_train_options options_of(enum losing_strategy strategy, const char *on_loss,
                                          const char *inject, size_t seed)
{
    struct hr_train_options options = losing_options(strategy, WORKERS, on_loss, inject);
    snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
    options.servers = losing_kinds[strategy].servers == 1 ? 1 : 1 + seed % 2;
    options.server_replicas = 2;
    options.momentum = 0.9;
    return options;
}

/* Samples of an update; 0: of a replica's. */
static uint64_t samples_of(enum losing_strategy strategy)
{
    if (strategy == PS_SYNC)
        return WORKERS * LOSING_BATCH;
    return losing_kinds[strategy].a_push_is_an_update ? LOSING_BATCH : 0;
}

/* Each sample is in an update that counts, once. */
static void check_account(const struct hr_train_options *options, enum losing_strategy strategy,
                          const struct hr_run_result *result)
{
    const uint64_t samples = samples_of(strategy);
    uint64_t lost = 0;
    for (size_t i = 0; i < result->nlosses; i++)
        lost += result->losses[i].lost_samples;
    const uint64_t known = result->samples + result->dropped_samples + lost;
    if ((lost == 0 || losing_kinds[strategy].account == LOST) && known == ALL_SAMPLES &&
        (samples == 0 || samples * result->updates == result->samples) &&
        (!result->counts_applied || result->applied == result->updates))
        return;
    print_error("%s, %s, %s: %llu samples trained on, %llu lost, %llu updates, %llu applied\n",
                options->strategy, options->schedule, options->on_loss,
                (unsigned long long)result->samples, (unsigned long long)lost,
                (unsigned long long)result->updates, (unsigned long long)result->applied);
    fail();
}

/* Returns how many losses took all back. */
static size_t check_seed_of(enum losing_strategy strategy, const char *on_loss, const char *inject,
                            size_t seed)
{
    const struct hr_train_options options = options_of(strategy, on_loss, inject, seed);
    struct hr_run_result result = losing_run(&options);
    size_t back = 0;
    check_account(&options, strategy, &result);
    for (size_t i = 0; i < result.nlosses; i++) {
        back += result.losses[i].rolled_back;
        assert_false(result.losses[i].rolled_back && result.losses[i].replaced);
        assert_int_equal(result.losses[i].again_samples > 0 && result.losses[i].server,
                         result.losses[i].again_samples > 0 && result.losses[i].rolled_back);
    }
    hr_run_result_free(&result);
    return back;
}

static void one_of_two_is_outlived_without_going_back(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(200, 20000); seed++)
        for (size_t s = 0; s < STRATEGIES; s++)
            assert_int_equal(
                check_seed_of(strategies[s], "continue", "kill:server:any@p=0.02x1", seed), 0);
}

/* Whoever is left of a pair takes all back when it is lost, too. */
static void servers_die_beside_their_replicas_and_workers(void **state)
{
    (void)state;
    size_t back = 0;
    for (size_t seed = 0; seed < check_count(200, 20000); seed++)
        for (size_t s = 0; s < STRATEGIES; s++)
            back += check_seed_of(strategies[s], seed % 2 ? "restart" : "continue",
                                  "kill:server:any@p=0.01x4,kill:any@p=0.01x2", seed);
    assert_true(back > 0);
}

static void the_same_seed_is_the_same_run(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++)
        for (size_t seed = 0; seed < 10; seed++) {
            const struct hr_train_options options = options_of(
                strategies[s], "restart", "kill:server:any@p=0.02x3,kill:any@p=0.02x3", seed);
            struct hr_run_result a = losing_run(&options), b = losing_run(&options);
            assert_string_equal(a.weights_digest, b.weights_digest);
            assert_int_equal(a.nlosses, b.nlosses);
            hr_run_result_free(&a);
            hr_run_result_free(&b);
        }
}

/* Servers are numbered behind the first copies: those of `servers` servers. */
static void either_of_a_pair_may_be_named(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++)
        for (size_t server = 0; server < 2; server++) {
            char inject[64];
            snprintf(inject, sizeof inject, "kill:server:%zu@step=9", server);
            struct hr_train_options options = options_of(strategies[s], "continue", inject, 4);
            struct hr_run_result result = losing_run(&options);
            assert_int_equal(result.nlosses, 1);
            assert_true(result.losses[0].server && result.losses[0].replaced);
            assert_int_equal(result.losses[0].rank, server);
            check_account(&options, strategies[s], &result);
            hr_run_result_free(&result);
        }
}

/* From the next cut on it is the replica of the other, which may then be lost. */
static void who_is_started_again_is_a_replica_from_the_next_cut_on(void **state)
{
    (void)state;
    for (size_t s = 0; s < NO_REPLICAS; s++)
        for (size_t first = 0; first < 2; first++) {
            char inject[64]; /* in the first epoch, and in the second */
            snprintf(inject, sizeof inject, "kill:server:%zu@step=5,kill:server:%zu@step=80", first,
                     1 - first);
            struct hr_train_options options = options_of(strategies[s], "restart", inject, 4);
            struct hr_run_result result = losing_run(&options);
            assert_int_equal(result.nlosses, 2);
            assert_true(result.losses[0].replaced && result.losses[0].back);
            assert_true(result.losses[1].replaced);
            assert_int_equal(result.losses[0].again_samples + result.losses[1].again_samples, 0);
            check_account(&options, strategies[s], &result);
            hr_run_result_free(&result);
        }
}

/* Where the order of messages changes no bit, neither does a death. */
static void with_ps_sync_no_death_changes_the_weights(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of(PS_SYNC, "continue", "", 0);
    run_digest(&options, want);
    for (size_t seed = 0; seed < check_count(100, 10000); seed++) {
        options = options_of(PS_SYNC, "continue", "kill:server:any@p=0.02x3", seed);
        struct hr_run_result result = losing_run(&options);
        assert_string_equal(result.weights_digest, want);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_two_is_outlived_without_going_back),
        cmocka_unit_test(servers_die_beside_their_replicas_and_workers),
        cmocka_unit_test(the_same_seed_is_the_same_run),
        cmocka_unit_test(either_of_a_pair_may_be_named),
        cmocka_unit_test(who_is_started_again_is_a_replica_from_the_next_cut_on),
        cmocka_unit_test(with_ps_sync_no_death_changes_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
