/* bench_pipeline_run.h - pipelines in real time, beside what the paper says of them. */
#ifndef HR_BENCH_BENCH_PIPELINE_RUN_H
#define HR_BENCH_BENCH_PIPELINE_RUN_H

#include "options/command_line.h"
#include "bench/pipelines.h"

enum { HR_BENCH_PIPELINE_ROUNDS = 99 };

/* Train each row of the table, cli->rounds times, which are no more than that, in turns:
 * row.measured out, and of the last run of the last row what its stages did when: free it with
 * hr_run_result_free. */
HR_CHECKED enum hr_status hr_bench_pipeline_run(const struct hr_cli *cli,
                                                const struct hr_dataset *dataset,
                                                struct hr_pipelines_table *table,
                                                struct hr_run_result *last);

#endif
