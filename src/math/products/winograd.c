#include "products/winograd.h"

#include "base/isa.h"
#include "base/size.h"
#include "tiles/block.h"
#include "tiles/lanes.h"

enum {
    PLANES = HR_WINOGRAD_PLANES,
    FILTER = HR_WINOGRAD_FILTER,
    BLOCK = 96,        /* tiles whose V is in L2 at a time; whole groups of 12 or 6 */
    LONG = 128,        /* tiles that are summed at a time in registers, for dU */
    LINE = 16,         /* floats */
    APART = 48,        /* between planes of LONG tiles, so that they do not share cache sets */
    PER_CHANNEL = 224, /* multiply-adds that a tile's transforms of one channel take as long as */
};

/* --- the rule --- */

double hr_winograd_madds(size_t K, size_t columns, size_t height, size_t width)
{
    const double tiles = (double)(hr_winograd_side(height) * hr_winograd_side(width));
    return PLANES * tiles * (double)K * (double)columns;
}

/* A tenth is left for what is not counted. */
bool hr_winograd_wins(size_t K, size_t columns, size_t height, size_t width)
{
    if (!hr_kernels_use_winograd())
        return false;
    const double tiles = (double)(hr_winograd_side(height) * hr_winograd_side(width));
    const double directly = FILTER * (double)(height * width) * (double)K * (double)columns;
    const double transforms = PER_CHANNEL * tiles * (double)(K + columns);
    return 1.1 * (hr_winograd_madds(K, columns, height, width) + transforms) < directly;
}

/* --- filters --- */

static size_t panels_of(size_t columns)
{
    return (columns + hr_winograd()->width - 1) / hr_winograd()->width;
}

size_t hr_winograd_panels_elems(size_t K, size_t columns)
{
    return PLANES * panels_of(columns) * K * hr_winograd()->width;
}

size_t hr_winograd_pack_elems(size_t K)
{
    return FILTER * K * hr_winograd()->width;
}

/* The filters of `columns` columns from the j-th on, side by side: (K, 9, width). */
static void turn_filters(size_t C, size_t O, bool for_dx, const float *weight, size_t j,
                         size_t columns, float *own)
{
    const size_t row = FILTER * C;
    if (!for_dx)
        hr_blocks()->turn(row, columns, weight + j * row, row, own);
    for (size_t o = 0; for_dx && o < O; o++)
        hr_blocks()->turn(FILTER, columns, weight + o * row + j * FILTER, FILTER,
                          own + o * FILTER * hr_blocks()->width);
}

void hr_winograd_pack(size_t C, size_t O, bool for_dx, const float *weight, float *own,
                      float *panels)
{
    const size_t K = for_dx ? O : C, columns = for_dx ? C : O, width = hr_winograd()->width;
    const size_t plane = panels_of(columns) * K * width;
    for (size_t j = 0; j < columns; j += width, panels += K * width) {
        turn_filters(C, O, for_dx, weight, j, hr_min_size(width, columns - j), own);
        hr_winograd()->filters(K, for_dx, own, panels, plane);
    }
}

/* --- products --- */

/* A row of V or D: with room for a tile to read beyond the last channel. */
static size_t row_elems(size_t channels)
{
    return hr_round_up(channels, hr_winograd()->width) + LINE;
}

size_t hr_winograd_multiply_elems(size_t K)
{
    return PLANES * BLOCK * (row_elems(K) + hr_winograd()->width);
}

/* V and M of a block are groups of as many tiles as a register tile has rows, all planes of one
 * group together: so 16 planes are written side by side. */
struct group {
    size_t first, count; /* tiles, from the block's first on */
    struct hr_winograd_planes v, m;
};

static struct group group_at(const struct hr_winograd_product *p, size_t first, size_t count)
{
    const size_t rows = hr_blocks()->rows, width = hr_winograd()->width;
    const size_t v_row = row_elems(p->x.channels);
    float *const m = p->own + PLANES * BLOCK * v_row;
    return (struct group){first,
                          hr_min_size(rows, count - first),
                          {p->own + PLANES * first * v_row, rows * v_row, v_row},
                          {m + PLANES * first * width, rows * width, width}};
}

static struct hr_winograd_tiles part_of(const struct hr_winograd_tiles *tiles, size_t first,
                                        size_t count)
{
    struct hr_winograd_tiles part = *tiles;
    part.first += first;
    part.count = count;
    return part;
}

/* Of a group and a plane, all tiles by a panel. */
static void multiply_group(const struct group *group, size_t plane, size_t K, const float *panel,
                           size_t columns)
{
    struct hr_block block = {.K = K,
                             .a_row = group->v.tile,
                             .a_step = 1,
                             .b = panel,
                             .b_step = hr_blocks()->width,
                             .columns = columns,
                             .c_row = group->m.tile};
    for (size_t i = 0; i < group->count; i += block.rows) {
        block.rows = hr_min_size(group->count - i, hr_blocks()->tile_rows(group->count - i));
        block.a = group->v.at + plane * group->v.plane + i * group->v.tile;
        block.c = group->m.at + plane * group->m.plane + i * group->m.tile;
        hr_blocks()->tile(&block);
    }
}

/* A block of tiles, by the panel of columns from the j-th on. */
static void multiply_panel(const struct hr_winograd_product *p, size_t first, size_t count,
                           size_t j)
{
    const size_t K = p->x.channels, width = hr_winograd()->width, rows = hr_blocks()->rows;
    const size_t columns = hr_min_size(width, p->y.channels - j);
    const float *panel = p->panels + j * K;
    for (size_t plane = 0; plane < PLANES; plane++) {
        for (size_t t = 0; t < count; t += rows) {
            const struct group group = group_at(p, t, count);
            multiply_group(&group, plane, K, panel, columns);
        }
        panel += panels_of(p->y.channels) * K * width;
    }
    for (size_t t = 0; t < count; t += rows) {
        const struct group group = group_at(p, t, count);
        struct hr_winograd_tiles tiles = part_of(&p->y, first + t, group.count);
        tiles.channels = columns;
        hr_winograd()->outputs(&tiles, &group.m, p->bias ? p->bias + j : NULL, p->relu, p->out + j);
    }
}

void hr_winograd_multiply(const struct hr_winograd_product *p)
{
    for (size_t first = 0; first < p->x.count; first += BLOCK) {
        const size_t count = hr_min_size(BLOCK, p->x.count - first);
        for (size_t t = 0; t < count; t += hr_blocks()->rows) {
            const struct group group = group_at(p, t, count);
            const struct hr_winograd_tiles tiles = part_of(&p->x, first + t, group.count);
            hr_winograd()->patches(&tiles, p->images, &group.v);
        }
        for (size_t j = 0; j < p->y.channels; j += hr_winograd()->width)
            multiply_panel(p, first, count, j);
    }
}

/* --- sums over tiles --- */

static size_t plane_elems(size_t channels)
{
    return LONG * row_elems(channels) + APART;
}

size_t hr_winograd_sums_elems(size_t K, size_t columns)
{
    return PLANES * K * columns;
}

size_t hr_winograd_correlate_elems(size_t K, size_t columns)
{
    return PLANES * (plane_elems(K) + plane_elems(columns));
}

/* Of a plane, all channels of x by those of dy from the j-th on. */
static void add_up(const struct hr_winograd_correlation *p, size_t count, bool add,
                   const struct hr_winograd_planes *v, const struct hr_winograd_planes *d,
                   size_t plane, size_t j)
{
    const size_t columns = p->dy.channels, channels = p->to - p->from;
    float *const sums = p->sums + (plane * p->x.channels + p->from) * columns + j;
    struct hr_block block = {.K = count,
                             .a_row = 1,
                             .a_step = v->tile,
                             .b = d->at + plane * d->plane + j,
                             .b_step = d->tile,
                             .columns = hr_min_size(hr_blocks()->width, columns - j),
                             .c_row = columns,
                             .go_on = add};
    for (size_t i = 0; i < channels; i += block.rows) {
        block.rows = hr_min_size(channels - i, hr_blocks()->tile_rows(channels - i));
        block.a = v->at + plane * v->plane + i;
        block.c = sums + i * columns;
        hr_blocks()->tile(&block);
    }
}

void hr_winograd_correlate(const struct hr_winograd_correlation *p)
{
    const size_t v_plane = plane_elems(p->x.channels), d_plane = plane_elems(p->dy.channels);
    const struct hr_winograd_planes v = {p->own, v_plane, row_elems(p->x.channels)};
    const struct hr_winograd_planes d = {p->own + PLANES * v_plane, d_plane,
                                         row_elems(p->dy.channels)};
    for (size_t first = 0; first < p->x.count; first += LONG) {
        const size_t count = hr_min_size(LONG, p->x.count - first);
        struct hr_winograd_tiles x = part_of(&p->x, first, count);
        const struct hr_winograd_tiles dy = part_of(&p->dy, first, count);
        x.channels = p->to - p->from;
        hr_winograd()->patches(&x, p->images + p->from, &v);
        hr_winograd()->gradients(&dy, p->gradients, &d);
        for (size_t plane = 0; plane < PLANES; plane++)
            for (size_t j = 0; j < p->dy.channels; j += hr_blocks()->width)
                add_up(p, count, p->add || first > 0, &v, &d, plane, j);
    }
}

void hr_winograd_unpack(size_t C, size_t O, const float *sums, float *own, float *dweight)
{
    hr_winograd()->weights(C, O, sums, C * O, own);
    hr_lanes()->turn(FILTER * C, O, own, O, dweight, FILTER * C);
}
