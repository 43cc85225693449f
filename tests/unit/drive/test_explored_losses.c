/* Explored schedules in which ranks die, at any event: the run goes on, each sample is accounted
 * for, and it is the same run again. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/runs.h"

enum { EPOCH = 96, EPOCHS = 2, BATCH = 4 };

/* What becomes of the samples that are handed out: all are trained on; or some are lost with their
 * worker; or some are skipped by who is late, too. */
enum account { TRAINED, LOST, SKIPPED };

static const struct {
    const char *name;
    enum account account;
    bool a_push_is_an_update;
    size_t backups;
} strategies[] = {
    {"hogwild", TRAINED, true, 0},      {"ps-async", TRAINED, true, 0},
    {"ssp", TRAINED, true, 0},          {"elastic-averaging", TRAINED, false, 0},
    {"backup-workers", LOST, false, 0}, {"backup-workers", SKIPPED, false, 1},
    {"allreduce", TRAINED, false, 0},   {"gossip", LOST, false, 0},
    {"ps-sync", TRAINED, false, 0},     {"local-sgd", LOST, false, 0},
};

enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static struct hr_train_options options_of(size_t strategy, const char *on_loss, const char *inject,
                                          size_t seed)
{
    struct hr_train_options options = run_options(strategies[strategy].name, 3);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    snprintf(options.on_loss, sizeof options.on_loss, "%s", on_loss);
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
    options.epochs = EPOCHS;
    options.epoch_size = EPOCH;
    options.batch_size = BATCH;
    options.max_restarts = 1000;
    options.backups = strategies[strategy].backups;
    return options;
}

/* A launcher says each loss on stderr. */
static struct hr_run_result run_quietly(const struct hr_train_options *options)
{
    const int stderr_was = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    struct hr_run_result result;
    const enum hr_status status = hr_train(options, run_digits(), NULL, &result);
    dup2(stderr_was, STDERR_FILENO);
    close(stderr_was);
    close(nowhere);
    if (status != HR_OK)
        print_error("%s, %s, %s, %s:\n", options->strategy, options->schedule, options->on_loss,
                    options->inject);
    CHECK_OK(status);
    return result;
}

static uint64_t lost_samples(const struct hr_run_result *result)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < result->nlosses; i++)
        sum += result->losses[i].lost_samples;
    return sum;
}

static void check_account(const struct hr_train_options *options, size_t strategy,
                          const struct hr_run_result *result)
{
    const uint64_t lost = lost_samples(result), all = (uint64_t)EPOCHS * EPOCH;
    const uint64_t known = result->samples + result->dropped_samples + lost;
    const enum account account = strategies[strategy].account;
    const bool whole = account == TRAINED ? result->samples == all && lost == 0
                       : account == LOST  ? known == all
                                          : known <= all;
    const bool updated =
        !strategies[strategy].a_push_is_an_update || BATCH * result->updates == result->samples;
    if (whole && updated)
        return;
    print_error("%s, %s, %s: %llu samples trained on, %llu dropped, %llu lost, %llu updates\n",
                options->strategy, options->schedule, options->on_loss,
                (unsigned long long)result->samples, (unsigned long long)result->dropped_samples,
                (unsigned long long)lost, (unsigned long long)result->updates);
    fail();
}

static void check_seed_of(size_t strategy, const char *on_loss, const char *inject, size_t seed)
{
    const struct hr_train_options options = options_of(strategy, on_loss, inject, seed);
    struct hr_run_result result = run_quietly(&options);
    check_account(&options, strategy, &result);
    hr_run_result_free(&result);
}

static void workers_that_die_anywhere_are_outlived(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(200, 20000); seed++)
        for (size_t s = 0; s < STRATEGIES; s++)
            check_seed_of(s, "continue", "kill:any@p=0.02x2", seed);
}

static void they_come_back_and_die_again(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(200, 20000); seed++)
        for (size_t s = 0; s < STRATEGIES; s++)
            check_seed_of(s, "restart", "kill:any@p=0.04x8", seed);
}

static void the_same_seed_is_the_same_run(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++)
        for (size_t seed = 0; seed < 10; seed++) {
            const struct hr_train_options options =
                options_of(s, "restart", "kill:any@p=0.04x8", seed);
            struct hr_run_result a = run_quietly(&options), b = run_quietly(&options);
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
    for (size_t s = 0; s < STRATEGIES; s++) {
        const struct hr_train_options options = options_of(s, "stop", "kill:1@step=1", 7);
        CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
        CHECK_MESSAGE("rank 1: killed by --inject");
    }
}

/* It dies before that gradient; the second time in the last epoch. */
static void a_worker_dies_before_its_step(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        const struct hr_train_options options =
            options_of(s, "restart", "kill:1@step=3,kill:1@step=5", 7);
        struct hr_run_result result = run_quietly(&options);
        assert_int_equal(result.nlosses, 2);
        assert_int_equal(result.restarts, 2);
        const bool joins_at_cut = !strcmp(strategies[s].name, "gossip");
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(result.losses[i].rank, 1);
            assert_int_equal(result.losses[i].step, 3 + 2 * i);
            assert_int_equal(result.losses[i].back, i == 0 || !joins_at_cut);
            assert_string_equal(result.losses[i].how, "killed by --inject");
        }
        check_account(&options, s, &result);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_die_anywhere_are_outlived),
        cmocka_unit_test(they_come_back_and_die_again),
        cmocka_unit_test(the_same_seed_is_the_same_run),
        cmocka_unit_test(without_on_loss_a_death_ends_the_run),
        cmocka_unit_test(a_worker_dies_before_its_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
