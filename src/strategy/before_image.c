#include "strategy/before_image.h"

#include <string.h>

#include "base/size.h"

struct hr_before_image_part {
    alignas(HR_LINE) struct hr_atom64 kept; /* index + 1; 0: nothing */
};

static size_t weights_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(shared->params * sizeof(float), HR_LINE);
}

size_t hr_before_image_bytes(const struct hr_shared_state *shared, size_t nparts)
{
    const size_t state = hr_round_up(hr_state_floats(shared) * sizeof(float), HR_LINE);
    return shared->outlives
               ? nparts * sizeof(struct hr_before_image_part) + weights_bytes(shared) + state
               : 0;
}

struct hr_before_image hr_before_image_at(const struct hr_shared_state *shared, void *memory,
                                          size_t nparts)
{
    struct hr_before_image_part *part = memory;
    unsigned char *weights = (unsigned char *)(part + nparts);
    return (struct hr_before_image){
        .shared = shared,
        .part = part,
        .weights = (float *)(void *)weights,
        .state = (float *)(void *)(weights + weights_bytes(shared)),
    };
}

void hr_before_image_keep(const struct hr_before_image *image, size_t part, uint64_t index,
                          struct hr_range range, const float *weights, const float *state)
{
    const struct hr_shared_state *shared = image->shared;
    const size_t bytes = range.count * sizeof(float);
    memcpy(image->weights + range.begin, weights, bytes);
    for (size_t at = range.begin; at < hr_state_floats(shared); at += shared->params)
        memcpy(image->state + at, state + at, bytes);
    hr_atom64_store_release(&image->part[part].kept, index + 1); /* partner: has */
}

bool hr_before_image_has(const struct hr_before_image *image, size_t part, uint64_t index)
{
    return hr_atom64_load_acquire(&image->part[part].kept) == index + 1; /* partner: keep */
}

void hr_before_image_restore(const struct hr_before_image *image, struct hr_range range)
{
    const struct hr_shared_state *shared = image->shared;
    memcpy(shared->snapshot.weights + range.begin, image->weights + range.begin,
           range.count * sizeof(float));
    hr_export_state(shared, image->state, range.begin, range.count);
}
