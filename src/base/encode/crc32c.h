/* crc32c.h - CRC-32C (Castagnoli): polynomial 0x1edc6f41, reflected 0x82f63b78, begun and ended
 * with all bits turned. Of "123456789" it is 0xe3069283.
 *
 * Test: tests/unit/encode/test_crc32c.c
 */
#ifndef HR_ENCODE_CRC32C_H
#define HR_ENCODE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` is the checksum of (0: of nothing) with `bytes` bytes behind it. */
uint32_t hr_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
