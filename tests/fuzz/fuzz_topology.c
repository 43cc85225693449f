#include "fuzz/fuzz.h"
#include "netsim/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct hr_topology topology;
    if (hr_topology_parse("net", text, &topology) == HR_OK)
        hr_topology_fini(&topology);
    free(text);
    return 0;
}
