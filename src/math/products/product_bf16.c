#include "products/product_bf16.h"

#include <limits.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "kernels/team.h"
#include "products/product_amx.h"
#include "tiles/micro_bf16.h"

enum {
    ROWS = HR_BF16_ROWS,
    WIDTH = HR_BF16_COLUMNS,
    PIECE = 224,              /* pairs: 28 KiB of b, and 10.5 KiB of a go through beside it */
    BLOCK_PAIRS = 128 * 1024, /* of a: 512 KiB */
    STRIPS = 8,               /* of 12 rows of a that are packed at a time, where c is taken */
    GROUP = 4,                /* panels of b that are packed at a time: a row's lines are whole */
    FAR = 1 << 17,            /* floats that are fetched before they are read */
    MADDS_TO_SHARE = 1 << 18, /* below, threads cost more than they do */
};

/* How the work is split: the same for all tasks of a product. */
struct cut {
    const struct hr_gemm *gemm;
    bool round;
    size_t pieces;       /* of k */
    size_t block_rows;   /* of a */
    size_t thread_pairs; /* of scratch */
    size_t row_parts, column_parts, npanels;
};

/* The rows and columns of one task. */
struct part {
    size_t row, rows, column, columns;
    uint32_t *block, *panels; /* of a, (rows / 12, pairs, 12); of b, (4, pairs, 32) */
};

/* Values [k, k + count) of each sum. */
struct piece {
    size_t k, count;
    bool first, last;
};

static size_t tiles_of(size_t rows)
{
    return (rows + ROWS - 1) / ROWS;
}

static size_t pairs_of(size_t K)
{
    return (K + 1) / 2;
}

static size_t pieces_of(size_t K)
{
    return (pairs_of(K) + PIECE - 1) / PIECE;
}

/* Pairs of the longest piece. */
static size_t longest_piece(size_t K)
{
    const size_t pieces = pieces_of(K);
    return pieces ? (pairs_of(K) + pieces - 1) / pieces : 0;
}

/* As even as can be. */
static size_t block_rows(size_t M, size_t K)
{
    const size_t most = BLOCK_PAIRS / (longest_piece(K) * ROWS), tiles = tiles_of(M);
    const size_t blocks = (tiles + most - 1) / most;
    return (tiles + blocks - 1) / blocks * ROWS;
}

/* A block, then a group of panels. */
static size_t block_pairs(size_t rows, size_t K)
{
    return hr_round_up(rows * longest_piece(K), 16);
}

size_t hr_product_bf16_scratch_bytes(size_t M, size_t K, size_t threads)
{
    if (hr_bf16_sums_as_amx())
        return hr_product_amx_scratch_bytes(M, K, threads);
    if (hr_bf16_as_floats())
        return hr_gemm_scratch_bytes(K, threads);
    const size_t longest = hr_min_size(pairs_of(K), PIECE);
    const size_t block = hr_min_size(tiles_of(M) * ROWS * longest, BLOCK_PAIRS);
    return threads * (hr_round_up(block, 16) + longest * GROUP * WIDTH) * sizeof(uint32_t);
}

/* --- one task --- */

static struct piece piece_of(size_t K, size_t pieces, size_t number)
{
    const size_t begin = hr_split_begin(pairs_of(K), pieces, number);
    const size_t end = hr_split_begin(pairs_of(K), pieces, number + 1);
    return (struct piece){2 * begin, hr_min_size(2 * end, K) - 2 * begin, number == 0,
                          number + 1 == pieces};
}

/* Rows [row, row + rows) of a, in panels of 12. */
static void pack_a(const struct hr_gemm *g, struct piece piece, size_t row, size_t rows,
                   uint32_t *block)
{
    const size_t stride = hr_gemm_a_row(g), panel = pairs_of(piece.count) * ROWS;
    if (g->form == HR_GEMM_TN)
        hr_bf16()->pack_rows(piece.count, rows, g->a + piece.k * stride + row, stride, ROWS, block);
    for (size_t i = 0; g->form != HR_GEMM_TN && i < rows; i += ROWS, block += panel)
        hr_bf16()->pack_columns(piece.count, hr_min_size(ROWS, rows - i),
                                g->a + (row + i) * stride + piece.k, stride, ROWS, block);
}

/* Up to 128 columns of b from `column` on. */
static void pack_b(const struct hr_gemm *g, struct piece piece, size_t column, size_t columns,
                   uint32_t *panels)
{
    const size_t stride = hr_gemm_b_row(g), panel = pairs_of(piece.count) * WIDTH;
    if (g->form != HR_GEMM_NT)
        hr_bf16()->pack_rows(piece.count, columns, g->b + piece.k * stride + column, stride, WIDTH,
                             panels);
    for (size_t j = 0; g->form == HR_GEMM_NT && j < columns; j += WIDTH, panels += panel)
        hr_bf16()->pack_columns(piece.count, hr_min_size(WIDTH, columns - j),
                                g->b + (column + j) * stride + piece.k, stride, WIDTH, panels);
}

/* The b of the next panels, from `column` on, is fetched while the tiles before it multiply: tile
 * `number` of `tiles` has its share of one panel's. */
static struct hr_fetch next_of_b(const struct hr_gemm *g, struct piece piece, size_t column,
                                 size_t number, size_t tiles)
{
    const size_t stride = hr_gemm_b_row(g);
    if (column >= g->N || g->N * g->K < FAR)
        return (struct hr_fetch){0};
    if (g->form != HR_GEMM_NT) {
        const size_t k = hr_split_begin(piece.count, tiles, number);
        return (struct hr_fetch){g->b + (piece.k + k) * stride + column, stride,
                                 hr_split_begin(piece.count, tiles, number + 1) - k};
    }
    if (number * WIDTH >= piece.count)
        return (struct hr_fetch){0};
    return (struct hr_fetch){g->b + column * stride + piece.k + number * WIDTH, stride,
                             hr_min_size(WIDTH, g->N - column)};
}

/* The block's rows, `rows` from `row` on, times one panel. */
static void multiply_panel(const struct cut *cut, const struct part *part, struct piece piece,
                           size_t row, size_t rows, size_t column, const uint32_t *panel)
{
    const struct hr_gemm *g = cut->gemm;
    struct hr_micro_bf16 micro = {.K = pairs_of(piece.count),
                                  .b = panel,
                                  .columns =
                                      hr_min_size(WIDTH, part->column + part->columns - column),
                                  .c = g->c + row * hr_gemm_c_row(g) + column,
                                  .c_stride = hr_gemm_c_row(g),
                                  .more = !piece.first,
                                  .round = piece.last && cut->round,
                                  .relu = piece.last && g->relu,
                                  .bias = piece.last && g->bias ? g->bias + column : NULL};
    const uint32_t *a = part->block;
    for (size_t i = 0; i < rows; i += ROWS, a += micro.K * ROWS) {
        micro.fetch[0] = next_of_b(g, piece, column + GROUP * WIDTH, i / ROWS, tiles_of(rows));
        if (i + 2 * ROWS <= rows && g->M * g->N >= FAR)
            micro.fetch[1] =
                (struct hr_fetch){micro.c + ROWS * micro.c_stride, micro.c_stride, ROWS};
        hr_tiles_bf16()->tile(&micro, a, hr_min_size(ROWS, rows - i));
        micro.c += ROWS * micro.c_stride;
    }
}

static void multiply_block(const struct cut *cut, const struct part *part, struct piece piece,
                           size_t row, size_t rows)
{
    const size_t panel = pairs_of(piece.count) * WIDTH;
    pack_a(cut->gemm, piece, row, rows, part->block);
    for (size_t j = 0; j < part->columns; j += GROUP * WIDTH) {
        const size_t columns = hr_min_size(GROUP * WIDTH, part->columns - j);
        pack_b(cut->gemm, piece, part->column + j, columns, part->panels);
        for (size_t i = 0; i < columns; i += WIDTH)
            multiply_panel(cut, part, piece, row, rows, part->column + j + i,
                           part->panels + i / WIDTH * panel);
    }
}

static void multiply_part(const struct cut *cut, const struct part *part)
{
    const size_t K = cut->gemm->K;
    for (size_t n = 0; n < cut->pieces; n++) {
        const struct piece piece = piece_of(K, cut->pieces, n);
        for (size_t i = 0; i < part->rows; i += cut->block_rows) {
            multiply_block(cut, part, piece, part->row + i,
                           hr_min_size(cut->block_rows, part->rows - i));
        }
    }
}

/* --- c taken a strip of 12 rows at a time --- */

/* Panels of b that stay in the second level, in the place of a block of a; 0: c is not taken so. */
static size_t panels_kept(const struct hr_gemm *g)
{
    const size_t longest = pairs_of(g->K);
    const size_t room = hr_min_size(tiles_of(g->M) * ROWS * longest, BLOCK_PAIRS);
    const bool large = g->taker && g->M * g->N >= HR_TAKER_LEAST;
    return large && g->K <= HR_PRODUCT_BF16_TAKEN ? room / (longest * WIDTH) : 0;
}

/* What takes c is not to be in a mode of ours. */
static void multiply_strip(const struct hr_gemm *g, bool round, const uint32_t *a,
                           const uint32_t *panels, const float *bias,
                           const struct hr_final_piece *strip)
{
    const uint64_t mode = hr_fp_mode();
    struct hr_micro_bf16 micro = {.K = pairs_of(g->K),
                                  .b = panels,
                                  .c = strip->values,
                                  .c_stride = strip->stride,
                                  .round = round,
                                  .relu = g->relu};
    hr_fp_flush_denormals();
    for (size_t j = 0; j < strip->columns; j += WIDTH) {
        for (size_t n = 0; n < HR_TAKER_BESIDE && g->taker->beside[n]; n++)
            micro.fetch[n] =
                (struct hr_fetch){g->taker->beside[n] + strip->begin + j, strip->step, strip->rows};
        micro.columns = hr_min_size(WIDTH, strip->columns - j);
        micro.bias = bias ? bias + j : NULL;
        hr_tiles_bf16()->tile(&micro, a, strip->rows);
        micro.b += micro.K * WIDTH;
        micro.c += WIDTH;
    }
    hr_fp_mode_set(mode);
    g->taker->take(g->taker->arg, strip);
}

/* b is packed once, some panels at a time; c is memory for one strip. */
static void multiply_taken(const struct hr_gemm *g, bool round, size_t kept)
{
    const struct piece all = {0, g->K, true, true};
    const size_t c_row = hr_gemm_c_row(g);
    uint32_t *const panels = g->scratch, *const strips = panels + kept * pairs_of(g->K) * WIDTH;
    for (size_t j = 0; j < g->N; j += kept * WIDTH) {
        const size_t columns = hr_min_size(kept * WIDTH, g->N - j);
        for (size_t p = 0; p < columns; p += GROUP * WIDTH)
            pack_b(g, all, j + p, hr_min_size(GROUP * WIDTH, columns - p),
                   panels + p * pairs_of(g->K));
        for (size_t i = 0; i < g->M; i += STRIPS * ROWS) {
            const size_t rows = hr_min_size(STRIPS * ROWS, g->M - i);
            pack_a(g, all, i, rows, strips);
            for (size_t r = 0; r < rows; r += ROWS)
                multiply_strip(g, round, strips + r * pairs_of(g->K), panels,
                               g->bias ? g->bias + j : NULL,
                               &(struct hr_final_piece){g->taken_at + (i + r) * c_row + j,
                                                        hr_min_size(ROWS, rows - r), columns, c_row,
                                                        g->c, columns});
        }
    }
}

static void one_task(void *arg, size_t task, size_t thread)
{
    const struct cut *cut = arg;
    const struct hr_gemm *g = cut->gemm;
    const uint64_t mode = hr_fp_mode();
    const size_t c = task / cut->row_parts, r = task % cut->row_parts;
    const size_t panel = hr_split_begin(cut->npanels, cut->column_parts, c);
    const size_t end = hr_split_begin(cut->npanels, cut->column_parts, c + 1) * WIDTH;
    struct part part = {.row = hr_split_begin(g->M, cut->row_parts, r), .column = panel * WIDTH};
    part.rows = hr_split_begin(g->M, cut->row_parts, r + 1) - part.row;
    part.columns = hr_min_size(end, g->N) - part.column;
    part.block = (uint32_t *)g->scratch + thread * cut->thread_pairs;
    part.panels = part.block + block_pairs(cut->block_rows, g->K);
    hr_fp_flush_denormals();
    multiply_part(cut, &part);
    hr_fp_mode_set(mode);
}

/* --- the whole --- */

/* K = 0: sums are zero. */
static void store_bias(const struct hr_gemm *g, bool round)
{
    for (size_t i = 0; i < g->M; i++)
        for (size_t j = 0; j < g->N; j++) {
            const float sum = g->bias ? round ? hr_bf16_round(g->bias[j]) : g->bias[j] : 0;
            g->c[i * hr_gemm_c_row(g) + j] = g->relu && sum < 0 ? 0 : sum;
        }
}

static void multiply(const struct hr_gemm *g, bool round, size_t npanels, bool shared)
{
    struct cut cut = {.gemm = g,
                      .round = round,
                      .pieces = pieces_of(g->K),
                      .block_rows = block_rows(g->M, g->K),
                      .row_parts = 1,
                      .column_parts = 1,
                      .npanels = npanels};
    cut.thread_pairs = block_pairs(cut.block_rows, g->K) + longest_piece(g->K) * GROUP * WIDTH;
    if (shared) {
        cut.column_parts = hr_min_size(g->threads, npanels);
        cut.row_parts =
            hr_min_size((g->threads + cut.column_parts - 1) / cut.column_parts, tiles_of(g->M));
    }
    hr_team_run(shared ? g->threads : 1, cut.column_parts * cut.row_parts, one_task, &cut);
}

void hr_gemm_bf16(const struct hr_gemm *g, bool round)
{
    HR_ASSERT(g->M <= INT_MAX && g->N <= INT_MAX && g->K <= INT_MAX && g->threads >= 1);
    if (g->M == 0 || g->N == 0)
        return;
    if (g->K && hr_bf16_sums_as_amx()) {
        hr_gemm_amx(g, round);
        return;
    }
    if (g->K && hr_bf16_as_floats()) {
        struct hr_product product = hr_gemm_product(g);
        product.bf16 = true;
        product.round = round;
        hr_product(&product);
        return;
    }
    const size_t kept = g->K ? panels_kept(g) : 0, npanels = (g->N + WIDTH - 1) / WIDTH;
    const bool shared = g->threads > 1 && g->K && g->M * g->N >= MADDS_TO_SHARE / g->K;
    if (kept && !shared) {
        multiply_taken(g, round, kept);
        return;
    }
    if (g->K)
        multiply(g, round, npanels, shared);
    else
        store_bias(g, round);
    hr_gemm_taken_whole(g);
}
