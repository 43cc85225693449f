/* The search as JSON: every trial, and every figure of the tables. */
#include <math.h>

#include "json/value.h"
#include "policy/policy.h"

static json_t *seconds_json(double seconds)
{
    return seconds < 0 ? json_null() : hr_json_number(seconds);
}

static json_t *trials_json(const struct hr_policy_search *search, size_t policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < search->ntrials; i++) {
        const struct hr_policy_trial *trial = &search->trial[i];
        if (trial->policy == policy)
            json_array_append_new(
                list,
                json_pack("{so so so so so sb}", "rung", hr_json_count(trial->rung + 1), "seed",
                          hr_json_count(trial->seed), "length", hr_json_text(trial->length),
                          "target_seconds", seconds_json(trial->target_s), "value",
                          hr_json_number(trial->value), "diverged", (int)trial->diverged));
    }
    return list;
}

static json_t *policies_json(const struct hr_policy_search *search)
{
    json_t *list = json_array();
    for (size_t i = 0; i < search->space.n; i++) {
        const size_t policy = search->order[i];
        json_array_append_new(
            list, json_pack("{so so sb so}", "policy", hr_json_text(search->space.label[policy]),
                            "place", hr_json_count(i + 1), "finalist",
                            (int)(i < search->nfinalists), "trials", trials_json(search, policy)));
    }
    return list;
}

static json_t *rungs_json(const struct hr_policy_search *search)
{
    json_t *list = json_array();
    for (size_t k = 0; k < search->plan.nrungs; k++) {
        const struct hr_search_rung *rung = &search->plan.rung[k];
        json_array_append_new(
            list, json_pack("{so so so}", "policies", hr_json_count(rung->candidates), "seeds",
                            hr_json_count(rung->seeds), "budget", hr_json_number(rung->budget)));
    }
    return list;
}

static json_t *times_json(const struct hr_policy_search *search, const struct hr_run_result *runs)
{
    json_t *list = json_array();
    for (size_t s = 0; s < search->nseeds; s++)
        hr_json_append(&list, seconds_json(runs[s].target_seconds));
    return list;
}

static json_t *finalists_json(const struct hr_policy_search *search)
{
    json_t *list = json_array();
    for (size_t i = 0; i < search->nfinalists; i++) {
        const struct hr_finalist *it = &search->finalist[i];
        json_array_append_new(
            list,
            json_pack("{so so so so so so so so}", "policy",
                      hr_json_text(search->space.label[it->policy]), "reached",
                      hr_json_count(it->reached), "target_seconds", times_json(search, it->run),
                      "mean", hr_json_number(it->mean_s), "low", hr_json_number(it->interval.low),
                      "high", hr_json_number(it->interval.high), "value", hr_json_number(it->value),
                      "p", hr_json_number(it->p), "same_as_chosen", (int)it->same));
    }
    return list;
}

static json_t *real_json(const struct hr_policy_search *search)
{
    if (!search->real)
        return json_null();
    const struct hr_forecast_error error = hr_policy_forecast(search);
    return json_pack("{so so so so so}", "target_seconds", times_json(search, search->real),
                     "reached", hr_json_count(error.reached), "time_ratio",
                     hr_json_number(error.ratio), "value_difference", hr_json_number(error.value),
                     "without", hr_json_text_or_null(search->real_without));
}

json_t *hr_policy_json(const struct hr_policy_search *search)
{
    return json_pack(
        "{so so so so so so so so so so so so so so}", "space", hr_json_text(search->cli->search),
        "metric", hr_json_text(hr_metric_kind(search->metric)->name), "target",
        hr_json_number(search->target), "combinations", hr_json_count(search->space.points),
        "left_out", hr_json_text_or_null(search->space.left_out), "refused",
        hr_json_count(search->space.nrefused), "refused_as",
        hr_json_text_or_null(search->space.refused), "rungs", rungs_json(search), "policies",
        policies_json(search), "first_seed", hr_json_count(search->first_seed), "seeds",
        hr_json_count(search->nseeds), "confirmed", finalists_json(search), "verdict",
        hr_json_text(search->verdict), "real", real_json(search));
}
