#include "products/product_blocks.h"

#include <pthread.h>
#include <string.h>

#include "base/cpus.h"
#include "base/fpenv.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "products/pack.h"
#include "tiles/block.h"
#include "tiles/micro.h"

enum {
    MOST_K = 1024,
    KNOWN_K = 512,
    LEAST_K = 128,
    MOST_ROWS = 768,
    ROWS_TURNING = 264, /* of a, at least, where each block costs turning b round */
    K_STEP = 8,         /* blocks of k begin at multiples */
    ROWS_IN_PLACE = 72, /* of a, up to which a b of so many floats is not worth packing: */
    MOST_B_IN_PLACE = 64 * 1024,
    MOST_ROW_IN_PLACE = 512,
    PANELS_TAKEN = 8,         /* of c, that a taker gets at a time: 192 KiB of a block */
    PANELS_IN_PLACE = 3,      /* a is read in place when no more panels follow ... */
    MOST_STEP_IN_PLACE = 256, /* ... and its k stand no farther apart */
    GROUP_TILES = 4,          /* of strided rows packed at a time, so that whole lines are read */
    LINE = 16,                /* floats; rows packed are so far apart that their lines are not of
                               * one set of the first level */
    TURNED = 64,              /* k of a panel of bfloat16 values that is turned round at a time */
    AHEAD = 8,
    ROWS_AHEAD = 16,  /* of b, at least, by which it is fetched before it is moved */
    FAR = 1 << 17,    /* floats of a c that is fetched before a tile goes there, ... */
    FETCHING_K = 256, /* ... while the tile before it multiplies so long */
};

/* Numbers [begin, begin + count). */
struct range {
    size_t begin, count;
};

/* The i-th of n parts of `count`, each but the last a multiple of `step`. */
static struct range part_of(size_t count, size_t step, size_t n, size_t i)
{
    const size_t steps = (count + step - 1) / step;
    const size_t begin = hr_split_begin(steps, n, i) * step;
    const size_t end = hr_min_size(hr_split_begin(steps, n, i + 1) * step, count);
    return (struct range){begin, end - begin};
}

static size_t parts_of(size_t count, size_t most)
{
    return (count + most - 1) / most;
}

/* --- sizes --- */

enum {
    USUAL_L1 = 32 << 10, /* where the system does not say */
    USUAL_L2 = 512 << 10,
    WIDTHS = 3, /* of panels: 8, 16, 32 floats; 32 stands for all tiles of 12 rows, for which widths
                 * make no difference */
};
static struct hr_product_block_sizes sizes_of[WIDTHS][2];

/* A tile of 12 rows takes panels from the second level as fast as from the first, as long as all
 * that stands side by side (b, two panels, rows of a) is on no more pages of 4 KiB than the
 * processor has at hand, about 96; with 6 a panel takes half of the first level. One that is turned
 * round is long, so that columns of b are read in long runs. The block of a takes three quarters of
 * the second level. */
static struct hr_product_block_sizes sizes_for(size_t width, bool turning, size_t l1, size_t l2)
{
    const size_t tile = width == 32 ? HR_BLOCK_MOST_ROWS : HR_MICRO_ROWS;
    const size_t k = l1 / 2 / (width * sizeof(float)) / LEAST_K * LEAST_K;
    struct hr_product_block_sizes sizes = {.k = hr_min_size(hr_max_size(k, LEAST_K), MOST_K)};
    if (turning || tile == HR_BLOCK_MOST_ROWS)
        sizes.k = turning ? MOST_K : KNOWN_K;
    const size_t rows = l2 / 4 * 3 / (sizes.k * sizeof(float)) / tile * tile;
    sizes.rows = hr_min_size(hr_max_size(rows, turning ? ROWS_TURNING : 4 * tile), MOST_ROWS);
    return sizes;
}

static void fit(size_t l1, size_t l2)
{
    for (size_t w = 0; w < WIDTHS; w++)
        for (size_t turning = 0; turning < 2; turning++)
            sizes_of[w][turning] = sizes_for((size_t)8 << w, turning, l1, l2);
}

static void fit_machine(void)
{
    const size_t l1 = hr_cpus_cache_of_core(1), l2 = hr_cpus_cache_of_core(2);
    fit(l1 ? l1 : USUAL_L1, l2 ? l2 : USUAL_L2);
}

struct hr_product_block_sizes hr_product_block_sizes(bool turning)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fit_machine);
    return sizes_of[hr_blocks()->rows == HR_BLOCK_MOST_ROWS ? 2 : hr_blocks()->width / 16][turning];
}

void hr_product_blocks_fit(size_t l1, size_t l2)
{
    hr_product_block_sizes(false); /* whose once is over */
    fit(l1, l2);
}

/* What a task is at. */
struct walk {
    const struct hr_product *p;
    const struct hr_product_part *part;
    size_t width;              /* of a panel */
    size_t K;                  /* of bfloat16 values whole pairs */
    uint64_t mode;             /* of the caller */
    size_t nrows, nk, npanels; /* blocks of rows, blocks of k, panels */
    size_t at, count;          /* panels multiplied with, of so many in all */
    float *packed;             /* packed_floats */
    float *panel[2];           /* now, next */
    bool b_in_place;           /* but for the panel at the edge */
    struct range rows, k;      /* of the block of a */
    const float *a;            /* a[i][k] of the block, in place or packed */
    size_t a_row, a_step;      /* within a tile */
    size_t a_tile;             /* from a tile's first row to the next one's */
};

/* Of `k`, how many there are: of an odd number the last pair has one. */
static size_t there(const struct walk *w, struct range k)
{
    return hr_min_size(k.count, w->p->K - k.begin);
}

/* --- a --- */

/* Rows that are missing in the last tile are zeros. */
static size_t missing_rows(const struct walk *w)
{
    size_t i = 0;
    while (i < w->rows.count)
        i += hr_blocks()->tile_rows(w->rows.count - i);
    return i - w->rows.count;
}

/* Rows of a, one behind the other. */
static void pack_rows(struct walk *w, const float *a)
{
    const size_t row = w->k.count + LINE, missing = missing_rows(w);
    float *to = w->packed;
    for (size_t i = 0; i < w->rows.count; i++, to += row)
        if (w->p->bf16)
            hr_bf16()->swap(there(w, w->k), a + i * w->p->a_row, to);
        else
            memcpy(to, a + i * w->p->a_row, w->k.count * sizeof *to);
    memset(to, 0, missing * row * sizeof *to);
    w->a_row = row;
    w->a_step = 1;
}

/* A tile that is packed, of bfloat16 values. */
static void swap_tile(const struct walk *w, size_t tile_rows, float *tile)
{
    hr_bf16_swap_rows(there(w, w->k), tile_rows, tile, tile_rows, tile_rows, tile);
}

/* `count` rows whose k-th values stand side by side, to (k, tile_rows). */
static inline void copy_tile(const struct walk *w, const float *a, size_t count, size_t tile_rows,
                             float *to)
{
    float *const tile = to;
    for (size_t k = 0; k < there(w, w->k); k++, a += w->p->a_step, to += tile_rows) {
        memcpy(to, a, count * sizeof *to);
        if (count < tile_rows)
            memset(to + count, 0, (tile_rows - count) * sizeof *to);
    }
    if (w->p->bf16)
        swap_tile(w, tile_rows, tile);
}

/* Tiles of 12 or 6 rows, a few at a time, so that whole lines of a are read. */
static inline void copy_tiles(const struct walk *w, const float *a, size_t tile_rows, float *to)
{
    const size_t step = w->p->a_step, tile = w->k.count * tile_rows;
    float *const first = to;
    for (size_t k = 0; k < there(w, w->k); k++, a += step, to += tile_rows) {
        for (size_t j = 0; j < GROUP_TILES * tile_rows; j += LINE)
            __builtin_prefetch(a + AHEAD * step + j);
        for (size_t t = 0; t < GROUP_TILES; t++)
            memcpy(to + t * tile, a + t * tile_rows, tile_rows * sizeof *to);
    }
    for (size_t t = 0; w->p->bf16 && t < GROUP_TILES; t++)
        swap_tile(w, tile_rows, first + t * tile);
}

static void pack_strided(struct walk *w, const float *a)
{
    const size_t most = hr_blocks()->rows, group = GROUP_TILES * most, K = w->k.count;
    size_t i = 0;
    for (; i + group + most <= w->rows.count; i += group)
        if (most == HR_BLOCK_MOST_ROWS)
            copy_tiles(w, a + i, HR_BLOCK_MOST_ROWS, w->packed + i * K);
        else
            copy_tiles(w, a + i, HR_MICRO_ROWS, w->packed + i * K);
    while (i < w->rows.count) {
        const size_t left = w->rows.count - i, tile_rows = hr_blocks()->tile_rows(left);
        copy_tile(w, a + i, hr_min_size(left, tile_rows), tile_rows, w->packed + i * K);
        i += tile_rows;
    }
    w->a_row = 1;
    w->a_step = 0; /* as many as a tile has rows */
}

/* A tile reads its rows whole, so in place none may be missing. Rows close together are as good in
 * place, others while few panels follow. */
static bool stays_in_place(const struct walk *w)
{
    const bool whole = w->rows.count % 2 == 0 && w->rows.count >= 4 && !w->p->bf16;
    if (w->p->a_step == 1 && w->p->a_row <= MOST_ROW_IN_PLACE)
        return whole;
    return whole && w->npanels <= PANELS_IN_PLACE && w->p->a_step <= MOST_STEP_IN_PLACE;
}

static void take_a(struct walk *w)
{
    const struct hr_product *p = w->p;
    const float *a = p->a + (w->part->row + w->rows.begin) * p->a_row + w->k.begin * p->a_step;
    w->a = w->packed;
    if (stays_in_place(w)) {
        w->a = a;
        w->a_row = p->a_row;
        w->a_step = p->a_step;
    } else if (p->a_step == 1) {
        pack_rows(w, a);
    } else {
        pack_strided(w, a);
    }
    w->a_tile = w->a_step ? w->a_row : w->k.count;
}

/* --- b --- */

/* A panel: which k and columns of b, and where they are. */
struct panel {
    struct range k;
    size_t column, columns;
    const float *b;
};

/* The at-th of all panels of a task: blocks of rows, blocks of k, columns. */
static struct panel panel_at(const struct walk *w, size_t at)
{
    const size_t j = at % w->npanels * w->width;
    struct panel panel = {.k = part_of(w->K, K_STEP, w->nk, at / w->npanels % w->nk),
                          .column = w->part->column + j,
                          .columns = hr_min_size(w->width, w->part->columns - j)};
    panel.b = w->p->b + panel.k.begin * w->p->b_step + panel.column * w->p->b_column;
    return panel;
}

/* A tile reads a panel's whole width. */
static bool is_in_place(const struct walk *w, const struct panel *panel)
{
    return w->b_in_place && panel->columns == w->width;
}

/* Rounded, the odd one of each pair first; what is turned round stays in the first level. */
static void pack_panel_bf16(const struct walk *w, const struct panel *panel, float *to)
{
    const struct hr_product *p = w->p;
    const size_t K = there(w, panel->k);
    if (p->b_column == 1) {
        hr_bf16_swap_rows(K, panel->columns, panel->b, p->b_step, w->width, to);
        return;
    }
    for (size_t k = 0; k < K; k += TURNED, to += TURNED * w->width) {
        const size_t count = hr_min_size(TURNED, K - k);
        hr_blocks()->turn(count, panel->columns, panel->b + k, p->b_column, to);
        hr_bf16_swap_rows(count, w->width, to, w->width, w->width, to);
    }
}

/* Its rows from `done` on; by columns, or of bfloat16 values, all of them. */
static void pack_panel(const struct walk *w, const struct panel *panel, size_t done, float *to)
{
    const struct hr_product *p = w->p;
    if (is_in_place(w, panel))
        return;
    if (p->bf16)
        pack_panel_bf16(w, panel, to);
    else if (p->b_column == 1)
        hr_pack_rows(panel->k.count - done, panel->columns, panel->b + done * p->b_step, p->b_step,
                     w->width, to + done * w->width);
    else
        hr_blocks()->turn(panel->k.count, panel->columns, panel->b, p->b_column, to);
}

/* --- c --- */

/* Columns from a row to the next of what is taken. */
static size_t taken_row(const struct walk *w)
{
    return hr_min_size(PANELS_TAKEN * w->width, w->part->columns);
}

static float *c_at(const struct walk *w, const struct panel *panel)
{
    if (w->p->taker)
        return w->p->c + w->at % w->npanels % PANELS_TAKEN * w->width;
    return w->p->c + (w->part->row + w->rows.begin) * w->p->c_row + panel->column;
}

/* Of its first element in c, for who takes it. */
static size_t index_of(const struct walk *w, const struct panel *panel)
{
    return w->p->taken_at + (w->part->row + w->rows.begin) * w->p->c_row + panel->column;
}

/* The panel is done: was it the last of those that are taken together? */
static void give(const struct walk *w, const struct panel *panel)
{
    const struct hr_taker *taker = w->p->taker;
    const size_t j = w->at % w->npanels, before = j % PANELS_TAKEN * w->width;
    if (!taker || (j + 1 < w->npanels && (j + 1) % PANELS_TAKEN))
        return;
    const uint64_t own = hr_fp_mode();
    hr_fp_mode_set(w->mode);
    taker->take(taker->arg, &(struct hr_final_piece){.begin = index_of(w, panel) - before,
                                                     .rows = w->rows.count,
                                                     .columns = before + panel->columns,
                                                     .step = w->p->c_row,
                                                     .values = w->p->c,
                                                     .stride = taken_row(w)});
    hr_fp_mode_set(own);
}

/* Of the next panel's rows, how many each tile moves; 0 where tiles cannot. */
static size_t rows_a_tile(const struct walk *w, const struct panel *panel, const struct panel *next)
{
    const size_t share = parts_of(next->k.count, parts_of(w->rows.count, hr_blocks()->rows));
    if (w->p->b_column != 1 || w->b_in_place || w->p->bf16 || panel->columns <= w->width / 2 ||
        next->columns < w->width)
        return 0;
    return hr_min_size(share, panel->k.count / HR_BLOCK_MOVED_K);
}

static struct hr_block first_tile(const struct walk *w, const struct panel *panel)
{
    const struct hr_product *p = w->p;
    const bool last = panel->k.begin + panel->k.count == w->K, in_place = is_in_place(w, panel);
    return (struct hr_block){
        .K = panel->k.count,
        .a_row = w->a_row,
        .b = in_place ? panel->b : w->panel[w->at % 2],
        .b_step = in_place ? p->b_step : w->width,
        .columns = panel->columns,
        .c = c_at(w, panel),
        .c_row = p->taker ? taken_row(w) : p->c_row,
        .go_on = panel->k.begin > 0,
        .bias = p->bias && last ? p->bias + panel->column : NULL,
        .round = p->round && last,
        .relu = p->relu && last,
    };
}

/* What tiles move, `each` rows of the next panel, is fetched some tiles before; behind the last of
 * its rows come the first ones of the panel after it. */
static const float *rows_ahead(const struct walk *w, const struct panel *next, size_t moved,
                               size_t each)
{
    const size_t at = moved + parts_of(ROWS_AHEAD, each) * each;
    if (at < next->k.count)
        return next->b + at * w->p->b_step;
    if (w->at + 2 >= w->count)
        return next->b;
    return panel_at(w, w->at + 2).b + (at - parts_of(next->k.count, each) * each) * w->p->b_step;
}

/* Meanwhile is fetched what lies beside c, or the c below: each block of k reads and writes all of
 * it, and a chain that begins with c waits for it. */
static void fetch_c(const struct walk *w, const struct panel *panel, size_t row,
                    struct hr_block *block)
{
    const struct hr_taker *taker = w->p->taker;
    for (size_t n = 0; taker && n < HR_TAKER_BESIDE && taker->beside[n]; n++)
        block->fetch[n] = (struct hr_fetch){
            taker->beside[n] + index_of(w, panel) + row * w->p->c_row, w->p->c_row, block->rows};
    if (!taker && w->p->rows * w->p->columns >= FAR && block->K >= FETCHING_K)
        block->fetch[0] =
            (struct hr_fetch){block->c + block->rows * block->c_row, block->c_row,
                              hr_min_size(w->rows.count - row - block->rows, hr_blocks()->rows)};
}

/* And the rows of the next panel that tiles do not move: each tile has its share of them. */
static void fetch_b(const struct walk *w, const struct panel *next, size_t row,
                    struct hr_block *block)
{
    const size_t K = there(w, next->k), rows = w->rows.count;
    if (!w->p->bf16 || w->p->b_column != 1)
        return;
    const size_t first = hr_split_begin(K, rows, row);
    block->fetch[HR_BLOCK_FETCHES - 1] =
        (struct hr_fetch){next->b + first * w->p->b_step, w->p->b_step,
                          hr_split_begin(K, rows, row + block->rows) - first};
}

/* The block of a times one panel; meanwhile the next panel comes. */
static void multiply_panel(const struct walk *w, const struct panel *panel)
{
    const struct hr_blocks *blocks = hr_blocks();
    struct panel next = *panel; /* of no rows behind the last one */
    next.k.count = 0;
    if (w->at + 1 < w->count)
        next = panel_at(w, w->at + 1);
    const size_t each = rows_a_tile(w, panel, &next);
    size_t moved = 0;
    float *const to = w->panel[(w->at + 1) % 2];
    struct hr_block block = first_tile(w, panel);
    block.from_step = w->p->b_step;
    for (size_t i = 0; i < w->rows.count; i += block.rows) {
        const size_t left = w->rows.count - i, tile_rows = blocks->tile_rows(left);
        block.rows = hr_min_size(tile_rows, left);
        block.a = w->a + i * w->a_tile;
        block.a_step = w->a_step ? w->a_step : tile_rows;
        block.moved = hr_min_size(each, next.k.count - moved);
        block.from = next.b + moved * block.from_step;
        block.to = to + moved * w->width;
        if (block.moved)
            block.ahead = rows_ahead(w, &next, moved, each);
        fetch_c(w, panel, i, &block);
        fetch_b(w, &next, i, &block);
        blocks->tile(&block);
        moved += block.moved;
        block.c += block.rows * block.c_row;
    }
    if (moved < next.k.count)
        pack_panel(w, &next, moved, to);
}

/* Whole tiles of rows, with gaps between them. */
static size_t packed_floats(size_t K)
{
    const struct hr_product_block_sizes sizes[] = {hr_product_block_sizes(false),
                                                   hr_product_block_sizes(true)};
    size_t most = 0;
    for (size_t i = 0; i < 2; i++)
        most = hr_max_size(most, (sizes[i].rows + HR_BLOCK_MOST_ROWS) *
                                     (hr_min_size(K, sizes[i].k) + LINE));
    return most;
}

/* Whole pairs. */
static size_t panel_floats(size_t K)
{
    return hr_blocks()->width * hr_round_up(hr_min_size(K, MOST_K), 2);
}

size_t hr_product_blocks_floats(size_t K)
{
    return hr_round_up(packed_floats(K), LINE) + 2 * panel_floats(K);
}

/* What is taken is whole sums: of a single block of k. */
static struct hr_product_block_sizes sizes_for_product(const struct hr_product *p)
{
    const bool whole = p->taker && p->K > hr_product_block_sizes(false).k;
    return hr_product_block_sizes(p->b_column != 1 || whole);
}

bool hr_product_blocks_takes(const struct hr_product *p)
{
    return p->taker && p->K <= MOST_K && p->rows * p->columns >= HR_TAKER_LEAST;
}

void hr_product_blocks(const struct hr_product *p, const struct hr_product_part *part,
                       float *scratch)
{
    const struct hr_product_block_sizes most = sizes_for_product(p);
    struct walk w = {.p = p, .part = part, .width = hr_blocks()->width, .packed = scratch};
    w.K = p->bf16 ? hr_round_up(p->K, 2) : p->K;
    w.mode = hr_fp_mode();
    if (p->bf16)
        hr_fp_flush_denormals();
    w.panel[0] = scratch + hr_round_up(packed_floats(p->K), LINE);
    w.panel[1] = w.panel[0] + panel_floats(p->K);
    w.nk = parts_of(w.K, most.k);
    w.nrows = parts_of(part->rows, most.rows);
    w.npanels = parts_of(part->columns, w.width);
    w.count = w.nrows * w.nk * w.npanels;
    w.b_in_place = !p->bf16 && p->b_column == 1 && part->rows <= ROWS_IN_PLACE &&
                   p->K * p->b_step <= MOST_B_IN_PLACE;
    struct panel panel = panel_at(&w, 0);
    pack_panel(&w, &panel, 0, w.panel[0]);
    for (; w.at < w.count; w.at++) {
        panel = panel_at(&w, w.at);
        if (w.at % w.npanels == 0) {
            w.rows = part_of(part->rows, hr_blocks()->rows, w.nrows, w.at / w.npanels / w.nk);
            w.k = panel.k;
            take_a(&w);
        }
        multiply_panel(&w, &panel);
        give(&w, &panel);
    }
    hr_fp_mode_set(w.mode);
}
