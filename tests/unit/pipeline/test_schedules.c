/* Every schedule in every small shape keeps what schedule.h promises; a wrong one is noticed. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/pipeline_ticks.h"

enum { MOST = 16, CHUNKS = 4 };

static struct ticks ticks;

/* --- what is promised --- */

static bool done_once(const struct hr_pipeline_schedule *schedule,
                      const struct hr_pipeline_shape *shape)
{
    const unsigned apart = schedule->splits_backward;
    for (size_t part = 0; part < shape->stages * shape->chunks; part++)
        for (size_t m = 0; m < shape->micro_batches; m++)
            if (ticks.times[HR_FORWARD][part][m] != 1 ||
                ticks.times[HR_BACKWARD][part][m] != 1 - apart ||
                ticks.times[HR_BACKWARD_DATA][part][m] != apart ||
                ticks.times[HR_BACKWARD_WEIGHTS][part][m] != apart)
                return false;
    return true;
}

static bool backward_in_order(const struct hr_pipeline_schedule *schedule,
                              const struct hr_pipeline_shape *shape)
{
    for (size_t part = 0; part < shape->stages * shape->chunks; part++)
        for (int work = HR_BACKWARD; work <= HR_BACKWARD_WEIGHTS; work++)
            for (size_t m = 1; m < shape->micro_batches; m++)
                if ((work == HR_BACKWARD) != schedule->splits_backward &&
                    ticks.ended[work][part][m] <= ticks.ended[work][part][m - 1])
                    return false;
    return true;
}

static bool stored_as_said(const struct hr_pipeline_schedule *schedule,
                           const struct hr_pipeline_shape *shape)
{
    for (size_t r = 0; r < shape->stages; r++)
        if (ticks.peak[r] != schedule->stored(shape, r))
            return false;
    return true;
}

static double bubble(const struct hr_pipeline_shape *shape)
{
    double idle = 0;
    for (size_t r = 0; r < shape->stages; r++)
        idle += ticks.idle[r];
    return idle / ((double)shape->stages * ticks.makespan);
}

/* The promise that is broken, NULL: none. */
static const char *broken(const struct hr_pipeline_schedule *schedule,
                          const struct hr_pipeline_shape *shape)
{
    const struct ticks_costs costs = ticks_equal(1, 1, 1);
    ticks_run(schedule, shape, &costs, &ticks);
    if (!ticks.ends)
        return "ends";
    if (!done_once(schedule, shape))
        return "once";
    if (!backward_in_order(schedule, shape))
        return "order";
    if (!stored_as_said(schedule, shape))
        return "stored";
    if (fabs(bubble(shape) - schedule->bubble(shape)) > 1e-12)
        return "bubble";
    return NULL;
}

static void every_schedule_keeps_its_promises_in_every_shape(void **state)
{
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape;
    (void)state;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)); i++)
        for (shape.chunks = 1; shape.chunks <= CHUNKS; shape.chunks++)
            for (shape.stages = 1; shape.stages <= MOST; shape.stages++)
                for (shape.micro_batches = 1; shape.micro_batches <= MOST; shape.micro_batches++) {
                    if (schedule->check(&shape) != HR_OK)
                        continue;
                    const char *what = broken(schedule, &shape);
                    if (what)
                        fail_msg("%s, K %zu, M %zu, V %zu: %s", schedule->name, shape.stages,
                                 shape.micro_batches, shape.chunks, what);
                }
}

/* --- wrong schedules --- */

static const struct hr_pipeline_schedule *right;

typedef size_t (*mutate_fn)(struct hr_stage_action *list, size_t count);
static mutate_fn mutate;

/* Rank 1's list is mutated. */
static size_t mutant_actions(const struct hr_pipeline_shape *shape, size_t rank,
                             struct hr_stage_action *out)
{
    static struct hr_stage_action list[TICKS_ACTIONS];
    size_t count = right->actions(shape, rank, list);
    if (rank == 1)
        count = mutate(list, count);
    if (out)
        memcpy(out, list, count * sizeof *list);
    return count;
}

static size_t find(const struct hr_stage_action *list, size_t count, bool forward, size_t from)
{
    while (from < count && (list[from].work == HR_FORWARD) != forward)
        from++;
    return from;
}

static void move(struct hr_stage_action *list, size_t from, size_t to)
{
    const struct hr_stage_action moved = list[from];
    if (from < to)
        memmove(list + from, list + from + 1, (to - from) * sizeof *list);
    else
        memmove(list + to + 1, list + to, (from - to) * sizeof *list);
    list[to] = moved;
}

static size_t forget_the_last(struct hr_stage_action *list, size_t count)
{
    (void)list;
    return count - 1;
}

static size_t repeat_the_last(struct hr_stage_action *list, size_t count)
{
    list[count] = list[count - 1];
    return count + 1;
}

static size_t go_backward_first(struct hr_stage_action *list, size_t count)
{
    move(list, find(list, count, false, 0), 0);
    return count;
}

static size_t exchange_two_backward(struct hr_stage_action *list, size_t count)
{
    const size_t first = find(list, count, false, 0);
    size_t second = first + 1;
    while (second < count &&
           (list[second].work != list[first].work || list[second].chunk != list[first].chunk))
        second++;
    assert_true(second < count);
    list[first].micro = list[second].micro;
    list[second].micro = 0;
    return count;
}

/* One forward more before the first backward; a schedule that has them all goes backward early. */
static size_t shift_forward(struct hr_stage_action *list, size_t count)
{
    const size_t first = find(list, count, false, 0), more = find(list, count, true, first);
    if (more < count)
        move(list, more, 0);
    else
        move(list, first - 1, count - 1);
    return count;
}

/* Where a forward and a backward alternate, the backward comes first. */
static size_t go_backward_early(struct hr_stage_action *list, size_t count)
{
    for (size_t at = find(list, count, false, 0); at < count; at = find(list, count, false, at + 2))
        if (list[at - 1].work == HR_FORWARD)
            move(list, at, at - 1);
    return count;
}

static void a_wrong_schedule_is_noticed(void **state)
{
    const mutate_fn mutants[] = {forget_the_last,       repeat_the_last, go_backward_first,
                                 exchange_two_backward, shift_forward,   go_backward_early};
    (void)state;
    for (size_t i = 0; (right = hr_pipeline_schedule_at(i)); i++)
        for (size_t k = 0; k < sizeof mutants / sizeof *mutants; k++) {
            struct hr_pipeline_shape shape = {.stages = 4, .micro_batches = 8, .chunks = 2};
            struct hr_pipeline_schedule wrong = *right;
            wrong.actions = mutant_actions;
            mutate = mutants[k];
            shape.chunks = right->check(&shape) == HR_OK ? 2 : 1;
            assert_null(broken(right, &shape));
            if (!broken(&wrong, &shape))
                fail_msg("%s: mutant %zu keeps every promise", right->name, k);
        }
}

/* --- those that never drain --- */

struct asynchrony {
    size_t stale, versions; /* the most of all minibatches */
    bool steady;            /* every minibatch but the first `stale` ones is as stale */
};

/* A stage's updates are its backward actions; `read` are those before a minibatch's forward. */
static struct asynchrony count_updates(const struct hr_pipeline_schedule *schedule,
                                       const struct hr_pipeline_shape *shape, size_t rank)
{
    static struct hr_stage_action list[TICKS_ACTIONS];
    const size_t count = schedule->actions(shape, rank, list);
    struct asynchrony result = {.steady = true};
    size_t read[TICKS_MICRO], forward = 0, updates = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].work == HR_FORWARD) {
            read[forward++] = updates;
            continue;
        }
        size_t versions = forward && read[forward - 1] == updates ? 0 : 1;
        for (size_t m = updates; m < forward; m++)
            versions += m == updates || read[m] != read[m - 1];
        const size_t stale = updates - read[updates];
        result.steady =
            result.steady &&
            stale == (updates < shape->stages - 1 - rank ? updates : shape->stages - 1 - rank);
        result.versions = versions > result.versions ? versions : result.versions;
        result.stale = stale > result.stale ? stale : result.stale;
        updates++;
    }
    return result;
}

static void stages_are_as_stale_as_said(void **state)
{
    const struct hr_pipeline_schedule *schedule;
    (void)state;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)); i++)
        for (size_t K = 1; !schedule->synchronous && K <= MOST; K++)
            for (size_t k = 0; k < K; k++) {
                const struct hr_pipeline_shape shape = {K, 2 * K, 1};
                const struct asynchrony counted = count_updates(schedule, &shape, k);
                const bool stashed = schedule->staleness(&shape, k, HR_BACKWARD) > 0 || k == K - 1;
                assert_int_equal(counted.stale, K - 1 - k);
                assert_true(counted.steady);
                assert_int_equal(schedule->staleness(&shape, k, HR_FORWARD), counted.stale);
                assert_int_equal(schedule->versions(&shape, k), stashed ? counted.versions : 1);
            }
    const struct hr_pipeline_shape four = {4, 8, 1};
    assert_int_equal(hr_schedule_pipedream.staleness(&four, 1, HR_BACKWARD), 2);
    assert_int_equal(hr_schedule_pipedream.versions(&four, 1), 3);
    assert_int_equal(hr_schedule_unstashed.staleness(&four, 1, HR_BACKWARD), 0);
    assert_int_equal(hr_schedule_unstashed.versions(&four, 1), 1);
}

/* --- names and sizes --- */

static void schedules_are_found_by_name(void **state)
{
    const struct hr_pipeline_schedule *schedule, *found;
    (void)state;
    for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)); i++) {
        CHECK_OK(hr_pipeline_schedule_find(schedule->name, &found));
        assert_ptr_equal(found, schedule);
    }
    CHECK_FAILS(hr_pipeline_schedule_find("1b1f", &found), HR_E_USAGE);
    CHECK_MESSAGE("--pipeline schedule=1b1f: there is no such schedule (there are: gpipe, 1f1b");
}

static void shapes_out_of_limits_are_refused(void **state)
{
    const struct hr_pipeline_schedule *schedule = &hr_schedule_1f1b;
    (void)state;
    CHECK_FAILS(schedule->check(&(struct hr_pipeline_shape){0, 1, 1}), HR_E_USAGE);
    CHECK_MESSAGE("--pipeline 0: expected 1 to 1024");
    CHECK_FAILS(schedule->check(&(struct hr_pipeline_shape){1, 65537, 1}), HR_E_USAGE);
    CHECK_MESSAGE("--pipeline micro-batches=65537: expected 1 to 65536");
    CHECK_FAILS(schedule->check(&(struct hr_pipeline_shape){2, 2, 2}), HR_E_USAGE);
    CHECK_MESSAGE("--pipeline schedule=interleaved:2: no other has more than one part per stage");
    schedule = &hr_schedule_interleaved;
    CHECK_FAILS(schedule->check(&(struct hr_pipeline_shape){4, 10, 2}), HR_E_USAGE);
    CHECK_MESSAGE(
        "--pipeline micro-batches=10: interleaved wants a multiple of the 4 stages, as 8 or 12");
    CHECK_FAILS(schedule->check(&(struct hr_pipeline_shape){4, 3, 2}), HR_E_USAGE);
    CHECK_MESSAGE("--pipeline micro-batches=3: interleaved wants a multiple of the 4 stages, as 4");
}

/* At equal costs of forward and both halves of the backward. */
static void zero_bubble_is_below_1f1b(void **state)
{
    struct hr_pipeline_shape shape = {.chunks = 1};
    (void)state;
    for (shape.stages = 2; shape.stages <= MOST; shape.stages++)
        for (shape.micro_batches = 1; shape.micro_batches <= MOST; shape.micro_batches++) {
            const struct ticks_costs costs = ticks_equal(1, 1, 1);
            ticks_run(&hr_schedule_zero_bubble, &shape, &costs, &ticks);
            const unsigned makespan = ticks.makespan;
            ticks_run(&hr_schedule_1f1b, &shape, &costs, &ticks);
            assert_true(makespan < ticks.makespan);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_keeps_its_promises_in_every_shape),
        cmocka_unit_test(a_wrong_schedule_is_noticed),
        cmocka_unit_test(zero_bubble_is_below_1f1b),
        cmocka_unit_test(stages_are_as_stale_as_said),
        cmocka_unit_test(schedules_are_found_by_name),
        cmocka_unit_test(shapes_out_of_limits_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
