/* Set-up of a group: which edges its plans use, and where their rings lie. */
#include "group/group.h"

#include <string.h>

#include "base/size.h"

enum {
    SLOTS = 8
}; /* a rank is never more than a few messages ahead of its peer; full just waits */

struct edges {
    bool used[HR_MAX_RANKS][HR_MAX_RANKS]; /* [from][to] */
};

static enum hr_status add_edges(struct edges *edges, const struct hr_algorithm *algorithm, size_t n,
                                size_t root)
{
    for (size_t rank = 0; rank < n; rank++) {
        struct hr_plan plan = {0};
        const enum hr_status status = algorithm->plan(&plan, rank, n, root);
        for (size_t i = 0; status == HR_OK && i < plan.nrows; i++)
            if (plan.rows[i].action == HR_SEND)
                edges->used[rank][plan.rows[i].peer] = true;
        hr_plan_fini(&plan);
        HR_TRY(status);
    }
    return HR_OK;
}

static enum hr_status find_edges(const struct hr_group_options *options, struct edges *edges)
{
    memset(edges, 0, sizeof *edges);
    if (!options->algorithm->meets || options->plan_only)
        HR_TRY(add_edges(edges, options->algorithm, options->nranks, 0));
    for (size_t root = 0; root < options->nranks; root++)
        HR_TRY(add_edges(edges, &hr_broadcast_flat, options->nranks, root));
    return HR_OK;
}

/* Rings stand behind the meeting, in order of (from, to). */
static size_t rings_begin(const struct hr_group_options *options)
{
    return hr_round_up(hr_meeting_bytes(options->nranks), HR_LINE);
}

enum hr_status hr_group_bytes(const struct hr_group_options *options, size_t *bytes)
{
    HR_ASSERT(options->nranks >= 1 && options->nranks <= HR_MAX_RANKS);
    struct edges edges;
    HR_TRY(find_edges(options, &edges));
    *bytes = rings_begin(options);
    for (size_t from = 0; from < options->nranks; from++)
        for (size_t to = 0; to < options->nranks; to++)
            *bytes += edges.used[from][to] ? hr_ring_bytes(SLOTS) : 0;
    return HR_OK;
}

enum hr_status hr_group_init(void *memory, const struct hr_group_options *options)
{
    struct edges edges;
    HR_TRY(find_edges(options, &edges));
    unsigned char *at = (unsigned char *)memory + rings_begin(options);
    for (size_t from = 0; from < options->nranks; from++)
        for (size_t to = 0; to < options->nranks; to++)
            if (edges.used[from][to]) {
                hr_ring_init((struct hr_ring *)(void *)at, SLOTS, 0);
                at += hr_ring_bytes(SLOTS);
            }
    return HR_OK;
}

static enum hr_status find_rings(struct hr_member *member)
{
    struct edges edges;
    HR_TRY(find_edges(&member->options, &edges));
    unsigned char *at = (unsigned char *)member->place.group + rings_begin(&member->options);
    for (size_t from = 0; from < member->options.nranks; from++)
        for (size_t to = 0; to < member->options.nranks; to++) {
            if (!edges.used[from][to])
                continue;
            if (from == member->rank)
                member->to[to] = (struct hr_ring *)(void *)at;
            if (to == member->rank)
                member->from[from] = (struct hr_ring *)(void *)at;
            at += hr_ring_bytes(SLOTS);
        }
    return HR_OK;
}

enum hr_status hr_member_init(struct hr_member *member, const struct hr_group_options *options,
                              const struct hr_place *place, size_t rank)
{
    enum hr_status status;
    HR_ASSERT(rank < options->nranks);
    *member = (struct hr_member){.options = *options, .place = *place, .rank = rank};
    member->attendance = (struct hr_attendance){
        .meeting = place->group,
        .segment = place->segment,
        .rank = rank,
        .nranks = options->nranks,
        .crowded = options->crowded,
        .helpers = (uint32_t)options->helpers,
    };
    HR_TRY_GOTO(find_rings(member), status, out);
    HR_TRY_GOTO(options->algorithm->plan(&member->all_reduce, rank, options->nranks, 0), status,
                out);
    HR_TRY_GOTO(hr_broadcast_flat.plan(&member->broadcast, rank, options->nranks, 0), status, out);
out:
    if (status != HR_OK)
        hr_member_fini(member);
    return status;
}

void hr_member_fini(struct hr_member *member)
{
    hr_plan_fini(&member->all_reduce);
    hr_plan_fini(&member->broadcast);
}
