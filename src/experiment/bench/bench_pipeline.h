/* bench_pipeline.h - hogring bench pipeline. */
#ifndef HR_BENCH_PIPELINE_H
#define HR_BENCH_PIPELINE_H

#include "options/command_line.h"

/* Walk schedules of a pipeline on paper, for a model cut into stages (--pipeline, --micro-batches,
 * --pipeline-schedule, --chunks, --stages). Prints, and writes --json. */
HR_CHECKED enum hr_status hr_bench_pipeline(struct hr_cli *cli);

#endif
