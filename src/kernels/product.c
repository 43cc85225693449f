#include "kernels/product.h"

#include <string.h>

#include "base/size.h"
#include "kernels/micro.h"
#include "kernels/pack.h"
#include "kernels/team.h"

enum {
    BLOCK_FLOATS = 64 * 1024, /* of b: 256 KiB, half of a second level of 512 KiB */
    PANELS_TO_PACK_A = 4,     /* strided rows of a are worth packing when as many panels follow */
    PANELS_TO_TURN = 4,       /* that are transposed at a time */
    MADDS_TO_SHARE = 1 << 17, /* below, threads cost more than they do */
    ROWS = HR_MICRO_ROWS,
    ROWS_IN_PLACE = 72, /* up to so many rows, b is read in place */
    GROUP = 8 * ROWS,   /* rows of a packed at a time */
};

/* How the work is split: the same for all tasks of a product. */
struct cut {
    const struct hr_product *product;
    size_t width;                   /* of a panel */
    size_t column_parts, row_parts; /* tasks = their product */
    size_t npanels;                 /* in all */
    size_t scratch_floats;          /* of a thread */
};

/* The rows and columns of one task. */
struct part {
    size_t row, rows, column, columns;
    float *block; /* room for its part of b, packed */
    const float *b;
    size_t b_stride, b_next; /* b in panels, as strip wants them */
    float *packed;           /* (K,GROUP): rows of a, when packed */
};

static size_t panels_of_block(size_t K, size_t width)
{
    const size_t n = BLOCK_FLOATS / (K * width);
    return n ? n : 1;
}

/* A block, then a group of rows of a. */
static size_t scratch_floats(size_t K, size_t width)
{
    const size_t panel = K * width;
    return hr_round_up(panel > BLOCK_FLOATS ? panel : BLOCK_FLOATS, 16) + GROUP * K;
}

size_t hr_product_scratch_bytes(size_t K, size_t threads)
{
    return threads * scratch_floats(K, hr_tiles()->columns) * sizeof(float);
}

static void pack_block(const struct hr_product *p, const struct part *part, size_t width)
{
    const float *b = p->b + part->column * p->b_column;
    if (p->b_column == 1)
        hr_pack_rows(p->K, part->columns, b, p->b_step, width, part->block);
    else
        hr_pack_columns(p->K, part->columns, b, p->b_column, width, part->block);
}

/* The group of rows of a from `row` on, whose neighbours stand side by side: (K,ROWS) for each
 * tile. A group at a time, so that whole lines of a are read. */
static void pack_group(const struct hr_product *p, const struct part *part, size_t row)
{
    const size_t count = hr_min_size(GROUP, part->row + part->rows - row);
    const size_t whole = count - count % ROWS, tile = p->K * ROWS;
    for (size_t k = 0; k < p->K; k++) {
        const float *a = p->a + row + k * p->a_step;
        float *to = part->packed + k * ROWS;
        for (size_t i = 0; i < whole; i += ROWS, to += tile)
            memcpy(to, a + i, ROWS * sizeof *a);
        for (size_t i = whole; i < count; i++)
            to[i - whole] = a[i];
    }
}

/* What to multiply: rows from `row` on, in place or packed. Missing rows repeat the first. */
static void point_at_rows(const struct hr_product *p, const struct part *part, size_t row,
                          bool packed, struct hr_micro *micro)
{
    const size_t in_group = (row - part->row) % GROUP;
    if (packed && in_group == 0)
        pack_group(p, part, row);
    for (size_t r = 0; r < ROWS; r++) {
        const size_t i = r < micro->rows ? r : 0, at = in_group + i;
        micro->a[r] = packed ? part->packed + at / ROWS * ROWS * p->K + at % ROWS
                             : p->a + (row + i) * p->a_row;
    }
    micro->a_step = packed ? ROWS : p->a_step;
}

/* `rows` rows from `row` on times the whole block. */
static void multiply_in_place(const struct hr_product *p, const struct part *part, size_t row,
                              struct hr_micro *micro)
{
    micro->columns = part->columns;
    micro->c = p->c + row * p->c_row + part->column;
    micro->c_stride = p->c_row;
    micro->bias = p->bias ? p->bias + part->column : NULL;
    micro->relu = p->relu;
    hr_tiles()->strip(micro, part->b_next);
}

/* The same into a c stored by columns: through a buffer, a few panels at a time. */
static void multiply_and_turn(const struct hr_product *p, const struct part *part, size_t row,
                              struct hr_micro *micro)
{
    float tile[ROWS * PANELS_TO_TURN * HR_MICRO_MAX_COLUMNS];
    const size_t width = hr_tiles()->columns, most = PANELS_TO_TURN * width;
    for (size_t j = 0; j < part->columns; j += most) {
        micro->columns = hr_min_size(most, part->columns - j);
        micro->b = part->b + j / width * part->b_next;
        micro->c = tile;
        micro->c_stride = most;
        hr_tiles()->strip(micro, part->b_next);
        hr_turn(&(struct hr_turn){.rows = micro->rows,
                                  .columns = micro->columns,
                                  .tile = tile,
                                  .stride = most,
                                  .c = p->c + (part->column + j) * p->c_column + row,
                                  .c_stride = p->c_column,
                                  .bias = p->bias ? p->bias + row : NULL,
                                  .relu = p->relu});
    }
}

/* How many rows to multiply at a time: six, or four, so that no fewer than four are left over: 64
 * is ten sixes and a four, 128 is twenty sixes and two fours. */
static size_t next_rows(size_t at, size_t count)
{
    const size_t left = hr_min_size(GROUP - at % GROUP, count - at);
    return left == 2 * HR_MICRO_FEW_ROWS ? HR_MICRO_FEW_ROWS : hr_min_size(left, ROWS);
}

static void multiply_rows(const struct hr_product *p, const struct part *part)
{
    const size_t enough = (PANELS_TO_PACK_A - 1) * hr_tiles()->columns;
    const bool pack_a = p->a_step != 1 && part->columns > enough;
    for (size_t i = 0, rows; i < part->rows; i += rows) {
        const size_t row = part->row + i;
        rows = next_rows(i, part->rows);
        struct hr_micro micro = {.K = p->K, .b = part->b, .b_stride = part->b_stride, .rows = rows};
        point_at_rows(p, part, row, pack_a, &micro);
        if (p->c_column == 1)
            multiply_in_place(p, part, row, &micro);
        else
            multiply_and_turn(p, part, row, &micro);
    }
}

/* With few rows packing b does not pay, except for the partial panel at its end. */
static void multiply_part(const struct hr_product *p, struct part part, size_t width)
{
    const size_t columns = part.columns;
    if (p->b_column == 1 && part.rows <= ROWS_IN_PLACE) {
        part.columns -= columns % width;
        part.b = p->b + part.column;
        part.b_stride = p->b_step;
        part.b_next = width;
        multiply_rows(p, &part);
        part.column += part.columns;
        part.columns = columns % width;
    }
    if (part.columns == 0)
        return;
    pack_block(p, &part, width);
    part.b = part.block;
    part.b_stride = width;
    part.b_next = width * p->K;
    multiply_rows(p, &part);
}

static void one_task(void *arg, size_t task, size_t thread)
{
    const struct cut *cut = arg;
    const struct hr_product *p = cut->product;
    const size_t c = task / cut->row_parts, r = task % cut->row_parts;
    const size_t panel = hr_split_begin(cut->npanels, cut->column_parts, c);
    const size_t end = hr_split_begin(cut->npanels, cut->column_parts, c + 1) * cut->width;
    struct part part = {.row = hr_split_begin(p->rows, cut->row_parts, r),
                        .column = panel * cut->width};
    part.rows = hr_split_begin(p->rows, cut->row_parts, r + 1) - part.row;
    part.columns = hr_min_size(end, p->columns) - part.column;
    part.block = (float *)p->scratch + thread * cut->scratch_floats;
    part.packed = part.block + cut->scratch_floats - GROUP * p->K;
    multiply_part(p, part, cut->width);
}

void hr_product(const struct hr_product *p)
{
    const size_t width = hr_tiles()->columns, npanels = (p->columns + width - 1) / width;
    const size_t most = panels_of_block(p->K, width);
    const bool shared = p->threads > 1 && p->rows * p->columns >= MADDS_TO_SHARE / p->K;
    struct cut cut = {.product = p, .width = width, .npanels = npanels, .row_parts = 1};
    cut.column_parts = (npanels + most - 1) / most;
    cut.scratch_floats = scratch_floats(p->K, width);
    if (shared && cut.column_parts < p->threads) {
        cut.column_parts = hr_min_size(p->threads, npanels);
        cut.row_parts = hr_min_size((p->threads + cut.column_parts - 1) / cut.column_parts,
                                    (p->rows + ROWS - 1) / ROWS);
    }
    hr_team_run(shared ? p->threads : 1, cut.column_parts * cut.row_parts, one_task, &cut);
}
