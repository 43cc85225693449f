/* Every strategy with its options, as threads that run freely: what ThreadSanitizer looks at, and
 * that nobody loses a sample whatever the timing. */
#include <stdio.h>

#include "support/runs.h"

struct setting {
    const char *strategy;
    size_t servers, sync_every, backups;
    bool corrects; /* what is stale */
};

static const struct setting settings[] = {
    {"ps-async", 2, 1, 0, true},
    {"ssp", 1, 1, 0, true},
    {"hogwild", 1, 1, 0, true},
    {"local-sgd", 1, 4, 0, false},
    {"elastic-averaging", 2, 3, 0, false},
    {"backup-workers", 1, 1, 1, false},
    {"gossip", 1, 1, 0, false},
};

static void free_threads_train_on_everything(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *s = &settings[i];
        struct hr_train_options options = run_options(s->strategy, 3);
        options.servers = s->servers;
        options.sync_every = s->sync_every;
        options.adaptive_sync = true;
        options.backups = s->backups;
        options.delay_compensation = s->corrects ? 0.5 : 0;
        snprintf(options.staleness_lr, sizeof options.staleness_lr, "%s",
                 s->corrects ? "inverse" : "none");
        struct hr_run_result result = run_train(&options);
        if (s->backups)
            assert_in_range(result.samples + result.dropped_samples, 0,
                            2 * run_digits()->train.count);
        else
            assert_int_equal(result.samples, 2 * run_digits()->train.count);
        assert_true(result.test_accuracy > 0.2);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(free_threads_train_on_everything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
