/* Lost updates: two pretended workers between whose loads and stores the other's come. */
#include <math.h>

#include "strategies/hogwild.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"

enum { FLOATS = HR_LOST_FLOATS };

static void fill(float *line, float value)
{
    for (size_t i = 0; i < FLOATS; i++)
        line[i] = value;
}

static void load(const struct hr_atom64 *live, float *line)
{
    for (size_t i = 0; i < FLOATS / 2; i++) {
        const struct hr_float_pair pair = hr_hogwild_load_relaxed(&live[i]);
        memcpy(&line[2 * i], &pair, sizeof pair);
    }
}

/* a and b both load; b stores 3 of the 8 pairs changed; a stores over them. */
static void what_came_between_load_and_store_is_lost(void **state)
{
    (void)state;
    struct hr_lost a = {0}, b = {0};
    struct hr_atom64 live[FLOATS / 2];
    float of_a[FLOATS], of_b[FLOATS], next[FLOATS];
    memset(live, 0, sizeof live);
    load(live, of_a);
    load(live, of_b);
    fill(next, 0);
    next[0] = 1;
    next[5] = 2;
    next[8] = next[9] = 3;
    hr_lost_store(&b, live, of_b, next, FLOATS);
    fill(next, 7);
    hr_lost_store(&a, live, of_a, next, FLOATS);
    assert_int_equal(b.lost, 0);
    assert_int_equal(a.lost, 3);
    assert_int_equal(a.pairs, 8);
    assert_int_equal(a.lines, 1);
    load(live, of_b);
    for (size_t i = 0; i < FLOATS; i++)
        assert_true(of_b[i] == 7); /* stored all the same */
}

static void updates_one_after_another_lose_nothing(void **state)
{
    (void)state;
    static struct hr_lost stats[2];
    struct hr_atom64 live[FLOATS / 2];
    float loaded[FLOATS], next[FLOATS];
    memset(live, 0, sizeof live);
    for (size_t turn = 0; turn < 10; turn++) {
        load(live, loaded);
        fill(next, turn == 5 ? NAN : (float)turn); /* a NaN is no surprise to whoever stored it */
        hr_lost_store(&stats[turn % 2], live, loaded, next, FLOATS);
    }
    assert_int_equal(stats[0].lost + stats[1].lost, 0);
    assert_int_equal(stats[0].lines + stats[1].lines, 10);
}

/* The second float of the last pair of an odd count is nobody's. */
static void an_odd_count_ends_in_half_a_pair(void **state)
{
    (void)state;
    struct hr_lost stats = {0};
    struct hr_atom64 live[2];
    const float loaded[] = {0, 0, 0}, next[] = {1, 2, 3};
    memset(live, 0, sizeof live);
    hr_lost_store(&stats, live, loaded, next, 3);
    assert_int_equal(stats.pairs, 2);
    assert_int_equal(stats.lost, 0);
    assert_true(hr_hogwild_load_relaxed(&live[1]).first == 3);
    assert_true(hr_hogwild_load_relaxed(&live[1]).second == 0);
}

/* Each line about as often as any other, by both workers, and never a line that is not there. */
static void every_line_is_watched_in_its_turn(void **state)
{
    (void)state;
    enum { LINES = 7, PUSHES = 7000 };
    for (size_t worker = 0; worker < 2; worker++) {
        size_t seen[LINES] = {0};
        for (uint64_t push = 1; push <= PUSHES; push++) {
            const size_t at = hr_lost_line(LINES * FLOATS - 3, worker, push);
            assert_int_equal(at % FLOATS, 0);
            assert_in_range(at, 0, (LINES - 1) * FLOATS);
            seen[at / FLOATS]++;
        }
        for (size_t line = 0; line < LINES; line++)
            assert_in_range(seen[line], 850, 1150); /* 1000 with a deviation of 29 */
    }
    assert_int_not_equal(hr_lost_line(1 << 20, 0, 1), hr_lost_line(1 << 20, 1, 1));
}

/* Workers that take turns: each push watches one line, and nothing is lost. */
static void whole_pushes_in_turn_lose_nothing(void **state)
{
    (void)state;
    static struct script script;
    script_open(&script, &hr_strategy_hogwild,
                (struct script_plan){.workers = 2, .batches = 200, .params = 999});
    for (size_t turn = 0; turn < 50; turn++) {
        script_read(&script, turn % 2);
        script_read(&script, (turn + 1) % 2);
        for (size_t w = 0; w < 2; w++) {
            script_give(&script, w, (float)(turn + w));
        }
    }
    for (size_t w = 0; w < 2; w++) {
        const struct hr_lost *lost = &script.shared.stats[w].lost;
        assert_int_equal(lost->lines, 50);
        assert_int_equal(lost->lost, 0);
    }
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_between_load_and_store_is_lost),
        cmocka_unit_test(updates_one_after_another_lose_nothing),
        cmocka_unit_test(an_odd_count_ends_in_half_a_pair),
        cmocka_unit_test(every_line_is_watched_in_its_turn),
        cmocka_unit_test(whole_pushes_in_turn_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
