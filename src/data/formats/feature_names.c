#include "formats/feature_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/bytes.h"

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in alphabetical order; free() them. */
static enum hr_status sorted(const char *file, const char *names, size_t n, const char ***out)
{
    void *taken;
    HR_TRY(hr_take(file, n * sizeof **out, &taken));
    *out = taken;
    for (size_t i = 0; i < n; i++, names += strlen(names) + 1)
        (*out)[i] = names;
    qsort(*out, n, sizeof **out, compare);
    return HR_OK;
}

static enum hr_status are_same_names(const char *file, const char *a, const char *b, size_t n,
                                     bool *same)
{
    const char **x = NULL, **y = NULL;
    enum hr_status st;
    HR_TRY_GOTO(sorted(file, a, n, &x), st, out);
    HR_TRY_GOTO(sorted(file, b, n, &y), st, out);
    *same = true;
    for (size_t i = 0; i < n && *same; i++)
        *same = !strcmp(x[i], y[i]);
out:
    free(x);
    free(y);
    return st;
}

enum hr_status hr_feature_names_check(const char *test_name, const char *train_name,
                                      struct hr_table *test, const struct hr_table *train)
{
    const size_t n = train->shape.channels;
    const char *a = train->feature_names, *b = test->feature_names;
    size_t i = 0;
    bool same = false;
    if (!a || !b || n != test->shape.channels)
        return HR_OK;
    for (; i < n && !strcmp(a, b); i++) {
        a += strlen(a) + 1;
        b += strlen(b) + 1;
    }
    if (i == n)
        return HR_OK;
    HR_TRY(are_same_names(test_name, train->feature_names, test->feature_names, n, &same));
    if (same)
        return hr_fail(HR_E_FORMAT,
                       "%s: has the columns of %s in another order (feature %zu is \"%s\", there "
                       "\"%s\"), expected the same order",
                       test_name, train_name, i + 1, hr_shown(b, strlen(b)).text,
                       hr_shown(a, strlen(a)).text);
    snprintf(test->note, sizeof test->note,
             "%s: its columns have other names than those of %s: feature %zu is \"%s\", there "
             "\"%s\"",
             test_name, train_name, i + 1, hr_shown(b, strlen(b)).text,
             hr_shown(a, strlen(a)).text);
    return HR_OK;
}
