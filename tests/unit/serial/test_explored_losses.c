/* Explored schedules in which ranks die, at any event: the run goes on, each sample is accounted
 * for, and it is the same run again. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/losing_runs.h"

/* What has happened in all runs. */
static struct {
    size_t runs, deaths, resent, duplicates;
} tally;

static struct hr_train_options options_of(size_t strategy, const char *on_loss, const char *inject,
                                          size_t seed)
{
    struct hr_train_options options = losing_options(strategy, 3, on_loss, inject);
    snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
    return options;
}

static void check_account(const struct hr_train_options *options, size_t strategy,
                          const struct hr_run_result *result)
{
    tally.runs++;
    tally.deaths += result->nlosses;
    tally.resent += result->resent;
    tally.duplicates += result->duplicates;
    losing_check(options, strategy, result);
}

static void check_seed_of(size_t strategy, const char *on_loss, const char *inject, size_t seed)
{
    const struct hr_train_options options = options_of(strategy, on_loss, inject, seed);
    struct hr_run_result result = losing_run(&options);
    check_account(&options, strategy, &result);
    hr_run_result_free(&result);
}

static void workers_that_die_anywhere_are_outlived(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(50, 20000); seed++)
        for (size_t s = 0; s < LOSING_STRATEGIES; s++)
            check_seed_of(s, "continue", "kill:any@p=0.02x2", seed);
}

static void they_come_back_and_die_again(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(50, 20000); seed++)
        for (size_t s = 0; s < LOSING_STRATEGIES; s++)
            check_seed_of(s, "restart", "kill:any@p=0.04x8", seed);
}

/* All go back to the last cut with a server, whoever else is gone. */
static void servers_die_beside_workers(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(50, 20000); seed++)
        for (size_t s = 0; s < LOSING_STRATEGIES; s++)
            if (losing_kinds[s].servers)
                check_seed_of(s, "restart", "kill:server:any@p=0.02x3,kill:any@p=0.02x4", seed);
}

/* So they do with a worker that one lives in, who comes back in any case; one without may not. */
static void servers_die_with_the_workers_that_they_live_in(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(50, 20000); seed++)
        for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
            struct hr_train_options options =
                options_of(s, seed % 2 ? "restart" : "continue",
                           "kill:any@p=0.02x3,stall:any@p=0.02x9,drop-push:p=0.2", seed);
            if (!losing_kinds[s].servers)
                continue;
            snprintf(options.placement, sizeof options.placement, "colocated");
            struct hr_run_result result = losing_run(&options);
            check_account(&options, s, &result);
            for (size_t i = 0; i < result.nlosses; i++)
                assert_true(result.losses[i].rolled_back);
            hr_run_result_free(&result);
        }
}

/* What waits at a cut to be handed out again is not trained on: a run that goes back does not go
 * back to there. */
static void servers_die_while_batches_wait_to_be_handed_out_again(void **state)
{
    (void)state;
    for (size_t seed = 100; seed < check_count(160, 20000); seed++)
        check_seed_of(ELASTIC_AVERAGING, "continue", "kill:any@p=0.04x2,kill:server:any@p=0.01x2",
                      seed);
}

/* Deaths, stalls and lost pushes, of whoever there is; under continue one worker is left. */
static void check_everything(size_t strategy, bool restart, size_t seed)
{
    char inject[128];
    snprintf(inject, sizeof inject, "kill:any@p=0.04x%d,stall:any@p=0.02x9%s", restart ? 6 : 2,
             losing_kinds[strategy].servers ? ",kill:server:any@p=0.01x2,drop-push:p=0.2" : "");
    check_seed_of(strategy, restart ? "restart" : "continue", inject, seed);
}

static void whatever_happens_every_sample_is_accounted_for(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(100, 10000); seed++)
        for (size_t s = 0; s < LOSING_STRATEGIES; s++)
            check_everything(s, seed % 2, seed);
}

static void the_same_seed_is_the_same_run(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++)
        for (size_t seed = 0; seed < 10; seed++) {
            const struct hr_train_options options =
                options_of(s, "restart", "kill:any@p=0.04x8,stall:any@p=0.02x9", seed);
            struct hr_run_result a = losing_run(&options), b = losing_run(&options);
            assert_string_equal(a.weights_digest, b.weights_digest);
            assert_int_equal(a.nlosses, b.nlosses);
            hr_run_result_free(&a);
            hr_run_result_free(&b);
        }
}

static void without_on_loss_a_death_ends_the_run(void **state)
{
    (void)state;
    struct hr_run_result result;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        const struct hr_train_options options = options_of(s, "stop", "kill:1@step=1", 7);
        CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
        CHECK_MESSAGE("rank 1: killed by --inject");
    }
}

/* It dies before that gradient; the second time in the last epoch. */
static void a_worker_dies_before_its_step(void **state)
{
    (void)state;
    for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
        const struct hr_train_options options =
            options_of(s, "restart", "kill:1@step=3,kill:1@step=5", 7);
        struct hr_run_result result = losing_run(&options);
        assert_int_equal(result.nlosses, 2);
        assert_int_equal(result.restarts, 2);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(result.losses[i].rank, 1);
            assert_int_equal(result.losses[i].step, 3 + 2 * i);
            assert_true(result.losses[i].back);
            assert_string_equal(result.losses[i].how, "killed by --inject");
        }
        check_account(&options, s, &result);
        hr_run_result_free(&result);
    }
}

/* Cuts of the batch into micro-shards do not depend on who is there. */
static void with_repro_no_death_changes_the_weights(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of(ALLREDUCE, "restart", "", 0);
    options.workers = 4;
    options.batch_size = 32;
    options.global_batch_size = 16;
    options.max_restarts = 2;
    snprintf(options.reduce, sizeof options.reduce, "repro");
    run_digest(&options, want);
    snprintf(options.inject, sizeof options.inject, "kill:any@p=0.02x4");
    for (size_t seed = 0; seed < check_count(50, 10000); seed++) {
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
        struct hr_run_result result = losing_run(&options);
        assert_string_equal(result.weights_digest, want);
        hr_run_result_free(&result);
    }
}

/* Those of which a loss ends the term. */
static const size_t ending[] = {ALLREDUCE, PS_SYNC, LOCAL_SGD, GOSSIP};

static void one_who_comes_back_changes_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        char want[33];
        struct hr_train_options options = options_of(ending[i], "restart", "", 0);
        options.momentum = 0.9;
        run_digest(&options, want);
        snprintf(options.inject, sizeof options.inject, "kill:any@p=0.02x4");
        for (size_t seed = 0; seed < check_count(50, 10000); seed++) {
            snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
            struct hr_run_result result = losing_run(&options);
            check_account(&options, ending[i], &result);
            assert_string_equal(result.weights_digest, want);
            hr_run_result_free(&result);
        }
    }
}

/* Stopped at that cut, if it is not the beginning, and resumed with one worker less: shares that
 * are larger than workers have room for are computed in two parts. */
static void resumed_with_one_less(struct hr_train_options options, uint64_t cut, char digest[33])
{
    char folder[64];
    run_folder_make(folder);
    options.inject[0] = '\0';
    if (cut) {
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
        options.max_steps = cut;
        struct hr_run_result result = run_train(&options);
        hr_run_result_free(&result);
        snprintf(options.resume, sizeof options.resume, "%s", folder);
    }
    options.max_steps = 0;
    options.workers--;
    options.accumulate = 2;
    options.global_batch_size /= 2;
    run_digest(&options, digest);
    run_folder_remove(folder);
}

/* Whoever is left begins at the last cut, as if it had been resumed there. */
static void a_loss_is_a_resume_with_one_less(void **state)
{
    (void)state;
    enum { BATCH = 12, CUT = LOSING_EPOCH / BATCH };
    for (size_t i = 0; i < 2; i++)
        for (uint64_t p = 1; p < 2 * CUT; p += 3) {
            char want[33];
            struct hr_train_options options = options_of(ending[i], "continue", "", p);
            options.batch_size = 32;
            options.global_batch_size = BATCH;
            resumed_with_one_less(options, p / CUT * CUT, want);
            snprintf(options.inject, sizeof options.inject, "kill:%llu@step=%llu",
                     (unsigned long long)p % 3, (unsigned long long)p);
            struct hr_run_result result = losing_run(&options);
            assert_string_equal(result.weights_digest, want);
            hr_run_result_free(&result);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_die_anywhere_are_outlived),
        cmocka_unit_test(they_come_back_and_die_again),
        cmocka_unit_test(servers_die_beside_workers),
        cmocka_unit_test(servers_die_with_the_workers_that_they_live_in),
        cmocka_unit_test(servers_die_while_batches_wait_to_be_handed_out_again),
        cmocka_unit_test(whatever_happens_every_sample_is_accounted_for),
        cmocka_unit_test(the_same_seed_is_the_same_run),
        cmocka_unit_test(without_on_loss_a_death_ends_the_run),
        cmocka_unit_test(a_worker_dies_before_its_step),
        cmocka_unit_test(with_repro_no_death_changes_the_weights),
        cmocka_unit_test(one_who_comes_back_changes_no_bit),
        cmocka_unit_test(a_loss_is_a_resume_with_one_less),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%zu runs; %zu ranks died, %zu pushes were sent again, %zu of them had arrived\n",
           tally.runs, tally.deaths, tally.resent, tally.duplicates);
    return failed;
}
