/* Gates of runs that nothing has changed, and of runs that something has: how often they alarm.
 *
 * Five asynchronous strategies, their accuracies and losses drawn around means of their own; seeds
 * share a part of the spread between the old run and the new one, as the same weights and order of
 * samples do, and some runs are held up. HOGRING_LONG: 1,000 gates; else 300.
 */
#include <math.h>
#include <stdio.h>

#include "base/philox.h"
#include "gate/judge.h"
#include "sample_documents.h"
#include "support/check.h"

enum { STRATEGIES = 5, SEEDS_MOST = 30 };
static const double two_pi = 6.283185307179586;

/* A normal number by Box and Muller, its own for each of the four. */
static double normal(uint64_t gate, uint32_t what, uint32_t which)
{
    const struct hr_philox r = hr_random_block(check_seed() + 77, 99, gate, (what << 16) + which);
    const double u = ((double)r.v[0] + 0.5) / 0x1p32, v = (double)r.v[1] / 0x1p32;
    return sqrt(-2 * log(u)) * cos(two_pi * v);
}

/* Spreads of an accuracy of 0.9 and a loss of 0.3. */
struct world {
    size_t seeds;
    double common;   /* share of the variance that a seed gives both runs */
    double accuracy; /* standard deviation, in parts of 1 */
    double shift;    /* of the new accuracies of the first strategy */
    double held_up;  /* share of the runs that end 0.3 below, as asynchronous ones do */
};

static struct hr_gate_document draw(const struct world *w, uint64_t gate, uint32_t which)
{
    static const char *const labels[] = {"a", "b", "c", "d", "e"};
    struct sample samples[STRATEGIES * SEEDS_MOST];
    char digest[] = {(char)('0' + which), 0};
    for (uint32_t i = 0; i < STRATEGIES * w->seeds; i++) {
        const uint32_t s = i / (uint32_t)w->seeds;
        const double own = sqrt(1 - w->common), both = sqrt(w->common);
        const double a = both * normal(gate, 0, i) + own * normal(gate, 1 + which, i);
        const double l = both * normal(gate, 3, i) + own * normal(gate, 4 + which, i);
        const double accuracy = 0.9 + w->accuracy * (1 + s) * a + (which && s == 0 ? w->shift : 0);
        const bool down = hr_random_unit(hr_random_block(9, 98, gate, (which << 16) + i).v[0]) <
                          (float)w->held_up;
        samples[i] = (struct sample){labels[s],
                                     (int)(i % w->seeds),
                                     digest,
                                     round((accuracy - 0.3 * down) * 10000) / 10000,
                                     0.3 + 0.02 * l + down,
                                     false};
    }
    return sample_document(samples, STRATEGIES * w->seeds, "v4");
}

/* How many of n gates alarm. */
static size_t alarms(const struct world *w, size_t n)
{
    size_t found = 0;
    for (size_t g = 0; g < n; g++) {
        struct hr_gate_document there = draw(w, g, 0), here = draw(w, g, 1);
        struct hr_gate_judgement judgement;
        CHECK_OK(hr_gate_judge(&there, &there, &here, 0, &judgement));
        assert_int_equal(judgement.intervals, 2 * STRATEGIES);
        found += judgement.failed > 0;
        hr_gate_judgement_free(&judgement);
        hr_gate_document_free(&there);
        hr_gate_document_free(&here);
    }
    return found;
}

/* 1 % of 1,000 are 10; 19 or more come once in 200 times. */
static void unchanged_runs_raise_no_alarm(void **state)
{
    (void)state;
    const size_t n = check_count(300, 1000), most = n == 1000 ? 19 : 9;
    const struct world worlds[] = {{5, 0, 0.005, 0, 0},
                                   {10, 0, 0.005, 0, 0},
                                   {10, 0.5, 0.005, 0, 0},
                                   {10, 0, 0.005, 0, 0.03},
                                   {30, 0, 0.005, 0, 0.03}};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        const size_t found = alarms(&worlds[i], n);
        printf("%zu seeds, common %.1f, held up %.2f: %zu of %zu alarms\n", worlds[i].seeds,
               worlds[i].common, worlds[i].held_up, found, n);
        assert_true(found <= most);
    }
}

/* What a gate says that it would see in 80 of 100, it sees. */
static void the_power_is_what_is_said(void **state)
{
    (void)state;
    const size_t n = check_count(300, 1000);
    const struct world none = {10, 0, 0.005, 0, 0};
    struct hr_gate_document there = draw(&none, 0, 0), here = draw(&none, 0, 1);
    struct hr_gate_judgement judgement;
    CHECK_OK(hr_gate_judge(&there, &there, &here, 0, &judgement));
    const struct hr_gate_band *band = &judgement.strategy[0].metric[0].band;
    /* What it says is of the spread that it has seen, and the world's is known here: of normal
     * values a trimmed mean's variance is 1.14 times the mean's. */
    const double told = hr_gate_band_detectable(band) / band->sd * 0.005 * sqrt(1.14);
    hr_gate_judgement_free(&judgement);
    hr_gate_document_free(&there);
    hr_gate_document_free(&here);
    const struct world changed = {10, 0, 0.005, -told, 0};
    const size_t found = alarms(&changed, n);
    printf("10 seeds, sd 0.5 points: a loss of %.2f points is seen in %zu of %zu\n", 100 * told,
           found, n);
    assert_true(fabs((double)found / (double)n - 0.8) < (n == 1000 ? 0.05 : 0.08));
}

enum tails { TWO_LONG, ONE_LONG };

/* Student's t of 3 degrees of freedom; or an exponential one. */
static double with_tails(enum tails tails, uint64_t gate, uint32_t which, uint32_t i)
{
    double squares = 0;
    const double z = normal(gate, 8 + which, 4 * i);
    if (tails == ONE_LONG)
        return log(erfc(z / sqrt(2)) / 2);
    for (uint32_t k = 1; k < 4; k++) {
        const double one = normal(gate, 8 + which, 4 * i + k);
        squares += one * one;
    }
    return z / sqrt(squares / 3);
}

/* With long tails the power is less than said, and no less than the page says. */
static void long_tails_leave_most_of_the_power(void **state)
{
    (void)state;
    enum { SEEDS = 10 };
    const size_t n = check_count(300, 1000);
    const double level = 0.001;
    for (enum tails tails = TWO_LONG; tails <= ONE_LONG; tails++) {
        double seen[SEEDS], fresh[SEEDS], squares = 0, told = 0;
        size_t found = 0;
        for (uint64_t turn = 0; turn < 2 * n; turn++) { /* first the spread, then the gates */
            for (uint32_t i = 0; i < SEEDS; i++) {
                seen[i] = with_tails(tails, turn, 0, i);
                fresh[i] = with_tails(tails, turn, 1, i) - (turn < n ? 0 : told);
            }
            const struct hr_gate_band band = hr_gate_band_of(seen, SEEDS, fresh, SEEDS, 0, level);
            squares += turn < n ? band.sd * band.sd / (double)n : 0;
            if (turn == n - 1)
                told = hr_gate_band_detectable(&band) / band.sd * sqrt(squares);
            found += turn >= n && band.outside;
        }
        printf("10 seeds, %s: a change of %.2f is seen in %zu of %zu\n",
               tails == ONE_LONG ? "one long tail" : "two long tails", told, found, n);
        assert_in_range(found, n * 65 / 100, n * 85 / 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanged_runs_raise_no_alarm),
        cmocka_unit_test(the_power_is_what_is_said),
        cmocka_unit_test(long_tails_leave_most_of_the_power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
