/* digest.h - XXH3-64 of bytes, and its one spelling: 16 lower-case hex digits. */
#ifndef HR_CHECKPOINT_DIGEST_H
#define HR_CHECKPOINT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hr_digest_text {
    char hex[17];
};

uint64_t hr_digest64(const void *data, size_t bytes);
struct hr_digest_text hr_digest64_text(uint64_t digest);

/* False, and *digest untouched, unless text is exactly such a spelling. */
bool hr_digest64_parse(const char *text, uint64_t *digest);

#endif
