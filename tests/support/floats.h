/* floats.h - numbers that tests fill networks with. */
#ifndef HR_TESTS_SUPPORT_FLOATS_H
#define HR_TESTS_SUPPORT_FLOATS_H

#include <stdlib.h>

#include "base/philox.h"
#include "support/check.h"

/* From -1 to 1: the i-th of a stream, other ones for each seed of the tests. */
static inline float draw(size_t i, uint32_t stream)
{
    return 2 * hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, stream).v[0]) - 1;
}

/* (count) zeroed, and one more, so that there is memory for none; free() it. */
static inline float *floats(size_t count)
{
    float *out = calloc(count + 1, sizeof *out);
    assert_non_null(out);
    return out;
}

#endif
