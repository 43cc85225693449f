#include "plan/element.h"

#include <string.h>

#include "base/size.h"
#include "base/vec.h"

const char *hr_type_name(enum hr_type type)
{
    static const char *const names[] = {"float32", "float64", "int32", "int64"};
    return type < HR_TYPES ? names[type] : NULL;
}

const char *hr_redop_name(enum hr_redop redop)
{
    static const char *const names[] = {"sum", "product", "min", "max", "mean"};
    return redop < HR_REDOPS ? names[redop] : NULL;
}

size_t hr_type_bytes(enum hr_type type)
{
    static const size_t bytes[] = {4, 8, 4, 8};
    return type < HR_TYPES ? bytes[type] : 0;
}

int hr_type_parse(const char *name, enum hr_type *out)
{
    for (enum hr_type type = 0; type < HR_TYPES; type++)
        if (!strcmp(name, hr_type_name(type))) {
            *out = type;
            return 1;
        }
    return 0;
}

int hr_redop_parse(const char *name, enum hr_redop *out)
{
    for (enum hr_redop redop = 0; redop < HR_REDOPS; redop++)
        if (!strcmp(name, hr_redop_name(redop))) {
            *out = redop;
            return 1;
        }
    return 0;
}

/* --- one loop a type and operator --- */

typedef void (*fold_fn)(void *mine, const void *theirs, size_t count);

#define FOLD(name, type, expression)                                                               \
    static void name(void *mine, const void *theirs, size_t count)                                 \
    {                                                                                              \
        type *x = mine;                                                                            \
        const type *y = theirs;                                                                    \
        for (size_t i = 0; i < count; i++) {                                                       \
            const type a = x[i], b = y[i];                                                         \
            x[i] = (type)(expression);                                                             \
        }                                                                                          \
    }

/* Integers wrap: the arithmetic is unsigned, where that is defined. */
#define FOLD_ALL(type, wide)                                                                       \
    FOLD(sum_##type, type, (wide)a + (wide)b)                                                      \
    FOLD(product_##type, type, (wide)a *(wide)b)                                                   \
    FOLD(min_##type, type, a < b || a != a ? a : b)                                                \
    FOLD(max_##type, type, a > b || a != a ? a : b)

FOLD_ALL(float, float)
FOLD_ALL(double, double)
FOLD_ALL(int32_t, uint32_t)
FOLD_ALL(int64_t, uint64_t)

static fold_fn fold_of(struct hr_kind kind)
{
#define FOLDS(type)                                                                                \
    {                                                                                              \
        sum_##type, product_##type, min_##type, max_##type, sum_##type                             \
    }
    static const fold_fn folds[HR_TYPES][HR_REDOPS] = {FOLDS(float), FOLDS(double), FOLDS(int32_t),
                                                       FOLDS(int64_t)};
#undef FOLDS
    return folds[kind.type][kind.redop];
}

static int is_tuned(struct hr_kind kind)
{
    return kind.type == HR_FLOAT32 && (kind.redop == HR_SUM || kind.redop == HR_MEAN);
}

void hr_element_fold(struct hr_kind kind, void *mine, const void *theirs, size_t count)
{
    if (is_tuned(kind))
        hr_vec()->add(mine, theirs, count);
    else
        fold_of(kind)(mine, theirs, count);
}

/* --- the tree over ranks, a block at a time --- */

enum { BLOCK_BYTES = 1024, LEVELS = 10 };

_Static_assert(1 << LEVELS >= HR_VEC_MAX_INPUTS, "a block for every level of the tree");

struct tree {
    fold_fn fold;
    size_t bytes, count; /* of the block */
    size_t at;           /* its first byte in the inputs */
    unsigned char scratch[LEVELS][BLOCK_BYTES];
};

static void tree_block(struct tree *tree, size_t level, void *result, const void *const *in,
                       size_t n)
{
    if (n == 1) {
        memcpy(result, (const unsigned char *)in[0] + tree->at, tree->bytes);
        return;
    }
    size_t left = 1;
    while (left * 2 < n)
        left *= 2;
    tree_block(tree, level, result, in, left);
    tree_block(tree, level + 1, tree->scratch[level], in + left, n - left);
    tree->fold(result, tree->scratch[level], tree->count);
}

void hr_element_tree(struct hr_kind kind, void *const *out, size_t nout, const void *const *in,
                     size_t n, size_t count)
{
    _Alignas(8) unsigned char result[BLOCK_BYTES];
    if (is_tuned(kind)) {
        hr_vec()->tree_sum((float *const *)out, nout, (const float *const *)in, n, count);
        return;
    }
    const size_t size = hr_type_bytes(kind.type), block = BLOCK_BYTES / size;
    struct tree tree = {.fold = fold_of(kind)};
    for (size_t first = 0; first < count; first += block) {
        tree.count = hr_min_size(block, count - first);
        tree.bytes = tree.count * size;
        tree.at = first * size;
        tree_block(&tree, 0, result, in, n);
        for (size_t j = 0; j < nout; j++)
            memcpy((unsigned char *)out[j] + tree.at, result, tree.bytes);
    }
}

/* --- the mean --- */

#define MEAN(name, type, divisor)                                                                  \
    static void name(void *values, size_t n, size_t count)                                         \
    {                                                                                              \
        type *x = values;                                                                          \
        for (size_t i = 0; i < count; i++)                                                         \
            x[i] = x[i] / (divisor)n;                                                              \
    }

MEAN(mean_float, float, float)
MEAN(mean_double, double, double)
MEAN(mean_int32_t, int32_t, int32_t)
MEAN(mean_int64_t, int64_t, int64_t)

void hr_element_mean(struct hr_kind kind, void *x, size_t n, size_t count)
{
    static void (*const means[])(void *, size_t, size_t) = {mean_float, mean_double, mean_int32_t,
                                                            mean_int64_t};
    if (kind.redop == HR_MEAN)
        means[kind.type](x, n, count);
}
