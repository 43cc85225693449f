/* Norms over blocks: their bits depend on the values alone. */
#include "base/size.h"
#include "optim/rules.h"

size_t hr_norm_block_end(const struct hr_param_segment *segment, size_t at)
{
    return hr_min_size((at / HR_NORM_BLOCK + 1) * HR_NORM_BLOCK, segment->begin + segment->count);
}

double hr_norm_block_squares(const float *x, size_t count)
{
    return hr_optimizer_table()->sum_squares(x, count);
}

double hr_norm_squares(const float *x, const struct hr_param_segment *segment)
{
    const struct hr_optimizer_table *table = hr_optimizer_table();
    double sum = 0;
    for (size_t at = segment->begin, end; at < segment->begin + segment->count; at = end) {
        end = hr_norm_block_end(segment, at);
        sum += table->sum_squares(x + at, end - at);
    }
    return sum;
}
