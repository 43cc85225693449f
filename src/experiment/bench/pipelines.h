/* pipelines.h - results of `hogring bench pipeline`: schedules walked on paper. */
#ifndef HR_BENCH_PIPELINES_H
#define HR_BENCH_PIPELINES_H

#include <jansson.h>
#include <stdio.h>

#include "pipeline/walk.h"
#include "options/command_line.h"

/* In real time, over rounds: medians, and the least and the most. */
struct hr_pipelines_measured {
    size_t rounds; /* 0: it was not measured */
    double bubble, least, most;
    double samples_per_s, speed_up; /* against one worker that accumulates as many micro-batches */
};

/* One schedule in one shape. */
struct hr_pipelines_row {
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape;
    double makespan;   /* 1: what one worker takes for the same micro-batches */
    double bubble;     /* of the walk */
    size_t stored;     /* most activations at once, of the rank that has most */
    double balance;    /* of the ranks' work, mean / most */
    uint64_t messages; /* between ranks */
    struct hr_pipelines_measured measured;
};

enum { HR_PIPELINES_ROWS = 4096 };

struct hr_pipelines_table {
    const char *model; /* NULL: stages are equal */
    const char *data;
    double madds; /* of a sample, forward and backward */
    struct hr_pipelines_row row[HR_PIPELINES_ROWS];
    size_t n;
};

/* One row in full. */
struct hr_pipelines_rank {
    char layers[96]; /* "0 to 2", "0, 3 to 4" */
    double share;    /* of the work */
};

struct hr_pipelines_one {
    const struct hr_pipelines_table *table; /* of this row alone */
    const struct hr_pipelines_row *row;
    const struct hr_pipeline_walk *walk;
    const struct hr_pipelines_rank *rank; /* (K) */
};

void hr_pipelines_print(FILE *out, const struct hr_pipelines_table *table);
/* What was measured, beside the paper. */
void hr_pipelines_print_measured(FILE *out, const struct hr_pipelines_table *table);
/* Its picture, in lines of at most `width` columns, and what each rank has. */
HR_CHECKED enum hr_status hr_pipelines_print_one(FILE *out, const struct hr_pipelines_one *one,
                                                 size_t width);

/* The same as {"model", "madds", "rows": [...], "ranks": [...]}, the last
 * where there is `one`. */
json_t *hr_json_pipelines(const struct hr_pipelines_table *table,
                          const struct hr_pipelines_one *one);

/* --- bench_pipeline_run.c: in real time, beside what the paper says of them */
enum { HR_BENCH_PIPELINE_ROUNDS = 99 };

/* Train each row of the table, cli->rounds times, which are no more than that, in turns:
 * row.measured out, and of the last run of the last row what its stages did when: free it with
 * hr_run_result_free. */
HR_CHECKED enum hr_status hr_bench_pipeline_run(const struct hr_cli *cli,
                                                const struct hr_dataset *dataset,
                                                struct hr_pipelines_table *table,
                                                struct hr_run_result *last);

#endif
