/* carried_group.h - a group whose ranks live on several machines: which of its rings are carried.
 *
 * Memory: `carried` is the caller's, and is read until the carrier is closed.
 * Test:   tests/unit/machines/test_carried_group.c
 */
#ifndef HR_MACHINES_CARRIED_GROUP_H
#define HR_MACHINES_CARRIED_GROUP_H

#include "group/group.h"
#include "machines/carrier.h"

struct hr_carried_group {
    const void *segment;
    size_t slot_bytes;
};

/* Add the rings of a group in `place` (its segment, group and world_rank count), made with these
 * options. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_carrier_add_group(struct hr_carrier *carrier,
                                               struct hr_carried_group *carried,
                                               const struct hr_group_options *options,
                                               const struct hr_place *place);

#endif
