#include "json/fields.h"

#include "json/value.h"

static bool is_0(const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i])
            return false;
    return true;
}

static json_t *number(double x, enum hr_field_null null)
{
    const bool none = (null == HR_NULL_AT_0 && !(x > 0)) || (null == HR_NULL_BELOW_0 && x < 0);
    return none ? json_null() : hr_json_number(x);
}

static json_t *value(const struct hr_field *row, const void *base, const void *about)
{
    const char *at = (const char *)base + row->offset;
    if (row->when_size && is_0((const char *)base + row->when, row->when_size))
        return json_null();
    switch (row->kind) {
    case HR_FIELD_TEXT:
        return hr_json_text_or_null(at);
    case HR_FIELD_TEXT_AT:
        return hr_json_text_or_null(*(const char *const *)(const void *)at);
    case HR_FIELD_COUNT: {
        const size_t n = *(const size_t *)(const void *)at;
        return n == 0 && row->null == HR_NULL_AT_0 ? json_null() : hr_json_count(n);
    }
    case HR_FIELD_LONG:
        return json_integer(*(const long *)(const void *)at);
    case HR_FIELD_NUMBER:
        return number(*(const double *)(const void *)at, row->null);
    case HR_FIELD_FLAG:
        return json_boolean(*(const bool *)(const void *)at);
    case HR_FIELD_OBJECT:
        return hr_fields_json(row->rows, row->nrows, at, base);
    case HR_FIELD_LIST:
        return hr_fields_list(row->rows, row->nrows, *(const void *const *)(const void *)at,
                              *(const size_t *)(const void *)((const char *)base + row->count),
                              row->size, base);
    case HR_FIELD_MADE:
        return row->make(base, about);
    }
    return NULL;
}

static json_t *object_of(const struct hr_field *rows, size_t n, const void *base, const void *about,
                         bool log)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *key = log ? rows[i].log : rows[i].name;
        if (!key || json_object_set_new(object, key, value(&rows[i], base, about)) == 0)
            continue;
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *hr_fields_json(const struct hr_field *rows, size_t n, const void *base, const void *about)
{
    return object_of(rows, n, base, about, false);
}

json_t *hr_fields_log(const struct hr_field *rows, size_t n, const void *base, const void *about)
{
    return object_of(rows, n, base, about, true);
}

json_t *hr_fields_list(const struct hr_field *rows, size_t n, const void *first, size_t count,
                       size_t size, const void *about)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        hr_json_append(&array, hr_fields_json(rows, n, (const char *)first + i * size, about));
    return array;
}

void hr_fields_tell(FILE *out, const struct hr_field *rows, size_t n)
{
    const char *before = "";
    for (size_t i = 0; i < n; i++) {
        const struct hr_field *row = &rows[i];
        if (!row->name)
            continue;
        fprintf(out, "%s%s", before, row->name);
        before = row->meaning ? "" : ", ";
        if (!row->meaning)
            continue;
        fprintf(out, " :: %s", row->meaning);
        if (row->unit)
            fprintf(out, " (%s)", row->unit);
        if (row->since)
            fprintf(out, "; since version %s", row->since);
        fputc('\n', out);
    }
}
