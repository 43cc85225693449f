/* A machine's workers push as one to servers that take pushes as they arrive (--aggregate node):
 * what an update is made of, bounds and totals, the ends of spans. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

#define SET(field, ...) snprintf(o.field, sizeof o.field, __VA_ARGS__)

static const char *const strategies[] = {"ps-async", "ssp"};

static struct hr_train_options options_of(const char *strategy, size_t workers, size_t servers)
{
    struct hr_train_options o = run_options(strategy, workers);
    SET(aggregate, "node");
    o.servers = servers;
    o.staleness = 1;
    o.momentum = 0;
    o.epochs = 3;
    o.timeout = 10;
    return o;
}

enum { SUM, SECONDS, NODE_WORKERS, LR, OF_RANK_3 };

static void note(const struct hr_run_result *result, struct said *said)
{
    const struct hr_node_step *step = &result->node_step;
    said->note[SUM] = step->load_s + step->compute_s + step->aggregate_s + step->push_s +
                      step->update_s + step->distribute_s + step->rest_s;
    said->note[SECONDS] = result->seconds;
    said->note[NODE_WORKERS] = (double)step->workers;
    said->note[LR] = result->lr;
    if (result->nwaited > 3)
        said->note[OF_RANK_3] = result->waited_for[3].cost_s / result->waited_for_others_s;
}

static uint64_t in_pieces(uint64_t whole, uint64_t piece)
{
    return (whole + piece - 1) / piece;
}

/* Every sample once. A push of each k batches, and of what is left before a cut; nothing else
 * is an update, or has a staleness. */
static void check_totals(const struct hr_train_options *o, size_t machines, const struct said *got)
{
    const uint64_t k = o->workers / machines, batches = in_pieces(o->epoch_size, o->batch_size);
    assert_int_equal(got->samples, o->epochs * o->epoch_size);
    assert_int_equal(got->updates, o->epochs * in_pieces(batches, k));
    assert_int_equal(got->stale_of_keys, got->keys * got->stale_updates);
    assert_true(got->note[NODE_WORKERS] == (double)k);
    assert_true(strcmp(o->strategy, "ssp") || got->max_skew <= o->staleness);
    assert_int_equal(got->ncurve, o->epochs);
    CHECK_NEAR(got->note[SUM], got->note[SECONDS], 1e-6, 1e-6);
}

/* 50 batches per epoch: not a multiple of 3 or 4, so that some sit out at its end; 51 neither. */
static void an_update_is_of_a_machines_batches(void **state)
{
    static const struct {
        size_t workers, machines, servers;
    } grids[] = {{4, 2, 2}, {6, 2, 3}, {8, 2, 1}, {8, 4, 3}, {6, 3, 2}};
    for (size_t i = 0; i < 2; i++)
        for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
            struct hr_train_options o =
                options_of(strategies[i], grids[g].workers, grids[g].servers);
            o.epoch_size = o.batch_size * (50 + g % 2);
            const struct said got = multinode_alike(grids[g].machines, &o, *state);
            check_totals(&o, grids[g].machines, &got);
        }
}

/* One update, of as many batches as there are workers on the machine that asked first: a step of
 * so many in all, to the bit. Of fewer batches: a step of as many. */
static void its_bits_are_those_of_a_step_of_its_workers(void **state)
{
    for (size_t batches = 2; batches <= 4; batches++) {
        struct hr_train_options o = options_of("ps-async", 8, 2), step;
        SET(lr_schedule, "constant");
        o.warmup_epochs = 0;
        o.max_steps = batches;
        step = o;
        step.workers = batches;
        step.max_steps = 1;
        snprintf(step.strategy, sizeof step.strategy, "allreduce");
        snprintf(step.aggregate, sizeof step.aggregate, "auto");
        const struct said alone = multinode_alone(&step, *state),
                          got = multinode_alike(2, &o, *state);
        assert_string_equal(got.digest, alone.digest);
        assert_int_equal(got.updates, 1);
        assert_int_equal(got.samples, batches * o.batch_size);
    }
}

static void so_it_is_of_colocated_servers(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options o = options_of(strategies[i], 6, 3);
        o.epoch_size = o.batch_size * 50;
        SET(placement, "colocated");
        const struct said got = multinode_alike(2, &o, *state);
        check_totals(&o, 2, &got);
    }
}

/* A pass over the data moves as far as where all step together: a machine is what a worker was. */
static void a_rate_is_divided_by_machines(void **state)
{
    struct hr_train_options o = options_of("ps-async", 4, 1);
    SET(async_lr, "divide");
    SET(lr_schedule, "constant");
    o.warmup_epochs = 0;
    o.epochs = 1;
    o.lr = 0.1;
    const struct said node = multinode_alike(2, &o, *state);
    CHECK_NEAR(node.note[LR], o.lr / 2, 1e-12, 0);
    SET(aggregate, "auto");
    const struct said each = multinode_alike(2, &o, *state);
    CHECK_NEAR(each.note[LR], o.lr / 4, 1e-12, 0);
    assert_true(each.note[NODE_WORKERS] == 0); /* only when it is asked for */
}

/* Those of its machine wait for it, and whose gate it keeps shut; on a busy machine for others,
 * now and then. */
static void who_was_waited_for_is_named(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options o = options_of(strategies[i], 4, 1);
        SET(inject, "load:3+20ms");
        o.epochs = 1;
        double most = 0;
        for (int attempt = 0; attempt < 30 && !(most > 0.5); attempt++)
            most = fmax(most, multinode_alike(2, &o, *state).note[OF_RANK_3]);
        if (!(most > 0.5))
            fail_msg("rank 3 had %g of all waiting for others", most);
    }
}

/* Saved inside of an epoch; then with other machines, or none. */
static void they_go_on_on_another_number_of_machines(void **state)
{
    for (size_t i = 0; i < 2; i++)
        for (size_t machines = 1; machines <= 4; machines *= 2) {
            struct hr_train_options o = options_of(strategies[i], 8, 2);
            char folder[64];
            run_folder_make(folder);
            SET(checkpoint_dir, "%s", folder);
            o.epoch_size = o.batch_size * 50;
            o.max_steps = 70;
            multinode_alike(2, &o, *state);
            o.max_steps = 0;
            SET(resume, "%s", folder);
            SET(aggregate, machines == 1 ? "auto" : "node");
            const struct said rest =
                machines == 1 ? multinode_alone(&o, *state) : multinode_alike(machines, &o, *state);
            assert_int_equal(rest.samples_of_all, o.epochs * o.epoch_size);
            assert_true(i == 0 || rest.max_skew <= o.staleness);
            run_folder_remove(folder);
        }
}

static void a_machine_that_is_lost_is_named(void **state)
{
    for (size_t lost = 0; lost < 2; lost++) {
        struct hr_train_options o = options_of(strategies[lost], 4, 2);
        o.epochs = 2000;
        const char *message = lost ? "lost machine host-1 (ranks 2, 3, 5): "
                                   : "lost machine host-0 (ranks 0, 1, 4): ";
        const struct said *said = multinode_lose(2, lost, &o, *state);
        assert_int_equal(said[!lost].status, HR_E_LOST);
        if (strncmp(said[!lost].message, message, strlen(message)) != 0)
            fail_msg("%s", said[!lost].message);
    }
}

static int begin(void **state)
{
    static const struct multinode_hooks hooks = {.ended = note};
    multinode_begin();
    multinode_hook(&hooks);
    *state = (void *)(uintptr_t)run_digits();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_is_of_a_machines_batches),
        cmocka_unit_test(its_bits_are_those_of_a_step_of_its_workers),
        cmocka_unit_test(so_it_is_of_colocated_servers),
        cmocka_unit_test(a_rate_is_divided_by_machines),
        cmocka_unit_test(who_was_waited_for_is_named),
        cmocka_unit_test(they_go_on_on_another_number_of_machines),
        cmocka_unit_test(a_machine_that_is_lost_is_named),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
