/* A run that stops early ends with the best weights: whatever strategy and driver, and as often as
 * it is killed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hogring/checkpoint.h"
#include "support/runs.h"

static const char *const all[] = {"allreduce", "ps-sync",   "ps-async",          "ssp",
                                  "hogwild",   "local-sgd", "elastic-averaging", "backup-workers",
                                  "gossip"};
enum { NALL = sizeof all / sizeof *all };

static struct hr_train_options stopping(const char *strategy, size_t workers)
{
    struct hr_train_options options = run_options(strategy, workers);
    snprintf(options.lr_schedule, sizeof options.lr_schedule, "constant");
    snprintf(options.early_stop, sizeof options.early_stop, "accuracy,2");
    options.validation_fraction = 0.2;
    options.lr = 0.1;
    options.epochs = 40;
    return options;
}

static void save_to(struct hr_train_options *options, char folder[64])
{
    run_folder_make(folder);
    snprintf(options->checkpoint_dir, sizeof options->checkpoint_dir, "%s", folder);
}

/* Of the weights in a checkpoint. */
static void digest_of(const char *folder, const char *name, char digest[33])
{
    char path[128];
    struct hr_checkpoint checkpoint;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(hr_checkpoint_load(path, &checkpoint));
    for (size_t i = 0; i < checkpoint.model.ntensors; i++)
        bytes += checkpoint.model.tensors[i].bytes;
    float *weights = malloc(bytes), *at = weights;
    for (size_t i = 0; i < checkpoint.model.ntensors; i++) {
        memcpy(at, checkpoint.model.tensors[i].data, checkpoint.model.tensors[i].bytes);
        at += checkpoint.model.tensors[i].bytes / sizeof *at;
    }
    hr_digest_floats(weights, bytes / sizeof *weights, digest);
    free(weights);
    hr_checkpoint_free(&checkpoint);
}

/* The weights are those of the best epoch's checkpoint, and the last checkpoint's are, too. */
static void check_best(struct hr_train_options options)
{
    char folder[64], best[33], last[33];
    save_to(&options, folder);
    snprintf(options.keep_best, sizeof options.keep_best, "accuracy");
    struct hr_run_result result = run_train(&options);
    digest_of(folder, "best", best);
    digest_of(folder, "latest", last);
    assert_true(result.best.stopped && result.best.restored);
    assert_true(result.best.epoch + 2 == result.best.ended);
    assert_true(result.best.value == result.validation_accuracy);
    assert_string_equal(result.weights_digest, best);
    assert_string_equal(result.weights_digest, last);
    assert_int_equal(result.test_evaluations, 1);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

static void every_strategy_ends_with_its_best_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++) {
        struct hr_train_options options = stopping(all[i], 3);
        check_best(options);
        snprintf(options.clock, sizeof options.clock, "virtual");
        check_best(options);
        snprintf(options.clock, sizeof options.clock, "real");
        snprintf(options.schedule, sizeof options.schedule, "explore:3");
        check_best(options);
    }
}

/* The same weights as without --early-stop, where as many epochs were asked for. */
static void they_are_those_of_a_run_of_as_many_epochs(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++) {
        struct hr_train_options options = stopping(all[i], 3);
        snprintf(options.schedule, sizeof options.schedule, "explore:5");
        struct hr_run_result result = run_train(&options);
        options.epochs = (size_t)result.best.epoch;
        options.early_stop[0] = '\0';
        CHECK_DIGEST(&options, result.weights_digest);
        hr_run_result_free(&result);
    }
}

/* --- killed --- */

struct killer {
    size_t lives; /* calls that it survives */
};

static void strike(struct killer *killer)
{
    if (killer->lives-- == 0)
        raise(SIGKILL);
}

static void at_a_save(void *arg, const char *path)
{
    (void)path;
    strike(arg);
}

static void at_a_point(void *arg, const struct hr_curve_point *point)
{
    (void)point;
    strike(arg);
}

/* In a process of its own, which dies at an evaluation or behind a save; true: it reached the end.
 */
static bool live(struct hr_train_options *options, size_t lives)
{
    int how;
    struct killer killer = {lives};
    const struct hr_observer observer = {
        .arg = &killer, .saved = at_a_save, .evaluated = lives % 2 ? at_a_point : NULL};
    const pid_t pid = fork();
    if (pid == 0) {
        struct hr_run_result result;
        _exit(hr_train(options, run_digits(), &observer, &result) == HR_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how) || WEXITSTATUS(how) == 0);
    return WIFEXITED(how);
}

static void check_killed(struct hr_train_options options, size_t kills)
{
    char folder[64], best[33];
    struct hr_run_result whole = run_train(&options), end;
    size_t done = 0;
    save_to(&options, folder);
    snprintf(options.keep_best, sizeof options.keep_best, "accuracy");
    options.checkpoint_every.steps = 13;
    options.finished_ok = true;
    while (done < kills && !live(&options, 1 + done % 3)) {
        done++;
        if (hr_checkpoint_any(folder))
            snprintf(options.resume, sizeof options.resume, "%s", folder);
    }
    assert_int_equal(done, kills);
    end = run_train(&options);
    digest_of(folder, "best", best);
    assert_string_equal(end.weights_digest, whole.weights_digest);
    assert_string_equal(end.weights_digest, best);
    assert_int_equal(end.ncurve, whole.ncurve);
    assert_true(end.best.epoch == whole.best.epoch && end.best.ended == whole.best.ended);
    assert_true(end.test_loss == whole.test_loss);
    hr_run_result_free(&whole);
    hr_run_result_free(&end);
    run_folder_remove(folder);
}

static void twenty_kills_change_nothing(void **state)
{
    (void)state;
    struct hr_train_options options = stopping("allreduce", 2);
    snprintf(options.early_stop, sizeof options.early_stop, "accuracy,4");
    check_killed(options, 20);
}

/* --- going on --- */

static void it_is_finished_until_there_is_more_patience(void **state)
{
    (void)state;
    char folder[64];
    struct hr_train_options options = stopping("allreduce", 2), patient = options;
    snprintf(patient.early_stop, sizeof patient.early_stop, "accuracy,5");
    struct hr_run_result want = run_train(&patient), got;
    save_to(&options, folder);
    struct hr_run_result first = run_train(&options);
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &got), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "raise its patience to continue"));
    options.finished_ok = true;
    CHECK_DIGEST(&options, first.weights_digest);
    options.epochs = 50; /* nor does this let it go on */
    CHECK_DIGEST(&options, first.weights_digest);
    options.epochs = 40;
    memcpy(options.early_stop, patient.early_stop, sizeof options.early_stop);
    got = run_train(&options);
    assert_true(got.best.ended > first.best.ended);
    assert_string_equal(got.weights_digest, want.weights_digest);
    assert_int_equal(got.ncurve, want.ncurve);
    hr_run_result_free(&want);
    hr_run_result_free(&first);
    hr_run_result_free(&got);
    run_folder_remove(folder);
}

/* A run that ended before it was out of patience goes on from its last weights, not its best. */
static void more_epochs_go_on_from_the_last_weights(void **state)
{
    (void)state;
    char folder[64];
    struct hr_train_options options = stopping("allreduce", 2);
    struct hr_run_result whole = run_train(&options);
    save_to(&options, folder);
    options.epochs = (size_t)whole.best.epoch + 1; /* one behind the best */
    CHECK_DIGEST(&options, whole.weights_digest);
    options.epochs = 40;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    CHECK_DIGEST(&options, whole.weights_digest);
    hr_run_result_free(&whole);
    run_folder_remove(folder);
}

static void check_refused(const struct hr_train_options *options, const char *text)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(options, run_digits(), NULL, &result), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), text));
}

static void another_rule_is_refused(void **state)
{
    (void)state;
    char folder[64];
    struct hr_train_options options = stopping("allreduce", 2);
    save_to(&options, folder);
    options.epochs = 1;
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    options.epochs = 3;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    snprintf(options.early_stop, sizeof options.early_stop, "loss,2");
    check_refused(&options, "it looked for the best by --early-stop accuracy; expected the same");
    snprintf(options.early_stop, sizeof options.early_stop, "accuracy,2,0.5");
    check_refused(&options, "and another MIN-DELTA");
    options.early_stop[0] = '\0';
    result = run_train(&options);
    hr_run_result_free(&result);
    options.epochs = 4;
    snprintf(options.early_stop, sizeof options.early_stop, "accuracy,2");
    check_refused(&options, "was trained without it");
    run_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_kills_change_nothing), /* before there are threads to fork */
        cmocka_unit_test(every_strategy_ends_with_its_best_weights),
        cmocka_unit_test(they_are_those_of_a_run_of_as_many_epochs),
        cmocka_unit_test(it_is_finished_until_there_is_more_patience),
        cmocka_unit_test(more_epochs_go_on_from_the_last_weights),
        cmocka_unit_test(another_rule_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
