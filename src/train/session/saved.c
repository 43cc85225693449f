#include "session/saved.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr_saved_put(struct hr_tensor_file *file, const char *key, const char *format, ...)
{
    struct hr_metadata *entry = &file->metadata[file->nmetadata++];
    va_list args;
    snprintf(entry->key, sizeof entry->key, "%s", key);
    va_start(args, format);
    vsnprintf(entry->value, sizeof entry->value, format, args);
    va_end(args);
}

enum hr_status hr_saved_count(const struct hr_checkpoint *checkpoint, const char *key,
                              uint64_t *out)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    char *end = NULL;
    *out = text ? strtoull(text, &end, 10) : 0;
    if (!text || text[0] < '0' || text[0] > '9' || *end)
        return hr_fail(HR_E_FORMAT, "%s: trainer metadata \"%s\" is %s, expected a number",
                       checkpoint->path, key, text ? text : "missing");
    return HR_OK;
}

enum hr_status hr_saved_amount(const struct hr_checkpoint *checkpoint, const char *key, double *out)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    char *end = NULL;
    *out = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !(*out >= 0) || isinf(*out))
        return hr_fail(HR_E_FORMAT,
                       "%s: trainer metadata \"%s\" is %s, expected a finite number of at least 0",
                       checkpoint->path, key, text ? text : "missing");
    return HR_OK;
}

double hr_saved_number(const struct hr_checkpoint *checkpoint, const char *key)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    return text ? strtod(text, NULL) : 0;
}

void hr_saved_put_table(struct hr_tensor_file *file, const char *name, size_t rows, size_t width,
                        double *numbers)
{
    if (rows == 0)
        return;
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){.dtype = HR_F64,
                                 .ndim = 2,
                                 .shape = {rows, width},
                                 .bytes = rows * width * sizeof(double),
                                 .data = numbers};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

enum hr_status hr_saved_table(const struct hr_checkpoint *checkpoint, const char *name,
                              size_t width, size_t *rows, const double **numbers)
{
    const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->trainer, name);
    *rows = 0;
    *numbers = NULL;
    if (!tensor)
        return HR_OK;
    if (tensor->dtype != HR_F64 || tensor->ndim != 2 || tensor->shape[1] != width)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s is not rows of %zu numbers of float64",
                       checkpoint->path, name, width);
    *rows = tensor->shape[0];
    *numbers = tensor->data;
    return HR_OK;
}

enum hr_status hr_saved_samples(const struct hr_checkpoint *checkpoint, const char *name,
                                double number, uint64_t *out)
{
    if (!(number >= 0 && number <= 0x1p53))
        return hr_fail(HR_E_FORMAT, "%s: tensor %s counts %g samples", checkpoint->path, name,
                       number);
    *out = (uint64_t)number;
    return HR_OK;
}

enum hr_status hr_saved_same(const struct hr_checkpoint *checkpoint, const char *what,
                             const char *saved, const char *ours)
{
    if (saved && !strcmp(saved, ours))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--resume %s: it was trained with %s %s, this run has %s",
                   checkpoint->path, what, saved ? saved : "(unknown)", ours);
}

static size_t file_bytes(const struct hr_tensor_file *file)
{
    size_t bytes = 0;
    for (size_t i = 0; i < file->ntensors; i++)
        bytes += file->tensors[i].bytes;
    return bytes;
}

size_t hr_saved_bytes(const struct hr_checkpoint *checkpoint)
{
    return file_bytes(&checkpoint->model) + file_bytes(&checkpoint->trainer);
}

static bool is_single_file(const char *path)
{
    static const char suffix[] = ".safetensors";
    const size_t length = strlen(path), end = sizeof suffix - 1;
    return length > end && !strcmp(path + length - end, suffix);
}

enum hr_status hr_saved_read(const char *path, struct hr_checkpoint *out)
{
    if (!is_single_file(path))
        return hr_checkpoint_load(path, out);
    HR_TRY(hr_safetensors_read(path, &out->model));
    snprintf(out->path, sizeof out->path, "%s", path);
    return HR_OK;
}
