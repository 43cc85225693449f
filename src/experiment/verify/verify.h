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
#include <stdio.h>

#include "verify/check.h"

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
typedef void (*hr_verify_tell_fn)(void *arg, const struct hr_verify *verify,
                                  const struct hr_verify_row *next);

/* HR_OK also when claims do not hold. HR_E_INTERRUPTED. */
HR_CHECKED enum hr_status hr_verify_run(struct hr_verify *verify, hr_verify_tell_fn tell,
                                        void *arg);
/* Rows of that verdict. */
size_t hr_verify_count(const struct hr_verify *verify, enum hr_verdict_of_check verdict);

/* --- one case (trial.c) --- */

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
