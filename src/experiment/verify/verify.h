/* verify.h - does what hogring promises hold on this machine, with this build?
 *
 *     hr_verify_begin(&verify, only)      which checks
 *     hr_verify_run(&verify, observer)    cases of each in turn, for so many seconds
 *     hr_verify_print, hr_verify_json     what came of it
 *
 * Every check is tried once, however long that takes. Then, while there is time, the next case is
 * of the check that has used the least.
 *
 * Threads: the caller's; it must not have multiplied anything (cases are forked).
 * Test: tests/unit/verify/test_verify.c, tests/cli/verify.bats
 */
#ifndef HR_VERIFY_VERIFY_H
#define HR_VERIFY_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hogring/train.h"
#include "base/error.h"

/* --- what is checked ---
 * A *check* is a claim, and a function that tries one *case* of it. Cases have numbers; all that a
 * case draws follows from the seed, the check and its number, so that one that failed comes again.
 * Each case runs in a process of its own: it may crash, hang, start threads or fork, and begins as
 * the first did.
 *
 * A claim that does not hold is HR_E_FAILED, with both sides in the message. HR_E_NOMEM, HR_E_SHM,
 * HR_E_IO and HR_E_KERNELS say that it cannot be tried here; anything else is a failure, too. */

struct hr_trial;

struct hr_check {
    const char *name;
    const char *claim; /* at most 29 characters, as a table has it */
    const char *story; /* and in a sentence or two */
    const char *what;  /* is compared: "runs", "sums" */
    enum hr_status (*run)(struct hr_trial *trial);
};

struct hr_trial {
    const struct hr_check *check;
    uint64_t seed, number;
    uint64_t draws;                   /* so far */
    const struct hr_dataset *dataset; /* the digits */
    char folder[512];                 /* there once hr_trial_folder was called */

    uint64_t compared; /* of check->what */
    double worst; /* largest error of what is equal to rounding; NaN: all is equal to the bit */

    struct hr_train_options base, first; /* hr_trial_options; the run that others must equal */
    char want[33];                       /* its digest; "" before */
};

/* --- draws --- */

/* 0 .. n - 1 */
size_t hr_trial_draw(struct hr_trial *trial, size_t n);
/* One of the names of a list that NULL ends. */
const char *hr_trial_pick(struct hr_trial *trial, const char *const *names);

/* A folder for files of this case, made when it is first asked for. HR_E_IO. */
HR_CHECKED enum hr_status hr_trial_folder(struct hr_trial *trial);

/* Which strategies a claim is of, by what the table says of them:
 *   IN_STEP   all workers know beforehand what comes next: no order of events decides anything
 *   TOGETHER  all share a batch: as above, where nobody is left out (backup-workers:0)
 *   ORDERED   the order in which inputs are taken decides bits
 *   PLAIN     it keeps weights and optimizers' states alone: with one worker it is serial */
enum hr_trial_of { HR_TRIAL_IN_STEP, HR_TRIAL_TOGETHER, HR_TRIAL_ORDERED, HR_TRIAL_PLAIN };
/* The i-th of them; NULL: behind the last. */
const char *hr_trial_strategy(enum hr_trial_of of, size_t i);

/* In which order the algorithms add, stated anew: the sum of x (n) as `algorithm` adds element
 * `index` of a vector among n ranks.
 *   group_size  ranks a node, of hierarchical */
float hr_order_sum(const char *algorithm, const float *x, size_t n, size_t index,
                   size_t group_size);

/* --- the checks, as they are listed --- */

#define HR_CHECKS(X)                                                                               \
    X(one_worker)                                                                                  \
    X(synchronous)                                                                                 \
    X(repro)                                                                                       \
    X(processes)                                                                                   \
    X(virtual_time)                                                                                \
    X(any_order)                                                                                   \
    X(buckets)                                                                                     \
    X(pipelines)                                                                                   \
    X(tensor)                                                                                      \
    X(resume)                                                                                      \
    X(replay)                                                                                      \
    X(rounding)                                                                                    \
    X(collectives) X(products) X(rows_alone) X(instructions) X(rings) X(parking) X(memory)

#define HR_CHECK_DECLARE(name) extern const struct hr_check hr_check_##name;
HR_CHECKS(HR_CHECK_DECLARE)
#undef HR_CHECK_DECLARE

/* --- cases in turn --- */

enum { HR_VERIFY_CHECKS = 32, HR_VERIFY_WHY = 480 };

enum hr_verdict_of_check { HR_CHECK_UNTRIED, HR_CHECK_HOLDS, HR_CHECK_FAILED, HR_CHECK_SKIPPED };

struct hr_verify_row {
    const struct hr_check *check;
    enum hr_verdict_of_check verdict;
    uint64_t cases, compared;
    double worst; /* NaN: nothing was compared to rounding */
    double seconds;
    char why[HR_VERIFY_WHY]; /* it failed, was skipped, or was not tried further; "" */
    bool over;               /* no more cases */
};

struct hr_verify {
    uint64_t seed;
    double seconds;  /* budget */
    double case_max; /* seconds until a case that does not answer is a failure; 0: 120 */
    struct hr_verify_row row[HR_VERIFY_CHECKS];
    size_t n;
    double took;
    const struct hr_dataset *dataset;
};

/* All checks there are, or those that are named, with commas between. HR_E_USAGE: there is none of
 * that name. */
HR_CHECKED enum hr_status hr_verify_begin(struct hr_verify *verify, const char *only);
/* The i-th check; NULL past the end. */
const struct hr_check *hr_verify_check_at(size_t i);

/* Called before each case. */
typedef void (*hr_verify_report_fn)(void *arg, const struct hr_verify *verify,
                                    const struct hr_verify_row *next);

/* HR_OK also when claims do not hold. HR_E_INTERRUPTED. */
HR_CHECKED enum hr_status hr_verify_run(struct hr_verify *verify, hr_verify_report_fn report,
                                        void *arg);
/* Rows of that verdict. */
size_t hr_verify_count(const struct hr_verify *verify, enum hr_verdict_of_check verdict);

/* --- one case --- */

struct hr_case_answer {
    enum hr_status status;
    char why[HR_VERIFY_WHY];
    uint64_t compared;
    double worst;
};

/* Case `number` of a check, in a process of its own. */
struct hr_case_answer hr_case_run(const struct hr_verify *verify, const struct hr_check *check,
                                  uint64_t number);

/* --- what came of it --- */

/* A table in 80 columns, and below it why, and a line that counts. */
void hr_verify_print(FILE *out, const struct hr_verify *verify);
/* What each check claims. */
void hr_verify_list(FILE *out, const struct hr_verify *verify);
/* {"seed", "seconds", "kernels", "checks": [...], "ok", "failed", "skipped"}, a new reference. */
json_t *hr_verify_json(const struct hr_verify *verify);

#endif
