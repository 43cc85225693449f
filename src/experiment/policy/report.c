#include "policy/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json/value.h"
#include "report/human.h"
#include "terminal/grid.h"

/* "0.412", or "-": it was not reached. */
static const char *time_text(char text[HR_HUMAN_MAX], double seconds)
{
    snprintf(text, HR_HUMAN_MAX, "-");
    return seconds >= 0 ? hr_human_seconds(text, seconds) : text;
}

static void print_rungs(FILE *out, const struct hr_policy_search *search)
{
    fputs("rungs: ", out);
    for (size_t k = 0; k < search->plan.nrungs; k++)
        fprintf(out, "%s%zu for %.3g", k ? ", " : "", search->plan.rung[k].candidates,
                search->plan.rung[k].budget);
    fputs(" of the budget\n", out);
}

static void print_head(FILE *out, const struct hr_policy_search *search)
{
    const struct hr_policy_space *space = &search->space;
    fprintf(out, "%zu polic%s of %zu combination%s, to %s%s", space->n, space->n == 1 ? "y" : "ies",
            space->points, space->points == 1 ? "" : "s",
            hr_target_text(search->metric, search->target).text,
            search->metric == HR_METRIC_ACCURACY ? " accuracy" : "");
    fputs("\n", out);
    if (search->plan.nrungs)
        print_rungs(out, search);
    if (space->left_out[0])
        fprintf(out, "%s\n", space->left_out);
    if (space->nrefused)
        fprintf(out, "%zu cannot be, as %s\n", space->nrefused, space->refused);
    fputc('\n', out);
}

static const char *fate_of(const struct hr_policy_search *search, size_t place, char text[32])
{
    const struct hr_policy_trial *last = hr_policy_last_trial(search, search->order[place]);
    if (place < search->nfinalists)
        return "finalist";
    snprintf(text, 32, "out at %zu", last->rung + 1);
    return last->diverged ? "diverged" : text;
}

/* What stands in the column of labels: a longer one, behind `before`, has had a line of its own. */
static const char *label_cell(FILE *cells, const char *before, const char *label)
{
    enum { LONGEST = 36 };
    if (strlen(label) <= LONGEST)
        return label;
    fprintf(cells, "%s%s\n", before, label);
    return "";
}

static const char *head_of(const struct hr_metric_kind *kind)
{
    return kind->scale > 1 ? "acc %" : kind->name;
}

static void print_policies(FILE *out, const struct hr_policy_search *search)
{
    const struct hr_metric_kind *kind = hr_metric_kind(search->metric);
    struct hr_grid table;
    char heads[80];
    snprintf(heads, sizeof heads, "\t-policy\tlength\ttarget s\t%s\t-", head_of(kind));
    hr_grid_begin(&table, heads);
    for (size_t i = 0; i < search->space.n; i++) {
        const struct hr_policy_trial *last = hr_policy_last_trial(search, search->order[i]);
        char time[HR_HUMAN_MAX], fate[32];
        const char *label = label_cell(table.cells, "    ", search->space.label[search->order[i]]);
        fprintf(table.cells, "%zu\t%s\t%s\t%s\t%.4g\t%s\n", i + 1, label, last->length,
                time_text(time, last->target_s), last->value * kind->scale,
                fate_of(search, i, fate));
    }
    hr_grid_end(&table, out, 0);
}

/* "0.412 (0.38 to 0.45)" */
static const char *mean_text(const struct hr_finalist *finalist, char text[80])
{
    char mean[HR_HUMAN_MAX], low[HR_HUMAN_MAX], high[HR_HUMAN_MAX];
    snprintf(text, 80, "-");
    if (finalist->reached)
        snprintf(text, 80, "%s", hr_human_seconds(mean, finalist->mean_s));
    if (!isnan(finalist->interval.low))
        snprintf(text, 80, "%s (%s to %s)", hr_human_seconds(mean, finalist->mean_s),
                 hr_human_seconds(low, finalist->interval.low),
                 hr_human_seconds(high, finalist->interval.high));
    return text;
}

static void print_finalists(FILE *out, const struct hr_policy_search *search)
{
    const struct hr_metric_kind *kind = hr_metric_kind(search->metric);
    struct hr_grid table;
    fprintf(out, "\nconfirmed on seeds %llu to %llu, which chose nothing:\n",
            (unsigned long long)search->first_seed,
            (unsigned long long)(search->first_seed + search->nseeds - 1));
    char heads[80];
    snprintf(heads, sizeof heads, "-policy\thits\t-target s (95 %%)\t%s\tp", head_of(kind));
    hr_grid_begin(&table, heads);
    for (size_t i = 0; i < search->nfinalists; i++) {
        const struct hr_finalist *finalist = &search->finalist[i];
        char mean[80], p[16] = "-";
        if (!isnan(finalist->p))
            snprintf(p, sizeof p, "%.2g", finalist->p);
        const char *label = label_cell(table.cells, "", search->space.label[finalist->policy]);
        fprintf(table.cells, "%s\t%zu/%zu\t%s\t%.4g\t%s\n", label, finalist->reached,
                search->nseeds, mean_text(finalist, mean), finalist->value * kind->scale, p);
    }
    hr_grid_end(&table, out, 0);
    fprintf(out, "\n%s\n", search->verdict);
}

static void print_real(FILE *out, const struct hr_policy_search *search)
{
    const struct hr_forecast_error error = hr_policy_forecast(search);
    const struct hr_metric_kind *kind = hr_metric_kind(search->metric);
    fprintf(out, "in real time: %zu of %zu reach it", error.reached, search->nseeds);
    if (error.both)
        fprintf(out, ", in %.3g times the time that was forecast (%+.1f %%)", error.ratio,
                100 * (error.ratio - 1));
    fprintf(out, "; %s %+.3g%s\n", kind->name, error.value * kind->scale,
            kind->scale > 1 ? " points" : "");
    if (search->real_without[0])
        fprintf(out, "real runs did without %s\n", search->real_without);
}

void hr_policy_print(FILE *out, const struct hr_policy_search *search)
{
    print_head(out, search);
    if (search->ntrials)
        print_policies(out, search);
    print_finalists(out, search);
    if (search->real)
        print_real(out, search);
}

/* --- the search as JSON: every trial, and every figure of the tables --- */

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
