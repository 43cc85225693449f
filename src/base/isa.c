#include "base/isa.h"

#include <stdlib.h>
#include <string.h>

static enum hr_isa detected = HR_ISA_PLAIN;
static bool has_bf16;

static const char *const names[] = {"plain", "v3", "v4"};

#ifdef __x86_64__
static enum hr_isa best_of_machine(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("fma"))
        return HR_ISA_PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return HR_ISA_V3;
    return HR_ISA_V4;
}

/* Before main, so that no thread ever sees it change. */
__attribute__((constructor)) static void detect(void)
{
    detected = best_of_machine();
    const char *wanted = getenv("HOGRING_ISA");
    has_bf16 = detected == HR_ISA_V4 && __builtin_cpu_supports("avx512bf16") &&
               !(wanted && !strcmp(wanted, names[HR_ISA_V4]));
    for (int level = HR_ISA_PLAIN; wanted && level < (int)detected; level++)
        if (!strcmp(wanted, names[level]))
            detected = (enum hr_isa)level;
}
#endif

enum hr_isa hr_isa(void)
{
    return detected;
}

const char *hr_isa_name(void)
{
    return names[detected];
}

bool hr_isa_has_bf16(void)
{
    return has_bf16 && detected == HR_ISA_V4;
}

const char *hr_isa_unknown(void)
{
    const char *wanted = getenv("HOGRING_ISA");
    for (size_t level = 0; wanted && level < sizeof names / sizeof *names; level++)
        if (!*wanted || !strcmp(wanted, names[level]))
            return NULL;
    return wanted;
}

void hr_isa_lower(enum hr_isa level)
{
    detected = level;
    has_bf16 = false;
}
