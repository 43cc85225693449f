#include "fuzz/fuzz.h"
#include "netsim/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct hr_link link;
    if (hr_link_parse("", text, &link) == HR_OK && !(link.bandwidth > 0 && link.latency_ps >= 0))
        abort();
    free(text);
    return 0;
}
