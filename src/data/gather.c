#include <string.h>

#include "base/error.h"
#include "data/pixels.h"
#include "data/tokens.h"
#include "hogring/data.h"

/* Samples are scattered over memory: prefetch the row that is AHEAD of the current one. */
enum { AHEAD = 2, LINE = 64 };

/* Always inlined: gcc drops calls of a function that only prefetches. */
#define ASKING static inline __attribute__((always_inline)) void

ASKING ask_for_row(const void *row, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch((const char *)row + at);
}

ASKING ask_for_sample(const struct hr_dataset *dataset, const struct hr_split *split, size_t sample,
                      size_t features)
{
    if (dataset->features == HR_FEATURES_BYTES)
        ask_for_row(split->pixels + sample * features, features);
    else if (dataset->features == HR_FEATURES_FLOATS)
        ask_for_row(split->values + sample * features, features * sizeof *split->values);
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
    const struct hr_pixels *pixels = hr_pixels();
    const size_t features = hr_shape_elems(dataset->shape);
    if (dataset->features == HR_FEATURES_TOKENS) {
        hr_tokens_gather(&dataset->tokens, split, samples, n, 0, x, y);
        return;
    }
    for (size_t i = 0; i < n; i++) { /* a loop of its own: many of these loads overlap */
        HR_ASSERT(samples[i] < split->count);
        y[i] = split->labels[hr_split_row(split, samples[i])];
    }
    for (size_t i = 0; i < n; i++, x += features) {
        const size_t sample = hr_split_row(split, samples[i]);
        if (i + AHEAD < n)
            ask_for_sample(dataset, split, hr_split_row(split, samples[i + AHEAD]), features);
        switch (dataset->features) {
        case HR_FEATURES_BYTES:
            pixels->to_floats(x, split->pixels + sample * features, dataset->scale, features);
            break;
        case HR_FEATURES_FLOATS:
            memcpy(x, split->values + sample * features, features * sizeof *x);
            break;
        case HR_FEATURES_SPARSE:
            spread_pairs(x, split, sample, features);
            break;
        case HR_FEATURES_TOKENS:
            break;
        }
    }
}
