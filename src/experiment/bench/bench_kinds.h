/* bench_kinds.h - the six kinds of `hogring bench`. */
#ifndef HR_BENCH_KINDS_H
#define HR_BENCH_KINDS_H

#include "options/command_line.h"

/* What the first argument asks for. */
enum hr_command_bit hr_bench_kind_of(const struct hr_cli *cli);

/* HR_E_USAGE: an option was given that means nothing to that kind, or a second argument. */
HR_CHECKED enum hr_status hr_bench_check_options(const struct hr_cli *cli,
                                                 enum hr_command_bit kind);

/* "LO:HI" in bytes, or one size. */
HR_CHECKED enum hr_status hr_bench_parse_sizes(const char *text, uint64_t *low, uint64_t *high);

/* Is there memory for so many buffers of the largest size from low to high, by factors of `step`?
 * HR_E_NOMEM, before anything is measured. */
HR_CHECKED enum hr_status hr_bench_check_memory(size_t buffers, uint64_t low, uint64_t high,
                                                uint64_t step);

/* One of two words. */
HR_CHECKED enum hr_status hr_bench_parse_either(const char *option, const char *text,
                                                const char *no, const char *yes, bool *out);

/* --- bench_layers.c, bench_train.c: what limits a network here */
/* Every layer's times beside the machine's roofs. */
HR_CHECKED enum hr_status hr_bench_layers(struct hr_cli *cli);

/* Training speed of models, beside the compute roof. */
HR_CHECKED enum hr_status hr_bench_train(struct hr_cli *cli);

/* --- bench_links.c */
/* Walk plans over a topology (--topology, --algorithm, --bytes, --root), or show its rings
 * (--find-rings), or the laws of parameter servers (--sweep). Prints, and writes --json. */
HR_CHECKED enum hr_status hr_bench_links(struct hr_cli *cli);

/* --- bench_pipeline.c */
/* Walk schedules of a pipeline on paper, for a model cut into stages (--pipeline, --micro-batches,
 * --pipeline-schedule, --chunks, --stages). Prints, and writes --json. */
HR_CHECKED enum hr_status hr_bench_pipeline(struct hr_cli *cli);

#endif
