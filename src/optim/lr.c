#include "optim/lr.h"

#include <math.h>
#include <string.h>

enum { NKINDS = 2 };

static const char *const names[NKINDS] = {
    [HR_LR_CONSTANT] = "constant",
    [HR_LR_COSINE] = "cosine",
};

enum hr_status hr_lr_kind_parse(const char *name, enum hr_lr_kind *out)
{
    for (int kind = 0; kind < NKINDS; kind++) {
        if (strcmp(names[kind], name) != 0)
            continue;
        *out = (enum hr_lr_kind)kind;
        return HR_OK;
    }
    return hr_fail(HR_E_USAGE, "learning rate schedule \"%.40s\": expected %s or %s", name,
                   names[HR_LR_CONSTANT], names[HR_LR_COSINE]);
}

const char *hr_lr_kind_name(enum hr_lr_kind kind)
{
    return names[kind];
}

/* Half a wave from the peak at the end of the warm-up to 0 at the end of the run, and 0 from
 * there on. */
static double cosine(const struct hr_lr_schedule *schedule, double epoch)
{
    static const double pi = 3.14159265358979323846;
    const double length = schedule->epochs - schedule->warmup_epochs;
    if (!(epoch < schedule->epochs))
        return 0.0;
    return schedule->peak * (1.0 + cos(pi * (epoch - schedule->warmup_epochs) / length)) / 2.0;
}

float hr_lr_at(const struct hr_lr_schedule *schedule, double epoch, double step)
{
    if (epoch < schedule->warmup_epochs)
        return (float)fmin(schedule->peak,
                           schedule->peak * (epoch + step) / schedule->warmup_epochs);
    return (float)(schedule->kind == HR_LR_COSINE ? cosine(schedule, epoch) : schedule->peak);
}
