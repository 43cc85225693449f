/* A machine's workers push as one: the same bits, fewer bytes, a step in its parts, refusals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

#define SET(field, ...) snprintf(o.field, sizeof o.field, __VA_ARGS__)

static struct hr_train_options options_of(size_t workers, size_t servers)
{
    struct hr_train_options o = run_options("ps-sync", workers);
    o.timeout = 10;
    o.servers = servers;
    return o;
}

enum { SUM, SECONDS, LEAST, COMPUTE, TIME_COMPUTE, REST, NODE_WORKERS, OF_RANK_3 };

static void note_parts(const struct hr_run_result *result, struct said *said)
{
    const struct hr_node_step *step = &result->node_step;
    const double part[] = {step->load_s,   step->compute_s,    step->aggregate_s, step->push_s,
                           step->update_s, step->distribute_s, step->rest_s};
    said->note[LEAST] = INFINITY;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        said->note[SUM] += part[i];
        said->note[LEAST] = fmin(said->note[LEAST], part[i]);
    }
    said->note[SECONDS] = result->seconds;
    said->note[COMPUTE] = step->compute_s * (double)result->workers;
    said->note[TIME_COMPUTE] = result->compute_s;
    said->note[REST] = step->rest_s;
    said->note[NODE_WORKERS] = (double)step->workers;
    if (result->nwaited > 3)
        said->note[OF_RANK_3] = result->waited_for[3].cost_s / result->waited_for_others_s;
}

static const struct multinode_hooks hooks = {.ended = note_parts};

static void check_nodes(const struct said *several, const struct said *alone, size_t each)
{
    multinode_check_equal(several, alone);
    assert_int_equal(several->bytes_sent * each, alone->bytes_sent);
    assert_true(several->note[NODE_WORKERS] == (double)each);
}

static void they_have_the_bits_of_one_machine(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t workers = 4; workers <= 8; workers *= 2)
        for (size_t servers = 1; servers <= 3; servers++) {
            struct hr_train_options o = options_of(workers, servers);
            const struct said alone = multinode_alone(&o, dataset);
            for (size_t machines = 2; machines < workers; machines *= 2) {
                const struct said several = multinode_alike(machines, &o, dataset);
                check_nodes(&several, &alone, workers / machines);
            }
        }
}

static void three_machines_have_them_too(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of(6, 2);
    const struct said alone = multinode_alone(&o, dataset);
    const struct said several = multinode_alike(3, &o, dataset);
    check_nodes(&several, &alone, 2);
}

static void wherever_servers_are(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t servers = 1; servers <= 4; servers++) {
        struct hr_train_options o = options_of(4, servers);
        SET(placement, "colocated");
        const struct said alone = multinode_alone(&o, dataset);
        SET(aggregate, "node");
        const struct said several = multinode_alike(2, &o, dataset);
        check_nodes(&several, &alone, 2);
    }
    struct hr_train_options o = options_of(4, 3);
    const struct said alone = multinode_alone(&o, dataset);
    SET(server_placement, "first");
    const struct said several = multinode_alike(2, &o, dataset);
    check_nodes(&several, &alone, 2);
}

static void none_pushes_each(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of(4, 2);
    const struct said alone = multinode_alone(&o, dataset);
    SET(aggregate, "none");
    const struct said several = multinode_alike(2, &o, dataset);
    multinode_check_equal(&several, &alone);
    assert_int_equal(several.bytes_sent, alone.bytes_sent);
    assert_true(several.note[NODE_WORKERS] == 0 && several.note[SUM] == 0);
}

static void parts_of_a_step_add_up(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t colocated = 0; colocated < 2; colocated++) {
        struct hr_train_options o = options_of(4, 2);
        SET(placement, colocated ? "colocated" : "dedicated");
        SET(model, "flatten, dense 400, relu, dense 10");
        o.epochs = 3;
        double least_rest = 1;
        for (int attempt = 0; attempt < 30 && !(least_rest < 0.3);
             attempt++) { /* of others' load */
            const struct said got = multinode_alike(2, &o, dataset);
            assert_true(got.note[SECONDS] > 0);
            CHECK_NEAR(got.note[SUM], got.note[SECONDS], 1e-6, 1e-6);
            assert_true(got.note[LEAST] >= 0);
            assert_true(got.note[COMPUTE] > 0 && got.note[COMPUTE] <= got.note[TIME_COMPUTE]);
            least_rest = fmin(least_rest, got.note[REST] / got.note[SECONDS]);
        }
        assert_true(least_rest < 0.3);
    }
}

/* A leader pushes in the middle of its wait, to a server that rests: it serves what it has sent at
 * once, and not when somebody looks, every 50 ms. The best of some runs: others may have the
 * processors. */
static void a_leader_serves_its_push(void **state)
{
    const struct hr_train_options o = options_of(4, 2);
    const double best = multinode_best_step(2, &o, *state, 0.025);
    multinode_hook(&hooks);
    if (best > 0.025)
        fail_msg("a step took %g ms", 1e3 * best);
}

/* One that does not lead; on a busy machine others are waited for, too, now and then. */
static void who_was_waited_for_is_named(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of(4, 1);
    SET(inject, "stall:3@step=10+300ms");
    o.epochs = 1;
    double most = 0;
    for (int attempt = 0; attempt < 30 && most < 0.5; attempt++) {
        const struct said got = multinode_alike(2, &o, dataset);
        assert_true(got.note[NODE_WORKERS] == 2);
        most = fmax(most, got.note[OF_RANK_3]);
    }
    if (most < 0.5)
        fail_msg("rank 3 had %g of all waiting for others", most);
}

static void they_go_on_on_another_number_of_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of(4, 2);
    o.epochs = 3;
    const struct said whole = multinode_alone(&o, dataset);
    for (size_t machines = 1; machines <= 4; machines *= 2) {
        char folder[64];
        run_folder_make(folder);
        SET(checkpoint_dir, "%s", folder);
        SET(resume, "%s", "");
        o.max_steps = 17;
        multinode_alike(2, &o, dataset);
        o.max_steps = 0;
        SET(resume, "%s", folder);
        const struct said rest =
            machines == 1 ? multinode_alone(&o, dataset) : multinode_alike(machines, &o, dataset);
        assert_string_equal(rest.digest, whole.digest);
        run_folder_remove(folder);
    }
}

static void a_recorded_run_pushes_each(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of(4, 2);
    char folder[64];
    const struct said alone = multinode_alone(&o, dataset);
    run_folder_make(folder);
    SET(record, "%s/trace", folder);
    const struct said several = multinode_alike(2, &o, dataset);
    assert_string_equal(several.digest, alone.digest);
    assert_int_equal(several.bytes_sent, alone.bytes_sent);
    SET(aggregate, "node");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--aggregate node: a recorded run is replayed on one machine, where each "
        "worker pushes; expected it without --record",
        dataset);
    run_folder_remove(folder);
}

static void a_machine_that_is_lost_is_named(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t lost = 0; lost < 2; lost++) {
        struct hr_train_options o = options_of(4, 2);
        o.epochs = 2000;
        const char *message = lost ? "lost machine host-1 (ranks 2, 3, 5): "
                                   : "lost machine host-0 (ranks 0, 1, 4): ";
        const struct said *said = multinode_lose(2, lost, &o, dataset);
        assert_int_equal(said[!lost].status, HR_E_LOST);
        if (strncmp(said[!lost].message, message, strlen(message)) != 0)
            fail_msg("%s", said[!lost].message);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *strategy;
        size_t workers;
        const char *message;
    } cases[] = {
        {"ps-sync", 2,
         "--aggregate node: each machine has one worker, whose gradient is its machine's; expected "
         "2, 4, 8, ... on each"},
        {"ps-sync", 6,
         "--aggregate node: 3 workers on each machine cannot add in the order of all; expected 2, "
         "4, 8, ..."},
        {"backup-workers", 4,
         "--aggregate node: with --strategy backup-workers servers have to know whose push "
         "it is; expected ps-sync, ps-async or ssp"},
        {"allreduce", 4,
         "--aggregate node: with --strategy allreduce nobody pushes; expected ps-sync, ps-async "
         "or ssp"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_train_options o = options_of(cases[i].workers, 1);
        SET(strategy, "%s", cases[i].strategy);
        SET(aggregate, "node");
        multinode_check_refused(&o, HR_E_USAGE, cases[i].message, *state);
    }
}

/* What cannot be is not done: 3 per machine, or another strategy. */
static void auto_is_where_it_can_be(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of(6, 1);
    const struct said alone = multinode_alone(&o, dataset);
    struct said several = multinode_alike(2, &o, dataset);
    multinode_check_equal(&several, &alone);
    assert_true(several.note[NODE_WORKERS] == 0);
    o = options_of(4, 1);
    SET(strategy, "ps-async");
    several = multinode_alike(2, &o, dataset);
    assert_true(several.note[NODE_WORKERS] == 0);
}

static int begin(void **state)
{
    multinode_begin();
    multinode_hook(&hooks);
    *state = (void *)(uintptr_t)run_digits();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_have_the_bits_of_one_machine),
        cmocka_unit_test(three_machines_have_them_too),
        cmocka_unit_test(wherever_servers_are),
        cmocka_unit_test(none_pushes_each),
        cmocka_unit_test(parts_of_a_step_add_up),
        cmocka_unit_test(a_leader_serves_its_push),
        cmocka_unit_test(who_was_waited_for_is_named),
        cmocka_unit_test(they_go_on_on_another_number_of_machines),
        cmocka_unit_test(a_recorded_run_pushes_each),
        cmocka_unit_test(a_machine_that_is_lost_is_named),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(auto_is_where_it_can_be),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
