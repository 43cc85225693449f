/* bench_data.h - what the benches of networks feed them: a data set that was named, or numbers made
 * up in a shape that was asked for. */
#ifndef HR_BENCH_DATA_H
#define HR_BENCH_DATA_H

#include "options/command_line.h"

struct hr_bench_data {
    struct hr_dataset dataset;
    uint32_t *made_up; /* owned: its labels, then its pixels; NULL: the data set was opened */
    char name[64];     /* "digits", "random 1x28x28 in 10 classes" */
};

/* --data D, or --input CxHxW with --classes N; HR_E_USAGE when both are given. A made-up set has
 * some 64 MiB of samples to train on, where `whole`; else one. */
HR_CHECKED enum hr_status hr_bench_data_open(const struct hr_cli *cli, bool whole,
                                             struct hr_bench_data *out);
/* Make up the numbers (labels are there before), once nothing is left to refuse. Nothing where the
 * data set was opened. */
void hr_bench_data_fill(struct hr_bench_data *data);
void hr_bench_data_close(struct hr_bench_data *data);

#endif
