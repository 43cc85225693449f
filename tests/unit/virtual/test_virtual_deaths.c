/* Deaths in virtual time that are drawn: whoever dies, whenever, the run goes on, samples and times
 * add up, and it is the same run again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"
#include "support/losing_runs.h"

enum { WORKERS = 5, MORTAL = 3, MOST_DEATHS = 5 };

/* One of --inject's deaths: of the first workers, or a server, at a step or a time. */
static int draw_death(char *text, size_t size, size_t servers, struct hr_philox draw)
{
    const bool server = servers && draw.v[3] % 4 == 0;
    const size_t who = draw.v[0] % (server ? servers : MORTAL);
    const char *of = server ? "server:" : "";
    if (draw.v[1] % 2)
        return snprintf(text, size, "kill:%s%zu@step=%u", of, who, draw.v[2] % (server ? 60 : 12));
    return snprintf(text, size, "kill:%s%zu@time=%uus", of, who, draw.v[2] % 160000);
}

static void draw_deaths(struct hr_train_options *options, size_t servers, uint64_t seed)
{
    int length = 0;
    const size_t deaths = 1 + seed % MOST_DEATHS;
    for (size_t i = 0; i < deaths; i++) {
        char *at = options->inject + length;
        const size_t size = sizeof options->inject - (size_t)length;
        length += snprintf(at, size, "%s", i ? "," : "");
        length +=
            draw_death(options->inject + length, sizeof options->inject - (size_t)length, servers,
                       hr_random_block(check_seed(), HR_STREAM_TEST, seed, (uint32_t)i));
    }
}

/* Some have links, slow ones and slow servers. */
static void draw_conditions(struct hr_train_options *options, size_t servers, uint64_t seed)
{
    snprintf(options->compute_time, sizeof options->compute_time, "%s",
             seed % 2 ? "lognormal(10ms,0.5)" : "10ms");
    if (seed % 3 == 0 && strcmp(options->strategy, "hogwild") != 0)
        snprintf(options->link, sizeof options->link, "%s", seed % 2 ? "1MB/s,5ms" : "200KB/s,1us");
    if (seed % 4 == 0 && servers)
        snprintf(options->server_time, sizeof options->server_time, "exponential(2ms)");
}

static struct hr_train_options drawn_options(size_t strategy, uint64_t seed)
{
    const size_t servers = losing_kinds[strategy].servers;
    struct hr_train_options options =
        losing_options_virtual(strategy, WORKERS, seed % 5 < 2 ? "continue" : "restart", "");
    draw_deaths(&options, servers, seed);
    draw_conditions(&options, servers, seed);
    return options;
}

static void whoever_dies_whenever_samples_and_times_add_up(void **state)
{
    (void)state;
    size_t losses = 0;
    for (uint64_t seed = 0; seed < check_count(100, 5000); seed++)
        for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
            const struct hr_train_options options = drawn_options(s, seed);
            struct hr_run_result result = losing_run_checked(&options, s);
            losses += result.nlosses;
            hr_run_result_free(&result);
        }
    assert_true(losses > check_count(100, 5000) * LOSING_STRATEGIES);
}

static void check_same(const struct hr_run_result *a, const struct hr_run_result *b)
{
    assert_string_equal(a->weights_digest, b->weights_digest);
    assert_int_equal(a->nlosses, b->nlosses);
    assert_int_equal(a->restarts, b->restarts);
    assert_memory_equal(&a->seconds, &b->seconds, sizeof a->seconds);
    assert_memory_equal(a->worker_time, b->worker_time, a->workers * sizeof *a->worker_time);
    for (size_t i = 0; i < a->nlosses; i++) {
        const struct hr_loss *x = &a->losses[i], *y = &b->losses[i];
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->step, y->step);
        assert_true(x->seconds == y->seconds && x->pause_s == y->pause_s && x->back == y->back);
        assert_int_equal(x->lost_samples, y->lost_samples);
        assert_int_equal(x->again_samples, y->again_samples);
        assert_int_equal(x->partial, y->partial);
    }
}

static void it_is_the_same_run_on_any_number_of_processors(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < check_count(10, 500); seed++)
        for (size_t s = 0; s < LOSING_STRATEGIES; s++) {
            const struct hr_train_options options = drawn_options(s, seed);
            setenv("HOGRING_CPUS", "1", 1);
            struct hr_run_result a = losing_run(&options);
            setenv("HOGRING_CPUS", "3", 1);
            struct hr_run_result b = losing_run(&options), c = losing_run(&options);
            unsetenv("HOGRING_CPUS");
            check_same(&a, &b);
            check_same(&b, &c);
            hr_run_result_free(&a);
            hr_run_result_free(&b);
            hr_run_result_free(&c);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_dies_whenever_samples_and_times_add_up),
        cmocka_unit_test(it_is_the_same_run_on_any_number_of_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
