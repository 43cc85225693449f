/* serve_stage.h - ranks beside the workers: servers' shards (serve.h), and the stages of a worker's
 * pipeline, each of which does its part of every gradient until the worker has ended.
 *
 * Threads: the rank's own.
 */
#ifndef HR_DRIVE_SERVE_STAGE_H
#define HR_DRIVE_SERVE_STAGE_H

#include "drive/serve.h"

HR_CHECKED enum hr_status hr_serve_beside(const struct hr_drive *drive, size_t rank);

#endif
