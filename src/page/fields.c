#include "page/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double hr_value_number(const json_t *value)
{
    char *end;
    if (json_is_number(value))
        return fabs(json_number_value(value)) < HR_FIELD_MOST ? json_number_value(value) : NAN;
    const char *text = json_string_value(value);
    if (!text || !text[0] || strspn(text, "0123456789") != strlen(text))
        return NAN;
    const double number = strtod(text, &end);
    return number < HR_FIELD_MOST ? number : NAN;
}

double hr_field_number(const json_t *object, const char *key)
{
    return hr_value_number(json_object_get(object, key));
}

const char *hr_field_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool hr_field_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

const json_t *hr_field_object(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_object(value) ? value : NULL;
}

const json_t *hr_field_list(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_array(value) ? value : NULL;
}

void hr_mean_add(struct hr_mean *mean, double x)
{
    if (!isfinite(x))
        return;
    if (mean->n++ == 0) {
        *mean = (struct hr_mean){1, x, NAN, x, x, 0};
        return;
    }
    const double before = x - mean->mean;
    mean->mean += before / (double)mean->n;
    mean->m2 += before * (x - mean->mean);
    mean->sd = sqrt(mean->m2 / (double)(mean->n - 1));
    mean->least = fmin(mean->least, x);
    mean->most = fmax(mean->most, x);
}
