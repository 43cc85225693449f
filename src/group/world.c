#include "group/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"
#include "group/pipe.h"
#include "group/tune.h"

enum {
    USUAL_ARENA = 16 << 20,
    USUAL_TIMEOUT_S = 30,
    USUAL_GROUPS = 8,
    PAYLOAD = 64 << 20,      /* at most, of all pipes of the world's group together */
    SMALL_PAYLOAD = 2 << 20, /* of a further group's */
    LARGEST_SLOT = 32 << 10, /* of which 8 a pipe stay in L2 */
    LEAST_SLOT = 512,
};

/* --- options --- */

/* The largest slot with which the payload of all pipes fits into `bytes`. */
static size_t slot_bytes_within(size_t bytes, size_t nranks)
{
    const size_t pipes = nranks * (2 * nranks - 1);
    size_t slot = LARGEST_SLOT;
    while (slot > LEAST_SLOT && slot * pipes * HR_PIPE_SLOTS > bytes)
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

static enum hr_status read_options(const struct hr_world_options *o, struct hr_world_layout *plan)
{
    struct hr_group_options *group = &plan->group;
    if (o->nranks < 1 || o->nranks > HR_MAX_RANKS)
        return hr_fail(HR_E_USAGE, "%zu ranks: expected 1 to %d", o->nranks, HR_MAX_RANKS);
    HR_TRY(hr_launch_parse(o->launch ? o->launch : "thread", &plan->launch));
    HR_TRY(hr_algorithm_find(o->algorithm ? o->algorithm : "auto", &group->algorithm));
    HR_TRY(read_transport(o->transport, &group->copies));
    group->nranks = o->nranks;
    group->crowded = o->nranks > hr_cpus_allowed();
    group->helpers = hr_cpus_allowed() - 1;
    group->group_size = o->group_size;
    group->any_operation = true;
    if (group->algorithm == &hr_allreduce_auto)
        group->one_shot_bytes = hr_tune_one_shot_bytes(o->nranks);
    if (group->copies || plan->launch == HR_LAUNCH_PROCESS)
        group->slot_bytes = slot_bytes_within(PAYLOAD, o->nranks);
    plan->small = *group;
    if (group->slot_bytes)
        plan->small.slot_bytes = slot_bytes_within(SMALL_PAYLOAD, o->nranks);
    plan->pin = o->pin != 0;
    const double timeout = o->timeout > 0 ? o->timeout : o->timeout < 0 ? 0 : USUAL_TIMEOUT_S;
    plan->timeout_ns = (int64_t)(timeout * (double)HR_NS_PER_SECOND);
    plan->spin_ns = hr_spin_budget_ns(o->nranks);
    plan->yield_ns = hr_yield_budget_ns(o->nranks);
    return HR_OK;
}

static enum hr_status read_links(const struct hr_world_options *o, struct hr_world_layout *plan)
{
    if (!o->link && !o->topology)
        return HR_OK;
    if (!plan->group.copies)
        return hr_fail(HR_E_USAGE, "--%s: links are emulated for --transport copy only",
                       o->link ? "link" : "topology");
    HR_TRY(hr_wires_open(&plan->wires, o->nranks, o->link, o->topology,
                         o->slower > 0 ? o->slower : 1));
    plan->wires_bytes = hr_round_up(hr_wires_bytes(&plan->wires), HR_LINE);
    return HR_OK;
}

enum hr_status hr_world_lay_out(const struct hr_world_options *o, struct hr_world_layout *plan)
{
    size_t one_group, arenas;
    *plan = (struct hr_world_layout){0};
    HR_TRY(read_options(o, plan));
    HR_TRY(read_links(o, plan));
    HR_TRY(hr_group_bytes(&plan->group, &plan->group_bytes));
    HR_TRY(hr_group_bytes(&plan->small, &one_group));
    plan->group_bytes = hr_round_up(plan->group_bytes, HR_LINE);
    plan->groups_bytes =
        (o->max_groups ? o->max_groups : USUAL_GROUPS) * hr_round_up(one_group, HR_LINE);
    /* A few lines more an arena, so that equal buffers do not begin at equal places of a page: the
     * same set of the cache would have to hold all of them. */
    const size_t arena = o->arena_bytes ? o->arena_bytes : USUAL_ARENA;
    plan->arena_bytes = hr_round_up(arena, 4096) + 9 * (size_t)HR_LINE;
    if (arena > SIZE_MAX / 2 || !hr_size_mul(plan->arena_bytes, o->nranks, &arenas) ||
        !hr_size_add(plan->group_bytes + plan->groups_bytes + plan->wires_bytes, arenas,
                     &plan->segment_bytes))
        return hr_fail(HR_E_NOMEM, "%zu arenas of %zu bytes do not fit into memory", o->nranks,
                       arena);
    return HR_OK;
}

struct hr_atom64 *hr_world_wires(const struct hr_world_layout *plan, void *segment)
{
    return (struct hr_atom64 *)(void *)((unsigned char *)segment + plan->group_bytes +
                                        plan->groups_bytes);
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
        .segment_bytes = world->plan->launch == HR_LAUNCH_THREAD ? 0 : world->segment->bytes,
        .world_rank = group->world_rank,
        .number = world->groups_made,
        .wires = world->plan->wires.nranks ? &world->plan->wires : NULL,
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
                                       .spin_ns = world->plan->spin_ns,
                                       .yield_ns = world->plan->yield_ns,
                                       .timeout_ns = world->plan->timeout_ns};
    hr_control_phase(world->control, world->rank, HR_PHASE_COMMUNICATE);
    if (world->plan->wires.nranks) /* else the kernel rounds sleeps up by 50 us */
        prctl(PR_SET_TIMERSLACK, 1);
    if (world->plan->pin)
        hr_cpus_pin(world->local_rank);
    return make_group(world, &world->plan->group, world->segment->base, NULL, world->rank, group);
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
    if (world->world->plan->group.nranks != size)
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

/* The ranks that call agree about the list: one checks it against the others'. */
static enum hr_status check_agreement(struct hr_group *world, const size_t *ranks, size_t n)
{
    uint64_t digest = 0;
    int64_t least[2], most[2];
    for (size_t i = 0; i < n; i++)
        digest = digest * 67 + ranks[i] + 1;
    const int64_t mine[2] = {(int64_t)n, (int64_t)(digest >> 1)};
    HR_TRY(hr_all_reduce(world, mine, least, 2, HR_INT64, HR_MIN));
    HR_TRY(hr_all_reduce(world, mine, most, 2, HR_INT64, HR_MAX));
    if (memcmp(least, most, sizeof least) != 0)
        return hr_fail(HR_E_MISMATCH, "hr_group_new: ranks gave different lists");
    return HR_OK;
}

enum hr_status hr_group_new(struct hr_group *world, const size_t *ranks, size_t n,
                            struct hr_group **group)
{
    struct hr_rank_world *rank_world = world->world;
    struct hr_group_options options = rank_world->plan->small;
    size_t bytes, me = n;
    *group = NULL;
    HR_TRY(check_list(world, ranks, n));
    HR_TRY(check_agreement(world, ranks, n));
    options.nranks = n;
    HR_TRY(hr_group_bytes(&options, &bytes));
    bytes = hr_round_up(bytes, HR_LINE);
    if (bytes > rank_world->plan->groups_bytes - rank_world->groups_used)
        return hr_fail(HR_E_NOMEM, "hr_group_new: no room for another group (max_groups)");
    unsigned char *memory = (unsigned char *)rank_world->segment->base +
                            rank_world->plan->group_bytes + rank_world->groups_used;
    rank_world->groups_used += bytes;
    rank_world->groups_made++;
    for (size_t i = 0; i < n; i++)
        me = ranks[i] == rank_world->rank ? i : me;
    if (me == 0)
        HR_TRY(hr_group_init(memory, &options));
    if (me < n)
        HR_TRY(make_group(rank_world, &options, memory, ranks, me, group));
    return hr_barrier(world); /* nobody uses it before it is there */
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
    const struct hr_world_layout *plan = world->plan;
    const size_t left = plan->arena_bytes - world->arena_used;
    if (bytes > left || hr_round_up(bytes, HR_LINE) > left)
        return hr_fail(HR_E_NOMEM,
                       "hr_group_alloc: %zu bytes, and %zu are left of %zu "
                       "(arena_bytes)",
                       bytes, left, plan->arena_bytes);
    *memory = (unsigned char *)world->segment->base + plan->group_bytes + plan->groups_bytes +
              plan->wires_bytes + world->rank * plan->arena_bytes + world->arena_used;
    world->arena_used += hr_round_up(bytes, HR_LINE);
    return HR_OK;
}

/* --- a world of ranks that we start --- */

struct spawn {
    struct hr_world_layout plan;
    struct hr_segment segment, control;
    hr_rank_fn work;
    void *arg;
};

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct spawn *spawn = arg;
    struct hr_rank_world world = {.plan = &spawn->plan,
                                  .segment = &spawn->segment,
                                  .control = spawn->control.base,
                                  .rank = rank,
                                  .local_rank = rank};
    struct hr_group *group;
    HR_TRY(hr_world_enter(&world, &group));
    const enum hr_status status = spawn->work(group, spawn->arg);
    if (spawn->plan.launch == HR_LAUNCH_PROCESS)
        fflush(NULL); /* a rank ends by _exit, and what it has printed should not be lost */
    hr_group_free(group);
    return status;
}

enum hr_status hr_world_run(const struct hr_world_options *options, hr_rank_fn work, void *arg)
{
    struct spawn spawn = {.work = work, .arg = arg};
    enum hr_status status;
    bool stuck = false;
    HR_TRY_GOTO(hr_world_lay_out(options, &spawn.plan), status, out);
    const size_t n = spawn.plan.group.nranks;
    HR_TRY_GOTO(hr_segment_create(hr_control_bytes(n), true, &spawn.control), status, out);
    HR_TRY_GOTO(hr_segment_create(spawn.plan.segment_bytes, false, &spawn.segment), status, out);
    hr_control_init(spawn.control.base, n);
    spawn.plan.wires.free_at = hr_world_wires(&spawn.plan, spawn.segment.base);
    HR_TRY_GOTO(hr_group_init(spawn.segment.base, &spawn.plan.group), status, out);
    const struct hr_launch_options launch = {.launch = spawn.plan.launch,
                                             .nranks = n,
                                             .control = spawn.control.base,
                                             .main = rank_main,
                                             .timeout_ns = spawn.plan.timeout_ns,
                                             .arg = &spawn};
    fflush(NULL); /* else what the caller has printed would be printed by every rank */
    status = hr_launch_run(&launch, &stuck);
out:
    if (!stuck) {
        hr_segment_destroy(&spawn.segment);
        hr_segment_destroy(&spawn.control);
        hr_wires_close(&spawn.plan.wires);
    }
    return status;
}
