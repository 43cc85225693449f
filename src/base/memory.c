#include "base/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/size.h"
#include "base/text.h"

enum { PATH = 1400, SMALL = 1 << 20 };

static size_t limit; /* 0: none */

void hr_memory_limit_set(size_t bytes)
{
    limit = bytes;
}

/* --- files of the kernel's --- */

/* The number of a file that holds one; false where there is none ("max"). */
static bool read_number(const char *path, size_t *out)
{
    unsigned long long number;
    FILE *file = fopen(path, "r");
    const bool found = file && fscanf(file, "%llu", &number) == 1;
    if (file)
        fclose(file);
    if (found)
        *out = (size_t)number;
    return found;
}

/* The number behind `key` of a file of lines "key number" or "key: number kB". */
static bool read_key(const char *path, const char *key, size_t *out)
{
    char line[256], name[64];
    unsigned long long number;
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        const int fields = sscanf(line, "%63[^: ]%*[: ]%llu", name, &number);
        found = fields == 2 && !strcmp(name, key);
        if (found)
            *out = (size_t)number * (strstr(line, " kB") ? 1024 : 1);
    }
    if (file)
        fclose(file);
    return found;
}

static size_t less(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* --- control groups --- */

struct names {
    const char *mount, *limit, *use, *droppable;
};

static const struct names version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                       "memory.usage_in_bytes", "total_inactive_file"};
static const struct names version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                       "inactive_file"};

/* What is left of one group's limit; SIZE_MAX: it has none. */
static size_t left_in_group(const char *folder, const struct names *names)
{
    char path[PATH];
    size_t most, used = 0, droppable = 0;
    snprintf(path, sizeof path, "%.1300s/%s", folder, names->limit);
    if (!read_number(path, &most) || most > SIZE_MAX / 4)
        return SIZE_MAX;
    snprintf(path, sizeof path, "%.1300s/%s", folder, names->use);
    read_number(path, &used);
    snprintf(path, sizeof path, "%.1300s/memory.stat", folder);
    read_key(path, names->droppable, &droppable);
    return less(most, less(used, droppable));
}

/* The least of a group and those above it. In a container the path may be that of the host, and not
 * exist here: then there is no limit. */
static size_t left_in_groups(const char *root, const struct names *names, char *group)
{
    char folder[PATH];
    size_t left = SIZE_MAX;
    for (;;) {
        snprintf(folder, sizeof folder, "%.200s%s%.1000s", root, names->mount, group);
        left = hr_min_size(left, left_in_group(folder, names));
        char *slash = strrchr(group, '/');
        if (!slash)
            return left;
        *slash = '\0';
    }
}

/* Lines "0::/a/b" (version 2) and "4:cpu,memory:/a/b" (version 1) of /proc/self/cgroup. */
static size_t left_in_own_groups(const char *root)
{
    char path[PATH], line[1100], list[128];
    size_t left = SIZE_MAX;
    snprintf(path, sizeof path, "%.1000s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *group = strchr(line, '/');
        const bool first = !strncmp(line, "0::/", 4);
        if (!group ||
            (!first && (sscanf(line, "%*d:%127[^:]:", list) != 1 || !strstr(list, "memory"))))
            continue;
        left = hr_min_size(left, left_in_groups(root, first ? &version_2 : &version_1, group));
    }
    if (file)
        fclose(file);
    return left;
}

/* --- this process --- */

/* Pages of ours, as /proc/self/statm counts them: all that is mapped, what is in memory, what of
 * that is shared with files, and what is private and writable. */
struct pages {
    size_t mapped, resident, shared, data;
};

static struct pages own_pages(void)
{
    struct pages pages = {0};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%zu %zu %zu %*u %*u %zu", &pages.mapped, &pages.resident,
                       &pages.shared, &pages.data) != 4)
        pages = (struct pages){0};
    if (file)
        fclose(file);
    pages.mapped *= page;
    pages.resident *= page;
    pages.shared *= page;
    pages.data *= page;
    return pages;
}

static size_t left_of_rlimit(int resource, size_t used)
{
    struct rlimit most;
    if (getrlimit(resource, &most) != 0 || most.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return less((size_t)most.rlim_cur, used);
}

static void tighten(size_t *bytes, const char **why, size_t other, const char *other_why)
{
    if (other < *bytes) {
        *bytes = other;
        *why = other_why;
    }
}

/* --- all of it --- */

struct hr_memory hr_memory_under(const char *root)
{
    char path[PATH];
    size_t available;
    const struct pages own = own_pages();
    struct hr_memory there = {SIZE_MAX, "no limit", SIZE_MAX, "no limit"};
    snprintf(path, sizeof path, "%.1000s/proc/meminfo", root);
    if (limit) {
        there.bytes = less(limit, less(own.resident, own.shared));
        there.why = "--max-memory";
    } else {
        if (read_key(path, "MemAvailable", &available))
            tighten(&there.bytes, &there.why, available, "MemAvailable; --max-memory overrides it");
        tighten(&there.bytes, &there.why, left_in_own_groups(root),
                "the control group's limit; --max-memory overrides it");
    }
    tighten(&there.address, &there.address_why, left_of_rlimit(RLIMIT_AS, own.mapped), "ulimit -v");
    tighten(&there.address, &there.address_why, left_of_rlimit(RLIMIT_DATA, own.data), "ulimit -d");
    return there;
}

struct hr_memory hr_memory_there_is(void)
{
    return hr_memory_under("");
}

enum hr_status hr_memory_ask(const char *name, size_t bytes)
{
    if (bytes < SMALL)
        return HR_OK;
    const struct hr_memory there = hr_memory_there_is();
    const bool address = there.address < there.bytes;
    const size_t left = address ? there.address : there.bytes;
    if (bytes <= left)
        return HR_OK;
    return hr_fail(HR_E_NOMEM, "%s: needs %s of memory, and there is %s (%s)", name,
                   hr_bytes_text(bytes).text, hr_bytes_text(left).text,
                   address ? there.address_why : there.why);
}

struct hr_bytes_text hr_bytes_text(size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct hr_bytes_text out;
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    snprintf(out.text, sizeof out.text, unit && value < 9.95 ? "%.1f %s" : "%.0f %s", value,
             units[unit]);
    return out;
}

/* --- what a run will take --- */

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
    hr_append(text, HR_NEEDS_TEXT, "%s%s %s", first ? ": " : ", ", name, hr_bytes_text(bytes).text);
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

/* --- large pages --- */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* younger than the C library of Debian 12 */
#endif

/* Of the large pages that are wholly in there. */
static void advise(const void *memory, size_t bytes, int advice)
{
    const uintptr_t large = (uintptr_t)2 << 20;
    const uintptr_t begin = hr_round_up((uintptr_t)memory, large);
    const uintptr_t end = ((uintptr_t)memory + bytes) / large * large;
    const int before = errno;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, advice);
    errno = before;
}

void hr_pages_ask_large(const void *memory, size_t bytes)
{
    advise(memory, bytes, MADV_HUGEPAGE);
}

void hr_pages_enlarge(const void *memory, size_t bytes)
{
    advise(memory, bytes, MADV_COLLAPSE);
}
