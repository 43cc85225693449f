/* world.h - inside the public groups of hogring/group.h: where a world's memory lies, and what a
 * rank holds of it.
 *
 *   segment: [ the world's group | room for more groups | emulated links | arena 0 | arena 1 ... ]
 */
#ifndef HR_GROUP_WORLD_H
#define HR_GROUP_WORLD_H

#include "group/group.h"
#include "launch/launch.h"
#include "netsim/emulated_links.h"

/* What all ranks of a world know; private memory, filled before ranks are forked. */
struct hr_world_layout {
    struct hr_group_options group; /* of the world's group */
    struct hr_group_options small; /* of further groups: slots of another size */
    size_t group_bytes, groups_bytes, arena_bytes, segment_bytes;
    enum hr_launch launch;
    int64_t timeout_ns, spin_ns, yield_ns;
    bool pin;
    struct hr_wires wires; /* emulated links; without ranks: there are none */
    size_t wires_bytes;
};

struct hr_store;

/* What one rank shares with all its groups. */
struct hr_rank_world {
    const struct hr_world_layout *layout;
    struct hr_segment *segment;
    struct hr_control *control;
    struct hr_waiter waiter;
    size_t rank, local_rank;
    size_t groups_used, arena_used; /* bytes */
    uint32_t groups_made;           /* besides the world's */
    struct hr_store *stores;        /* open on this rank (store/store.h), the newest first */
};

struct hr_group {
    struct hr_member member;
    struct hr_rank_world *world;
    uint16_t world_rank[HR_MAX_RANKS];
};

/* hr_tune_one_shot_bytes (tune.h), handed in because it runs worlds itself. */
typedef size_t (*hr_tune_fn)(size_t nranks);

/* Check the options and compute all sizes; finish with hr_wires_close(&layout->wires). HR_E_USAGE,
 * HR_E_NOMEM, and what topology files can be refused for. */
HR_CHECKED enum hr_status hr_world_lay_out(const struct hr_world_options *options, hr_tune_fn tune,
                                           struct hr_world_layout *layout);

/* Where the words of emulated links lie in the segment. */
struct hr_atom64 *hr_world_wires(const struct hr_world_layout *layout, void *segment);

/* In a rank: the world as its group. Finish with hr_group_free. */
HR_CHECKED enum hr_status hr_world_enter(struct hr_rank_world *world, struct hr_group **group);

/* hr_world_run; tune may be NULL where the algorithm is not auto. */
HR_CHECKED enum hr_status hr_world_spawn(const struct hr_world_options *options, hr_tune_fn tune,
                                         hr_rank_fn work, void *arg);

#endif
