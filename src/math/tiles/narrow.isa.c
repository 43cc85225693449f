/* The narrow tiles, compiled once for each instruction set (see base/isa.h): with 32 registers six
 * quads, with 16 three. Like micro.isa.c, the copies differ in their bits. */
#include "tiles/narrow.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/bf16_steps.h"
#include "tiles/tile_steps.h"

enum { QUAD = HR_NARROW_QUAD, QUADS = MANY_REGISTERS ? 6 : 3 };

/* Rows [first, last) of the four are wanted; its row 0 would be row `row` of c. */
struct quad {
    const float *a;
    size_t row, first, last;
};

/* A quad's rows at one k. The barrier keeps its address one register. */
INLINE void step_quad(const float *a, size_t step, vec b, vec sum[QUAD])
{
    __asm__ volatile("" : "+r"(a));
    sum[0] = multiply_add(spread(a[0]), b, sum[0]);
    sum[1] = multiply_add(spread(a[step]), b, sum[1]);
    sum[2] = multiply_add(spread(a[2 * step]), b, sum[2]);
    sum[3] = multiply_add(spread(a[3 * step]), b, sum[3]);
}

INLINE void finish_row(const struct hr_narrow *narrow, vec sum, float *c, size_t columns)
{
    if (narrow->bias)
        sum += load_part(narrow->bias, columns);
    if (narrow->round)
        sum = hr_bf16_rounded_sum(sum);
    if (narrow->relu)
        sum = relu_of(sum);
    if (narrow->add)
        sum = load_part(c, columns) + sum;
    store_part(c, sum, columns);
}

INLINE void finish_quad(const struct hr_narrow *narrow, const struct quad *quad,
                        const vec sum[QUAD], size_t columns)
{
    float *c = narrow->c + quad->row * narrow->c_stride;
    const bool whole = quad->first == 0 && quad->last == QUAD;
    const bool plain = whole && !narrow->bias && !narrow->round && !narrow->relu && !narrow->add;
#pragma GCC unroll 4
    for (size_t i = 0; i < QUAD; i++, c += narrow->c_stride)
        if (plain)
            store_part(c, sum[i], columns);
        else if (i >= quad->first && i < quad->last)
            finish_row(narrow, sum[i], c, columns);
}

/* Chains that go on. */
INLINE void start_quad(const struct hr_narrow *narrow, const struct quad *quad, vec sum[QUAD],
                       size_t columns)
{
    const float *c = narrow->c + quad->row * narrow->c_stride;
#pragma GCC unroll 4
    for (size_t i = 0; i < QUAD; i++, c += narrow->c_stride)
        if (i >= quad->first && i < quad->last)
            sum[i] = load_part(c, columns);
}

/* One tile of `count` quads, a constant, as is whether all `columns` are there. */
INLINE void tile_of(const struct hr_narrow *narrow, size_t step, const struct quad *quads,
                    size_t count, size_t columns)
{
    vec sum[QUADS][QUAD] = {0};
    const float *const first = quads[0].a, *b = narrow->b;
    ptrdiff_t behind[QUADS];
#pragma GCC unroll 6
    for (size_t q = 1; q < count; q++)
        behind[q] = quads[q].a - first;
    if (narrow->go_on) {
#pragma GCC unroll 6
        for (size_t q = 0; q < count; q++)
            start_quad(narrow, &quads[q], sum[q], columns);
    }
    for (size_t k = 0; k < narrow->K; k++, b += narrow->b_stride) {
        const vec row = load_part(b, columns);
        const float *at = first + narrow->offset[k];
        step_quad(at, step, row, sum[0]);
#pragma GCC unroll 6
        for (size_t q = 1; q < count; q++)
            step_quad(at + behind[q], step, row, sum[q]);
    }
#pragma GCC unroll 6
    for (size_t q = 0; q < count; q++)
        finish_quad(narrow, &quads[q], sum[q], columns);
}

INLINE void tile_of_columns(const struct hr_narrow *narrow, size_t step, const struct quad *quads,
                            size_t count)
{
    if (narrow->columns >= LANES)
        tile_of(narrow, step, quads, count, LANES);
    else
        tile_of(narrow, step, quads, count, narrow->columns);
}

static void tile(const struct hr_narrow *narrow, size_t step, const struct quad *quads,
                 size_t count)
{
    switch (count) {
    case 1:
        tile_of_columns(narrow, step, quads, 1);
        break;
    case 2:
        tile_of_columns(narrow, step, quads, 2);
        break;
    case 3:
        tile_of_columns(narrow, step, quads, 3);
        break;
#if MANY_REGISTERS
    case 4:
        tile_of_columns(narrow, step, quads, 4);
        break;
    case 5:
        tile_of_columns(narrow, step, quads, 5);
        break;
    case 6:
        tile_of_columns(narrow, step, quads, 6);
        break;
#endif
    default:
        HR_ASSERT(count == 0);
    }
}

/* The quad that begins with row r; at a line's end it begins earlier. */
INLINE struct quad quad_at(const struct hr_narrow *narrow, const uint32_t *row, size_t length,
                           size_t r, size_t to)
{
    const size_t in_line = r % length;
    const size_t back = in_line + QUAD > length ? in_line + QUAD - length : 0;
    const size_t at = r - back;
    return (struct quad){narrow->a + row[at], at, back, hr_min_size(QUAD, to - at)};
}

static void rows(const struct hr_narrow *narrow, const uint32_t *row, struct hr_line line,
                 size_t from, size_t to)
{
    struct quad quads[QUADS];
    size_t count = 0;
    HR_ASSERT(narrow->columns >= 1 && narrow->columns <= LANES && line.length >= QUAD);
    for (size_t r = from; r < to;) {
        quads[count] = quad_at(narrow, row, line.length, r, to);
        r = quads[count].row + quads[count].last;
        if (++count == QUADS) {
            tile(narrow, line.step, quads, count);
            count = 0;
        }
    }
    tile(narrow, line.step, quads, count);
}

const struct hr_narrow_tiles HR_ISA_NAME(hr_narrow_tiles) = {.columns = LANES, .rows = rows};
