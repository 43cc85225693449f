#include "products/gemm.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/size.h"
#include "kernels/elementwise.h"
#include "kernels/select.h"
#include "products/blas.h"

/* Without bias and relu. */
static void multiply_with_blas(const struct hr_gemm *g)
{
#ifdef HR_NO_BLAS
    (void)g;
#else
    hr_blas_multiply(g);
#endif
}

/* --- our own --- */

struct hr_product hr_gemm_product(const struct hr_gemm *g)
{
    const bool a_turned = g->form == HR_GEMM_TN, b_turned = g->form == HR_GEMM_NT;
    const size_t a_row = hr_gemm_a_row(g), b_row = hr_gemm_b_row(g);
    return (struct hr_product){
        .rows = g->M,
        .columns = g->N,
        .K = g->K,
        .a = g->a,
        .a_row = a_turned ? 1 : a_row,
        .a_step = a_turned ? a_row : 1,
        .b = g->b,
        .b_step = b_turned ? 1 : b_row,
        .b_column = b_turned ? b_row : 1,
        .c = g->c,
        .c_row = hr_gemm_c_row(g),
        .c_column = 1,
        .taker = g->taker,
        .taken_at = g->taken_at,
        .bias = g->bias,
        .relu = g->relu,
        .scratch = g->scratch,
        .threads = g->threads,
    };
}

/* C^T = B A^T, so that a is packed and b is read in place. */
static struct hr_product turned(const struct hr_product *p)
{
    struct hr_product other = *p;
    other.rows = p->columns;
    other.columns = p->rows;
    other.a = p->b;
    other.a_row = p->b_column;
    other.a_step = p->b_step;
    other.b = p->a;
    other.b_step = p->a_step;
    other.b_column = p->a_row;
    other.c_row = p->c_column;
    other.c_column = p->c_row;
    return other;
}

enum { MOST_SAMPLES_PACKED = 96 };

/* Packing b takes about a cycle for three floats, storing c by columns one for each; with few
 * samples and a large weight matrix it is better to pack the samples. */
static bool better_turned(const struct hr_gemm *g)
{
    return g->form == HR_GEMM_NT && !g->taker && g->M > 1 && g->M <= MOST_SAMPLES_PACKED &&
           g->N > g->M && (g->N - g->M) * g->K > 4 * g->M * g->N;
}

static void multiply_own(const struct hr_gemm *g)
{
    const struct hr_product product = hr_gemm_product(g), other = turned(&product);
    hr_product(better_turned(g) ? &other : &product);
}

void hr_gemm_taken_whole(const struct hr_gemm *g)
{
    const size_t c_row = hr_gemm_c_row(g);
    const struct hr_final_piece all = {g->taken_at, g->M, g->N, c_row, g->c, c_row};
    if (g->taker)
        g->taker->take(g->taker->arg, &all);
}

/* --- which --- */

const char *hr_gemm_order(void)
{
    return hr_kernels_use_blas() ? "OpenBLAS's" : "from the first term to the last";
}

size_t hr_gemm_scratch_bytes(size_t K, size_t threads)
{
    return hr_product_scratch_bytes(K, threads);
}

/* To `rows` rows from c on, that have no gaps. */
static void add_bias(const struct hr_gemm *g, size_t rows, float *c)
{
    if (g->bias && g->relu)
        hr_elementwise()->bias_relu(rows, g->N, g->bias, c);
    else if (g->bias)
        hr_elementwise()->bias_add(rows, g->N, g->bias, c);
    else if (g->relu)
        hr_elementwise()->relu(rows * g->N, c, c);
}

void hr_gemm(const struct hr_gemm *g)
{
    HR_ASSERT(g->M <= INT_MAX && g->N <= INT_MAX && g->K <= INT_MAX && g->threads >= 1);
    if (g->M == 0 || g->N == 0)
        return;
    if (g->K > 0 && !hr_kernels_use_blas()) {
        multiply_own(g);
        return;
    }
    const size_t c_row = hr_gemm_c_row(g), rows = c_row == g->N ? g->M : 1;
    if (g->K > 0)
        multiply_with_blas(g);
    for (size_t i = 0; i < g->M; i += rows) {
        if (g->K == 0)
            memset(g->c + i * c_row, 0, rows * g->N * sizeof *g->c);
        add_bias(g, rows, g->c + i * c_row);
    }
    hr_gemm_taken_whole(g);
}
