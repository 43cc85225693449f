#include "group/local_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"

/* === the plans of all ranks, as one list === */

struct hr_merged_plan {
    size_t n;
    struct hr_plan *plan;    /* (n) of each rank */
    size_t *row;             /* (n) that it does next */
    uint32_t *arrived;       /* (n, n) to, from: messages not yet taken */
    struct hr_pieces *chunk; /* (nchunks) where they lie, of the call in hand */
    const void **kept;       /* (n) by rank: for the sum in hand */
};

/* A call; buffer NULL: nothing is done with elements. */
struct all_reduce {
    struct hr_kind kind;
    void *const *buffer; /* (n) */
};

static bool receives(const struct hr_row *row)
{
    return row->action == HR_ROW_RECV || row->action == HR_ROW_ADD || row->action == HR_ROW_COPY;
}

/* --- memory --- */

static enum hr_status no_memory(size_t n)
{
    return hr_fail(HR_E_NOMEM, "no memory for the merged plan of an all-reduce of %zu ranks", n);
}

static enum hr_status make_plans(struct hr_merged_plan *merged,
                                 const struct hr_algorithm *algorithm, size_t group_size)
{
    struct hr_plan_for of = {.n = merged->n, .group_size = group_size, .in_place = true};
    for (; of.rank < of.n; of.rank++) {
        HR_TRY(algorithm->plan(&merged->plan[of.rank], &of));
        HR_ASSERT(!merged->plan[of.rank].uses_scratch);
    }
    merged->chunk = calloc(merged->plan[0].nchunks, sizeof *merged->chunk);
    return merged->chunk ? HR_OK : no_memory(merged->n);
}

void hr_merged_plan_destroy(struct hr_merged_plan *merged)
{
    if (!merged)
        return;
    for (size_t r = 0; merged->plan && r < merged->n; r++)
        hr_plan_fini(&merged->plan[r]);
    free(merged->plan);
    free(merged->row);
    free(merged->arrived);
    free(merged->chunk);
    free(merged->kept);
    free(merged);
}

/* --- performing it --- */

static void find_chunks(struct hr_merged_plan *merged, size_t elem_bytes, size_t first,
                        size_t count)
{
    const struct hr_plan *plan = &merged->plan[0]; /* all are cut alike */
    const struct hr_layout layout = {.count = count,
                                     .elem_bytes = elem_bytes,
                                     .nchunks = plan->nchunks,
                                     .run = plan->run,
                                     .first = first};
    for (size_t chunk = 0; chunk < plan->nchunks; chunk++)
        merged->chunk[chunk] = hr_layout_pieces(&layout, chunk, 1);
}

/* Several chunks are not dealt, and lie one behind the other. */
static struct hr_pieces pieces_of(const struct hr_merged_plan *merged, const struct hr_row *row)
{
    const struct hr_pieces *first = &merged->chunk[row->chunk], *last = first + row->span - 1;
    return row->span == 1
               ? *first
               : hr_pieces_together(first->begin, last->begin + last->bytes - first->begin);
}

static void add_or_copy(enum hr_action action, struct hr_kind kind, unsigned char *mine,
                        const unsigned char *theirs, struct hr_pieces piece)
{
    for (; piece.bytes; hr_pieces_next(&piece)) {
        if (action == HR_ROW_ADD)
            hr_element_fold(kind, mine + piece.begin, theirs + piece.begin,
                            piece.bytes / hr_type_bytes(kind.type));
        else
            memcpy(mine + piece.begin, theirs + piece.begin, piece.bytes);
    }
}

/* Over what was kept since the sum before, its own input and the others' in rank order. */
static void sum(struct hr_merged_plan *merged, const struct all_reduce *call, size_t rank,
                struct hr_pieces piece)
{
    const struct hr_row *rows = merged->plan[rank].rows;
    void *out = (unsigned char *)call->buffer[rank] + piece.begin;
    size_t nkept = 0;
    HR_ASSERT(rows[merged->row[rank]].peer == HR_IN);
    for (size_t r = 0; r < merged->n; r++)
        merged->kept[r] = r == rank ? out : NULL;
    for (size_t i = merged->row[rank]; i-- > 0 && rows[i].action != HR_ROW_SUM;)
        if (rows[i].action == HR_ROW_RECV)
            merged->kept[rows[i].peer] =
                (const unsigned char *)call->buffer[rows[i].peer] + piece.begin;
    for (size_t r = 0; r < merged->n; r++)
        if (merged->kept[r])
            merged->kept[nkept++] = merged->kept[r];
    hr_element_tree(call->kind, &out, 1, merged->kept, nkept,
                    piece.bytes / hr_type_bytes(call->kind.type));
}

static void do_row(struct hr_merged_plan *merged, const struct all_reduce *call, size_t rank,
                   const struct hr_row *row)
{
    const struct hr_pieces piece = call->buffer ? pieces_of(merged, row) : hr_pieces_together(0, 0);
    if (receives(row))
        merged->arrived[rank * merged->n + row->peer]--;
    switch ((enum hr_action)row->action) {
    case HR_ROW_SEND: /* what was sent is read where it lies */
        HR_ASSERT(row->buffer != HR_SCRATCH);
        merged->arrived[row->peer * merged->n + rank]++;
        return;
    case HR_ROW_RECV: /* read where it is summed */
        return;
    case HR_ROW_ADD:
    case HR_ROW_COPY:
        if (piece.bytes)
            add_or_copy((enum hr_action)row->action, call->kind, call->buffer[rank],
                        call->buffer[row->peer], piece);
        return;
    case HR_ROW_SUM:
        if (piece.bytes)
            sum(merged, call, rank, piece);
        return;
    case HR_ROW_TAKE:
    case HR_ROW_DRAIN:
        break;
    }
    HR_ASSERT(!"a plan in place, without scratch, has only these");
}

/* Do a rank's rows as far as it can; true when it did any. */
static bool go_on(struct hr_merged_plan *merged, const struct all_reduce *call, size_t rank)
{
    const struct hr_plan *plan = &merged->plan[rank];
    const size_t before = merged->row[rank];
    for (; merged->row[rank] < plan->nrows; merged->row[rank]++) {
        const struct hr_row *row = &plan->rows[merged->row[rank]];
        if (receives(row) && merged->arrived[rank * merged->n + row->peer] == 0)
            break;
        do_row(merged, call, rank, row);
    }
    return merged->row[rank] > before;
}

static void go_through(struct hr_merged_plan *merged, const struct all_reduce *call)
{
    memset(merged->row, 0, merged->n * sizeof *merged->row);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t rank = 0; rank < merged->n; rank++)
            moved |= go_on(merged, call, rank);
    }
}

static enum hr_status check_end(const struct hr_merged_plan *merged)
{
    for (size_t rank = 0; rank < merged->n; rank++)
        if (merged->row[rank] < merged->plan[rank].nrows)
            return hr_fail(HR_E_FAILED, "a plan that never ends: rank %zu waits in row %zu", rank,
                           merged->row[rank]);
    return HR_OK;
}

enum hr_status hr_merged_plan_create(const struct hr_algorithm *algorithm, size_t n,
                                     size_t group_size, struct hr_merged_plan **out)
{
    HR_ASSERT(n >= 1 && n <= HR_VEC_MAX_INPUTS && algorithm->plan);
    struct hr_merged_plan *merged = calloc(1, sizeof *merged);
    if (!merged)
        return no_memory(n);
    merged->n = n;
    merged->plan = calloc(n, sizeof *merged->plan);
    merged->row = calloc(n, sizeof *merged->row);
    merged->arrived = calloc(n * n, sizeof *merged->arrived);
    merged->kept = calloc(n, sizeof *merged->kept);
    enum hr_status status = no_memory(n);
    if (merged->plan && merged->row && merged->arrived && merged->kept)
        status = make_plans(merged, algorithm, group_size);
    if (status == HR_OK) {
        go_through(merged, &(struct all_reduce){.buffer = NULL});
        status = check_end(merged);
    }
    if (status != HR_OK)
        hr_merged_plan_destroy(merged);
    else
        *out = merged;
    return status;
}

void hr_merged_plan_perform(struct hr_merged_plan *merged, struct hr_kind kind, void *const *buffer,
                            size_t first, size_t count)
{
    find_chunks(merged, hr_type_bytes(kind.type), first, count);
    go_through(merged, &(struct all_reduce){kind, buffer});
}

static void account_rows(struct hr_merged_plan *merged, size_t elem_bytes, size_t first,
                         size_t count, struct hr_traffic *traffic)
{
    find_chunks(merged, elem_bytes, first, count);
    for (size_t rank = 0; rank < merged->n; rank++)
        for (size_t i = 0; i < merged->plan[rank].nrows; i++) {
            const struct hr_row *row = &merged->plan[rank].rows[i];
            if (!receives(row))
                continue;
            const size_t bytes = pieces_of(merged, row).left;
            traffic[row->peer].bytes_sent += bytes;
            traffic[row->peer].messages_sent++;
            traffic[rank].bytes_received += bytes;
            traffic[rank].messages_received++;
        }
}

/* === the group === */

_Static_assert(HR_LOCAL_GROUP_RANKS <= HR_VEC_MAX_INPUTS, "all ranks' buffers are summed at once");

enum { APPLY_FLOATS = 4096 }; /* handed over at a time: as in reduce_barrier.c */

/* What a rank called last. */
struct place {
    struct hr_call call;
    const void *in;
    void *out;
};

struct hr_local_group {
    struct hr_group_options options;
    size_t room;                   /* ranks that it was created for */
    struct place *place;           /* (room) */
    const void **in;               /* (room) of the sum in hand */
    void **out;                    /* (room) */
    struct hr_traffic *traffic;    /* (room) so far */
    struct hr_merged_plan *merged; /* NULL: the algorithm needs none */
    size_t arrived;                /* ranks that have started the current sum */
    size_t first_rank;             /* who came first */
    bool contradicted;             /* two calls differ: the sum is never made */
    uint64_t summed, released;     /* numbers of the last that was */
    hr_local_group_summed_fn on_sum;
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

static enum hr_status make_plan(struct hr_local_group *local)
{
    const struct hr_group_options *o = &local->options;
    return is_counted_by_formula(o->algorithm)
               ? HR_OK
               : hr_merged_plan_create(o->algorithm, o->nranks, o->group_size, &local->merged);
}

static enum hr_status take_memory(struct hr_local_group *local)
{
    const struct hr_group_options *o = &local->options;
    local->place = calloc(o->nranks, sizeof *local->place);
    local->in = calloc(o->nranks, sizeof *local->in);
    local->out = calloc(o->nranks, sizeof *local->out);
    local->traffic = calloc(o->nranks, sizeof *local->traffic);
    if (!local->place || !local->in || !local->out || !local->traffic)
        return hr_fail(HR_E_NOMEM, "no memory for a local group of %zu ranks", o->nranks);
    return make_plan(local);
}

enum hr_status hr_local_group_create(const struct hr_group_options *options,
                                     struct hr_local_group **out)
{
    HR_ASSERT(options->nranks >= 1 && options->nranks <= HR_LOCAL_GROUP_RANKS);
    struct hr_local_group *local = calloc(1, sizeof *local);
    if (!local)
        return hr_fail(HR_E_NOMEM, "no memory for a local group of %zu ranks", options->nranks);
    local->options = *options;
    local->room = options->nranks;
    const enum hr_status status = take_memory(local);
    if (status == HR_OK)
        *out = local;
    else
        hr_local_group_destroy(local);
    return status;
}

enum hr_status hr_local_group_begin(struct hr_local_group *local, size_t nranks)
{
    HR_ASSERT(nranks >= 1 && nranks <= local->room);
    memset(local->traffic, 0, local->room * sizeof *local->traffic);
    local->arrived = 0;
    local->contradicted = false;
    local->summed = local->released = 0;
    if (nranks == local->options.nranks)
        return HR_OK;
    hr_merged_plan_destroy(local->merged);
    local->merged = NULL;
    local->options.nranks = nranks;
    return make_plan(local);
}

void hr_local_group_destroy(struct hr_local_group *local)
{
    if (!local)
        return;
    hr_merged_plan_destroy(local->merged);
    free(local->place);
    free(local->in);
    free(local->out);
    free(local->traffic);
    free(local);
}

void hr_local_group_on_sum(struct hr_local_group *local, hr_local_group_summed_fn summed, void *arg)
{
    local->on_sum = summed;
    local->on_sum_arg = arg;
}

void hr_local_group_release(struct hr_local_group *local)
{
    local->released = local->summed;
}

void hr_member_init_local(struct hr_member *member, struct hr_local_group *local, size_t rank)
{
    HR_ASSERT(rank < local->options.nranks);
    *member = (struct hr_member){.options = local->options, .rank = rank, .local = local};
}

/* --- the accounts --- */

struct hr_traffic hr_local_group_traffic(const struct hr_local_group *local, size_t rank)
{
    return local->traffic[rank];
}

/* As hr_member_account_direct: a rank's chunk comes from all others, and goes back summed. */
static void account_direct(struct hr_local_group *local, size_t elem_bytes, size_t count)
{
    const size_t n = local->options.nranks;
    const struct hr_layout layout = {.count = count, .elem_bytes = elem_bytes, .nchunks = n};
    for (size_t r = 0; r < n; r++) {
        const uint64_t mine = hr_layout_region(&layout, r, 1).bytes;
        const uint64_t bytes = (n - 1) * mine + (count * elem_bytes - mine);
        hr_traffic_add(&local->traffic[r], bytes, 2 * (n - 1));
    }
}

static void account_one_shot(struct hr_local_group *local, size_t bytes)
{
    const size_t n = local->options.nranks;
    for (size_t r = 0; r < n; r++)
        hr_traffic_add(&local->traffic[r], (n - 1) * bytes, n - 1);
}

static void account(struct hr_local_group *local, const struct hr_algorithm *algorithm,
                    const struct hr_job *job)
{
    const size_t elem_bytes = hr_type_bytes(job->kind.type);
    if (algorithm == &hr_allreduce_direct)
        account_direct(local, elem_bytes, job->count);
    else if (algorithm == &hr_allreduce_one_shot)
        account_one_shot(local, job->count * elem_bytes);
    else
        account_rows(local->merged, elem_bytes, job->first, job->count, local->traffic);
}

/* --- the sum --- */

/* The last rank applies all of it; among real ranks any may apply any block. */
static void sum_and_apply(struct hr_local_group *local, const struct hr_job *job)
{
    float sum[APPLY_FLOATS];
    void *const out = sum;
    for (size_t begin = 0; begin < job->count; begin += APPLY_FLOATS) {
        const size_t count = hr_min_size(APPLY_FLOATS, job->count - begin);
        for (size_t r = 0; r < local->options.nranks; r++)
            local->in[r] = (const float *)local->place[r].in + begin;
        hr_element_tree(job->kind, &out, 1, local->in, local->options.nranks, count);
        job->apply(job->apply_arg, job->first + begin, count, sum);
    }
}

static void sum_and_store(struct hr_local_group *local, const struct hr_algorithm *algorithm,
                          const struct hr_job *job)
{
    const size_t n = local->options.nranks, bytes = job->count * hr_type_bytes(job->kind.type);
    const bool in_tree = adds_in_tree(algorithm);
    if (!job->count)
        return;
    for (size_t r = 0; r < n; r++) {
        local->in[r] = local->place[r].in;
        local->out[r] = local->place[r].out;
        if (!in_tree && local->in[r] != local->out[r])
            memcpy(local->out[r], local->in[r], bytes); /* a merged plan is in place */
    }
    if (in_tree)
        hr_element_tree(job->kind, local->out, n, local->in, n, job->count);
    else
        hr_merged_plan_perform(local->merged, job->kind, local->out, job->first, job->count);
}

/* --- blocks --- */

/* Block q of rank r: all_to_all puts it where rank q keeps block r, all_gather has one of each. */
static void exchange_blocks(struct hr_local_group *local, const struct hr_job *job)
{
    const size_t n = local->options.nranks, bytes = job->count * hr_type_bytes(job->kind.type);
    const bool gathers = job->operation == HR_OP_ALL_GATHER;
    for (size_t to = 0; bytes && to < n; to++)
        for (size_t from = 0; from < n; from++) {
            const unsigned char *in = local->place[from].in;
            unsigned char *out = (unsigned char *)local->place[to].out + from * bytes;
            in += gathers ? 0 : to * bytes;
            if (in != out)
                memcpy(out, in, bytes);
        }
    account_one_shot(local, bytes); /* a block to each, and one from each */
}

/* --- all of it --- */

static bool has_blocks(const struct hr_job *job)
{
    return job->operation == HR_OP_ALL_TO_ALL || job->operation == HR_OP_ALL_GATHER;
}

static void sum_for_all(const struct hr_member *last, const struct hr_algorithm *algorithm)
{
    struct hr_local_group *local = last->local;
    const struct hr_job *job = &last->job;
    if (has_blocks(job))
        exchange_blocks(local, job);
    else if (job->operation == HR_OP_REDUCE_APPLY)
        sum_and_apply(local, job);
    else
        sum_and_store(local, algorithm, job);
    if (!has_blocks(job))
        account(local, algorithm, job);
    local->arrived = 0;
    local->summed++;
    if (!local->on_sum) {
        hr_local_group_release(local);
        return;
    }
    const size_t bytes = job->count * hr_type_bytes(job->kind.type);
    const struct hr_local_group_sum what = {.number = local->summed,
                                            .bytes = has_blocks(job) ? local->options.nranks * bytes
                                                                     : bytes,
                                            .first = job->first,
                                            .algorithm = has_blocks(job) ? NULL : algorithm,
                                            .plan = hr_operation_facts(job->operation)->plan,
                                            .last_rank = last->rank};
    local->on_sum(local->on_sum_arg, &what);
}

/* Two calls differ, so one of those that have come differs from this member's. */
static enum hr_status name_contradiction(const struct hr_member *member)
{
    const struct hr_local_group *local = member->local;
    size_t r = 0;
    while (local->place[r].call.sequence != member->call.sequence ||
           hr_call_equal(&local->place[r].call, &member->call))
        r++;
    return hr_member_mismatch(member, &member->call, r, &local->place[r].call);
}

/* --- the method --- */

static void start(struct hr_member *member)
{
    const struct hr_algorithm *algorithm = member->choice.algorithm;
    struct hr_local_group *local = member->local;
    const struct hr_job *job = &member->job;
    HR_ASSERT(job->operation == HR_OP_ALL_REDUCE || job->operation == HR_OP_REDUCE_APPLY ||
              has_blocks(job));
    HR_ASSERT(member->call.sequence == local->released + 1); /* the sum before has been released */
    local->place[member->rank] = (struct place){member->call, job->in, job->out};
    if (!local->arrived++)
        local->first_rank = member->rank;
    local->contradicted |=
        HR_SAFETY && !hr_call_equal(&local->place[local->first_rank].call, &member->call);
    if (local->contradicted)
        member->status = name_contradiction(member);
    else if (local->arrived == local->options.nranks)
        sum_for_all(member, algorithm ? algorithm : &hr_allreduce_direct);
}

static bool test(struct hr_member *member)
{
    const struct hr_local_group *local = member->local;
    if (local->released >= member->call.sequence)
        return true;
    if (local->contradicted)
        member->status = name_contradiction(member);
    return member->status != HR_OK;
}

/* One thread is all ranks: nothing to park on. */
static struct hr_bell *bell(const struct hr_member *member)
{
    (void)member;
    return NULL;
}

const struct hr_method hr_by_local_group = {start, test, bell};
