/* Runs with --compress on several machines: the same run as on one, bit for bit, and the same bytes
 * where the same ones travel. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

static const char *const all[] = {"bf16", "fp16", "int8", "topk:2%", "powersgd:2"};
enum { ALL = sizeof all / sizeof *all, PUSHED = ALL - 1 /* gossiped, too */ };

static struct hr_train_options compressed(const char *strategy, size_t workers, const char *how)
{
    struct hr_train_options o = run_options(strategy, workers);
    snprintf(o.compress, sizeof o.compress, "%s", how);
    o.timeout = 30;
    o.epoch_size = 900; /* steps of an epoch: 14 of four workers */
    return o;
}

/* Statistics, which travel as they are; what is frozen; and slices that begin anywhere. */
static void with_other_tensors(struct hr_train_options *o)
{
    snprintf(o->model, sizeof o->model,
             "conv 3 3x3, batchnorm, relu, flatten, dense 12, relu, dense 10");
    snprintf(o->freeze, sizeof o->freeze, "0.weight");
}

static void check_machines(const struct hr_train_options *o, size_t most,
                           const struct hr_dataset *dataset)
{
    const struct said alone = multinode_alone(o, dataset);
    for (size_t machines = 2; machines <= most; machines *= 2) {
        const struct said apart = multinode_alike(machines, o, dataset);
        multinode_check_equal(&apart, &alone);
    }
}

static void sums_have_the_bits_of_one_machine(void **state)
{
    for (size_t i = 0; i < ALL; i++) {
        struct hr_train_options o = compressed("allreduce", 4, all[i]);
        check_machines(&o, 4, *state);
        with_other_tensors(&o);
        check_machines(&o, 2, *state);
    }
}

static void pushes_have_the_bits_of_one_machine(void **state)
{
    for (size_t i = 0; i < PUSHED; i++)
        for (size_t servers = 1; servers <= 3; servers++) {
            struct hr_train_options o = compressed("ps-sync", 4, all[i]);
            o.servers = servers;
            if (servers != 2)
                with_other_tensors(&o);
            check_machines(&o, servers == 1 ? 4 : 2, *state);
        }
}

/* A ring crosses between machines twice; of the complete graph all neighbours do. */
static void public_copies_have_the_bits_of_one_machine(void **state)
{
    for (size_t i = 0; i < PUSHED; i++) {
        struct hr_train_options o = compressed("gossip", 4, all[i]);
        check_machines(&o, 4, *state);
        with_other_tensors(&o);
        snprintf(o.gossip_graph, sizeof o.gossip_graph, "complete");
        check_machines(&o, 2, *state);
    }
}

/* Bytes are those of one machine where ranks send each other what they send there. */
static void as_many_bytes_are_sent_as_on_one_machine(void **state)
{
    for (size_t i = 0; i < PUSHED; i++) {
        struct hr_train_options o = compressed("allreduce", 4, all[i]);
        assert_int_equal(multinode_alike(2, &o, *state).bytes_sent,
                         multinode_alone(&o, *state).bytes_sent);
        o = compressed("gossip", 4, all[i]);
        with_other_tensors(&o);
        assert_int_equal(multinode_alike(4, &o, *state).bytes_sent,
                         multinode_alone(&o, *state).bytes_sent);
        o = compressed("ps-sync", 4, all[i]);
        o.servers = 3;
        with_other_tensors(&o);
        assert_int_equal(multinode_alike(2, &o, *state).bytes_sent,
                         multinode_alone(&o, *state).bytes_sent);
    }
}

/* In step ssp and backup-workers are ps-sync; out of step every sample counts. */
static void asynchronous_pushes_are_applied_as_they_were_sent(void **state)
{
    for (size_t i = 0; i < PUSHED; i++) {
        struct hr_train_options o = compressed("ssp", 4, all[i]);
        o.staleness = 0;
        o.servers = 2;
        check_machines(&o, 2, *state);
        o = compressed("backup-workers", 4, all[i]);
        o.backups = 0;
        check_machines(&o, 2, *state);
        o = compressed("ps-async", 2, all[i]);
        o.servers = 2;
        const struct said alone = multinode_alone(&o, *state), two = multinode_alike(2, &o, *state);
        assert_int_equal(two.samples, alone.samples);
        assert_int_equal(two.updates, alone.updates);
    }
}

/* Errors are saved, those of all machines, by the first. */
static void a_run_goes_on_on_another_number_of_machines(void **state)
{
    static const struct {
        const char *strategy, *how;
    } cases[] = {{"allreduce", "int8"},
                 {"allreduce", "powersgd:2"},
                 {"ps-sync", "topk:2%"},
                 {"gossip", "topk:2%"},
                 {"gossip", "bf16"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_train_options o = compressed(cases[i].strategy, 4, cases[i].how);
        char folder[64];
        const struct said whole = multinode_alone(&o, *state);
        for (size_t machines = 1; machines <= 4; machines += 3) {
            run_folder_make(folder);
            snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
            o.resume[0] = '\0';
            o.max_steps = 11;
            multinode_alike(2, &o, *state);
            o.max_steps = 0;
            snprintf(o.resume, sizeof o.resume, "%s", folder);
            const struct said rest =
                machines == 1 ? multinode_alone(&o, *state) : multinode_alike(machines, &o, *state);
            assert_string_equal(rest.digest, whole.digest);
            run_folder_remove(folder);
        }
        o.checkpoint_dir[0] = o.resume[0] = '\0';
    }
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
        cmocka_unit_test(sums_have_the_bits_of_one_machine),
        cmocka_unit_test(pushes_have_the_bits_of_one_machine),
        cmocka_unit_test(public_copies_have_the_bits_of_one_machine),
        cmocka_unit_test(as_many_bytes_are_sent_as_on_one_machine),
        cmocka_unit_test(asynchronous_pushes_are_applied_as_they_were_sent),
        cmocka_unit_test(a_run_goes_on_on_another_number_of_machines),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
