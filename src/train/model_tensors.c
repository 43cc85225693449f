#include "train/model_tensors.h"

#include <stdio.h>
#include <string.h>

void hr_model_tensor_put(struct hr_tensor_file *file, const struct hr_tensor_info *info,
                         const char *prefix, const char *suffix, float *params)
{
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){
        .dtype = HR_F32,
        .ndim = info->ndim,
        .bytes = info->count * sizeof(float),
        .data = params + info->offset,
    };
    memcpy(tensor->shape, info->shape, info->ndim * sizeof *info->shape);
    snprintf(tensor->name, sizeof tensor->name, "%s%s%s", prefix, info->name, suffix);
}

void hr_model_tensors_put(const struct hr_model *model, const char *prefix, float *params,
                          struct hr_tensor_file *file)
{
    for (size_t i = 0; i < hr_model_tensor_count(model); i++)
        hr_model_tensor_put(file, hr_model_tensor(model, i), prefix, "", params);
}

/* "(64, 3)"; returns text. */
static const char *shape_text(size_t ndim, const size_t *shape, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (size_t d = 0; d < ndim && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", d ? ", " : "", shape[d]);
    if (used < size)
        snprintf(text + used, size - used, ")");
    return text;
}

enum hr_status hr_load_tensor(const struct hr_checkpoint *checkpoint,
                              const struct hr_tensor_file *file, const struct hr_tensor_info *info,
                              const char *name, float *params)
{
    char found[96], expected[96];
    const struct hr_tensor *tensor = hr_tensor_get(file, name);
    if (!tensor)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s is missing", checkpoint->path, name);
    if (tensor->dtype != HR_F32 || tensor->ndim != info->ndim ||
        memcmp(tensor->shape, info->shape, info->ndim * sizeof *info->shape) != 0)
        return hr_fail(HR_E_FORMAT,
                       "%s: tensor %s does not have the shape and type of the model's: found %s, "
                       "expected %s of float32 (another model, or another --data?)",
                       checkpoint->path, name,
                       shape_text(tensor->ndim, tensor->shape, found, sizeof found),
                       shape_text(info->ndim, info->shape, expected, sizeof expected));
    memcpy(params + info->offset, tensor->data, tensor->bytes);
    return HR_OK;
}

enum hr_status hr_load_tensors(const struct hr_checkpoint *checkpoint,
                               const struct hr_tensor_file *file, const struct hr_model *model,
                               const char *prefix, float *params)
{
    char name[128];
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, i);
        snprintf(name, sizeof name, "%s%s", prefix, info->name);
        HR_TRY(hr_load_tensor(checkpoint, file, info, name, params));
    }
    return HR_OK;
}
