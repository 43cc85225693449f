#include "products/patches_amx.h"

#include "base/fpenv.h"
#include "base/size.h"
#include "tiles/micro_amx.h"
#include "tiles/micro_bf16.h"

enum { TILE = 16, AREA = TILE * TILE, PANEL = HR_BF16_COLUMNS };

/* The largest part of at most 16 that a run can be cut into. */
static size_t chunk_of(size_t run)
{
    size_t pairs = hr_min_size(run, HR_AMX_PAIRS);
    while (run % pairs)
        pairs--;
    return pairs;
}

/* --- forward, backward-data --- */

/* How lines of pixels are cut. */
struct cut {
    size_t each, rows; /* tiles of a line, of so many pixels */
};

static struct cut cut_of(size_t length)
{
    const size_t each = (length + TILE - 1) / TILE;
    return (struct cut){each, (length + each - 1) / each};
}

/* The first pixel of tile number `tile`. */
static size_t pixel_of(const struct hr_patches *patches, struct cut cut, size_t tile)
{
    const size_t length = patches->pixel_line.length, at = tile % cut.each * cut.rows;
    return tile / cut.each * length + hr_min_size(at, length - cut.rows);
}

/* Some tiles of pixels, from `tile` on, by one or two of columns. */
static void multiply_tiles(const struct hr_patches *patches, struct cut cut, size_t tile,
                           size_t ntiles, const uint32_t *image, const struct hr_amx_end *end,
                           const struct hr_matrix *y, struct hr_amx *amx)
{
    float c[HR_AMX_TILES][AREA];
    const size_t nb = amx->form == HR_AMX_SQUARE ? 2 : 1, na = HR_AMX_TILES / nb;
    for (size_t i = 0; i < na; i++)
        amx->a[i] =
            image + patches->pixel[pixel_of(patches, cut, hr_min_size(tile + i, ntiles - 1))];
    for (size_t t = 0; t < HR_AMX_TILES; t++)
        amx->c[t] = c[t];
    hr_tiles_amx()->multiply(amx);
    for (size_t t = 0; t < HR_AMX_TILES && tile + t / nb < ntiles; t++) {
        const size_t j = t % nb * TILE;
        const struct hr_amx_end own = {end->bias ? end->bias + j : NULL, end->round, end->relu};
        hr_tiles_amx()->store(&own, cut.rows, hr_min_size(TILE, y->columns - j), c[t], TILE,
                              y->at + pixel_of(patches, cut, tile + t / nb) * y->stride + j,
                              y->stride);
    }
}

void hr_patches_multiply_amx(const struct hr_patches *patches, const uint32_t *image,
                             const uint32_t *panels, const struct hr_patches_end *end,
                             const struct hr_matrix *y)
{
    if (!patches->npixels) /* of an image that is narrower than its stride */
        return;
    const uint64_t mode = hr_fp_mode();
    const struct cut cut = cut_of(patches->pixel_line.length);
    const size_t ntiles = patches->npixels / patches->pixel_line.length * cut.each;
    const size_t pairs = chunk_of(patches->tap_line.length);
    hr_fp_flush_denormals();
    for (size_t j = 0; j < y->columns; j += PANEL) {
        const struct hr_matrix part = {y->at + j, hr_min_size(PANEL, y->columns - j), y->stride};
        const struct hr_amx_end how = {end->bias ? end->bias + j : NULL, end->round, end->relu};
        struct hr_amx amx = {.form = part.columns > TILE ? HR_AMX_SQUARE : HR_AMX_TALL,
                             .rows = cut.rows,
                             .pairs = pairs,
                             .chunks = patches->ntaps / pairs,
                             .b = {panels + j * patches->ntaps, panels + j * patches->ntaps + TILE},
                             .a_at = patches->tap,
                             .b_next = pairs * PANEL,
                             .a_row = patches->pixel_line.step,
                             .b_row = PANEL};
        amx.c_row = TILE;
        hr_tiles_amx()->begin(&amx);
        for (size_t tile = 0; tile < ntiles; tile += amx.form == HR_AMX_SQUARE ? 2 : 4)
            multiply_tiles(patches, cut, tile, ntiles, image, &how, &part, &amx);
        hr_tiles_amx()->end();
    }
    hr_fp_mode_set(mode);
}

/* --- the weights' gradient --- */

/* An odd number of lines, so that sets are used evenly. */
size_t hr_amx_row(size_t npixels)
{
    return ((npixels + TILE - 1) / TILE | 1) * TILE;
}

size_t hr_amx_rows_elems(size_t npixels, size_t columns)
{
    return hr_round_up(columns, TILE) * hr_amx_row(npixels);
}

static size_t tiles_of_line(const struct hr_patches *patches)
{
    return (patches->tap_line.length + TILE - 1) / TILE;
}

size_t hr_amx_tap_tiles(const struct hr_patches *patches)
{
    return patches->ntaps / patches->tap_line.length * tiles_of_line(patches);
}

size_t hr_amx_dw_elems(const struct hr_patches *patches, size_t columns)
{
    return (columns + TILE - 1) / TILE * hr_amx_tap_tiles(patches) * AREA;
}

size_t hr_amx_dw_at(const struct hr_patches *patches, size_t tap, size_t column)
{
    const size_t line = tap / patches->tap_line.length, in_line = tap % patches->tap_line.length;
    const size_t tile = line * tiles_of_line(patches) + in_line / TILE;
    return (column / TILE * hr_amx_tap_tiles(patches) + tile) * AREA + column % TILE * TILE +
           in_line % TILE;
}

/* Up to two tiles of columns by two of taps, or one by four. */
static void correlate_tiles(const struct hr_patches *patches, const uint32_t *image,
                            const uint32_t *rows, size_t column_tiles, size_t i, size_t tile,
                            size_t to, float *dw, struct hr_amx *amx)
{
    const size_t each = tiles_of_line(patches), nb = amx->form == HR_AMX_SQUARE ? 2 : 4;
    float spare[AREA];
    for (size_t t = 0; t < HR_AMX_TILES / nb; t++)
        amx->a[t] = rows + hr_min_size(i + t, column_tiles - 1) * TILE * amx->a_row;
    for (size_t t = 0; t < nb; t++) {
        const size_t number = hr_min_size(tile + t, to - 1);
        amx->b[t] =
            image + patches->tap[number / each * patches->tap_line.length + number % each * TILE];
    }
    for (size_t t = 0; t < HR_AMX_TILES; t++) {
        const size_t row = i + t / nb, column = tile + t % nb;
        const bool there = row < column_tiles && column < to;
        amx->c[t] = there ? dw + (row * hr_amx_tap_tiles(patches) + column) * AREA : spare;
    }
    hr_tiles_amx()->multiply(amx);
}

void hr_patches_correlate_amx(const struct hr_patches *patches, const uint32_t *image,
                              const uint32_t *rows, size_t columns, size_t from, size_t to,
                              bool more, float *dw)
{
    const uint64_t mode = hr_fp_mode();
    const size_t pairs = chunk_of(patches->pixel_line.length);
    const size_t column_tiles = (columns + TILE - 1) / TILE;
    struct hr_amx amx = {.form = column_tiles > 1 ? HR_AMX_SQUARE : HR_AMX_WIDE,
                         .rows = hr_min_size(columns, TILE),
                         .pairs = pairs,
                         .chunks = patches->npixels / pairs,
                         .b_at = patches->pixel,
                         .a_next = pairs,
                         .a_row = hr_amx_row(patches->npixels),
                         .b_row = patches->pixel_line.step,
                         .c_row = TILE,
                         .more = more};
    const size_t na = column_tiles > 1 ? 2 : 1, nb = HR_AMX_TILES / na;
    hr_fp_flush_denormals();
    hr_tiles_amx()->begin(&amx);
    for (size_t tile = from; tile < to; tile += nb)
        for (size_t i = 0; i < column_tiles; i += na)
            correlate_tiles(patches, image, rows, column_tiles, i, tile, to, dw, &amx);
    hr_tiles_amx()->end();
    hr_fp_mode_set(mode);
}
