/* crowd.h - runs at once, each in a process of its own, and one line of progress for all of them.
 *
 * Memory:   shared with the processes that are forked behind hr_crowd_open; a cell's writer is its
 *           process, its reader who has forked them.
 * Test:     tests/cli/terminal.bats
 */
#ifndef HR_COMPARE_CROWD_H
#define HR_COMPARE_CROWD_H

#include "compare/runs.h"
#include "shm/gauge.h"

struct hr_crowd {
    struct hr_course *cell; /* (runs->per_seed) of those that are at work; NULL: there is none */
    size_t bytes;
    struct hr_progress_view view;
    struct hr_remaining seeds; /* the runs of a seed take as long as the longest */
    const struct hr_compare_runs *runs;
    size_t first; /* of the runs */
    int64_t began_ns;
};

/* Without memory for it nothing is shown. */
void hr_crowd_open(struct hr_crowd *crowd, const struct hr_compare_runs *runs,
                   enum hr_telling telling);
void hr_crowd_close(struct hr_crowd *crowd);

/* Runs from `first` begin, and are over. */
void hr_crowd_begin(struct hr_crowd *crowd, size_t first);
void hr_crowd_end(struct hr_crowd *crowd);

/* Of run `first + k`, for hr_watch_join: its cell, and by whom it is written. */
void *hr_crowd_cell(const struct hr_crowd *crowd, size_t k);
void hr_crowd_tell(void *cell, const struct hr_progress *progress);
/* Some times a second. */
void hr_crowd_draw(struct hr_crowd *crowd);
/* Run i has ended. */
void hr_crowd_ran(struct hr_crowd *crowd, size_t i, const struct hr_run_result *result);

#endif
