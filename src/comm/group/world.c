#include "group/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"
#include "group/stream.h"

enum {
    USUAL_ARENA = 16 << 20,
    USUAL_TIMEOUT_S = 30,
    USUAL_GROUPS = 8,
    PAYLOAD = 64 << 20,      /* at most, of all streams of the world's group together */
    SMALL_PAYLOAD = 2 << 20, /* of a further group's */
    LARGEST_SLOT = 32 << 10, /* 8 of them, a stream's, stay in L2 */
    LEAST_SLOT = 512,
};

/* --- options --- */

/* The largest slot with which the payload of all streams fits into `bytes`. */
static size_t slot_bytes_within(size_t bytes, size_t nranks)
{
    const size_t streams = nranks * (2 * nranks - 1);
    size_t slot = LARGEST_SLOT;
    while (slot > LEAST_SLOT && slot * streams * HR_STREAM_SLOTS > bytes)
        slot /= 2;
    return slot;
}

static enum hr_status read_transport(const char *name, bool *copies)
{
    *copies = name && !strcmp(name, "copy");
    if (!name || *copies || !strcmp(name, "zero-copy"))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--transport %s: expected zero-copy or copy", name);
}

static enum hr_status read_options(const struct hr_world_options *o, hr_tune_fn tune,
                                   struct hr_world_layout *layout)
{
    struct hr_group_options *group = &layout->group;
    if (o->nranks < 1 || o->nranks > HR_MAX_RANKS)
        return hr_fail(HR_E_USAGE, "%zu ranks: expected 1 to %d", o->nranks, HR_MAX_RANKS);
    HR_TRY(hr_launch_parse(o->launch ? o->launch : "thread", &layout->launch));
    HR_TRY(hr_algorithm_find(o->algorithm ? o->algorithm : "auto", &group->algorithm));
    HR_TRY(read_transport(o->transport, &group->copies));
    group->nranks = o->nranks;
    group->crowded = o->nranks > hr_cpus_allowed();
    group->helpers = hr_cpus_allowed() - 1;
    group->group_size = o->group_size;
    group->any_operation = true;
    if (group->algorithm == &hr_allreduce_auto)
        group->one_shot_bytes = tune(o->nranks);
    if (group->copies || layout->launch == HR_LAUNCH_PROCESS)
        group->slot_bytes = slot_bytes_within(PAYLOAD, o->nranks);
    layout->small = *group;
    if (group->slot_bytes)
        layout->small.slot_bytes = slot_bytes_within(SMALL_PAYLOAD, o->nranks);
    layout->pin = o->pin != 0;
    const double timeout = o->timeout > 0 ? o->timeout : o->timeout < 0 ? 0 : USUAL_TIMEOUT_S;
    layout->timeout_ns = (int64_t)(timeout * (double)HR_NS_PER_SECOND);
    layout->spin_ns = hr_spin_budget_ns(o->nranks);
    layout->yield_ns = hr_yield_budget_ns(o->nranks);
    return HR_OK;
}

static enum hr_status read_links(const struct hr_world_options *o, struct hr_world_layout *layout)
{
    if (!o->link && !o->topology)
        return HR_OK;
    if (!layout->group.copies)
        return hr_fail(HR_E_USAGE, "--%s: links are emulated for --transport copy only",
                       o->link ? "link" : "topology");
    HR_TRY(hr_wires_open(&layout->wires, o->nranks, o->link, o->topology,
                         o->slower > 0 ? o->slower : 1));
    layout->wires_bytes = hr_round_up(hr_wires_bytes(&layout->wires), HR_LINE);
    return HR_OK;
}

enum hr_status hr_world_lay_out(const struct hr_world_options *o, hr_tune_fn tune,
                                struct hr_world_layout *layout)
{
    size_t one_group, arenas;
    *layout = (struct hr_world_layout){0};
    HR_TRY(read_options(o, tune, layout));
    HR_TRY(read_links(o, layout));
    HR_TRY(hr_group_bytes(&layout->group, &layout->group_bytes));
    HR_TRY(hr_group_bytes(&layout->small, &one_group));
    layout->group_bytes = hr_round_up(layout->group_bytes, HR_LINE);
    layout->groups_bytes =
        (o->max_groups ? o->max_groups : USUAL_GROUPS) * hr_round_up(one_group, HR_LINE);
    /* A few lines more for each arena, so that equal buffers of different ranks do not fall into
     * the same set of the cache. */
    const size_t arena = o->arena_bytes ? o->arena_bytes : USUAL_ARENA;
    layout->arena_bytes = hr_round_up(arena, 4096) + 9 * (size_t)HR_LINE;
    if (arena > SIZE_MAX / 2 || !hr_size_mul(layout->arena_bytes, o->nranks, &arenas) ||
        !hr_size_add(layout->group_bytes + layout->groups_bytes + layout->wires_bytes, arenas,
                     &layout->segment_bytes))
        return hr_fail(HR_E_NOMEM, "%zu arenas of %zu bytes do not fit into memory", o->nranks,
                       arena);
    return HR_OK;
}

struct hr_atom64 *hr_world_wires(const struct hr_world_layout *layout, void *segment)
{
    return (struct hr_atom64 *)(void *)((unsigned char *)segment + layout->group_bytes +
                                        layout->groups_bytes);
}

/* --- a rank's groups --- */

static enum hr_status make_group(struct hr_rank_world *world,
                                 const struct hr_group_options *options, void *memory,
                                 const size_t *ranks, size_t rank, struct hr_group **out)
{
    struct hr_group *group = calloc(1, sizeof *group);
    if (!group)
        return hr_fail(HR_E_NOMEM, "no memory for a group");
    group->world = world;
    for (size_t r = 0; r < options->nranks; r++)
        group->world_rank[r] = (uint16_t)(ranks ? ranks[r] : r);
    const struct hr_place place = {
        .group = memory,
        .segment = world->segment->base,
        .control = world->control,
        .waiter = &world->waiter,
        .segment_bytes = world->layout->launch == HR_LAUNCH_THREAD ? 0 : world->segment->bytes,
        .world_rank = group->world_rank,
        .number = world->groups_made,
        .wires = world->layout->wires.nranks ? &world->layout->wires : NULL,
    };
    const enum hr_status status = hr_member_init(&group->member, options, &place, rank);
    if (status != HR_OK)
        free(group);
    else
        *out = group;
    return status;
}

enum hr_status hr_world_enter(struct hr_rank_world *world, struct hr_group **group)
{
    world->waiter = (struct hr_waiter){.abort = &world->control->abort,
                                       .spin_ns = world->layout->spin_ns,
                                       .yield_ns = world->layout->yield_ns,
                                       .timeout_ns = world->layout->timeout_ns};
    hr_control_phase(world->control, world->rank, HR_PHASE_COMMUNICATE);
    if (world->layout->wires.nranks) /* else the kernel rounds sleeps up by 50 us */
        prctl(PR_SET_TIMERSLACK, 1);
    if (world->layout->pin)
        hr_cpus_pin(world->local_rank);
    return make_group(world, &world->layout->group, world->segment->base, NULL, world->rank, group);
}

void hr_group_free(struct hr_group *group)
{
    if (!group)
        return;
    hr_member_fini(&group->member);
    free(group);
}

static enum hr_status check_list(const struct hr_group *world, const size_t *ranks, size_t n)
{
    const size_t size = hr_group_size(world);
    if (world->world->layout->group.nranks != size)
        return hr_fail(HR_E_USAGE, "hr_group_new: expected the world's group");
    if (n < 1 || n > size)
        return hr_fail(HR_E_USAGE, "hr_group_new: %zu ranks of a world of %zu", n, size);
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] >= size)
            return hr_fail(HR_E_USAGE, "hr_group_new: there is no rank %zu in a world of %zu",
                           ranks[i], size);
        for (size_t j = 0; j < i; j++)
            if (ranks[j] == ranks[i])
                return hr_fail(HR_E_USAGE, "hr_group_new: rank %zu is listed twice", ranks[i]);
    }
    return HR_OK;
}

static enum hr_status reduce_two(struct hr_group *world, const int64_t in[2], int64_t out[2],
                                 enum hr_redop redop)
{
    hr_member_start(&world->member, &(struct hr_job){.operation = HR_OP_ALL_REDUCE,
                                                     .kind = {HR_INT64, redop},
                                                     .in = in,
                                                     .out = out,
                                                     .count = 2});
    return hr_member_wait(&world->member);
}

/* All ranks must give the same list: compare a digest of it. */
static enum hr_status check_agreement(struct hr_group *world, const size_t *ranks, size_t n)
{
    uint64_t digest = 0;
    int64_t least[2], most[2];
    for (size_t i = 0; i < n; i++)
        digest = digest * 67 + ranks[i] + 1;
    const int64_t mine[2] = {(int64_t)n, (int64_t)(digest >> 1)};
    HR_TRY(reduce_two(world, mine, least, HR_MIN));
    HR_TRY(reduce_two(world, mine, most, HR_MAX));
    if (memcmp(least, most, sizeof least) != 0)
        return hr_fail(HR_E_MISMATCH, "hr_group_new: ranks gave different lists");
    return HR_OK;
}

enum hr_status hr_group_new(struct hr_group *world, const size_t *ranks, size_t n,
                            struct hr_group **group)
{
    struct hr_rank_world *rank_world = world->world;
    struct hr_group_options options = rank_world->layout->small;
    size_t bytes, me = n;
    *group = NULL;
    HR_TRY(check_list(world, ranks, n));
    HR_TRY(check_agreement(world, ranks, n));
    options.nranks = n;
    HR_TRY(hr_group_bytes(&options, &bytes));
    bytes = hr_round_up(bytes, HR_LINE);
    if (bytes > rank_world->layout->groups_bytes - rank_world->groups_used)
        return hr_fail(HR_E_NOMEM, "hr_group_new: no room for another group (max_groups)");
    unsigned char *memory = (unsigned char *)rank_world->segment->base +
                            rank_world->layout->group_bytes + rank_world->groups_used;
    rank_world->groups_used += bytes;
    rank_world->groups_made++;
    for (size_t i = 0; i < n; i++)
        me = ranks[i] == rank_world->rank ? i : me;
    if (me == 0)
        HR_TRY(hr_group_init(memory, &options));
    if (me < n)
        HR_TRY(make_group(rank_world, &options, memory, ranks, me, group));
    return hr_member_barrier(&world->member); /* nobody uses it before it is there */
}

/* --- what a rank may ask of its group --- */

size_t hr_group_rank(const struct hr_group *group)
{
    return group->member.rank;
}

size_t hr_group_size(const struct hr_group *group)
{
    return group->member.options.nranks;
}

size_t hr_local_rank(const struct hr_group *group)
{
    return group->world->local_rank;
}

struct hr_traffic hr_group_traffic(const struct hr_group *group, size_t peer)
{
    HR_ASSERT(peer < hr_group_size(group));
    return group->member.traffic[peer];
}

enum hr_status hr_group_alloc(struct hr_group *group, size_t bytes, void **memory)
{
    struct hr_rank_world *world = group->world;
    const struct hr_world_layout *layout = world->layout;
    const size_t left = layout->arena_bytes - world->arena_used;
    if (bytes > left || hr_round_up(bytes, HR_LINE) > left)
        return hr_fail(HR_E_NOMEM,
                       "hr_group_alloc: %zu bytes, and %zu are left of %zu "
                       "(arena_bytes)",
                       bytes, left, layout->arena_bytes);
    *memory = (unsigned char *)world->segment->base + layout->group_bytes + layout->groups_bytes +
              layout->wires_bytes + world->rank * layout->arena_bytes + world->arena_used;
    world->arena_used += hr_round_up(bytes, HR_LINE);
    return HR_OK;
}

/* --- a world of ranks that we start --- */

struct spawn {
    struct hr_world_layout layout;
    struct hr_segment segment, control;
    hr_rank_fn work;
    void *arg;
};

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct spawn *spawn = arg;
    struct hr_rank_world world = {.layout = &spawn->layout,
                                  .segment = &spawn->segment,
                                  .control = spawn->control.base,
                                  .rank = rank,
                                  .local_rank = rank};
    struct hr_group *group;
    HR_TRY(hr_world_enter(&world, &group));
    const enum hr_status status = spawn->work(group, spawn->arg);
    if (spawn->layout.launch == HR_LAUNCH_PROCESS)
        fflush(NULL); /* a rank ends by _exit, and what it has printed should not be lost */
    hr_group_free(group);
    return status;
}

enum hr_status hr_world_spawn(const struct hr_world_options *options, hr_tune_fn tune,
                              hr_rank_fn work, void *arg)
{
    struct spawn *spawn = calloc(1, sizeof *spawn);
    enum hr_status status;
    bool stuck = false;
    if (!spawn)
        return hr_fail(HR_E_NOMEM, "no memory for a world");
    spawn->work = work;
    spawn->arg = arg;
    HR_TRY_GOTO(hr_world_lay_out(options, tune, &spawn->layout), status, out);
    const size_t n = spawn->layout.group.nranks;
    HR_TRY_GOTO(hr_segment_create(hr_control_bytes(n), true, &spawn->control), status, out);
    HR_TRY_GOTO(hr_segment_create(spawn->layout.segment_bytes, false, &spawn->segment), status,
                out);
    hr_control_init(spawn->control.base, n);
    spawn->layout.wires.free_at = hr_world_wires(&spawn->layout, spawn->segment.base);
    HR_TRY_GOTO(hr_group_init(spawn->segment.base, &spawn->layout.group), status, out);
    const struct hr_launch_options launch = {.launch = spawn->layout.launch,
                                             .nranks = n,
                                             .control = spawn->control.base,
                                             .main = rank_main,
                                             .timeout_ns = spawn->layout.timeout_ns,
                                             .arg = spawn};
    fflush(NULL); /* else what the caller has printed would be printed by every rank */
    status = hr_launch_run(&launch, &stuck);
    if (stuck) /* a thread that does not end still uses all of it */
        return status;
out:
    hr_segment_destroy(&spawn->segment);
    hr_segment_destroy(&spawn->control);
    hr_wires_close(&spawn->layout.wires);
    free(spawn);
    return status;
}
