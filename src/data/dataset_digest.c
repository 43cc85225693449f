/* The digest of a data set: the same for the same samples, in whatever format they came. */
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "data/format.h"
#include "data/tokens.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are digested as they lie");

static void add_size(XXH3_state_t *state, size_t size)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)size >> 8 * i);
    XXH3_128bits_update(state, bytes, sizeof bytes);
}

/* A byte each where that is enough. */
static void add_labels(XXH3_state_t *state, const struct hr_split *split, size_t classes)
{
    uint8_t block[1024];
    size_t used = 0;
    if (classes > 256) {
        XXH3_128bits_update(state, split->labels, split->count * sizeof *split->labels);
        return;
    }
    for (size_t i = 0; i < split->count; i++) {
        block[used++] = (uint8_t)split->labels[i];
        if (used == sizeof block || i + 1 == split->count) {
            XXH3_128bits_update(state, block, used);
            used = 0;
        }
    }
}

/* The values that were read, in the samples' order, wherever their rows stand. */
static void add_targets(XXH3_state_t *state, const struct hr_targets *targets,
                        const struct hr_split *split)
{
    add_size(state, SIZE_MAX - targets->count); /* no number of samples */
    for (size_t i = 0; i < split->count; i++)
        XXH3_128bits_update(state, targets->values + split->labels[i] * targets->count,
                            targets->count * sizeof *targets->values);
}

/* Of the channels that floats are not enough for. */
static void add_exact(XXH3_state_t *state, const struct hr_dataset *dataset,
                      const struct hr_split *split)
{
    const size_t elems = hr_shape_elems(dataset->shape), pixels = elems / dataset->shape.channels;
    for (size_t i = 0; i < split->count * elems; i++) {
        const double value = split->exact ? split->exact[i] : (double)split->values[i];
        if (dataset->rounding[i % elems / pixels].distinct)
            XXH3_128bits_update(state, &value, sizeof value);
    }
}

/* Each with as few bytes as all there may be need, however wide they stand in memory. */
static void add_tokens(XXH3_state_t *state, const struct hr_dataset *dataset,
                       const struct hr_split *split)
{
    const struct hr_tokens *tokens = &dataset->tokens;
    const struct hr_vocabulary vocabulary = {.count = dataset->classes};
    const size_t width = hr_vocabulary_width(&vocabulary);
    char block[4096];
    size_t used = 0;
    if (width == tokens->width) {
        XXH3_128bits_update(state, (const char *)tokens->ids + split->first * width,
                            (split->end - split->first) * width);
        return;
    }
    for (size_t i = split->first; i < split->end; i++) {
        const uint32_t token = hr_token(tokens, i);
        memcpy(block + used, &token, width);
        used += width;
        if (used == sizeof block || i + 1 == split->end) {
            XXH3_128bits_update(state, block, used);
            used = 0;
        }
    }
}

static void add_split(XXH3_state_t *state, const struct hr_dataset *dataset,
                      const struct hr_split *split)
{
    const size_t elems = split->count * hr_shape_elems(dataset->shape);
    add_size(state, split->count);
    switch (dataset->features) {
    case HR_FEATURES_BYTES:
        XXH3_128bits_update(state, split->pixels, elems);
        break;
    case HR_FEATURES_FLOATS:
        XXH3_128bits_update(state, split->values, elems * sizeof *split->values);
        if (dataset->rounding)
            add_exact(state, dataset, split);
        break;
    case HR_FEATURES_SPARSE:
        XXH3_128bits_update(state, split->rows, (split->count + 1) * sizeof *split->rows);
        XXH3_128bits_update(state, split->columns,
                            split->rows[split->count] * sizeof *split->columns);
        XXH3_128bits_update(state, split->values,
                            split->rows[split->count] * sizeof *split->values);
        break;
    case HR_FEATURES_TOKENS:
        add_tokens(state, dataset, split);
        return;
    }
    if (dataset->targets.count)
        add_targets(state, &dataset->targets, split);
    else
        add_labels(state, split, dataset->classes);
}

/* Sizes go first, so that no two data sets feed the same bytes. */
enum hr_status hr_dataset_digest(const struct hr_dataset *dataset, char digest[33])
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return hr_fail(HR_E_NOMEM, "%s: no memory for a digest", dataset->name);
    XXH3_128bits_reset(state);
    if (dataset->features != HR_FEATURES_BYTES)
        add_size(state, SIZE_MAX - dataset->features);
    add_size(state, dataset->shape.channels);
    add_size(state, dataset->shape.height);
    add_size(state, dataset->shape.width);
    add_split(state, dataset, &dataset->train);
    add_split(state, dataset, &dataset->test);
    if (dataset->validation.count)
        add_split(state, dataset, &dataset->validation);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    for (size_t i = 0; i < sizeof canonical.digest; i++)
        snprintf(digest + 2 * i, 3, "%02x", canonical.digest[i]);
    return HR_OK;
}
