/* layers.h - results of `hogring bench layers` and `hogring bench train`, for people. */
#ifndef HR_REPORT_LAYERS_H
#define HR_REPORT_LAYERS_H

#include <stdio.h>

#include "hogring/train.h"
#include "nn/profile.h"

/* Lines that begin with #: the roofs. */
void hr_roofs_print(FILE *out, const struct hr_roofs *roofs);

/* The table, the totals, and a sentence on what limits the step. */
void hr_layers_print(FILE *out, const struct hr_profile *profile);

/* One model of `hogring bench train`. */
struct hr_speed_row {
    const char *model;           /* as asked for */
    struct hr_run_result result; /* of training; its curve is not owned */
    double madds;                /* of a sample, forward and backward */
    double roof_flops;           /* all workers' threads together, measured beside it */
};

/* FLOP/s reached, and its share of the roof (target T4: 0.65 to 0.88). */
double hr_speed_flops(const struct hr_speed_row *row);
double hr_speed_share(const struct hr_speed_row *row);

/* Time of all workers by what they did; together 1. */
enum hr_speed_part {
    HR_SPEED_LOAD,
    HR_SPEED_FORWARD,
    HR_SPEED_BACKWARD,
    HR_SPEED_UPDATE,
    HR_SPEED_COMMUNICATE,
    HR_SPEED_WAIT,
    HR_SPEED_PARTS
};
void hr_speed_parts(const struct hr_run_result *result, double share[HR_SPEED_PARTS]);

void hr_speed_print_head(FILE *out);
void hr_speed_print(FILE *out, const struct hr_speed_row *row);

#endif
