#include <xxhash.h>

#include "formats/packed.h"
#include "fuzz/fuzz.h"

static void gather_all(const struct hr_dataset *dataset, const struct hr_split *split)
{
    const size_t features = hr_shape_elems(dataset->shape);
    float *x = features < 100000 ? malloc(features * sizeof *x) : NULL;
    uint32_t label;
    for (uint32_t i = 0; x && i < split->count; i++)
        hr_dataset_gather(dataset, split, &i, 1, x, &label);
    free(x);
}

/* The header's digest is made right, so that what stands behind that check is reached. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_storage storage = {0};
    struct hr_data_options options;
    struct hr_dataset dataset;
    uint8_t *file = aligned_alloc(64, (size + 64) & ~(size_t)63);
    memcpy(file, data, size);
    if (size >= 512) {
        const uint64_t digest = XXH3_64bits(file, 504);
        memcpy(file + 504, &digest, sizeof digest);
    }
    hr_data_defaults(&options);
    if (hr_packed_parse("packed", file, size, &storage) == HR_OK &&
        hr_dataset_finish("packed", &hr_format_packed, &options, &storage, &dataset) == HR_OK) {
        gather_all(&dataset, &dataset.train);
        gather_all(&dataset, &dataset.test);
    }
    hr_storage_free(&storage);
    free(file);
    return 0;
}
