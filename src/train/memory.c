/* What the ranks of a run share: one segment, laid out. */
#include "base/size.h"
#include "schedule/wires.h"
#include "strategy/shared.h"
#include "strategy/staleness.h"
#include "train/calibrate.h"
#include "train/run.h"

/* Walked twice: without a base to learn the size, with one to learn the addresses. */
struct carver {
    unsigned char *base;
    size_t used;
};

static void *carve(struct carver *carver, size_t bytes)
{
    void *at = carver->base ? carver->base + carver->used : NULL;
    carver->used += hr_round_up(bytes, HR_LINE);
    return at;
}

/* Arenas begin an odd number of lines apart from one another, so that the same element of several
 * ranks does not fall into the same set of the caches. */
static float *carve_arena(struct carver *carver, size_t params)
{
    enum { SKEW_LINES = 9 };
    carver->used += SKEW_LINES * HR_LINE;
    return carve(carver, hr_round_up(params * sizeof(float), 4096));
}

static enum hr_status lay_out(struct hr_run *run, unsigned char *base, size_t *bytes)
{
    struct hr_world *world = &run->world;
    struct carver carver = {.base = base};
    size_t group_bytes = 0;
    if (!run->hall)
        HR_TRY(hr_group_bytes(&world->group_options, &group_bytes));
    run->board = carve(&carver, sizeof *run->board);
    world->dispenser = carve(&carver, sizeof *world->dispenser);
    world->group = carve(&carver, group_bytes);
    run->wires.free_at = carve(&carver, hr_wires_bytes(&run->wires));
    world->stats = carve(&carver, world->workers * sizeof *world->stats);
    world->staleness = carve(&carver, hr_staleness_bytes(world));
    run->cells = carve(&carver, run->neval * sizeof *run->cells);
    run->curve = carve(&carver, run->curve_room * sizeof *run->curve);
    world->snapshot.weights = carve_arena(&carver, world->params);
    world->snapshot.state =
        carve_arena(&carver, hr_state_floats(world) * world->snapshot.state_copies);
    world->snapshot.applied =
        carve(&carver, world->snapshot.state_copies * sizeof *world->snapshot.applied);
    world->snapshot.losses = carve(&carver, sizeof *world->snapshot.losses);
    for (size_t w = 0; w < world->workers; w++) {
        world->weights[w] = carve_arena(&carver, world->params);
        world->grads[w] = carve_arena(&carver, world->params);
    }
    world->own = carve(&carver, world->strategy->bytes(world));
    hr_calibration_place(run, carve(&carver, hr_calibration_bytes(run)));
    world->segment = base;
    *bytes = carver.used;
    return HR_OK;
}

enum hr_status hr_memory_take(struct hr_run *run)
{
    size_t bytes;
    if (run->schedule == HR_SCHEDULE_VIRTUAL || run->schedule == HR_SCHEDULE_REPLAY)
        HR_TRY(hr_hall_create(&run->world.group_options, &run->hall));
    HR_TRY(lay_out(run, NULL, &bytes));
    HR_TRY(hr_segment_create(hr_control_bytes(run->nranks), true, &run->control_segment));
    HR_TRY(hr_segment_create(bytes, false, &run->segment));
    run->world.control = run->control_segment.base;
    hr_control_init(run->world.control, run->nranks);
    return lay_out(run, run->segment.base, &bytes);
}
