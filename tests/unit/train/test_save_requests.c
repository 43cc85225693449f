/* A checkpoint that somebody asks for between cuts, by a signal or by time: every strategy serves
 * it, and goes on as if nothing had been. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/steps.h"
#include "hogring/replay.h"
#include "support/runs.h"

static const char *const strategies[] = {
    "allreduce", "ps-sync",           "ps-async",       "ssp",   "hogwild", "local-sgd",
    "diloco",    "elastic-averaging", "backup-workers", "gossip"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

/* Once more at each of the first looks: before a step has begun, at a cut, and when it is saved. */
static unsigned ask_again(void *arg)
{
    unsigned *asked = arg;
    *asked += *asked < 3;
    return *asked;
}

static struct hr_run_result train_asking(const struct hr_train_options *options)
{
    struct hr_run_result result;
    unsigned asked = 0;
    const struct hr_observer observer = {.arg = &asked, .saves_asked = ask_again};
    CHECK_OK(hr_train(options, run_digits(), &observer, &result));
    return result;
}

/* To a folder of its own, which keeps all, and at its end alone but for those asked for. */
static void save_to(struct hr_train_options *options, char folder[64])
{
    run_folder_make(folder);
    snprintf(options->checkpoint_dir, sizeof options->checkpoint_dir, "%s", folder);
    options->checkpoint_every = (struct hr_every){.epochs = 1000};
    options->keep = 0;
}

/* Strategies whose bits no timing decides. */
static bool repeats(const char *strategy)
{
    return !strcmp(strategy, "allreduce") || !strcmp(strategy, "ps-sync") ||
           !strcmp(strategy, "local-sgd") || !strcmp(strategy, "diloco") ||
           !strcmp(strategy, "gossip");
}

static void ask_while_it_trains(const char *strategy, const char *launch, const char *on_loss)
{
    char want[33], folder[64];
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.launch, sizeof options.launch, "%s", launch);
    run_digest(&options, want);
    snprintf(options.on_loss, sizeof options.on_loss, "%s", on_loss);
    save_to(&options, folder);
    struct hr_run_result result = train_asking(&options);
    if (repeats(strategy))
        assert_string_equal(result.weights_digest, want);
    assert_true(result.saves.written >= 2); /* the first was asked for before the first step */
    assert_int_equal(result.saves.failed, 0);
    assert_int_equal(result.ncurve, options.epochs);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

static void every_strategy_saves_when_it_is_asked_to(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        ask_while_it_trains(strategies[s], s % 2 ? "process" : "thread", "stop");
        ask_while_it_trains(strategies[s], "thread", "continue");
    }
}

/* Virtual seconds: the same saves each time, and the same bits as without any. */
static void time_asks_at_the_same_moments_again(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        char without[33], folder[64];
        struct hr_run_result result[2];
        struct hr_train_options options = run_options(strategies[s], 3);
        snprintf(options.clock, sizeof options.clock, "virtual");
        snprintf(options.compute_time, sizeof options.compute_time, "10ms");
        run_digest(&options, without);
        for (size_t i = 0; i < 2; i++) {
            save_to(&options, folder);
            options.checkpoint_every = (struct hr_every){.seconds = 0.3};
            CHECK_OK(hr_train(&options, run_digits(), NULL, &result[i]));
            run_folder_remove(folder);
        }
        assert_string_equal(result[0].weights_digest, result[1].weights_digest);
        assert_string_equal(result[0].weights_digest, without);
        assert_int_equal(result[0].saves.written, result[1].saves.written);
        assert_true(result[0].saves.written >= 2);
        assert_true((double)result[0].saves.written <= result[0].seconds / 0.3 + 1);
        for (size_t i = 0; i < 2; i++)
            hr_run_result_free(&result[i]);
    }
}

/* The oldest checkpoint; false: there is the last one alone, as the machine was busy and the run
 * over before all had quiesced. */
static bool first_of(const char *folder, char *path, size_t size)
{
    struct hr_saved_step *steps;
    size_t n;
    CHECK_OK(hr_steps_list(folder, &steps, &n));
    assert_true(n >= 1);
    snprintf(path, size, "%s/%s", folder, steps[n - 1].name.text);
    free(steps);
    return n >= 2;
}

/* From the first, wherever all quiesced. */
static void a_run_goes_on_from_one_that_was_asked_for(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        char want[33], folder[64];
        struct hr_train_options options = run_options(strategies[s], 3);
        if (!repeats(strategies[s]))
            continue;
        run_digest(&options, want);
        bool found = false;
        for (int tries = 0; !found && tries < 20; tries++) {
            save_to(&options, folder);
            struct hr_run_result result = train_asking(&options);
            hr_run_result_free(&result);
            found = first_of(folder, options.resume, sizeof options.resume);
            if (!found) {
                run_folder_remove(folder);
                options.resume[0] = '\0';
            }
        }
        assert_true(found);
        options.overwrite = true;
        CHECK_DIGEST(&options, want);
        run_folder_remove(folder);
    }
}

/* Where the order decides the bits, the trace says where all quiesced. */
static void a_replay_rests_where_the_recorded_run_did(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        char folder[64];
        struct hr_replay *replay;
        struct hr_run_result result, again;
        struct hr_train_options options = run_options(strategies[s], 3);
        save_to(&options, folder);
        snprintf(options.record, sizeof options.record, "%s.trace", folder);
        result = train_asking(&options);
        CHECK_OK(hr_replay_open(options.record, &replay));
        CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &again));
        assert_string_equal(again.weights_digest, result.weights_digest);
        hr_replay_close(replay);
        hr_run_result_free(&result);
        hr_run_result_free(&again);
        remove(options.record);
        run_folder_remove(folder);
    }
}

/* --- forks beside a save --- */

static size_t usual_threads, forks, forks_beside_threads;

static size_t threads_of_this_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t n = 0;
    assert_non_null(tasks);
    for (const struct dirent *task; (task = readdir(tasks)) != NULL; n += task->d_name[0] != '.')
        ;
    closedir(tasks);
    return n;
}

static void before_a_fork(void)
{
    forks++;
    forks_beside_threads += threads_of_this_process() > usual_threads;
}

/* A checkpoint is being written at any time, and workers are started again. */
static void no_process_is_forked_beside_a_writer(void **state)
{
    (void)state;
    char folder[64];
    struct hr_train_options options = run_options("ps-async", 3);
    struct hr_run_result result;
    save_to(&options, folder);
    options.checkpoint_every = (struct hr_every){.steps = 1};
    options.max_steps = 40;
    snprintf(options.launch, sizeof options.launch, "process");
    snprintf(options.on_loss, sizeof options.on_loss, "restart");
    snprintf(options.inject, sizeof options.inject, "kill:0@step=3,kill:1@step=5,kill:2@step=7");
    usual_threads = threads_of_this_process(); /* a sanitizer may have its own */
    assert_int_equal(pthread_atfork(before_a_fork, NULL, NULL), 0);
    CHECK_OK(hr_train(&options, run_digits(), NULL, &result));
    assert_int_equal(result.restarts, 3);
    assert_true(forks > 3 + 1); /* workers, a server, and those that come again before it is over */
    assert_int_equal(forks_beside_threads, 0);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

static void without_a_folder_it_only_says_so(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = run_options("allreduce", 2);
    options.epochs = 1;
    run_digest(&options, want);
    struct hr_run_result result = train_asking(&options);
    assert_string_equal(result.weights_digest, want);
    assert_int_equal(result.saves.written, 0);
    hr_run_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_saves_when_it_is_asked_to),
        cmocka_unit_test(time_asks_at_the_same_moments_again),
        cmocka_unit_test(a_run_goes_on_from_one_that_was_asked_for),
        cmocka_unit_test(a_replay_rests_where_the_recorded_run_did),
        cmocka_unit_test(no_process_is_forked_beside_a_writer),
        cmocka_unit_test(without_a_folder_it_only_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
