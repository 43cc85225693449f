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
    size_t nlines;
    struct line *line; /* (nlines) */
    size_t *begin;     /* (nchunks + 1) where chunks begin, in bytes; of the call in hand */
    const void **kept; /* (n) for the next sum */
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
    script->begin = calloc(script->nchunks + 1, sizeof *script->begin);
    script->kept = calloc(n, sizeof *script->kept);
    return rehearsal->arrived && rehearsal->is_kept && script->line && script->begin && script->kept
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
    free(script->begin);
    free(script->kept);
    free(script);
}

/* --- performing it --- */

static void find_chunks(struct hr_script *script, size_t elem_bytes, size_t count)
{
    const struct hr_layout layout = {
        .count = count, .elem_bytes = elem_bytes, .nchunks = script->nchunks};
    for (size_t chunk = 0; chunk <= script->nchunks; chunk++)
        script->begin[chunk] = hr_layout_region(&layout, chunk, 0).begin;
}

static size_t line_bytes(const struct hr_script *script, const struct line *line)
{
    return script->begin[line->chunk + line->span] - script->begin[line->chunk];
}

void hr_script_perform(struct hr_script *script, struct hr_kind kind, void *const *buffer,
                       size_t count)
{
    const size_t elem_bytes = hr_type_bytes(kind.type);
    size_t nkept = 0;
    find_chunks(script, elem_bytes, count);
    for (size_t i = 0; i < script->nlines; i++) {
        const struct line *line = &script->line[i];
        const size_t bytes = line_bytes(script, line), at = script->begin[line->chunk];
        if (!bytes)
            continue;
        void *mine = (unsigned char *)buffer[line->rank] + at;
        const void *theirs = (const unsigned char *)buffer[line->peer] + at;
        if (line->deed == KEEP) {
            script->kept[nkept++] = theirs;
        } else if (line->deed == SUM) {
            hr_element_tree(kind, &mine, 1, script->kept, nkept, bytes / elem_bytes);
            nkept = 0;
        } else if (line->deed == ADD) {
            hr_element_fold(kind, mine, theirs, bytes / elem_bytes);
        } else {
            memcpy(mine, theirs, bytes);
        }
    }
}

void hr_script_account(struct hr_script *script, size_t elem_bytes, size_t count,
                       struct hr_traffic *traffic)
{
    find_chunks(script, elem_bytes, count);
    for (size_t i = 0; i < script->nlines; i++) {
        const struct line *line = &script->line[i];
        if (line->rank == line->peer) /* a sum, or its own input */
            continue;
        traffic[line->peer].bytes_sent += line_bytes(script, line);
        traffic[line->peer].messages_sent++;
        traffic[line->rank].bytes_received += line_bytes(script, line);
        traffic[line->rank].messages_received++;
    }
}
