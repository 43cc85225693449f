/* process.h - is that process alive? A pid and its start time name a process for ever. */
#ifndef HR_SHM_PROCESS_H
#define HR_SHM_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* When process `pid` was started, in clock ticks since boot; 0: no such process, or no answer. */
unsigned long long hr_process_start_time(long pid);

/* Is process `pid`, started then (0: not known), certainly gone? A zombie is gone too. False when
 * that cannot be found out. */
bool hr_process_is_dead(long pid, unsigned long long started);

/* The namespace in which this process has its pid (containers have others); 0: not known. */
unsigned long long hr_process_namespace(void);

/* The process that started it, or looks after it now; 0: no such process, or no answer. */
long hr_process_parent(long pid);

/* Is process `pid` stopped, by SIGSTOP and the like or by a debugger? False when that cannot be
 * found out. */
bool hr_process_is_stopped(long pid);

/* Bytes of memory that it has at the moment, those that it shares included; 0: not known. */
unsigned long long hr_process_resident_bytes(long pid);

/* A descriptor (close-on-exec) that becomes readable when the process ends; -1: it is gone, the
 * kernel has no pidfds (before Linux 5.3), or no descriptor is left. */
int hr_process_open(pid_t pid);

#endif
