#include "checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {[HR_F32] = {"F32", 4}, [HR_F64] = {"F64", 8}, [HR_I64] = {"I64", 8},
              [HR_U8] = {"U8", 1},   [HR_F16] = {"F16", 2}, [HR_BF16] = {"BF16", 2}};

const char *hr_dtype_name(enum hr_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t hr_dtype_bytes(enum hr_dtype dtype)
{
    return dtypes[dtype].bytes;
}

bool hr_tensor_measure(const struct hr_tensor *tensor, size_t *bytes)
{
    size_t product = hr_dtype_bytes(tensor->dtype);
    for (size_t d = 0; d < tensor->ndim; d++)
        if (!hr_size_mul(product, tensor->shape[d], &product))
            return false;
    *bytes = product;
    return true;
}

const char *hr_metadata_get(const struct hr_tensor_file *file, const char *key)
{
    for (size_t i = 0; i < file->nmetadata; i++)
        if (!strcmp(file->metadata[i].key, key))
            return file->metadata[i].value;
    return NULL;
}

const struct hr_tensor *hr_tensor_get(const struct hr_tensor_file *file, const char *name)
{
    for (size_t i = 0; i < file->ntensors; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

void hr_tensor_file_free(struct hr_tensor_file *file)
{
    free(file->tensors);
    free(file->metadata);
    free(file->storage);
    *file = (struct hr_tensor_file){0};
}

void hr_file_digest_free(struct hr_file_digest *digest)
{
    free(digest->tensors);
    *digest = (struct hr_file_digest){0};
}
