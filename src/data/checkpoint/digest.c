#include "checkpoint/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hogring/checkpoint.h"

uint64_t hr_digest64(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

struct hr_digest_text hr_digest64_text(uint64_t digest)
{
    struct hr_digest_text text;
    snprintf(text.hex, sizeof text.hex, "%016" PRIx64, digest);
    return text;
}

bool hr_digest64_parse(const char *text, uint64_t *digest)
{
    const uint64_t value = strtoull(text, NULL, 16);
    /* Written again and compared: refuses signs, blanks, capitals and other lengths. */
    if (strcmp(hr_digest64_text(value).hex, text) != 0)
        return false;
    *digest = value;
    return true;
}

void hr_digest_floats(const float *data, size_t count, char out[33])
{
    const XXH128_hash_t hash = XXH3_128bits(data, count * sizeof *data);
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}
