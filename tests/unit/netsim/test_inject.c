/* Injected trouble: who is slowed or stalled, when, by how much; and what the text may not say. */
#include "netsim/inject.h"

#include <string.h>

#include "support/check.h"

static const int64_t ms = 1000000000;

static struct hr_inject parsed(const char *text)
{
    struct hr_inject inject;
    CHECK_OK(hr_inject_parse("", text, 8, &inject));
    return inject;
}

static void nothing_changes_nothing(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed(""), zero = {0};
    const int64_t odd = ((int64_t)1 << 61) + 1; /* no double holds it */
    assert_int_equal(inject.n, 0);
    for (size_t rank = 0; rank < 8; rank++) {
        assert_true(hr_inject_ps(&inject, 1, rank, rank, 7 * ms) == 7 * ms);
        assert_true(hr_inject_ps(&zero, 1, rank, rank, odd) == odd);
    }
}

static void a_slow_rank_is_slow_at_every_step(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed("slow:3x2");
    for (uint64_t step = 0; step < 100; step++)
        for (size_t rank = 0; rank < 8; rank++)
            assert_true(hr_inject_ps(&inject, check_seed(), rank, step, 10 * ms) ==
                        (rank == 3 ? 20 : 10) * ms);
}

static void a_stall_comes_once_and_is_not_stretched(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed("slow:*x0.5,stall:1@step=50+3s,slow:1x4");
    for (uint64_t step = 0; step < 100; step++) {
        assert_true(hr_inject_ps(&inject, 1, 1, step, 10 * ms) == 20 * ms);
        assert_true(hr_inject_ps(&inject, 1, 2, step, 10 * ms) == 5 * ms);
        assert_true(hr_inject_stall_ps(&inject, 1, step) == (step == 50 ? 3000 * ms : 0));
        assert_true(hr_inject_stall_ps(&inject, 2, step) == 0);
    }
    assert_true(hr_inject_ps(&inject, 1, 1, 50, HR_PS_NEVER) == HR_PS_NEVER);
}

static void loading_is_slow_for_every_batch_of_a_rank(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed("load:2+5ms,slow:2x4,load:*+1ms");
    for (size_t rank = 0; rank < 8; rank++)
        assert_true(hr_inject_load_ps(&inject, rank) == (rank == 2 ? 6 : 1) * ms);
    assert_true(hr_inject_ps(&inject, 1, 2, 0, 10 * ms) == 40 * ms);
    assert_true(hr_inject_stall_ps(&inject, 2, 0) == 0);
}

/* How often, out of n steps of each of 8 ranks, entry text strikes. */
static size_t strikes(const char *text, uint64_t seed, uint64_t n)
{
    const struct hr_inject inject = parsed(text);
    size_t count = 0;
    for (size_t rank = 0; rank < 8; rank++)
        for (uint64_t step = 0; step < n; step++) {
            const int64_t ps = hr_inject_ps(&inject, seed, rank, step, ms);
            assert_true(ps == ms || ps == 3 * ms);
            assert_true(ps == hr_inject_ps(&inject, seed, rank, step, ms));
            count += ps == 3 * ms;
        }
    return count;
}

static void chance_strikes_as_often_as_it_says(void **state)
{
    (void)state;
    assert_int_equal(strikes("slow:*x3@0%", check_seed(), 1000), 0);
    assert_int_equal(strikes("slow:*x3@100%", check_seed(), 1000), 8000);
    assert_int_equal(strikes("slow:5x3@100%", check_seed(), 1000), 1000);
    CHECK_NEAR((double)strikes("slow:*x3@10%", check_seed(), 10000), 8000, 0, 5 * 85);
    CHECK_NEAR((double)strikes("slow:2x3@0.5%", check_seed(), 100000), 500, 0, 5 * 22.3);
}

/* Pairs of steps that are both struck are as rare as chance has it: ranks, seeds and entries are
 * independent of one another. */
static void chance_is_drawn_for_each_rank_seed_and_entry(void **state)
{
    (void)state;
    const struct hr_inject one = parsed("slow:*x3@10%"), two = parsed("slow:*x1,slow:*x3@10%");
    size_t ranks = 0, seeds = 0, entries = 0;
    for (uint64_t step = 0; step < 100000; step++) {
        const int64_t ps = hr_inject_ps(&one, check_seed(), 1, step, ms);
        ranks += ps > ms && hr_inject_ps(&one, check_seed(), 2, step, ms) > ms;
        seeds += ps > ms && hr_inject_ps(&one, check_seed() + 1, 1, step, ms) > ms;
        entries += ps > ms && hr_inject_ps(&two, check_seed(), 1, step, ms) > ms;
    }
    assert_in_range(ranks, 850, 1150);
    assert_in_range(seeds, 850, 1150);
    assert_in_range(entries, 850, 1150);
}

/* From a twin in Python. On any machine it must be these. */
static void known_answers_are_kept(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed("slow:*x3@10%,slow:*x1.1@50%");
    uint64_t struck[2] = {0};
    for (uint64_t step = 0; step < 64; step++) {
        const int64_t ps = hr_inject_ps(&inject, 7, 4, step, 1000);
        struck[0] |= (uint64_t)(ps >= 3000) << step;
        struck[1] |= (uint64_t)(ps == 1100 || ps == 3300) << step;
    }
    assert_true(struck[0] == 0x2801802020100000 && struck[1] == 0x462951b0427f8cef);
}

static void blanks_between_entries_are_allowed(void **state)
{
    (void)state;
    struct hr_inject inject;
    CHECK_OK(hr_inject_parse("--inject ", "slow:3x2, stall:1@step=50+3s", 8, &inject));
    assert_int_equal(inject.n, 2);
    assert_int_equal(inject.entry[1].rank, 1);
}

static void wrong_text_is_refused_in_one_line(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"fast:3x2", "--inject fast:3x2: expected a comma list of slow:"},
        {"slow:3x2,,", "--inject : expected a comma list"},
        {"slow:3x2,", "--inject : expected an entry behind the last comma"},
        {"kill:2@step=100", "--inject kill:2@step=100: kill is not there yet"},
        {"slow:3", "--inject slow:3: expected slow:RANKxFACTOR[@P%], as slow:3x2"},
        {"slow:3x", "expected slow:RANKxFACTOR"},
        {"slow:x2", "expected slow:RANKxFACTOR"},
        {"slow:-1x2", "expected slow:RANKxFACTOR"},
        {"slow:3x0", "factor 0.001 to 1000"},
        {"slow:3x1001", "factor 0.001 to 1000"},
        {"slow:3x2@10", "expected slow:RANKxFACTOR"},
        {"slow:3x2@101%", "expected slow:RANKxFACTOR"},
        {"slow:3x2@10%%", "expected slow:RANKxFACTOR"},
        {"slow:8x2", "--inject slow:8x2: expected a worker from 0 to 7, or * for all"},
        {"slow:18446744073709551615x2", "expected slow:RANKxFACTOR"},
        {"slow:1x2,stall:1@step=50", "--inject stall:1@step=50: expected stall:RANK@step=N+TIME"},
        {"stall:1@50+3s", "expected stall:RANK@step=N+TIME"},
        {"stall:1@step=+3s", "expected stall:RANK@step=N+TIME"},
        {"stall:1@step=50+25h", "at most 24h"},
        {"slow:1x2222222222222222222222222222222222222222222222222222222222222222222222",
         "expected entries of at most 63 characters"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hr_inject inject = {.n = 77};
        CHECK_FAILS(hr_inject_parse("--inject ", texts[i][0], 8, &inject), HR_E_USAGE);
        CHECK_MESSAGE(texts[i][1]);
        assert_int_equal(inject.n, 77);
    }
}

static void no_more_entries_are_taken_than_there_is_room_for(void **state)
{
    (void)state;
    char text[16 * (HR_INJECT_ENTRIES + 1)] = "slow:0x2";
    struct hr_inject inject;
    for (size_t i = 1; i < HR_INJECT_ENTRIES; i++)
        strcat(text, ",slow:0x2");
    inject = parsed(text);
    assert_int_equal(inject.n, HR_INJECT_ENTRIES);
    assert_true(hr_inject_ps(&inject, 1, 0, 0, ms) == HR_PS_NEVER);
    strcat(text, ",slow:0x2");
    CHECK_FAILS(hr_inject_parse("", text, 8, &inject), HR_E_USAGE);
    CHECK_MESSAGE("at most 64 entries");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_nothing),
        cmocka_unit_test(a_slow_rank_is_slow_at_every_step),
        cmocka_unit_test(a_stall_comes_once_and_is_not_stretched),
        cmocka_unit_test(loading_is_slow_for_every_batch_of_a_rank),
        cmocka_unit_test(chance_strikes_as_often_as_it_says),
        cmocka_unit_test(chance_is_drawn_for_each_rank_seed_and_entry),
        cmocka_unit_test(known_answers_are_kept),
        cmocka_unit_test(blanks_between_entries_are_allowed),
        cmocka_unit_test(wrong_text_is_refused_in_one_line),
        cmocka_unit_test(no_more_entries_are_taken_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
