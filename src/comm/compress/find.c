#include <stdio.h>
#include <string.h>

#include "compress/compressors.h"

#define ADDRESS(name) &hr_compressor_##name,
static const struct hr_compressor *const compressors[] = {HR_COMPRESSORS(ADDRESS)};

enum { NCOMPRESSORS = sizeof compressors / sizeof *compressors };

const struct hr_compressor *hr_compressor_at(size_t i)
{
    return i < NCOMPRESSORS ? compressors[i] : NULL;
}

static enum hr_status refuse(const char *text)
{
    char known[128] = "";
    for (size_t i = 0; i < NCOMPRESSORS; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", compressors[i]->example);
    }
    return hr_fail(HR_E_USAGE,
                   "--compress %s: expected one of %s (of topk more than 0 to 100%%, of powersgd 1 "
                   "to %d)",
                   text, known, HR_COMPRESS_MAX_RANK);
}

enum hr_status hr_compress_parse(const char *text, struct hr_compress *out)
{
    const size_t length = strcspn(text, ":");
    *out = (struct hr_compress){0};
    if (!text[0])
        return HR_OK;
    for (size_t i = 0; i < NCOMPRESSORS; i++) {
        const struct hr_compressor *how = compressors[i];
        if (strlen(how->name) != length || strncmp(text, how->name, length) != 0)
            continue;
        const bool good =
            how->take ? text[length] && how->take(text + length + 1, out) : !text[length];
        if (!good)
            return refuse(text);
        out->how = how;
        return HR_OK;
    }
    return refuse(text);
}
