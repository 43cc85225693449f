#include "fuzz/fuzz.h"
#include "options/command_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hr_cli cli;
    const bool compare = fuzz_choice(&data, &size, 2);
    char *text = fuzz_text(data, size);
    hr_cli_defaults(&cli);
    const enum hr_status status =
        hr_config_parse(&cli, compare ? HR_COMPARE : HR_TRAIN, "folder/file", text);
    (void)status;
    free(text);
    return 0;
}
