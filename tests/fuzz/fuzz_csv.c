#include "formats/columns.h"
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
    struct hr_columns columns = {0};
    static const char *const words[] = {"", "auto", "1"}, *const missing[] = {"refuse", "mean",
                                                                              "drop"};
    const unsigned w = fuzz_choice(&data, &size, 3), m = fuzz_choice(&data, &size, 3);
    char *recipe = NULL;
    hr_data_defaults(&options);
    strcpy(options.header, settings[i].header);
    strcpy(options.label_column, settings[i].column);
    strcpy(options.one_hot, words[w]);
    strcpy(options.missing, missing[m]);
    if (hr_csv_parse("csv", (const char *)data, size, &options, &columns, &labels, &table) ==
            HR_OK &&
        hr_labels_finish(&labels, "csv", &classes) != HR_OK)
        abort();
    if (columns.count && !columns.plain && hr_columns_write(&columns, "csv", &recipe) == HR_OK) {
        struct hr_columns again;
        if (hr_columns_read("csv", recipe, &again) != HR_OK || again.width != columns.width)
            abort();
        hr_columns_free(&again);
    }
    free(recipe);
    hr_columns_free(&columns);
    hr_table_free(&table);
    hr_classes_free(&classes);
    hr_labels_free(&labels);
    return 0;
}
