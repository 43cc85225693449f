/* Injected trouble: who is slowed or stalled, or dies; what is lost, what goes wrong, and when. */
#include "netsim/inject.h"

#include "support/check.h"

static const int64_t ms = 1000000000;

static struct hr_inject parsed(const char *text)
{
    struct hr_inject inject;
    CHECK_OK(hr_inject_parse("", text, 8, 2, &inject));
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

static void a_stage_is_slow_by_itself(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed("slow:stage:3:1x2,slow:stage:*:2x4@50%,slow:0x8");
    size_t struck = 0;
    for (uint64_t step = 0; step < 1000; step++) {
        assert_true(hr_inject_stage_factor(&inject, check_seed(), 3, 1, step) == 2);
        assert_true(hr_inject_stage_factor(&inject, check_seed(), 2, 1, step) == 1);
        assert_true(hr_inject_stage_factor(&inject, check_seed(), 0, 0, step) == 1);
        assert_true(hr_inject_ps(&inject, check_seed(), 3, step, ms) == ms);
        struck += hr_inject_stage_factor(&inject, check_seed(), 5, 2, step) == 4;
    }
    assert_in_range(struck, 400, 600);
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

static void a_death_comes_at_its_step_or_its_time(void **state)
{
    (void)state;
    const struct hr_inject inject =
        parsed("kill:2@step=7,kill:2@step=9,kill:3@time=500ms,kill:3@time=3s,kill:server:1@step=4,"
               "kill:server:0@time=2s");
    for (uint64_t step = 0; step < 20; step++) {
        for (size_t rank = 0; rank < 8; rank++)
            assert_int_equal(hr_inject_kills_due(&inject, HR_INJECT_KILL, rank, step, -1),
                             rank == 2 ? (step >= 7) + (step >= 9) : 0);
        assert_int_equal(hr_inject_kills_due(&inject, HR_INJECT_KILL_SERVER, 1, step, -1),
                         step >= 4);
        assert_int_equal(hr_inject_kills_due(&inject, HR_INJECT_KILL_SERVER, 0, step, -1), 0);
        assert_false(hr_inject_nan(&inject, 2, step) || hr_inject_flip(&inject, 2, step));
    }
    assert_int_equal(hr_inject_kills_due(&inject, HR_INJECT_KILL, 3, 0, 500 * ms - 1), 0);
    assert_int_equal(hr_inject_kills_due(&inject, HR_INJECT_KILL, 3, 0, 500 * ms), 1);
    assert_int_equal(hr_inject_kills_due(&inject, HR_INJECT_KILL, 3, 0, 3000 * ms), 2);
    assert_int_equal(hr_inject_kills_due(&inject, HR_INJECT_KILL_SERVER, 0, 0, 2000 * ms), 1);
    assert_true(hr_inject_ps(&inject, 1, 2, 7, ms) == ms && hr_inject_stall_ps(&inject, 2, 7) == 0);
}

static void any_rank_dies_as_often_as_it_is_told_to(void **state)
{
    (void)state;
    enum { EVENTS = 100000 };
    const struct hr_inject inject = parsed("kill:any@p=0.1x2,kill:server:any@p=0.3");
    struct hr_inject_death death;
    size_t died[HR_MORTAL] = {0}, late = 0;
    for (uint64_t event = 0; event < EVENTS; event++)
        for (enum hr_mortal kind = 0; kind < HR_MORTAL; kind++) {
            const bool dies = hr_inject_dies(&inject, 7, kind, event, 0, &death);
            died[kind] += dies;
            late += dies && death.late;
            assert_false(hr_inject_dies(&inject, 7, kind, event, 2, &death));
            assert_int_equal(hr_inject_dies(&inject, 7, kind, event, 1, &death),
                             dies && kind == HR_MORTAL_WORKER);
        }
    CHECK_NEAR(died[HR_MORTAL_WORKER], 0.1 * EVENTS, 0.05, 0);
    CHECK_NEAR(died[HR_MORTAL_SERVER], 0.3 * EVENTS, 0.05, 0);
    CHECK_NEAR(late, 0.2 * EVENTS, 0.05, 0);
    assert_string_equal(hr_inject_explored("slow:1x2,kill:any@p=0.1"), "kill:any");
    assert_null(hr_inject_explored("kill:1@step=2"));
}

static void any_rank_stands_still_for_some_events(void **state)
{
    (void)state;
    enum { EVENTS = 100000 };
    const struct hr_inject inject = parsed("stall:any@p=0.1x3"), none = parsed("kill:any@p=0.9");
    struct hr_inject_pause pause;
    size_t stalled = 0, events = 0;
    for (uint64_t event = 0; event < EVENTS; event++) {
        assert_false(hr_inject_stalls(&inject, 7, event, 3, &pause));
        assert_false(hr_inject_stalls(&none, 7, event, 0, &pause));
        if (!hr_inject_stalls(&inject, 7, event, 2, &pause))
            continue;
        assert_in_range(pause.events, 1, HR_INJECT_LONGEST_STALL);
        stalled++;
        events += pause.events;
    }
    CHECK_NEAR(stalled, 0.1 * EVENTS, 0.05, 0);
    CHECK_NEAR((double)events / (double)stalled, 0.5 * HR_INJECT_LONGEST_STALL, 0.05, 0);
    assert_string_equal(hr_inject_explored("nan:1@step=2,stall:any@p=0.1"), "stall:any");
}

static void numbers_go_wrong_in_their_step_alone(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed("nan:1@step=7,flip-bit:weights:4@step=9,kill:0@time=0s");
    for (uint64_t step = 0; step < 20; step++)
        for (size_t rank = 0; rank < 8; rank++) {
            assert_int_equal(hr_inject_nan(&inject, rank, step), rank == 1 && step == 7);
            assert_int_equal(hr_inject_flip(&inject, rank, step), rank == 4 && step == 9);
        }
}

/* Every place comes up about as often as any other, and the same one for the same question. */
static void places_are_drawn_alike(void **state)
{
    (void)state;
    size_t count[10] = {0};
    for (uint64_t step = 0; step < 10000; step++) {
        const uint64_t place = hr_inject_place(check_seed(), 3, step, 10);
        assert_true(place < 10 && place == hr_inject_place(check_seed(), 3, step, 10));
        count[place]++;
    }
    for (size_t i = 0; i < 10; i++)
        assert_in_range(count[i], 1000 - 5 * 30, 1000 + 5 * 30);
    assert_int_equal(hr_inject_place(check_seed(), 3, 5, 1), 0);
}

/* Attempts until nothing is lost any more, less one; half of the losses are answers. */
static unsigned times_lost(const struct hr_inject *inject, struct hr_inject_push push,
                           size_t *answers)
{
    for (push.attempt = 0;; push.attempt++) {
        const enum hr_inject_loss loss = hr_inject_drop(inject, check_seed(), &push);
        *answers += loss == HR_LOSS_ANSWER;
        if (loss == HR_LOSS_NONE)
            return push.attempt;
    }
}

/* Lost k times with probability p^k (1 - p); each rank, server, step and attempt by itself. */
static void pushes_are_lost_as_often_as_it_says(void **state)
{
    (void)state;
    const struct hr_inject inject = parsed("drop-push:p=0.1"), none = parsed("nan:1@step=7");
    size_t count[HR_INJECT_MOST_DROPS + 1] = {0}, answers = 0, both = 0;
    for (size_t rank = 0; rank < 4; rank++)
        for (uint64_t step = 0; step < 12500; step++) {
            const struct hr_inject_push first = {rank, 0, step, 0}, second = {rank, 1, step, 0};
            const unsigned a = times_lost(&inject, first, &answers),
                           b = times_lost(&inject, second, &answers);
            count[a]++;
            count[b]++;
            both += a && b;
            assert_int_equal(hr_inject_drop(&none, check_seed(), &first), HR_LOSS_NONE);
        }
    CHECK_NEAR((double)count[0], 90000, 0, 5 * 95);
    CHECK_NEAR((double)count[1], 9000, 0, 5 * 91);
    CHECK_NEAR((double)count[2], 900, 0, 5 * 30);
    CHECK_NEAR((double)both, 500, 0, 5 * 23);
    CHECK_NEAR((double)answers, 5556, 0, 5 * 75);
    assert_true(hr_inject_deadline_ps(&inject) == 50 * ms);
    assert_true(hr_inject_deadline_ps(&none) == HR_PS_NEVER);
}

static void a_push_arrives_at_last(void **state)
{
    (void)state;
    const struct hr_inject never = parsed("drop-push:p=0"),
                           often = parsed("drop-push:p=0.999999+3ms");
    size_t answers = 0;
    for (uint64_t step = 0; step < 100; step++) {
        const struct hr_inject_push push = {0, 0, step, 0};
        assert_int_equal(times_lost(&never, push, &answers), 0);
        assert_int_equal(times_lost(&often, push, &answers), HR_INJECT_MOST_DROPS);
    }
    assert_true(hr_inject_deadline_ps(&often) == 3 * ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_nothing),
        cmocka_unit_test(a_slow_rank_is_slow_at_every_step),
        cmocka_unit_test(a_stage_is_slow_by_itself),
        cmocka_unit_test(a_stall_comes_once_and_is_not_stretched),
        cmocka_unit_test(loading_is_slow_for_every_batch_of_a_rank),
        cmocka_unit_test(chance_strikes_as_often_as_it_says),
        cmocka_unit_test(chance_is_drawn_for_each_rank_seed_and_entry),
        cmocka_unit_test(known_answers_are_kept),
        cmocka_unit_test(a_death_comes_at_its_step_or_its_time),
        cmocka_unit_test(any_rank_dies_as_often_as_it_is_told_to),
        cmocka_unit_test(any_rank_stands_still_for_some_events),
        cmocka_unit_test(numbers_go_wrong_in_their_step_alone),
        cmocka_unit_test(places_are_drawn_alike),
        cmocka_unit_test(pushes_are_lost_as_often_as_it_says),
        cmocka_unit_test(a_push_arrives_at_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
