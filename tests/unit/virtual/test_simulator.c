/* What the simulator says that it takes is what it takes. */
#include "virtual/simulator.h"

#include <malloc.h>

#include "strategies/strategies.h"
#include "support/check.h"

static size_t in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void it_takes_what_it_says(void **state)
{
    (void)state;
    if (CHECK_SANITIZED)
        SKIP("under a sanitizer: they take memory of their own");
    for (size_t i = 0; i < 6; i++) {
        static struct hr_worker_stats stats[200];
        static struct hr_simulator sim;
        struct hr_shared_state shared = {.strategy = &hr_strategy_ps_async,
                                         .workers = 200,
                                         .servers = i / 2 * 30,
                                         .stats = stats};
        struct hr_train_options options;
        hr_train_defaults(&options);
        shared.options = &options;
        struct hr_train_job job = {.options = &options, .shared = &shared};
        struct hr_drive drive = {.job = &job};
        sim = (struct hr_simulator){.serial = {.drive = &drive, .shared = &shared}};
        const size_t before = in_use(), said = hr_simulator_bytes(&shared);
        CHECK_OK(hr_simulator_open(&sim, &drive));
        const size_t took = in_use() - before;
        assert_true(took >= said && took <= said + 5 * 4096); /* whole pages */
        hr_simulator_close(&sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_takes_what_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
