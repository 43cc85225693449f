#include "trace/pick.h"

#include "base/philox.h"

static size_t pick_in_turn(struct hr_picker *picker, const unsigned char *enabled, size_t ninputs)
{
    for (size_t hop = 1; hop <= ninputs; hop++) {
        const size_t input = (picker->last + hop) % ninputs;
        if (enabled[input]) {
            picker->last = input;
            return input;
        }
    }
    return ninputs;
}

static size_t pick_by_seed(const struct hr_picker *picker, const unsigned char *enabled,
                           size_t ninputs)
{
    size_t count = 0;
    for (size_t i = 0; i < ninputs; i++)
        count += enabled[i] != 0;
    if (count == 0)
        return ninputs;
    const struct hr_philox random =
        hr_random_block(picker->seed, HR_STREAM_SCHEDULE, picker->taken, 0);
    size_t skip = random.v[0] % count, input = 0;
    for (; !enabled[input] || skip > 0; input++)
        skip -= enabled[input] != 0;
    return input;
}

static size_t pick(struct hr_picker *picker, const unsigned char *enabled, size_t ninputs)
{
    switch (picker->kind) {
    case HR_PICK_FREE:
        return pick_in_turn(picker, enabled, ninputs);
    case HR_PICK_EXPLORE:
        return pick_by_seed(picker, enabled, ninputs);
    default:
        return picker->choose(picker->arg, enabled, ninputs);
    }
}

size_t hr_pick(struct hr_picker *picker, const unsigned char *enabled, size_t ninputs)
{
    const size_t input = pick(picker, enabled, ninputs);
    picker->taken += input < ninputs;
    return input;
}
