/* cpus.h - how many processors this process may really use. */
#ifndef HR_BASE_CPUS_H
#define HR_BASE_CPUS_H

#include <stddef.h>

struct hr_cpu_budget {
    size_t affinity; /* processors in the affinity mask, at least 1 */
    size_t quota;    /* of the control group or one above it (cpu.max, rounded up); 0: none */
    size_t allowed;  /* the smaller of the two; HOGRING_CPUS in the environment overrides it */
};

/* What HOGRING_CPUS holds where that is no number of processors, 1 to HR_CPUS_MAX, and overrides
 * nothing; NULL: it is one, or not set. */
enum { HR_CPUS_MAX = 1 << 16 };
const char *hr_cpus_unknown(void);

/* Reads files: not for loops. Any thread. */
struct hr_cpu_budget hr_cpu_budget(void);
size_t hr_cpus_allowed(void);
/* Of these, cores: two hyperthreads of one count once. As many, where /sys does not tell. It says
 * how many to compute with; how many may be busy without waiting for one another is `allowed`. */
size_t hr_cpus_cores(void);

/* Bytes of the first processor's data cache of level 1, 2 or 3; 0: not known. Read from /sys: for a
 * shared level sysconf is wrong in a guest. HOGRING_CACHES=L1,L2 or L1,L2,L3 in the environment
 * (32K,512K,8M) overrides it. */
size_t hr_cpus_cache_bytes(int level);

/* Bytes of level 1 or 2 that a core has: the least over the processors that this process may use; a
 * cache that several cores share is divided among them. HOGRING_CACHES overrides it. 0: not
 * known. */
size_t hr_cpus_cache_of_core(int level);
/* What HOGRING_CACHES holds where that is no two or three sizes, and overrides nothing; NULL: it
 * is, or not set. */
const char *hr_cpus_unknown_caches(void);

/* "Intel(R) Xeon(R) Processor"; "" where the kernel does not say, as on ARM. */
void hr_cpus_model(char *text, size_t size);

/* Keep this thread on allowed processor number mod count: a core each, while there are some, then
 * their other threads. Otherwise the kernel may leave threads that only wake one another on one
 * processor. */
void hr_cpus_pin(size_t number);

/* For tests: what a folder says that is like /sys/devices/system/cpu. -1: nobody tells. */
size_t hr_cpus_cores_in(const char *folder);
int hr_cpus_numbered_in(const char *folder, size_t number);

#endif
