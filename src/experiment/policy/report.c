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
            hr_json_append(&list,
                           hr_json_object("rung", HR_JSON(trial->rung + 1), HR_OF(trial, seed),
                                          HR_OF(trial, length), "target_seconds",
                                          seconds_json(trial->target_s), HR_OF(trial, value),
                                          HR_OF(trial, diverged), NULL));
    }
    return list;
}

static json_t *policy_json(const void *of, size_t i)
{
    const struct hr_policy_search *search = of;
    const size_t policy = search->order[i];
    return hr_json_object("policy", HR_JSON(search->space.label[policy]), "place", HR_JSON(i + 1),
                          "finalist", hr_json_flag(i < search->nfinalists), "trials",
                          trials_json(search, policy), NULL);
}

static json_t *rung_json(const void *of, size_t k)
{
    const struct hr_search_rung *rung = &((const struct hr_policy_search *)of)->plan.rung[k];
    return hr_json_object("policies", HR_JSON(rung->candidates), HR_OF(rung, seeds),
                          HR_OF(rung, budget), NULL);
}

static json_t *times_json(const struct hr_policy_search *search, const struct hr_run_result *runs)
{
    json_t *list = json_array();
    for (size_t s = 0; s < search->nseeds; s++)
        hr_json_append(&list, seconds_json(runs[s].target_seconds));
    return list;
}

static json_t *finalist_json(const void *of, size_t i)
{
    const struct hr_policy_search *search = of;
    const struct hr_finalist *it = &search->finalist[i];
    return hr_json_object("policy", HR_JSON(search->space.label[it->policy]), HR_OF(it, reached),
                          "target_seconds", times_json(search, it->run), "mean",
                          HR_JSON(it->mean_s), HR_OF(&it->interval, low),
                          HR_OF(&it->interval, high), HR_OF(it, value), HR_OF(it, p),
                          "same_as_chosen", HR_JSON(it->same), NULL);
}

static json_t *real_json(const struct hr_policy_search *search)
{
    if (!search->real)
        return json_null();
    const struct hr_forecast_error error = hr_policy_forecast(search);
    return hr_json_object("target_seconds", times_json(search, search->real),
                          HR_OF(&error, reached), "time_ratio", HR_JSON(error.ratio),
                          "value_difference", HR_JSON(error.value), "without",
                          hr_json_text_or_null(search->real_without), NULL);
}

json_t *hr_policy_json(const struct hr_policy_search *search)
{
    return hr_json_object("space", HR_JSON(search->cli->search), "metric",
                          HR_JSON(hr_metric_kind(search->metric)->name), HR_OF(search, target),
                          "combinations", HR_JSON(search->space.points), "left_out",
                          hr_json_text_or_null(search->space.left_out), "refused",
                          HR_JSON(search->space.nrefused), "refused_as",
                          hr_json_text_or_null(search->space.refused), "rungs",
                          hr_json_list(search->plan.nrungs, rung_json, search), "policies",
                          hr_json_list(search->space.n, policy_json, search),
                          HR_OF(search, first_seed), "seeds", HR_JSON(search->nseeds), "confirmed",
                          hr_json_list(search->nfinalists, finalist_json, search),
                          HR_OF(search, verdict), "real", real_json(search), NULL);
}
