#include "fuzz/fuzz.h"
#include "options/command_line.h"

/* NAME=VALUE, as of a command line, a file or a strategy's own settings. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hr_cli cli;
    const bool bench = fuzz_choice(&data, &size, 2);
    char *text = fuzz_text(data, size);
    char *value = strchr(text, '=');
    hr_cli_defaults(&cli);
    if (value) {
        *value++ = '\0';
        const enum hr_status status =
            hr_cli_set(&cli, bench ? HR_BENCH_COLLECTIVES : HR_TRAIN, text, value, "fuzz: ");
        (void)status;
    }
    free(text);
    return 0;
}
