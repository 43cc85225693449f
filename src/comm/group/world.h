/* world.h - inside the public groups of hogring/group.h: where a world's memory lies, and what a
 * rank holds of it.
 *
 *   segment: [ the world's group | room for more groups | emulated links | arena 0 | arena 1 ... ]
 */
#ifndef HR_GROUP_WORLD_H
#define HR_GROUP_WORLD_H

#include "group/group.h"

struct hr_world_layout; /* what all ranks of a world know: world.c */
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

/* === where the algorithm `auto` changes from one-shot to direct: measured, once per machine ===
 *
 * Both add in T(n), so the choice changes no bit, only the time. It is measured when it is first
 * needed (about 10 ms) and kept in a file, a line for each number of ranks:
 *
 *     # hogring: auto reduces buffers up to so many bytes in one shot, larger ones directly
 *     # AMD EPYC 7763 64-Core Processor, 2 processors
 *     ranks 2 one-shot 1024
 *
 * HOGRING_TUNE in the environment names the file, else it is $XDG_CACHE_HOME/hogring/tune or
 * ~/.cache/hogring/tune. Edit it to pin the choice; delete it to measure anew. One of another
 * machine is not believed. What cannot be read or written is measured every time.
 *
 * Threads: call before ranks start. */

/* The largest buffer, in bytes, that `nranks` ranks reduce faster by one-shot than by direct; 0
 * where they do not have a processor each. */
size_t hr_tune_one_shot_bytes(size_t nranks);

/* Where that is kept; static storage. "" when there is nowhere to keep it. */
const char *hr_tune_file(void);

#endif
