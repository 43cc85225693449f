/* aggregate_setup.h - do a machine's workers push as one (--aggregate)?
 *
 *   auto   yes, where it can be: ps-sync on several machines, whose workers are 2, 4, 8, ... each,
 *          wherever servers are; but not in a recorded run, since its trace is replayed on one
 *          machine, where each worker pushes, nor with --compress, which keeps an error for each
 *          worker's push: the banner says so.
 *   node   yes; refused, with the reason, where it cannot be. Where a checkpoint says node, and the
 *          run that goes on cannot: a line says so, and each pushes.
 *   none   no.
 * With --overlap on, where they would push as one: refused, since that push leaves whole. A run
 * that goes on with auto and --overlap on goes on with the push of each.
 *
 * Threads: the launcher's. Test: tests/unit/server/test_served_machines.c
 */
#ifndef HR_TRAIN_AGGREGATE_SETUP_H
#define HR_TRAIN_AGGREGATE_SETUP_H

#include "train/run.h"

/* Behind hr_several_deal: sets shared.node_workers, and where they do, their strategy. HR_E_USAGE.
 */
HR_CHECKED enum hr_status hr_aggregate_setup(struct hr_run *run);

/* For people: who pushes; "": on one machine, and without servers. */
void hr_aggregate_text(const struct hr_run *run, char *text, size_t size);

#endif
