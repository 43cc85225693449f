/* process.h - is that process alive? A pid and its start time name a process for ever. */
#ifndef HR_SHM_PROCESS_H
#define HR_SHM_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* When process `pid` was started, in clock ticks since boot; 0: no such process, or no answer. */
unsigned long long hr_process_start_time(long pid);

/* Is process `pid`, started then (0: not known), gone for sure? One that has ended and that nobody
 * has waited for is gone too. Failing to ask proves nothing. */
bool hr_process_is_dead(long pid, unsigned long long started);

/* Is process `pid` stopped, by SIGSTOP and the like or by a debugger? Failing to ask is no. */
bool hr_process_is_stopped(long pid);

/* A descriptor (close-on-exec) that poll calls readable from the moment the process has ended, or
 * -1: it is gone, or the kernel has no such thing (Linux 5.3), or no descriptor is left. */
int hr_process_open(pid_t pid);

#endif
