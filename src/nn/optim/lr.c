#include "optim/lr.h"

#include <math.h>
#include <string.h>

enum { NKINDS = 4 };

static const char *const names[NKINDS] = {
    [HR_LR_CONSTANT] = "constant",
    [HR_LR_STEP] = "step",
    [HR_LR_COSINE] = "cosine",
    [HR_LR_LINEAR] = "linear",
};

enum hr_status hr_lr_kind_parse(const char *name, enum hr_lr_kind *out)
{
    for (int kind = 0; kind < NKINDS; kind++) {
        if (strcmp(names[kind], name) != 0)
            continue;
        *out = (enum hr_lr_kind)kind;
        return HR_OK;
    }
    return hr_fail(HR_E_USAGE, "--lr-schedule %.40s: expected constant, step, cosine or linear",
                   name);
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

/* A straight line from the peak at the end of the warm-up to 0 at the end of the run. */
static double linear(const struct hr_lr_schedule *schedule, double epoch)
{
    if (!(epoch < schedule->epochs))
        return 0.0;
    return schedule->peak * (schedule->epochs - epoch) /
           (schedule->epochs - schedule->warmup_epochs);
}

static double after_warmup(const struct hr_lr_schedule *schedule, double epoch)
{
    switch (schedule->kind) {
    case HR_LR_STEP:
        return schedule->peak * pow(schedule->gamma, floor(epoch / schedule->step_epochs));
    case HR_LR_COSINE:
        return cosine(schedule, epoch);
    case HR_LR_LINEAR:
        return linear(schedule, epoch);
    case HR_LR_CONSTANT:
        break;
    }
    return schedule->peak;
}

float hr_lr_at(const struct hr_lr_schedule *schedule, double epoch, double step)
{
    if (epoch < schedule->warmup_epochs)
        return (float)fmin(schedule->peak,
                           schedule->peak * (epoch + step) / schedule->warmup_epochs);
    return (float)after_warmup(schedule, epoch);
}
