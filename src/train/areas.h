/* areas.h - who writes what of a dense run's memory, where ranks are on several machines, and at
 * which stages of a cut (drive/quiesce.h) the other machines get it.
 *
 * Threads: none. Test: tests/unit/train/test_multinode*.c
 */
#ifndef HR_TRAIN_AREAS_H
#define HR_TRAIN_AREAS_H

#include "base/error.h"
#include "shm/hosts.h"
#include "train/run.h"

struct hr_areas {
    struct hr_area *area; /* (n, room) owned */
    size_t n, room;
};

/* All of them, with these active workers; in place of those that were listed. The same list on all
 * machines. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_areas_list(const struct hr_run *run, struct hr_areas *areas);
void hr_areas_free(struct hr_areas *areas);

#endif
