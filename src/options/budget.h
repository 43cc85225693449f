/* budget.h - how long a run is: --budget, or else --epochs.
 *
 *     500Ksamples   samples trained on; the last step may go beyond
 *     20Kupdates    updates of the model: a synchronous strategy makes one per global batch, an
 *                   asynchronous one per minibatch of a worker
 *     60s, 5m       seconds of training on the run's clock, as --max-seconds: virtual ones in
 *                   virtual time
 *
 * K, M and G are thousands. A budget is the run's length: schedules that fall to the end of a run
 * fall to its end, and --epochs means nothing beside it. --max-steps and --max-seconds cut a run
 * off before its length. Of seconds nobody knows beforehand how many epochs they are: cosine and
 * linear are refused.
 *
 * Threads: pure functions. Test: tests/unit/options/test_budget.c, tests/cli/budget.bats
 */
#ifndef HR_OPTIONS_BUDGET_H
#define HR_OPTIONS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hogring/train.h"

enum hr_budget_unit { HR_BUDGET_NONE, HR_BUDGET_SAMPLES, HR_BUDGET_UPDATES, HR_BUDGET_SECONDS };

struct hr_budget {
    enum hr_budget_unit unit;
    double amount;
};

/* More epochs than any run of seconds has: the curve has room for a point each. */
enum { HR_BUDGET_EPOCHS = 1 << 17 };

/* false: it is none. "" is HR_BUDGET_NONE. */
bool hr_budget_parse(const char *text, struct hr_budget *out);
/* As one would type it: "500Ksamples", whole samples and updates, "1.5s". */
struct hr_budget_text {
    char text[32];
} hr_budget_text(const struct hr_budget *budget);

/* The length of a run in which an epoch has so many samples, in steps of `batch`. */
struct hr_run_length {
    uint64_t end;  /* steps; of seconds: those of HR_BUDGET_EPOCHS */
    double epochs; /* 0: not known beforehand */
    size_t begun;  /* epochs that it may begin */
};
struct hr_run_length hr_run_length(const struct hr_train_options *options, uint64_t samples,
                                   uint64_t batch);

/* Seconds after which the run ends: the fewer of --max-seconds and the budget's; 0: any. */
double hr_run_seconds(const struct hr_train_options *options);
/* It ends at a step instead (replay: where the recorded run ended). */
void hr_run_forget_seconds(struct hr_train_options *options);

/* `check` of the row of --budget. */
HR_CHECKED enum hr_status hr_check_budget(const struct hr_train_options *options);
/* HR_E_USAGE: the rates rise for longer than it lasts. */
HR_CHECKED enum hr_status hr_run_length_check(const struct hr_train_options *options,
                                              const struct hr_run_length *length);

#endif
