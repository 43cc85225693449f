#include "train/machine_bits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "checkpoint/digest.h"
#include "checkpoint/safetensors.h"
#include "nn/gemm.h"

enum { ARGUMENTS = 4096 };

/* Volatile, so that no compiler works the answers out with a library of its own. */
static struct hr_digest_text digest_of_libm(void)
{
    static double out[5 * ARGUMENTS];
    for (size_t i = 0; i < ARGUMENTS; i++) {
        const volatile float x = -20.0f * (float)i / ARGUMENTS;
        const volatile double turn = 4.0 * (double)i / ARGUMENTS, steps = (double)i;
        out[5 * i] = (double)expf(x);
        out[5 * i + 1] = (double)logf(1.0f - 50.0f * x);
        out[5 * i + 2] = (double)log1pf(-x / 20.0f);
        out[5 * i + 3] = cos(turn);
        out[5 * i + 4] = pow(0.999, steps);
    }
    return hr_digest64_text(hr_digest64(out, sizeof out));
}

json_t *hr_machine_bits_json(void)
{
    char gemm[64];
    snprintf(gemm, sizeof gemm, "nn %d, nt %d, tn %d", HR_GEMM_OWN_K_NN, HR_GEMM_OWN_K_NT,
             HR_GEMM_OWN_K_TN);
    return json_pack("{ss sb ss ss ss}", "kernels", hr_kernels_name(), "reference",
                     hr_kernels_are_reference(), "isa", hr_isa_name(), "gemm", gemm, "libm",
                     digest_of_libm().hex);
}

static enum hr_status check_text(const json_t *recorded, const json_t *here, const char *name,
                                 const char *where)
{
    const char *there = json_string_value(json_object_get(recorded, name));
    const char *mine = json_string_value(json_object_get(here, name));
    if (!there)
        return hr_fail(HR_E_FORMAT, "%s: its machine has no \"%s\"", where, name);
    if (mine && !strcmp(there, mine))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: was recorded on a machine whose %s was \"%s\", here it is \"%s\": the bits "
                   "would differ%s",
                   where, name, hr_printable(there).text, mine ? mine : "",
                   strcmp(name, "libm") ? " (runs recorded with --kernels reference are free of it)"
                                        : "");
}

enum hr_status hr_machine_bits_check(const json_t *recorded, const char *where)
{
    static const char *const names[] = {"libm", "kernels", "isa", "gemm"};
    json_t *here = hr_machine_bits_json();
    enum hr_status status = HR_OK;
    if (!here)
        return hr_fail(HR_E_NOMEM, "no memory to describe this machine");
    const bool reference =
        json_is_true(json_object_get(recorded, "reference")) && hr_kernels_are_reference();
    for (size_t i = 0; status == HR_OK && i < (reference ? 1 : 4); i++)
        status = check_text(recorded, here, names[i], where);
    json_decref(here);
    return status;
}
