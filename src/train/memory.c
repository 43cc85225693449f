/* What the ranks of a run share: one segment, laid out. */
#include "base/needs.h"
#include "base/size.h"
#include "netsim/wires.h"
#include "strategy/shared.h"
#include "strategy/staleness.h"
#include "train/calibrate.h"
#include "train/run.h"

/* Walked twice: without a base to learn the size, with one to learn the addresses. */
struct carver {
    unsigned char *base;
    size_t used;
    struct hr_needs *needs; /* NULL: nobody wants to know what for */
};

static void *carve(struct carver *carver, const char *name, size_t bytes)
{
    void *at = carver->base ? carver->base + carver->used : NULL;
    carver->used += hr_round_up(bytes, HR_LINE);
    if (carver->needs)
        hr_needs_add(carver->needs, name, 1, hr_round_up(bytes, HR_LINE));
    return at;
}

/* Arenas begin an odd number of lines apart from one another, so that the same element of several
 * ranks does not fall into the same set of the caches. */
static float *carve_arena(struct carver *carver, const char *name, size_t params)
{
    enum { SKEW_LINES = 9 };
    carver->used += SKEW_LINES * HR_LINE;
    return carve(carver, name, hr_round_up(params * sizeof(float), 4096));
}

/* A local group has no memory that ranks share. */
static bool has_hall(const struct hr_run *run)
{
    return run->schedule == HR_SCHEDULE_VIRTUAL || run->schedule == HR_SCHEDULE_REPLAY;
}

static enum hr_status lay_out(struct hr_run *run, struct carver *to)
{
    static const char counts[] = "counters and curve", copy[] = "copy to evaluate and save";
    struct hr_shared_state *shared = &run->shared;
    size_t group_bytes = 0;
    if (!has_hall(run))
        HR_TRY(hr_group_bytes(&shared->group_options, &group_bytes));
    run->board = carve(to, counts, sizeof *run->board);
    shared->dispenser = carve(to, counts, sizeof *shared->dispenser);
    shared->group = carve(to, "rings", group_bytes);
    run->wires.free_at = carve(to, "rings", hr_wires_bytes(&run->wires));
    shared->stats = carve(to, counts, shared->workers * sizeof *shared->stats);
    shared->staleness = carve(to, counts, hr_staleness_bytes(shared));
    run->cells = carve(to, counts, run->neval * sizeof *run->cells);
    run->curve = carve(to, counts, run->curve_room * sizeof *run->curve);
    shared->snapshot.weights = carve_arena(to, copy, shared->params);
    shared->snapshot.state =
        carve_arena(to, copy, hr_state_floats(shared) * shared->snapshot.state_copies);
    shared->snapshot.applied =
        carve(to, copy, shared->snapshot.state_copies * sizeof *shared->snapshot.applied);
    shared->snapshot.losses = carve(to, copy, sizeof *shared->snapshot.losses);
    shared->snapshot.shares = carve(to, copy, shared->workers * sizeof *shared->snapshot.shares);
    for (size_t w = 0; w < shared->workers; w++) {
        shared->weights[w] = carve_arena(to, "weights and gradients", shared->params);
        shared->grads[w] = carve_arena(to, "weights and gradients", shared->params);
    }
    shared->own = carve(to, shared->strategy->served ? "servers" : "shared by the workers",
                        shared->strategy->bytes(shared));
    hr_calibration_place(run, carve(to, counts, hr_calibration_bytes(run)));
    shared->segment = to->base;
    return HR_OK;
}

enum hr_status hr_memory_needs(struct hr_run *run, struct hr_needs *needs)
{
    return lay_out(run, &(struct carver){.needs = needs});
}

enum hr_status hr_memory_take(struct hr_run *run)
{
    struct carver counter = {0};
    if (has_hall(run))
        HR_TRY(hr_local_group_create(&run->shared.group_options, &run->local));
    HR_TRY(lay_out(run, &counter));
    HR_TRY(hr_segment_create(hr_control_bytes(run->nranks), true, &run->control_segment));
    HR_TRY(hr_segment_create(counter.used, false, &run->segment));
    run->shared.control = run->control_segment.base;
    hr_control_init(run->shared.control, run->nranks);
    return lay_out(run, &(struct carver){.base = run->segment.base});
}
