/* The public operations of hogring/group.h: their arguments are checked, and they are jobs. */
#include "group/p2p.h"
#include "group/tune.h"
#include "group/world.h"

static enum hr_status check_peer(const struct hr_group *group, const char *what, size_t rank)
{
    if (rank < hr_group_size(group))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s: there is no rank %zu in a group of %zu", what, rank,
                   hr_group_size(group));
}

static enum hr_status check_kind(const char *what, struct hr_kind kind, size_t count, size_t blocks)
{
    if (kind.type >= HR_TYPES)
        return hr_fail(HR_E_USAGE, "%s: there is no type %d", what, (int)kind.type);
    if (kind.redop >= HR_REDOPS)
        return hr_fail(HR_E_USAGE, "%s: there is no operator %d", what, (int)kind.redop);
    if (count > SIZE_MAX / 2 / 8 / blocks)
        return hr_fail(HR_E_USAGE, "%s: %zu elements are more than fit into memory", what, count);
    return HR_OK;
}

static bool overlap(const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes)
{
    return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

/* Input and output are the same (in place), where the operation allows it, or do not overlap. */
static enum hr_status check_apart(const struct hr_group *group, const struct hr_job *job)
{
    const struct hr_operation_facts *facts = hr_operation_facts(job->operation);
    const size_t n = hr_group_size(group), rank = hr_group_rank(group);
    const struct hr_layout layout = {job->count, hr_type_bytes(job->kind.type), facts->blocks, n, 0,
                                     0};
    const size_t block = job->count * layout.elem_bytes;
    const unsigned char *in = job->in, *out = job->out;
    if (hr_layout_origin(&layout, in, facts->in, rank) ==
            hr_layout_origin(&layout, out, facts->out, rank) ||
        !overlap(in, facts->in == HR_ALL_BLOCKS ? n * block : block, out,
                 facts->out == HR_ALL_BLOCKS ? n * block : block))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s: input and output overlap, and are not in place", facts->name);
}

static enum hr_status run(struct hr_group *group, const struct hr_job *job)
{
    const struct hr_operation_facts *facts = hr_operation_facts(job->operation);
    HR_TRY(check_kind(facts->name, job->kind, job->count, hr_group_size(group)));
    HR_TRY(check_peer(group, facts->name, job->root));
    /* A rank that is not the root uses only one of the two; the other may be anything. */
    if (!facts->rooted || hr_group_rank(group) == job->root)
        HR_TRY(check_apart(group, job));
    hr_member_start(&group->member, job);
    return hr_member_wait(&group->member);
}

enum hr_status hr_barrier(struct hr_group *group)
{
    return run(group, &(struct hr_job){.operation = HR_OP_BARRIER});
}

enum hr_status hr_broadcast(struct hr_group *group, void *buffer, size_t count, enum hr_type type,
                            size_t root)
{
    return run(group,
               &(struct hr_job){
                   HR_OP_BROADCAST, {type, HR_SUM}, buffer, buffer, count, root, NULL, NULL, 0});
}

enum hr_status hr_all_reduce(struct hr_group *group, const void *in, void *out, size_t count,
                             enum hr_type type, enum hr_redop redop)
{
    return run(group,
               &(struct hr_job){HR_OP_ALL_REDUCE, {type, redop}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_reduce(struct hr_group *group, const void *in, void *out, size_t count,
                         enum hr_type type, enum hr_redop redop, size_t root)
{
    return run(group,
               &(struct hr_job){HR_OP_REDUCE, {type, redop}, in, out, count, root, NULL, NULL, 0});
}

enum hr_status hr_reduce_scatter(struct hr_group *group, const void *in, void *out, size_t count,
                                 enum hr_type type, enum hr_redop redop)
{
    return run(group, &(struct hr_job){
                          HR_OP_REDUCE_SCATTER, {type, redop}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_all_gather(struct hr_group *group, const void *in, void *out, size_t count,
                             enum hr_type type)
{
    return run(group, &(struct hr_job){
                          HR_OP_ALL_GATHER, {type, HR_SUM}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_gather(struct hr_group *group, const void *in, void *out, size_t count,
                         enum hr_type type, size_t root)
{
    return run(group,
               &(struct hr_job){HR_OP_GATHER, {type, HR_SUM}, in, out, count, root, NULL, NULL, 0});
}

enum hr_status hr_scatter(struct hr_group *group, const void *in, void *out, size_t count,
                          enum hr_type type, size_t root)
{
    return run(group, &(struct hr_job){
                          HR_OP_SCATTER, {type, HR_SUM}, in, out, count, root, NULL, NULL, 0});
}

enum hr_status hr_all_to_all(struct hr_group *group, const void *in, void *out, size_t count,
                             enum hr_type type)
{
    return run(group, &(struct hr_job){
                          HR_OP_ALL_TO_ALL, {type, HR_SUM}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_isend(struct hr_group *group, const void *buffer, size_t count, enum hr_type type,
                        size_t to, struct hr_request **request)
{
    HR_TRY(check_kind("send", (struct hr_kind){type, HR_SUM}, count, 1));
    HR_TRY(check_peer(group, "send", to));
    return hr_p2p_send(&group->member, buffer, count, type, to, request);
}

enum hr_status hr_irecv(struct hr_group *group, void *buffer, size_t count, enum hr_type type,
                        size_t from, struct hr_request **request)
{
    HR_TRY(check_kind("receive", (struct hr_kind){type, HR_SUM}, count, 1));
    HR_TRY(check_peer(group, "receive", from));
    return hr_p2p_receive(&group->member, buffer, count, type, from, request);
}

enum hr_status hr_wait(struct hr_request *request)
{
    return hr_p2p_wait(request);
}

enum hr_status hr_send(struct hr_group *group, const void *buffer, size_t count, enum hr_type type,
                       size_t to)
{
    struct hr_request *request;
    HR_TRY(hr_isend(group, buffer, count, type, to, &request));
    return hr_wait(request);
}

enum hr_status hr_recv(struct hr_group *group, void *buffer, size_t count, enum hr_type type,
                       size_t from)
{
    struct hr_request *request;
    HR_TRY(hr_irecv(group, buffer, count, type, from, &request));
    return hr_wait(request);
}

enum hr_status hr_world_run(const struct hr_world_options *options, hr_rank_fn work, void *arg)
{
    return hr_world_spawn(options, hr_tune_one_shot_bytes, work, arg);
}
