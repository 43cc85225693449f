#include "train/freeze.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "state/model_tensors.h"

static enum hr_status refuse_unknown(const char *pattern, const struct hr_model *model)
{
    struct hr_listing names = {0};
    for (size_t i = 0; i < hr_model_tensor_count(model); i++)
        if (hr_model_tensor(model, i)->role == HR_TENSOR_TRAINED)
            hr_listing_add(&names, "%s", hr_model_tensor(model, i)->name);
    return hr_fail(HR_E_USAGE,
                   "--freeze %.80s: matches no trained tensor of the model, which has %s; expected "
                   "patterns of these names, with commas between them",
                   pattern, hr_listing_text(&names));
}

static enum hr_status freeze_one(const char *pattern, const struct hr_model *model,
                                 struct hr_param_segment *tensors)
{
    bool any = false;
    if (!pattern[0])
        return hr_fail(HR_E_USAGE, "--freeze: there is an empty pattern beside a comma; expected "
                                   "names, with commas between them");
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, i);
        if (info->role != HR_TENSOR_TRAINED || fnmatch(pattern, info->name, 0) != 0)
            continue;
        tensors[i].role = HR_SEGMENT_FROZEN;
        any = true;
    }
    return any ? HR_OK : refuse_unknown(pattern, model);
}

/* The first pattern of *rest, without the blanks around it; *rest goes on behind it, or is NULL. */
static void next_pattern(const char **rest, char *pattern, size_t size)
{
    const char *begin = *rest + strspn(*rest, " ");
    size_t length = strcspn(begin, ",");
    *rest = begin[length] ? begin + length + 1 : NULL;
    while (length && begin[length - 1] == ' ')
        length--;
    snprintf(pattern, size, "%.*s", (int)length, begin);
}

enum hr_status hr_freeze(const char *patterns, const struct hr_model *model,
                         struct hr_param_segment *tensors, size_t *frozen)
{
    char pattern[256];
    bool trains = false;
    *frozen = 0;
    if (!patterns[0])
        return HR_OK;
    for (const char *rest = patterns; rest;) {
        next_pattern(&rest, pattern, sizeof pattern);
        HR_TRY(freeze_one(pattern, model, tensors));
    }
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        *frozen += tensors[i].role == HR_SEGMENT_FROZEN ? tensors[i].count : 0;
        trains |= tensors[i].role == HR_SEGMENT_TRAINED;
    }
    return trains ? HR_OK
                  : hr_fail(HR_E_USAGE,
                            "--freeze %.160s: matches all trained tensors, and nothing is left to "
                            "train; expected fewer (hogring eval tests a model as it is)",
                            patterns);
}

void hr_freeze_text(const struct hr_model *model, const struct hr_optimizer *optimizer, char *text,
                    size_t size)
{
    struct hr_listing names = {0};
    text[0] = '\0';
    if (!optimizer->frozen)
        return;
    for (size_t i = 0; i < optimizer->nsegments; i++)
        if (optimizer->segments[i].role == HR_SEGMENT_FROZEN)
            hr_listing_add(&names, "%s", hr_model_tensor(model, i)->name);
    snprintf(text, size, "%zu of %zu tensors: %s", names.n, optimizer->nsegments,
             hr_listing_text(&names));
}
