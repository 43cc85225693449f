/* verdict.h - what a comparison over several seeds proves, and what it does not.
 *
 * Seeds pair runs. The score (test accuracy; where values are predicted rmse, less being better;
 * where neither was measured the test loss) of each pair of strategies is tested by Student's
 * paired test over the seeds that both have, with Holm's correction over all pairs (family.h); so
 * is what a target took, in seconds and in samples (stats/times.h), each a family of its own.
 *
 *     struct hr_verdict verdict;
 *     HR_TRY(hr_verdict_make(&verdict, runs, n, wish));
 *     ... hr_family_pair(&verdict.score_tests, a, b)->p ...
 *     hr_verdict_free(&verdict);
 *
 * Threads: none. Test: tests/unit/verdict/test_verdict.c; how often it claims what is not so, and
 * finds what is: tests/unit/verdict/test_calibration.c
 */
#ifndef HR_VERDICT_VERDICT_H
#define HR_VERDICT_VERDICT_H

#include <stdio.h>

#include "report/groups.h"
#include "verdict/family.h"

/* What was asked of the runs, and what claims hold at. */
struct hr_verdict_wish {
    double target;      /* --target-accuracy or --target-rmse; 0: none */
    double margin;      /* --margin: points of accuracy, or the metric's own units; 0: none */
    const char *at;     /* "lr 0.05, momentum 0.9", "the values chosen"; NULL or "": unsaid */
    bool tuned;         /* each strategy has values of its own, chosen by a search */
    const char *sure;   /* of tuned ones: how sure the choices were, in sentences; NULL: unsaid */
    const char *length; /* the option by which runs end when they do, as "--budget"; NULL: none */
    const char *fair;   /* the command that compares fairly; NULL: none */
    double fair_s;      /* how long that takes, about */
    const char *more;   /* the command with several seeds, where there is one; NULL: none */
    double more_s;
};

/* Are groups compared like for like: do their updates, and samples an update, differ by at most
 * 10 %? Where they do not, the user may have listed the difference (it is the experiment), or the
 * strategies make it. Of the latter nothing is claimed but speed, unless each was tuned. */
enum hr_alike { HR_ALIKE, HR_UNLIKE_AS_ASKED, HR_UNLIKE };

struct hr_alikeness {
    enum hr_alike kind;
    size_t large, small; /* groups with larger and smaller updates, the most unlike */
};

/* The rule, for all that claims something (alike.c): of two groups, and of all. */
enum hr_alike hr_alike_pair(const struct hr_run_group *a, const struct hr_run_group *b);
struct hr_alikeness hr_alikeness_of(const struct hr_groups *groups);

/* "Not a fair comparison: 120 updates of 128 samples against 450 of 32, at lr 0.05, momentum 0.9:
 * scores cannot be compared. For a fair comparison (about 4 s): hogring compare --tune --seeds 5",
 * or what the user listed; nothing where all are alike. width: of a terminal, whose lines a command
 * is broken for, before an option; 0: any. */
void hr_alike_print(FILE *out, const struct hr_groups *groups, const struct hr_verdict_wish *wish,
                    size_t width);

/* A command, on a line of its own where it does not fit behind `used` columns: each of its lines
 * but the last ends in a backslash, so that it can be copied as it stands. width 0: any. */
void hr_say_command(FILE *out, const char *command, size_t used, size_t width);

enum { HR_VERDICT_AT = 200 };

struct hr_verdict {
    struct hr_verdict_wish wish;
    struct hr_groups groups;
    enum hr_metric metric;          /* that is compared: accuracy, else rmse, else loss */
    struct hr_spread *score;        /* (groups) owned; of the test set */
    bool unlike;                    /* not like for like: no pair is tested, none is the best */
    size_t *twin;                   /* (groups) owned: the first tested group of the same weights */
    struct hr_family score_tests;   /* of scores */
    struct hr_family cost_tests[2]; /* by enum hr_cost; zeroed without target */
    size_t best;                    /* the tested group of the best mean; groups.n: none is */
    size_t least_seeds, most_seeds; /* of groups that are tested */
};

/* Of n runs, borrowed. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_verdict_make(struct hr_verdict *verdict,
                                          const struct hr_run_result *runs, size_t n,
                                          struct hr_verdict_wish wish);
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

/* "", or ", at lr 0.05, momentum 0.9": what each claim ends with. */
const char *hr_verdict_at(const struct hr_verdict *verdict, char text[HR_VERDICT_AT]);

/* What is to be said of a pair: "worse", "better" (a than b); with a margin "equal within",
 * "no worse within", "no better within"; who is worse or better and yet within the margin is
 * "worse, equal within"; "identical", "not told", "not tested", "not like for like". Of costs, less
 * is better, and there is no margin. */
const char *hr_verdict_word(const struct hr_verdict *verdict, const struct hr_family *family,
                            size_t a, size_t b);

/* That runs are not like for like (hr_alike_print), without the command: for a picture. Owned by
 * the caller; NULL: there is nothing to say. */
char *hr_verdict_note(const struct hr_run_result *runs, size_t n,
                      const struct hr_verdict_wish *wish);

/* What the runs let one say. Briefly: are they like for like; who is significantly worse than the
 * best, or why that is not known and by which command it would be; who reached the target first;
 * one ranking of speed; who lost ranks or diverged. Of a single row, how far its score can be
 * relied on. details: also every pair, the tests, their power, orders of events. width: of a
 * terminal, for commands; 0: any. */
void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n,
                      struct hr_verdict_wish wish, bool details, size_t width);

#endif
