/* layers.h - results of `hogring bench layers`, for people. */
#ifndef HR_REPORT_LAYERS_H
#define HR_REPORT_LAYERS_H

#include <stdio.h>

#include "nn/profile.h"

/* Lines that begin with #: the roofs. */
void hr_roofs_print(FILE *out, const struct hr_roofs *roofs);

/* The table, the totals, and a sentence on what limits the step. */
void hr_layers_print(FILE *out, const struct hr_profile *profile);

#endif
