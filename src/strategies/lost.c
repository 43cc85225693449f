#include "strategies/lost.h"

#include <string.h>

#include "base/philox.h"

size_t hr_lost_line(size_t params, size_t worker, uint64_t push)
{
    const uint64_t lines = (params + HR_LOST_FLOATS - 1) / HR_LOST_FLOATS;
    const struct hr_philox drawn = hr_random_block(0, HR_STREAM_LOST, push, (uint32_t)worker);
    return (size_t)(drawn.v[0] * lines >> 32) * HR_LOST_FLOATS;
}

static struct hr_float_pair pair_of(const float *floats, size_t pair, size_t count)
{
    return (struct hr_float_pair){floats[2 * pair],
                                  2 * pair + 1 < count ? floats[2 * pair + 1] : 0.0f};
}

void hr_lost_store(struct hr_lost *lost, struct hr_atom64 *live, const float *loaded,
                   const float *next, size_t count)
{
    const size_t pairs = (count + 1) / 2;
    for (size_t i = 0; i < pairs; i++) {
        const struct hr_float_pair expected = pair_of(loaded, i, count);
        const struct hr_float_pair found =
            hr_hogwild_exchange_relaxed(&live[i], pair_of(next, i, count));
        lost->lost += memcmp(&found, &expected, sizeof found) != 0;
    }
    lost->pairs += pairs;
    lost->lines++;
}
