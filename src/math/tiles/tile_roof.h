/* tile_roof.h - the compute roof: what register tiles do out of L1, with all threads at once.
 *
 * Every thread multiplies the same tile (micro.h, micro_bf16.h, micro_amx.h) again and again until
 * a common time has come, and what they have done by then is added up. So threads that start late,
 * or share a processor, count for what they did; a rate times the number of threads would not.
 *
 * Threads: one thread measures; it starts a team (kernels/team.h).
 * Test: tests/unit/products/test_roofs.c
 */
#ifndef HR_TILES_TILE_ROOF_H
#define HR_TILES_TILE_ROOF_H

#include <stddef.h>

/* What is multiplied: a row here and in tile_roof.c each. */
enum hr_roof_kind { HR_ROOF_FLOAT32, HR_ROOF_BFLOAT16, HR_ROOF_KINDS };

/* "float32", "bfloat16": products of these, sums in float32 */
const char *hr_roof_kind_name(enum hr_roof_kind kind);

/* Operations a second, two a multiply-add, of all threads together; takes a fifth more than
 * `seconds` (> 0), of which the first bring the threads to their processors. With the reference
 * kernels it is their tile. 1 <= threads <= HR_TEAM_MAX. */
double hr_tile_roof(enum hr_roof_kind kind, size_t threads, double seconds);

#endif
