/* Every optimizer under every strategy: rungs of the equivalence ladder, resuming, the rate. */
#include <stdio.h>

#include "support/runs.h"

static const char *const all[] = {"allreduce", "ps-sync", "ps-async",
                                  "ssp",       "hogwild", "local-sgd"};
enum { NSTRATEGIES = sizeof all / sizeof *all };

/* Optimizers, and how many of them update without norms. */
static const char *const optimizers[] = {"sgd", "adagrad", "adam", "adamw", "lars", "lamb"};
enum { NOPTIMIZERS = 6, NLOCAL = 4 };

static void choose(struct hr_train_options *options, size_t optimizer, double clip_norm)
{
    snprintf(options->optimizer, sizeof options->optimizer, "%s", optimizers[optimizer]);
    options->clip_norm = clip_norm;
}

static void one_worker_is_serial_whatever_the_optimizer(void **state)
{
    (void)state;
    for (size_t o = 0; o < 2 * NOPTIMIZERS; o++) {
        char serial[33];
        struct hr_train_options options = run_options("allreduce", 1);
        choose(&options, o / 2, o % 2 ? 0.5 : 0);
        options.max_steps = 20;
        run_digest(&options, serial);
        for (size_t i = 1; i < NSTRATEGIES; i++) {
            snprintf(options.strategy, sizeof options.strategy, "%s", all[i]);
            CHECK_DIGEST(&options, serial);
        }
    }
}

/* Fused (direct), apart (master-worker), one shard, and two where no norm is needed. */
static void fused_apart_and_served_agree_whatever_the_optimizer(void **state)
{
    (void)state;
    for (size_t o = 0; o < 2 * NOPTIMIZERS; o++) {
        char want[33];
        struct hr_train_options options = run_options("allreduce", 3);
        choose(&options, o / 2, o % 2 ? 0.5 : 0);
        options.nesterov = true;
        options.max_steps = 20;
        run_digest(&options, want);
        snprintf(options.algorithm, sizeof options.algorithm, "master-worker");
        CHECK_DIGEST(&options, want);
        options = run_options("ps-sync", 3);
        choose(&options, o / 2, o % 2 ? 0.5 : 0);
        options.nesterov = true;
        options.max_steps = 20;
        CHECK_DIGEST(&options, want);
        options.servers = 2;
        if (o / 2 < NLOCAL && o % 2 == 0)
            CHECK_DIGEST(&options, want);
    }
}

/* Each option of an update changes the weights, or it would not be obeyed. */
static void options_of_an_update_are_obeyed(void **state)
{
    (void)state;
    for (size_t o = 0; o < NOPTIMIZERS; o++) {
        char digest[5][33];
        for (size_t change = 0; change < 5; change++) {
            struct hr_train_options options = run_options("allreduce", 2);
            choose(&options, o, change == 1 ? 0.1 : 0);
            options.max_steps = 5;
            options.weight_decay = change == 2 ? 0.5 : 0.05; /* without any, lars undoes clipping */
            options.trust_coefficient = change == 3 ? 0.1 : 0.001;
            options.momentum = change == 3 ? 0.5 : 0.9;
            options.beta1 = change == 3 ? 0.5 : 0.9;
            options.eps = change == 3 ? 0.1 : 1e-8;
            snprintf(options.scale_lr, sizeof options.scale_lr, "%s",
                     change == 4 ? "sqrt" : "none");
            run_digest(&options, digest[change]);
            for (size_t before = 0; before < change; before++)
                assert_string_not_equal(digest[change], digest[before]);
        }
    }
}

/* Norms are folded by flat index, so under --reduce repro they know no number of workers either. */
static void norms_do_not_depend_on_the_number_of_workers(void **state)
{
    (void)state;
    for (size_t o = NLOCAL; o < NOPTIMIZERS; o++) {
        char want[33] = "";
        for (size_t workers = 1; workers <= 4; workers *= 2) {
            struct hr_train_options options = run_options("allreduce", workers);
            choose(&options, o, 0.5);
            snprintf(options.reduce, sizeof options.reduce, "repro");
            options.global_batch_size = 100;
            options.epochs = 1;
            if (workers == 1)
                run_digest(&options, want);
            else
                CHECK_DIGEST(&options, want);
        }
    }
}

/* State and its number of updates are both gone on with: adam's first steps depend on the latter
 * most. */
static void every_optimizer_resumes(void **state)
{
    (void)state;
    for (size_t o = 0; o < NOPTIMIZERS; o++)
        for (size_t i = 0; i < NSTRATEGIES; i++) {
            char want[33];
            struct hr_train_options options = run_options(all[i], i < 2 ? 3 : 1);
            choose(&options, o, i % 2 ? 0.5 : 0);
            options.epochs = 1;
            run_digest(&options, want);
            run_check_resume(options, 3, want);
        }
}

static void another_optimizer_cannot_resume(void **state)
{
    (void)state;
    char folder[64];
    struct hr_run_result result;
    run_folder_make(folder);
    struct hr_train_options options = run_options("allreduce", 2);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.max_steps = 3;
    result = run_train(&options);
    hr_run_result_free(&result);
    options.max_steps = 0;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    snprintf(options.optimizer, sizeof options.optimizer, "adam");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--optimizer sgd, this run has adam");
    run_folder_remove(folder);
}

/* 32 samples per update over a base of 8, under sqrt; one worker's 16 in an asynchronous run. */
static void the_rate_is_scaled_with_the_samples_of_an_update(void **state)
{
    (void)state;
    static const struct {
        const char *strategy, *how, *async;
        size_t base;
        double lr;
    } cases[] = {
        {"allreduce", "sqrt", "same", 8, 0.2},   {"allreduce", "linear", "divide", 8, 0.4},
        {"allreduce", "linear", "same", 0, 0.2}, {"allreduce", "none", "same", 8, 0.1},
        {"ps-async", "linear", "same", 8, 0.2},  {"ps-async", "linear", "divide", 8, 0.1},
        {"ps-async", "linear", "same", 0, 0.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_train_options options = run_options(cases[i].strategy, 2);
        snprintf(options.scale_lr, sizeof options.scale_lr, "%s", cases[i].how);
        snprintf(options.lr_schedule, sizeof options.lr_schedule, "constant");
        snprintf(options.async_lr, sizeof options.async_lr, "%s", cases[i].async);
        options.warmup_epochs = 0;
        options.lr = 0.1;
        options.base_batch_size = cases[i].base;
        options.max_steps = 2;
        struct hr_run_result result = run_train(&options);
        CHECK_NEAR(result.lr, cases[i].lr, 1e-6, 0);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_is_serial_whatever_the_optimizer),
        cmocka_unit_test(fused_apart_and_served_agree_whatever_the_optimizer),
        cmocka_unit_test(norms_do_not_depend_on_the_number_of_workers),
        cmocka_unit_test(options_of_an_update_are_obeyed),
        cmocka_unit_test(every_optimizer_resumes),
        cmocka_unit_test(another_optimizer_cannot_resume),
        cmocka_unit_test(the_rate_is_scaled_with_the_samples_of_an_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
