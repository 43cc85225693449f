#include "state/model_tensors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/printable.h"

void hr_listing_add(struct hr_listing *listing, const char *format, ...)
{
    char name[HR_LISTING_MAX];
    const size_t used = strlen(listing->names);
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    listing->n++;
    if (used && (listing->shown + 1 < listing->n ||
                 used + strlen(", ") + strlen(name) >= sizeof listing->names))
        return; /* once one is left out, so are those behind it */
    snprintf(listing->names + used, sizeof listing->names - used, "%s%s", used ? ", " : "", name);
    listing->shown++;
}

const char *hr_listing_text(struct hr_listing *listing)
{
    const size_t left = listing->n - listing->shown;
    const int used = snprintf(listing->text, sizeof listing->text, "%s", listing->names);
    if (left)
        snprintf(listing->text + used, sizeof listing->text - (size_t)used, " and %zu more", left);
    hr_make_printable(&(struct hr_printable_state){0}, listing->text, strlen(listing->text), "");
    return listing->text;
}

void hr_model_tensor_name(char *name, size_t size, const char *prefix,
                          const struct hr_tensor_info *info, const char *array)
{
    snprintf(name, size, "%s%s%s%s", prefix, info->name, array[0] ? "." : "", array);
}

void hr_model_tensor_put(struct hr_tensor_file *file, const struct hr_tensor_info *info,
                         const char *prefix, const char *array, float *params)
{
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){
        .dtype = HR_F32,
        .ndim = info->ndim,
        .bytes = info->count * sizeof(float),
        .data = params + info->offset,
    };
    memcpy(tensor->shape, info->shape, info->ndim * sizeof *info->shape);
    hr_model_tensor_name(tensor->name, sizeof tensor->name, prefix, info, array);
}

void hr_model_tensors_put(struct hr_tensor_file *file, const struct hr_model *model, bool trained,
                          const char *prefix, const char *array, float *params)
{
    for (size_t i = 0; i < hr_model_tensor_count(model); i++)
        if (!trained || hr_model_tensor(model, i)->role == HR_TENSOR_TRAINED)
            hr_model_tensor_put(file, hr_model_tensor(model, i), prefix, array, params);
}

static void put_counter(struct hr_tensor_file *file, const struct hr_tensor_info *info,
                        int64_t *batches)
{
    static const char before[] = "running_var";
    const size_t length = strlen(info->name), part = sizeof before - 1;
    if (length < part || strcmp(info->name + length - part, before) != 0)
        return;
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){.dtype = HR_I64, .bytes = sizeof *batches, .data = batches};
    snprintf(tensor->name, sizeof tensor->name, "%.*snum_batches_tracked", (int)(length - part),
             info->name);
}

void hr_model_state_put(struct hr_tensor_file *file, const struct hr_model *model, float *params,
                        int64_t *batches)
{
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, i);
        hr_model_tensor_put(file, info, "", "", params);
        put_counter(file, info, batches);
    }
}

struct text {
    char of[96];
};

/* "(64, 3)" */
static struct text shape_text(size_t ndim, const size_t *shape)
{
    struct text text = {"("};
    size_t used = 1;
    for (size_t d = 0; d < ndim && used < sizeof text.of; d++)
        used += (size_t)snprintf(text.of + used, sizeof text.of - used, "%s%zu", d ? ", " : "",
                                 shape[d]);
    if (used < sizeof text.of)
        snprintf(text.of + used, sizeof text.of - used, ")");
    return text;
}

static bool is_alike(const struct hr_tensor *tensor, const struct hr_tensor_info *info)
{
    return tensor->dtype != HR_I64 && tensor->dtype != HR_U8 && tensor->ndim == info->ndim &&
           !memcmp(tensor->shape, info->shape, info->ndim * sizeof *info->shape);
}

static float element(const struct hr_tensor *tensor, size_t i)
{
    const unsigned char *at =
        (const unsigned char *)tensor->data + i * hr_dtype_bytes(tensor->dtype);
    uint16_t bits;
    double wide;
    if (tensor->dtype == HR_F64) {
        memcpy(&wide, at, sizeof wide);
        return (float)wide;
    }
    memcpy(&bits, at, sizeof bits);
    return tensor->dtype == HR_F16 ? hr_of_binary16(bits) : hr_of_bfloat16(bits);
}

/* Of any kind of floats, as float32. */
static void copy_floats(const struct hr_tensor *tensor, size_t count, float *out)
{
    if (tensor->dtype == HR_F32)
        memcpy(out, tensor->data, tensor->bytes);
    for (size_t i = 0; tensor->dtype != HR_F32 && i < count; i++)
        out[i] = element(tensor, i);
}

void hr_try_tensor(const struct hr_tensor_file *file, const struct hr_tensor_info *info,
                   const char *name, float *params, struct hr_misfits *misfits)
{
    const struct hr_tensor *tensor = hr_tensor_get(file, name);
    if (!tensor)
        hr_listing_add(&misfits->missing, "%s", name);
    else if (is_alike(tensor, info))
        copy_floats(tensor, info->count, params + info->offset);
    else
        hr_listing_add(
            &misfits->unlike, "%s is %s%s%s, expected %s%s", name,
            shape_text(tensor->ndim, tensor->shape).of, tensor->dtype == HR_F32 ? "" : " of ",
            tensor->dtype == HR_F32 ? "" : hr_dtype_name(tensor->dtype),
            shape_text(info->ndim, info->shape).of, tensor->dtype == HR_F32 ? "" : " of floats");
}

enum hr_status hr_misfits_refuse(const struct hr_checkpoint *checkpoint, struct hr_misfits *misfits)
{
    struct hr_listing *missing = &misfits->missing, *unlike = &misfits->unlike;
    struct hr_listing *unknown = &misfits->unknown;
    if (!missing->n && !unlike->n)
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: its tensors are not those of the model%s%s%s%s%s%s (another model, or "
                   "another --data?)",
                   checkpoint->path, missing->n ? "; missing: " : "", hr_listing_text(missing),
                   unlike->n ? "; unlike: " : "", hr_listing_text(unlike),
                   unknown->n ? "; unknown: " : "", hr_listing_text(unknown));
}

enum hr_status hr_load_tensor(const struct hr_checkpoint *checkpoint,
                              const struct hr_tensor_file *file, const struct hr_tensor_info *info,
                              const char *name, float *params)
{
    struct hr_misfits misfits = {0};
    hr_try_tensor(file, info, name, params, &misfits);
    return hr_misfits_refuse(checkpoint, &misfits);
}

enum hr_status hr_load_tensors(const struct hr_checkpoint *checkpoint,
                               const struct hr_tensor_file *file, const struct hr_model *model,
                               bool trained, const char *prefix, const char *array, float *params)
{
    struct hr_misfits misfits = {0};
    char name[128];
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, i);
        if (trained && info->role != HR_TENSOR_TRAINED)
            continue;
        hr_model_tensor_name(name, sizeof name, prefix, info, array);
        hr_try_tensor(file, info, name, params, &misfits);
    }
    return hr_misfits_refuse(checkpoint, &misfits);
}
