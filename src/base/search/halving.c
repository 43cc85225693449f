/* Plan. With n candidates there are K = ceil(log2 n) rungs; rung k has n_k candidates, n_0 = n and
 * n_k+1 = ceil(n_k / 2), until two have become one; its trials have longest / 2^(K-1-k), and one
 * seed. With finalists there are two rungs of the longest, of all and of these, the second with as
 * many seeds as are asked. All cost the sum of n_k times seeds times budget. If the total is less,
 * every budget shrinks alike. If it is more, each rung but the last has as many seeds as fit its
 * K-th part and leave enough for those behind it, and the last as many as fit what is left.
 *
 * Run. A rung trains its candidates on each of its seeds; a candidate's score and tie are the means
 * over these (one that is no number makes the mean none). Sorted by score, tie, number, the better
 * half goes on, but nothing that diverged. */
#include "search/halving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of n, how many go on. */
static size_t next_of(const struct hr_search *search, size_t n)
{
    if (search->finalists)
        return n < search->finalists ? n : search->finalists;
    return n - n / 2;
}

static size_t count_rungs(const struct hr_search *search)
{
    size_t rungs = 0;
    if (search->finalists)
        return search->candidates > search->finalists ? 2 : search->candidates > 1;
    for (size_t n = search->candidates; n > 1; n = next_of(search, n))
        rungs++;
    return rungs;
}

static bool is_amount(double x)
{
    return isfinite(x) && x > 0;
}

static size_t count_fitting(double amount, double cost)
{
    const double fitting = floor(amount / cost * (1 + 1e-12)); /* 6 / 2 is 3, rounded or not */
    return fitting < 1 ? 1 : fitting > 1e6 ? 1000000 : (size_t)fitting;
}

/* Candidates and budgets, and no more seeds than asked. */
static void lay_rungs(const struct hr_search *search, struct hr_search_plan *plan)
{
    size_t n = search->candidates;
    plan->nrungs = count_rungs(search);
    for (size_t k = 0; k < plan->nrungs; k++, n = next_of(search, n)) {
        const int behind = (int)(plan->nrungs - 1 - k);
        plan->rung[k] = (struct hr_search_rung){
            .candidates = n,
            .seeds = search->finalists && behind == 0 ? search->seeds : 1,
            .budget = search->finalists ? search->longest : ldexp(search->longest, -behind),
        };
        plan->cost += (double)(n * plan->rung[k].seeds) * plan->rung[k].budget;
    }
}

static void spend_total(double total, struct hr_search_plan *plan)
{
    double left = total, behind = plan->cost; /* what rungs behind take at least */
    const double shrink = total < plan->cost ? total / plan->cost : 1;
    behind *= shrink;
    for (size_t k = 0; k < plan->nrungs; k++) {
        struct hr_search_rung *rung = &plan->rung[k];
        rung->budget *= shrink;
        const double cost = (double)rung->candidates * rung->budget;
        const bool last = k + 1 == plan->nrungs;
        behind -= cost * (double)rung->seeds;
        rung->seeds =
            count_fitting(last ? left : fmin(total / (double)plan->nrungs, left - behind), cost);
        left -= cost * (double)rung->seeds;
    }
}

static void sum_up(struct hr_search_plan *plan)
{
    plan->cost = 0;
    for (size_t k = 0; k < plan->nrungs; k++) {
        struct hr_search_rung *rung = &plan->rung[k];
        rung->first_seed = plan->seeds;
        plan->seeds += rung->seeds;
        plan->trials += rung->candidates * rung->seeds;
        plan->cost += (double)(rung->candidates * rung->seeds) * rung->budget;
    }
}

enum hr_status hr_search_plan(const struct hr_search *search, struct hr_search_plan *plan)
{
    *plan = (struct hr_search_plan){0};
    if (search->candidates < 1 || search->candidates > HR_SEARCH_CANDIDATES)
        return hr_fail(HR_E_USAGE, "a search among %zu candidates: expected 1 to %d",
                       search->candidates, HR_SEARCH_CANDIDATES);
    if (!is_amount(search->longest) || (search->total != 0 && !is_amount(search->total)))
        return hr_fail(HR_E_USAGE, "a search with trials of %g and %g in all: expected more than 0",
                       search->longest, search->total);
    lay_rungs(search, plan);
    if (search->total > 0)
        spend_total(search->total, plan);
    sum_up(plan);
    return HR_OK;
}

/* --- running --- */

struct standing {
    size_t candidate;
    struct hr_search_score score;
};

static int compare_numbers(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a < b) - (a > b);
}

static int compare_standings(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    const int by_score = compare_numbers(x->score.score, y->score.score);
    const int by_tie = isnan(x->score.score) ? 0 : compare_numbers(x->score.tie, y->score.tie);
    if (by_score || by_tie)
        return by_score ? by_score : by_tie;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

static enum hr_status run_rung(const struct hr_search *search, const struct hr_search_plan *plan,
                               size_t k, struct standing *left, size_t n,
                               struct hr_search_outcome *outcome)
{
    const struct hr_search_rung *rung = &plan->rung[k];
    for (size_t i = 0; i < n; i++)
        left[i].score = (struct hr_search_score){0};
    for (size_t s = 0; s < rung->seeds; s++)
        for (size_t i = 0; i < n; i++) {
            struct hr_search_trial *trial = &outcome->trial[outcome->ntrials];
            *trial = (struct hr_search_trial){.candidate = left[i].candidate,
                                              .rung = k,
                                              .seed = rung->first_seed + s,
                                              .budget = rung->budget};
            HR_TRY(search->train(search->arg, trial));
            outcome->ntrials++;
            left[i].score.score += trial->score.score / (double)rung->seeds;
            left[i].score.tie += trial->score.tie / (double)rung->seeds;
        }
    return HR_OK;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* Those that go on, `kept` at most, in ascending order; best: the first of all. */
static size_t select_best(struct standing *left, size_t n, size_t kept,
                          struct hr_search_outcome *outcome)
{
    qsort(left, n, sizeof *left, compare_standings);
    outcome->best = left[0].candidate;
    outcome->diverged = isnan(left[0].score.score);
    while (kept > 0 && isnan(left[kept - 1].score.score))
        kept--;
    qsort(left, kept, sizeof *left, compare_candidates);
    return kept;
}

static enum hr_status run_all(const struct hr_search *search, const struct hr_search_plan *plan,
                              struct standing *left, struct hr_search_outcome *outcome)
{
    size_t n = search->candidates;
    for (size_t i = 0; i < n; i++)
        left[i].candidate = i;
    for (size_t k = 0; k < plan->nrungs && n > 1; k++) {
        HR_TRY(run_rung(search, plan, k, left, n, outcome));
        n = select_best(left, n, next_of(search, n), outcome);
    }
    return HR_OK;
}

enum hr_status hr_search_run(const struct hr_search *search, struct hr_search_outcome *outcome)
{
    struct hr_search_plan plan;
    *outcome = (struct hr_search_outcome){0};
    HR_TRY(hr_search_plan(search, &plan));
    struct standing *left = calloc(search->candidates, sizeof *left);
    outcome->trial = calloc(plan.trials + 1, sizeof *outcome->trial);
    enum hr_status status = left && outcome->trial ? HR_OK : HR_E_NOMEM;
    if (status != HR_OK)
        status = hr_fail(HR_E_NOMEM, "no memory for a search of %zu trials", plan.trials);
    else
        status = run_all(search, &plan, left, outcome);
    free(left);
    if (status != HR_OK)
        hr_search_outcome_free(outcome);
    return status;
}

void hr_search_outcome_free(struct hr_search_outcome *outcome)
{
    free(outcome->trial);
    *outcome = (struct hr_search_outcome){0};
}
