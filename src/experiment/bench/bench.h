/* bench.h - the six kinds of `hogring bench`. */
#ifndef HR_BENCH_BENCH_H
#define HR_BENCH_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/median.h"
#include "hogring/train.h"
#include "nn/profile.h"
#include "options/command_line.h"
#include "plan/layout.h"
#include "tiles/tile_roof.h"

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

/* A spread in per cent, as people read it: "5.4", "12". Returns text. */
const char *hr_bench_spread_text(double spread, char text[16]);
/* {"p10", "p50", "p90"} */
json_t *hr_bench_times(double p10_us, double p50_us, double p90_us);

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

struct hr_bench_row {
    const char *op, *algorithm, *transport, *launch;
    const char *type, *redop, *buffers, *loop;
    size_t bytes, count, ranks;
    double p10_us, p50_us, p90_us;
    double algbw_gbs, busbw_gbs; /* GB/s, decimal */
    size_t wrong;                /* elements with a wrong value */
};

/* Measure it; fills the times, the bandwidths, wrong, count and bytes of *row. */
HR_CHECKED enum hr_status hr_bench_measure(const struct hr_bench_case *what,
                                           struct hr_bench_row *row);

/* The machine's own speed, measured in the same run. */
struct hr_machine_speed {
    double handoff_us; /* between threads, through the kernel */
    double message_ns; /* one way, between two processors */
    size_t threads;    /* in the measurement of memory_gbs */
    double memory_gbs; /* each thread reads, multiplies and writes memory of its own */
    size_t l2_bytes, l3_bytes;
};

/* {"calibration", "rows"} */
json_t *hr_json_rows(const struct hr_machine_speed *calibration, const struct hr_bench_row *rows,
                     size_t n);

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

/* --- roof share --- */

/* Which share of a roof some work reached, where that can be said.
 *
 * A round of the work has a measurement of the roof right before it and one right behind it; its
 * share is its rate by the mean of the two. What is said is the median over rounds, and where it
 * lies with 95 % (hr_middle). Nothing is said where the roof wavered by more than
 * HR_ROOF_MOST_SPREAD, nor of a share above 1, which cannot be: then the machine did something else
 * while the roof was measured. */

enum { HR_SHARE_FEWEST_ROUNDS = 3, HR_SHARE_MOST_ROUNDS = 99 };

struct hr_roof_round {
    double rate;          /* of the work: operations a second */
    double before, after; /* the roof */
};

enum hr_share_lack {
    HR_SHARE_IS_KNOWN,
    HR_SHARE_HAS_NO_ROOF,
    HR_SHARE_HAS_FEW_ROUNDS,
    HR_SHARE_ROOF_WAVERED,
    HR_SHARE_CANNOT_BE
};

struct hr_roof_share {
    enum hr_share_lack lack;
    struct hr_middle roof;  /* operations a second; all 0: there is none */
    struct hr_middle share; /* shown only where nothing lacks; NaN without a roof */
};

/* n <= HR_SHARE_MOST_ROUNDS; 0: there is no roof. */
struct hr_roof_share hr_roof_share(const struct hr_roof_round *rounds, size_t n);

/* Why there is no share, as "the roof wavered by 12 %"; "": there is one. Returns text. */
const char *hr_roof_share_lack(const struct hr_roof_share *share, char text[64]);

/* --- speeds --- */

enum { HR_SPEED_SETTING = 160 };

/* One model, with one value of each option that has several. */
struct hr_speed_row {
    const char *model;              /* as asked for; borrowed */
    char setting[HR_SPEED_SETTING]; /* ":workers=2:servers=1"; "": no option has several values */
    struct hr_run_result result;    /* of the round of median speed; its curve is not owned */
    size_t rounds;                  /* in how many it was measured */
    double least, most;             /* samples/s of these */
    double madds;                   /* of a sample, forward and backward */
    enum hr_roof_kind roof_kind;
    const struct hr_roof_round *measured; /* (rounds) borrowed; NULL: virtual time has no roof */
    struct hr_roof_share roof;            /* of all workers' threads together */
    double ideal; /* samples/s: those of the row that has the fewest workers and is
                                       like this one but for them, times as many as it has more */
};

/* FLOP/s reached, and its share of the roof (target T4: 0.65 to 0.88); NaN where there is none. */
double hr_speed_flops(const struct hr_speed_row *row);
double hr_speed_share(const struct hr_speed_row *row);

/* Set what is ideal for each row. */
void hr_speeds_set_ideal(struct hr_speed_row *rows, size_t n);

/* What tells the curve that a row is on from others, when speed is drawn over workers: its model,
 * and its setting but for the workers. */
void hr_speed_curve(const struct hr_speed_row *row, char *text, size_t size);

/* Time of all workers by what they did; together 1. */
enum hr_speed_part {
    HR_SPEED_LOAD,
    HR_SPEED_FORWARD,
    HR_SPEED_BACKWARD,
    HR_SPEED_UPDATE,
    HR_SPEED_COMMUNICATE,
    HR_SPEED_WAIT,
    HR_SPEED_PARTS
};
void hr_speed_parts(const struct hr_run_result *result, double share[HR_SPEED_PARTS]);

/* A table of n rows. */
void hr_speeds_print(FILE *out, const struct hr_speed_row *rows, size_t n);

/* --- layers --- */

/* Lines that begin with #: the roofs. */
void hr_roofs_print(FILE *out, const struct hr_roofs *roofs);

/* The table, the totals, and a sentence on what limits the step. */
void hr_layers_print(FILE *out, const struct hr_profile *profile);

#endif
