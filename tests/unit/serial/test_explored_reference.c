/* Explored runs with deaths and lost pushes beside a serial model that is told the same order
 * (served_reference.h): every update is the one that the order asks for, to the bit, and the model
 * at the end is the run's. */
#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"
#include "support/losing_runs.h"
#include "support/served_reference.h"
#include "train/run.h"

enum { EPOCH = 48, EPOCHS = 2, BATCH = 4, MOST_DEATHS = 4, MOST_EVENTS = 128 };

struct kind {
    const char *strategy;
    size_t workers, servers;
};

static struct sim {
    uint64_t seed, drawn;
    size_t deaths;
    struct hr_serial *serial;
    struct served_reference reference;
} sim;

static struct {
    size_t runs, deaths, resent, duplicates;
} tally;

static size_t draw(size_t n)
{
    return hr_random_block(sim.seed, HR_STREAM_LOST, sim.drawn++, 0).v[0] % n;
}

static bool is_death(size_t event)
{
    const struct hr_shared_state *shared = sim.serial->shared;
    const size_t listed = shared->workers * (1 + shared->servers);
    const size_t what = event < listed ? HR_RANK_EVENTS : (event - listed) % HR_RANK_EVENTS;
    return what == HR_RANK_DIE || what == HR_RANK_DIE_LATE;
}

/* One of those that are deaths, or of those that are none. n: there is none. */
static size_t draw_event(const unsigned char *enabled, size_t n, bool death)
{
    size_t possible[MOST_EVENTS], count = 0;
    assert_true(n <= MOST_EVENTS);
    for (size_t e = 0; e < n; e++)
        if (enabled[e] && is_death(e) == death)
            possible[count++] = e;
    return count ? possible[draw(count)] : n;
}

static size_t choose(void *arg, const unsigned char *enabled, size_t n)
{
    (void)arg;
    const bool dies = sim.deaths < MOST_DEATHS && draw(40) == 0;
    size_t event = draw_event(enabled, n, dies);
    if (event == n)
        event = draw_event(enabled, n, false);
    sim.deaths += event < n && is_death(event);
    served_reference_next(&sim.reference, event);
    return event;
}

static void begin(void *arg, struct hr_serial *serial)
{
    (void)arg;
    sim.serial = serial;
    served_reference_begin(&sim.reference, serial);
}

static struct hr_train_options options_of(const struct kind *kind)
{
    struct hr_train_options options = run_options(kind->strategy, kind->workers);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    snprintf(options.on_loss, sizeof options.on_loss, "restart");
    snprintf(options.schedule, sizeof options.schedule, "explore:0");
    snprintf(options.inject, sizeof options.inject, "drop-push:p=0.3");
    options.momentum = 0;
    options.epochs = EPOCHS;
    options.epoch_size = EPOCH;
    options.batch_size = BATCH;
    options.servers = kind->servers;
    options.staleness = 1;
    options.max_restarts = 1000;
    return options;
}

static void run(const struct kind *kind, uint64_t seed)
{
    const struct hr_train_options options = options_of(kind);
    const struct hr_chooser chooser = {begin, choose, NULL};
    const struct hr_train_call call = {
        .options = &options, .dataset = run_digits(), .chooser = &chooser};
    const size_t batch = strcmp(kind->strategy, "ps-sync") ? BATCH : BATCH * kind->workers;
    struct hr_run_result result;
    sim = (struct sim){.seed = seed};
    CHECK_OK(hr_train_call(&call, &result));
    served_reference_end(&sim.reference, result.weights_digest,
                         EPOCHS * ((EPOCH + batch - 1) / batch));
    uint64_t known = result.samples + result.dropped_samples;
    for (size_t i = 0; i < result.nlosses; i++)
        known += result.losses[i].lost_samples;
    assert_int_equal(known, EPOCHS * EPOCH);
    tally.runs++;
    tally.deaths += result.nlosses;
    tally.resent += result.resent;
    tally.duplicates += result.duplicates;
    hr_run_result_free(&result);
}

static void every_update_is_that_of_the_order(void **state)
{
    (void)state;
    static const struct kind kinds[] = {
        {"ps-async", 3, 1},
        {"ps-async", 2, 3},
        {"ps-async", 4, 2},
        {"ssp", 2, 1},
        {"ssp", 3, 2},
        {"ssp", 4, 1},
        {"ps-sync", 3, 1},
        {"ps-sync", 4, 1},
        {"elastic-averaging", 3, 1},
        {"backup-workers", 3, 1},
    };
    for (uint64_t i = 0; i < check_count(60, 10000); i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            run(&kinds[k], 1000000 * check_seed() + i);
}

static int say_seed(void **state)
{
    (void)state;
    print_message("%zu runs; %zu ranks died, %zu pushes were sent again, %zu of them had arrived\n",
                  tally.runs, tally.deaths, tally.resent, tally.duplicates);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_update_is_that_of_the_order, say_seed),
    };
    losing_in_silence();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
