#include "group/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* A line: what `rank` does with chunks of `peer`'s buffer. A sum is over what was kept since the
 * sum before, its own input and the others' in rank order. */
enum deed { KEEP, SUM, ADD, COPY };

struct line {
    uint16_t rank, peer, chunk, span;
    uint8_t deed;
};

struct hr_script {
    size_t n, nchunks;
    size_t run; /* of the plans */
    size_t nlines;
    struct line *line;       /* (nlines) */
    struct hr_pieces *chunk; /* (nchunks) where they lie, of the call in hand */
    const void **kept;       /* (n) for the next sum */
};

/* --- writing it --- */

struct player {
    struct hr_plan plan;
    size_t row; /* that it does next */
};

struct rehearsal {
    struct hr_script *script;
    struct player *player; /* (n) */
    uint32_t *arrived;     /* (n, n) to, from: messages not yet taken */
    bool *is_kept;         /* (n) for the sum in hand */
};

static bool receives(const struct hr_row *row)
{
    return row->action == HR_ROW_RECV || row->action == HR_ROW_ADD || row->action == HR_ROW_COPY;
}

static void write_line(struct rehearsal *rehearsal, enum deed deed, size_t rank, size_t peer,
                       const struct hr_row *row)
{
    struct hr_script *script = rehearsal->script;
    script->line[script->nlines++] =
        (struct line){(uint16_t)rank, (uint16_t)peer, row->chunk, row->span, (uint8_t)deed};
}

static void write_sum(struct rehearsal *rehearsal, size_t rank)
{
    const size_t n = rehearsal->script->n;
    const struct player *player = &rehearsal->player[rank];
    const struct hr_row *rows = player->plan.rows, *sum = &rows[player->row];
    for (size_t r = 0; r < n; r++)
        rehearsal->is_kept[r] = r == rank;
    for (size_t i = player->row; i-- > 0 && rows[i].action != HR_ROW_SUM;)
        if (rows[i].action == HR_ROW_RECV)
            rehearsal->is_kept[rows[i].peer] = true;
    for (size_t r = 0; r < n; r++)
        if (rehearsal->is_kept[r])
            write_line(rehearsal, KEEP, rank, r, sum);
    write_line(rehearsal, SUM, rank, rank, sum);
}

static bool must_wait(const struct rehearsal *rehearsal, size_t rank, const struct hr_row *row)
{
    return receives(row) && rehearsal->arrived[rank * rehearsal->script->n + row->peer] == 0;
}

static void do_row(struct rehearsal *rehearsal, size_t rank, const struct hr_row *row)
{
    const size_t n = rehearsal->script->n;
    if (receives(row))
        rehearsal->arrived[rank * n + row->peer]--;
    switch ((enum hr_action)row->action) {
    case HR_ROW_SEND:
        HR_ASSERT(row->buffer != HR_SCRATCH);
        rehearsal->arrived[row->peer * n + rank]++;
        return;
    case HR_ROW_RECV: /* is written where it is summed */
        return;
    case HR_ROW_ADD:
        write_line(rehearsal, ADD, rank, row->peer, row);
        return;
    case HR_ROW_COPY:
        write_line(rehearsal, COPY, rank, row->peer, row);
        return;
    case HR_ROW_SUM:
        write_sum(rehearsal, rank);
        return;
    case HR_ROW_TAKE:
    case HR_ROW_DRAIN:
        break;
    }
    HR_ASSERT(!"a plan in place, without scratch, has only these");
}

/* As far as the rank can; true when it came on at all. */
static bool go_on(struct rehearsal *rehearsal, size_t rank)
{
    struct player *player = &rehearsal->player[rank];
    const size_t before = player->row;
    for (; player->row < player->plan.nrows; player->row++) {
        const struct hr_row *row = &player->plan.rows[player->row];
        if (must_wait(rehearsal, rank, row))
            break;
        do_row(rehearsal, rank, row);
    }
    return player->row > before;
}

static enum hr_status rehearse(struct rehearsal *rehearsal)
{
    const size_t n = rehearsal->script->n;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t rank = 0; rank < n; rank++)
            moved |= go_on(rehearsal, rank);
    }
    for (size_t rank = 0; rank < n; rank++)
        if (rehearsal->player[rank].row < rehearsal->player[rank].plan.nrows)
            return hr_fail(HR_E_FAILED, "a plan that never ends: rank %zu waits in row %zu", rank,
                           rehearsal->player[rank].row);
    return HR_OK;
}

/* --- memory --- */

static enum hr_status make_plans(struct rehearsal *rehearsal, const struct hr_algorithm *algorithm,
                                 size_t group_size, size_t *lines)
{
    struct hr_plan_for of = {.n = rehearsal->script->n, .group_size = group_size, .in_place = true};
    *lines = 0;
    for (; of.rank < of.n; of.rank++) {
        struct hr_plan *plan = &rehearsal->player[of.rank].plan;
        HR_TRY(algorithm->plan(plan, &of));
        HR_ASSERT(!plan->uses_scratch);
        for (size_t i = 0; i < plan->nrows; i++)
            *lines += receives(&plan->rows[i]) + 2 * (plan->rows[i].action == HR_ROW_SUM);
    }
    rehearsal->script->nchunks = rehearsal->player[0].plan.nchunks;
    rehearsal->script->run = rehearsal->player[0].plan.run;
    return HR_OK;
}

static enum hr_status no_memory(size_t n)
{
    return hr_fail(HR_E_NOMEM, "no memory for the script of an all-reduce of %zu ranks", n);
}

static enum hr_status take_memory(struct rehearsal *rehearsal, size_t n, size_t lines)
{
    struct hr_script *script = rehearsal->script;
    rehearsal->arrived = calloc(n * n, sizeof *rehearsal->arrived);
    rehearsal->is_kept = calloc(n, sizeof *rehearsal->is_kept);
    script->line = calloc(lines + 1, sizeof *script->line);
    script->chunk = calloc(script->nchunks, sizeof *script->chunk);
    script->kept = calloc(n, sizeof *script->kept);
    return rehearsal->arrived && rehearsal->is_kept && script->line && script->chunk && script->kept
               ? HR_OK
               : no_memory(n);
}

static enum hr_status write_script(struct rehearsal *rehearsal,
                                   const struct hr_algorithm *algorithm, size_t group_size)
{
    const size_t n = rehearsal->script->n;
    size_t lines;
    HR_TRY(make_plans(rehearsal, algorithm, group_size, &lines));
    HR_TRY(take_memory(rehearsal, n, lines));
    HR_TRY(rehearse(rehearsal));
    HR_ASSERT(rehearsal->script->nlines == lines);
    return HR_OK;
}

enum hr_status hr_script_create(const struct hr_algorithm *algorithm, size_t n, size_t group_size,
                                struct hr_script **out)
{
    HR_ASSERT(n >= 1 && n <= HR_VEC_MAX_INPUTS && algorithm->plan);
    struct rehearsal rehearsal = {.script = calloc(1, sizeof *rehearsal.script),
                                  .player = calloc(n, sizeof *rehearsal.player)};
    enum hr_status status = no_memory(n);
    if (rehearsal.script && rehearsal.player) {
        rehearsal.script->n = n;
        status = write_script(&rehearsal, algorithm, group_size);
    }
    for (size_t r = 0; rehearsal.player && r < n; r++)
        hr_plan_fini(&rehearsal.player[r].plan);
    free(rehearsal.player);
    free(rehearsal.arrived);
    free(rehearsal.is_kept);
    if (status != HR_OK)
        hr_script_destroy(rehearsal.script);
    else
        *out = rehearsal.script;
    return status;
}

void hr_script_destroy(struct hr_script *script)
{
    if (!script)
        return;
    free(script->line);
    free(script->chunk);
    free(script->kept);
    free(script);
}

/* --- performing it --- */

static void find_chunks(struct hr_script *script, size_t elem_bytes, size_t first, size_t count)
{
    const struct hr_layout layout = {.count = count,
                                     .elem_bytes = elem_bytes,
                                     .nchunks = script->nchunks,
                                     .run = script->run,
                                     .first = first};
    for (size_t chunk = 0; chunk < script->nchunks; chunk++)
        script->chunk[chunk] = hr_layout_pieces(&layout, chunk, 1);
}

/* Several chunks are not dealt, and lie one behind the other. */
static struct hr_pieces pieces_of(const struct hr_script *script, const struct line *line)
{
    const struct hr_pieces *first = &script->chunk[line->chunk], *last = first + line->span - 1;
    return line->span == 1
               ? *first
               : hr_pieces_together(first->begin, last->begin + last->bytes - first->begin);
}

static void add_or_copy(enum deed deed, struct hr_kind kind, unsigned char *mine,
                        const unsigned char *theirs, struct hr_pieces piece)
{
    for (; piece.bytes; hr_pieces_next(&piece)) {
        if (deed == ADD)
            hr_element_fold(kind, mine + piece.begin, theirs + piece.begin,
                            piece.bytes / hr_type_bytes(kind.type));
        else
            memcpy(mine + piece.begin, theirs + piece.begin, piece.bytes);
    }
}

void hr_script_perform(struct hr_script *script, struct hr_kind kind, void *const *buffer,
                       size_t first, size_t count)
{
    const size_t elem_bytes = hr_type_bytes(kind.type);
    size_t nkept = 0;
    find_chunks(script, elem_bytes, first, count);
    for (size_t i = 0; i < script->nlines; i++) {
        const struct line *line = &script->line[i];
        const struct hr_pieces piece = pieces_of(script, line);
        if (!piece.bytes)
            continue;
        unsigned char *mine = buffer[line->rank];
        const unsigned char *theirs = buffer[line->peer];
        if (line->deed == KEEP) {
            script->kept[nkept++] = theirs + piece.begin;
        } else if (line->deed == SUM) {
            void *sum = mine + piece.begin;
            hr_element_tree(kind, &sum, 1, script->kept, nkept, piece.bytes / elem_bytes);
            nkept = 0;
        } else {
            add_or_copy((enum deed)line->deed, kind, mine, theirs, piece);
        }
    }
}

void hr_script_account(struct hr_script *script, size_t elem_bytes, size_t first, size_t count,
                       struct hr_traffic *traffic)
{
    find_chunks(script, elem_bytes, first, count);
    for (size_t i = 0; i < script->nlines; i++) {
        const struct line *line = &script->line[i];
        const size_t bytes = pieces_of(script, line).left;
        if (line->rank == line->peer) /* a sum, or its own input */
            continue;
        traffic[line->peer].bytes_sent += bytes;
        traffic[line->peer].messages_sent++;
        traffic[line->rank].bytes_received += bytes;
        traffic[line->rank].messages_received++;
    }
}
