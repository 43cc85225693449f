#include "fuzz/fuzz.h"
#include "nn/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hr_shape shapes[] = {{1, 28, 28}, {3, 32, 32}, {7, 1, 1}};
    const struct hr_shape shape = shapes[fuzz_choice(&data, &size, 3)];
    struct hr_model *model;
    char *text = fuzz_text(data, size);
    if (hr_model_create(text, shape, 10, &model) == HR_OK)
        hr_model_destroy(model);
    free(text);
    return 0;
}
