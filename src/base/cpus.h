/* cpus.h - how many processors this process may really use. */
#ifndef HR_BASE_CPUS_H
#define HR_BASE_CPUS_H

#include <stddef.h>

/* The affinity mask's processors, cut by the control group's quota (cpu.max, rounded up); at
 * least 1. HOGRING_CPUS in the environment overrides it. Any thread. */
size_t hr_cpus_allowed(void);

/* Keep this thread on processor `number` of those allowed, counted round and round: threads that
 * only ever wake one another may else be left on one, or unevenly shared out. */
void hr_cpus_pin(size_t number);

#endif
