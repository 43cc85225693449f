#include "verdict/family.h"

#include <math.h>
#include <stdlib.h>

#include "stats/tests.h"

enum { SEEDS_MOST = 10000 };

static struct hr_pair *at(struct hr_family *family, size_t a, size_t b)
{
    return &family->pair[a * family->groups + b];
}

/* b against a, of what is known of a against b. */
static struct hr_pair mirrored(const struct hr_pair *pair)
{
    struct hr_pair m = *pair;
    const struct hr_paired *t = &pair->test;
    m.test.difference = -t->difference;
    m.test.effect = -t->effect;
    m.test.interval = (struct hr_interval){-t->interval.high, -t->interval.low};
    m.test.of_effect = (struct hr_interval){-t->of_effect.high, -t->of_effect.low};
    return m;
}

/* Pairs of groups that are the first of their kind. */
static size_t test_pairs(struct hr_family *family, const struct hr_family_wish *wish,
                         struct hr_comparison *list)
{
    size_t n = 0;
    for (size_t a = 0; a < wish->groups; a++)
        for (size_t b = a + 1; b < wish->groups; b++) {
            struct hr_pair *pair = at(family, a, b);
            if (wish->twin[a] != a || wish->twin[b] != b || !wish->test(wish->arg, a, b, pair))
                continue;
            pair->state = HR_PAIR_TESTED;
            *at(family, b, a) = mirrored(pair);
            list[n++] = (struct hr_comparison){.a = a, .b = b, .p = pair->test.p};
        }
    return n;
}

static void adjust(struct hr_family *family, struct hr_comparison *list, size_t n)
{
    hr_holm_adjust(list, n);
    for (size_t i = 0; i < n; i++)
        at(family, list[i].a, list[i].b)->p = at(family, list[i].b, list[i].a)->p = list[i].p;
}

/* In both directions, 2n tests of which n can be wrong. */
static void adjust_margins(struct hr_family *family, const struct hr_family_wish *wish,
                           struct hr_comparison *list, size_t n)
{
    size_t tests = 0;
    for (size_t a = 0; a < wish->groups; a++)
        for (size_t b = 0; b < wish->groups; b++) {
            const struct hr_pair *pair = at(family, a, b);
            if (a == b || pair->state != HR_PAIR_TESTED)
                continue;
            list[tests++] = (struct hr_comparison){
                .a = a,
                .b = b,
                .p = wish->higher ? hr_paired_not_below(&pair->test, wish->margin)
                                  : hr_paired_not_above(&pair->test, wish->margin)};
        }
    hr_holm_adjust_of(list, tests, n);
    for (size_t i = 0; i < tests; i++)
        at(family, list[i].a, list[i].b)->not_worse_p = list[i].p;
}

/* Before twins have copies: each test counts once. */
static void measure_spread(struct hr_family *family)
{
    double squares = 0, n = 0;
    for (size_t i = 0; i < family->groups * family->groups; i++) {
        const struct hr_paired *test = &family->pair[i].test;
        if (family->pair[i].state != HR_PAIR_TESTED || !(test->sd > 0))
            continue;
        squares += test->sd * test->sd;
        n++;
        if (!family->least_pairs || test->n < family->least_pairs)
            family->least_pairs = test->n;
    }
    family->spread = n > 0 ? sqrt(squares / n) : 0;
}

/* What holds for the first of its kind holds for all. */
static void copy_to_twins(struct hr_family *family, const size_t *twin)
{
    for (size_t a = 0; a < family->groups; a++)
        for (size_t b = 0; b < family->groups; b++)
            if (a != b && twin[a] == twin[b])
                *at(family, a, b) =
                    (struct hr_pair){.state = HR_PAIR_IDENTICAL, .test = {.p = 1}, .p = 1};
            else if (a != b)
                *at(family, a, b) = *at(family, twin[a], twin[b]);
}

enum hr_status hr_family_make(struct hr_family *family, const struct hr_family_wish *wish)
{
    const size_t n = wish->groups;
    struct hr_comparison *list = calloc(n * n + 1, sizeof *list);
    *family = (struct hr_family){.groups = n, .pair = calloc(n * n + 1, sizeof *family->pair)};
    if (!list || !family->pair) {
        free(list);
        hr_family_free(family);
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", n);
    }
    for (size_t i = 0; i < n * n; i++)
        family->pair[i] = (struct hr_pair){.test = {.p = 1}, .p = 1, .not_worse_p = 1};
    family->tests = test_pairs(family, wish, list);
    adjust(family, list, family->tests);
    if (wish->margin > 0)
        adjust_margins(family, wish, list, family->tests);
    measure_spread(family);
    copy_to_twins(family, wish->twin);
    free(list);
    return HR_OK;
}

void hr_family_free(struct hr_family *family)
{
    free(family->pair);
    *family = (struct hr_family){0};
}

bool hr_family_higher(const struct hr_family *family, size_t a, size_t b)
{
    const struct hr_pair *pair = hr_family_pair(family, a, b);
    return a != b && pair->state == HR_PAIR_TESTED && pair->p < HR_VERDICT_LEVEL &&
           pair->test.difference > 0;
}

struct hr_family_power hr_family_power(const struct hr_family *family, double aim)
{
    struct hr_family_power power = {.spread = family->spread, .pairs = family->least_pairs};
    if (power.pairs == 0)
        return power;
    const double level = HR_VERDICT_LEVEL / (double)family->tests;
    power.difference = power.spread * hr_power_difference(power.pairs, level, HR_POWER_WANTED);
    power.aim = aim > 0 ? aim : power.difference / 2;
    power.more = hr_power_pairs(power.aim / power.spread, level, HR_POWER_WANTED, SEEDS_MOST);
    return power;
}
