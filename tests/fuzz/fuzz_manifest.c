#include <stdio.h>

#include "checkpoint/digest.h"
#include "checkpoint/manifest.h"
#include "fuzz/fuzz.h"

/* The input is all but the last line, which is made right: else nothing behind it is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_manifest manifest;
    char *text = malloc(size + 64);
    memcpy(text, data, size);
    const int tail = snprintf(text + size, 64, ",\n  \"xxh3_64\": \"%s\"\n}\n",
                              hr_digest64_text(hr_digest64(data, size)).hex);
    char *exact = malloc(size + (size_t)tail);
    memcpy(exact, text, size + (size_t)tail);
    if (hr_manifest_parse("manifest", exact, size + (size_t)tail, &manifest) == HR_OK)
        hr_manifest_free(&manifest);
    free(exact);
    free(text);
    return 0;
}
