#include "formats/csv.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        const char *header, *column;
    } settings[] = {{"auto", ""},  {"yes", ""}, {"no", ""},
                    {"auto", "y"}, {"no", "1"}, {"auto", "2"}};
    const unsigned i = fuzz_choice(&data, &size, sizeof settings / sizeof *settings);
    struct hr_data_options options;
    struct hr_labels labels = {0};
    struct hr_classes classes = {0};
    struct hr_table table = {0};
    hr_data_defaults(&options);
    strcpy(options.header, settings[i].header);
    strcpy(options.label_column, settings[i].column);
    if (hr_csv_parse("csv", (const char *)data, size, &options, &labels, &table) == HR_OK &&
        hr_labels_finish(&labels, "csv", &classes) != HR_OK)
        abort();
    hr_table_free(&table);
    hr_classes_free(&classes);
    hr_labels_free(&labels);
    return 0;
}
