#include "group/merged_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

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

static enum hr_status take_memory(struct merger *merger, size_t n, size_t steps)
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
    HR_TRY(take_memory(merger, n, steps));
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

void hr_merged_plan_account(struct hr_merged_plan *merged, size_t elem_bytes, size_t first,
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
