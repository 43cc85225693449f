/* Vectors of four floats, which every machine that we know of has; four of them turned round are a
 * square of 4 x 4. */
#include "products/pack.h"

#include <stdint.h>
#include <string.h>

#include "base/size.h"

typedef float four __attribute__((vector_size(16)));
typedef int32_t bits __attribute__((vector_size(16)));
typedef float loose_four __attribute__((vector_size(16), aligned(4), may_alias));

static inline four load(const float *from)
{
    return *(const loose_four *)from;
}

static inline void store(float *to, four value)
{
    *(loose_four *)to = value;
}

static inline void turn_square(four row[4])
{
    const four low_01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
    const four high_01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
    const four low_23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
    const four high_23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    row[0] = __builtin_shufflevector(low_01, low_23, 0, 1, 4, 5);
    row[1] = __builtin_shufflevector(low_01, low_23, 2, 3, 6, 7);
    row[2] = __builtin_shufflevector(high_01, high_23, 0, 1, 4, 5);
    row[3] = __builtin_shufflevector(high_01, high_23, 2, 3, 6, 7);
}

/* Row by row of b, so that each is read once and in order: rows may be far apart, where hardware
 * does not prefetch. */
void hr_pack_rows(size_t K, size_t columns, const float *b, size_t stride, size_t width,
                  float *block)
{
    enum { RUN = 8 /* divides every width */, LINE = 16, AHEAD = 4 };
    const size_t rest = columns % width, whole = columns - rest;
    for (size_t k = 0; k < K; k++, b += stride, block += width) {
        for (size_t j = 0; j < columns; j += LINE)
            __builtin_prefetch(b + AHEAD * stride + j);
        float *to = block;
        for (size_t j = 0; j < whole; j += width, to += K * width)
            for (size_t l = 0; l < width; l += RUN)
                memcpy(to + l, b + j + l, RUN * sizeof *b);
        if (rest) {
            memset(to + rest, 0, (width - rest) * sizeof *b);
            memcpy(to, b + whole, rest * sizeof *b);
        }
    }
}

/* Four columns of a panel, each (K) floats of b in a row. */
static void pack_four(size_t K, const float *const b[4], size_t width, float *panel)
{
    size_t k = 0;
    for (; k + 4 <= K; k += 4, panel += 4 * width) {
        four rows[4] = {load(b[0] + k), load(b[1] + k), load(b[2] + k), load(b[3] + k)};
        turn_square(rows);
        for (size_t i = 0; i < 4; i++)
            store(panel + i * width, rows[i]);
    }
    for (; k < K; k++, panel += width)
        for (size_t j = 0; j < 4; j++)
            panel[j] = b[j][k];
}

/* Columns that are missing are copies of the last one. */
void hr_pack_columns(size_t K, size_t columns, const float *b, size_t stride, size_t width,
                     float *block)
{
    const size_t npanels = (columns + width - 1) / width;
    for (size_t j = 0; j < npanels * width; j += 4) {
        const float *column[4];
        for (size_t l = 0; l < 4; l++)
            column[l] = b + hr_min_size(j + l, columns - 1) * stride;
        pack_four(K, column, width, block + j / width * width * K + j % width);
    }
}

static inline four relu_of(four x)
{
    return (four)((bits)x & ~(bits)(x < 0.0f));
}

static inline four finish(const struct hr_turn *turn, four x, four bias)
{
    if (turn->bias)
        x += bias;
    return turn->relu ? relu_of(x) : x;
}

/* The first four rows of columns j .. j + 3. */
static void put_square(const struct hr_turn *turn, size_t j)
{
    const float *from = turn->tile + j;
    const size_t stride = turn->stride;
    const four bias = turn->bias ? load(turn->bias) : (four){0};
    four rows[4] = {load(from), load(from + stride), load(from + 2 * stride),
                    load(from + 3 * stride)};
    turn_square(rows);
    for (size_t l = 0; l < 4; l++)
        store(turn->c + (j + l) * turn->c_stride, finish(turn, rows[l], bias));
}

/* The fifth and the sixth row of the same. */
static void put_pairs(const struct hr_turn *turn, size_t j)
{
    const four fifth = load(turn->tile + 4 * turn->stride + j);
    const four sixth = load(turn->tile + 5 * turn->stride + j);
    four bias = {0};
    if (turn->bias)
        bias = (four){turn->bias[4], turn->bias[5], turn->bias[4], turn->bias[5]};
    const four low = __builtin_shufflevector(fifth, sixth, 0, 4, 1, 5);
    const four high = __builtin_shufflevector(fifth, sixth, 2, 6, 3, 7);
    const four pairs[2] = {finish(turn, low, bias), finish(turn, high, bias)};
    float *c = turn->c + j * turn->c_stride + 4;
    for (size_t l = 0; l < 4; l++, c += turn->c_stride)
        memcpy(c, (const float *)pairs + 2 * l, 2 * sizeof *c);
}

static inline void put_one(const struct hr_turn *turn, size_t i, size_t j)
{
    float x = turn->tile[i * turn->stride + j];
    if (turn->bias)
        x += turn->bias[i];
    turn->c[j * turn->c_stride + i] = turn->relu && x < 0.0f ? 0.0f : x;
}

void hr_turn(const struct hr_turn *turn)
{
    const size_t squares = turn->rows < 4 ? 0 : turn->columns / 4 * 4;
    const size_t done = turn->rows < 6 ? 4 : 6;
    for (size_t j = 0; j < squares; j += 4) {
        put_square(turn, j);
        if (done == 6)
            put_pairs(turn, j);
    }
    for (size_t j = 0; j < turn->columns; j++)
        for (size_t i = j < squares ? done : 0; i < turn->rows; i++)
            put_one(turn, i, j);
}
