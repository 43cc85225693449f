#include "kernels/select.h"

#include <string.h>

#include "base/isa.h"

#ifdef HR_NO_BLAS

enum hr_status hr_kernels_select(enum hr_kernels kernels)
{
    if (kernels != HR_KERNELS_REFERENCE)
        return hr_fail(HR_E_USAGE, "kernels \"%s\": this build has no BLAS, only \"reference\"",
                       kernels == HR_KERNELS_FAST     ? "fast"
                       : kernels == HR_KERNELS_DIRECT ? "direct"
                                                      : "openblas");
    return HR_OK;
}

bool hr_kernels_are_reference(void)
{
    return true;
}

bool hr_kernels_use_blas(void)
{
    return false;
}

bool hr_kernels_use_winograd(void)
{
    return false;
}

#else

static enum hr_kernels selected = HR_KERNELS_FAST;

enum hr_status hr_kernels_select(enum hr_kernels kernels)
{
    selected = kernels;
    return HR_OK;
}

bool hr_kernels_use_blas(void)
{
    return selected == HR_KERNELS_OPENBLAS ||
           (selected != HR_KERNELS_REFERENCE && hr_isa() == HR_ISA_PLAIN);
}

bool hr_kernels_use_winograd(void)
{
    return selected == HR_KERNELS_FAST && hr_isa() != HR_ISA_PLAIN;
}

bool hr_kernels_are_reference(void)
{
    return selected == HR_KERNELS_REFERENCE;
}

#endif

enum hr_status hr_kernels_select_named(const char *name, bool bf16)
{
#ifdef HR_NO_BLAS
    const enum hr_kernels fast_here = HR_KERNELS_REFERENCE, direct_here = HR_KERNELS_REFERENCE;
#else
    const enum hr_kernels fast_here = HR_KERNELS_FAST, direct_here = HR_KERNELS_DIRECT;
#endif
    if (!strcmp(name, "fast"))
        return hr_kernels_select(fast_here);
    if (!strcmp(name, "direct"))
        return hr_kernels_select(direct_here);
    if (!strcmp(name, "reference"))
        return hr_kernels_select(HR_KERNELS_REFERENCE);
    if (!strcmp(name, "openblas") && bf16)
        return hr_fail(HR_E_USAGE,
                       "--kernels openblas: has no products of bfloat16 values; expected fast, "
                       "direct or reference with --precision bf16");
    if (!strcmp(name, "openblas"))
        return hr_kernels_select(HR_KERNELS_OPENBLAS);
    return hr_fail(HR_E_USAGE, "--kernels %s: expected fast, direct, reference or openblas", name);
}
