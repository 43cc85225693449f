#include "options/nearest.h"

#include <string.h>

/* Levenshtein's distance, for names up to 63 letters. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], m = strlen(b);
    if (m > 63)
        return 64;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const size_t insert_or_drop = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < insert_or_drop ? change : insert_or_drop;
        }
    }
    return row[m];
}

const char *hr_nearest(const char *text, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t least = (strlen(text) + 2) / 3 + 1;
    for (size_t i = 0; i < n; i++) {
        const size_t changes = distance(text, names[i]);
        if (changes < least) {
            least = changes;
            nearest = names[i];
        }
    }
    return nearest;
}
