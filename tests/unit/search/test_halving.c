/* Successive halving on made-up scores: what is asked, in which order, and what is chosen. */
#include "search/halving.h"

#include <math.h>
#include <string.h>

#include "support/check.h"

/* The score of candidate c is value[c]; noise takes it away from all that train for less. */
struct world {
    double value[16], tie[16];
    double short_of; /* a trial below this budget sees all values reversed */
    size_t fails_at; /* this trial, from 1, fails; 0: none */
    size_t asked;
};

static enum hr_status train(void *arg, struct hr_search_trial *trial)
{
    struct world *world = arg;
    if (++world->asked == world->fails_at)
        return hr_fail(HR_E_IO, "no more");
    const double value = world->value[trial->candidate];
    trial->score = (struct hr_search_score){trial->budget < world->short_of ? -value : value,
                                            world->tie[trial->candidate]};
    return HR_OK;
}

static struct hr_search search_of(struct world *world, size_t n, double longest, double total)
{
    return (struct hr_search){
        .candidates = n, .longest = longest, .total = total, .train = train, .arg = world};
}

static void eight_candidates_have_three_rungs_that_cost_the_same(void **state)
{
    (void)state;
    struct hr_search_plan plan;
    const struct hr_search search = search_of(NULL, 8, 100, 0);
    assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
    const double budget[] = {25, 50, 100};
    const size_t candidates[] = {8, 4, 2};
    assert_int_equal(plan.nrungs, 3);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(plan.rung[k].candidates, candidates[k]);
        assert_int_equal(plan.rung[k].seeds, 1);
        assert_int_equal(plan.rung[k].first_seed, k);
        assert_true(plan.rung[k].budget == budget[k]);
    }
    assert_int_equal(plan.trials, 14);
    assert_true(plan.cost == 600);
}

static void no_rung_has_a_single_candidate(void **state)
{
    (void)state;
    struct hr_search_plan plan;
    for (size_t n = 2; n <= 300; n++) {
        const struct hr_search search = search_of(NULL, n, 1, 0);
        assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
        assert_int_equal(plan.nrungs, (size_t)ceil(log2((double)n)));
        for (size_t k = 0; k < plan.nrungs; k++)
            assert_true(plan.rung[k].candidates > 1);
        assert_int_equal(plan.rung[plan.nrungs - 1].candidates, 2);
        assert_true(plan.rung[plan.nrungs - 1].budget == 1);
    }
}

static void a_total_is_obeyed_and_used(void **state)
{
    (void)state;
    struct hr_search_plan plan;
    for (size_t n = 2; n <= 40; n++)
        for (double total = 1; total < 5000; total *= 1.7) {
            const struct hr_search search = search_of(NULL, n, 10, total);
            assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
            assert_true(plan.cost <= total * (1 + 1e-9));
            const struct hr_search_rung *last = &plan.rung[plan.nrungs - 1];
            assert_true(plan.cost + 2 * last->budget > total * (1 - 1e-9));
        }
}

static void few_candidates_get_more_seeds_for_the_same_total(void **state)
{
    (void)state;
    struct hr_search_plan plan;
    struct hr_search search = search_of(NULL, 2, 100, 600);
    assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
    assert_int_equal(plan.nrungs, 1);
    assert_int_equal(plan.rung[0].seeds, 3);
    search = search_of(NULL, 8, 100, 300);
    assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
    assert_true(plan.rung[2].budget == 50);
    assert_true(plan.cost == 300);
}

static void finalists_are_trained_again_at_full_length_on_their_seeds(void **state)
{
    (void)state;
    struct hr_search_plan plan;
    struct hr_search search = search_of(NULL, 16, 100, 0);
    search.finalists = 4;
    search.seeds = 3;
    assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
    assert_int_equal(plan.nrungs, 2);
    assert_int_equal(plan.rung[1].candidates, 4);
    assert_int_equal(plan.rung[1].seeds, 3);
    assert_true(plan.rung[0].budget == 100 && plan.rung[1].budget == 100);
    assert_true(plan.cost == 16 * 100 + 4 * 3 * 100);
    search.total = plan.cost + 1600; /* the first rung takes no seeds from the last */
    assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
    assert_true(plan.rung[1].seeds >= 3 && plan.cost <= search.total);
    search.candidates = 3;
    search.total = 0;
    assert_int_equal(hr_search_plan(&search, &plan), HR_OK);
    assert_int_equal(plan.nrungs, 1);
    assert_int_equal(plan.rung[0].seeds, 3);
}

static void all_seeds_of_the_last_rung_decide(void **state)
{
    (void)state;
    struct world world = {.value = {1, 5, 2, 7, 3, 6, 0, 4}};
    struct hr_search_outcome outcome;
    struct hr_search search = search_of(&world, 8, 8, 0);
    search.finalists = search.seeds = 2;
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_int_equal(outcome.best, 3);
    assert_int_equal(outcome.ntrials, 12);
    const size_t asked[] = {3, 5, 3, 5}, seed[] = {1, 1, 2, 2};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(outcome.trial[8 + i].candidate, asked[i]);
        assert_int_equal(outcome.trial[8 + i].seed, seed[i]);
    }
    hr_search_outcome_free(&outcome);
}

static void the_best_is_found_and_asked_on_seeds_of_each_rung(void **state)
{
    (void)state;
    struct world world = {.value = {1, 5, 2, 7, 3, 6, 0, 4}};
    struct hr_search_outcome outcome;
    const struct hr_search search = search_of(&world, 8, 8, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_int_equal(outcome.best, 3);
    assert_false(outcome.diverged);
    assert_int_equal(outcome.ntrials, 14);
    const size_t asked[] = {0, 1, 2, 3, 4, 5, 6, 7, 1, 3, 5, 7, 3, 5};
    for (size_t i = 0; i < 14; i++) {
        assert_int_equal(outcome.trial[i].candidate, asked[i]);
        assert_int_equal(outcome.trial[i].seed, outcome.trial[i].rung);
        assert_true(outcome.trial[i].score.score == world.value[asked[i]]);
    }
    hr_search_outcome_free(&outcome);
}

static void the_last_rung_decides_among_those_that_it_has(void **state)
{
    (void)state;
    struct world world = {.value = {4, 3, 2, 1}, .short_of = 10};
    struct hr_search_outcome outcome;
    const struct hr_search search = search_of(&world, 4, 10, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_int_equal(outcome.best,
                     2); /* 3 and 2 seemed the best at first; 2 is better in the end */
    hr_search_outcome_free(&outcome);
}

static void of_equal_scores_the_tie_decides_and_then_the_first(void **state)
{
    (void)state;
    struct world world = {.value = {1, 1, 1, 1}, .tie = {-3, -1, -1, -2}};
    struct hr_search_outcome outcome;
    const struct hr_search search = search_of(&world, 4, 10, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_int_equal(outcome.best, 1);
    hr_search_outcome_free(&outcome);
}

static void of_an_odd_number_the_larger_half_goes_on(void **state)
{
    (void)state;
    struct world world = {.value = {1, 2, 3, 4, 5}};
    struct hr_search_outcome outcome;
    const struct hr_search search = search_of(&world, 5, 4, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    const size_t asked[] = {0, 1, 2, 3, 4, 2, 3, 4, 3, 4};
    assert_int_equal(outcome.ntrials, 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(outcome.trial[i].candidate, asked[i]);
    hr_search_outcome_free(&outcome);
}

static void what_diverged_goes_no_further(void **state)
{
    (void)state;
    struct world world = {.value = {1, NAN, NAN, NAN, NAN, 2, NAN, NAN}};
    struct hr_search_outcome outcome;
    struct hr_search search = search_of(&world, 8, 8, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_int_equal(outcome.best, 5);
    assert_int_equal(outcome.ntrials, 8 + 2 + 0); /* one is left after the second rung */
    hr_search_outcome_free(&outcome);
    world = (struct world){.value = {-INFINITY, NAN}};
    search = search_of(&world, 2, 8, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_int_equal(outcome.best, 0); /* infinitely bad is a number */
    assert_false(outcome.diverged);
    hr_search_outcome_free(&outcome);
}

static void where_all_diverge_the_first_is_named_and_said_so(void **state)
{
    (void)state;
    struct world world = {.value = {NAN, NAN, NAN}, .tie = {1, 2, 3}};
    struct hr_search_outcome outcome;
    const struct hr_search search = search_of(&world, 3, 8, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_true(outcome.diverged);
    assert_int_equal(outcome.best, 0);
    assert_int_equal(outcome.ntrials, 3);
    hr_search_outcome_free(&outcome);
}

static void one_candidate_is_the_best_untried(void **state)
{
    (void)state;
    struct world world = {0};
    struct hr_search_outcome outcome;
    const struct hr_search search = search_of(&world, 1, 8, 100);
    assert_int_equal(hr_search_run(&search, &outcome), HR_OK);
    assert_int_equal(outcome.best, 0);
    assert_int_equal(outcome.ntrials, 0);
    assert_false(outcome.diverged);
    hr_search_outcome_free(&outcome);
}

static void a_trial_that_fails_ends_the_search(void **state)
{
    (void)state;
    struct world world = {.fails_at = 6};
    struct hr_search_outcome outcome;
    struct hr_search search = search_of(&world, 4, 8, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_E_IO);
    assert_null(outcome.trial);
    assert_int_equal(outcome.ntrials, 0);
    search = search_of(&world, 0, 8, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_E_USAGE);
    search = search_of(&world, 4, NAN, 0);
    assert_int_equal(hr_search_run(&search, &outcome), HR_E_USAGE);
    search = search_of(&world, 4, 1, -1);
    assert_int_equal(hr_search_run(&search, &outcome), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_candidates_have_three_rungs_that_cost_the_same),
        cmocka_unit_test(no_rung_has_a_single_candidate),
        cmocka_unit_test(a_total_is_obeyed_and_used),
        cmocka_unit_test(few_candidates_get_more_seeds_for_the_same_total),
        cmocka_unit_test(finalists_are_trained_again_at_full_length_on_their_seeds),
        cmocka_unit_test(all_seeds_of_the_last_rung_decide),
        cmocka_unit_test(the_best_is_found_and_asked_on_seeds_of_each_rung),
        cmocka_unit_test(the_last_rung_decides_among_those_that_it_has),
        cmocka_unit_test(of_equal_scores_the_tie_decides_and_then_the_first),
        cmocka_unit_test(of_an_odd_number_the_larger_half_goes_on),
        cmocka_unit_test(what_diverged_goes_no_further),
        cmocka_unit_test(where_all_diverge_the_first_is_named_and_said_so),
        cmocka_unit_test(one_candidate_is_the_best_untried),
        cmocka_unit_test(a_trial_that_fails_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
