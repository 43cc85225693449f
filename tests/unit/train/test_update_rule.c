/* A rule of the caller's own: where it repeats sgd it gives sgd's bits, whoever updates. */
#include <stdio.h>
#include <string.h>

#include "support/ranks.h"
#include "support/traces.h"

static void heavy_ball(void *arg, const struct hr_update *what, float *weights, float *const *state,
                       const float *gradient)
{
    const float momentum = *(const float *)arg;
    for (size_t i = 0; i < what->count; i++) {
        state[0][i] = momentum * state[0][i] + gradient[i];
        weights[i] -= what->lr * state[0][i];
    }
}

static float momentum = 0.9f;
static const struct hr_update_rule ball = {"ball", heavy_ball, &momentum, 1, 0.05};

/* A run with sgd, and the same with the rule in its place. */
static struct hr_train_options sgd_options(const char *strategy, size_t workers)
{
    struct hr_train_options options = run_options(strategy, workers);
    options.weight_decay = 0;
    options.max_steps = 20;
    return options;
}

static void check_as_sgd(struct hr_train_options options)
{
    char want[33];
    run_digest(&options, want);
    options.update_rule = &ball;
    CHECK_DIGEST(&options, want);
}

static void set(char *field, size_t size, const char *value)
{
    snprintf(field, size, "%s", value);
}
#define SET(field, value) set(options.field, sizeof options.field, value)

/* Whoever forks must not have used BLAS before, so these are first. */
static void it_is_called_in_processes(void **state)
{
    (void)state;
    static const char *const names[] = {"allreduce", "ps-sync", "local-sgd"};
    struct hr_run_result result;
    char digest[3][33];
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    for (size_t i = 0; i < 3; i++) {
        struct hr_train_options options = sgd_options(names[i], 3);
        SET(launch, "process");
        options.update_rule = &ball;
        run_digest(&options, digest[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        const struct hr_train_options options = sgd_options(names[i], 3);
        result = run_train(&options);
        assert_string_equal(result.weights_digest, digest[i]);
        hr_run_result_free(&result);
    }
}

static void synchronous_updates_are_sgds(void **state)
{
    (void)state;
    static const char *const names[] = {"allreduce", "ps-sync", "local-sgd"};
    for (size_t i = 0; i < 3; i++)
        for (size_t workers = 1; workers <= 4; workers++) {
            struct hr_train_options options = sgd_options(names[i], workers);
            options.servers = workers;
            check_as_sgd(options);
            SET(algorithm, "master-worker"); /* apart, and not fused */
            check_as_sgd(options);
        }
}

static void one_workers_updates_are_sgds(void **state)
{
    (void)state;
    static const char *const names[] = {"ps-async", "ssp", "hogwild", "elastic-averaging",
                                        "backup-workers"};
    for (size_t i = 0; i < 5; i++) {
        struct hr_train_options options = sgd_options(names[i], 1);
        options.backups = 0;
        check_as_sgd(options);
    }
}

/* In the same order of messages, stale updates among them. */
static void several_workers_updates_are_sgds(void **state)
{
    (void)state;
    static const char *const names[] = {"ps-async", "ssp", "hogwild", "elastic-averaging",
                                        "backup-workers"};
    for (size_t i = 0; i < 5; i++) {
        struct hr_train_options options = sgd_options(names[i], 4);
        SET(schedule, "explore:5");
        SET(staleness_lr, i < 3 ? "inverse" : "none");
        options.delay_compensation = i < 3 ? 0.5 : 0;
        check_as_sgd(options);
        SET(schedule, "free");
        SET(clock, "virtual");
        check_as_sgd(options);
    }
}

/* The norm is that of the whole gradient; running means are no weights. */
static void it_is_given_clipped_gradients_of_weights_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"allreduce", "ps-sync", "hogwild"};
    for (size_t i = 0; i < 3; i++) {
        char clipped[33], free[33];
        struct hr_train_options options = sgd_options(names[i], i < 2 ? 3 : 1);
        SET(model, "flatten, dense 11, batchnorm, relu, dense 10");
        check_as_sgd(options);
        options.clip_norm = 0.1;
        check_as_sgd(options);
        run_digest(&options, clipped);
        options.clip_norm = 0;
        run_digest(&options, free);
        assert_string_not_equal(clipped, free);
    }
}

/* --- what it is told --- */

struct told {
    size_t params, wrong;
    size_t covered;  /* of the update in hand: slices come in order where one thread makes them */
    uint64_t number; /* of it */
    float lr;
};

static void listen(void *arg, const struct hr_update *what, float *weights, float *const *state,
                   const float *gradient)
{
    struct told *told = arg;
    (void)weights, (void)state, (void)gradient;
    if (told->covered == told->params || told->number == 0) {
        told->covered = 0;
        told->number++;
    }
    told->wrong += what->first != told->covered || what->number != told->number ||
                   what->samples != 16 || what->lr < told->lr || what->lr > told->lr;
    told->covered += what->count;
}

static void it_is_told_slice_number_rate_and_samples(void **state)
{
    (void)state;
    struct told told = {.params = 64 * 11 + 11 + 11 * 10 + 10, .lr = 0.25f};
    const struct hr_update_rule rule = {"listens", listen, &told, 0, 0.25};
    struct hr_train_options options = sgd_options("ps-sync", 1);
    SET(lr_schedule, "constant");
    options.warmup_epochs = 0;
    options.update_rule = &rule;
    struct hr_run_result result = run_train(&options);
    assert_int_equal(result.params, told.params);
    assert_int_equal(told.wrong, 0);
    assert_int_equal(told.number, 20);
    assert_int_equal(told.covered, told.params);
    assert_string_equal(result.optimizer, "own:listens");
    hr_run_result_free(&result);
}

/* --- resumed and replayed --- */

static void its_state_is_saved_and_resumed(void **state)
{
    (void)state;
    static const char *const names[] = {"allreduce", "ps-sync", "hogwild", "local-sgd"};
    for (size_t i = 0; i < 4; i++) {
        char want[33];
        struct hr_train_options options = sgd_options(names[i], i < 2 ? 3 : 1);
        options.max_steps = 0;
        options.epochs = 1;
        options.update_rule = &ball;
        run_digest(&options, want);
        run_check_resume(options, 3, want);
    }
}

static void nobody_else_resumes_its_run(void **state)
{
    (void)state;
    static const struct hr_update_rule other = {"other", heavy_ball, &momentum, 1, 0.05};
    struct hr_run_result result;
    char folder[64];
    run_folder_make(folder);
    struct hr_train_options options = sgd_options("allreduce", 2);
    set(options.checkpoint_dir, sizeof options.checkpoint_dir, folder);
    options.update_rule = &ball;
    result = run_train(&options);
    hr_run_result_free(&result);
    options.max_steps = 0;
    set(options.resume, sizeof options.resume, folder);
    options.update_rule = &other;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--optimizer own:ball, this run has own:other");
    options.update_rule = NULL;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--optimizer own:ball, this run has sgd");
    run_folder_remove(folder);
}

static void its_recorded_run_is_replayed_with_it_and_not_without(void **state)
{
    (void)state;
    static const char *const names[] = {"ps-async", "hogwild", "allreduce"};
    for (size_t i = 0; i < 3; i++) {
        char digest[33];
        struct hr_replay *replay;
        struct hr_run_result result;
        struct hr_train_options options = sgd_options(names[i], 3);
        options.update_rule = &ball;
        trace_record("t", options, digest);
        trace_refused("t", HR_E_USAGE, "--optimizer own:ball: is an update rule of the program");
        CHECK_OK(hr_replay_open(scratch("t"), &replay));
        replay->options.update_rule = &ball;
        CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
        assert_string_equal(result.weights_digest, digest);
        hr_run_result_free(&result);
        hr_replay_close(replay);
    }
}

/* --- refused --- */

static void check_refused(const struct hr_train_options *options, const char *message)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE(message);
    CHECK_FAILS(hr_train_check(options, run_digits()), HR_E_USAGE);
}

static void what_is_no_rule_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct hr_update_rule rule;
        const char *message;
    } cases[] = {
        {{NULL, heavy_ball, NULL, 1, 0.1}, "an update rule's name"},
        {{"", heavy_ball, NULL, 1, 0.1}, "an update rule's name"},
        {{"a b", heavy_ball, NULL, 1, 0.1}, "an update rule's name"},
        {{"abcdefghijklmnopqrstuvwxyz12", heavy_ball, NULL, 1, 0.1}, "an update rule's name"},
        {{"x", NULL, NULL, 1, 0.1}, "update rule x: expected a function"},
        {{"x", heavy_ball, NULL, 5, 0.1}, "update rule x: expected a function, at most 4 states"},
        {{"x", heavy_ball, NULL, 1, -1}, "update rule x: expected a function"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_train_options options = sgd_options("allreduce", 2);
        options.update_rule = &cases[i].rule;
        check_refused(&options, cases[i].message);
    }
}

static void what_it_is_not_told_is_refused(void **state)
{
    (void)state;
    struct hr_train_options options = sgd_options("allreduce", 2);
    options.update_rule = &ball;
    options.weight_decay = 0.1;
    check_refused(&options, "update rule ball: has no weight_decay, eps or nesterov but its own");
    options = sgd_options("allreduce", 2);
    options.update_rule = &ball;
    SET(optimizer, "adam");
    check_refused(&options, "update rule ball: stands in place of --optimizer adam");
}

/* Norms are those of the whole gradient, however many servers share it. */
static void several_servers_clip_as_one(void **state)
{
    (void)state;
    struct hr_run_result of[2];
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options options = sgd_options("ps-sync", 2);
        options.update_rule = &ball;
        options.servers = i + 1;
        options.clip_norm = 0.1;
        CHECK_OK(hr_train(&options, run_digits(), NULL, &of[i]));
    }
    assert_string_equal(of[0].weights_digest, of[1].weights_digest);
    hr_run_result_free(&of[0]);
    hr_run_result_free(&of[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_called_in_processes),
        cmocka_unit_test(synchronous_updates_are_sgds),
        cmocka_unit_test(one_workers_updates_are_sgds),
        cmocka_unit_test(several_workers_updates_are_sgds),
        cmocka_unit_test(it_is_given_clipped_gradients_of_weights_alone),
        cmocka_unit_test(it_is_told_slice_number_rate_and_samples),
        cmocka_unit_test(its_state_is_saved_and_resumed),
        cmocka_unit_test(nobody_else_resumes_its_run),
        cmocka_unit_test(its_recorded_run_is_replayed_with_it_and_not_without),
        cmocka_unit_test(what_is_no_rule_is_refused),
        cmocka_unit_test(what_it_is_not_told_is_refused),
        cmocka_unit_test(several_servers_clip_as_one),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
