#include "data/target_rows.h"

#include <stdlib.h>
#include <string.h>

static bool same_names(const struct hr_array *a, const struct hr_array *b)
{
    return a->bytes == b->bytes && (!a->bytes || !memcmp(a->data, b->data, a->bytes));
}

enum hr_status hr_target_rows_begin(struct hr_target_rows *rows, const char *name, size_t width,
                                    const struct hr_array *names)
{
    if (width < 1 || width > HR_MAX_TARGETS)
        return hr_fail(HR_E_FORMAT, "%s: has %zu targets per sample, expected 1 to %d", name, width,
                       HR_MAX_TARGETS);
    if (rows->width && rows->width != width)
        return hr_fail(HR_E_FORMAT,
                       "%s: has %zu targets per sample, expected %zu, as the file before", name,
                       width, rows->width);
    if (rows->names.bytes && names && names->bytes && !same_names(&rows->names, names))
        return hr_fail(HR_E_FORMAT,
                       "%s: its targets have other names than those of the file before: %s and %s",
                       name, (const char *)names->data, (const char *)rows->names.data);
    rows->width = width;
    if (rows->names.bytes || !names || !names->bytes)
        return HR_OK;
    return hr_array_add(&rows->names, name, names->data, names->bytes);
}

enum hr_status hr_target_rows_add(struct hr_target_rows *rows, const char *name,
                                  const double *values, uint32_t *number)
{
    const size_t count = hr_target_rows_count(rows);
    if (count >= UINT32_MAX)
        return hr_fail(HR_E_FORMAT, "%s: has more than 2^32 samples, expected fewer", name);
    *number = (uint32_t)count;
    return hr_array_add(&rows->values, name, values, rows->width * sizeof *values);
}

size_t hr_target_rows_count(const struct hr_target_rows *rows)
{
    return rows->width ? rows->values.bytes / (rows->width * sizeof(double)) : 0;
}

enum hr_status hr_target_rows_finish(struct hr_target_rows *rows, const char *name)
{
    void *table;
    if (!rows->names.bytes || rows->name_table)
        return HR_OK;
    HR_TRY(hr_take(name, rows->width * sizeof *rows->name_table, &table));
    rows->name_table = table;
    const char *at = rows->names.data;
    for (size_t i = 0; i < rows->width; i++, at += strlen(at) + 1)
        rows->name_table[i] = at;
    return HR_OK;
}

void hr_target_rows_free(struct hr_target_rows *rows)
{
    free(rows->values.data);
    free(rows->names.data);
    free(rows->name_table);
    *rows = (struct hr_target_rows){0};
}
