/* Set-up of a group: which streams it needs, and where everything lies.
 *
 *   [ reduce barrier | posts | stages | streams of collectives | streams of messages ]
 *   a stream: a ring, and perhaps slots of payload
 */
#include "group/group.h"

#include <string.h>

#include "base/size.h"
#include "group/executor.h"
#include "group/p2p.h"

/* Which streams there are, of each kind: [from][to]. */
struct edges {
    bool collective[HR_MAX_RANKS][HR_MAX_RANKS], p2p[HR_MAX_RANKS][HR_MAX_RANKS];
};

static enum hr_status add_edges(struct edges *edges, hr_plan_fn make, struct hr_plan_for of)
{
    for (of.rank = 0; of.rank < of.n; of.rank++) {
        struct hr_plan plan = {0};
        const enum hr_status status = make(&plan, &of);
        for (size_t i = 0; status == HR_OK && i < plan.nrows; i++)
            if (plan.rows[i].action == HR_ROW_SEND)
                edges->collective[of.rank][plan.rows[i].peer] = true;
        hr_plan_fini(&plan);
        HR_TRY(status);
    }
    return HR_OK;
}

/* The algorithm whose plan may be executed; NULL: direct, which has methods of its own. */
static const struct hr_algorithm *planned_algorithm(const struct hr_group_options *options)
{
    const bool direct =
        options->algorithm == &hr_allreduce_direct || options->algorithm == &hr_allreduce_auto;
    if (direct && !options->plan_only && !options->copies)
        return NULL;
    return direct ? &hr_allreduce_direct : options->algorithm;
}

/* Whatever may be chosen between machines, for calls of any size. */
static enum hr_status find_edges_apart(const struct hr_group_options *options, struct edges *edges)
{
    const struct hr_choice choices[] = {hr_choose_multinode(options, HR_OP_ALL_REDUCE, 0),
                                        hr_choose_multinode(options, HR_OP_ALL_REDUCE, SIZE_MAX),
                                        hr_choose_multinode(options, HR_OP_BARRIER, 0)};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        HR_TRY(add_edges(edges, choices[i].algorithm->plan,
                         (struct hr_plan_for){.n = options->nranks,
                                              .group_size = choices[i].group_size,
                                              .upper = choices[i].upper}));
    return HR_OK;
}

static enum hr_status find_edges(const struct hr_group_options *options, struct edges *edges)
{
    const struct hr_algorithm *algorithm = planned_algorithm(options);
    struct hr_plan_for of = {.n = options->nranks, .group_size = options->group_size};
    memset(edges, 0, sizeof *edges);
    if (options->any_operation || options->blocks) {
        for (size_t from = 0; from < of.n; from++)
            for (size_t to = 0; to < of.n; to++) {
                edges->collective[from][to] = from != to;
                edges->p2p[from][to] = options->any_operation;
            }
        return HR_OK;
    }
    if (hr_hosts_are_many(&options->hosts))
        HR_TRY(find_edges_apart(options, edges));
    else if (algorithm)
        HR_TRY(add_edges(edges, algorithm->plan, of));
    for (; of.root < of.n; of.root++)
        HR_TRY(add_edges(edges, hr_plan_broadcast, of));
    return HR_OK;
}

static size_t stream_bytes(const struct hr_group_options *options)
{
    return hr_ring_bytes(HR_STREAM_SLOTS) +
           hr_round_up(HR_STREAM_SLOTS * options->slot_bytes, HR_LINE);
}

static size_t posts_begin(const struct hr_group_options *options)
{
    return hr_round_up(hr_reduce_barrier_bytes(options->nranks), HR_LINE);
}

static size_t stages_begin(const struct hr_group_options *options)
{
    return posts_begin(options) + hr_round_up(hr_posts_bytes(options->nranks), HR_LINE);
}

static size_t streams_begin(const struct hr_group_options *options)
{
    return stages_begin(options) + (options->slot_bytes ? hr_stages_bytes(options->nranks) : 0);
}

/* The streams, in the order in which they lie:
 *     HR_TRY(begin_streams(&s, options));
 *     while (next_stream(&s)) ... */
struct streams {
    const struct hr_group_options *options;
    struct edges edges;
    size_t number;       /* of the next pair of ranks, of collectives first */
    size_t from, to, at; /* of this one */
    bool p2p;
    size_t end;
};

static enum hr_status begin_streams(struct streams *s, const struct hr_group_options *options)
{
    s->options = options;
    s->number = 0;
    s->end = streams_begin(options);
    return find_edges(options, &s->edges);
}

static bool next_stream(struct streams *s)
{
    const size_t n = s->options->nranks;
    for (; s->number < 2 * n * n; s->number++) {
        s->p2p = s->number >= n * n;
        s->from = s->number / n % n;
        s->to = s->number % n;
        if (!(s->p2p ? s->edges.p2p : s->edges.collective)[s->from][s->to])
            continue;
        s->at = s->end;
        s->end += stream_bytes(s->options);
        s->number++;
        return true;
    }
    return false;
}

enum hr_status hr_group_bytes(const struct hr_group_options *options, size_t *bytes)
{
    struct streams s;
    HR_ASSERT(options->nranks >= 1 && options->nranks <= HR_MAX_RANKS);
    HR_TRY(begin_streams(&s, options));
    while (next_stream(&s))
        continue;
    *bytes = s.end;
    return HR_OK;
}

static struct hr_ring *ring_at(void *memory, size_t at)
{
    return (struct hr_ring *)(void *)((unsigned char *)memory + at);
}

enum hr_status hr_group_init(void *memory, const struct hr_group_options *options)
{
    struct streams s;
    HR_TRY(begin_streams(&s, options));
    while (next_stream(&s))
        hr_ring_init(ring_at(memory, s.at), HR_STREAM_SLOTS, 0);
    return HR_OK;
}

enum hr_status hr_group_each_remote_ring(const struct hr_group_options *options, void *memory,
                                         hr_ring_fn visit, void *arg)
{
    struct streams s;
    HR_TRY(begin_streams(&s, options));
    while (next_stream(&s))
        if (!hr_hosts_same(&options->hosts, s.from, s.to))
            HR_TRY(visit(arg, s.from, s.to, ring_at(memory, s.at)));
    return HR_OK;
}

static enum hr_status find_streams(struct hr_member *member)
{
    struct streams s;
    HR_TRY(begin_streams(&s, &member->options));
    while (next_stream(&s)) {
        struct hr_ring *ring = ring_at(member->place.group, s.at);
        const struct hr_stream stream = {.ring = ring,
                                         .payload = member->options.slot_bytes
                                                        ? (unsigned char *)ring +
                                                              hr_ring_bytes(HR_STREAM_SLOTS)
                                                        : NULL};
        if (s.from == member->rank)
            *(s.p2p ? hr_p2p_to(member->p2p, s.to) : &member->executor.to[s.to]) = stream;
        if (s.to == member->rank)
            *(s.p2p ? hr_p2p_from(member->p2p, s.from) : &member->executor.from[s.from]) = stream;
    }
    return HR_OK;
}

enum hr_status hr_member_init(struct hr_member *member, const struct hr_group_options *options,
                              const struct hr_place *place, size_t rank)
{
    HR_ASSERT(rank < options->nranks);
    *member = (struct hr_member){.options = *options, .place = *place, .rank = rank};
    member->barrier = (struct hr_barrier_view){
        .shared = place->group,
        .segment = place->segment,
        .rank = rank,
        .nranks = options->nranks,
        .crowded = options->crowded,
        .helpers = (uint32_t)options->helpers,
        .account = place->waiter ? place->waiter->account : NULL,
    };
    member->flight = hr_control_flight(place->control, hr_place_world_rank(place, rank));
    unsigned char *slots = (unsigned char *)place->group + posts_begin(options);
    member->posts = (struct hr_posts){
        .slots = (struct hr_post *)(void *)slots, .rank = rank, .nranks = options->nranks};
    if (options->slot_bytes)
        member->direct.stages = (unsigned char *)place->group + stages_begin(options);
    enum hr_status status = HR_OK;
    if (options->any_operation)
        status = hr_p2p_create(options->nranks, &member->p2p);
    if (status == HR_OK)
        status = find_streams(member);
    if (status != HR_OK)
        hr_member_fini(member);
    return status;
}

void hr_member_fini(struct hr_member *member)
{
    hr_p2p_destroy(member->p2p);
    hr_executor_fini(&member->executor);
}
