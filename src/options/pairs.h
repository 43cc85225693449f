/* pairs.h - what does not go together: one table, feature by feature, each pair with its reason.
 *
 * A feature is something that a run may have: a row with a question to ask of its options. A pair
 * is two of them that do not go together, and what to do instead. From the table
 * follow the refusals, the page `hogring help combinations`, and the test of every pair.
 *
 *   Sense    together they can mean nothing
 *   Work     they could; nobody has built it
 *
 * What an option belongs to stands in its own row (option.h: with, needs; and `options` of
 * strategies and optimizers); what numbers must be to each other is checked where they are used.
 *
 * Threads: constants and pure functions.
 * Test: tests/unit/options/test_pairs.c
 */
#ifndef HR_OPTIONS_PAIRS_H
#define HR_OPTIONS_PAIRS_H

#include <stdbool.h>
#include <stdio.h>

#include "options/command_line.h"
#include "strategies/strategies.h"

/* A run, as features see it. */
struct hr_pair_run {
    const struct hr_train_options *options;
    const struct hr_strategy *strategy; /* NULL: a sparse model's, or not known */
    const struct hr_cli *cli;           /* NULL: a caller of the library */
    bool sparse;
    bool machines; /* on several machines */
    bool serial;   /* one process runs all ranks: in virtual time, explored or replayed */
    bool forecast; /* it is not run, but forecast */
};

/* cli may be NULL. What options do not say can be set afterwards. */
struct hr_pair_run hr_pair_run_of(const struct hr_train_options *options, const struct hr_cli *cli);

struct hr_feature {
    const char *name;    /* "--overlap on"; or where there is no option, "on several machines" */
    const char *option;  /* that a refusal names with its value; NULL: it has the name */
    const char *example; /* of words with which a run has it */
    bool (*is)(const struct hr_pair_run *run);
};
extern const struct hr_feature hr_features[];
extern const size_t hr_nfeatures;

enum hr_pair_kind { HR_PAIR_SENSE, HR_PAIR_WORK };

struct hr_feature_pair {
    unsigned char a, b, where[2]; /* features; `where` have to hold, too; 0: there is none */
    bool given; /* looked at only where `a` was given, and in a comparison one of the runs that were
                   given it has to obey it: the others go without (meaning.h) */
    enum hr_pair_kind kind;
    const char *why, *instead;
};
extern const struct hr_feature_pair hr_pairs[];
extern const size_t hr_npairs;

/* Has the run both, and what else the pair is about? */
bool hr_pair_holds(const struct hr_feature_pair *pair, const struct hr_pair_run *run);

/* HR_E_USAGE: the first pair that the run has, but for those of options that were given. The other
 * is of hr_pair_run_of. */
HR_CHECKED enum hr_status hr_pairs_check(const struct hr_pair_run *run);
HR_CHECKED enum hr_status hr_pairs_check_of(const struct hr_train_options *options,
                                            const struct hr_cli *cli);
/* Those of an option that was given. */
HR_CHECKED enum hr_status hr_pairs_check_option(const char *option, const struct hr_pair_run *run);

/* --json digests=N as a run of these options obeys it: 0 where it means nothing. */
uint64_t hr_digest_every(const struct hr_train_options *o);

/* The table, as text of the manual (manual/manual.h). */
void hr_pairs_write(FILE *out);

#endif
