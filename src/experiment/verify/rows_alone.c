/* Products of our own promise that the bits of an element depend on its row and its column alone
 * (products/product.h): a sample alone is what it is in any batch, whoever shares the work. */
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "kernels/select.h"
#include "products/gemm.h"
#include "products/ready.h"
#include "verify/check.h"

enum { MOST_M = 90, MOST_N = 130, MOST_K = 1100, PRODUCTS = 12, THREADS = 3 };

struct memory {
    float a[MOST_M * MOST_K], b[MOST_K * MOST_N], together[MOST_M * MOST_N], alone[MOST_M * MOST_N];
};

static void fill(struct hr_trial *trial, float *x, size_t count)
{
    uint64_t state = 1 + hr_trial_draw(trial, 1 << 30);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(state >> 40) * 0x1p-23f - 1;
    }
}

/* Rows [first, first + rows) of the product, by themselves. */
static enum hr_status check_rows(struct hr_trial *trial, const struct memory *memory,
                                 struct hr_gemm p, size_t first, size_t rows)
{
    const float *want = memory->together + first * p.N;
    p.M = rows;
    p.a = memory->a + first * p.K;
    p.c = (float *)memory->alone;
    p.threads = 1 + hr_trial_draw(trial, THREADS);
    hr_gemm(&p);
    trial->compared += rows;
    for (size_t i = 0; i < rows * p.N; i++)
        if (memcmp(&memory->alone[i], &want[i], sizeof *want) != 0)
            return hr_fail(HR_E_FAILED,
                           "row %zu of a product of %zu x %zu, with %zu rows and %zu threads: "
                           "element %zu is %.9g, in the whole %.9g",
                           first + i / p.N, p.N, p.K, rows, p.threads, i % p.N,
                           (double)memory->alone[i], (double)want[i]);
    return HR_OK;
}

static enum hr_status check_product(struct hr_trial *trial, struct memory *memory, void *scratch)
{
    struct hr_gemm p = {.form = hr_trial_draw(trial, 2) ? HR_GEMM_NN : HR_GEMM_NT,
                        .M = 2 + hr_trial_draw(trial, MOST_M - 1),
                        .N = 1 + hr_trial_draw(trial, MOST_N),
                        .K = 1 + hr_trial_draw(trial, hr_trial_draw(trial, 2) ? 60 : MOST_K),
                        .a = memory->a,
                        .b = memory->b,
                        .c = memory->together,
                        .scratch = scratch,
                        .threads = 1};
    hr_gemm(&p);
    for (size_t first = 0, rows; first < p.M; first += rows) {
        rows = 1 + hr_trial_draw(trial, p.M - first);
        HR_TRY(check_rows(trial, memory, p, first, rows));
    }
    return HR_OK;
}

static enum hr_status run(struct hr_trial *trial)
{
    const size_t bytes = (hr_gemm_scratch_bytes(MOST_K, THREADS) + 63) / 64 * 64;
    struct memory *memory = malloc(sizeof *memory);
    void *scratch = aligned_alloc(64, bytes);
    enum hr_status status =
        memory && scratch ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to multiply");
    if (status == HR_OK && hr_isa() == HR_ISA_PLAIN) /* else OpenBLAS multiplies */
        status = hr_kernels_select(HR_KERNELS_REFERENCE);
    if (status == HR_OK)
        status = hr_kernels_init_process(THREADS);
    if (status == HR_OK) {
        fill(trial, memory->a, MOST_M * MOST_K);
        fill(trial, memory->b, MOST_K * MOST_N);
    }
    for (size_t n = 0; n < PRODUCTS && status == HR_OK; n++)
        status = check_product(trial, memory, scratch);
    free(memory);
    free(scratch);
    return status;
}

const struct hr_check hr_check_rows_alone = {
    .name = "rows-alone",
    .claim = "a row: alone = in any batch",
    .story = "In products of our own kernels (sums of up to 1100 terms) a row has the same bits by "
             "itself, among any others, and with 1 to 3 threads.",
    .what = "rows",
    .run = run,
};
