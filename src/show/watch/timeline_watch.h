/* timeline_watch.h - --timeline FILE: what ranks did, written while they do it.
 *
 *     struct hr_timeline_watch lines = {.cli = cli};
 *     HR_TRY(hr_timeline_check(cli, options));                    of each run
 *     observer = hr_watch_begin(&watch, ...);
 *     hr_watch_timeline(&watch, &lines, &observer);               watch.h; each run
 *     status = hr_timeline_end(&lines, status);                   after the last
 */
#ifndef HR_WATCH_TIMELINE_WATCH_H
#define HR_WATCH_TIMELINE_WATCH_H

#include "hogring/train.h"
#include "options/command_line.h"
#include "timeline/timeline.h"

struct hr_timeline_watch {
    const struct hr_cli *cli;
    struct hr_timeline *timeline; /* NULL: no run has begun */
};

/* HR_E_USAGE: its steps are none, or of no timeline. */
HR_CHECKED enum hr_status hr_timeline_check(const struct hr_cli *cli);
/* Which steps are wanted; all where nothing is said. */
void hr_timeline_steps(const struct hr_cli *cli, uint64_t *from, uint64_t *to);
/* Before a run begins: the first opens the file. HR_E_IO. */
HR_CHECKED enum hr_status hr_timeline_admit(struct hr_timeline_watch *lines);
/* A run begins. */
void hr_timeline_begin(struct hr_timeline_watch *lines, const char *name, const char *clock,
                       const struct hr_run_info *info);
/* The runs have ended. Returns status, or what kept the file from being written. */
HR_CHECKED enum hr_status hr_timeline_end(struct hr_timeline_watch *lines, enum hr_status status);

#endif
