#include "session/carve.h"

#include "base/size.h"
#include "shm/atom.h"

void *hr_carve(struct hr_carver *carver, const char *name, size_t bytes)
{
    void *at = carver->base ? carver->base + carver->used : NULL;
    carver->used += hr_round_up(bytes, HR_LINE);
    if (carver->needs)
        hr_needs_add(carver->needs, name, 1, hr_round_up(bytes, HR_LINE));
    return at;
}

float *hr_carve_arena(struct hr_carver *carver, const char *name, size_t floats)
{
    enum { SKEW_LINES = 9 };
    carver->used += SKEW_LINES * HR_LINE;
    return hr_carve(carver, name, hr_round_up(floats * sizeof(float), 4096));
}
