#include "base/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static size_t affinity(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    const int count = CPU_COUNT(&set);
    return count > 0 ? (size_t)count : 1;
}

/* Control groups, version 2: "max 100000" or "150000 100000" (quota and period in us). */
static size_t quota(void)
{
    long allowed = 0, period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (!file)
        return 0;
    const int fields = fscanf(file, "%ld %ld", &allowed, &period);
    fclose(file);
    if (fields != 2 || allowed <= 0 || period <= 0)
        return 0;
    return (size_t)((allowed + period - 1) / period);
}

size_t hr_cpus_allowed(void)
{
    const char *asked = getenv("HOGRING_CPUS");
    const long forced = asked ? strtol(asked, NULL, 10) : 0;
    if (forced > 0)
        return (size_t)forced;
    const size_t mask = affinity(), limit = quota();
    return limit && limit < mask ? limit : mask;
}

void hr_cpus_pin(size_t number)
{
    cpu_set_t all, mine;
    size_t seen = 0;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) == 0)
        return;
    number %= (size_t)CPU_COUNT(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ == number)
            CPU_SET(cpu, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}
