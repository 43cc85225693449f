#include "base/clock.h"

int64_t hr_clock_offset_ns;
