#include "fuzz/fuzz.h"
#include "netsim/inject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned servers = fuzz_choice(&data, &size, 3);
    char *text = fuzz_text(data, size);
    char *repeated = malloc(size + 1);
    struct hr_inject inject;
    if (hr_inject_parse("", text, 4, servers, &inject) == HR_OK) {
        hr_inject_to_repeat(text, repeated, size + 1);
        if (hr_inject_ps(&inject, 1, 2, 3, 1000) < 0 || strlen(repeated) > strlen(text))
            abort();
    }
    free(repeated);
    free(text);
    return 0;
}
