/* A world of ranks that somebody else has started, one by one. */
#include <stdlib.h>

#include "base/fpenv.h"
#include "launch/join.h"
#include "group/tune.h"
#include "group/world.h"

/* What a joined rank holds. */
struct joined {
    struct hr_world_layout layout;
    struct hr_join join;
    struct hr_rank_world world;
};

static struct joined *joined_of(struct hr_group *group)
{
    return (struct joined *)((unsigned char *)group->world - offsetof(struct joined, world));
}

static bool rank_0_is_ready(void *arg)
{
    const struct hr_control *control = arg;
    return hr_atom32_load_acquire(&control->rank[0].phase) !=
           HR_PHASE_STARTING; /* partner: below */
}

/* Rank 0 makes the group in the segment; nobody may use it before. */
static enum hr_status set_up(struct joined *joined)
{
    struct hr_control *control = joined->join.control;
    const size_t rank = joined->join.options.rank, n = joined->join.options.nranks;
    joined->layout.wires.free_at = hr_world_wires(&joined->layout, joined->join.segment.base);
    if (rank != 0) {
        struct hr_waiter waiter = {.timeout_ns = joined->layout.timeout_ns};
        hr_join_watch(&joined->join, &waiter);
        return hr_wait_until(&waiter, &control->rank[rank].bell, rank_0_is_ready, control,
                             "rank 0 to set the world up");
    }
    HR_TRY(hr_group_init(joined->join.segment.base, &joined->layout.group));
    hr_control_phase(control, 0, HR_PHASE_COMMUNICATE); /* partner: rank_0_is_ready */
    for (size_t r = 0; r < n; r++)
        hr_bell_ring(&control->rank[r].bell);
    return HR_OK;
}

static enum hr_status enter(struct joined *joined, struct hr_group **world)
{
    HR_TRY(set_up(joined));
    joined->world = (struct hr_rank_world){.layout = &joined->layout,
                                           .segment = &joined->join.segment,
                                           .control = joined->join.control,
                                           .rank = joined->join.options.rank,
                                           .local_rank = joined->join.options.local_rank};
    HR_TRY(hr_world_enter(&joined->world, world));
    hr_join_watch(&joined->join, &joined->world.waiter);
    hr_fp_flush_denormals();
    return HR_OK;
}

static void release(struct joined *joined, enum hr_status outcome)
{
    hr_join_close(&joined->join, outcome);
    hr_wires_close(&joined->layout.wires);
    free(joined);
}

static enum hr_status meet(const struct hr_world_options *asked, struct joined *joined)
{
    struct hr_world_options options = *asked;
    struct hr_join_options here = {0};
    HR_TRY(hr_join_environment(&here));
    options.nranks = here.nranks;
    options.launch = "process";
    HR_TRY(hr_world_lay_out(&options, hr_tune_one_shot_bytes, &joined->layout));
    here.timeout_ns = joined->layout.timeout_ns;
    here.segment_bytes = joined->layout.segment_bytes;
    return hr_join_open(&here, &joined->join);
}

enum hr_status hr_world_join(const struct hr_world_options *options, struct hr_group **world)
{
    struct joined *joined = calloc(1, sizeof *joined);
    if (!joined)
        return hr_fail(HR_E_NOMEM, "no memory for a world");
    enum hr_status status = meet(options, joined);
    if (status == HR_OK)
        status = enter(joined, world);
    if (status != HR_OK)
        release(joined, status);
    return status;
}

void hr_world_leave(struct hr_group *world, enum hr_status status)
{
    struct joined *joined = joined_of(world);
    hr_group_free(world);
    release(joined, status);
}
