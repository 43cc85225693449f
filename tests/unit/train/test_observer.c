/* What a run's observer is told of steps adds up to what the result says, under every strategy and
 * clock, and changes no bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/runs.h"

enum { WORKERS = 3, EPOCHS = 2, STEPS_MOST = 4096, STALE = 512 };

/* What was told. */
struct heard {
    uint64_t last_epoch[WORKERS];
    uint64_t steps, samples, dropped, newest, stale_updates, stale[STALE];
    double time[WORKERS][4], seconds[WORKERS];
    double epoch_loss[EPOCHS + 1], epoch_samples[EPOCHS + 1]; /* of steps, from 1 */
    uint8_t seen[STEPS_MOST];
    size_t points, saves, saved, lost;
    uint64_t measured; /* the step of the last point */
    bool slow;         /* workers get ahead of who listens */
    char wrong[160];   /* "": nothing */
    double point_loss[EPOCHS + 1];
};

static void complain(struct heard *heard, const char *what, uint64_t step)
{
    if (!heard->wrong[0])
        snprintf(heard->wrong, sizeof heard->wrong, "step %llu: %s", (unsigned long long)step,
                 what);
}

static void hear_step(void *arg, const struct hr_step_report *step)
{
    struct heard *heard = arg;
    const double spent[] = {step->load_s, step->compute_s, step->communicate_s, step->wait_s};
    if (step->worker >= WORKERS || step->step < 1 || step->step > STEPS_MOST ||
        step->epoch <= heard->points || step->epoch > EPOCHS) {
        complain(heard, "out of range", step->step);
        return;
    }
    if (step->epoch > heard->points + 1)
        complain(heard, "before the evaluation of the epoch before", step->step);
    if (heard->slow && heard->steps % 64 == 0)
        usleep(50000);
    if (heard->seen[step->step - 1]++ >= WORKERS)
        complain(heard, "told too often", step->step);
    if (step->seconds < heard->seconds[step->worker])
        complain(heard, "it goes back in time", step->step);
    if (!(step->lr > 0) || (step->batch && (!(step->norm > 0) || !(step->loss > 0))))
        complain(heard, "no norm, rate or loss", step->step);
    heard->seconds[step->worker] = step->seconds;
    heard->last_epoch[step->worker] = step->epoch;
    heard->steps++;
    heard->newest = step->step > heard->newest ? step->step : heard->newest;
    for (size_t i = 0; i < 4; i++)
        heard->time[step->worker][i] += spent[i];
    heard->dropped += step->dropped;
    if (step->dropped)
        return;
    heard->samples += step->batch;
    heard->epoch_samples[step->epoch] += (double)step->batch;
    heard->epoch_loss[step->epoch] += step->batch ? step->loss * (double)step->batch : 0;
    if (step->staleness < 0 || step->staleness >= STALE)
        return;
    heard->stale_updates++;
    heard->stale[step->staleness]++;
}

static void hear_point(void *arg, const struct hr_curve_point *point)
{
    struct heard *heard = arg;
    heard->point_loss[heard->points++] = point->train_loss;
    heard->measured = point->step;
}

static void hear_saving(void *arg, uint64_t step)
{
    struct heard *heard = arg;
    heard->saves++;
    if (step < heard->newest)
        complain(heard, "a save of a step before it", step);
}

static void hear_saved(void *arg, const char *path)
{
    struct heard *heard = arg;
    (void)path;
    heard->saved++;
}

static struct hr_run_result listen_as(const struct hr_train_options *options, struct heard *heard,
                                      bool slow)
{
    struct hr_run_result result;
    const struct hr_observer observer = {.arg = heard,
                                         .stepped = hear_step,
                                         .evaluated = hear_point,
                                         .saving = hear_saving,
                                         .saved = hear_saved};
    *heard = (struct heard){.slow = slow};
    CHECK_OK(hr_train(options, run_digits(), &observer, &result));
    assert_string_equal(heard->wrong, "");
    return result;
}

static struct hr_run_result listen(const struct hr_train_options *options, struct heard *heard)
{
    return listen_as(options, heard, false);
}

/* A worker that finds no batch in the last epoch has waited, and has no step to tell it with. */
static void check_times(const struct heard *heard, const struct hr_run_result *result)
{
    for (size_t w = 0; w < result->nworker_times; w++) {
        if (heard->last_epoch[w] < EPOCHS)
            continue;
        const struct hr_worker_time *time = &result->worker_time[w];
        CHECK_NEAR(heard->time[w][0], time->load_s, 1e-9, 1e-9);
        CHECK_NEAR(heard->time[w][1], time->compute_s, 1e-9, 1e-9);
        CHECK_NEAR(heard->time[w][2], time->communicate_s, 1e-9, 1e-9);
        CHECK_NEAR(heard->time[w][3], time->wait_s, 1e-9, 1e-9);
        assert_true(heard->seconds[w] <= result->seconds + 1e-9);
    }
}

static void check_all(const struct heard *heard, const struct hr_run_result *result)
{
    assert_int_equal(heard->samples, result->samples);
    assert_int_equal(heard->dropped, result->dropped);
    assert_int_equal(heard->newest, result->steps);
    assert_int_equal(heard->measured, result->steps);
    check_times(heard, result);
    assert_int_equal(heard->points, result->ncurve);
    for (size_t e = 0; e < heard->points; e++)
        CHECK_NEAR(heard->epoch_loss[e + 1] / heard->epoch_samples[e + 1], heard->point_loss[e],
                   1e-12, 0);
    if (result->stale_updates) {
        assert_int_equal(heard->stale_updates, result->stale_updates);
        for (size_t s = 0; s < STALE; s++)
            assert_int_equal(heard->stale[s], result->stale[s]);
    }
}

static const char *const strategies[] = {
    "allreduce", "ps-sync",           "ps-async",       "ssp",   "hogwild",
    "local-sgd", "elastic-averaging", "backup-workers", "gossip"};

enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static struct hr_train_options options_of(const char *strategy)
{
    struct hr_train_options options = run_options(strategy, WORKERS);
    options.epochs = EPOCHS;
    if (!strcmp(strategy, "backup-workers"))
        options.backups = 1;
    return options;
}

static void steps_add_up_in_real_time(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        struct heard heard;
        struct hr_train_options options = options_of(strategies[s]);
        struct hr_run_result result = listen(&options, &heard);
        check_all(&heard, &result);
        hr_run_result_free(&result);
        snprintf(options.launch, sizeof options.launch, "process");
        result = listen(&options, &heard);
        check_all(&heard, &result);
        hr_run_result_free(&result);
    }
}

static void who_listens_slowly_hears_epochs_apart(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        struct heard heard;
        const struct hr_train_options options = options_of(strategies[s]);
        struct hr_run_result result = listen_as(&options, &heard, true);
        check_all(&heard, &result);
        hr_run_result_free(&result);
    }
}

static void steps_add_up_where_one_thread_plays_all(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++)
        for (int explored = 0; explored < 2; explored++) {
            struct heard heard;
            char digest[33];
            struct hr_train_options options = options_of(strategies[s]);
            snprintf(options.clock, sizeof options.clock, explored ? "real" : "virtual");
            if (explored)
                snprintf(options.schedule, sizeof options.schedule, "explore:3");
            run_digest(&options, digest);
            struct hr_run_result result = listen(&options, &heard);
            check_all(&heard, &result);
            assert_string_equal(result.weights_digest, digest);
            hr_run_result_free(&result);
        }
}

/* The last batch of an epoch leaves most workers without a sample: one of them is late. */
static void a_late_share_of_no_sample_is_told_as_dropped(void **state)
{
    (void)state;
    struct heard heard;
    struct hr_train_options options = options_of("backup-workers");
    options.epoch_size = options.workers * options.batch_size + 1;
    snprintf(options.clock, sizeof options.clock, "virtual");
    struct hr_run_result result = listen(&options, &heard);
    assert_int_equal(result.dropped, 2 * EPOCHS);
    check_all(&heard, &result);
    hr_run_result_free(&result);
}

/* More steps than a ring has room for, told by one thread or by several. */
static void a_full_ring_loses_nothing(void **state)
{
    (void)state;
    for (int played = 0; played < 2; played++) {
        struct heard heard;
        struct hr_train_options options = options_of("hogwild");
        options.workers = 1;
        options.batch_size = 1;
        options.epoch_size = 1500;
        snprintf(options.clock, sizeof options.clock, played ? "virtual" : "real");
        struct hr_run_result result = listen(&options, &heard);
        check_all(&heard, &result);
        assert_int_equal(heard.steps, 3000);
        hr_run_result_free(&result);
    }
}

static void a_save_comes_behind_its_steps(void **state)
{
    (void)state;
    char folder[64];
    struct heard heard;
    struct hr_train_options options = options_of("ps-async");
    run_folder_make(folder);
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.checkpoint_every.steps = 7;
    struct hr_run_result result = listen(&options, &heard);
    check_all(&heard, &result);
    assert_int_equal(heard.saves, result.saves.written);
    assert_int_equal(heard.saved, result.saves.written);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

static void hear_lost(void *arg, const struct hr_loss *loss)
{
    struct heard *heard = arg;
    if (loss->rank != 1 || loss->step != 5 || !strstr(loss->how, "killed"))
        complain(heard, "another loss", loss->step);
    heard->lost++;
    if (loss->rolled_back)
        memset(heard->seen, 0, sizeof heard->seen);
}

/* What became of the gradient that it had in its hands is in the result alone: no step is told of
 * it. Samples that were told may be computed again. */
static void a_lost_worker_is_told_of(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++) {
        struct heard heard = {.steps = 0};
        struct hr_run_result result;
        struct hr_train_options options = options_of(strategies[s]);
        const struct hr_observer observer = {
            .arg = &heard, .stepped = hear_step, .evaluated = hear_point, .lost = hear_lost};
        snprintf(options.clock, sizeof options.clock, "virtual");
        snprintf(options.on_loss, sizeof options.on_loss, "continue");
        snprintf(options.inject, sizeof options.inject, "kill:1@step=5");
        CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
        assert_string_equal(heard.wrong, "");
        assert_int_equal(heard.lost, 1);
        assert_int_equal(heard.measured, result.steps); /* though nobody told of it */
        assert_in_range(heard.samples, result.samples - 16,
                        result.samples + result.losses[0].lost_samples +
                            result.losses[0].again_samples);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_add_up_in_real_time),
        cmocka_unit_test(who_listens_slowly_hears_epochs_apart),
        cmocka_unit_test(steps_add_up_where_one_thread_plays_all),
        cmocka_unit_test(a_late_share_of_no_sample_is_told_as_dropped),
        cmocka_unit_test(a_full_ring_loses_nothing),
        cmocka_unit_test(a_save_comes_behind_its_steps),
        cmocka_unit_test(a_lost_worker_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
