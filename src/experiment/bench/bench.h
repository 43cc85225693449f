/* bench.h - the six kinds of `hogring bench`. */
#ifndef HR_BENCH_BENCH_H
#define HR_BENCH_BENCH_H

#include <stdbool.h>

#include "report/benches.h"
#include "options/command_line.h"
#include "plan/layout.h"

/* Each prints, and writes --json and --plot.
 *   collectives  over sizes, algorithms and operations
 *   links        plans over a topology (--topology, --algorithm, --bytes, --root), its rings
 *                (--find-rings), or the laws of parameter servers (--sweep)
 *   layers       every layer's times beside the machine's roofs
 *   train        training speed of models, beside the compute roof
 *   store        push and pull through servers
 *   pipeline     schedules of a pipeline on paper, for a model cut into stages; with --rounds in
 *                real time, too */
HR_CHECKED enum hr_status hr_bench_collectives(struct hr_cli *cli);
HR_CHECKED enum hr_status hr_bench_links(struct hr_cli *cli);
HR_CHECKED enum hr_status hr_bench_layers(struct hr_cli *cli);
HR_CHECKED enum hr_status hr_bench_train(struct hr_cli *cli);
HR_CHECKED enum hr_status hr_bench_store(struct hr_cli *cli);
HR_CHECKED enum hr_status hr_bench_pipeline(struct hr_cli *cli);

/* --- what they share --- */

/* "LO:HI" in bytes, or one size. */
HR_CHECKED enum hr_status hr_bench_parse_sizes(const char *text, uint64_t *low, uint64_t *high);

/* Is there memory for so many buffers of the largest size from low to high, by factors of `step`?
 * HR_E_NOMEM, before anything is measured. */
HR_CHECKED enum hr_status hr_bench_check_memory(size_t buffers, uint64_t low, uint64_t high,
                                                uint64_t step);

/* One of two words. */
HR_CHECKED enum hr_status hr_bench_parse_either(const char *option, const char *text,
                                                const char *no, const char *yes, bool *out);

/* --- an operation, a size, an algorithm, some ranks ---
 *
 * The loop: every rank rewrites its whole input; barrier; time the operation; check the output now
 * and then. The time of an iteration is that of its slowest rank; the median of the iterations is
 * what counts. Back to back, there is no barrier: the operation itself keeps ranks in step, and
 * whoever comes early waits inside it. */

struct hr_bench_case {
    struct hr_world_options world;
    enum hr_operation operation;
    enum hr_type type;
    enum hr_redop redop;
    size_t bytes;    /* as nccl-tests count them: of the largest buffer of a rank */
    bool own_memory; /* buffers from malloc, not from the arena */
    bool back_to_back;
    size_t iterations; /* 0: as many as the size and half a second's patience allow */
};

/* Measure it; fills the times, the bandwidths, wrong, count and bytes of *row. */
HR_CHECKED enum hr_status hr_bench_measure(const struct hr_bench_case *what,
                                           struct hr_bench_row *row);

/* --- what networks are fed: a data set that was named, or numbers made up in a shape that was
 * asked for --- */

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
