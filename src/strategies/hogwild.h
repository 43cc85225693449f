/* hogwild.h - the entries of a Hogwild worker's log. */
#ifndef HR_STRATEGIES_HOGWILD_H
#define HR_STRATEGIES_HOGWILD_H

#include <stdint.h>

/* Part of the trace format. Entries of a step come in this order; CUT is in the place of a step. */
enum hr_hogwild_input {
    HR_HOGWILD_BATCH,     /* value: its index */
    HR_HOGWILD_SKEW,      /* clocks ahead of the slowest */
    HR_HOGWILD_PULL,      /* for each block: its ticket */
    HR_HOGWILD_STALENESS, /* pushes of others since; duration: of the gradient */
    HR_HOGWILD_PUSH,      /* for each block: its ticket */
    HR_HOGWILD_CUT,       /* no batch */
};

/* "batch", ..., or "unknown". */
const char *hr_hogwild_input_name(uint32_t kind);

#endif
