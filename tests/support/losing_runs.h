/* losing_runs.h - small runs in which ranks die, with every strategy, and what must add up in them.
 */
#ifndef HR_TESTS_SUPPORT_LOSING_RUNS_H
#define HR_TESTS_SUPPORT_LOSING_RUNS_H

#include "support/runs.h"

enum { LOSING_EPOCH = 96, LOSING_EPOCHS = 2, LOSING_BATCH = 4 };

/* What becomes of the samples that are handed out: all are trained on; or some are lost with their
 * worker, or dropped. */
enum losing_account { TRAINED, LOST };

enum losing_strategy {
    HOGWILD,
    PS_ASYNC,
    SSP,
    ELASTIC_AVERAGING,
    BACKUP_WORKERS,
    WITH_BACKUPS,
    ALLREDUCE,
    PS_SYNC,
    LOCAL_SGD,
    GOSSIP,
    LOSING_STRATEGIES
};

struct losing_kind {
    const char *name;
    enum losing_account account;
    bool a_push_is_an_update;
    size_t servers, backups;
};
extern const struct losing_kind losing_kinds[LOSING_STRATEGIES];

/* Two epochs of softmax, as many restarts as are wanted. */
struct hr_train_options losing_options(enum losing_strategy strategy, size_t workers,
                                       const char *on_loss, const char *inject);
/* The same in virtual time: 10 ms for each gradient. */
struct hr_train_options losing_options_virtual(enum losing_strategy strategy, size_t workers,
                                               const char *on_loss, const char *inject);
/* Train, which must go well; losses are not said on stderr. Free the result. */
struct hr_run_result losing_run(const struct hr_train_options *options);
/* From now on no loss is said in any run: they are told on the descriptor; what fails in a test, on
 * the stream. */
void losing_in_silence(void);
/* Every sample was trained on, lost or dropped. */
void losing_check(const struct hr_train_options *options, enum losing_strategy strategy,
                  const struct hr_run_result *result);
/* Whoever was lost, or (--reduce repro) was not active, was absent for the rest of the time. */
void losing_check_times(const struct hr_train_options *options, const struct hr_run_result *result);
/* A run in virtual time that is checked. Free the result. */
struct hr_run_result losing_run_checked(const struct hr_train_options *options,
                                        enum losing_strategy strategy);

#endif
