/* progress.h - lines on stderr while runs go on, and how long all of them take.
 *
 * Threads: none. Test: tests/unit/report/ */
#ifndef HR_REPORT_PROGRESS_H
#define HR_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "hogring/train.h"

/* --- remaining --- */

/* How long the runs of a comparison will take that have not begun, told from those
 * that have.
 *
 * A run takes as long an epoch as the same entry took with other seeds; one whose entry has not run
 * as long as the others did on average. Where nothing was measured nothing is said. */

enum { HR_REMAINING_RUNS = 256 };

struct hr_remaining {
    size_t n, per_seed; /* run i is of entry i mod per_seed */
    double epochs[HR_REMAINING_RUNS];
    double seconds[HR_REMAINING_RUNS]; /* it took; 0: it has not run, or failed */
    bool spared[HR_REMAINING_RUNS];    /* it will not run */
};

/* Seconds that run i will take, as the same entry did with other seeds; not a number: it has not
 * run. */
double hr_remaining_expect(const struct hr_remaining *remaining, size_t i);

/* Seconds of the runs behind run `now`, which will take about now_s; not a number: unknown. */
double hr_remaining_after(const struct hr_remaining *remaining, size_t now, double now_s);

/* --- a line of parts, as much of it as there is room for --- */

enum { HR_PARTS_MOST = 8, HR_PARTS_PART = 128, HR_PARTS_BYTES = 512 };

struct hr_parts {
    struct {
        char text[HR_PARTS_PART];
        int expendable; /* where there is no room, the most expendable goes first; 0: never */
    } part[HR_PARTS_MOST];
    size_t n;
};

/* An empty part is none. */
void hr_parts_add(struct hr_parts *line, int expendable, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Parts with two characters between them, in at most `room` columns; 0: any. Returns text. */
const char *hr_parts_write(const struct hr_parts *line, const char between[3], size_t room,
                           char text[HR_PARTS_BYTES]);

/* --- progress --- */

/* A run while it goes on: on a terminal one line that is drawn again in place;
 * elsewhere a line when one of several runs has ended, and one a minute while a run goes on.
 *
 *     run 4 of 15  ps-async seed 2  epoch 3.4/10  loss 0.4123  ▇▅▃▁  all done in about 3 min
 *
 * The line that is drawn again comes five times a second at most, is never wider than the terminal
 * is at the moment (what is least needed goes first), and is gone when the run has ended. With
 * details each evaluation is a line, on a terminal above the one that is drawn again. */

/* How much is said while runs go on. */
enum hr_verbosity { HR_VERBOSITY_NONE, HR_VERBOSITY_BRIEF, HR_VERBOSITY_FULL };

/* Whose progress it is. */
struct hr_progress_subject {
    const char *label; /* as --strategies has it; "" of a run on its own; borrowed */
    const char *strategy;
    uint64_t seed;
    double epochs;    /* for "epoch 3/10"; 0: not known */
    size_t tokens;    /* of a sample, of text (hr_human_rate); else 0 */
    size_t run, runs; /* the number of this one, from 1, of so many; 0: it is the only one */
    bool seeds;       /* several */
    const struct hr_remaining *remaining; /* of the other runs; NULL: there are none */
};

struct hr_progress_view {
    FILE *out;   /* stderr */
    bool redraw; /* a terminal: one line, drawn again */
    bool quiet;  /* show nothing */
    bool details;
    struct hr_progress_subject subject;
    double last_loss; /* of the newest curve point */
    int64_t said_ns;  /* when a line that stays was said, or it began */
    bool drawn;       /* a line is on the screen */
    int64_t drawn_at;
    double rate; /* smoothed samples/s */
    double rate_at, rate_samples;
    int64_t opened_ns, began_ns; /* by the machine's clock; 0: no sample yet */
    double began_samples;        /* by then */
};

/* Redraws only on a terminal whose TERM is set and not "dumb", and not where CI is set. */
void hr_progress_view_init(struct hr_progress_view *view, FILE *out,
                           const struct hr_progress_subject *subject, enum hr_verbosity verbosity);
void hr_progress_view_update(struct hr_progress_view *view, const struct hr_progress *progress);
/* An evaluation; with details a line, "epoch 3/10  loss 0.4120  test loss 0.4310 ..." (its speed:
 * the mean of the run up to here). */
void hr_progress_view_point(struct hr_progress_view *view, const struct hr_curve_point *point);
/* One of several has ended: its line, but on a terminal. */
void hr_progress_view_ran(struct hr_progress_view *view, const struct hr_run_result *result);
/* Wipe the line that is drawn again. */
void hr_progress_view_end(struct hr_progress_view *view);

/* A search tells what it does, and how many seconds it will take (not a number: unknown). */
void hr_progress_view_report(struct hr_progress_view *view, const char *what, double left_s);

/* Several runs at once, seen from outside. */
struct hr_progress_crowd {
    size_t first, last, runs; /* numbers, from 1 */
    double least_epoch, most_epoch, epochs;
    double samples_per_s, left_s; /* of all; not a number: not known */
};
void hr_progress_view_crowd(struct hr_progress_view *view, const struct hr_progress_crowd *crowd);

#endif
