#include "formats/libsvm.h"
#include "fuzz/fuzz.h"

/* Two files of one data set are alike here. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const bases[] = {"auto", "0", "1"};
    const unsigned i = fuzz_choice(&data, &size, 6);
    struct hr_data_options options;
    struct hr_labels labels = {0};
    struct hr_table train = {0}, test = {0}, more = {0}, held = {0};
    struct hr_table *const tables[HR_LIBSVM_TABLES] = {&train, &test, &more};
    hr_data_defaults(&options);
    strcpy(options.index_base, bases[i % 3]);
    options.feature_count = i < 3 ? 0 : 8;
    if (hr_libsvm_parse("libsvm", (const char *)data, size, &labels, &train) == HR_OK &&
        hr_libsvm_shift("libsvm", &options, tables) == HR_OK &&
        hr_table_hold_out("libsvm", "random", true, &train, 0.3, &held) == HR_OK && held.count == 0)
        abort();
    hr_table_free(&train);
    hr_table_free(&held);
    hr_labels_free(&labels);
    return 0;
}
