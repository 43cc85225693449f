#include "pipeline/schedules.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS(name) &hr_schedule_##name,
static const struct hr_pipeline_schedule *const schedules[] = {HR_PIPELINE_SCHEDULES(ADDRESS)};

enum { NSCHEDULES = sizeof schedules / sizeof *schedules };

const struct hr_pipeline_schedule *hr_pipeline_schedule_at(size_t i)
{
    return i < NSCHEDULES ? schedules[i] : NULL;
}

enum hr_status hr_pipeline_schedule_find(const char *name, const struct hr_pipeline_schedule **out)
{
    char known[256] = "";
    for (size_t i = 0; i < NSCHEDULES; i++) {
        if (!strcmp(name, schedules[i]->name)) {
            *out = schedules[i];
            return HR_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", schedules[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--pipeline-schedule %s: there is no such schedule (there are: %s)",
                   name, known);
}
