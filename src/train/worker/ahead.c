#include "worker/ahead.h"

#include <stdlib.h>

#include "strategy/overlap.h"

enum hr_status hr_ahead_list(const struct hr_train_job *job, struct hr_model_final **out, size_t *n)
{
    struct hr_model_final at;
    size_t least, end = job->shared->params, moments = 0;
    *out = NULL;
    *n = 0;
    HR_TRY(hr_overlap_least(job->shared, &least));
    if (least == SIZE_MAX || !job->shared->servers)
        return HR_OK;
    while (hr_model_final(job->model, moments, &at))
        moments++;
    *out = calloc(moments + 1, sizeof **out);
    if (!*out)
        return hr_fail(HR_E_NOMEM, "no memory for the parts of a push");
    for (size_t i = 0; i < moments; i++) {
        hr_model_final(job->model, i, &at);
        if (!hr_overlap_goes_ahead(least, at.offset, end))
            continue;
        (*out)[(*n)++] = at;
        end = at.offset;
    }
    return HR_OK;
}
