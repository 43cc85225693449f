/* What a shard says that it takes for itself is what it takes. */
#include <malloc.h>

#include "server/server.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"

static size_t in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void check_owner(struct script *script, size_t owner)
{
    const struct hr_strategy *strategy = script->shared.strategy;
    const size_t before = in_use(), said = hr_shard_bytes(&script->shared);
    CHECK_OK(hr_shard_start(&script->shard[owner], &script->shared, owner));
    const size_t took = in_use() - before;
    if (took < said || took > said + 512)
        print_error("%s, owner %zu: said %zu bytes, took %zu\n", strategy->name, owner, said, took);
    assert_true(took >= said && took <= said + 512);
}

static void each_owner_takes_what_it_says(void **state)
{
    (void)state;
    static const struct hr_strategy *const strategies[] = {
        &hr_strategy_ps_sync, &hr_strategy_ps_async, &hr_strategy_elastic_averaging,
        &hr_strategy_backup_workers};
    static struct script script;
    struct hr_train_options options;
    if (CHECK_SANITIZED)
        SKIP("under a sanitizer: they take memory of their own");
    hr_train_defaults(&options);
    options.sync_every = SCRIPT_FATES / 4 - 1; /* so many batches are in four workers' hands */
    for (size_t i = 0; i < 4 * sizeof strategies / sizeof *strategies; i++) {
        script_open(&script, strategies[i / 4],
                    (struct script_plan){.workers = 4,
                                         .servers = i / 4 == 3 ? 1 : 2,
                                         .batches = 4,
                                         .params = 400,
                                         .options = &options,
                                         .outlives = i & 2});
        for (size_t owner = 0; owner < script.shared.servers; owner++)
            hr_shard_stop(&script.shard[owner]);
        for (size_t owner = 0; owner < script.shared.servers; owner++)
            check_owner(&script, owner);
        script_close(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_owner_takes_what_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
