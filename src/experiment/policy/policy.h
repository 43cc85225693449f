/* policy.h - the policy that reaches a target first, found in virtual time.
 *
 *     hr_policy_prepare(&search)       which policies; refused before anything is trained
 *     hr_policy_find(&search)          successive halving: short trials of all, long ones of few
 *     hr_policy_confirm(&search)       the best few again, on seeds that chose nothing
 *     hr_policy_run_real(&search)      the chosen one by the machine's clock, on those seeds
 *     hr_policy_print, hr_policy_json
 *     hr_policy_free(&search)
 *
 * Score: a trial that reaches the target is better than all that do not, and the sooner (in virtual
 * seconds) the better; those that do not are ordered by what they came to. A trial ends where it
 * reaches the target. One that diverged stands behind all.
 *
 * Budgets: a trial of a rung with half the budget has half the --budget, or else half the --epochs.
 *
 * Determinism: virtual runs repeat their bits, and so does all of it but hr_policy_run_real.
 * Threads: the caller's; each run has its own. Test: tests/unit/policy/test_policy.c
 */
#ifndef HR_POLICY_POLICY_H
#define HR_POLICY_POLICY_H

#include <jansson.h>

#include "options/command_line.h"
#include "options/metric.h"
#include "search/halving.h"
#include "stats/tests.h"

/* --- which policies are searched: --search "strategy=allreduce,ssp;staleness=1,4" ---
 * Each option has a list of values; a policy is one value of each. A value that means nothing to
 * its strategy is left out of it: allreduce is one policy, whatever stalenesses there are.
 * Test: tests/unit/policy/test_space.c */

enum { HR_POLICY_LABEL = 128, HR_POLICY_MOST = 4096 };

struct hr_policy_space {
    size_t points;                    /* combinations of values, */
    size_t n;                         /* and those that differ in what they mean */
    struct hr_train_options *options; /* (n) owned */
    char (*label)[HR_POLICY_LABEL];   /* (n) owned: "ssp staleness=4" */
    char left_out[600]; /* "staleness means nothing to allreduce, ps-async; ..."; "" */
    size_t nrefused;    /* policies that cannot be, which are gone; */
    char refused[500];  /* the first of them, and why */
};

/* Read cli->search on top of the other options. HR_E_USAGE: a piece that does not parse, an option
 * that is given too or is one for all, a policy whose options mean nothing together; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_policy_space_read(const struct hr_cli *cli,
                                               struct hr_policy_space *space);
/* Those that a run would refuse (HR_E_USAGE) are left out, as a number of servers that a strategy
 * does not take. HR_E_USAGE: all are; or what else a run would end with. */
HR_CHECKED enum hr_status hr_policy_space_check(struct hr_policy_space *space,
                                                const struct hr_dataset *dataset);
void hr_policy_space_free(struct hr_policy_space *space);

enum { HR_POLICY_FINALISTS = 3, HR_POLICY_SEEDS = 64 /* of a confirmation, at most */ };

struct hr_policy_trial {
    size_t policy, rung;
    uint64_t seed;
    char length[32]; /* "4 epochs", "1.5s" */
    double target_s; /* < 0: not reached */
    double value;    /* of the metric then, or at the last evaluation */
    bool diverged;
};

/* One of the best, and its runs on seeds of their own. */
struct hr_finalist {
    size_t policy;
    char setting[160];         /* what tells it from other finalists, and its results do not say */
    struct hr_run_result *run; /* (seeds) owned; those that diverged are zeroed */
    bool *diverged;            /* (seeds) owned */
    size_t reached;
    double mean_s;               /* geometric, of those that reached it; NaN */
    struct hr_interval interval; /* 95 %, of the mean; NaN where not all reached it */
    double value;                /* mean of the metric at the end */
    bool unlike;                 /* not like for like with the chosen one, and no rate searched */
    bool same;                   /* to the bit, as the chosen one, on every seed */
    double p; /* that it is no other than the chosen one in time, Holm's; NaN of that itself */
};

struct hr_policy_search {
    const struct hr_cli *cli;
    const struct hr_dataset *dataset;
    /* What happens next, and how long all of it will still take; NaN: not known. Or NULL. */
    void (*report)(void *arg, const char *what, double left_s);
    void *arg;

    enum hr_metric metric;
    double target;
    struct hr_policy_space space;
    struct hr_search_plan plan;
    size_t ntrials;
    struct hr_policy_trial *trial; /* (ntrials) owned, in their order */
    size_t *order;                 /* (space.n) owned: policies, the best first */
    size_t nseeds, nfinalists;
    bool confirms_real;           /* also by the machine's clock */
    uint64_t first_seed;          /* of the confirmation */
    struct hr_finalist *finalist; /* (nfinalists) owned; the chosen one first */
    struct hr_run_result *real;   /* (nseeds) owned; NULL: not asked for */
    char real_without[80];        /* options that only virtual time has; "" */
    char verdict[800];

    double done, all; /* of the virtual runs, in longest trials, */
    double share;     /* and of the one that goes on */
    int64_t began_ns;
    /* Of the run that goes on: it was seen to reach the target, there and with this value; it is
     * not stopped there. When exactly it is stopped, nobody knows: no figure is from behind it. */
    bool reached, to_the_end;
    double reached_s, reached_value;
    char what[200];
};

/* Before the data are opened, the options alone, and how it is confirmed: cli is set, all else
 * zeroed. HR_E_USAGE. */
HR_CHECKED enum hr_status hr_policy_check(struct hr_policy_search *search);
/* Then with dataset and tell. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_policy_prepare(struct hr_policy_search *search);
HR_CHECKED enum hr_status hr_policy_find(struct hr_policy_search *search);
HR_CHECKED enum hr_status hr_policy_confirm(struct hr_policy_search *search);
/* Was a rate searched? Then each policy has its own, and updates need not be alike. */
bool hr_policy_tuned(const struct hr_policy_search *search);
HR_CHECKED enum hr_status hr_policy_run_real(struct hr_policy_search *search);
void hr_policy_free(struct hr_policy_search *search);

/* What real runs were beside virtual ones of the same seeds. */
struct hr_forecast_error {
    size_t reached;        /* real runs that reached the target */
    size_t both, measured; /* pairs that did; pairs that were evaluated */
    double ratio;          /* geometric mean of real time / virtual time to the target; NaN */
    double value;          /* mean of what the metric was more; NaN */
};
struct hr_forecast_error hr_policy_forecast(const struct hr_policy_search *search);

/* The last trial of a policy. */
const struct hr_policy_trial *hr_policy_last_trial(const struct hr_policy_search *search,
                                                   size_t policy);

/* What was tried, dropped, chosen, and how the seeds confirm it. */
void hr_policy_print(FILE *out, const struct hr_policy_search *search);
/* "search" of the document. */
json_t *hr_policy_json(const struct hr_policy_search *search);

#endif
