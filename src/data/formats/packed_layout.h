/* packed_layout.h - packed.h's table of bytes as C, for the reader and the writer. */
#ifndef HR_FORMATS_PACKED_LAYOUT_H
#define HR_FORMATS_PACKED_LAYOUT_H

#include <stdint.h>
#include <string.h>

#include "formats/packed.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the header is copied as it lies");

#define HR_PACKED_MAGIC "\x89HRP\r\n\x1a\n"

struct hr_packed_section {
    uint64_t offset, bytes, xxh3;
};

struct hr_packed_header {
    char magic[8];
    uint32_t version, features;
    uint64_t shape[3], classes;
    float scale;
    uint32_t targets;
    uint8_t digest[16];
    uint64_t counts[2];
    struct hr_packed_section sections[HR_PACKED_SECTIONS];
    uint8_t zeros[200];
    uint64_t xxh3;
};

_Static_assert(sizeof(struct hr_packed_header) == HR_PACKED_HEADER_BYTES, "as packed.h says");

enum { HR_PACKED_DATA, HR_PACKED_ROWS, HR_PACKED_COLUMNS, HR_PACKED_LABELS, HR_PACKED_NAMES = 8 };

#endif
