/* lr.h - the learning rate as a pure function of how much of the data has been seen.
 *
 * Position is in epochs (samples seen / samples an epoch), so that strategies whose steps differ in
 * size follow the same curve. With w warm-up epochs of E epochs and peak rate p:
 *     warm-up   e < w:  p * (e + step) / w capped at p, where step is one step's share of an epoch
 *     constant  p
 *     step      p * gamma^floor(e / s): torch's StepLR of step size s, counted from the run's start
 *     linear    p * (E - e) / (E - w), and 0 from E on
 *     cosine    p * (1 + cos(pi * (e - w) / (E - w))) / 2, and 0 from E on
 */
#ifndef HR_OPTIM_LR_H
#define HR_OPTIM_LR_H

#include "base/error.h"

enum hr_lr_kind { HR_LR_CONSTANT, HR_LR_STEP, HR_LR_COSINE, HR_LR_LINEAR };

struct hr_lr_schedule {
    enum hr_lr_kind kind;
    double peak;
    double warmup_epochs;      /* 0: none */
    double epochs;             /* the whole run */
    double step_epochs, gamma; /* step: s > 0, gamma */
};

/* A kind by its name; HR_E_USAGE names the ones there are. */
HR_CHECKED enum hr_status hr_lr_kind_parse(const char *name, enum hr_lr_kind *out);
const char *hr_lr_kind_name(enum hr_lr_kind kind);

/* The rate of a step that begins at `epoch` and covers `step` epochs. Pure. */
float hr_lr_at(const struct hr_lr_schedule *schedule, double epoch, double step);

#endif
