#include "base/cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/size.h"

#define FOLDER "/sys/devices/system/cpu"

static size_t affinity(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    const int count = CPU_COUNT(&set);
    return count > 0 ? (size_t)count : 1;
}

/* Control groups, version 2: "max 100000" or "150000 100000" (quota and period in us); 0: no
 * limit. */
static size_t quota_of(const char *group)
{
    char path[1200];
    long allowed = 0, period = 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const int fields = fscanf(file, "%ld %ld", &allowed, &period);
    fclose(file);
    if (fields != 2 || allowed <= 0 || period <= 0)
        return 0;
    return (size_t)((allowed + period - 1) / period);
}

/* The path in the line "0::/user.slice/..." of /proc/self/cgroup; "" in a container, which sees its
 * own group as the root. */
static void own_group(char *group, size_t size)
{
    char line[1100];
    FILE *file = fopen("/proc/self/cgroup", "r");
    group[0] = '\0';
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "0::/", 4)) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(group, size, "%s", line + 3);
        }
    if (file)
        fclose(file);
}

/* The tightest of our group and those above it. */
static size_t quota(void)
{
    char group[1100];
    size_t tightest = 0;
    own_group(group, sizeof group);
    for (char *slash = group + strlen(group); slash; slash = strrchr(group, '/')) {
        *slash = '\0';
        const size_t limit = quota_of(group);
        if (limit && (!tightest || limit < tightest))
            tightest = limit;
    }
    return tightest;
}

/* 0: nothing that is a number of processors. */
static size_t forced_count(void)
{
    const char *asked = getenv("HOGRING_CPUS");
    uint64_t count;
    return asked && hr_parse_count(asked, &count) && count <= HR_CPUS_MAX ? count : 0;
}

const char *hr_cpus_unknown(void)
{
    return forced_count() ? NULL : getenv("HOGRING_CPUS");
}

struct hr_cpu_budget hr_cpu_budget(void)
{
    const size_t forced = forced_count();
    struct hr_cpu_budget budget = {.affinity = affinity(), .quota = quota()};
    budget.allowed =
        budget.quota && budget.quota < budget.affinity ? budget.quota : budget.affinity;
    if (forced > 0)
        budget.allowed = forced;
    return budget;
}

size_t hr_cpus_allowed(void)
{
    return hr_cpu_budget().allowed;
}

/* A core is called by the first of its threads; one that nobody tells of is its own. */
static int core_of(const char *folder, int cpu)
{
    char path[1200];
    int first;
    snprintf(path, sizeof path, "%s/cpu%d/topology/thread_siblings_list", folder, cpu);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &first) != 1 || first < 0 || first >= CPU_SETSIZE)
        first = cpu;
    if (file)
        fclose(file);
    return first;
}

static size_t count_cores(const char *folder, const cpu_set_t *of)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, of))
            CPU_SET(core_of(folder, cpu), &cores);
    return (size_t)CPU_COUNT(&cores);
}

size_t hr_cpus_cores_in(const char *folder)
{
    const struct hr_cpu_budget budget = hr_cpu_budget();
    cpu_set_t allowed;
    if (budget.allowed > budget.affinity || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return budget.allowed;
    return hr_min_size(count_cores(folder, &allowed), budget.allowed);
}

size_t hr_cpus_cores(void)
{
    return hr_cpus_cores_in(FOLDER);
}

/* Threads of cores that have a number already come behind all others. */
int hr_cpus_numbered_in(const char *folder, size_t number)
{
    cpu_set_t left, cores;
    if (sched_getaffinity(0, sizeof left, &left) != 0 || CPU_COUNT(&left) == 0)
        return -1;
    number %= (size_t)CPU_COUNT(&left);
    for (;;) {
        CPU_ZERO(&cores);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            const int core = CPU_ISSET(cpu, &left) ? core_of(folder, cpu) : -1;
            if (core < 0 || CPU_ISSET(core, &cores))
                continue;
            if (number-- == 0)
                return cpu;
            CPU_SET(core, &cores);
            CPU_CLR(cpu, &left);
        }
    }
}

void hr_cpus_pin(size_t number)
{
    cpu_set_t mine;
    const int cpu = hr_cpus_numbered_in(FOLDER, number);
    if (cpu < 0)
        return;
    CPU_ZERO(&mine);
    CPU_SET(cpu, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

/* The first word of one file about a processor's cache; false: there is none. */
static bool cache_word(int cpu, int index, const char *name, char word[256])
{
    char path[100];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, name);
    FILE *file = fopen(path, "r");
    const bool found = file && fscanf(file, "%255s", word) == 1;
    if (file)
        fclose(file);
    return found;
}

/* Of a processor's data cache of that level; -1: it has none, or nobody tells. */
static int cache_index(int cpu, int level)
{
    char word[256];
    for (int index = 0; cache_word(cpu, index, "level", word); index++)
        if (strtol(word, NULL, 10) == level && cache_word(cpu, index, "type", word) &&
            strcmp(word, "Instruction") != 0)
            return index;
    return -1;
}

static size_t cache_bytes(int cpu, int level)
{
    char word[256];
    uint64_t bytes; /* "32K" */
    const int index = cache_index(cpu, level);
    return index >= 0 && cache_word(cpu, index, "size", word) && hr_parse_size(word, &bytes) ? bytes
                                                                                             : 0;
}

static size_t sysconf_bytes(int level)
{
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    const long bytes = sysconf(names[level - 1]);
    return bytes > 0 ? (size_t)bytes : 0;
}

/* HOGRING_CACHES: the size of that level; 0: not named, or no two or three sizes. */
static size_t forced_bytes(int level)
{
    const char *asked = getenv("HOGRING_CACHES");
    uint64_t bytes[4] = {0};
    size_t n = 0;
    for (char word[32]; asked && n < 4; n++) {
        const size_t length = strcspn(asked, ",");
        if (length >= sizeof word)
            return 0;
        snprintf(word, sizeof word, "%.*s", (int)length, asked);
        if (!hr_parse_size(word, &bytes[n]) || !bytes[n])
            return 0;
        asked = asked[length] ? asked + length + 1 : NULL;
    }
    return n == 2 || n == 3 ? bytes[level - 1] : 0;
}

size_t hr_cpus_cache_bytes(int level)
{
    HR_ASSERT(level >= 1 && level <= 3);
    const size_t forced = forced_bytes(level), bytes = forced ? forced : cache_bytes(0, level);
    return bytes ? bytes : sysconf_bytes(level);
}

/* Processors in a list as "0-3,8"; 1 where it is none. */
static size_t list_count(const char *list)
{
    size_t count = 0;
    for (char *end; *list; list = *end == ',' ? end + 1 : end) {
        const long first = strtol(list, &end, 10);
        if (end == list)
            return 1;
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        count += last >= first ? (size_t)(last - first + 1) : 0;
        if (*end && *end != ',')
            return 1;
    }
    return count ? count : 1;
}

/* Cores that share a processor's cache: by level 1, which a core's threads share. */
static size_t sharers(int cpu, int level)
{
    char threads[256] = "", all[256] = "";
    if (!cache_word(cpu, cache_index(cpu, 1), "shared_cpu_list", threads) ||
        !cache_word(cpu, cache_index(cpu, level), "shared_cpu_list", all))
        return 1;
    const size_t share = list_count(all) / list_count(threads);
    return share ? share : 1;
}

const char *hr_cpus_unknown_caches(void)
{
    return forced_bytes(1) ? NULL : getenv("HOGRING_CACHES");
}

size_t hr_cpus_cache_of_core(int level)
{
    HR_ASSERT(level >= 1 && level <= 2);
    cpu_set_t allowed;
    size_t least = forced_bytes(level);
    if (least || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return least;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const size_t bytes = CPU_ISSET(cpu, &allowed) ? cache_bytes(cpu, level) : 0;
        const size_t own = bytes ? bytes / sharers(cpu, level) : 0;
        if (own && (!least || own < least))
            least = own;
    }
    return least ? least : sysconf_bytes(level);
}

void hr_cpus_model(char *text, size_t size)
{
    hr_file_find_key("/proc/cpuinfo", "model name", ':', text, size);
}
