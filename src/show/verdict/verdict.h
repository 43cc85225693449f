/* verdict.h - what a comparison over several seeds proves, and what it does not.
 *
 * Seeds pair runs. The score (test accuracy; where values are predicted rmse, less being better;
 * where neither was measured the test loss) of each pair of strategies is tested by Student's
 * paired test over the seeds that both have, with Holm's correction over all pairs ("family"); so
 * is what a target took, in seconds and in samples (stats/times.h), each a family of its own.
 *
 *     struct hr_verdict verdict;
 *     HR_TRY(hr_verdict_make(&verdict, runs, n, request));
 *     ... hr_family_pair(&verdict.score_tests, a, b)->p ...
 *     hr_verdict_free(&verdict);
 *
 * Threads: none. Test: tests/unit/verdict/test_verdict.c; how often it claims what is not so, and
 * finds what is: tests/unit/verdict/test_calibration.c
 */
#ifndef HR_VERDICT_VERDICT_H
#define HR_VERDICT_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "report/groups.h"
#include "stats/tests.h"
#include "stats/times.h"

/* --- pairing --- */

/* Runs of two strategies that had the same seed: the same weights and order of samples
 * to begin with, in virtual time also the same compute times.
 *
 * A strategy may have run a seed in several orders of events; the mean over them counts. */

/* How many seeds a group's runs have. */
size_t hr_run_group_seeds(const struct hr_run_group *group);

/* Did every run of a seed end with the same weights, in both groups, and have both the same seeds?
 * Then they cannot differ, and there is nothing to test. */
bool hr_groups_identical(const struct hr_run_group *a, const struct hr_run_group *b);

/* The test of a - b over the seeds that both have. Of an accuracy the step is that of one test
 * sample. n is below 2 where there are too few. */
struct hr_paired hr_pair_scores(const struct hr_run_group *a, const struct hr_run_group *b,
                                enum hr_metric metric);

/* What a target took: seconds of training, or samples. */
enum hr_cost { HR_COST_SECONDS, HR_COST_SAMPLES };
struct hr_paired_times hr_pair_costs(const struct hr_run_group *a, const struct hr_run_group *b,
                                     enum hr_cost cost);

/* Seconds or samples of a run when it was seen to have reached its target; < 0: it was not. */
double hr_run_target_cost(const struct hr_run_result *run, enum hr_cost cost);

/* --- family --- */

/* One figure of all strategies, each pair tested, corrected for how many there are.
 *
 * Strategies whose weights are bit for bit the same are one in the tests: they are identical, which
 * needs no test, and count once in Holm's correction.
 *
 * Correcting only for pairs with the best would not do: the best was chosen by the same figures,
 * and chance differences would pass more often than the stated level.
 *
 * Margins: that a is not worse than b by a margin is a one-sided test in either direction, of which
 * at most one of a pair's two can be wrong; Holm's factors are therefore those of as many tests as
 * there are pairs (Shaffer's). Both together say that the two are equal within the margin.
 *
 * Source: J. P. Shaffer, "Modified sequentially rejective multiple test procedures", Journal of the
 *     American Statistical Association 81, 1986. D. J. Schuirmann, 1987 (stats/tests.h). */

#define HR_VERDICT_LEVEL 0.05
#define HR_POWER_WANTED 0.8

enum hr_pair_state { HR_PAIR_UNTESTED, HR_PAIR_IDENTICAL, HR_PAIR_TESTED };

struct hr_pair {
    enum hr_pair_state state;
    struct hr_paired test; /* of a - b, or of log a - log b; its p is that of the pair alone */
    double p;              /* adjusted; 1 where not tested */
    double not_worse_p;    /* adjusted: that a is worse than b by the margin; 1 without margin */
    bool exact;            /* of times: some are not known (stats/times.h) */
    size_t unknown;
};

/* How a pair is tested: fill `test` (and exact, unknown); false: it cannot be. */
typedef bool (*hr_pair_fn)(const void *arg, size_t a, size_t b, struct hr_pair *pair);

struct hr_family {
    size_t groups, tests; /* tests: pairs that were tested, identical strategies counted once */
    struct hr_pair *pair; /* (groups, groups) owned: [a * groups + b], and mirrored */
    double spread; /* of differences: median deviation of the tests that are not significant (of
                      all, where all are) and have any; 0: none has */
    size_t least_pairs; /* of runs, in one of those tests */
};

struct hr_family_request {
    size_t groups;
    const size_t *twin; /* (groups) the first group that is identical to it: itself, if none is */
    hr_pair_fn test;    /* asked for a < b, both first of their kind */
    const void *arg;
    double margin; /* 0: none */
    bool higher;   /* is better */
};

HR_CHECKED enum hr_status hr_family_make(struct hr_family *family,
                                         const struct hr_family_request *request);
void hr_family_free(struct hr_family *family);

/* a against b; a != b. */
static inline const struct hr_pair *hr_family_pair(const struct hr_family *family, size_t a,
                                                   size_t b)
{
    return &family->pair[a * family->groups + b];
}

/* Is a different from b by more than chance, and a's figure the higher one? */
bool hr_family_higher(const struct hr_family *family, size_t a, size_t b);

/* What the pairs that are not significant may have missed. Their differences have the deviation
 * `spread` (of the median pair: one entry that is wide or learned nothing says nothing of how
 * finely the others are told apart); with `pairs` seeds (the least of any of them) a difference of
 * `difference` is found with 80 % power at the level over all tests; `more` seeds find `aim`.
 * 0 pairs: nothing is known. */
struct hr_family_power {
    size_t pairs, more;
    double spread, difference, aim;
};

/* aim: the margin; 0: half of what is found now. */
struct hr_family_power hr_family_power(const struct hr_family *family, double aim);

/* --- orders --- */

/* A strategy's spread split into seeds and orders of events (--orders).
 *
 * One-way random effects: a score is a mean, what its seed adds, and what its order adds. */

struct hr_orders {
    struct hr_components score; /* groups: the seeds; between them, and within one */
    bool same;                  /* all orders of a seed ended with the same weights */
};

/* Of the group's scores that are finite. False: it has no seed with several runs, or no memory. */
bool hr_run_group_orders(const struct hr_run_group *group, enum hr_metric metric,
                         struct hr_orders *orders);

/* --- verdict --- */

/* A command to go on with. */
struct hr_proposal {
    const char *whole;  /* as it can be copied; NULL, "": there is none */
    const char *change; /* of the one that was given: "with --tune --seeds 5" */
    double seconds;     /* that it takes, about */
};

/* What was asked of the runs, and what claims hold at. */
struct hr_verdict_request {
    struct hr_target target; /* that was to be reached */
    double margin;           /* --margin: points of accuracy, or the metric's own units; 0: none */
    const char *at;          /* "lr 0.05, momentum 0.9", "the values chosen"; NULL or "": unsaid */
    bool tuned;              /* each strategy has values of its own, chosen by a search */
    const char *sure;   /* of tuned ones: how sure the choices were, in sentences; NULL: unsaid */
    const char *length; /* the option by which runs end when they do, as "--budget"; NULL: none */
    struct hr_proposal fair; /* that compares fairly */
    struct hr_proposal more; /* with several seeds */
};

/* Are groups compared like for like: do their updates, and samples per update, differ by at most
 * 10 %? Where they do not, the user may have listed the difference (it is the experiment), or the
 * strategies make it. Of the latter nothing is claimed but speed, unless each was tuned. */
enum hr_alike { HR_ALIKE, HR_UNLIKE_AS_ASKED, HR_UNLIKE };

struct hr_alikeness {
    enum hr_alike kind;
    size_t large, small; /* groups with larger and smaller updates, the most unlike */
};

/* Losses of unlike functions (run->loss) are in unlike units: no claim is made about them, be they
 * scores or targets. Has every group the same function as the first? */
bool hr_losses_alike(const struct hr_groups *groups);

/* The rule, for all that claims something ("alike"): of two groups, and of all. */
enum hr_alike hr_alike_pair(const struct hr_run_group *a, const struct hr_run_group *b);
struct hr_alikeness hr_alikeness_of(const struct hr_groups *groups);

/* "Not a fair comparison: 120 updates of 128 samples against 450 of 32, all at lr 0.05, momentum
 * 0.9, so the scores do not show which strategy is better. For a fair comparison (about 4 s):
 * hogring compare --tune --seeds 5", or what the user listed; that loss functions differ; nothing
 * where all are alike. width: of a terminal, whose lines a command is broken for, before an option;
 * 0: any. */
void hr_alike_print(FILE *out, const struct hr_groups *groups,
                    const struct hr_verdict_request *request, size_t width);

/* "For a fair comparison (about 4 s): COMMAND", where there is one: on a line of its own where it
 * does not fit behind the words; each of its lines but the last ends in a backslash, so that it can
 * be copied as it stands. One of about 2 * width characters or more is said by what it changes:
 * "the same command with --tune". width 0: any. */
void hr_say_command(FILE *out, const char *what, const struct hr_proposal *command, size_t width);

struct hr_verdict {
    struct hr_verdict_request request;
    char at[200]; /* "", or ", at lr 0.05, momentum 0.9": what each claim ends with */
    struct hr_groups groups;
    enum hr_metric metric;          /* that is compared: accuracy, else rmse, else loss */
    struct hr_spread *score;        /* (groups) owned; of the test set */
    bool unlike;                    /* not like for like: no pair is tested, none is the best */
    bool unlike_target;             /* the target is a loss, of unlike functions: none is first */
    size_t *twin;                   /* (groups) owned: the first tested group of the same weights */
    struct hr_family score_tests;   /* of scores */
    struct hr_family cost_tests[2]; /* by enum hr_cost; zeroed without target */
    size_t best;                    /* the tested group of the best mean; groups.n: none is */
    size_t least_seeds, most_seeds; /* of groups that are tested */
};

/* Of n runs, borrowed. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_verdict_make(struct hr_verdict *verdict,
                                          const struct hr_run_result *runs, size_t n,
                                          struct hr_verdict_request request);
/* Harmless on a zeroed struct. */
void hr_verdict_free(struct hr_verdict *verdict);

/* Has the group several seeds, and no interrupted run? */
bool hr_verdict_tested(const struct hr_verdict *verdict, size_t group);
/* The adjusted p of two groups' scores. */
double hr_verdict_p(const struct hr_verdict *verdict, size_t a, size_t b);
/* Is the group's mean worse than another's, by more than rounding? */
bool hr_verdict_below(const struct hr_verdict *verdict, size_t group, size_t than);
/* Is it the best, or its mean equal to the best's, with weights of its own? `than` is not read. */
bool hr_verdict_shares_best(const struct hr_verdict *verdict, size_t group, size_t than);
/* Is the group's score worse than another's (the best's) by more than chance? */
bool hr_verdict_worse_than(const struct hr_verdict *verdict, size_t group, size_t than);
bool hr_verdict_worse(const struct hr_verdict *verdict, size_t group);
/* The margin in the metric's own units: 0.005 for 0.5 points. */
double hr_verdict_margin(const struct hr_verdict *verdict);
/* Is a no worse than b by the margin, by more than chance? Always, where they are identical. */
bool hr_verdict_not_worse(const struct hr_verdict *verdict, size_t a, size_t b);

/* What is to be said of a pair: "worse", "better" (a than b); with a margin "equal within",
 * "no worse within", "no better within"; who is worse or better and yet within the margin is
 * "worse, equal within"; "identical", "not told", "not tested", "not like for like". Of costs, less
 * is better, and there is no margin. */
const char *hr_verdict_word(const struct hr_verdict *verdict, const struct hr_family *family,
                            size_t a, size_t b);

/* That runs are not like for like (hr_alike_print), without the command: for a picture. Owned by
 * the caller; NULL: there is nothing to say. */
char *hr_verdict_note(const struct hr_run_result *runs, size_t n,
                      const struct hr_verdict_request *request);

/* What the runs let one say. Briefly: are they like for like; who is significantly worse than the
 * best, or why that is not known and by which command it would be; who reached the target first;
 * one ranking of speed, and whether the first runs and the last were equally fast; who lost ranks
 * or diverged. Of a single row, how far its score can be relied on. details: also the tests'
 * power, orders of events, and every pair, a row of a table. width: of a terminal; 0: any. */
void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n,
                      struct hr_verdict_request request, bool details, size_t width);

/* "comparison" (src/cli/manual/json.txt says what its members are); null for fewer than two
 * strategies, but with --orders. */
json_t *hr_json_comparison(const struct hr_run_result *runs, size_t n,
                           struct hr_verdict_request request);

#endif
