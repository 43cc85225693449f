/* speeds.h - how fast networks train: results of `hogring bench train`, for people.
 *
 * Threads: none. Test: tests/unit/report/test_speeds.c, tests/cli/bench_nets.bats
 */
#ifndef HR_REPORT_SPEEDS_H
#define HR_REPORT_SPEEDS_H

#include <stdio.h>

#include "hogring/train.h"
#include "report/roof_share.h"
#include "tiles/tile_roof.h"

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

#endif
