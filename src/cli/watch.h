/* watch.h - an observer that shows a run on stderr: banner, progress, checkpoints. */
#ifndef HR_CLI_WATCH_H
#define HR_CLI_WATCH_H

#include "options/command_line.h"
#include "hogring/train.h"
#include "report/report.h"

struct hr_watch {
    const struct hr_cli *hints;       /* given when the run starts; NULL: none */
    const struct hr_dataset *dataset; /* theirs */
    const struct hr_cli *outputs;     /* whose earlier contents go then; NULL: nobody's */
    bool started;
    struct hr_progress_view view;
    const char *data;
    bool quiet, banner;
};

/* label: before each progress line, "" for none. The observer borrows watch. */
struct hr_observer hr_watch_begin(struct hr_watch *watch, const struct hr_train_options *options,
                                  const char *data, const char *label, bool quiet);
/* result: for a word of advice; NULL when there is none. */
void hr_watch_end(struct hr_watch *watch, const struct hr_run_result *result);

#endif
