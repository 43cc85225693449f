#include "base/clock.h"

int64_t hr_clock_offset_ns;
int64_t (*hr_clock_of_run)(clockid_t clock);
