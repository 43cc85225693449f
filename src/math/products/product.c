#include "products/product.h"

#include <string.h>

#include "base/size.h"
#include "kernels/team.h"
#include "products/pack.h"
#include "products/product_blocks.h"
#include "tiles/block.h"
#include "tiles/micro.h"

enum {
    BLOCK_FLOATS = 64 * 1024, /* of b: 256 KiB, half of a second level of 512 KiB */
    PANELS_TO_TURN = 4,       /* that are transposed at a time */
    MADDS_TO_SHARE = 1 << 17, /* below, threads cost more than they do */
    ROWS = HR_MICRO_ROWS,
    FEW_ROWS = 12,      /* of a: b is read in place, ... */
    ROWS_IN_PLACE = 72, /* ... or of a small b */
};

/* How the work is split: the same for all tasks of a product. */
struct cut {
    const struct hr_product *product;
    size_t width;                   /* of a panel */
    size_t column_parts, row_parts; /* tasks = their product */
    size_t npanels;                 /* in all */
    size_t scratch_floats;          /* of a thread */
    bool blocks;                    /* product_blocks.h */
    bool row;                       /* tiles/block.h's row */
};

/* The rows and columns of one task. */
struct part {
    size_t row, rows, column, columns;
    float *block; /* room for its part of b, packed */
    const float *b;
    size_t b_stride, b_next; /* b in panels, as strip wants them */
};

static size_t panels_of_block(size_t K, size_t width)
{
    const size_t n = BLOCK_FLOATS / (K * width);
    return n ? n : 1;
}

static size_t scratch_floats(size_t K, size_t width)
{
    const size_t panel = K * width, block = panel > BLOCK_FLOATS ? panel : BLOCK_FLOATS;
    return hr_round_up(hr_max_size(block, hr_product_blocks_floats(K)), 16);
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

/* What to multiply: rows from `row` on. Missing rows repeat the first. */
static void point_at_rows(const struct hr_product *p, size_t row, struct hr_micro *micro)
{
    for (size_t r = 0; r < ROWS; r++)
        micro->a[r] = p->a + (row + (r < micro->rows ? r : 0)) * p->a_row;
    micro->a_step = p->a_step;
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
static size_t next_rows(size_t left)
{
    return left == 2 * HR_MICRO_FEW_ROWS ? HR_MICRO_FEW_ROWS : hr_min_size(left, ROWS);
}

static void multiply_rows(const struct hr_product *p, const struct part *part)
{
    for (size_t i = 0, rows; i < part->rows; i += rows) {
        const size_t row = part->row + i;
        rows = next_rows(part->rows - i);
        struct hr_micro micro = {.K = p->K, .b = part->b, .b_stride = part->b_stride, .rows = rows};
        point_at_rows(p, row, &micro);
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
    if (p->b_column == 1) {
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
    const size_t row = hr_split_begin(p->rows, cut->row_parts, r), column = panel * cut->width;
    const size_t rows = hr_split_begin(p->rows, cut->row_parts, r + 1) - row;
    const size_t columns = hr_min_size(end, p->columns) - column;
    float *scratch = (float *)p->scratch + thread * cut->scratch_floats;
    if (cut->row)
        hr_blocks()->row(&(struct hr_block){.K = p->K,
                                            .a = p->a,
                                            .b = p->b + column * p->b_column,
                                            .b_step = p->b_column,
                                            .columns = columns,
                                            .c = p->c + column,
                                            .bias = p->bias ? p->bias + column : NULL,
                                            .relu = p->relu});
    else if (cut->blocks)
        hr_product_blocks(p, &(struct hr_product_part){row, rows, column, columns}, scratch);
    else
        multiply_part(p, (struct part){row, rows, column, columns, .block = scratch}, cut->width);
}

/* Is b not worth packing, because few rows follow, or because it stays in the caches as it is? Then
 * a strip of tiles costs less than blocks, unless these have larger tiles. */
static bool is_small(const struct hr_product *p)
{
    return p->rows <= FEW_ROWS ||
           (hr_blocks()->rows == ROWS && p->rows <= ROWS_IN_PLACE &&
            p->K * p->b_step <= BLOCK_FLOATS && p->a_step == 1 && p->b_column == 1);
}

void hr_product(const struct hr_product *p)
{
    const size_t width = hr_tiles()->columns, npanels = (p->columns + width - 1) / width;
    const size_t most = panels_of_block(p->K, width);
    const bool shared = p->threads > 1 && p->rows * p->columns >= MADDS_TO_SHARE / p->K;
    struct cut cut = {.product = p, .width = width, .npanels = npanels, .row_parts = 1};
    cut.row = !p->bf16 && p->rows == 1 && p->a_step == 1 && p->b_step == 1 && p->c_column == 1;
    cut.blocks = p->bf16 || (p->c_column == 1 && !is_small(p));
    cut.column_parts = cut.blocks ? 1 : (npanels + most - 1) / most;
    cut.scratch_floats = scratch_floats(p->K, width);
    if (shared && cut.column_parts < p->threads) {
        cut.column_parts = hr_min_size(p->threads, npanels);
        cut.row_parts = hr_min_size((p->threads + cut.column_parts - 1) / cut.column_parts,
                                    (p->rows + ROWS - 1) / ROWS);
    }
    const bool in_pieces = !shared && cut.blocks && hr_product_blocks_takes(p);
    struct hr_product untaken = *p;
    untaken.taker = NULL;
    if (!in_pieces)
        cut.product = &untaken;
    hr_team_run(shared ? p->threads : 1, cut.column_parts * cut.row_parts, one_task, &cut);
    if (p->taker && !in_pieces)
        p->taker->take(p->taker->arg, &(struct hr_final_piece){p->taken_at, p->rows, p->columns,
                                                               p->c_row, p->c, p->c_row});
}
