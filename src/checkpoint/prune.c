#include "checkpoint/prune.h"

#include <stdlib.h>

#include "base/log.h"
#include "checkpoint/links.h"
#include "checkpoint/steps.h"

void hr_steps_prune(const char *dir, uint64_t saved, size_t keep)
{
    struct hr_step *steps;
    size_t count, kept = 1; /* `saved`, whatever its place in the order */
    if (keep == 0)
        return;
    if (hr_steps_list(dir, &steps, &count) != HR_OK) {
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const bool stays = !steps[i].old &&
                           (steps[i].step == saved || hr_link_points(dir, HR_BEST, steps[i].step));
        if (stays || kept++ < keep)
            continue;
        if (hr_steps_discard(dir, steps[i].name.text) != HR_OK)
            hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    }
    free(steps);
}
