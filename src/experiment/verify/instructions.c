/* One source, several instruction sets: vector kernels of all give the same bits; so do whole runs
 * of the reference kernels and of bfloat16 values, and of the fast ones where both have fused
 * multiply-adds. Levels are lowered one by one: v4, v3, plain, as far as the processor has them. */
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/vec.h"
#include "verify/check.h"

enum { MOST = 700, INPUTS = 9 };

static const char *const kernels[] = {"reference", "fast", NULL};

static float value(uint32_t i)
{
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return (float)(int32_t)(i ^ i >> 16) * 0x1p-20f;
}

struct outcome {
    float sum[MOST], added[MOST], scaled[MOST], stepped[MOST];
};

static void compute(size_t count, size_t n, uint32_t salt, struct outcome *out)
{
    static float x[INPUTS][MOST];
    const float *in[INPUTS];
    float *to = out->sum;
    for (size_t r = 0; r < n; r++)
        in[r] = x[r];
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < count; i++)
            x[r][i] = value(salt + (uint32_t)(r * MOST + i));
    memset(out, 0, sizeof *out);
    memcpy(out->added, x[0], count * sizeof(float));
    memcpy(out->scaled, x[0], count * sizeof(float));
    memcpy(out->stepped, x[0], count * sizeof(float));
    hr_vec()->tree_sum(&to, 1, in, n, count);
    hr_vec()->add(out->added, x[n - 1], count);
    hr_vec()->scale(out->scaled, 0.7f, count);
    hr_vec()->axpy(out->stepped, 0.3f, x[n - 1], count);
}

static enum hr_status check_level(struct hr_trial *trial, enum hr_isa level,
                                  const struct outcome *want, size_t count, size_t n, uint32_t salt)
{
    struct outcome got;
    compute(count, n, salt, &got);
    trial->compared++;
    if (!memcmp(&got, want, sizeof got))
        return HR_OK;
    return hr_fail(HR_E_FAILED, "vector kernels of %zu inputs of %zu floats: %s gives other bits",
                   n, count, level == HR_ISA_PLAIN ? "plain" : "v3");
}

static enum hr_status check_runs(struct hr_trial *trial, enum hr_isa best)
{
    for (size_t k = 0; kernels[k]; k++) {
        struct hr_train_options options = hr_trial_options(trial, "allreduce", 2);
        const enum hr_isa least = k ? HR_ISA_V3 : HR_ISA_PLAIN;
        HR_SAY(options.kernels, "%s", kernels[k]);
        hr_trial_anew(trial);
        for (int level = (int)best; level >= (int)least; level--) {
            hr_isa_lower((enum hr_isa)level);
            HR_TRY(hr_trial_same(trial, &options));
        }
        hr_isa_restore();
    }
    return HR_OK;
}

/* First with all that there is; each lowering is without AVX512_BF16 and AMX. The plain level's
 * fast kernels would load OpenBLAS, and its reference sums pairs alone. */
static enum hr_status check_bf16(struct hr_trial *trial, enum hr_isa best, bool as_amx)
{
    const enum hr_isa least = as_amx ? HR_ISA_V3 : HR_ISA_PLAIN;
    struct hr_train_options options = hr_trial_options(trial, "allreduce", 2);
    HR_SAY(options.precision, "bf16");
    hr_trial_anew(trial);
    hr_isa_sum_as_amx(as_amx);
    HR_TRY(hr_trial_same(trial, &options));
    for (int level = (int)best; level >= (int)least; level--) {
        hr_isa_lower((enum hr_isa)level);
        if (level == HR_ISA_PLAIN)
            HR_SAY(options.kernels, "reference");
        HR_TRY(hr_trial_same(trial, &options));
    }
    hr_isa_restore();
    return HR_OK;
}

static enum hr_status run(struct hr_trial *trial)
{
    const enum hr_isa best = hr_isa();
    const size_t count = hr_trial_draw(trial, MOST + 1), n = 1 + hr_trial_draw(trial, INPUTS);
    const uint32_t salt = (uint32_t)hr_trial_draw(trial, 1 << 30);
    struct outcome want;
    if (best == HR_ISA_PLAIN)
        return hr_fail(HR_E_IO, "this processor, or HOGRING_ISA, has the plain ones alone");
    HR_TRY(check_bf16(trial, best, true));
    HR_TRY(check_bf16(trial, best, false));
    compute(count, n, salt, &want);
    for (int level = (int)best - 1; level >= HR_ISA_PLAIN; level--) {
        hr_isa_lower((enum hr_isa)level);
        HR_TRY(check_level(trial, (enum hr_isa)level, &want, count, n, salt));
    }
    hr_isa_restore();
    return check_runs(trial, best);
}

const struct hr_check hr_check_instructions = {
    .name = "instructions",
    .claim = "plain = v3 = v4",
    .story = "Each instruction set that this processor has, forced: vector kernels and whole runs "
             "of --kernels reference and of --precision bf16, in either order of its sums, have "
             "the same "
             "bits under all, with and without AVX512_BF16 and AMX; whole runs of the fast kernels "
             "under "
             "v3 and v4.",
    .what = "pieces",
    .run = run,
};
