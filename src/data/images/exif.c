/* The orientation in EXIF data: a TIFF file of few entries.
 *
 *     "II*\0" or "MM\0*", offset of the first directory
 *     directory: number of entries; each: tag, type, count, value (2, 2, 4, 4 bytes)
 */
#include <string.h>

#include "images/decoder.h"

enum { HEAD = 8, ENTRY = 12, TAG_ORIENTATION = 0x112, TYPE_SHORT = 3, UPRIGHT = 1, LAST = 8 };

struct reader {
    const uint8_t *data;
    size_t bytes;
    bool little;
};

static unsigned two(const struct reader *r, size_t at)
{
    const unsigned a = r->data[at], b = r->data[at + 1];
    return r->little ? a | b << 8 : a << 8 | b;
}

static size_t four(const struct reader *r, size_t at)
{
    const size_t first = two(r, at), second = two(r, at + 2);
    return r->little ? first | second << 16 : first << 16 | second;
}

bool hr_exif_is_turned(const uint8_t *data, size_t bytes)
{
    struct reader r = {data, bytes, bytes && data[0] == 'I'};
    if (bytes < HEAD || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0))
        return false;
    const size_t directory = four(&r, 4);
    if (directory > bytes || bytes - directory < 2)
        return false;
    size_t at = directory + 2;
    for (unsigned left = two(&r, directory); left && bytes - at >= ENTRY; left--, at += ENTRY)
        if (two(&r, at) == TAG_ORIENTATION && two(&r, at + 2) == TYPE_SHORT) {
            const unsigned orientation = two(&r, at + 8);
            return orientation > UPRIGHT && orientation <= LAST;
        }
    return false;
}
