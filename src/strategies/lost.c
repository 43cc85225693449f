#include "strategies/lost.h"

#include <stdbool.h>
#include <string.h>

#include "base/philox.h"

size_t hr_lost_line(size_t params, size_t worker, uint64_t push)
{
    const uint64_t lines = (params + HR_LOST_FLOATS - 1) / HR_LOST_FLOATS;
    const struct hr_philox drawn = hr_random_block(0, HR_STREAM_LOST, push, (uint32_t)worker);
    return (size_t)(drawn.v[0] * lines >> 32) * HR_LOST_FLOATS;
}

/* Store a pair; did it overwrite another one than `loaded`? */
static bool overwrites(struct hr_atom64 *live, struct hr_float_pair loaded,
                       struct hr_float_pair next)
{
    const struct hr_float_pair found = hr_hogwild_exchange_relaxed(live, next);
    return memcmp(&found, &loaded, sizeof found) != 0;
}

void hr_lost_store(struct hr_lost *lost, struct hr_atom64 *live, const float *loaded,
                   const float *next, size_t count)
{
    const size_t whole = count / 2;
    struct hr_float_pair before, after;
    uint64_t overwritten = 0;
    for (size_t i = 0; i < whole; i++) {
        memcpy(&before, loaded + 2 * i, sizeof before);
        memcpy(&after, next + 2 * i, sizeof after);
        overwritten += overwrites(&live[i], before, after);
    }
    if (count % 2)
        overwritten += overwrites(&live[whole], (struct hr_float_pair){loaded[count - 1], 0},
                                  (struct hr_float_pair){next[count - 1], 0});
    lost->lost += overwritten;
    lost->pairs += (count + 1) / 2;
    lost->lines++;
}
