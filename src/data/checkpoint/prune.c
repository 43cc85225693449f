#include "checkpoint/steps.h"

#include <stdlib.h>

#include "base/log.h"
#include "checkpoint/links.h"

static bool is_ours(const char *dir, const struct hr_saved_step *step)
{
    char path[HR_PATH_MAX];
    return hr_path(path, "%s/%s", dir, step->name.text) == HR_OK &&
           hr_steps_check_ours(path, step->step) == HR_OK;
}

void hr_steps_prune(const char *dir, uint64_t saved, size_t keep)
{
    struct hr_saved_step *steps;
    size_t count, gone = 0, kept = 1; /* `saved`, whatever its place in the order */
    if (keep == 0)
        return;
    if (hr_steps_list(dir, &steps, &count) != HR_OK) {
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const bool stays = !steps[i].old &&
                           (steps[i].step == saved || hr_link_points(dir, HR_BEST, steps[i].step));
        if (stays)
            continue;
        if (!is_ours(dir, &steps[i])) {
            if (kept >= keep && !gone) /* it is behind those that are kept for the first time */
                hr_log(HR_LOG_WARNING, "%s (--keep passes over it)", hr_error_message());
            continue;
        }
        if (kept++ < keep)
            continue;
        gone++;
        if (hr_steps_discard(dir, &steps[i]) != HR_OK)
            hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    }
    free(steps);
}
