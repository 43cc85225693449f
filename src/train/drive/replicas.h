/* replicas.h - losses of runs whose workers are several ranks each (--pipeline): a rank that is
 * lost is its replica's end.
 *
 *   worker   it is lost as any worker is; its other stages leave the step that they are in, and
 *            wait until it is back, or the run is over
 *   stage    the worker leaves its step and goes, too: then that is lost, and when it is started
 *            again so is the stage
 *
 * Threads: the launcher's.
 * Test:    tests/cli/pipeline_losses.bats, tests/unit/train/test_pipeline_losses.c
 */
#ifndef HR_DRIVE_REPLICAS_H
#define HR_DRIVE_REPLICAS_H

#include "drive/losses.h"

/* Of any rank. (hr_launch_options.lost; losses.h has what follows) */
bool hr_replica_lost(void *losses, size_t rank, const char *how);

#endif
