/* Matrix products in float against sums in double.
 *
 * Whatever the order of addition, the error of a sum of K products is at most (K + 2) 2^-24 of the
 * sum of their absolute values (Higham, "Accuracy and stability of numerical algorithms", 3.1), to
 * first order. The figure is the largest error, as a share of that sum. */
#include "verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "kernels/select.h"
#include "products/gemm.h"
#include "products/ready.h"

enum { MOST_SIDE = 160, MOST_K = 4500, MOST_ELEMENTS = 1 << 20, PRODUCTS = 12, THREADS = 2 };

static const enum hr_gemm_form forms[] = {HR_GEMM_NN, HR_GEMM_NT, HR_GEMM_TN};
static const char *const names[] = {"nn", "nt", "tn"};
static const char *const kernels[] = {"fast", "fast", "reference", "openblas", NULL};

struct floats {
    float *a, *b, *c, *bias;
    void *scratch;
};

static void fill(struct hr_trial *trial, float *x, size_t count)
{
    uint64_t state = 1 + hr_trial_draw(trial, 1 << 30);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(state >> 40) * 0x1p-23f - 1;
    }
}

/* Short sums, and those around the ends of blocks (product_blocks.h). */
static size_t draw_length(struct hr_trial *trial)
{
    static const size_t ends[] = {256, 1024, 2048, 4096};
    return hr_trial_draw(trial, 2) ? 1 + hr_trial_draw(trial, 200)
                                   : ends[hr_trial_draw(trial, 4)] - 40 + hr_trial_draw(trial, 80);
}

static struct hr_gemm draw_product(struct hr_trial *trial, const struct floats *floats)
{
    const size_t form = hr_trial_draw(trial, 3), most = MOST_SIDE;
    struct hr_gemm product = {.form = forms[form],
                              .a = floats->a,
                              .b = floats->b,
                              .c = floats->c,
                              .scratch = floats->scratch};
    product.K = draw_length(trial);
    product.M = 1 + hr_trial_draw(trial, product.K > 300 ? most / 4 : most);
    product.N = 1 + hr_trial_draw(trial, product.K > 300 ? most / 4 : most);
    product.bias = hr_trial_draw(trial, 2) ? floats->bias : NULL;
    product.relu = hr_trial_draw(trial, 2);
    product.threads = 1 + hr_trial_draw(trial, THREADS);
    return product;
}

static enum hr_status check_element(struct hr_trial *trial, const struct hr_gemm *p, size_t i,
                                    size_t j)
{
    double sum = 0, size = 0;
    for (size_t k = 0; k < p->K; k++) {
        const double x = (double)(p->form == HR_GEMM_TN ? p->a[k * p->M + i] : p->a[i * p->K + k]);
        const double y = (double)(p->form == HR_GEMM_NT ? p->b[j * p->K + k] : p->b[k * p->N + j]);
        sum += x * y;
        size += fabs(x * y);
    }
    if (p->bias) {
        sum += (double)p->bias[j];
        size += fabs((double)p->bias[j]);
    }
    const double want = p->relu && sum < 0 ? 0 : sum, got = (double)p->c[i * p->N + j];
    const double error = fabs(got - want) / (size > 0 ? size : 1);
    trial->worst = fmax(trial->worst, error);
    trial->compared++;
    if (error <= ((double)p->K + 2) * 0x1p-24)
        return HR_OK;
    return hr_fail(HR_E_FAILED,
                   "%s: %s product of %zu x %zu x %zu, %zu threads: element %zu, %zu is "
                   "%.9g, and %.9g in double precision",
                   hr_kernels_name(), names[p->form], p->M, p->N, p->K, p->threads, i, j, got,
                   want);
}

static enum hr_status check_product(struct hr_trial *trial, const struct hr_gemm *p)
{
    for (size_t i = 0; i < p->M; i++)
        for (size_t j = 0; j < p->N; j++)
            HR_TRY(check_element(trial, p, i, j));
    return HR_OK;
}

static enum hr_status multiply(struct hr_trial *trial, struct floats *floats)
{
    fill(trial, floats->a, MOST_ELEMENTS);
    fill(trial, floats->b, MOST_ELEMENTS);
    fill(trial, floats->bias, MOST_SIDE);
    for (size_t n = 0; n < PRODUCTS; n++) {
        const struct hr_gemm product = draw_product(trial, floats);
        memset(floats->c, 0xff, MOST_SIDE * MOST_SIDE * sizeof(float)); /* not a number */
        hr_gemm(&product);
        HR_TRY(check_product(trial, &product));
    }
    return HR_OK;
}

static enum hr_status try_products(struct hr_trial *trial)
{
    HR_TRY(hr_kernels_select_named(hr_trial_pick(trial, kernels), false));
    HR_TRY(hr_kernels_init_process(THREADS));
    const size_t bytes = hr_gemm_scratch_bytes(MOST_K, THREADS);
    struct floats floats = {.a = malloc(MOST_ELEMENTS * sizeof(float)),
                            .b = malloc(MOST_ELEMENTS * sizeof(float)),
                            .c = malloc(MOST_SIDE * MOST_SIDE * sizeof(float)),
                            .bias = malloc(MOST_SIDE * sizeof(float)),
                            .scratch = aligned_alloc(64, (bytes + 63) / 64 * 64)};
    const bool there = floats.a && floats.b && floats.c && floats.bias && floats.scratch;
    const enum hr_status status =
        there ? multiply(trial, &floats) : hr_fail(HR_E_NOMEM, "no memory for two matrices");
    free(floats.a);
    free(floats.b);
    free(floats.c);
    free(floats.bias);
    free(floats.scratch);
    return status;
}

const struct hr_check hr_check_products = {
    .name = "products",
    .claim = "products within rounding",
    .story =
        "Matrix products of our kernels, of OpenBLAS and of the reference, of all three forms, "
        "with bias and relu, one or two threads: each element within (K + 2) 2^-24 of the sum "
        "of absolute values, from a sum in double precision.",
    .what = "numbers",
    .run = try_products,
};

/* --- rows alone ---
 * Products of our own promise that the bits of an element depend on its row and its column alone
 * (products/product.h): a sample alone is what it is in any batch, whoever shares the work. */

enum { MOST_M = 90, MOST_N = 130, MOST_TERMS = 1100, ALONE = 12, ROW_THREADS = 3 };

struct memory {
    float a[MOST_M * MOST_TERMS], b[MOST_TERMS * MOST_N], together[MOST_M * MOST_N],
        alone[MOST_M * MOST_N];
};

/* Rows [first, first + rows) of the product, by themselves. */
static enum hr_status check_rows(struct hr_trial *trial, const struct memory *memory,
                                 struct hr_gemm p, size_t first, size_t rows)
{
    const float *want = memory->together + first * p.N;
    p.M = rows;
    p.a = memory->a + first * p.K;
    p.c = (float *)memory->alone;
    p.threads = 1 + hr_trial_draw(trial, ROW_THREADS);
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

static enum hr_status check_alone(struct hr_trial *trial, struct memory *memory, void *scratch)
{
    struct hr_gemm p = {.form = hr_trial_draw(trial, 2) ? HR_GEMM_NN : HR_GEMM_NT,
                        .M = 2 + hr_trial_draw(trial, MOST_M - 1),
                        .N = 1 + hr_trial_draw(trial, MOST_N),
                        .K = 1 + hr_trial_draw(trial, hr_trial_draw(trial, 2) ? 60 : MOST_TERMS),
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

static enum hr_status try_rows_alone(struct hr_trial *trial)
{
    const size_t bytes = (hr_gemm_scratch_bytes(MOST_TERMS, ROW_THREADS) + 63) / 64 * 64;
    struct memory *memory = malloc(sizeof *memory);
    void *scratch = aligned_alloc(64, bytes);
    enum hr_status status =
        memory && scratch ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to multiply");
    if (status == HR_OK && hr_isa() == HR_ISA_PLAIN) /* else OpenBLAS multiplies */
        status = hr_kernels_select(HR_KERNELS_REFERENCE);
    if (status == HR_OK)
        status = hr_kernels_init_process(ROW_THREADS);
    if (status == HR_OK) {
        fill(trial, memory->a, MOST_M * MOST_TERMS);
        fill(trial, memory->b, MOST_TERMS * MOST_N);
    }
    for (size_t n = 0; n < ALONE && status == HR_OK; n++)
        status = check_alone(trial, memory, scratch);
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
    .run = try_rows_alone,
};
