#include "stages/tree_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static size_t levels_of(size_t parts)
{
    size_t levels = 0;
    while ((size_t)1 << levels < parts)
        levels++;
    return levels;
}

size_t hr_tree_sums_bytes(size_t parts, size_t count)
{
    return levels_of(parts) * count * sizeof(float);
}

enum hr_status hr_tree_sums_init(struct hr_tree_sums *it, size_t parts, size_t count)
{
    HR_ASSERT(parts <= HR_TREE_MOST);
    *it = (struct hr_tree_sums){.parts = parts, .count = count};
    for (size_t level = 0; level < levels_of(parts); level++) {
        it->sums[level] = calloc(count + 1, sizeof *it->sums[level]);
        if (!it->sums[level]) {
            hr_tree_sums_fini(it);
            return hr_fail(HR_E_NOMEM, "no memory for the sums of %zu parts", parts);
        }
    }
    return HR_OK;
}

void hr_tree_sums_fini(struct hr_tree_sums *it)
{
    for (size_t level = 0; level < HR_TREE_LEVELS; level++)
        free(it->sums[level]);
    *it = (struct hr_tree_sums){0};
}

void hr_tree_sums_carry(struct hr_tree_sums *it, size_t i, size_t parts, float *x)
{
    size_t level = 0;
    HR_ASSERT(parts <= it->parts);
    for (; i >> level & 1; level++)
        hr_vec()->add(x, it->sums[level], it->count);
    if (i + 1 < parts)
        memcpy(it->sums[level], x, it->count * sizeof *x);
    for (level++; i + 1 == parts && parts >> level; level++)
        if (parts >> level & 1)
            hr_vec()->add(x, it->sums[level], it->count);
}
