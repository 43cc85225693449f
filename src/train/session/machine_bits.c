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

/* --- what helps --- */

static const char blas[] = "OpenBLAS "; /* "OpenBLAS VERSION CORE, tiles LEVEL" */

static enum hr_isa level_in(const char *kernels, bool *has)
{
    const char *tiles = strstr(kernels, "tiles ");
    for (enum hr_isa level = HR_ISA_PLAIN; tiles && level <= HR_ISA_V4; level++) {
        const size_t length = strlen(hr_isa_level_name(level));
        const char end =
            strncmp(tiles + 6, hr_isa_level_name(level), length) ? '?' : tiles[6 + length];
        if (end == '\0' || end == ',') {
            *has = true;
            return level;
        }
    }
    *has = false;
    return HR_ISA_PLAIN;
}

/* Its core; "" where that is no such name. The version has no blank. */
static void core_in(const char *kernels, char *core, size_t size)
{
    const size_t length = sizeof blas - 1;
    const char *name = strncmp(kernels, blas, length) ? "" : kernels + length;
    name += strcspn(name, " ");
    name += *name == ' ';
    snprintf(core, size, "%.*s", (int)strcspn(name, ",\""), name);
}

static void advise_kernels(const char *there, const char *here, char *text, size_t size)
{
    char core[32];
    bool had, has;
    const enum hr_isa was = level_in(there, &had), is = level_in(here, &has);
    core_in(there, core, sizeof core);
    const bool lower = had && has && was != is;
    if (lower || core[0])
        snprintf(text, size, "; %s%s%s%s%s%s", lower ? "HOGRING_ISA=" : "",
                 lower ? hr_isa_level_name(was) : "", lower && core[0] ? " and " : "",
                 core[0] ? "the same OpenBLAS with OPENBLAS_CORETYPE=" : "", core,
                 was > is ? " would have them, on a processor with these instructions"
                          : " would have them");
}

static void advise(const char *name, const char *there, const char *here, char *text, size_t size)
{
    text[0] = '\0';
    if (!strcmp(name, "bf16"))
        snprintf(text, size, "; HOGRING_ISA=%s has them on any machine",
                 strcmp(there, HR_BF16_PAIRS) ? "v4amx" : "v4bf16");
    if (!strcmp(name, "kernels"))
        advise_kernels(there, here, text, size);
    if (strcmp(name, "bf16") != 0 && strcmp(name, "libm") != 0) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used,
                 " (runs recorded with --kernels reference are free of it)");
    }
}

/* --- compared --- */

enum hr_status hr_machine_bits_check(const json_t *recorded, bool bf16, const char *where)
{
    enum hr_status status = HR_OK;
    json_t *here = hr_machine_bits_json();
    if (!here)
        return hr_fail(HR_E_NOMEM, "no memory to describe this machine");
    char cure[240];
    const char *name = hr_machine_bits_difference(recorded, here, bf16);
    const bool plural = name && !strcmp(name, "kernels");
    if (name)
        advise(name, hr_printable(text_of(recorded, name)).text, text_of(here, name), cure,
               sizeof cure);
    if (name && !json_object_get(recorded, name) && strcmp(name, "bf16") != 0)
        status = hr_fail(HR_E_FORMAT, "%s: its machine has no \"%s\"", where, name);
    else if (name)
        status = hr_fail(
            HR_E_USAGE,
            "%s: was recorded on a machine whose %s %s \"%s\", here %s \"%s\": the bits would "
            "differ%s",
            where, name, plural ? "were" : "was", hr_printable(text_of(recorded, name)).text,
            plural ? "they are" : "it is", text_of(here, name), cure);
    json_decref(here);
    return status;
}
