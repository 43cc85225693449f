#include "formats/idx.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_idx idx = {0};
    const size_t ndim = 1 + fuzz_choice(&data, &size, HR_IDX_MAX_DIMS);
    if (hr_idx_read_memory("idx", data, size, ndim, &idx) == HR_OK && !idx.data)
        abort();
    hr_idx_free(&idx);
    return 0;
}
