#include "support/region.h"

#include <stdlib.h>
#include <string.h>

void region_open(struct region *region, void *memory, size_t bytes, uint64_t salt)
{
    *region = (struct region){.memory = memory, .bytes = bytes, .lent = memory, .begin = bytes};
    region->wanted = malloc(bytes);
    if (!memory)
        region->memory = malloc(bytes);
    if (!region->wanted || !region->memory)
        abort();
    for (size_t i = 0; i < bytes; i++)
        region->wanted[i] = (unsigned char)(i * 7 + salt);
    memcpy(region->memory, region->wanted, bytes);
}

void region_expect(struct region *region, size_t at, const void *element, size_t size)
{
    HR_ASSERT(at + size <= region->bytes);
    memcpy(region->wanted + at, element, size);
    region->begin = at < region->begin ? at : region->begin;
    region->end = at + size > region->end ? at + size : region->end;
}

void region_put(struct region *region, size_t at, const void *element, size_t size)
{
    region_expect(region, at, element, size);
    memcpy(region->memory + at, element, size);
}

void region_flip(struct region *region, size_t at, size_t bytes)
{
    for (size_t i = at; i < at + bytes; i++) {
        region->memory[i] ^= 0xff;
        region->wanted[i] ^= 0xff;
    }
}

enum hr_status region_check(const struct region *region, const char *name)
{
    size_t i = 0;
    if (!memcmp(region->memory, region->wanted, region->bytes))
        return HR_OK;
    while (region->memory[i] == region->wanted[i])
        i++;
    if (i < region->begin || i >= region->end)
        return hr_fail(HR_E_FAILED, "%s: a guard byte was written, %zu %s the data", name,
                       i < region->begin ? region->begin - i : i - region->end,
                       i < region->begin ? "before" : "behind");
    return hr_fail(HR_E_FAILED, "%s: byte %zu of %zu is %02x, not %02x", name, i - region->begin,
                   region->end - region->begin, region->memory[i], region->wanted[i]);
}

void region_close(struct region *region)
{
    if (!region->lent)
        free(region->memory);
    free(region->wanted);
}
