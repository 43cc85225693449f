#include "formats/cifar.h"
#include "fuzz/fuzz.h"

/* An input stands for the labels of a few records: the pixels say nothing to the parser. What is
 * left over makes the file too long. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hr_cifar_kind *kind = fuzz_choice(&data, &size, 2) ? &hr_cifar_100 : &hr_cifar_10;
    const size_t record = kind->label_bytes + 3072, labels_size = size > 64 ? 64 : size;
    const size_t records = labels_size / kind->label_bytes;
    const size_t excess = labels_size % kind->label_bytes + (size > 64 ? size - 64 : 0);
    struct hr_array pixels = {0}, labels = {0};
    uint8_t *file = calloc(records * record + excess + 1, 1);
    for (size_t i = 0; file && i < records; i++)
        memcpy(file + i * record, data + i * kind->label_bytes, kind->label_bytes);
    if (file &&
        hr_cifar_parse("cifar", file, records * record + excess, kind, &pixels, &labels) == HR_OK &&
        labels.bytes != 4 * records)
        abort();
    free(pixels.data);
    free(labels.data);
    free(file);
    return 0;
}
