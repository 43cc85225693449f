/* Hogwild on each of several machines, averaged between them (strategies/hogwild_averaged.c); the
 * machines are forked processes joined by sockets. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

enum { TRAINED = 1438 /* samples of digits */ };

static struct hr_train_options options_of(const char *strategy, size_t workers, size_t every)
{
    struct hr_train_options o = run_options(strategy, workers);
    o.timeout = 30;
    o.sync_every = every;
    return o;
}

/* A step's rate does not follow from its place, and all workers have as many steps. */
static struct hr_train_options even_options(const char *strategy, size_t workers, size_t every)
{
    struct hr_train_options o = options_of(strategy, workers, every);
    snprintf(o.lr_schedule, sizeof o.lr_schedule, "constant");
    o.warmup_epochs = 0;
    o.epoch_size = 1344; /* 84 minibatches: of 2, 3 or 4 workers */
    return o;
}

/* A Hogwild of one worker is that worker, momentum and all; the last period of an epoch is short.
 */
static void with_a_worker_a_machine_it_is_local_sgd_bit_for_bit(void **state)
{
    static const char *const optimizers[] = {"sgd", "adam"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        for (size_t machines = 2; machines <= 4; machines++) {
            struct hr_train_options o = even_options("local-sgd", machines, 3);
            snprintf(o.optimizer, sizeof o.optimizer, "%s", optimizers[i]);
            snprintf(o.freeze, sizeof o.freeze, "1.*"); /* a mean of three is no copy */
            const struct said local = multinode_alone(&o, dataset);
            snprintf(o.strategy, sizeof o.strategy, "hogwild");
            const struct said hogwild = multinode_alike(machines, &o, dataset);
            assert_string_equal(hogwild.digest, local.digest);
            assert_true(hogwild.digest[0]);
            assert_int_equal(hogwild.samples, local.samples);
            assert_true(hogwild.accuracy >= local.accuracy && hogwild.accuracy <= local.accuracy);
            assert_int_equal(hogwild.updates, machines * local.updates); /* of each; of the mean */
        }
}

/* The mean of w - lr g_m is w - lr (mean of g_m). */
static void averaged_at_every_step_it_is_allreduce_to_rounding(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = even_options("allreduce", 2, 1);
    o.momentum = 0;
    const struct said sum = multinode_alone(&o, dataset);
    snprintf(o.strategy, sizeof o.strategy, "hogwild");
    const struct said mean = multinode_alike(2, &o, dataset);
    const double difference = mean.loss - sum.loss;
    if (difference > 1e-4 * sum.loss || difference < -1e-4 * sum.loss)
        fail_msg("train loss %.9g and %.9g", mean.loss, sum.loss);
    assert_int_equal(mean.ncurve, sum.ncurve);
}

static void note_accounts(const struct hr_run_result *result, struct said *mine)
{
    mine->note[0] = (double)result->stale_max;
    mine->note[1] = (double)result->watched_lines;
    mine->note[2] = result->load_s + result->compute_s + result->communicate_s + result->wait_s -
                    result->seconds * (double)result->workers;
    mine->note[3] = (double)result->interrupted;
    mine->note[4] = (double)result->steps;
    snprintf(mine->text, sizeof mine->text, "%.60s", result->manner);
}

/* That machines' weights are equal is checked at each cut, of the run itself. Updates of all
 * machines are counted, and looked at for lost ones; so is the time of all workers. */
static void every_sample_is_trained_on_once_an_epoch(void **state)
{
    static const struct {
        size_t machines, workers, every;
    } cases[] = {{2, 4, 1}, {2, 6, 4}, {4, 8, 2}, {2, 4, 1000}};
    const struct hr_dataset *dataset = *state;
    multinode_hook(&(struct multinode_hooks){.ended = note_accounts});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct hr_train_options o = options_of("hogwild", cases[i].workers, cases[i].every);
        const struct said all = multinode_alike(cases[i].machines, &o, dataset);
        const uint64_t batches = 2 * ((TRAINED + 15) / 16); /* epochs; 90, the last of 14 */
        assert_int_equal(all.samples, 2 * TRAINED);
        assert_int_equal(all.updates, batches);
        assert_int_equal(all.stale_updates, batches);
        assert_true(all.note[1] >= (double)batches && all.note[1] <= (double)batches);
        assert_true(all.note[2] < 1e-3 && all.note[2] > -1e-3);
        assert_non_null(strstr(all.text, ", machines averaged"));
    }
    multinode_hook(&(struct multinode_hooks){0});
}

/* Workers meet those of their own machine alone: nobody else's update comes between. */
static void staleness_is_a_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    const struct hr_train_options o = options_of("hogwild", 2, 4);
    multinode_hook(&(struct multinode_hooks){.ended = note_accounts});
    const struct said all = multinode_alike(2, &o, dataset);
    multinode_hook(&(struct multinode_hooks){0});
    assert_true(all.note[0] <= 0);
    assert_int_equal(all.max_skew, 0);
}

/* The mean is saved in the middle of a period, and nobody takes it up. */
static void a_save_changes_nothing(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("hogwild", 2, 8);
    char folder[64];
    const struct said unsaved = multinode_alike(2, &o, dataset);
    run_folder_make(folder);
    snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
    o.checkpoint_every = (struct hr_every){.steps = 5};
    const struct said saved = multinode_alike(2, &o, dataset);
    assert_string_equal(saved.digest, unsaved.digest);
    run_folder_remove(folder);
}

/* Saved by two machines in the middle of a period; gone on from on two, on four, and on one, as
 * plain Hogwild. Each sample is trained on once. */
static void a_run_goes_on_on_another_number_of_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t machines = 1; machines <= 4; machines *= 2) {
        struct hr_train_options o = options_of("hogwild", 4, 3);
        char folder[64];
        run_folder_make(folder);
        snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
        o.max_steps = 100; /* 90 to an epoch */
        multinode_alike(2, &o, dataset);
        o.max_steps = 0;
        snprintf(o.resume, sizeof o.resume, "%s", folder);
        const struct said rest =
            machines == 1 ? multinode_alone(&o, dataset) : multinode_alike(machines, &o, dataset);
        assert_int_equal(rest.samples_of_all, 2 * TRAINED);
        assert_int_equal(rest.updates, 80);
        run_folder_remove(folder);
    }
}

/* Saved between two events, in virtual time: batches that were in the hands of workers are handed
 * out again, by machine 0. */
static void batches_in_hand_are_trained_on(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("hogwild", 4, 3);
    char folder[64];
    run_folder_make(folder);
    snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
    snprintf(o.clock, sizeof o.clock, "virtual");
    o.epochs = 1;
    o.checkpoint_every = (struct hr_every){.steps = 10};
    o.keep = 0;
    multinode_alone(&o, dataset);
    snprintf(o.clock, sizeof o.clock, "real");
    snprintf(o.resume, sizeof o.resume, "%s/step-00000010", folder);
    o.checkpoint_dir[0] = '\0';
    const struct said rest = multinode_alike(2, &o, dataset);
    assert_int_equal(rest.samples_of_all, TRAINED);
    assert_true(rest.updates > (TRAINED + 15) / 16 - 10); /* of the 10 some were in hand */
    run_folder_remove(folder);
}

/* It goes on until the next averaging. */
static int stop_soon(void *arg)
{
    int *asked = arg;
    return ++*asked >= 3;
}

static void a_stop_waits_for_the_next_averaging(void **state)
{
    static int asked;
    const struct hr_observer observer = {.arg = &asked, .should_stop = stop_soon};
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("hogwild", 4, 5);
    o.epochs = 1;
    o.epoch_size = 100000 * TRAINED;
    multinode_hook(&(struct multinode_hooks){.observer = &observer, .ended = note_accounts});
    const struct said all = multinode_alike(2, &o, dataset);
    multinode_hook(&(struct multinode_hooks){0});
    assert_true(all.note[3] > 0);
    assert_true(all.note[4] > 0);
    assert_int_equal((uint64_t)all.note[4] % 20, 0); /* 5 steps of 4 workers */
}

static void what_does_not_work_is_refused_in_a_line(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("hogwild", 4, 2);
    snprintf(o.record, sizeof o.record, "no-such-folder/trace");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--record no-such-folder/trace: not with --strategy hogwild on several "
        "machines: a trace is replayed on one machine, which has one copy of the weights; expected "
        "it without",
        dataset);
    o = options_of("hogwild", 3, 2);
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--workers 3: cannot be dealt out to 2 machines evenly; expected a multiple of 2", dataset);
}

static void a_machine_that_is_lost_ends_the_run_and_is_named(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("hogwild", 4, 2);
    o.epochs = 100000;
    for (size_t lost = 0; lost < 2; lost++) {
        const char *message =
            lost ? "lost machine host-1 (ranks 2, 3): " : "lost machine host-0 (ranks 0, 1): ";
        const struct said *said = multinode_lose(2, lost, &o, dataset);
        assert_int_equal(said[!lost].status, HR_E_LOST);
        if (strncmp(said[!lost].message, message, strlen(message)) != 0)
            fail_msg("%s", said[!lost].message);
    }
}

/* A machine's workers make two updates, one behind the other, where two of local SGD make one each:
 * it learns faster, by 1 to 4 points of accuracy with seeds 1 to 6. */
static void it_learns_as_local_sgd_does(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("local-sgd", 4, 4);
    o.epochs = 8;
    const struct said local = multinode_alone(&o, dataset);
    snprintf(o.strategy, sizeof o.strategy, "hogwild");
    const struct said hogwild = multinode_alike(2, &o, dataset);
    if (hogwild.accuracy < local.accuracy - 0.01)
        fail_msg("hogwild %g, local-sgd %g", hogwild.accuracy, local.accuracy);
}

static int begin(void **state)
{
    multinode_begin();
    *state = (void *)(uintptr_t)run_digits();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_worker_a_machine_it_is_local_sgd_bit_for_bit),
        cmocka_unit_test(averaged_at_every_step_it_is_allreduce_to_rounding),
        cmocka_unit_test(every_sample_is_trained_on_once_an_epoch),
        cmocka_unit_test(it_learns_as_local_sgd_does),
        cmocka_unit_test(staleness_is_a_machines),
        cmocka_unit_test(a_save_changes_nothing),
        cmocka_unit_test(a_run_goes_on_on_another_number_of_machines),
        cmocka_unit_test(batches_in_hand_are_trained_on),
        cmocka_unit_test(a_stop_waits_for_the_next_averaging),
        cmocka_unit_test(what_does_not_work_is_refused_in_a_line),
        cmocka_unit_test(a_machine_that_is_lost_ends_the_run_and_is_named),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
