/* virtual_ranks.h - what shards and workers do in virtual time, when something has come for them.
 *
 * Threads: a simulator's.
 */
#ifndef HR_VIRTUAL_VIRTUAL_RANKS_H
#define HR_VIRTUAL_VIRTUAL_RANKS_H

#include "virtual/simulator.h"

/* --- a shard --- */

/* A shard may take an input of that worker: a message, or its loss. */
HR_CHECKED enum hr_status hr_virtual_input(struct hr_simulator *sim, size_t owner, size_t worker);
/* A worker's message has arrived. */
HR_CHECKED enum hr_status hr_virtual_arrive(struct hr_simulator *sim, size_t shard, size_t worker);
/* It has taken the message that it was busy with. */
HR_CHECKED enum hr_status hr_virtual_served(struct hr_simulator *sim, size_t owner);

/* --- a worker --- */

/* Let it act as far as it can, if it has no task; and then the shard that it owns. */
HR_CHECKED enum hr_status hr_virtual_look(struct hr_simulator *sim, size_t rank);
HR_CHECKED enum hr_status hr_virtual_look_at_all(struct hr_simulator *sim);
/* Backward has computed that part of its gradient. */
void hr_virtual_go_ahead(struct hr_simulator *sim, size_t rank, size_t part);
/* Its gradient is there. */
HR_CHECKED enum hr_status hr_virtual_computed(struct hr_simulator *sim, size_t rank);
/* The deadline of its push has passed. */
HR_CHECKED enum hr_status hr_virtual_deadline(struct hr_simulator *sim, size_t rank);

#endif
