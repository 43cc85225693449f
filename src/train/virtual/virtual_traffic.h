/* virtual_traffic.h - messages and sums on their way, in virtual time.
 *
 * Threads: a simulator's.
 */
#ifndef HR_VIRTUAL_VIRTUAL_TRAFFIC_H
#define HR_VIRTUAL_VIRTUAL_TRAFFIC_H

#include "virtual/simulator.h"

/* From now on all that ranks send takes its time. */
void hr_virtual_traffic_begin(struct hr_simulator *sim);
/* Send all messages whose links are free. */
HR_CHECKED enum hr_status hr_virtual_depart(struct hr_simulator *sim);
/* A message of worker `from` has come to worker `to`. */
void hr_virtual_deliver(struct hr_simulator *sim, size_t from, size_t to);
/* The sum under way has come to all. */
void hr_virtual_release(struct hr_simulator *sim);

#endif
