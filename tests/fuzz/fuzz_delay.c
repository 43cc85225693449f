#include "fuzz/fuzz.h"
#include "netsim/delay.h"

/* trace:FILE would open files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char again[HR_DELAY_TEXT];
    struct hr_delay delay;
    if (!strstr(text, "trace") && hr_delay_parse("", text, &delay) == HR_OK) {
        for (uint64_t step = 0; step < 4; step++)
            if (hr_delay_ps(&delay, 1, 0, step) < 0)
                abort();
        hr_delay_text(&delay, again);
        hr_delay_fini(&delay);
    }
    free(text);
    return 0;
}
