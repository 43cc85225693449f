#include "fuzz/fuzz.h"
#include "predict/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        const char *header, *column, *names;
        size_t features, label;
    } settings[] = {{"auto", "", "a,b", 2, 3}, {"auto", "", "", 2, 1}, {"auto", "", "", 0, 0},
                    {"yes", "y", "b,a", 2, 0}, {"no", "2", "", 2, 0},  {"auto", "", "0,1", 2, 9}};
    const unsigned i = fuzz_choice(&data, &size, sizeof settings / sizeof *settings);
    const size_t n = settings[i].features;
    struct hr_model_input input = {
        .shape = {n, n != 0, n != 0}, .label = settings[i].label, .label_name = "kind"};
    struct hr_data_options options;
    struct hr_table table = {0};
    hr_data_defaults(&options);
    strcpy(options.header, settings[i].header);
    strcpy(options.label_column, settings[i].column);
    if (settings[i].names[0] && hr_class_list_add("model", settings[i].names, &input.names))
        abort();
    if (hr_csv_samples_parse("new.csv", (const char *)data, size, &options, "model", &input,
                             &table) == HR_OK &&
        (!table.count || !table.shape.channels || (n && table.shape.channels != n)))
        abort();
    hr_table_free(&table);
    hr_model_input_free(&input);
    return 0;
}
