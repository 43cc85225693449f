#include "formats/npy.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_labels labels = {0};
    struct hr_table table = {0};
    struct hr_npy npy;
    if (hr_npy_parse("npy", data, size, &npy) == HR_OK) {
        if (hr_npy_take_features("npy", &npy, &table) != HR_OK) {
            hr_table_free(&table);
            table.count = npy.count;
        }
        if (hr_npy_take_labels("npy", &npy, &labels, &table) != HR_OK)
            table.count = 0;
    }
    hr_table_free(&table);
    hr_labels_free(&labels);
    return 0;
}
