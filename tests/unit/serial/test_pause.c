/* A save of an asynchronous run that one process runs is a pure read, and holds the state exactly:
 * whole updates, every sample once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/steps.h"
#include "session/saved.h"
#include "support/cases.h"
#include "support/traces.h"

static const char *const paused[] = {"ps-async", "ssp", "hogwild", "elastic-averaging"};
enum { NPAUSED = sizeof paused / sizeof *paused, EPOCH = 110, BATCH = 4 };

static bool has_servers(const struct hr_train_options *options)
{
    return strcmp(options->strategy, "hogwild") != 0;
}

/* A run of 2 epochs of 28 minibatches, the last of 2 samples. */
static struct hr_train_options options_of(const char *strategy, size_t workers)
{
    struct hr_train_options options = run_options(strategy, workers);
    options.epoch_size = EPOCH;
    options.batch_size = BATCH;
    return options;
}

/* Anything that such a run may be, as a function of its number. */
static struct hr_train_options random_options(uint64_t number)
{
    static const char *const optimizers[] = {"sgd", "adam", "lamb"};
    struct draws draws = {.seed = check_seed(), .index = number};
    struct hr_train_options options = options_of(paused[number % NPAUSED], 2 + draw(&draws, 5));
    options.servers = has_servers(&options) ? 1 + draw(&draws, 3) : 1;
    snprintf(options.optimizer, sizeof options.optimizer, "%s",
             optimizers[draw(&draws, options.servers > 1 ? 2 : 3)]);
    options.sync_every = 1 + draw(&draws, 5);
    options.staleness = 1 + draw(&draws, 4);
    options.seed = number;
    options.delay_compensation = draw(&draws, 3) || !strcmp(options.strategy, paused[3]) ? 0 : 0.5;
    if (has_servers(&options) && draw(&draws, 4) == 0) {
        snprintf(options.placement, sizeof options.placement, "colocated");
        options.servers = 1;
    }
    return options;
}

static void explore(struct hr_train_options *options, uint64_t seed)
{
    snprintf(options->schedule, sizeof options->schedule, "explore:%llu", (unsigned long long)seed);
}

static void simulate(struct hr_train_options *options)
{
    snprintf(options->clock, sizeof options->clock, "virtual");
    snprintf(options->compute_time, sizeof options->compute_time, "lognormal(10ms,0.5)");
    if (has_servers(options))
        snprintf(options->link, sizeof options->link, "%s", "1MB/s,1ms");
}

static void save_to(struct hr_train_options *options, const char *folder, uint64_t every)
{
    snprintf(options->checkpoint_dir, sizeof options->checkpoint_dir, "%s", scratch(folder));
    options->checkpoint_every.steps = every;
    options->overwrite = true;
    options->keep = 1000;
}

/* --- nothing changes --- */

static void a_run_that_is_saved_has_the_bits_of_one_that_never_was(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < check_count(16, 1000); i++) {
        char want[33];
        struct hr_train_options options = random_options(i);
        if (i / NPAUSED % 2)
            simulate(&options);
        else
            explore(&options, i);
        run_digest(&options, want);
        save_to(&options, "saved", 3);
        CHECK_DIGEST(&options, want);
        if (options.sync_every < 4)
            assert_true(scratch_entries("saved") > 8);
    }
}

static void seconds_and_staleness_are_those_of_a_run_that_never_was_saved(void **state)
{
    (void)state;
    for (size_t s = 0; s < NPAUSED; s++) {
        struct hr_train_options options = options_of(paused[s], 4);
        simulate(&options);
        struct hr_run_result never = run_train(&options);
        save_to(&options, "saved", 3);
        struct hr_run_result saved = run_train(&options);
        assert_memory_equal(&saved.seconds, &never.seconds, sizeof saved.seconds);
        assert_int_equal(saved.stale_sum, never.stale_sum);
        assert_int_equal(saved.stale_max, never.stale_max);
        assert_int_equal(saved.max_skew, never.max_skew);
        assert_int_equal(saved.updates, never.updates);
        assert_memory_equal(&saved.train_loss, &never.train_loss, sizeof saved.train_loss);
        hr_run_result_free(&never);
        hr_run_result_free(&saved);
    }
}

/* --- every sample once --- */

struct saved {
    uint64_t position, samples, updates, applied, batches; /* batches: in hand */
    double in_hand;                                        /* samples */
};

static struct saved look_into(const char *path)
{
    struct hr_checkpoint checkpoint;
    struct saved saved = {0};
    uint64_t epoch;
    const double *rows;
    size_t n;
    CHECK_OK(hr_checkpoint_load(path, &checkpoint));
    CHECK_OK(hr_saved_count(&checkpoint, "epoch", &epoch));
    CHECK_OK(hr_saved_count(&checkpoint, "position", &saved.position));
    CHECK_OK(hr_saved_count(&checkpoint, "samples", &saved.samples));
    CHECK_OK(hr_saved_count(&checkpoint, "updates", &saved.updates));
    CHECK_OK(hr_saved_table(&checkpoint, "in_hand", 2, &n, &rows));
    const struct hr_tensor *steps = hr_tensor_get(&checkpoint.trainer, "step");
    for (size_t i = 0; i < steps->bytes / sizeof(int64_t); i++)
        saved.applied += (uint64_t)((const int64_t *)steps->data)[i];
    for (size_t i = 0; i < n; i++)
        saved.in_hand += rows[2 * i + 1];
    saved.batches = n;
    saved.position += epoch * EPOCH;
    hr_checkpoint_free(&checkpoint);
    return saved;
}

/* What is in it and what is in hand is what was handed out; whoever goes on trains on the rest. */
static void check_samples(struct hr_train_options options, const char *folder, size_t resumes)
{
    struct hr_saved_step *steps;
    size_t n;
    CHECK_OK(hr_steps_list(scratch(folder), &steps, &n));
    options.checkpoint_dir[0] = '\0';
    options.checkpoint_every.steps = 0;
    for (size_t i = 0; i < n; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", scratch(folder), steps[i].name.text);
        const struct saved saved = look_into(path);
        assert_int_equal(saved.samples + (uint64_t)saved.in_hand, saved.position);
        if (!strcmp(options.on_loss, "stop"))
            assert_int_equal(saved.updates, saved.applied);
        if (i % (n / resumes + 1) != 1)
            continue;
        snprintf(options.resume, sizeof options.resume, "%s", path);
        struct hr_run_result result = run_train(&options);
        assert_int_equal(saved.samples + result.samples, options.epochs * EPOCH);
        hr_run_result_free(&result);
    }
    free(steps);
}

static void each_checkpoint_says_what_is_in_hand_and_whoever_goes_on_begins_with_it(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < check_count(8, 400); i++) {
        struct hr_train_options options = random_options(i);
        if (i / NPAUSED % 2)
            simulate(&options);
        else
            explore(&options, i);
        save_to(&options, "saved", 3);
        struct hr_run_result result = run_train(&options);
        hr_run_result_free(&result);
        check_samples(options, "saved", 3);
    }
}

/* --- who looks on --- */

enum { EVERY = 10, LATE_MOST = 256 };

/* Steps that were told though a checkpoint of them, or of later ones, was there already. */
struct listener {
    unsigned patience_us;
    uint64_t saving, nlate;
    struct {
        uint64_t saved, step;
    } late[LATE_MOST];
};

static void hear_saving(void *arg, uint64_t step)
{
    ((struct listener *)arg)->saving = step;
}

static void path_of(uint64_t step, char path[512])
{
    snprintf(path, 512, "%s/step-%08llu", scratch("told"), (unsigned long long)step);
}

/* The writer gets its time: it takes a few milliseconds, or as long as the disk does. */
static void hear_step(void *arg, const struct hr_step_report *step)
{
    struct listener *listener = arg;
    char path[512];
    if (step->step > listener->saving)
        return;
    usleep(listener->patience_us);
    path_of(listener->saving, path);
    if (access(path, F_OK) != 0)
        return;
    assert_in_range(listener->nlate, 0, LATE_MOST - 1);
    listener->late[listener->nlate].saved = listener->saving;
    listener->late[listener->nlate++].step = step->step;
}

static bool is_in_hand(uint64_t saved, uint64_t step)
{
    char path[512];
    struct hr_checkpoint checkpoint;
    const double *rows;
    bool is = false;
    size_t n;
    path_of(saved, path);
    CHECK_OK(hr_checkpoint_load(path, &checkpoint));
    CHECK_OK(hr_saved_table(&checkpoint, "in_hand", 2, &n, &rows));
    for (size_t i = 0; i < n; i++)
        is = is || (rows[2 * i] <= (double)(step - 1) * BATCH &&
                    (double)(step - 1) * BATCH < rows[2 * i] + rows[2 * i + 1]);
    hr_checkpoint_free(&checkpoint);
    return is;
}

/* Whoever keeps a log, and is killed, lacks no step of the checkpoint that it goes on from. */
static void a_checkpoint_is_there_when_all_its_steps_are_told(void **state)
{
    (void)state;
    for (size_t s = 0; s < NPAUSED; s++) {
        struct listener listener = {.patience_us = 10000};
        const struct hr_observer observer = {
            .arg = &listener, .stepped = hear_step, .saving = hear_saving};
        struct hr_train_options options = options_of(paused[s], 3);
        simulate(&options);
        options.epochs = 1;
        options.epoch_size = BATCH * 6 * EVERY;
        save_to(&options, "told", EVERY);
        while (!listener.nlate) {
            struct hr_run_result result;
            listener.patience_us *= 2;
            listener.saving = 0;
            CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
            assert_int_equal(result.saves.written, 6);
            hr_run_result_free(&result);
        }
        for (uint64_t i = 0; i < listener.nlate; i++)
            assert_true(is_in_hand(listener.late[i].saved, listener.late[i].step));
    }
}

static void batches_of_the_lost_are_in_hand(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < check_count(8, 400); i++) {
        char want[33];
        struct hr_train_options options = random_options(i);
        snprintf(options.on_loss, sizeof options.on_loss, "%s", i % 5 ? "restart" : "continue");
        options.max_restarts = 100;
        if (i / NPAUSED % 2) {
            simulate(&options);
            snprintf(options.inject, sizeof options.inject, "kill:1@step=%d,kill:0@time=30ms",
                     (int)(i % 5));
        } else {
            explore(&options, i);
            snprintf(options.inject, sizeof options.inject, "kill:any@p=0.01x3");
        }
        options.workers += 2; /* one is left */
        run_digest(&options, want);
        save_to(&options, "saved", 3);
        CHECK_DIGEST(&options, want);
        options.inject[0] = '\0';
        check_samples(options, "saved", 2);
    }
}

/* --- whole updates --- */

/* One worker's run is serial: what it had in hand is computed from the same weights once more. */
static void one_worker_goes_on_from_anywhere_as_if_it_had_never_stopped(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < check_count(8, 300); i++) {
        char want[33];
        struct hr_saved_step *steps;
        size_t n;
        struct hr_train_options options = options_of(paused[i % NPAUSED], 1);
        options.servers = has_servers(&options) ? 1 + i / NPAUSED % 3 : 1;
        options.sync_every = 1;
        explore(&options, i);
        run_digest(&options, want);
        save_to(&options, "saved", 5);
        CHECK_DIGEST(&options, want);
        CHECK_OK(hr_steps_list(scratch("saved"), &steps, &n));
        options.checkpoint_dir[0] = '\0';
        options.checkpoint_every.steps = 0;
        for (size_t k = 1; k < n; k += 3) {
            snprintf(options.resume, sizeof options.resume, "%s/%s", scratch("saved"),
                     steps[k].name.text);
            CHECK_DIGEST(&options, want);
        }
        free(steps);
    }
}

/* --- replays --- */

/* Returns its replay's checkpoints. */
static void check_saved_replay(const char *trace, const char *digest, const char *folder)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    CHECK_OK(hr_replay_open(scratch(trace), &replay));
    save_to(&replay->options, folder, 3);
    CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
    assert_string_equal(result.weights_digest, digest);
    hr_run_result_free(&result);
    hr_replay_close(replay);
}

static void a_replay_that_is_saved_has_the_bits_of_what_was_recorded(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < check_count(8, 400); i++) {
        char digest[33];
        struct hr_train_options options = random_options(i);
        snprintf(options.record_block, sizeof options.record_block, "4K");
        if (i / NPAUSED % 3 == 1)
            simulate(&options);
        trace_record("t", options, digest);
        CHECK_REPLAY("t", digest);
        check_saved_replay("t", digest, "again");
        /* Where Hogwild leaves gaps all along, or ranges are long, only the end is saved. */
        assert_true(scratch_entries("again") > 1);
        check_samples(options, "again", 2);
    }
}

/* A recorded run in virtual time has no mark of its saves. */
static void a_trace_does_not_tell_whether_the_run_was_saved(void **state)
{
    (void)state;
    for (size_t s = 0; s < NPAUSED; s++) {
        char digest[33];
        struct hr_train_options options = options_of(paused[s], 4);
        simulate(&options);
        trace_record("never", options, digest);
        save_to(&options, "saved", 3);
        trace_record("saved.trace", options, digest);
        CHECK_REPLAY("never", digest);
        CHECK_REPLAY("saved.trace", digest);
        check_saved_replay("saved.trace", digest, "again");
    }
}

int main(void)
{
    setenv("TMPDIR", "/dev/shm", 0); /* a checkpoint is synced: here that takes no disk */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_saved_has_the_bits_of_one_that_never_was),
        cmocka_unit_test(seconds_and_staleness_are_those_of_a_run_that_never_was_saved),
        cmocka_unit_test(each_checkpoint_says_what_is_in_hand_and_whoever_goes_on_begins_with_it),
        cmocka_unit_test(a_checkpoint_is_there_when_all_its_steps_are_told),
        cmocka_unit_test(batches_of_the_lost_are_in_hand),
        cmocka_unit_test(one_worker_goes_on_from_anywhere_as_if_it_had_never_stopped),
        cmocka_unit_test(a_replay_that_is_saved_has_the_bits_of_what_was_recorded),
        cmocka_unit_test(a_trace_does_not_tell_whether_the_run_was_saved),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
