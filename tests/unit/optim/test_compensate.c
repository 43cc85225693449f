/* Delay compensation against its formula, for every instruction set and any cut, bit by bit. */
#include <string.h>

#include "base/philox.h"
#include "optim/rules.h"
#include "support/check.h"

enum { PARAMS = 1200, SAMPLES = 33 };

static const struct hr_param_segment segments[] = {
    {0, 301, HR_SEGMENT_TRAINED}, {301, 17, HR_SEGMENT_STATISTIC}, {318, 882, HR_SEGMENT_TRAINED}};

static const struct hr_optimizer optimizer = {
    .segments = segments, .nsegments = 3, .params = PARAMS};

static float g[PARAMS], past[PARAMS], now[PARAMS], out[PARAMS], want[PARAMS];

static float draw(size_t i, uint32_t which)
{
    return hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, which).v[0]) - 0.5f;
}

/* The twin: each operation rounded by itself, as rules.h has it. */
static int fill(void **state)
{
    (void)state;
    const volatile float factor = 0.7f * (1.0f / SAMPLES);
    for (size_t i = 0; i < PARAMS; i++) {
        g[i] = 100 * draw(i, 0);
        past[i] = draw(i, 1);
        now[i] = draw(i, 2);
        const volatile float once = factor * g[i], twice = once * g[i];
        const volatile float moved = now[i] - past[i], added = twice * moved;
        want[i] = i >= 301 && i < 318 ? g[i] : g[i] + added;
    }
    return 0;
}

static void any_cut_follows_the_formula(void **state)
{
    (void)state;
    const struct hr_step step = {.optimizer = &optimizer, .inverse_count = 1.0f / SAMPLES};
    static const size_t cuts[] = {0, 1, 64, 300, 301, 310, 318, 319, 1000, PARAMS};
    for (size_t from = 0; from < 9; from++)
        for (size_t to = from + 1; to < 10; to++) {
            const size_t at = cuts[from], count = cuts[to] - at;
            const struct hr_drift drift = {past + at, now + at, 0.7f};
            memset(out, 0, sizeof out);
            hr_step_compensate(&step, at, count, out + at, g + at, &drift);
            CHECK_SAME_FLOATS(out + at, want + at, count);
        }
}

static void check_table(const struct hr_optimizer_table *table)
{
    const struct hr_drift drift = {past + 318, now + 318, 0};
    table->compensate(out + 318, g + 318, &drift, 0.7f * (1.0f / SAMPLES), 882);
    CHECK_SAME_FLOATS(out + 318, want + 318, 882);
}

static void instruction_sets_agree(void **state)
{
    (void)state;
    static const struct hr_optimizer_table *const tables[] = {HR_ISA_COPIES(hr_optimizer_table)};
    for (size_t level = 0; level <= hr_isa(); level++)
        check_table(tables[level]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_cut_follows_the_formula),
                                       cmocka_unit_test(instruction_sets_agree)};
    return cmocka_run_group_tests(tests, fill, NULL);
}
