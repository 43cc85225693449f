/* gossip_script.h - gossip in a script: opened on a graph, and workers that die while they hand
 * in a gradient. */
#ifndef HR_TESTS_SUPPORT_GOSSIP_SCRIPT_H
#define HR_TESTS_SUPPORT_GOSSIP_SCRIPT_H

#include "support/script.h"

/* A run that outlives losses, and hands out their batches again. */
void gossip_open(struct script *script, const char *graph, size_t workers, uint64_t batches);

/* The first half of handing in a gradient: what a worker does that dies in the middle of it: `told`
 * (bits) are the neighbours that it comes to send to. */
void gossip_send_to_some(struct script *script, size_t w, uint64_t told);

/* A number below 2^31 of the sequence that *seed stands in. */
uint64_t gossip_draw(uint64_t *seed);

#endif
