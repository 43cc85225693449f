#include "hogring/data.h"

#include "base/error.h"

static void scale_bytes(float *restrict x, const uint8_t *restrict bytes, float scale, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = scale * (float)bytes[i];
}

void hr_dataset_gather(const struct hr_dataset *dataset, const struct hr_split *split,
                       const uint32_t *samples, size_t n, float *x, uint8_t *y)
{
    const size_t features = hr_shape_elems(dataset->shape);
    for (size_t i = 0; i < n; i++) {
        HR_ASSERT(samples[i] < split->count);
        scale_bytes(x + i * features, split->pixels + samples[i] * features, dataset->scale,
                    features);
        y[i] = split->labels[samples[i]];
    }
}
