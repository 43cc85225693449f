#include "products/gemm_naive.h"

#include <string.h>

#include "base/size.h"

/* One row of the product: c (N) = sum over k of a[k * a_step] * row k of b, so b and c are walked
 * along their rows. */
static void row_times_matrix(const struct hr_gemm *g, const float *a, size_t a_step, float *c)
{
    memset(c, 0, g->N * sizeof *c);
    for (size_t k = 0; k < g->K; k++) {
        const float factor = a[k * a_step], *b = g->b + k * hr_gemm_b_row(g);
        for (size_t j = 0; j < g->N; j++)
            c[j] += factor * b[j];
    }
}

/* Dot products of one row with `count` rows of b: several sums are under way at once, because a
 * single one waits for each addition before it begins the next. */
enum { DOTS = 8 };

static void row_times_rows(const struct hr_gemm *g, const float *a, size_t first, size_t count,
                           float *c)
{
    const size_t step = hr_gemm_b_row(g);
    const float *b = g->b + first * step;
    float sum[DOTS] = {0};
    for (size_t k = 0; k < g->K; k++)
        for (size_t j = 0; j < count; j++)
            sum[j] += a[k] * b[j * step + k];
    memcpy(c, sum, count * sizeof *c);
}

void hr_gemm_naive(const struct hr_gemm *g)
{
    const size_t a_row = hr_gemm_a_row(g), c_row = hr_gemm_c_row(g);
    for (size_t i = 0; i < g->M; i++) {
        float *c = g->c + i * c_row;
        if (g->form == HR_GEMM_TN)
            row_times_matrix(g, g->a + i, a_row, c);
        else if (g->form == HR_GEMM_NN)
            row_times_matrix(g, g->a + i * a_row, 1, c);
        for (size_t j = 0; g->form == HR_GEMM_NT && j < g->N; j += DOTS)
            row_times_rows(g, g->a + i * a_row, j, hr_min_size(DOTS, g->N - j), c + j);
    }
}

void hr_gemm_naive_nn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    hr_gemm_naive(&(struct hr_gemm){HR_GEMM_NN, M, N, K, a, b, .c = c});
}

void hr_gemm_naive_nt(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    hr_gemm_naive(&(struct hr_gemm){HR_GEMM_NT, M, N, K, a, b, .c = c});
}

void hr_gemm_naive_tn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    hr_gemm_naive(&(struct hr_gemm){HR_GEMM_TN, M, N, K, a, b, .c = c});
}
