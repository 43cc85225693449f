#include "data/gzip_stream.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hr_gzip_stream stream;
    static char out[4096];
    const size_t at_once = (size_t)1 << fuzz_choice(&data, &size, 13);
    size_t got = at_once, most = 1 << 20;
    uint8_t *exact = malloc(size + 1);
    memcpy(exact, data, size);
    if (hr_gzip_stream_open_memory("gz", exact, size, &stream) == HR_OK) {
        while (got == at_once && most > got &&
               hr_gzip_stream_read(&stream, out, at_once, &got) == HR_OK)
            most -= got;
        hr_gzip_stream_close(&stream);
    }
    free(exact);
    return 0;
}
