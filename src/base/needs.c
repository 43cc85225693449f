#include "base/needs.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

static size_t times(size_t a, size_t b)
{
    size_t product = SIZE_MAX;
    hr_size_mul(a, b, &product);
    return product;
}

static size_t plus(size_t a, size_t b)
{
    size_t sum = SIZE_MAX;
    hr_size_add(a, b, &sum);
    return sum;
}

/* The item of that name; a new one where there is none. */
static struct hr_need *item_of(struct hr_needs *needs, const char *name)
{
    for (size_t i = 0; i < needs->n; i++)
        if (!strcmp(needs->item[i].name, name))
            return &needs->item[i];
    HR_ASSERT(needs->n < HR_NEEDS_MAX);
    needs->item[needs->n] = (struct hr_need){.name = name};
    return &needs->item[needs->n++];
}

void hr_needs_add(struct hr_needs *needs, const char *name, size_t count, size_t bytes)
{
    const size_t all = times(count, bytes);
    if (!all)
        return;
    struct hr_need *item = item_of(needs, name);
    item->bytes = plus(item->bytes, all);
    needs->bytes = plus(needs->bytes, all);
}

void hr_needs_add_taken(struct hr_needs *needs, const char *name, size_t bytes)
{
    hr_needs_add(needs, name, 1, bytes);
    needs->taken = plus(needs->taken, bytes);
    if (bytes)
        item_of(needs, name)->taken = true;
}

void hr_needs_join(struct hr_needs *needs, const struct hr_needs *other)
{
    const bool first = needs->n == 0;
    for (size_t i = 0; i < other->n; i++) {
        const struct hr_need *item = &other->item[i];
        if (item->taken && first)
            hr_needs_add_taken(needs, item->name, item->bytes);
        else if (!item->taken)
            hr_needs_add(needs, item->name, 1, item->bytes);
    }
    if (!first) /* a process of its own */
        needs->apart = plus(needs->apart, other->bytes - other->taken);
}

/* --- is there as much --- */

/* What is still to be mapped by one process. */
static size_t to_map(const struct hr_needs *needs)
{
    const size_t own = needs->bytes - hr_min_size(needs->bytes, plus(needs->taken, needs->apart));
    return plus(own, needs->reserved);
}

bool hr_needs_fit(const struct hr_needs *needs, const struct hr_memory *there)
{
    return needs->bytes - needs->taken <= there->bytes && to_map(needs) <= there->address;
}

enum hr_status hr_needs_check(const struct hr_needs *needs, const char *who, const char *advice)
{
    char text[HR_NEEDS_TEXT];
    const struct hr_memory there = hr_memory_there_is();
    if (hr_needs_fit(needs, &there))
        return HR_OK;
    const bool address = to_map(needs) > there.address;
    const size_t left = plus(address ? there.address : there.bytes, needs->taken);
    hr_needs_text(needs, text);
    return hr_fail(HR_E_NOMEM, "%s %s; there is %s (%s)%s%s", who, text, hr_bytes_text(left).text,
                   address ? there.address_why : there.why, advice[0] ? "; " : "", advice);
}

/* --- in words --- */

static void append(char text[HR_NEEDS_TEXT], const char *name, size_t bytes, bool first)
{
    const size_t used = strlen(text);
    snprintf(text + used, HR_NEEDS_TEXT - used, "%s%s %s", first ? ": " : ", ", name,
             hr_bytes_text(bytes).text);
}

void hr_needs_text(const struct hr_needs *needs, char text[HR_NEEDS_TEXT])
{
    bool said[HR_NEEDS_MAX] = {false};
    size_t others = 0;
    snprintf(text, HR_NEEDS_TEXT, "%s", hr_bytes_text(needs->bytes).text);
    for (size_t k = 0; k < needs->n; k++) {
        size_t largest = SIZE_MAX;
        for (size_t i = 0; i < needs->n; i++)
            if (!said[i] &&
                (largest == SIZE_MAX || needs->item[i].bytes > needs->item[largest].bytes))
                largest = i;
        const struct hr_need *item = &needs->item[largest];
        said[largest] = true;
        if (item->bytes >= needs->bytes / 100)
            append(text, item->name, item->bytes, k == 0);
        else
            others += item->bytes;
    }
    if (others)
        append(text, "others", others, false);
}
