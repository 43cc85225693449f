/* The walk against its twin, tick by tick; and what it says of schedules that cannot be walked. */
#include <string.h>

#include "base/philox.h"
#include "pipeline/walk.h"
#include "support/check.h"
#include "support/pipeline_ticks.h"

enum { MOST = 16, CHUNKS = 4 };

static struct ticks ticks;

static int64_t after_a_while(void *arg, size_t from, size_t to, int64_t now)
{
    const struct ticks_costs *costs = arg;
    assert_true(from + 1 == to || to + 1 == from);
    return now + costs->message;
}

static struct hr_pipeline_costs as_costs(struct ticks_costs *costs,
                                         struct hr_part_cost part[TICKS_PARTS])
{
    for (size_t p = 0; p < TICKS_PARTS; p++)
        part[p] =
            (struct hr_part_cost){costs->work[HR_FORWARD][p], costs->work[HR_BACKWARD_DATA][p],
                                  costs->work[HR_BACKWARD_WEIGHTS][p]};
    return (struct hr_pipeline_costs){.part = part, .arrival = after_a_while, .arg = costs};
}

/* 1 to 5 for every work of every part, messages 0 to 3. */
static struct ticks_costs random_costs(uint32_t which)
{
    struct ticks_costs costs = {.message = 0};
    for (size_t part = 0; part < TICKS_PARTS; part++) {
        const struct hr_philox random = hr_random_block(check_seed(), HR_STREAM_TEST, part, which);
        costs.work[HR_FORWARD][part] = 1 + random.v[0] % 5;
        costs.work[HR_BACKWARD_DATA][part] = 1 + random.v[1] % 5;
        costs.work[HR_BACKWARD_WEIGHTS][part] = 1 + random.v[2] % 5;
        costs.work[HR_BACKWARD][part] =
            costs.work[HR_BACKWARD_DATA][part] + costs.work[HR_BACKWARD_WEIGHTS][part];
        costs.message = random.v[3] % 4;
    }
    return costs;
}

/* --- against the twin --- */

static void check_rank(const struct hr_pipeline_schedule *schedule,
                       const struct hr_pipeline_walk *walk, size_t r)
{
    const struct hr_rank_walk *rank = &walk->rank[r];
    assert_int_equal(rank->count, schedule->actions(&walk->shape, r, NULL));
    assert_int_equal(rank->idle, ticks.idle[r]);
    assert_int_equal(rank->stored, ticks.peak[r]);
    for (size_t i = 0; i < rank->count; i++) {
        const struct hr_stage_action *action = &rank->span[i].action;
        const size_t part = action->chunk * walk->shape.stages + r;
        assert_int_equal(rank->span[i].end, ticks.ended[action->work][part][action->micro]);
        assert_true(i == 0 || rank->span[i].start >= rank->span[i - 1].end);
    }
}

static void check_walk(const struct hr_pipeline_schedule *schedule,
                       const struct hr_pipeline_shape *shape, struct ticks_costs *costs)
{
    struct hr_part_cost part[TICKS_PARTS];
    const struct hr_pipeline_costs same = as_costs(costs, part);
    const size_t K = shape->stages, M = shape->micro_batches;
    struct hr_pipeline_walk walk;
    double idle = 0;
    CHECK_OK(hr_pipeline_walk(schedule, shape, &same, &walk));
    ticks_run(schedule, shape, costs, &ticks);
    assert_true(ticks.ends);
    assert_int_equal(walk.makespan, ticks.makespan);
    assert_int_equal(walk.messages, K > 1 ? 2 * M * (K * shape->chunks - 1) : 0);
    for (size_t r = 0; r < K; r++) {
        check_rank(schedule, &walk, r);
        idle += ticks.idle[r];
    }
    CHECK_NEAR(walk.bubble, idle / ((double)K * ticks.makespan), 1e-12, 0);
    hr_pipeline_walk_fini(&walk);
}

static void walks_are_those_of_the_twin(void **state)
{
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape;
    uint32_t which = 0;
    (void)state;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)); i++)
        for (shape.chunks = 1; shape.chunks <= CHUNKS; shape.chunks++)
            for (shape.stages = 1; shape.stages <= MOST; shape.stages++)
                for (shape.micro_batches = 1; shape.micro_batches <= MOST; shape.micro_batches++) {
                    struct ticks_costs costs = random_costs(which++);
                    if (schedule->check(&shape) == HR_OK)
                        check_walk(schedule, &shape, &costs);
                }
}

static void bubbles_are_the_formulas_where_costs_are_equal(void **state)
{
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape = {.chunks = 1};
    struct hr_part_cost part[TICKS_PARTS];
    struct ticks_costs ones = ticks_equal(1, 1, 1);
    const struct hr_pipeline_costs costs = as_costs(&ones, part);
    (void)state;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)); i++)
        for (shape.stages = 1; shape.stages <= MOST; shape.stages++)
            for (shape.micro_batches = 1; shape.micro_batches <= 64; shape.micro_batches++) {
                struct hr_pipeline_walk walk;
                if (schedule->check(&shape) != HR_OK)
                    continue;
                CHECK_OK(hr_pipeline_walk(schedule, &shape, &costs, &walk));
                CHECK_NEAR(walk.bubble, schedule->bubble(&shape), 1e-12, 1e-12);
                hr_pipeline_walk_fini(&walk);
            }
}

struct asked {
    int64_t last;
    size_t times;
};

static int64_t one_later(void *arg, size_t from, size_t to, int64_t now)
{
    struct asked *asked = arg;
    (void)from;
    (void)to;
    assert_true(now >= asked->last);
    asked->last = now;
    asked->times++;
    return now + 1;
}

/* Links that are busy with what came before depend on it. */
static void messages_are_asked_for_in_order_of_time(void **state)
{
    const struct hr_pipeline_schedule *schedule;
    struct hr_part_cost part[TICKS_PARTS];
    (void)state;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)); i++)
        for (uint32_t which = 0; which < 20; which++) {
            const struct hr_pipeline_shape shape = {1 + which % 9, 18, 1};
            struct ticks_costs costs = random_costs(which);
            struct hr_pipeline_walk walk;
            struct asked asked = {0};
            struct hr_pipeline_costs with = as_costs(&costs, part);
            with.arrival = one_later;
            with.arg = &asked;
            if (schedule->check(&shape) != HR_OK)
                continue;
            CHECK_OK(hr_pipeline_walk(schedule, &shape, &with, &walk));
            assert_int_equal(asked.times, walk.messages);
            hr_pipeline_walk_fini(&walk);
        }
}

/* Forward is computed again where another micro-batch was computed since: in GPipe always, but for
 * a single one; in 1F1B never on the last rank. */
static void forward_that_is_computed_again_takes_its_time(void **state)
{
    const struct hr_part_cost part[] = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    const struct hr_pipeline_costs costs = {.part = part, .recompute = true};
    (void)state;
    for (size_t M = 1; M <= 8; M++) {
        const struct hr_pipeline_shape shape = {3, M, 1};
        struct hr_pipeline_walk walk;
        CHECK_OK(hr_pipeline_walk(&hr_schedule_gpipe, &shape, &costs, &walk));
        assert_int_equal(walk.makespan, (M + 2) * (M > 1 ? 4 : 3));
        for (size_t r = 0; r < 3; r++)
            assert_int_equal(walk.rank[r].again, M > 1 ? M : 0);
        hr_pipeline_walk_fini(&walk);
        CHECK_OK(hr_pipeline_walk(&hr_schedule_1f1b, &shape, &costs, &walk));
        assert_int_equal(walk.rank[2].again, 0);
        assert_int_equal(walk.rank[0].again, M > 1 ? M : 0);
        hr_pipeline_walk_fini(&walk);
    }
}

/* --- lists that cannot be walked --- */

static const struct hr_stage_action (*lists)[4];

static size_t listed(const struct hr_pipeline_shape *shape, size_t rank,
                     struct hr_stage_action *out)
{
    size_t count = 0;
    (void)shape;
    while (count < 4 && lists[rank][count].micro != UINT32_MAX)
        count++;
    if (out)
        memcpy(out, lists[rank], count * sizeof *out);
    return count;
}

static const char *walk_lists(const struct hr_stage_action of[2][4])
{
    const struct hr_pipeline_schedule schedule = {.name = "mine", .actions = listed};
    const struct hr_pipeline_shape shape = {2, 2, 1};
    const struct hr_part_cost part[] = {{1, 1, 1}, {1, 1, 1}};
    const struct hr_pipeline_costs costs = {.part = part};
    struct hr_pipeline_walk walk;
    lists = of;
    CHECK_FAILS(hr_pipeline_walk(&schedule, &shape, &costs, &walk), HR_E_FAILED);
    assert_null(walk.rank);
    return hr_error_message();
}

#define F(micro)                                                                                   \
    {                                                                                              \
        HR_FORWARD, micro, 0                                                                       \
    }
#define B(micro)                                                                                   \
    {                                                                                              \
        HR_BACKWARD, micro, 0                                                                      \
    }
#define END                                                                                        \
    {                                                                                              \
        HR_FORWARD, UINT32_MAX, 0                                                                  \
    }

static void a_schedule_that_never_ends_is_told_with_who_waits_for_whom(void **state)
{
    const struct hr_stage_action crossed[2][4] = {{F(0), B(0), F(1), B(1)},
                                                  {F(0), F(1), B(0), B(1)}};
    const struct hr_stage_action early[2][4] = {{F(0), F(1), B(0), B(1)}, {B(0), F(0), F(1), B(1)}};
    (void)state;
    assert_string_equal(walk_lists(crossed),
                        "mine never ends: rank 0 waits for rank 1 (backward of micro-batch 0), "
                        "rank 1 waits for rank 0 (forward of micro-batch 1)");
    assert_string_equal(walk_lists(early),
                        "mine never ends: rank 0 waits for rank 1 (backward of micro-batch 0), "
                        "rank 1 waits for rank 1 (forward of micro-batch 0)");
}

static void actions_that_come_twice_or_never_are_named(void **state)
{
    const struct hr_stage_action twice[2][4] = {{F(0), F(1), B(0), B(1)}, {F(0), F(0), B(0), B(1)}};
    const struct hr_stage_action never[2][4] = {{F(0), F(1), B(0), END}, {F(0), F(1), B(0), B(1)}};
    (void)state;
    assert_string_equal(walk_lists(twice),
                        "mine: rank 1 does the forward of micro-batch 0, chunk 0 twice");
    assert_string_equal(walk_lists(never),
                        "mine: rank 0 never does the backward of micro-batch 1, chunk 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_are_those_of_the_twin),
        cmocka_unit_test(bubbles_are_the_formulas_where_costs_are_equal),
        cmocka_unit_test(messages_are_asked_for_in_order_of_time),
        cmocka_unit_test(forward_that_is_computed_again_takes_its_time),
        cmocka_unit_test(a_schedule_that_never_ends_is_told_with_who_waits_for_whom),
        cmocka_unit_test(actions_that_come_twice_or_never_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
