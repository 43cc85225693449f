/* Requests to a shard are numbered: one that comes twice has no effect, and one that is missing is
 * noticed. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/control.h"
#include "server/server_worker.h"
#include "strategies/strategies.h"
#include "support/runs.h"
#include "support/script.h"

static struct script script;

static void open_run(const struct hr_strategy *strategy, size_t servers)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.sync_every = 1;
    const struct script_plan plan = {
        .workers = 2, .servers = servers, .batches = 9, .options = &options, .outlives = true};
    script_open(&script, strategy, plan);
}

/* Send shard s once more what worker w sent it last, with a number that is `later` higher. */
static void send_again(size_t s, size_t w, uint64_t later)
{
    struct hr_ring *ring = hr_server_requests(&script.shared, w, s);
    struct hr_message message = ring->slot[(hr_ring_committed_spsc(ring) - 1) & ring->mask];
    message.sequence += later;
    const struct hr_posted what = {.from = w, .to = script.shared.workers + s};
    hr_server_send(&script.shared, w, &what, &message);
}

static const struct hr_strategy *const strategies[] = {
    &hr_strategy_ps_async, &hr_strategy_ssp, &hr_strategy_ps_sync, &hr_strategy_backup_workers,
    &hr_strategy_elastic_averaging};

static uint64_t duplicates_of(size_t w)
{
    return hr_atom64_load_relaxed(&script.shared.stats[w].duplicates);
}

/* All that a shard knows but what it took last. */
static struct hr_shard known(struct hr_shard shard)
{
    shard.taken = (struct hr_taken){0};
    return shard;
}

static void check_again(size_t s, size_t w)
{
    const struct hr_shard before = script.shard[s];
    const uint64_t had_before = duplicates_of(w);
    struct hr_client clients[2];
    float weights[SCRIPT_PARAMS];
    memcpy(clients, before.worker, sizeof clients);
    memcpy(weights, before.weights, before.count * sizeof *weights);
    send_again(s, w, 0);
    script_serve(&script, s, w);
    assert_int_equal(duplicates_of(w), had_before + 1);
    const struct hr_shard had = known(before), has = known(script.shard[s]);
    assert_memory_equal(&had, &has, sizeof has);
    assert_memory_equal(clients, before.worker, sizeof clients);
    assert_memory_equal(weights, before.weights, before.count * sizeof *weights);
    assert_false(script_enabled(&script, s, w));
}

/* Whatever it was: a push, a pull, an exchange. */
static void what_was_taken_is_not_taken_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const size_t servers = strategies[i]->one_shard ? 1 : 2;
        open_run(strategies[i], servers);
        for (size_t w = 0; w < 2; w++) {
            script_read(&script, w);
            check_again(servers - 1, w);
        }
        for (size_t w = 0; w < 2; w++) {
            script_give(&script, w, 0.5f);
            if (strategies[i] == &hr_strategy_elastic_averaging)
                script_ask(&script, w);
            script_serve_all(&script, w);
            check_again(servers - 1, w);
        }
        script_close(&script);
    }
}

/* In a death's place a duplicate comes first; and the next life counts from 1 again. */
static void each_life_counts_anew(void **state)
{
    (void)state;
    open_run(&hr_strategy_ps_async, 1);
    for (size_t life = 0; life < 3; life++) {
        script_read(&script, 0);
        script_push(&script, 0, 1);
        send_again(0, 0, 0);
        script_lose(&script, 0);
        script_serve(&script, 0, 0);
        assert_int_equal(script.shard[0].taken.kind, HR_DUPLICATE);
        script_serve(&script, 0, 0);
        assert_int_equal(script.shard[0].taken.kind, HR_GONE);
        script_return(&script, 0);
        script_serve(&script, 0, 0);
        assert_int_equal(script.shard[0].taken.kind, HR_JOIN);
    }
    assert_int_equal(script.shard[0].version, 3);
    assert_int_equal(duplicates_of(0), 3);
    script_close(&script);
}

/* Of a life that is over when the launcher looks: what is sent twice counts once, and what an
 * earlier life had sent does not count. */
static void it_is_known_how_much_came(void **state)
{
    (void)state;
    open_run(&hr_strategy_ps_async, 1);
    assert_int_equal(hr_requests_came(&script.shared, 0, 0), 0);
    script_read(&script, 0);
    assert_int_equal(hr_requests_came(&script.shared, 0, 0), 1);
    script_push(&script, 0, 1);
    send_again(0, 0, 0);
    assert_int_equal(hr_requests_came(&script.shared, 0, 0), 2);
    script_lose(&script, 0);
    assert_int_equal(hr_requests_came(&script.shared, 0, 0), 0);
    script_serve(&script, 0, 0); /* twice */
    script_serve(&script, 0, 0); /* its loss */
    script_return(&script, 0);
    assert_int_equal(hr_requests_came(&script.shared, 0, 0), 1);
    assert_int_equal(hr_requests_came(&script.shared, 1, 0), 0);
    script_close(&script);
}

static void what_is_missing_is_noticed(void **state)
{
    (void)state;
    open_run(&hr_strategy_ps_async, 1);
    script_read(&script, 1);
    send_again(0, 1, 2);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        script.shared.strategy->take(&script.shard[0], 1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_is_not_taken_again),
        cmocka_unit_test(each_life_counts_anew),
        cmocka_unit_test(it_is_known_how_much_came),
        cmocka_unit_test(what_is_missing_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
