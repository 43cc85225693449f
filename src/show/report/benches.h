/* benches.h - what the benches measured, as tables and as JSON.
 *
 * Threads: none. Test: tests/unit/report/, tests/cli/bench_nets.bats */
#ifndef HR_REPORT_BENCHES_H
#define HR_REPORT_BENCHES_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "base/median.h"
#include "hogring/train.h"
#include "nn/profile.h"
#include "terminal/grid.h"
#include "tiles/tile_roof.h"

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

/* How fast networks train: results of `hogring bench train`, for people. */

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

/* Results of `hogring bench layers`, for people.  */

/* Lines that begin with #: the roofs. */
void hr_roofs_print(FILE *out, const struct hr_roofs *roofs);

/* The table, the totals, and a sentence on what limits the step. */
void hr_layers_print(FILE *out, const struct hr_profile *profile);

/* --- the store: push_pull over workers, servers and sizes --- */

struct hr_store_row {
    char setup[32]; /* "2W1PS", "2W2PS colocated" */
    const char *placement;
    size_t workers, servers;
    size_t bytes; /* of all keys */
    double p10_us, p50_us, p90_us;
    double gbs;     /* pushed and pulled by all workers, over p50; GB/s, decimal */
    double law_us;  /* data / total bandwidth of the emulated links; NaN: there are none */
    double balance; /* largest shard over the mean */
    size_t wrong;   /* elements with a wrong value */
};

/* What all rows have in common. */
struct hr_store_table {
    const char *launch, *buffers, *strategy, *link;
    size_t keys;
    const struct hr_store_row *row;
    size_t n;
};

/* Its heads; rows are shown as they come. */
void hr_store_begin(struct hr_grid *cells, FILE *out, const struct hr_store_table *table);
void hr_store_print_row(struct hr_grid *cells, FILE *out, const struct hr_store_row *row);

/* --- collectives --- */

/* One row of `hogring bench`. */
struct hr_bench_row {
    const char *op, *algorithm, *transport, *launch;
    const char *type, *redop, *buffers, *loop;
    size_t bytes, count, ranks;
    double p10_us, p50_us, p90_us;
    double algbw_gbs, busbw_gbs; /* GB/s, decimal */
    size_t wrong;                /* elements with a wrong value */
};

/* The machine's own speed, measured in the same run. */
struct hr_machine_speed {
    double handoff_us; /* between threads, through the kernel */
    double message_ns; /* one way, between two processors */
    size_t threads;    /* in the measurement of memory_gbs */
    double memory_gbs; /* each thread reads, multiplies and writes memory of its own */
    long l2_bytes, l3_bytes;
};

/* {"calibration", "rows"}; calibration may be NULL. */
json_t *hr_json_rows(const struct hr_machine_speed *calibration, const struct hr_bench_row *rows,
                     size_t n);

/* --- for programs: new references, NULL without memory --- */

/* {"kernels", "roofs", "model", ..., "rows", "total", "bound"} */
json_t *hr_json_layers(const struct hr_profile *profile, const char *kernels);
/* {"rows"} */
json_t *hr_json_speed(const struct hr_speed_row *rows, size_t n);
json_t *hr_json_store(const struct hr_store_table *table);

#endif
