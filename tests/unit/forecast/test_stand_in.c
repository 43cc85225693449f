/* A run in virtual time, and its stand-in with few parameters: as many samples per second. */
#include <stdio.h>

#include "forecast/anchors.h"
#include "support/runs.h"

/* A network large enough to have a stand-in: 33,290 parameters. */
static struct hr_train_options large(const char *strategy, size_t workers, size_t servers)
{
    struct hr_train_options o = run_options(strategy, workers);
    snprintf(o.model, sizeof o.model, "flatten, dense 256, relu, dense 64, relu, dense 10");
    snprintf(o.clock, sizeof o.clock, "virtual");
    snprintf(o.compute_time, sizeof o.compute_time, "lognormal(2ms,0.3)");
    snprintf(o.server_time, sizeof o.server_time, "50us");
    snprintf(o.link, sizeof o.link, "200MB/s,20us");
    o.servers = servers;
    o.epochs = 2;
    return o;
}

static void check(const char *strategy, size_t workers, size_t servers)
{
    const struct hr_train_options o = large(strategy, workers, servers);
    struct hr_run_result result = run_train(&o);
    const double itself = result.seconds * (double)o.batch_size / (double)result.samples;
    const size_t params = result.params;
    double gradient;
    hr_run_result_free(&result);
    CHECK_OK(hr_stand_in_gradient(&o, params, run_digits()->train.count, &gradient));
    CHECK_NEAR(gradient, itself, 0.03, 0);
}

static void a_stand_in_takes_as_long(void **state)
{
    (void)state;
    check("allreduce", 4, 0);
    check("ps-sync", 4, 1);
    check("ps-async", 8, 2);
    check("ssp", 4, 1);
    check("local-sgd", 4, 0);
}

static void a_topology_of_a_file_has_none(void **state)
{
    (void)state;
    double gradient;
    struct hr_train_options o = large("allreduce", 4, 0);
    snprintf(o.topology, sizeof o.topology, "wires.txt");
    o.link[0] = '\0';
    CHECK_FAILS(hr_stand_in_gradient(&o, 1000, 1437, &gradient), HR_E_USAGE);
    CHECK_MESSAGE("--topology");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stand_in_takes_as_long),
        cmocka_unit_test(a_topology_of_a_file_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
