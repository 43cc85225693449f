/* What hogring top shows on a terminal. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "base/size.h"
#include "report/human.h"
#include "terminal/output.h"
#include "views/top.h"

enum { CELL = 32, LEAST_COLUMNS = 20 };

/* --- cells of a rank --- */

void hr_top_role_name(const struct hr_top_rank *rank, char *text, size_t size)
{
    static const char *const names[] = {"rank", "worker", "server", "stage"};
    if (rank->role != HR_TOP_STAGE)
        snprintf(text, size, "%s", names[rank->role]);
    else
        snprintf(text, size, "replica %zu stage %zu", rank->replica, rank->stage);
    const size_t used = strlen(text);
    if (rank->part)
        snprintf(text + used, size - used, " part %zu", rank->part);
}

static const char *doing(const struct hr_top_rank *rank)
{
    static const char *const words[] = {
        [HR_PHASE_STARTING] = "starting",      [HR_PHASE_COMPUTE] = "computing",
        [HR_PHASE_COMMUNICATE] = "exchanging", [HR_PHASE_SERVE] = "serving",
        [HR_PHASE_CUT] = "at a cut",           [HR_PHASE_FINISHED] = "finished",
        [HR_PHASE_BETWEEN] = "between"};
    return rank->lost                                           ? "gone"
           : rank->over                                         ? "ended"
           : rank->stopped                                      ? "stopped"
           : (size_t)rank->phase < sizeof words / sizeof *words ? words[rank->phase]
                                                                : "?";
}

static void put_time(char *cell, double seconds)
{
    char text[HR_HUMAN_MAX];
    if (seconds < 100)
        snprintf(cell, CELL, "%.1f s", seconds > 0 ? seconds : 0);
    else
        snprintf(cell, CELL, "%.20s", hr_human_wait(text, seconds));
}

static void put_share(char *cell, double share)
{
    if (isfinite(share))
        snprintf(cell, CELL, "%.0f%%", 100 * share);
}

static void put_short(char *cell, double x)
{
    char text[HR_HUMAN_MAX];
    if (isfinite(x))
        snprintf(cell, CELL, "%.20s", hr_human_short(text, x));
}

enum column {
    RANK,
    ROLE,
    DOING,
    FOR,
    STEP,
    RATE,
    LOAD,
    COMPUTE,
    COMM,
    WAIT,
    STALE,
    QUEUE,
    RSS,
    PID,
    COLUMNS
};

static const struct {
    const char *head, *name;
    int expendable; /* where there is no room, the most expendable goes first; 0: never */
} columns[COLUMNS] = {
    [RANK] = {"rank", "rank", 0},        [ROLE] = {"role", "role", 7},
    [DOING] = {"doing", "doing", 0},     [FOR] = {"for", "since when", 4},
    [STEP] = {"step", "step", 5},        [RATE] = {"samples/s", "samples/s", 1},
    [LOAD] = {"load", "load", 3},        [COMPUTE] = {"comp", "compute", 2},
    [COMM] = {"comm", "communicate", 2}, [WAIT] = {"wait", "wait", 1},
    [STALE] = {"stale", "staleness", 6}, [QUEUE] = {"queue", "queue", 6},
    [RSS] = {"memory", "memory", 8},     [PID] = {"pid", "pid", 9},
};

struct row {
    char cell[COLUMNS][CELL];
    size_t rank;
    int interest;
    double waits; /* share of its time; the less, the more others may wait for it */
    enum hr_style style;
};

static void fill_row(const struct hr_top *top, size_t r, struct row *row)
{
    const struct hr_top_rank *rank = &top->rank[r];
    const bool played = top->run.control->about.seating == HR_SEATS_PLAYED;
    *row =
        (struct row){.rank = r, .waits = isfinite(rank->share[HR_WAIT]) ? rank->share[HR_WAIT] : 1};
    snprintf(row->cell[RANK], CELL, "%zu", r);
    hr_top_role_name(rank, row->cell[ROLE], CELL);
    snprintf(row->cell[STEP], CELL, "%" PRIu64, rank->step);
    row->interest = rank->lost ? 4 : rank->over ? 0 : rank->stopped ? 3 : rank->holds_up ? 2 : 1;
    row->style = row->interest > 2               ? HR_BAD
                 : rank->holds_up && !rank->over ? HR_WARN
                 : rank->over                    ? HR_FAINT
                                                 : HR_PLAIN;
    if (played)
        return; /* its ranks take turns, and have no times of their own */
    snprintf(row->cell[DOING], CELL, "%s", doing(rank));
    put_time(row->cell[FOR], rank->phase_s);
    snprintf(row->cell[PID], CELL, "%ld", rank->pid);
    put_short(row->cell[RATE], rank->samples_per_s);
    for (size_t i = 0; i < HR_ACTIVITIES; i++)
        put_share(row->cell[LOAD + i], rank->share[i]);
    if (rank->updates)
        snprintf(row->cell[STALE], CELL, "%.1f/%" PRIu64, rank->stale_mean, rank->stale_max);
    if (rank->taken)
        snprintf(row->cell[QUEUE], CELL, "%" PRIu64, rank->waiting);
    if (rank->resident)
        snprintf(row->cell[RSS], CELL, "%.20s", hr_bytes_text(rank->resident).text);
}

/* --- the table --- */

struct table {
    struct row row[HR_MAX_RANKS];
    size_t n;
    bool used[COLUMNS];
    struct hr_fitted fit[COLUMNS];
    bool staged; /* roles say more than what a rank does */
};

static void lay_out(struct table *table, size_t room)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        struct hr_fitted *fit = &table->fit[c];
        *fit = (struct hr_fitted){strlen(columns[c].head),
                                  c == ROLE && table->staged ? 0 : columns[c].expendable, false};
        for (size_t i = 0; i < table->n; i++) {
            const size_t width = strlen(table->row[i].cell[c]);
            fit->width = hr_max_size(width, fit->width);
            fit->shown |= width > 0;
        }
        table->used[c] = fit->shown;
    }
    hr_fit(table->fit, COLUMNS, room);
}

/* Words stand left, numbers right; the last one is not padded. */
static void print_cells(FILE *out, const struct table *table, const struct row *row)
{
    bool first = true;
    for (size_t c = 0; c < COLUMNS; c++) {
        const char *text = row ? row->cell[c] : columns[c].head;
        if (!table->fit[c].shown)
            continue;
        fprintf(out, "%s%*s", first ? "" : "  ",
                (c == ROLE || c == DOING ? -1 : 1) * (int)table->fit[c].width, text);
        first = false;
    }
}

static int by_interest(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->interest != y->interest)
        return y->interest - x->interest;
    if (x->waits < y->waits || x->waits > y->waits)
        return x->waits < y->waits ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* --- all of it --- */

/* "hidden (terminal too narrow): pid, memory" */
static void print_left_out(FILE *out, const struct table *table, size_t ranks_left_out)
{
    const char *before = "hidden (terminal too narrow): ";
    for (size_t c = 0; c < COLUMNS; c++)
        if (table->used[c] && !table->fit[c].shown) {
            fprintf(out, "%s%s", before, columns[c].name);
            before = ", ";
        }
    if (ranks_left_out)
        fprintf(out, "%s%zu rank%s", before, ranks_left_out, ranks_left_out == 1 ? "" : "s");
    if (before[0] == ',' || ranks_left_out)
        fputc('\n', out);
}

/* Lines of at most so many columns. */
static size_t put_lines(FILE *out, char *text, size_t columns_there)
{
    size_t lines = 0;
    for (char *line = text; *line; lines++) {
        const size_t length = strcspn(line, "\n");
        const bool more = line[length] == '\n';
        line[length] = '\0';
        const size_t fits = columns_there ? hr_style_cut(line, columns_there) : length;
        fprintf(out, "%.*s\n", (int)hr_min_size(fits, length), line);
        line += length + more;
    }
    return lines;
}

static size_t print_top(FILE *out, const struct hr_top *top, const struct hr_top_room *room)
{
    char *text = NULL, said[700];
    size_t bytes = 0, lines = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return 0;
    hr_top_print_head(memory, top, room);
    hr_look_say(&top->run, &top->look, said, sizeof said);
    hr_make_printable(&(struct hr_printable_state){0}, said, strlen(said), "");
    if (said[0])
        fprintf(memory, "%s%s%s\n", hr_style(room->style, HR_BAD), said,
                hr_style(room->style, HR_PLAIN));
    fputc('\n', memory);
    fclose(memory);
    lines = put_lines(out, text, room->columns);
    free(text);
    return lines;
}

void hr_top_print(FILE *out, const struct hr_top *top, const struct hr_top_room *room)
{
    struct table table = {.n = top->nranks};
    const size_t columns_there = room->columns ? hr_max_size(room->columns, LEAST_COLUMNS) : 0;
    const struct hr_top_room real = {columns_there, room->lines, room->style};
    const size_t head = print_top(out, top, &real) + 1; /* and the table's */
    for (size_t r = 0; r < top->nranks; r++)
        fill_row(top, r, &table.row[r]);
    table.staged = table.n && top->rank[0].role == HR_TOP_STAGE;
    lay_out(&table, columns_there);
    size_t fit = table.n;
    if (room->lines && head + table.n + 1 > room->lines) {
        fit = room->lines > head + 1 ? room->lines - head - 1 : 0;
        qsort(table.row, table.n, sizeof *table.row, by_interest);
    }
    fputs(hr_style(room->style, HR_BOLD), out);
    print_cells(out, &table, NULL);
    fprintf(out, "%s\n", hr_style(room->style, HR_PLAIN));
    for (size_t i = 0; i < fit && i < table.n; i++) {
        fputs(hr_style(room->style, table.row[i].style), out);
        print_cells(out, &table, &table.row[i]);
        fprintf(out, "%s\n", hr_style(room->style, HR_PLAIN));
    }
    print_left_out(out, &table, top->run.nranks - hr_min_size(fit, table.n));
}
