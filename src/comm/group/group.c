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
    const struct hr_choice choices[] = {hr_choose_apart(options, HR_OP_ALL_REDUCE, 0),
                                        hr_choose_apart(options, HR_OP_ALL_REDUCE, SIZE_MAX),
                                        hr_choose_apart(options, HR_OP_BARRIER, 0)};
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
    if (hr_homes_apart(&options->homes))
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

/* Visit every stream in the order in which they lie. */
typedef void (*stream_fn)(void *arg, size_t from, size_t to, bool p2p, size_t at);

static enum hr_status each_stream(const struct hr_group_options *options, stream_fn visit,
                                  void *arg)
{
    struct edges edges;
    size_t at = streams_begin(options);
    HR_TRY(find_edges(options, &edges));
    for (int p2p = 0; p2p < 2; p2p++)
        for (size_t from = 0; from < options->nranks; from++)
            for (size_t to = 0; to < options->nranks; to++) {
                if (!(p2p ? edges.p2p : edges.collective)[from][to])
                    continue;
                visit(arg, from, to, p2p, at);
                at += stream_bytes(options);
            }
    return HR_OK;
}

static void count_stream(void *arg, size_t from, size_t to, bool p2p, size_t at)
{
    size_t *streams = arg;
    (void)from, (void)to, (void)p2p, (void)at;
    ++*streams;
}

enum hr_status hr_group_bytes(const struct hr_group_options *options, size_t *bytes)
{
    size_t streams = 0;
    HR_ASSERT(options->nranks >= 1 && options->nranks <= HR_MAX_RANKS);
    HR_TRY(each_stream(options, count_stream, &streams));
    *bytes = streams_begin(options) + streams * stream_bytes(options);
    return HR_OK;
}

static void init_stream(void *arg, size_t from, size_t to, bool p2p, size_t at)
{
    (void)from, (void)to, (void)p2p;
    hr_ring_init((struct hr_ring *)(void *)((unsigned char *)arg + at), HR_STREAM_SLOTS, 0);
}

enum hr_status hr_group_init(void *memory, const struct hr_group_options *options)
{
    return each_stream(options, init_stream, memory);
}

struct visit {
    unsigned char *memory;
    const struct hr_group_options *options;
    hr_ring_fn visit;
    void *arg;
    enum hr_status status;
};

static void visit_ring(void *arg, size_t from, size_t to, bool p2p, size_t at)
{
    struct visit *visit = arg;
    (void)p2p;
    if (visit->status == HR_OK && !hr_homes_together(&visit->options->homes, from, to))
        visit->status = visit->visit(visit->arg, from, to, (void *)(visit->memory + at));
}

enum hr_status hr_group_each_ring_apart(const struct hr_group_options *options, void *memory,
                                        hr_ring_fn visit, void *arg)
{
    struct visit all = {memory, options, visit, arg, HR_OK};
    HR_TRY(each_stream(options, visit_ring, &all));
    return all.status;
}

static void find_stream(void *arg, size_t from, size_t to, bool p2p, size_t at)
{
    struct hr_member *member = arg;
    unsigned char *memory = (unsigned char *)member->place.group + at;
    const struct hr_stream stream = {
        .ring = (struct hr_ring *)(void *)memory,
        .payload = member->options.slot_bytes ? memory + hr_ring_bytes(HR_STREAM_SLOTS) : NULL};
    if (from == member->rank)
        *(p2p ? hr_p2p_to(member->p2p, to) : &member->executor.to[to]) = stream;
    if (to == member->rank)
        *(p2p ? hr_p2p_from(member->p2p, from) : &member->executor.from[from]) = stream;
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
        .slots = (struct hr_slot *)(void *)slots, .rank = rank, .nranks = options->nranks};
    if (options->slot_bytes)
        member->direct.stages = (unsigned char *)place->group + stages_begin(options);
    enum hr_status status = HR_OK;
    if (options->any_operation)
        status = hr_p2p_create(options->nranks, &member->p2p);
    if (status == HR_OK)
        status = each_stream(options, find_stream, member);
    if (status != HR_OK)
        hr_member_fini(member);
    return status;
}

void hr_member_fini(struct hr_member *member)
{
    hr_p2p_destroy(member->p2p);
    hr_executor_fini(&member->executor);
}
