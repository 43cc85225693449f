/* The tile of block.h, compiled once for each instruction set (see base/isa.h). With 32 registers
 * it has 12 rows of two vectors: 24 sums, two vectors of b and one value of a; with 16 it has 6
 * rows. Rows come in threes, so that three of them need one pointer. */
#include "tiles/block.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/bf16_steps.h"
#include "tiles/tile_steps.h"

enum { ROWS = MANY_REGISTERS ? 12 : 6, COLUMNS = 2 * LANES };

struct sums {
    vec left[ROWS], right[ROWS];
};

/* Where a tile reads: the first of each three rows of a, and a row of b; the next k stands a_step
 * and b_step farther on. */
struct reads {
    const float *three[4], *b;
    size_t a_row, a_step, b_step;
};

/* `count` k, behind which pointers are moved; barriers keep the compiler from starting the next one
 * early, for which there are no registers, and from using a pointer for each row. */
INLINE void steps(struct sums *sum, struct reads *at, size_t count, size_t rows, bool wide)
{
#pragma GCC unroll 4
    for (size_t k = 0; k < count; k++) {
        __asm__ volatile("" : "+r"(at->b), "+r"(at->three[0]), "+r"(at->three[1]) : : "memory");
        if (rows > 6)
            __asm__ volatile("" : "+r"(at->three[2]), "+r"(at->three[3]));
        const float *b = at->b + k * at->b_step;
        const vec left = load(b), right = wide ? load(b + LANES) : left;
#pragma GCC unroll 12
        for (size_t i = 0; i < rows; i++) {
            const vec x = spread(at->three[i / 3][i % 3 * at->a_row + k * at->a_step]);
            sum->left[i] = multiply_add(x, left, sum->left[i]);
            if (wide)
                sum->right[i] = multiply_add(x, right, sum->right[i]);
        }
    }
    at->b += count * at->b_step;
#pragma GCC unroll 4
    for (size_t t = 0; t < 4; t++)
        at->three[t] += count * at->a_step;
}

INLINE void start(const struct hr_block *block, struct sums *sum, size_t rows, bool wide)
{
    const size_t left = hr_min_size(block->columns, LANES), right = block->columns - left;
    const float *c = block->c;
    const size_t c_row = block->c_row;
    if (block->rows == rows && block->columns == (wide ? COLUMNS : LANES)) {
#pragma GCC unroll 12
        for (size_t i = 0; i < rows; i++, c += c_row) {
            sum->left[i] = load(c);
            if (wide)
                sum->right[i] = load(c + LANES);
        }
        return;
    }
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++, c += c_row)
        if (i < block->rows) {
            sum->left[i] = load_part(c, left);
            if (wide)
                sum->right[i] = load_part(c + LANES, right);
        }
}

/* A row of the next panel moved to where it will be read; a later one is fetched. */
INLINE void move_row(const float *from, const float *ahead, float *to)
{
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + COLUMNS - 1);
    store(to, load(from));
    store(to + LANES, load(from + LANES));
}

/* The next to be fetched: at->from + i * at->step. */
struct fetches {
    const struct hr_fetch *at;
    size_t i;
};

INLINE bool has_more(struct fetches *next, const struct hr_block *block)
{
    while (next->at < block->fetch + HR_BLOCK_FETCHES && next->i == next->at->count)
        *next = (struct fetches){next->at + 1, 0};
    return next->at < block->fetch + HR_BLOCK_FETCHES;
}

INLINE void fetch_one(struct fetches *next, const struct hr_block *block)
{
    if (!has_more(next, block))
        return;
    const float *from = next->at->from + next->i++ * next->at->step;
    __builtin_prefetch(from, 1, 2);
    __builtin_prefetch(from + COLUMNS - 1, 1, 2);
}

/* Four k. With steps that the compiler does not know, pointers are moved behind each: so many
 * addresses would take registers from the sums. */
INLINE void four_steps(struct sums *sum, struct reads *at, size_t rows, bool wide, bool known)
{
    if (known)
        steps(sum, at, HR_BLOCK_MOVED_K, rows, wide);
    else
        for (size_t k = 0; k < HR_BLOCK_MOVED_K; k++)
            steps(sum, at, 1, rows, wide);
}

INLINE struct sums multiply(const struct hr_block *block, size_t rows, bool wide, bool moves,
                            struct reads at, bool known)
{
    const size_t K = block->K;
    struct sums sum = {0};
    if (block->go_on)
        start(block, &sum, rows, wide);
#pragma GCC unroll 4
    for (size_t t = 0; t < 4; t++)
        at.three[t] = block->a + (3 * t < rows ? 3 * t * at.a_row : 0);
    at.b = block->b;
    size_t k = 0;
    if (moves) {
        const size_t most = HR_BLOCK_MOVED_K * block->moved, from_step = block->from_step;
        const float *from = block->from, *ahead = block->ahead;
        float *to = block->to;
        struct fetches fetches = {block->fetch, 0};
        for (; k + HR_BLOCK_MOVED_K <= K && has_more(&fetches, block); k += HR_BLOCK_MOVED_K) {
            if (k < most) {
                move_row(from, ahead, to);
                from += from_step;
                ahead += from_step;
                to += COLUMNS;
            }
            fetch_one(&fetches, block);
            four_steps(&sum, &at, rows, wide, known);
        }
        for (; k < most; k += HR_BLOCK_MOVED_K) {
            move_row(from, ahead, to);
            from += from_step;
            ahead += from_step;
            to += COLUMNS;
            four_steps(&sum, &at, rows, wide, known);
        }
    }
    for (; k + HR_BLOCK_MOVED_K <= K; k += HR_BLOCK_MOVED_K)
        four_steps(&sum, &at, rows, wide, known);
    for (; k < K; k++)
        steps(&sum, &at, 1, rows, wide);
    return sum;
}

INLINE vec finish(vec sum, const struct hr_block *block, vec bias)
{
    if (block->bias)
        sum += bias;
    if (block->round)
        sum = hr_bf16_rounded_sum(sum);
    return block->relu ? relu_of(sum) : sum;
}

INLINE void put(const struct hr_block *block, const struct sums *sum, size_t rows, bool wide)
{
    const size_t c_row = block->c_row;
    float *c = block->c;
    if (block->rows == rows && block->columns == (wide ? COLUMNS : LANES) && !block->bias &&
        !block->round && !block->relu) {
#pragma GCC unroll 12
        for (size_t i = 0; i < rows; i++, c += c_row) {
            store(c, sum->left[i]);
            if (wide)
                store(c + LANES, sum->right[i]);
        }
        return;
    }
    const size_t left = hr_min_size(block->columns, LANES), right = block->columns - left;
    const vec none = {0}, bias_left = block->bias ? load_part(block->bias, left) : none;
    const vec bias_right = wide && block->bias ? load_part(block->bias + LANES, right) : none;
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++, c += c_row)
        if (i < block->rows) {
            store_part(c, finish(sum->left[i], block, bias_left), left);
            if (wide)
                store_part(c + LANES, finish(sum->right[i], block, bias_right), right);
        }
}

/* The same; the compiler knows the steps where b is a panel, and rows of a are as they were, or
 * packed side by side. */
INLINE struct sums multiply_wide(const struct hr_block *block, size_t rows, bool moves)
{
    struct reads at = {.a_row = block->a_row, .a_step = 1, .b_step = COLUMNS};
    const bool panel = block->b_step == COLUMNS;
    if (panel && block->a_step == 1)
        return multiply(block, rows, true, moves, at, true);
    at.a_row = 1;
    at.a_step = rows;
    if (panel && block->a_step == rows && block->a_row == 1)
        return multiply(block, rows, true, moves, at, true);
    at = (struct reads){.a_row = block->a_row, .a_step = block->a_step, .b_step = block->b_step};
    return multiply(block, rows, true, moves, at, false);
}

#define NOINLINE static __attribute__((noinline))
#define TILE(rows)                                                                                 \
    NOINLINE void tile_##rows(const struct hr_block *block)                                        \
    {                                                                                              \
        const struct sums sum = multiply_wide(block, rows, false);                                 \
        put(block, &sum, rows, true);                                                              \
    }                                                                                              \
    NOINLINE void moving_##rows(const struct hr_block *block)                                      \
    {                                                                                              \
        const struct sums sum = multiply_wide(block, rows, true);                                  \
        put(block, &sum, rows, true);                                                              \
    }                                                                                              \
    NOINLINE void narrow_##rows(const struct hr_block *block)                                      \
    {                                                                                              \
        const struct reads at = {                                                                  \
            .a_row = block->a_row, .a_step = block->a_step, .b_step = block->b_step};              \
        const struct sums sum = multiply(block, rows, false, false, at, false);                    \
        put(block, &sum, rows, false);                                                             \
    }

TILE(4)
TILE(6)
#if MANY_REGISTERS
TILE(8)
TILE(12)
#endif

typedef void (*tile_fn)(const struct hr_block *block);

static const tile_fn tiles[ROWS / 2 + 1][3] = {
    [2] = {narrow_4, tile_4, moving_4},
    [3] = {narrow_6, tile_6, moving_6},
#if MANY_REGISTERS
    [4] = {narrow_8, tile_8, moving_8},
    [6] = {narrow_12, tile_12, moving_12},
#endif
};

static size_t tile_rows(size_t left)
{
    static const size_t of[] = {0, 4, 4, 4, 4, 6, 6, 4, 4, 6, 6, 6};
#if MANY_REGISTERS
    static const size_t many[] = {0, 4, 4, 4, 4, 6, 6, 8, 8, 12, 6, 12, 12, 12, 8, 12};
    return left < 16 ? many[left] : 12;
    (void)of;
#else
    return left < 12 ? of[left] : 6;
#endif
}

static void tile(const struct hr_block *block)
{
    const size_t rows = tile_rows(block->rows);
    bool busy = block->moved > 0;
    for (size_t n = 0; n < HR_BLOCK_FETCHES; n++)
        busy |= block->fetch[n].count > 0;
    const size_t kind = block->columns <= LANES ? 0 : busy ? 2 : 1;
    tiles[rows / 2][kind](block);
}

/* --- columns turned into rows --- */

#if defined __AVX2__ && !defined __AVX512F__

#define LOW_32 0, 8, 1, 9, 4, 12, 5, 13
#define HIGH_32 2, 10, 3, 11, 6, 14, 7, 15
#define LOW_64 0, 1, 8, 9, 4, 5, 12, 13
#define HIGH_64 2, 3, 10, 11, 6, 7, 14, 15
#define LOW_128 0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_128 4, 5, 6, 7, 12, 13, 14, 15

/* A square turned round: inside halves of vectors, for these cost less, then the halves. */
INLINE void turn_square(vec row[LANES])
{
    vec half[LANES];
#pragma GCC unroll 2
    for (size_t i = 0; i < LANES; i += 4) {
        const vec low_01 = __builtin_shufflevector(row[i], row[i + 1], LOW_32);
        const vec high_01 = __builtin_shufflevector(row[i], row[i + 1], HIGH_32);
        const vec low_23 = __builtin_shufflevector(row[i + 2], row[i + 3], LOW_32);
        const vec high_23 = __builtin_shufflevector(row[i + 2], row[i + 3], HIGH_32);
        half[i] = __builtin_shufflevector(low_01, low_23, LOW_64);
        half[i + 1] = __builtin_shufflevector(low_01, low_23, HIGH_64);
        half[i + 2] = __builtin_shufflevector(high_01, high_23, LOW_64);
        half[i + 3] = __builtin_shufflevector(high_01, high_23, HIGH_64);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        row[i] = __builtin_shufflevector(half[i], half[i + 4], LOW_128);
        row[i + 4] = __builtin_shufflevector(half[i], half[i + 4], HIGH_128);
    }
}

#else

#if defined __AVX512F__
#define LOW_HALVES 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_HALVES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#else
#define LOW_HALVES 0, 4, 1, 5
#define HIGH_HALVES 2, 6, 3, 7
#endif

/* A square turned round: each round deals the first half of the vectors and the second half like
 * two halves of a pack of cards, and after log2(LANES) rounds rows have become columns. */
INLINE void turn_square(vec row[LANES])
{
#pragma GCC unroll 4
    for (size_t round = 1; round < LANES; round *= 2) {
        vec dealt[LANES];
#pragma GCC unroll 8
        for (size_t i = 0; i < LANES / 2; i++) {
            dealt[2 * i] = __builtin_shufflevector(row[i], row[i + LANES / 2], LOW_HALVES);
            dealt[2 * i + 1] = __builtin_shufflevector(row[i], row[i + LANES / 2], HIGH_HALVES);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            row[i] = dealt[i];
    }
}

#endif

/* `count` k, at most LANES, of LANES columns, the last of which may be missing. */
INLINE void turn_columns(size_t count, size_t columns, const float *b, size_t stride, float *to)
{
    vec row[LANES];
#pragma GCC unroll 16
    for (size_t j = 0; j < LANES; j++) {
        const float *from = b + hr_min_size(j, columns - 1) * stride;
        row[j] = load_part(from, count);
        __builtin_prefetch(from + 4 * LANES);
    }
    turn_square(row);
#pragma GCC unroll 16
    for (size_t l = 0; l < LANES; l++)
        if (l < count)
            store(to + l * COLUMNS, row[l]);
}

/* One sum of each of LANES columns goes on over `count` k: a square of b turned round in registers.
 * Columns that are missing are copies of the last; the next ones are fetched. */
INLINE vec row_steps(vec sum, size_t count, size_t columns, const float *a, const float *b,
                     size_t stride)
{
    vec row[LANES];
#pragma GCC unroll 16
    for (size_t j = 0; j < LANES; j++) {
        row[j] = load_part(b + hr_min_size(j, columns - 1) * stride, count);
        __builtin_prefetch(b + (j + LANES) * stride, 0, 2);
    }
    turn_square(row);
#pragma GCC unroll 16
    for (size_t l = 0; l < LANES; l++)
        if (l < count)
            sum = multiply_add(spread(a[l]), row[l], sum);
    return sum;
}

static void row(const struct hr_block *block)
{
    const size_t K = block->K, stride = block->b_step;
    for (size_t j = 0; j < block->columns; j += LANES) {
        const size_t columns = hr_min_size(LANES, block->columns - j);
        const float *a = block->a, *b = block->b + j * stride;
        vec sum = {0}, bias = {0};
        size_t k = 0;
        for (; k + LANES <= K; k += LANES)
            sum = columns == LANES ? row_steps(sum, LANES, LANES, a + k, b + k, stride)
                                   : row_steps(sum, LANES, columns, a + k, b + k, stride);
        if (k < K)
            sum = row_steps(sum, K - k, columns, a + k, b + k, stride);
        if (block->bias)
            bias = load_part(block->bias + j, columns);
        store_part(block->c + j, finish(sum, block, bias), columns);
    }
}

static void turn(size_t K, size_t columns, const float *b, size_t stride, float *to)
{
    for (size_t k = 0; k < K; k += LANES, to += LANES * COLUMNS) {
        const size_t count = hr_min_size(LANES, K - k);
        turn_columns(count, hr_min_size(columns, LANES), b + k, stride, to);
        if (columns > LANES)
            turn_columns(count, columns - LANES, b + LANES * stride + k, stride, to + LANES);
    }
}

const struct hr_blocks HR_ISA_NAME(hr_blocks) = {
    .width = COLUMNS, .rows = ROWS, .tile_rows = tile_rows, .tile = tile, .row = row, .turn = turn};
