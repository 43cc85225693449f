#include "session/machine_bits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "base/printable.h"
#include "checkpoint/digest.h"
#include "checkpoint/safetensors.h"
#include "kernels/bf16.h"
#include "kernels/select.h"
#include "nn/model.h"
#include "products/gemm.h"
#include "products/ready.h"

enum { ARGUMENTS = 4096 };

static const char winograd[] = ", winograd"; /* behind the name of kernels that use it */

/* Volatile, so that the compiler does not compute the results with a library of its own. */
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
    return json_pack("{ss sb ss ss ss ss}", "kernels", hr_kernels_name(), "reference",
                     hr_kernels_are_reference(), "isa", hr_isa_name(), "gemm", hr_gemm_order(),
                     "bf16", hr_bf16_order(), "libm", digest_of_libm().hex);
}

/* Documents from before there was AMX have no "bf16". */
static const char *text_of(const json_t *machine, const char *name)
{
    const char *text = json_string_value(json_object_get(machine, name));
    return text ? text : strcmp(name, "bf16") ? "" : HR_BF16_PAIRS;
}

const char *hr_machine_bits_order(const json_t *machine)
{
    return text_of(machine, "bf16");
}

const char *hr_machine_bits_kernels(const json_t *machine, const char *kernels)
{
    const char *name = text_of(machine, "kernels");
    const bool direct = !strncmp(name, "tiles ", 6) && !strstr(name, winograd);
    return direct && !strcmp(kernels, "fast") ? "direct" : kernels;
}

void hr_machine_bits_make_direct(json_t *machine)
{
    const char *name = text_of(machine, "kernels"), *end = strstr(name, winograd);
    if (end)
        json_object_set_new(machine, "kernels", json_stringn(name, (size_t)(end - name)));
}

bool hr_machine_bits_are_bf16(const char *precision)
{
    return !strcmp(precision, hr_precision_name(HR_PRECISION_BF16));
}

const char *hr_machine_bits_difference(const json_t *there, const json_t *here, bool bf16)
{
    static const char *const of_float32[] = {"libm", "kernels", "isa", "gemm", NULL};
    static const char *const of_bf16[] = {"libm", "bf16", NULL}, *const of_reference[] = {"libm",
                                                                                          NULL};
    const bool reference = json_is_true(json_object_get(there, "reference")) &&
                           json_is_true(json_object_get(here, "reference"));
    const char *const *name = reference ? of_reference : bf16 ? of_bf16 : of_float32;
    while (*name && !strcmp(text_of(there, *name), text_of(here, *name)))
        name++;
    return *name;
}

static const char *advice(const char *name, const char *there)
{
    if (!strcmp(name, "bf16"))
        return strcmp(there, HR_BF16_PAIRS) ? "; HOGRING_ISA=v4amx has them on any machine"
                                            : "; HOGRING_ISA=v4bf16 has them on any machine";
    return strcmp(name, "libm") ? " (runs recorded with --kernels reference are free of it)" : "";
}

enum hr_status hr_machine_bits_check(const json_t *recorded, bool bf16, const char *where)
{
    enum hr_status status = HR_OK;
    json_t *here = hr_machine_bits_json();
    if (!here)
        return hr_fail(HR_E_NOMEM, "no memory to describe this machine");
    const char *name = hr_machine_bits_difference(recorded, here, bf16);
    if (name && !json_object_get(recorded, name) && strcmp(name, "bf16") != 0)
        status = hr_fail(HR_E_FORMAT, "%s: its machine has no \"%s\"", where, name);
    else if (name)
        status = hr_fail(
            HR_E_USAGE,
            "%s: was recorded on a machine whose %s was \"%s\", here it is \"%s\": the bits "
            "would differ%s",
            where, name, hr_printable(text_of(recorded, name)).text, text_of(here, name),
            advice(name, text_of(recorded, name)));
    json_decref(here);
    return status;
}
