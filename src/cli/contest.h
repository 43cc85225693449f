/* contest.h - the runs of one compare, and running them at the same time. */
#ifndef HR_CLI_CONTEST_H
#define HR_CLI_CONTEST_H

#include "cli/options.h"
#include "report/report.h"

enum { HR_CONTEST_MAX = 256 };

struct hr_contest {
    size_t n, per_seed;
    char entry[HR_CONTEST_MAX][64]; /* of --strategies, cut short; runs go by it while they last */
    struct hr_train_options options[HR_CONTEST_MAX];
    struct hr_run_result results[HR_CONTEST_MAX];
    enum hr_status status[HR_CONTEST_MAX];
    char message[HR_CONTEST_MAX][480];
    bool ran[HR_CONTEST_MAX];
    struct hr_failed_run failed[HR_CONTEST_MAX]; /* (nfailed), when all is over */
    size_t nfailed;
};

/* Note how run i ended. */
void hr_contest_note(struct hr_contest *contest, size_t i, enum hr_status status,
                     const char *message);

/* All strategies of a seed at once, each in a process of its own that tells the others apart only
 * by the processors they take; seeds one after another. Where there are enough processors each
 * strategy gets a share of its own. */
HR_CHECKED enum hr_status hr_contest_side_by_side(const struct hr_cli *cli,
                                                  const struct hr_dataset *dataset,
                                                  struct hr_contest *contest);

#endif
