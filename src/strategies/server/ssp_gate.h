/* ssp_gate.h - the gate of Stale Synchronous Parallel: who may read weights now.
 *
 *   Clock    of a worker: its pushes since the last end of an epoch.
 *   Gate     a worker may read when its clock is at most `s` ahead of the slowest. s is
 *            shared->staleness_bound: 0 for ps-sync, --staleness for ssp, any number for ps-async.
 *   Slowest  among live workers: those that neither stand at the cut nor have left.
 *            (From the first return on a worker stands at the cut until it asks again.)
 *   Promise  fastest - slowest <= s, and a reader's weights have all updates that are older than
 *            its clock - s. Builds with HR_DEBUG_CHECKS (the sanitizers') check that on every read.
 *   Source   Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
 *            Server", NIPS 2013.
 *
 * Threads: the shard's.
 * Test: tests/unit/server/test_staleness.c
 */
#ifndef HR_SERVER_SSP_GATE_H
#define HR_SERVER_SSP_GATE_H

#include "strategy/strategy.h"

/* The slowest clock of live workers; UINT64_MAX: there is none. */
uint64_t hr_ssp_slowest_clock(const struct hr_shard *shard);
/* May this worker read, the slowest clock being that? */
bool hr_ssp_gate_is_open(const struct hr_shard *shard, size_t worker, uint64_t slowest);
/* It reads: assert the promise. */
void hr_ssp_gate_check(const struct hr_shard *shard, size_t reader);

#endif
