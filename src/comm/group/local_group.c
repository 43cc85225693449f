#include "group/local_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"

/* === the plans of all ranks, as one list === */

/* A step: what `rank` does with chunks of `peer`'s buffer. A sum is over what was kept since the
 * sum before, its own input and the others' in rank order. */
enum action { KEEP, SUM, ADD, COPY };

struct step {
    uint16_t rank, peer, chunk, span;
    uint8_t action;
};

struct hr_merged_plan {
    size_t n, nchunks;
    size_t run; /* of the plans */
    size_t nsteps;
    struct step *step;       /* (nsteps) */
    struct hr_pieces *chunk; /* (nchunks) where they lie, of the call in hand */
    const void **kept;       /* (n) for the next sum */
};

/* --- merging --- */

struct walker {
    struct hr_plan plan;
    size_t row; /* that it does next */
};

struct merger {
    struct hr_merged_plan *merged;
    struct walker *walker; /* (n) */
    uint32_t *arrived;     /* (n, n) to, from: messages not yet taken */
    bool *is_kept;         /* (n) for the sum in hand */
};

static bool receives(const struct hr_row *row)
{
    return row->action == HR_ROW_RECV || row->action == HR_ROW_ADD || row->action == HR_ROW_COPY;
}

static void add_step(struct merger *merger, enum action action, size_t rank, size_t peer,
                     const struct hr_row *row)
{
    struct hr_merged_plan *merged = merger->merged;
    merged->step[merged->nsteps++] =
        (struct step){(uint16_t)rank, (uint16_t)peer, row->chunk, row->span, (uint8_t)action};
}

static void add_sum(struct merger *merger, size_t rank)
{
    const size_t n = merger->merged->n;
    const struct walker *walker = &merger->walker[rank];
    const struct hr_row *rows = walker->plan.rows, *sum = &rows[walker->row];
    HR_ASSERT(sum->peer == HR_IN);
    for (size_t r = 0; r < n; r++)
        merger->is_kept[r] = r == rank;
    for (size_t i = walker->row; i-- > 0 && rows[i].action != HR_ROW_SUM;)
        if (rows[i].action == HR_ROW_RECV)
            merger->is_kept[rows[i].peer] = true;
    for (size_t r = 0; r < n; r++)
        if (merger->is_kept[r])
            add_step(merger, KEEP, rank, r, sum);
    add_step(merger, SUM, rank, rank, sum);
}

static bool must_wait(const struct merger *merger, size_t rank, const struct hr_row *row)
{
    return receives(row) && merger->arrived[rank * merger->merged->n + row->peer] == 0;
}

static void do_row(struct merger *merger, size_t rank, const struct hr_row *row)
{
    const size_t n = merger->merged->n;
    if (receives(row))
        merger->arrived[rank * n + row->peer]--;
    switch ((enum hr_action)row->action) {
    case HR_ROW_SEND:
        HR_ASSERT(row->buffer != HR_SCRATCH);
        merger->arrived[row->peer * n + rank]++;
        return;
    case HR_ROW_RECV: /* becomes a step where it is summed */
        return;
    case HR_ROW_ADD:
        add_step(merger, ADD, rank, row->peer, row);
        return;
    case HR_ROW_COPY:
        add_step(merger, COPY, rank, row->peer, row);
        return;
    case HR_ROW_SUM:
        add_sum(merger, rank);
        return;
    case HR_ROW_TAKE:
    case HR_ROW_DRAIN:
        break;
    }
    HR_ASSERT(!"a plan in place, without scratch, has only these");
}

/* Do a rank's rows as far as it can; true when it did any. */
static bool go_on(struct merger *merger, size_t rank)
{
    struct walker *walker = &merger->walker[rank];
    const size_t before = walker->row;
    for (; walker->row < walker->plan.nrows; walker->row++) {
        const struct hr_row *row = &walker->plan.rows[walker->row];
        if (must_wait(merger, rank, row))
            break;
        do_row(merger, rank, row);
    }
    return walker->row > before;
}

static enum hr_status merge_rows(struct merger *merger)
{
    const size_t n = merger->merged->n;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t rank = 0; rank < n; rank++)
            moved |= go_on(merger, rank);
    }
    for (size_t rank = 0; rank < n; rank++)
        if (merger->walker[rank].row < merger->walker[rank].plan.nrows)
            return hr_fail(HR_E_FAILED, "a plan that never ends: rank %zu waits in row %zu", rank,
                           merger->walker[rank].row);
    return HR_OK;
}

/* --- memory --- */

static enum hr_status make_plans(struct merger *merger, const struct hr_algorithm *algorithm,
                                 size_t group_size, size_t *steps)
{
    struct hr_plan_for of = {.n = merger->merged->n, .group_size = group_size, .in_place = true};
    *steps = 0;
    for (; of.rank < of.n; of.rank++) {
        struct hr_plan *plan = &merger->walker[of.rank].plan;
        HR_TRY(algorithm->plan(plan, &of));
        HR_ASSERT(!plan->uses_scratch);
        for (size_t i = 0; i < plan->nrows; i++)
            *steps += receives(&plan->rows[i]) + 2 * (plan->rows[i].action == HR_ROW_SUM);
    }
    merger->merged->nchunks = merger->walker[0].plan.nchunks;
    merger->merged->run = merger->walker[0].plan.run;
    return HR_OK;
}

static enum hr_status no_memory(size_t n)
{
    return hr_fail(HR_E_NOMEM, "no memory for the merged plan of an all-reduce of %zu ranks", n);
}

static enum hr_status take_plan_memory(struct merger *merger, size_t n, size_t steps)
{
    struct hr_merged_plan *merged = merger->merged;
    merger->arrived = calloc(n * n, sizeof *merger->arrived);
    merger->is_kept = calloc(n, sizeof *merger->is_kept);
    merged->step = calloc(steps + 1, sizeof *merged->step);
    merged->chunk = calloc(merged->nchunks, sizeof *merged->chunk);
    merged->kept = calloc(n, sizeof *merged->kept);
    return merger->arrived && merger->is_kept && merged->step && merged->chunk && merged->kept
               ? HR_OK
               : no_memory(n);
}

static enum hr_status merge(struct merger *merger, const struct hr_algorithm *algorithm,
                            size_t group_size)
{
    const size_t n = merger->merged->n;
    size_t steps;
    HR_TRY(make_plans(merger, algorithm, group_size, &steps));
    HR_TRY(take_plan_memory(merger, n, steps));
    HR_TRY(merge_rows(merger));
    HR_ASSERT(merger->merged->nsteps == steps);
    return HR_OK;
}

enum hr_status hr_merged_plan_create(const struct hr_algorithm *algorithm, size_t n,
                                     size_t group_size, struct hr_merged_plan **out)
{
    HR_ASSERT(n >= 1 && n <= HR_VEC_MAX_INPUTS && algorithm->plan);
    struct merger merger = {.merged = calloc(1, sizeof *merger.merged),
                            .walker = calloc(n, sizeof *merger.walker)};
    enum hr_status status = no_memory(n);
    if (merger.merged && merger.walker) {
        merger.merged->n = n;
        status = merge(&merger, algorithm, group_size);
    }
    for (size_t r = 0; merger.walker && r < n; r++)
        hr_plan_fini(&merger.walker[r].plan);
    free(merger.walker);
    free(merger.arrived);
    free(merger.is_kept);
    if (status != HR_OK)
        hr_merged_plan_destroy(merger.merged);
    else
        *out = merger.merged;
    return status;
}

void hr_merged_plan_destroy(struct hr_merged_plan *merged)
{
    if (!merged)
        return;
    free(merged->step);
    free(merged->chunk);
    free(merged->kept);
    free(merged);
}

/* --- performing it --- */

static void find_chunks(struct hr_merged_plan *merged, size_t elem_bytes, size_t first,
                        size_t count)
{
    const struct hr_layout layout = {.count = count,
                                     .elem_bytes = elem_bytes,
                                     .nchunks = merged->nchunks,
                                     .run = merged->run,
                                     .first = first};
    for (size_t chunk = 0; chunk < merged->nchunks; chunk++)
        merged->chunk[chunk] = hr_layout_pieces(&layout, chunk, 1);
}

/* Several chunks are not dealt, and lie one behind the other. */
static struct hr_pieces pieces_of(const struct hr_merged_plan *merged, const struct step *step)
{
    const struct hr_pieces *first = &merged->chunk[step->chunk], *last = first + step->span - 1;
    return step->span == 1
               ? *first
               : hr_pieces_together(first->begin, last->begin + last->bytes - first->begin);
}

static void add_or_copy(enum action action, struct hr_kind kind, unsigned char *mine,
                        const unsigned char *theirs, struct hr_pieces piece)
{
    for (; piece.bytes; hr_pieces_next(&piece)) {
        if (action == ADD)
            hr_element_fold(kind, mine + piece.begin, theirs + piece.begin,
                            piece.bytes / hr_type_bytes(kind.type));
        else
            memcpy(mine + piece.begin, theirs + piece.begin, piece.bytes);
    }
}

void hr_merged_plan_perform(struct hr_merged_plan *merged, struct hr_kind kind, void *const *buffer,
                            size_t first, size_t count)
{
    const size_t elem_bytes = hr_type_bytes(kind.type);
    size_t nkept = 0;
    find_chunks(merged, elem_bytes, first, count);
    for (size_t i = 0; i < merged->nsteps; i++) {
        const struct step *step = &merged->step[i];
        const struct hr_pieces piece = pieces_of(merged, step);
        if (!piece.bytes)
            continue;
        unsigned char *mine = buffer[step->rank];
        const unsigned char *theirs = buffer[step->peer];
        if (step->action == KEEP) {
            merged->kept[nkept++] = theirs + piece.begin;
        } else if (step->action == SUM) {
            void *sum = mine + piece.begin;
            hr_element_tree(kind, &sum, 1, merged->kept, nkept, piece.bytes / elem_bytes);
            nkept = 0;
        } else {
            add_or_copy((enum action)step->action, kind, mine, theirs, piece);
        }
    }
}

/* Add what each rank sends and receives for buffers of `count` elements to traffic (n). */
static void merged_plan_account(struct hr_merged_plan *merged, size_t elem_bytes, size_t first,
                                size_t count, struct hr_traffic *traffic)
{
    find_chunks(merged, elem_bytes, first, count);
    for (size_t i = 0; i < merged->nsteps; i++) {
        const struct step *step = &merged->step[i];
        const size_t bytes = pieces_of(merged, step).left;
        if (step->rank == step->peer) /* a sum, or its own input */
            continue;
        traffic[step->peer].bytes_sent += bytes;
        traffic[step->peer].messages_sent++;
        traffic[step->rank].bytes_received += bytes;
        traffic[step->rank].messages_received++;
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
        merged_plan_account(local->merged, elem_bytes, job->first, job->count, local->traffic);
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
        job->apply(job->apply_arg, begin, count, sum);
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
