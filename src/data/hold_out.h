/* hold_out.h - which samples are held out: test samples of a single file, and those of
 * --validation X.
 *
 *     --split random          round(fraction * count), drawn by the count (and a seed) alone
 *     --split stratified      of each class round(fraction * its samples), drawn alike: at least
 *                             one where it has two or more, never all
 *     --split group:COLUMN    all samples with one value of a column, drawn value by value, until
 *                             at least that many are held out; never all values
 *     --split last            the last ones in the order of the file: of what has happened since
 *     --split fold:I/K[,RULE] the I-th of K parts that together are all samples, as equal as they
 *                             can be: random; stratified, each class as equally, as scikit-learn's
 *                             StratifiedKFold; group:COLUMN, all of a value in one part, as
 *                             GroupKFold. Of test samples: others are held out by RULE
 *
 * Labels and groups are numbers; which number means what does not matter to the draw. At least one
 * sample is held out, and never all.
 *
 * Errors:  HR_E_USAGE: classes or groups that cannot be parted; HR_E_NOMEM.
 * Threads: pure. Test: tests/unit/data/test_hold_out.c
 */
#ifndef HR_DATA_HOLD_OUT_H
#define HR_DATA_HOLD_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum hr_split_rule { HR_SPLIT_RANDOM, HR_SPLIT_STRATIFIED, HR_SPLIT_GROUP, HR_SPLIT_LAST };

/* The option; "" is random. false: it is none of them. */
bool hr_split_rule_parse(const char *split, enum hr_split_rule *out);

struct hr_hold_out {
    const char *split;      /* an option that parses */
    const uint32_t *labels; /* (count), of classes; NULL: they are values */
    const uint32_t *groups; /* (count); NULL: there are none */
};

enum { HR_FOLDS_MAX = 1000 };

/* Which part of how many it takes; folds 0: it takes a fraction. */
struct hr_cv_fold {
    size_t fold, folds; /* 1 to folds */
};
struct hr_cv_fold hr_split_fold(const char *split);
/* The same rule with a part. HR_E_USAGE: it takes one already, or is too long. */
HR_CHECKED enum hr_status hr_split_with_fold(const char *split, struct hr_cv_fold fold, char *out,
                                             size_t size);
/* HR_E_USAGE: `name` has test samples, of which none are taken. */
HR_CHECKED enum hr_status hr_split_needs_no_fold(const char *split, const char *name);

/* COLUMN of group:COLUMN; else "". */
const char *hr_hold_out_group(const char *split);

/* How many of `count` samples, at least 2, --split random and last take. */
size_t hr_hold_out_count(size_t count, double fraction);

/* Mark samples that are held out.
 *   name   for messages
 *   count  2 to below 2^31
 *   marks  (count) zeros in; 1 where it is held out */
HR_CHECKED enum hr_status hr_hold_out_mark(const char *name, const struct hr_hold_out *how,
                                           uint64_t seed, uint64_t epoch, size_t count,
                                           double fraction, uint8_t *marks);

/* The same for test samples, which no seed changes. Of a fold `fraction` is not read. */
HR_CHECKED enum hr_status hr_hold_out_tests(const char *name, const struct hr_hold_out *how,
                                            size_t count, double fraction, uint8_t *marks);

#endif
