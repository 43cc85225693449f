#include "kernels/gemm_naive.h"

#include <string.h>

#include "base/size.h"

/* One row of the product: c (N) = sum over k of a[k * stride] * b[k] (K,N), so b and c are walked
 * along their rows. */
static void row_times_matrix(size_t N, size_t K, const float *a, size_t stride, const float *b,
                             float *c)
{
    memset(c, 0, N * sizeof *c);
    for (size_t k = 0; k < K; k++) {
        const float factor = a[k * stride];
        for (size_t j = 0; j < N; j++)
            c[j] += factor * b[k * N + j];
    }
}

void hr_gemm_naive_nn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    for (size_t i = 0; i < M; i++)
        row_times_matrix(N, K, a + i * K, 1, b, c + i * N);
}

void hr_gemm_naive_tn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    for (size_t i = 0; i < M; i++)
        row_times_matrix(N, K, a + i, M, b, c + i * N);
}

/* Dot products of one row with `count` rows of b (count,K): several sums are under way at once,
 * because a single one waits for each addition before it begins the next. */
enum { DOTS = 8 };

static void row_times_rows(size_t count, size_t K, const float *a, const float *b, float *c)
{
    float sum[DOTS] = {0};
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < count; j++)
            sum[j] += a[k] * b[j * K + k];
    memcpy(c, sum, count * sizeof *c);
}

void hr_gemm_naive_nt(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j += DOTS)
            row_times_rows(hr_min_size(DOTS, N - j), K, a + i * K, b + j * K, c + i * N + j);
}

void hr_gemm_naive(const struct hr_gemm *g)
{
    if (g->form == HR_GEMM_NN)
        hr_gemm_naive_nn(g->M, g->N, g->K, g->a, g->b, g->c);
    else if (g->form == HR_GEMM_NT)
        hr_gemm_naive_nt(g->M, g->N, g->K, g->a, g->b, g->c);
    else
        hr_gemm_naive_tn(g->M, g->N, g->K, g->a, g->b, g->c);
}
