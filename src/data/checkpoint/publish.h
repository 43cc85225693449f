/* publish.h - a checkpoint becomes visible: by one rename of a folder that is written and synced,
 * so that a crash leaves the old one or the new one, and none half.
 *
 * Threads: one a folder.      Test: tests/unit/checkpoint/test_steps.c
 */
#ifndef HR_CHECKPOINT_PUBLISH_H
#define HR_CHECKPOINT_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct hr_publish {
    const char *dir, *temporary; /* `temporary` becomes dir/step-%08llu */
    uint64_t step;
    bool
        exchange; /* may swap two names at once; false is for file systems that cannot, and tests */
};

/* Give a synced temporary folder its name, durably; then remove the folder that had that name.
 *   published   out: true once it has the name, even if the sync after that fails and nothing is
 *               removed */
HR_CHECKED enum hr_status hr_steps_publish(const struct hr_publish *publish, bool *published);

#endif
