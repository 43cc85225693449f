/* gossip_script.h - gossip in a script, opened on a graph. */
#ifndef HR_TESTS_SUPPORT_GOSSIP_SCRIPT_H
#define HR_TESTS_SUPPORT_GOSSIP_SCRIPT_H

#include "support/script.h"

/* A run that outlives losses, and hands out their batches again. */
void gossip_open(struct script *script, const char *graph, size_t workers, uint64_t batches);

/* A number below 2^31 of the sequence that *seed stands in. */
uint64_t gossip_draw(uint64_t *seed);

#endif
