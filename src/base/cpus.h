/* cpus.h - how many processors this process may really use. */
#ifndef HR_BASE_CPUS_H
#define HR_BASE_CPUS_H

#include <stddef.h>

struct hr_cpu_budget {
    size_t affinity; /* processors in the affinity mask, at least 1 */
    size_t quota;    /* of the control group or one above it (cpu.max, rounded up); 0: none */
    size_t allowed;  /* the smaller of the two; HOGRING_CPUS in the environment overrides it */
};

/* Reads files: not for loops. Any thread. */
struct hr_cpu_budget hr_cpu_budget(void);
size_t hr_cpus_allowed(void);

/* Bytes of the data cache of level 1, 2 or 3 that the first processor has, alone or with others; 0
 * where it is not known. The kernel's word for it, because sysconf multiplies a shared level by the
 * processors of a machine that a guest does not see. */
size_t hr_cpus_cache_bytes(int level);

/* Keep this thread on processor `number` of those allowed, counted round and round: threads that
 * only ever wake one another may else be left on one, or unevenly shared out. */
void hr_cpus_pin(size_t number);

#endif
