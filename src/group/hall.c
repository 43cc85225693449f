#include "group/hall.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "group/lane.h"
#include "group/script.h"

_Static_assert(HR_HALL_RANKS <= HR_VEC_MAX_INPUTS, "all ranks' buffers are summed at once");

enum { APPLY_FLOATS = 4096 }; /* handed over at a time: as in meeting.c */

/* What a rank called last. */
struct place {
    struct hr_call call;
    const void *in;
    void *out;
};

struct hr_hall {
    struct hr_group_options options;
    struct place *place;        /* (nranks) */
    const void **in;            /* (nranks) of the sum in hand */
    void **out;                 /* (nranks) */
    struct hr_traffic *traffic; /* (nranks) so far */
    struct hr_script *script;   /* NULL: the algorithm needs none */
    size_t arrived;             /* of the sum that ranks are coming to */
    size_t first_rank;          /* who came first */
    bool contradicted;          /* two calls differ: it never will be made */
    uint64_t summed, released;  /* numbers of the last that was */
    hr_hall_summed_fn on_sum;
    void *on_sum_arg;
};

/* Every rank's bytes of these follow from n alone, without looking at rows. */
static bool is_counted_by_formula(const struct hr_algorithm *algorithm)
{
    return algorithm == &hr_allreduce_auto || algorithm == &hr_allreduce_direct ||
           algorithm == &hr_allreduce_one_shot;
}

/* T(n) for every n, and on every rank. */
static bool adds_in_tree(const struct hr_algorithm *algorithm)
{
    return is_counted_by_formula(algorithm) || algorithm == &hr_allreduce_tree ||
           algorithm == &hr_allreduce_master_worker;
}

/* --- set-up --- */

static enum hr_status take_memory(struct hr_hall *hall)
{
    const struct hr_group_options *o = &hall->options;
    hall->place = calloc(o->nranks, sizeof *hall->place);
    hall->in = calloc(o->nranks, sizeof *hall->in);
    hall->out = calloc(o->nranks, sizeof *hall->out);
    hall->traffic = calloc(o->nranks, sizeof *hall->traffic);
    if (!hall->place || !hall->in || !hall->out || !hall->traffic)
        return hr_fail(HR_E_NOMEM, "no memory for a hall of %zu ranks", o->nranks);
    return is_counted_by_formula(o->algorithm)
               ? HR_OK
               : hr_script_create(o->algorithm, o->nranks, o->group_size, &hall->script);
}

enum hr_status hr_hall_create(const struct hr_group_options *options, struct hr_hall **out)
{
    HR_ASSERT(options->nranks >= 1 && options->nranks <= HR_HALL_RANKS);
    struct hr_hall *hall = calloc(1, sizeof *hall);
    if (!hall)
        return hr_fail(HR_E_NOMEM, "no memory for a hall of %zu ranks", options->nranks);
    hall->options = *options;
    const enum hr_status status = take_memory(hall);
    if (status == HR_OK)
        *out = hall;
    else
        hr_hall_destroy(hall);
    return status;
}

void hr_hall_destroy(struct hr_hall *hall)
{
    if (!hall)
        return;
    hr_script_destroy(hall->script);
    free(hall->place);
    free(hall->in);
    free(hall->out);
    free(hall->traffic);
    free(hall);
}

void hr_hall_on_sum(struct hr_hall *hall, hr_hall_summed_fn summed, void *arg)
{
    hall->on_sum = summed;
    hall->on_sum_arg = arg;
}

void hr_hall_release(struct hr_hall *hall)
{
    hall->released = hall->summed;
}

void hr_member_init_in_hall(struct hr_member *member, struct hr_hall *hall, size_t rank)
{
    HR_ASSERT(rank < hall->options.nranks);
    *member = (struct hr_member){.options = hall->options, .rank = rank, .hall = hall};
}

/* --- the accounts --- */

struct hr_traffic hr_hall_traffic(const struct hr_hall *hall, size_t rank)
{
    return hall->traffic[rank];
}

/* As hr_member_account_direct: a rank's stripe comes from all others, and goes back summed. */
static void account_direct(struct hr_hall *hall, size_t elem_bytes, size_t count)
{
    const size_t n = hall->options.nranks;
    const struct hr_layout layout = {.count = count, .elem_bytes = elem_bytes, .nchunks = n};
    for (size_t r = 0; r < n; r++) {
        const uint64_t mine = hr_layout_region(&layout, r, 1).bytes;
        const uint64_t bytes = (n - 1) * mine + (count * elem_bytes - mine);
        hall->traffic[r].bytes_sent += bytes;
        hall->traffic[r].bytes_received += bytes;
        hall->traffic[r].messages_sent += 2 * (n - 1);
        hall->traffic[r].messages_received += 2 * (n - 1);
    }
}

static void account_one_shot(struct hr_hall *hall, size_t bytes)
{
    const size_t n = hall->options.nranks;
    for (size_t r = 0; r < n; r++) {
        hall->traffic[r].bytes_sent += (n - 1) * bytes;
        hall->traffic[r].bytes_received += (n - 1) * bytes;
        hall->traffic[r].messages_sent += n - 1;
        hall->traffic[r].messages_received += n - 1;
    }
}

static void account(struct hr_hall *hall, const struct hr_algorithm *algorithm,
                    const struct hr_job *job)
{
    const size_t elem_bytes = hr_type_bytes(job->kind.type);
    if (algorithm == &hr_allreduce_direct)
        account_direct(hall, elem_bytes, job->count);
    else if (algorithm == &hr_allreduce_one_shot)
        account_one_shot(hall, job->count * elem_bytes);
    else
        hr_script_account(hall->script, elem_bytes, job->first, job->count, hall->traffic);
}

/* --- the sum --- */

/* Whoever came last applies all of it: where real ranks meet any of them may apply any block. */
static void sum_and_apply(struct hr_hall *hall, const struct hr_job *job)
{
    float sum[APPLY_FLOATS];
    void *const out = sum;
    for (size_t begin = 0; begin < job->count; begin += APPLY_FLOATS) {
        const size_t count = hr_min_size(APPLY_FLOATS, job->count - begin);
        for (size_t r = 0; r < hall->options.nranks; r++)
            hall->in[r] = (const float *)hall->place[r].in + begin;
        hr_element_tree(job->kind, &out, 1, hall->in, hall->options.nranks, count);
        job->apply(job->apply_arg, begin, count, sum);
    }
}

static void sum_and_store(struct hr_hall *hall, const struct hr_algorithm *algorithm,
                          const struct hr_job *job)
{
    const size_t n = hall->options.nranks, bytes = job->count * hr_type_bytes(job->kind.type);
    const bool in_tree = adds_in_tree(algorithm);
    if (!job->count)
        return;
    for (size_t r = 0; r < n; r++) {
        hall->in[r] = hall->place[r].in;
        hall->out[r] = hall->place[r].out;
        if (!in_tree && hall->in[r] != hall->out[r])
            memcpy(hall->out[r], hall->in[r], bytes); /* a script is in place */
    }
    if (in_tree)
        hr_element_tree(job->kind, hall->out, n, hall->in, n, job->count);
    else
        hr_script_perform(hall->script, job->kind, hall->out, job->first, job->count);
}

static void sum_for_all(const struct hr_member *last, const struct hr_algorithm *algorithm)
{
    struct hr_hall *hall = last->hall;
    const struct hr_job *job = &last->job;
    if (job->operation == HR_OP_REDUCE_APPLY)
        sum_and_apply(hall, job);
    else
        sum_and_store(hall, algorithm, job);
    account(hall, algorithm, job);
    hall->arrived = 0;
    hall->summed++;
    if (!hall->on_sum) {
        hr_hall_release(hall);
        return;
    }
    const struct hr_hall_sum what = {.number = hall->summed,
                                     .bytes = job->count * hr_type_bytes(job->kind.type),
                                     .first = job->first,
                                     .algorithm = algorithm,
                                     .last_rank = last->rank};
    hall->on_sum(hall->on_sum_arg, &what);
}

/* --- coming and leaving --- */

/* Two calls differ, so one of those that have come differs from this member's. */
static enum hr_status name_contradiction(const struct hr_member *member)
{
    const struct hr_hall *hall = member->hall;
    size_t r = 0;
    while (hall->place[r].call.sequence != member->call.sequence ||
           hr_call_equal(&hall->place[r].call, &member->call))
        r++;
    return hr_member_mismatch(member, &member->call, r, &hall->place[r].call);
}

void hr_hall_enter(struct hr_member *member, const struct hr_algorithm *algorithm)
{
    struct hr_hall *hall = member->hall;
    const struct hr_job *job = &member->job;
    HR_ASSERT(job->operation == HR_OP_ALL_REDUCE || job->operation == HR_OP_REDUCE_APPLY);
    HR_ASSERT(member->call.sequence == hall->released + 1); /* the one before was seen through */
    hall->place[member->rank] = (struct place){member->call, job->in, job->out};
    if (!hall->arrived++)
        hall->first_rank = member->rank;
    hall->contradicted |=
        HR_SAFETY && !hr_call_equal(&hall->place[hall->first_rank].call, &member->call);
    if (hall->contradicted)
        member->status = name_contradiction(member);
    else if (hall->arrived == hall->options.nranks)
        sum_for_all(member, algorithm ? algorithm : &hr_allreduce_direct);
}

bool hr_hall_test(struct hr_member *member)
{
    const struct hr_hall *hall = member->hall;
    if (hall->released >= member->call.sequence)
        return true;
    if (hall->contradicted)
        member->status = name_contradiction(member);
    return member->status != HR_OK;
}
