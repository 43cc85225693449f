/* halving.h - the best of several candidates by successive halving: all are tried for a short time,
 * the better half for twice as long, until one is left.
 *
 *     candidate   one setting of what is searched, by its number, 0 to candidates - 1
 *     trial       a candidate trained anew to a budget on a seed: it gives a score
 *     rung        the trials of one budget: each candidate that is left, on the same seeds
 *     budget      what a trial may take, in a unit of the caller's (samples, seconds)
 *
 *     eight candidates, longest L:    rung 0: 8 of L/4    rung 1: 4 of L/2    rung 2: 2 of L
 *
 *     sixteen, four finalists:        rung 0: 16 of L     rung 1: 4 of L, on three seeds
 *
 * Source: Jamieson, Talwalkar: Non-stochastic best arm identification and hyperparameter
 * optimization (AISTATS 2016, arXiv:1502.07943), algorithm 1: ceil(log2 n) rungs that cost about
 * the same, the better half goes on. Two things differ. Their arms are pulled further; here a trial
 * begins anew, since a schedule of rates depends on its run's length. And of an odd number the
 * larger half goes on, so that no rung has a single candidate.
 *
 * Seeds: each rung has its own, 0, 1, ... in order: a lucky seed is not met twice. What is left of
 * the total is spent on further seeds, of the last rung above all.
 *
 * Determinism: asks are a function of the numbers below and of the scores; candidates are asked in
 * ascending order, all of them on one seed before the next seed.
 * Threads: none; train is called in the caller's. Test: tests/unit/search/test_halving.c
 */
#ifndef HR_SEARCH_HALVING_H
#define HR_SEARCH_HALVING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { HR_SEARCH_RUNGS = 12, HR_SEARCH_CANDIDATES = 1 << HR_SEARCH_RUNGS };

/* Higher is better; where scores are equal the tie decides, higher first, then the lower number of
 * a candidate. A score that is no number: it diverged, and stands behind all that did not. */
struct hr_search_score {
    double score, tie;
};

struct hr_search_trial {
    size_t candidate, rung, seed;
    double budget;
    struct hr_search_score score; /* train sets it */
};

struct hr_search {
    size_t candidates;
    double longest; /* budget of a trial in the last rung */
    /* Not 0: no halving. All are trained at full length, and so many of them again, the last rung,
     * on at least so many seeds. Short trials prefer what begins fast. */
    size_t finalists, seeds;
    double total; /* of all trials; 0: what that takes. With less, trials are shorter */
    /* What is not HR_OK ends the search with it. */
    enum hr_status (*train)(void *arg, struct hr_search_trial *trial);
    void *arg;
};

struct hr_search_rung {
    size_t candidates, seeds, first_seed;
    double budget; /* of each trial */
};

/* What will be asked, at most: where candidates diverge there are fewer to go on with. */
struct hr_search_plan {
    size_t nrungs; /* 0: there is one candidate, and nothing to choose */
    struct hr_search_rung rung[HR_SEARCH_RUNGS];
    size_t trials, seeds;
    double cost; /* sum of the budgets */
};

struct hr_search_outcome {
    size_t best;
    bool diverged; /* no candidate was left: best is the first of those that fell last */
    size_t ntrials;
    struct hr_search_trial *trial; /* (ntrials) owned, in the order asked */
};

/* HR_E_USAGE: no candidates, too many, or a budget that is none. */
HR_CHECKED enum hr_status hr_search_plan(const struct hr_search *search,
                                         struct hr_search_plan *plan);

/* Ask all trials, and choose. On error outcome is zeroed. HR_E_NOMEM; what train returns. */
HR_CHECKED enum hr_status hr_search_run(const struct hr_search *search,
                                        struct hr_search_outcome *outcome);
void hr_search_outcome_free(struct hr_search_outcome *outcome);

#endif
