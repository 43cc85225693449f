/* What STALENESS and LAMBDA of --async-lr make of an update, worked out by hand, and that they
 * leave alone what is not stale. */
#include <stdio.h>

#include "strategies/strategies.h"
#include "support/runs.h"
#include "support/script.h"

static void check_weights(const struct script *script, size_t w, double want)
{
    for (size_t i = 0; i < SCRIPT_PARAMS; i++)
        CHECK_NEAR((double)script->shared.weights[w][i], want, 1e-6, 0);
}

/* Three read the same weights; worker 0's push finds them fresh, worker 1's once changed, that of
 * worker 2 twice. */
static double three_pushes(const struct hr_strategy *strategy, size_t servers,
                           const struct hr_train_options *options)
{
    static struct script script;
    script_open(
        &script, strategy,
        (struct script_plan){.workers = 3, .servers = servers, .batches = 9, .options = options});
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(script_read(&script, w).kind, HR_TASK_BATCH);
    for (size_t w = 0; w < 3; w++)
        script_push(&script, w, 0.5f);
    script_read(&script, 2); /* who pushed last has read all: under hogwild with its push */
    const double weight = (double)script.shared.weights[2][SCRIPT_PARAMS - 1];
    check_weights(&script, 2, weight); /* on all shards alike */
    if (!hr_strategy_is_served(strategy))
        for (size_t w = 0; w < 3; w++)
            assert_int_equal(script.shared.stats[w].stale.max, w);
    script_close(&script);
    return weight;
}

static const struct hr_strategy *const strategies[] = {&hr_strategy_ps_async, &hr_strategy_ssp,
                                                       &hr_strategy_hogwild};

static void check_all(const char *staleness_lr, double compensation, double want)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.staleness = 5;
    options.delay_compensation = compensation;
    snprintf(options.staleness_lr, sizeof options.staleness_lr, "%s", staleness_lr);
    for (size_t i = 0; i < 3; i++) {
        const size_t servers = hr_strategy_is_served(strategies[i]) ? 2 : 0;
        CHECK_NEAR(three_pushes(strategies[i], servers, &options), want, 1e-6, 0);
    }
}

static void the_rate_is_divided_by_one_plus_the_staleness(void **state)
{
    (void)state;
    check_all("none", 0, -1.5);
    check_all("inverse", 0, -0.5 * (1 + 1.0 / 2 + 1.0 / 3));
}

/* g + lambda g^2 (now - read): 0.5; 0.5 + 0.25 (-0.5); 0.5 + 0.25 (-0.875), with lambda 1. */
static void the_gradient_is_carried_over_to_the_weights_it_meets(void **state)
{
    (void)state;
    check_all("none", 1, -(0.5 + 0.375 + 0.28125));
    check_all("none", 0.5, -(0.5 + 0.4375 + 0.3828125));
    check_all("inverse", 1, -(0.5 + 0.375 / 2 + (0.5 - 0.25 * 0.6875) / 3));
}

static const char *const names[] = {"ps-async", "ssp", "hogwild"};

static void choose(struct hr_train_options *options)
{
    snprintf(options->staleness_lr, sizeof options->staleness_lr, "inverse");
    options->delay_compensation = 2;
}

static void what_is_not_stale_keeps_its_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t servers = 1; servers <= 2; servers++) {
            char want[33];
            struct hr_train_options options = run_options(names[i], 1);
            options.servers = servers;
            run_digest(&options, want);
            choose(&options);
            CHECK_DIGEST(&options, want);
        }
}

/* Norms are those of the compensated gradient; and a run of its kind repeats, and differs. */
static void what_is_stale_does_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t clip = 0; clip < 2; clip++) {
            char plain[33], changed[33];
            struct hr_train_options options = run_options(names[i], 3);
            snprintf(options.schedule, sizeof options.schedule, "explore:3");
            options.clip_norm = clip ? 0.5 : 0;
            options.epochs = 1;
            run_digest(&options, plain);
            choose(&options);
            run_digest(&options, changed);
            assert_string_not_equal(plain, changed);
            CHECK_DIGEST(&options, changed);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_divided_by_one_plus_the_staleness),
        cmocka_unit_test(the_gradient_is_carried_over_to_the_weights_it_meets),
        cmocka_unit_test(what_is_not_stale_keeps_its_bits),
        cmocka_unit_test(what_is_stale_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
