#include "products/product_amx.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "kernels/team.h"
#include "tiles/micro_amx.h"

enum {
    TILE = 16,
    CHUNK = 2 * HR_AMX_PAIRS,   /* values */
    AREA = TILE * HR_AMX_PAIRS, /* pairs of a chunk of a panel; floats of a tile of c */
    PIECE = 16,                 /* chunks: two panels of b are 32 KiB */
    STRETCH = 256,              /* chunks of a that are packed at a time */
    BLOCK_PAIRS = 256 * 1024,   /* of a: 1 MiB */
    GROUP = 16,                 /* panels of b that are packed at a time */
    NEXT = (GROUP + 1) * AREA,  /* from a chunk of them to the next, so that sets are used evenly */
    STRIP = 2 * TILE,           /* rows that are taken at a time */
    KEPT_PAIRS = 128 * 1024,    /* of b then, ... */
    MOST_KEPT = 64,             /* ... of so many panels */
    MOST_ROWS = 512,            /* of a block: 512 KiB of c */
    MADDS_TO_SHARE = 1 << 20,   /* below, threads cost more than they do */
};

/* Of which there is one per thread. */
struct memory {
    uint32_t *a; /* (block rows, a_row) */
    uint32_t *b; /* (PIECE, NEXT): in each chunk (GROUP, 16 pairs, 16) */
    float *c;    /* (block rows / 16, GROUP, 16, 16) */
    float *spare;
};

/* Chunks [chunk, chunk + count) of each sum. */
struct reach {
    size_t chunk, count;
};

/* The same for all tasks of a product. */
struct cut {
    const struct hr_gemm *gemm;
    bool round;
    size_t chunks, block_rows, row_parts, column_parts;
};

/* The rows and columns of one task. */
struct part {
    size_t row, rows, column, columns;
    struct memory memory;
};

static size_t chunks_of(size_t K)
{
    return (K + CHUNK - 1) / CHUNK;
}

/* Pairs from a row of a's to the next: an odd number of lines, so that sets are used evenly. */
static size_t a_row(size_t chunks)
{
    return (hr_min_size(chunks, STRETCH) | 1) * HR_AMX_PAIRS;
}

static size_t block_rows(size_t M, size_t chunks)
{
    const size_t most = hr_min_size(BLOCK_PAIRS / a_row(chunks), MOST_ROWS) / STRIP * STRIP;
    return hr_min_size(hr_round_up(M, STRIP), most);
}

/* Views of base, or, of NULL, their bytes alone. */
static size_t lay_out(size_t rows, size_t chunks, unsigned char *base, struct memory *memory)
{
    const size_t a = rows * a_row(chunks) * sizeof(uint32_t);
    const size_t b = PIECE * NEXT * sizeof(uint32_t), c = rows * GROUP * TILE * sizeof(float);
    if (base)
        *memory =
            (struct memory){(uint32_t *)(void *)base, (uint32_t *)(void *)(base + a),
                            (float *)(void *)(base + a + b), (float *)(void *)(base + a + b + c)};
    return a + b + c + AREA * sizeof(float);
}

/* Panels of b that are kept where c is taken; 0: it is not. */
static size_t panels_kept(const struct hr_gemm *g)
{
    const bool large = g->taker && g->M * g->N >= HR_TAKER_LEAST;
    return large && g->K <= HR_PRODUCT_BF16_TAKEN
               ? hr_min_size(KEPT_PAIRS / (chunks_of(g->K) * AREA), MOST_KEPT)
               : 0;
}

/* Then memory is (panels, chunks, 16, 16) of b, (32, a_row) of a, (32, columns + 16) of c. */
enum {
    TAKEN_A = KEPT_PAIRS,
    TAKEN_C = TAKEN_A + STRIP * (PIECE | 1) * HR_AMX_PAIRS,
    TAKEN_SPARE = TAKEN_C + STRIP * (MOST_KEPT + 1) * TILE,
    TAKEN_ALL = TAKEN_SPARE + TILE * (MOST_KEPT + 1) * TILE,
};

/* A block of fewer chunks has more rows. */
size_t hr_product_amx_scratch_bytes(size_t M, size_t K, size_t threads)
{
    const size_t chunks = hr_max_size(chunks_of(K), 1);
    const size_t rows = hr_min_size(hr_round_up(M, STRIP), MOST_ROWS);
    const size_t a = hr_min_size(rows * a_row(chunks), BLOCK_PAIRS);
    const size_t each = a + PIECE * NEXT + rows * GROUP * TILE + AREA;
    return hr_max_size(threads * each, TAKEN_ALL) * sizeof(float);
}

/* --- packing --- */

/* Values of the reach. */
static size_t values_of(const struct hr_gemm *g, struct reach reach)
{
    return hr_min_size(g->K - reach.chunk * CHUNK, reach.count * CHUNK);
}

/* Rows [row, row + rows) of a; whole tiles of them, of which the last has zeros. */
static void pack_a(const struct hr_gemm *g, struct reach reach, size_t row, size_t rows,
                   size_t step, uint32_t *to)
{
    const size_t K = values_of(g, reach), first = reach.chunk * CHUNK, stride = hr_gemm_a_row(g);
    const size_t pairs = (K + 1) / 2, whole = reach.count * HR_AMX_PAIRS;
    const float *turned = g->a + first * stride + row;
    if (g->form == HR_GEMM_TN)
        hr_bf16()->pack_turned(pairs, K / 2, rows, turned, K > 1 ? turned + stride : turned,
                               2 * stride, to, step);
    for (size_t i = 0; i < rows; i++, to += step) {
        if (g->form != HR_GEMM_TN)
            hr_bf16()->pack(K, g->a + (row + i) * stride + first, to);
        memset(to + pairs, 0, (whole - pairs) * sizeof *to);
    }
    for (size_t i = rows; i % TILE; i++, to += step)
        memset(to, 0, whole * sizeof *to);
}

/* One chunk of up to 256 columns: panels end to end. */
static void pack_chunk(const struct hr_gemm *g, size_t k, size_t column, size_t columns,
                       uint32_t *to)
{
    const size_t K = hr_min_size(CHUNK, g->K - k), pairs = (K + 1) / 2, stride = hr_gemm_b_row(g);
    if (K == CHUNK && g->form != HR_GEMM_NT) {
        hr_bf16()->pack_rows(K, columns, g->b + k * stride + column, stride, TILE, to);
        return;
    }
    for (size_t j = 0; j < columns; j += TILE, to += AREA) {
        const size_t n = hr_min_size(TILE, columns - j);
        if (g->form == HR_GEMM_NT)
            hr_bf16()->pack_columns(K, n, g->b + (column + j) * stride + k, stride, TILE, to);
        else
            hr_bf16()->pack_rows(K, n, g->b + k * stride + column + j, stride, TILE, to);
        memset(to + pairs * TILE, 0, (AREA - pairs * TILE) * sizeof *to);
    }
}

/* --- blocks --- */

/* Tiles of one block of four, of those that there are; others are computed twice. */
struct grid {
    struct hr_amx amx;
    size_t row_tiles, panels; /* there are */
    const uint32_t *a, *b;
    size_t a_tile, b_panel; /* pairs from one to the next */
    float *c, *spare;
    size_t c_tile, c_panel; /* floats */
};

static void multiply_four(struct grid *grid, size_t i, size_t j, size_t na, size_t nb)
{
    for (size_t t = 0; t < na; t++)
        grid->amx.a[t] = grid->a + hr_min_size(i + t, grid->row_tiles - 1) * grid->a_tile;
    for (size_t t = 0; t < nb; t++)
        grid->amx.b[t] = grid->b + hr_min_size(j + t, grid->panels - 1) * grid->b_panel;
    for (size_t t = 0; t < HR_AMX_TILES; t++) {
        const size_t row = i + t / nb, panel = j + t % nb;
        const bool there = row < grid->row_tiles && panel < grid->panels;
        grid->amx.c[t] = there ? grid->c + row * grid->c_tile + panel * grid->c_panel : grid->spare;
    }
    hr_tiles_amx()->multiply(&grid->amx);
}

/* Two panels stay in the first level while the rows go by. */
static void multiply_grid(struct grid *grid)
{
    const size_t na = grid->panels == 1 ? 4 : grid->row_tiles == 1 ? 1 : 2, nb = 4 / na;
    grid->amx.form = na == 4 ? HR_AMX_TALL : na == 2 ? HR_AMX_SQUARE : HR_AMX_WIDE;
    grid->amx.pairs = HR_AMX_PAIRS;
    hr_tiles_amx()->begin(&grid->amx);
    for (size_t j = 0; j < grid->panels; j += nb)
        for (size_t i = 0; i < grid->row_tiles; i += na)
            multiply_four(grid, i, j, na, nb);
    hr_tiles_amx()->end();
}

/* A group's tiles of c, from what is stored, or to there: a block's rows, up to 256 columns. */
static void move_c(const struct hr_gemm *g, const struct hr_amx_end *how, struct part at,
                   bool store)
{
    const size_t stride = hr_gemm_c_row(g);
    for (size_t i = 0; i < at.rows; i += TILE)
        for (size_t j = 0; j < at.columns; j += TILE) {
            struct hr_amx_end end = *how;
            float *tile = at.memory.c + (i * GROUP + j) * TILE;
            float *c = g->c + (at.row + i) * stride + at.column + j;
            if (end.bias)
                end.bias += at.column + j;
            hr_tiles_amx()->store(&end, hr_min_size(TILE, at.rows - i),
                                  hr_min_size(TILE, at.columns - j), store ? tile : c,
                                  store ? TILE : stride, store ? c : tile, store ? stride : TILE);
        }
}

/* A stretch of a block's rows, packed already, by a group of columns. */
static void multiply_group(const struct cut *cut, const struct part *at, struct reach stretch)
{
    const struct hr_gemm *g = cut->gemm;
    const struct memory *m = &at->memory;
    const bool whole = stretch.chunk + stretch.count == cut->chunks;
    const struct hr_amx_end none = {0}, end = {g->bias, cut->round, g->relu};
    struct grid grid = {.amx = {.rows = hr_min_size(at->rows, TILE),
                                .a_next = HR_AMX_PAIRS,
                                .a_row = a_row(cut->chunks),
                                .b_next = NEXT,
                                .b_row = TILE,
                                .c_row = TILE},
                        .row_tiles = (at->rows + TILE - 1) / TILE,
                        .panels = (at->columns + TILE - 1) / TILE,
                        .b = m->b,
                        .a_tile = TILE * a_row(cut->chunks),
                        .b_panel = AREA,
                        .c = m->c,
                        .spare = m->spare,
                        .c_tile = GROUP * AREA,
                        .c_panel = AREA};
    if (stretch.chunk > 0)
        move_c(g, &none, *at, false);
    for (size_t n = 0; n < stretch.count; n += PIECE) {
        grid.amx.chunks = hr_min_size(PIECE, stretch.count - n);
        for (size_t k = 0; k < grid.amx.chunks; k++)
            pack_chunk(g, (stretch.chunk + n + k) * CHUNK, at->column, at->columns,
                       m->b + k * NEXT);
        grid.a = m->a + n * HR_AMX_PAIRS;
        grid.amx.more = stretch.chunk + n > 0;
        multiply_grid(&grid);
    }
    move_c(g, whole ? &end : &none, *at, true);
}

static void multiply_part(const struct cut *cut, const struct part *part)
{
    for (size_t k = 0; k < cut->chunks; k += STRETCH) {
        const struct reach stretch = {k, hr_min_size(STRETCH, cut->chunks - k)};
        for (size_t i = 0; i < part->rows; i += cut->block_rows) {
            struct part at = *part;
            at.row += i;
            at.rows = hr_min_size(cut->block_rows, part->rows - i);
            pack_a(cut->gemm, stretch, at.row, at.rows, a_row(cut->chunks), at.memory.a);
            for (size_t j = 0; j < part->columns; j += GROUP * TILE) {
                at.column = part->column + j;
                at.columns = hr_min_size(GROUP * TILE, part->columns - j);
                multiply_group(cut, &at, stretch);
            }
        }
    }
}

static void one_task(void *arg, size_t task, size_t thread)
{
    const struct cut *cut = arg;
    const struct hr_gemm *g = cut->gemm;
    const uint64_t mode = hr_fp_mode();
    const size_t c = task / cut->row_parts, r = task % cut->row_parts;
    const size_t panels = (g->N + TILE - 1) / TILE;
    struct part part = {.row = hr_split_begin(g->M, cut->row_parts, r),
                        .column = TILE * hr_split_begin(panels, cut->column_parts, c)};
    const size_t end = TILE * hr_split_begin(panels, cut->column_parts, c + 1);
    part.rows = hr_split_begin(g->M, cut->row_parts, r + 1) - part.row;
    part.columns = hr_min_size(end, g->N) - part.column;
    const size_t bytes = lay_out(cut->block_rows, cut->chunks, NULL, &part.memory);
    lay_out(cut->block_rows, cut->chunks, (unsigned char *)g->scratch + thread * bytes,
            &part.memory);
    hr_fp_flush_denormals();
    multiply_part(cut, &part);
    hr_fp_mode_set(mode);
}

/* --- c taken a strip of 32 rows at a time --- */

/* What the taker reads beside two panels' columns is fetched while they multiply. */
static void fetch_beside(const struct hr_gemm *g, const struct hr_final_piece *strip, size_t j)
{
    enum { LINE = 16 };
    for (size_t n = 0; n < HR_TAKER_BESIDE && g->taker->beside[n]; n++) {
        const float *at = g->taker->beside[n] + strip->begin + j;
        for (size_t i = 0; i < strip->rows; i++, at += strip->step) {
            __builtin_prefetch(at, 1, 2);
            __builtin_prefetch(at + LINE, 1, 2);
        }
    }
}

/* What takes c is not to be in a mode of ours. */
static void multiply_strip(const struct hr_gemm *g, bool round, const uint32_t *a,
                           const uint32_t *b, const float *bias, const struct hr_final_piece *strip)
{
    const uint64_t mode = hr_fp_mode();
    const struct hr_amx_end end = {bias, round, g->relu};
    const size_t chunks = chunks_of(g->K), panels = (strip->columns + TILE - 1) / TILE;
    struct grid grid = {.amx = {.form = HR_AMX_SQUARE,
                                .rows = TILE,
                                .pairs = HR_AMX_PAIRS,
                                .chunks = chunks,
                                .a_next = HR_AMX_PAIRS,
                                .a_row = a_row(chunks),
                                .b_next = AREA,
                                .b_row = TILE,
                                .c_row = strip->stride},
                        .row_tiles = (strip->rows + TILE - 1) / TILE,
                        .panels = panels,
                        .a = a,
                        .b = b,
                        .a_tile = TILE * a_row(chunks),
                        .b_panel = chunks * AREA,
                        .c = strip->values,
                        .spare = (float *)g->scratch + TAKEN_SPARE,
                        .c_tile = TILE * strip->stride,
                        .c_panel = TILE};
    hr_fp_flush_denormals();
    hr_tiles_amx()->begin(&grid.amx);
    for (size_t j = 0; j < panels; j += 2) {
        fetch_beside(g, strip, j * TILE);
        multiply_four(&grid, 0, j, 2, 2);
    }
    hr_tiles_amx()->end();
    if (bias || round || g->relu)
        hr_tiles_amx()->store(&end, strip->rows, strip->columns, strip->values, strip->stride,
                              strip->values, strip->stride);
    hr_fp_mode_set(mode);
    g->taker->take(g->taker->arg, strip);
}

/* b is packed once, some panels at a time. */
static void multiply_taken(const struct hr_gemm *g, bool round, size_t kept)
{
    const size_t c_row = hr_gemm_c_row(g), chunks = chunks_of(g->K);
    const struct reach all = {0, chunks};
    uint32_t *const panels = g->scratch, *const rows = panels + TAKEN_A;
    for (size_t j = 0; j < g->N; j += kept * TILE) {
        const size_t columns = hr_min_size(kept * TILE, g->N - j);
        for (size_t p = 0; p < columns; p += TILE)
            for (size_t k = 0; k < chunks; k++)
                pack_chunk(g, k * CHUNK, j + p, hr_min_size(TILE, columns - p),
                           panels + (p / TILE * chunks + k) * AREA);
        for (size_t i = 0; i < g->M; i += STRIP) {
            const struct hr_final_piece strip = {
                .begin = g->taken_at + i * c_row + j,
                .rows = hr_min_size(STRIP, g->M - i),
                .columns = columns,
                .step = c_row,
                .values = (float *)g->scratch + TAKEN_C,
                .stride = hr_round_up(columns, TILE) + TILE,
            };
            pack_a(g, all, i, strip.rows, a_row(chunks), rows);
            multiply_strip(g, round, rows, panels, g->bias ? g->bias + j : NULL, &strip);
        }
    }
}

/* --- the whole --- */

void hr_gemm_amx(const struct hr_gemm *g, bool round)
{
    const bool shared = g->threads > 1 && g->M * g->N >= MADDS_TO_SHARE / g->K;
    const size_t kept = panels_kept(g), panels = (g->N + TILE - 1) / TILE;
    struct cut cut = {
        .gemm = g, .round = round, .chunks = chunks_of(g->K), .row_parts = 1, .column_parts = 1};
    if (kept && !shared) {
        multiply_taken(g, round, kept);
        return;
    }
    if (shared) {
        cut.column_parts = hr_min_size(g->threads, panels);
        cut.row_parts = hr_min_size((g->threads + cut.column_parts - 1) / cut.column_parts,
                                    (g->M + TILE - 1) / TILE);
    }
    cut.block_rows = block_rows(g->M, cut.chunks);
    hr_team_run(shared ? g->threads : 1, cut.column_parts * cut.row_parts, one_task, &cut);
    hr_gemm_taken_whole(g);
}
