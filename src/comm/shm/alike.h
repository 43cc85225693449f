/* alike.h - bytes of the segment that are alike on all machines of a run, behind a meeting of their
 * ranks (machines/meet.h).
 */
#ifndef HR_SHM_ALIKE_H
#define HR_SHM_ALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HR_AREA_UNIT = 4096 };

struct hr_area {
    size_t offset, bytes;
    size_t unit;     /* 1 .. HR_AREA_UNIT, a power of two; bytes need be no multiple */
    bool for_first;  /* machine 0 alone wants to know */
    uint32_t stages; /* bit s: it is compared at meetings of stage s; 0: at all */
};

#endif
