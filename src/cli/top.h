/* top.h - what hogring top sees at each look at a run (launch/runs.h), and rates between two: on a
 * screen, as lines, as JSON.
 *
 * Threads: none. Test: tests/unit/cli/test_top.c, tests/cli/top.bats
 */
#ifndef HR_CLI_TOP_H
#define HR_CLI_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "launch/runs.h"
#include "options/command_line.h"
#include "report/human.h"

/* What hogring top shows of a run that goes on: the run's course, and rank by rank what it
 * does and how fast.
 *
 *     hr_top_open(&top, &run)
 *     while (hr_top_look(&top)) ...       reads the run's words once more
 *         hr_top_print(...), or hr_top_json
 *     hr_top_say_end(&top, ...)           how it ended
 *     hr_top_close(&top)
 *
 * Figures:   those that ranks and the launcher have in the control segment (shm/gauge.h), and the
 *            kernel's; rates and shares are of the window between the newest look and the oldest
 *            that is remembered, five seconds at two looks a second. What a rank is in the middle
 *            of is counted for what it does; of one that communicates, as waiting.
 * Memory:    a copy of the run's words; they may hold anything (launch/runs.h). */

enum { HR_TOP_LOOKS = 11 };

enum hr_top_role { HR_TOP_RANK, HR_TOP_WORKER, HR_TOP_SERVER, HR_TOP_STAGE };

struct hr_top_rank {
    enum hr_top_role role;
    size_t replica, stage, part; /* of a pipeline; part: of a stage's team */
    long pid;
    enum hr_phase phase;
    double phase_s;
    bool stopped, lost, over, holds_up;
    uint64_t step, samples, gradients;
    double samples_per_s;          /* not a number: no window yet, or it has none */
    double share[HR_ACTIVITIES];   /* of the window; not a number: unknown */
    double spent_s[HR_ACTIVITIES]; /* so far */
    uint64_t updates, stale_max;   /* updates: those whose staleness was counted */
    double stale_mean;
    uint64_t taken, waiting; /* a server's inputs */
    uint64_t resident;       /* bytes of its process; 0: not known, or that of all */
};

/* What was seen at one look. */
struct hr_top_seen {
    int64_t at_ns;
    uint64_t samples_of_all;
    uint64_t samples[HR_MAX_RANKS];
    int64_t spent_ns[HR_MAX_RANKS][HR_ACTIVITIES];
};

struct hr_top {
    int fd;
    struct hr_run_file run;
    struct hr_look look;
    struct hr_top_seen seen[HR_TOP_LOOKS]; /* (n) from the oldest */
    size_t n;
    double window_s;             /* 0: there is none yet */
    double samples_per_s, eta_s; /* of all; not a number: no basis yet */
    double age_s;
    struct hr_top_rank rank[HR_MAX_RANKS];
    size_t nranks;
};

/* HR_E_SHM: it has just ended. */
HR_CHECKED enum hr_status hr_top_open(struct hr_top *top, const struct hr_run_file *run);
/* Harmless on a zeroed one. */
void hr_top_close(struct hr_top *top);

/* False: the run has ended, or cannot be read any more; figures are the last there are. */
bool hr_top_look(struct hr_top *top);
/* Has any rank trained on samples within the window? */
bool hr_top_moved(const struct hr_top *top);

struct hr_top_room {
    size_t columns, lines; /* 0: any number */
    const FILE *style;     /* colour as this stream has (terminal/output.h) */
};
/* Header, table, and what there was no room for; where there are few lines the most interesting
 * ranks. */
void hr_top_print(FILE *out, const struct hr_top *top, const struct hr_top_room *room);

/* "worker", "replica 0 stage 1" */
void hr_top_role_name(const struct hr_top_rank *rank, char *text, size_t size);

/* The same for programs, a new reference. */
json_t *hr_top_json(const struct hr_top *top);

/* After hr_top_look was false: a sentence. 700 will do. */
void hr_top_say_end(const struct hr_top *top, char *text, size_t size);
/* Did it end as it should have? */
bool hr_top_ended_well(const struct hr_top *top);

/* --- what doctor has alike --- */

/* The pid that is asked for; 0: none is. HR_E_USAGE. */
HR_CHECKED enum hr_status hr_cli_parse_pid(const struct hr_cli *cli, const char *command,
                                           long *pid);

/* A run's command, without the folder of its program. */
const char *hr_without_folder(const char *command);
/* "3.2 s", of longer ones "2 min 5 s". Returns text. */
const char *hr_time_text(char text[HR_HUMAN_MAX], double seconds);

#endif
