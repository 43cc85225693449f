/* Rows like RCV1's, as libsvm text: the same bytes on every machine.
 *
 *   size     n/2 sure, the rest exponential: mean n; at most all features, at most 8 n
 *   features drawn without repetition, the k-th most frequent in proportion to k^-s (a guide table
 *            into the cumulative weights); its index is the k-th of a random permutation, as real
 *            features do not come in the order of their frequency
 *   values   (1/2 + u) (1 + ln k) with u uniform in [0, 1): rare features are heavier, as with
 *            tf-idf; then the row is scaled to unit length and printed with 6 decimals
 *   labels   the side of a planted hyperplane: one in four of the most frequent features, a
 *            twentieth of all, has a weight uniform in [-1, 1), the others have none, so that the
 *            hyperplane can be learnt; `noise` of the labels are turned round
 *
 * Logarithm and power are made of additions, multiplications and divisions of doubles alone, whose
 * results IEEE 754 fixes; libm's are not the same everywhere. sqrt is fixed too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/size.h"
#include "data/order.h"
#include "hogring/sparse.h"

enum { GUIDE = 1 << 16, CHUNK_BYTES = 1 << 20, PAIR_BYTES = 24 };

/* Sequences of HR_STREAM_SPARSE beside the rows', whose sequence is the row. */
static const uint32_t PLANTED = UINT32_MAX - 1, PERMUTED = UINT32_MAX;

struct drawn {
    uint32_t rank, index; /* from 0 by frequency; from 1 in the file */
    double value;
};

struct maker {
    const struct hr_sparse_shape *shape;
    double *upto;        /* (features) cumulative weights, the last is 1 */
    uint32_t *guide;     /* (GUIDE + 1) where to begin looking for u: guide[u GUIDE] */
    uint32_t *index;     /* (features) of the k-th most frequent */
    double *heavy;       /* (features) 1 + ln k */
    uint32_t *row_of;    /* (features) 1 + the row that drew it last */
    struct drawn *drawn; /* (most) */
    char *text;          /* (CHUNK_BYTES + a row) */
    size_t most, used;
    struct hr_file_writer writer;
};

/* --- arithmetic --- */

/* ln x, x > 0: x = m 2^e, m in [1/sqrt 2, sqrt 2); ln m = 2 atanh((m - 1) / (m + 1)). */
static double natural_log(double x)
{
    static const double ln2 = 0.69314718055994530942;
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752440) {
        m *= 2;
        e--;
    }
    const double t = (m - 1) / (m + 1), square = t * t;
    double sum = 0;
    for (int k = 25; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * t * sum + e * ln2;
}

/* e^x for x <= 0: the series of x / 1024, squared ten times. */
static double exponential(double x)
{
    double sum = 1;
    for (int k = 8; k >= 1; k--)
        sum = 1 + sum * (x / 1024) / k;
    for (int i = 0; i < 10; i++)
        sum *= sum;
    return sum;
}

/* --- random numbers: 4 words a block, two for a double in [0, 1) --- */

struct source {
    uint64_t seed, used;
    uint32_t sequence;
    struct hr_philox block;
};

static double draw(struct source *source)
{
    if (source->used % 2 == 0)
        source->block =
            hr_random_block(source->seed, HR_STREAM_SPARSE, source->used / 2, source->sequence);
    const uint32_t *v = source->block.v + source->used++ % 2 * 2;
    return ((double)(v[0] >> 5) * 0x1p26 + (double)(v[1] >> 6)) * 0x1p-53;
}

/* --- tables --- */

static void weigh(struct maker *m)
{
    const size_t features = m->shape->features;
    double sum = 0;
    for (size_t k = 0; k < features; k++) {
        const double ln = natural_log((double)(k + 1));
        m->heavy[k] = 1 + ln;
        sum += exponential(-m->shape->exponent * ln);
        m->upto[k] = sum;
    }
    for (size_t k = 0; k < features; k++)
        m->upto[k] /= sum;
    m->upto[features - 1] = 1;
    size_t k = 0;
    for (size_t g = 0; g <= GUIDE; g++) {
        while (k + 1 < features && m->upto[k] < (double)g / GUIDE)
            k++;
        m->guide[g] = (uint32_t)k;
    }
}

static enum hr_status start(struct maker *m, const struct hr_sparse_shape *shape)
{
    const size_t features = shape->features;
    struct hr_needs needs = {0};
    m->shape = shape;
    m->most = hr_min_size(features, (size_t)(8 * shape->nonzeros) + 1);
    hr_needs_add(&needs, "feature tables", features,
                 sizeof *m->upto + sizeof *m->heavy + sizeof *m->index + sizeof *m->row_of);
    hr_needs_add(&needs, "a row", m->most, sizeof *m->drawn + PAIR_BYTES);
    HR_TRY(hr_needs_check(&needs, "data make: needs", ""));
    m->upto = calloc(features, sizeof *m->upto);
    m->heavy = calloc(features, sizeof *m->heavy);
    m->guide = calloc(GUIDE + 1, sizeof *m->guide);
    m->index = calloc(features, sizeof *m->index);
    m->row_of = calloc(features, sizeof *m->row_of);
    m->drawn = calloc(m->most, sizeof *m->drawn);
    m->text = malloc(CHUNK_BYTES + PAIR_BYTES * (m->most + 1));
    if (!m->upto || !m->heavy || !m->guide || !m->index || !m->row_of || !m->drawn || !m->text)
        return hr_fail(HR_E_NOMEM, "no memory for %zu features", features);
    weigh(m);
    const struct hr_sampler sampler = hr_sampler_of(shape->seed, PERMUTED, features);
    hr_sampler_fill(&sampler, 0, features, m->index);
    return HR_OK;
}

static void stop(struct maker *m)
{
    free(m->upto);
    free(m->heavy);
    free(m->guide);
    free(m->index);
    free(m->row_of);
    free(m->drawn);
    free(m->text);
}

/* --- a row --- */

static size_t draw_size(const struct maker *m, struct source *source)
{
    const double half = m->shape->nonzeros / 2;
    const size_t size = (size_t)(half - half * natural_log(1 - draw(source)) + 0.5);
    return size < 1 ? 1 : hr_min_size(size, m->most);
}

static uint32_t draw_rank(const struct maker *m, struct source *source)
{
    const double u = draw(source);
    uint32_t low = m->guide[(size_t)(u * GUIDE)], high = m->guide[(size_t)(u * GUIDE) + 1];
    while (low < high) { /* the first whose cumulative weight is above u */
        const uint32_t middle = low + (high - low) / 2;
        if (m->upto[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* For a row of nearly all features drawing by chance would take too long. */
static uint32_t next_free(const struct maker *m, uint32_t rank, uint32_t mark)
{
    while (m->row_of[rank] == mark)
        rank = rank + 1 < m->shape->features ? rank + 1 : 0;
    return rank;
}

static void draw_features(struct maker *m, struct source *source, uint32_t mark, size_t size)
{
    enum { PATIENCE = 64 };
    for (size_t k = 0; k < size; k++) {
        uint32_t rank = draw_rank(m, source);
        for (int i = 0; i < PATIENCE && m->row_of[rank] == mark; i++)
            rank = draw_rank(m, source);
        rank = next_free(m, rank, mark);
        m->row_of[rank] = mark;
        m->drawn[k] =
            (struct drawn){rank, m->index[rank] + 1, (0.5 + draw(source)) * m->heavy[rank]};
    }
}

static int by_index(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static double planted_weight(const struct maker *m, uint32_t rank)
{
    struct source source = {
        .seed = m->shape->seed, .used = 2 * (uint64_t)rank, .sequence = PLANTED};
    const double chosen = draw(&source);
    return rank <= m->shape->features / 20 && chosen < 0.25 ? 8 * chosen - 1 : 0;
}

/* The row's label; its values are scaled to unit length. */
static bool resolve_values(struct maker *m, struct source *source, size_t size)
{
    double squares = 0, side = 0;
    for (size_t k = 0; k < size; k++) {
        squares += m->drawn[k].value * m->drawn[k].value;
        side += m->drawn[k].value * planted_weight(m, m->drawn[k].rank);
    }
    const double scale = 1 / sqrt(squares);
    for (size_t k = 0; k < size; k++)
        m->drawn[k].value *= scale;
    return (side >= 0) != (draw(source) < m->shape->noise);
}

/* --- text --- */

static void put_number(struct maker *m, uint32_t number, int digits)
{
    char text[10];
    int n = 0;
    do
        text[n++] = (char)('0' + number % 10);
    while ((number /= 10) || n < digits);
    while (n)
        m->text[m->used++] = text[--n];
}

static void put_row(struct maker *m, bool positive, size_t size)
{
    m->text[m->used++] = positive ? '+' : '-';
    m->text[m->used++] = '1';
    for (size_t k = 0; k < size; k++) {
        const uint32_t millionths = (uint32_t)(m->drawn[k].value * 1e6 + 0.5);
        m->text[m->used++] = ' ';
        put_number(m, m->drawn[k].index, 1);
        m->text[m->used++] = ':';
        put_number(m, millionths / 1000000, 1);
        m->text[m->used++] = '.';
        put_number(m, millionths % 1000000, 6);
    }
    m->text[m->used++] = '\n';
}

static enum hr_status flush(struct maker *m)
{
    HR_TRY(hr_file_write(&m->writer, m->text, m->used));
    m->used = 0;
    return HR_OK;
}

static enum hr_status write_rows(struct maker *m)
{
    for (uint32_t row = 0; row < m->shape->rows; row++) {
        struct source source = {.seed = m->shape->seed, .sequence = row};
        const size_t size = draw_size(m, &source);
        draw_features(m, &source, row + 1, size);
        const bool positive = resolve_values(m, &source, size);
        qsort(m->drawn, size, sizeof *m->drawn, by_index);
        put_row(m, positive, size);
        if (m->used < CHUNK_BYTES)
            continue;
        HR_TRY(flush(m));
        if (m->shape->should_stop && m->shape->should_stop(NULL))
            return hr_fail(HR_E_INTERRUPTED, "interrupted: no rows are left");
    }
    return flush(m);
}

/* --- the whole --- */

void hr_sparse_shape_defaults(struct hr_sparse_shape *shape)
{
    *shape = (struct hr_sparse_shape){
        .rows = 20242, .features = 47236, .nonzeros = 74, .exponent = 1, .noise = 0.02, .seed = 1};
}

static enum hr_status check(const struct hr_sparse_shape *s)
{
    if (s->rows < 2 || s->rows >= (size_t)1 << 31)
        return hr_fail(HR_E_USAGE, "--rows %zu: expected 2 to 2^31 - 1", s->rows);
    if (s->features < 2 || s->features >= (size_t)1 << 31)
        return hr_fail(HR_E_USAGE, "--features %zu: expected 2 to 2^31 - 1", s->features);
    if (!(s->nonzeros >= 1 && s->nonzeros <= (double)s->features))
        return hr_fail(HR_E_USAGE, "--nonzeros %g: expected 1 to --features %zu", s->nonzeros,
                       s->features);
    if (!(s->exponent >= 0 && s->exponent <= 10))
        return hr_fail(HR_E_USAGE, "--exponent %g: expected 0 to 10", s->exponent);
    if (!(s->noise >= 0 && s->noise <= 0.5))
        return hr_fail(HR_E_USAGE, "--noise %g: expected 0 to 0.5", s->noise);
    return HR_OK;
}

enum hr_status hr_sparse_make(const char *path, const struct hr_sparse_shape *shape)
{
    struct maker maker = {0};
    enum hr_status st;
    HR_TRY(check(shape));
    HR_TRY_GOTO(start(&maker, shape), st, out);
    HR_TRY_GOTO(hr_file_create(&maker.writer, path, 0), st, out);
    st = write_rows(&maker);
    if (st == HR_OK)
        st = hr_file_finish(&maker.writer);
    else
        hr_file_abandon(&maker.writer);
out:
    stop(&maker);
    return st;
}
