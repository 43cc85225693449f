#include "support/pipeline_ticks.h"

#include <string.h>

#include "support/check.h"

struct rank {
    struct hr_stage_action list[TICKS_ACTIONS];
    size_t count, next;
    unsigned free_at, stored;
    bool freeing; /* the action under way frees an activation */
};

struct world {
    const struct hr_pipeline_shape *shape;
    const struct ticks_costs *costs;
    struct ticks *out;
    struct rank rank[TICKS_RANKS];
};

static size_t part_of(const struct world *world, size_t rank, const struct hr_stage_action *action)
{
    return action->chunk * world->shape->stages + rank;
}

/* Whether `work` of a part is done, and its result has come from there. */
static bool has(const struct world *world, enum hr_stage_work work, size_t part, size_t micro,
                unsigned delay, unsigned now)
{
    const unsigned ended = world->out->ended[work][part][micro];
    return ended && ended + delay <= now;
}

static bool may_begin(const struct world *world, size_t rank, const struct hr_stage_action *a,
                      unsigned now)
{
    const size_t part = part_of(world, rank, a);
    const size_t last = world->shape->stages * world->shape->chunks - 1;
    const unsigned delay = world->shape->stages > 1 ? world->costs->message : 0;
    switch (a->work) {
    case HR_FORWARD:
        return part == 0 || has(world, HR_FORWARD, part - 1, a->micro, delay, now);
    case HR_BACKWARD_WEIGHTS:
        return has(world, HR_BACKWARD_DATA, part, a->micro, 0, now);
    default:
        return has(world, HR_FORWARD, part, a->micro, 0, now) &&
               (part == last || has(world, HR_BACKWARD, part + 1, a->micro, delay, now) ||
                has(world, HR_BACKWARD_DATA, part + 1, a->micro, delay, now));
    }
}

static void begin(struct world *world, size_t number, const struct hr_stage_action *a, unsigned now)
{
    struct rank *rank = &world->rank[number];
    const size_t part = part_of(world, number, a);
    if (rank->freeing)
        rank->stored--;
    rank->stored += a->work == HR_FORWARD;
    rank->freeing = a->work == HR_BACKWARD || a->work == HR_BACKWARD_WEIGHTS;
    if (rank->stored > world->out->peak[number])
        world->out->peak[number] = rank->stored;
    rank->free_at = now + world->costs->work[a->work][part];
    rank->next++;
    world->out->times[a->work][part][a->micro]++;
    world->out->ended[a->work][part][a->micro] = rank->free_at;
    world->out->idle[number] -= world->costs->work[a->work][part];
    if (rank->free_at > world->out->makespan)
        world->out->makespan = rank->free_at;
}

/* One tick of all ranks; false when nobody is at work or has begun, and no message is under way. */
static bool tick(struct world *world, unsigned now)
{
    bool moves = now <= world->out->makespan + world->costs->message;
    for (size_t r = 0; r < world->shape->stages; r++) {
        struct rank *rank = &world->rank[r];
        if (rank->next == rank->count || rank->free_at > now ||
            !may_begin(world, r, &rank->list[rank->next], now))
            continue;
        begin(world, r, &rank->list[rank->next], now);
        moves = true;
    }
    return moves;
}

struct ticks_costs ticks_equal(unsigned forward, unsigned data, unsigned weights)
{
    struct ticks_costs costs = {.message = 0};
    for (size_t part = 0; part < TICKS_PARTS; part++) {
        costs.work[HR_FORWARD][part] = forward;
        costs.work[HR_BACKWARD][part] = data + weights;
        costs.work[HR_BACKWARD_DATA][part] = data;
        costs.work[HR_BACKWARD_WEIGHTS][part] = weights;
    }
    return costs;
}

void ticks_run(const struct hr_pipeline_schedule *schedule, const struct hr_pipeline_shape *shape,
               const struct ticks_costs *costs, struct ticks *out)
{
    static struct world world;
    world = (struct world){.shape = shape, .costs = costs, .out = out};
    memset(out, 0, sizeof *out);
    assert_true(shape->stages <= TICKS_RANKS && shape->micro_batches <= TICKS_MICRO);
    assert_true(shape->stages * shape->chunks <= TICKS_PARTS);
    for (size_t r = 0; r < shape->stages; r++) {
        world.rank[r].count = schedule->actions(shape, r, NULL);
        assert_true(world.rank[r].count <= TICKS_ACTIONS);
        assert_int_equal(schedule->actions(shape, r, world.rank[r].list), world.rank[r].count);
    }
    for (unsigned now = 0; tick(&world, now); now++)
        ;
    out->ends = true;
    for (size_t r = 0; r < shape->stages; r++) {
        out->ends = out->ends && world.rank[r].next == world.rank[r].count;
        out->idle[r] += out->makespan; /* unsigned: the work was taken off before */
    }
}
