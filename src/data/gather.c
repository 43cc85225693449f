#include <string.h>

#include "base/error.h"
#include "hogring/data.h"

static void scale_bytes(float *restrict x, const uint8_t *restrict bytes, float scale, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = scale * (float)bytes[i];
}

static void spread_pairs(float *restrict x, const struct hr_split *split, size_t sample,
                         size_t features)
{
    memset(x, 0, features * sizeof *x);
    for (size_t i = split->rows[sample]; i < split->rows[sample + 1]; i++)
        x[split->columns[i]] = split->values[i];
}

void hr_dataset_gather(const struct hr_dataset *dataset, const struct hr_split *split,
                       const uint32_t *samples, size_t n, float *x, uint32_t *y)
{
    const size_t features = hr_shape_elems(dataset->shape);
    for (size_t i = 0; i < n; i++, x += features) {
        const size_t sample = samples[i];
        HR_ASSERT(sample < split->count);
        switch (dataset->features) {
        case HR_FEATURES_BYTES:
            scale_bytes(x, split->pixels + sample * features, dataset->scale, features);
            break;
        case HR_FEATURES_FLOATS:
            memcpy(x, split->values + sample * features, features * sizeof *x);
            break;
        case HR_FEATURES_SPARSE:
            spread_pairs(x, split, sample, features);
        }
        y[i] = split->labels[sample];
    }
}
