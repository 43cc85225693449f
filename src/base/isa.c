#include "base/isa.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

struct use {
    enum hr_isa level;
    bool bf16, amx, sums_as_amx;
};

static struct use at_start, now;
static bool was_refused;

/* Levels, then what more there may be. */
enum { V4BF16 = HR_ISA_V4 + 1, V4AMX, NAMES };
static const char *const names[NAMES] = {"plain", HR_ISA_FUSED, "v4", "v4bf16", "v4amx"};

/* The place in names of what HOGRING_ISA asks for; NAMES: for nothing that is there. */
static int wanted_name(void)
{
    const char *wanted = getenv("HOGRING_ISA");
    int name = 0;
    if (wanted && (!strcmp(wanted, "v3") || !strcmp(wanted, "neon")))
        return HR_ISA_V3;
    while (name < NAMES && (!wanted || strcmp(wanted, names[name]) != 0))
        name++;
    return name;
}

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

static bool processor_has_amx(void)
{
    enum { LEAF = 7, BF16 = 1 << 22, TILE = 1 << 24 };
    unsigned a, b, c, d;
    return __get_cpuid_count(LEAF, 0, &a, &b, &c, &d) && (d & BF16) && (d & TILE);
}

/* Tiles are 8 KiB of state of a thread, which Linux saves for those who have asked. */
static bool linux_gives_amx(void)
{
#if defined __linux__ && defined SYS_arch_prctl
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static void detect(struct use *use)
{
    const int wanted = wanted_name();
    use->level = best_of_machine();
    use->bf16 = use->level == HR_ISA_V4 && __builtin_cpu_supports("avx512bf16") && wanted >= V4BF16;
    const bool amx = use->bf16 && wanted >= V4AMX && processor_has_amx();
    use->amx = amx && linux_gives_amx();
    was_refused = amx && !use->amx;
    if (wanted < (int)use->level)
        use->level = (enum hr_isa)wanted;
}
#else
static void detect(struct use *use)
{
#ifdef __aarch64__
    use->level = wanted_name() == HR_ISA_PLAIN ? HR_ISA_PLAIN : HR_ISA_NEON;
#else
    use->level = HR_ISA_PLAIN;
#endif
}
#endif

/* Before main, so that no thread ever sees it change. */
__attribute__((constructor)) static void start(void)
{
    detect(&at_start);
    at_start.sums_as_amx = at_start.amx || wanted_name() == V4AMX;
    now = at_start;
}

enum hr_isa hr_isa(void)
{
    return now.level;
}

const char *hr_isa_level_name(enum hr_isa level)
{
    return names[level];
}

const char *hr_isa_full_name(void)
{
    return hr_isa_has_amx() ? names[V4AMX] : now.bf16 ? names[V4BF16] : names[now.level];
}

const char *hr_isa_name(void)
{
    return names[now.level];
}

bool hr_isa_has_bf16(void)
{
    return now.bf16;
}

bool hr_isa_has_amx(void)
{
    return now.amx && now.sums_as_amx;
}

bool hr_isa_was_refused_amx(void)
{
    return was_refused;
}

bool hr_isa_sums_as_amx(void)
{
    return now.sums_as_amx;
}

const char *hr_isa_unknown(void)
{
    const char *wanted = getenv("HOGRING_ISA");
    return wanted && wanted_name() == NAMES ? wanted : NULL;
}

void hr_isa_lower(enum hr_isa level)
{
    now.level = level;
    now.bf16 = now.amx = false;
}

void hr_isa_sum_as_amx(bool yes)
{
    now.sums_as_amx = yes;
}

void hr_isa_restore(void)
{
    now = at_start;
}
