#include "page/view.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- groups --- */

struct hr_mean hr_group_mean_of(const struct hr_group *group, const char *part, const char *key)
{
    struct hr_mean mean = HR_MEAN_NONE;
    for (size_t i = 0; i < group->n; i++) {
        const json_t *of = part ? json_object_get(group->run[i], part) : group->run[i];
        hr_mean_add(&mean, hr_field_number(of, key));
    }
    return mean;
}

struct hr_mean hr_group_mean(const struct hr_group *group, const char *key)
{
    return hr_group_mean_of(group, NULL, key);
}

size_t hr_group_count(const struct hr_group *group, const char *part, const char *key)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++)
        n += hr_field_true(part ? json_object_get(group->run[i], part) : group->run[i], key);
    return n;
}

/* What a run goes by. Before runs had labels: strategy, and what its entry said. */
static void label_of(const json_t *run, char label[HR_LABEL_MAX])
{
    const char *text = hr_field_text(run, "label"), *strategy = hr_field_text(run, "strategy");
    const char *setting = hr_field_text(run, "setting");
    if (text[0])
        snprintf(label, HR_LABEL_MAX, "%.*s", HR_LABEL_MAX - 40, text);
    else
        snprintf(label, HR_LABEL_MAX, "%.60s%s%.90s", strategy[0] ? strategy : "run",
                 setting[0] ? " " : "", setting);
    for (size_t end = strlen(label); end > 0 && (label[end - 1] & 0xc0) == 0x80; end--)
        if (strlen(label) >= HR_LABEL_MAX - 41) /* a letter that may have been cut */
            label[end - 1] = 0;
}

static struct hr_group *find(const struct hr_view *view, size_t source, const char *label)
{
    for (size_t g = 0; g < view->ngroups; g++)
        if (view->group[g].source == source && !strcmp(view->group[g].label, label))
            return &view->group[g];
    return NULL;
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Documents may have runs of one label. */
static void tell_apart(struct hr_view *view)
{
    for (size_t a = 0; a < view->ngroups; a++)
        for (size_t b = a + 1; b < view->ngroups; b++) {
            struct hr_group *both[] = {&view->group[a], &view->group[b]};
            char tail[40];
            if (strcmp(both[0]->label, both[1]->label) != 0)
                continue;
            for (size_t i = 0; i < 2; i++) {
                const char *name = file_of(view->source[both[i]->source].name);
                const int stem = (int)strcspn(name, ".");
                snprintf(tail, sizeof tail, " (%.*s)", stem < 24 ? stem : 24, name);
                strncat(both[i]->label, tail, HR_LABEL_MAX - strlen(both[i]->label) - 1);
            }
            if (!strcmp(both[0]->label, both[1]->label)) {
                snprintf(tail, sizeof tail, " #%zu", b + 1);
                strncat(both[1]->label, tail, HR_LABEL_MAX - strlen(both[1]->label) - 1);
            }
        }
}

/* Counts first, then lays the runs of each group side by side. */
static void gather(struct hr_view *view, size_t *group_of)
{
    char label[HR_LABEL_MAX];
    size_t at = 0, i;
    const json_t *run;
    for (size_t s = 0; s < view->nsources; s++)
        json_array_foreach(json_object_get(view->source[s].document, "runs"), i, run)
        {
            label_of(run, label);
            struct hr_group *group = find(view, s, label);
            if (!group) {
                group = &view->group[view->ngroups++];
                memcpy(group->label, label, sizeof label);
                group->source = s;
            }
            group->n++;
            group_of[at++] = (size_t)(group - view->group);
        }
    const json_t **next = view->run;
    for (size_t g = 0; g < view->ngroups; g++) {
        view->group[g].run = next;
        next += view->group[g].n;
        view->group[g].n = 0;
    }
    at = 0;
    for (size_t s = 0; s < view->nsources; s++)
        json_array_foreach(json_object_get(view->source[s].document, "runs"), i, run)
        {
            struct hr_group *group = &view->group[group_of[at++]];
            group->run[group->n++] = run;
        }
}

/* --- metrics --- */

static bool ends_in(const char *text, const char *ending)
{
    const size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && !strcmp(text + length - tail, ending);
}

static bool is_measured(const char *key)
{
    return !strncmp(key, "train_", 6) || !strncmp(key, "test_", 5) ||
           !strncmp(key, "validation_", 11);
}

static bool is_metric(const char *key, const json_t *value)
{
    return is_measured(key) && json_is_number(value) && !ends_in(key, "_samples") &&
           !ends_in(key, "_evaluations") && !ends_in(key, "_seconds");
}

/* "test_rmse" -> "Test RMSE"; "test_fit", "rmse" too */
static void name_metric(struct hr_metric *metric)
{
    static const struct {
        const char *key, *title;
    } spelled[] = {{"rmse", "RMSE"}, {"mae", "MAE"}, {"r2", "R²"}, {"mse", "MSE"}};
    char split[sizeof metric->key];
    snprintf(split, sizeof split, "%s", metric->part[0] ? metric->part : metric->key);
    char *rest = strchr(split, '_');
    *rest++ = 0;
    const char *title = metric->part[0] ? metric->key : rest;
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++)
        if (!strcmp(title, spelled[i].key))
            title = spelled[i].title;
    const bool own = title == metric->key || title == rest;
    snprintf(metric->title, sizeof metric->title, "%s %.48s", split, title);
    metric->title[0] = (char)(metric->title[0] - 'a' + 'A');
    for (char *c = metric->title; *c && own; c++)
        *c = *c == '_' ? ' ' : *c;
    metric->share = ends_in(metric->key, "accuracy");
    metric->more = metric->share || !strcmp(metric->key, "r2") || ends_in(metric->key, "_r2");
}

static void note_metric(struct hr_view *view, const char *part, const char *key)
{
    if (view->nmetrics == HR_METRICS || strlen(part) >= sizeof view->metric->part ||
        strlen(key) >= sizeof view->metric->key)
        return;
    for (size_t m = 0; m < view->nmetrics; m++)
        if (!strcmp(view->metric[m].part, part) && !strcmp(view->metric[m].key, key))
            return;
    struct hr_metric *metric = &view->metric[view->nmetrics++];
    snprintf(metric->part, sizeof metric->part, "%s", part);
    snprintf(metric->key, sizeof metric->key, "%s", key);
    name_metric(metric);
}

static void note_metrics(struct hr_view *view, const json_t *object)
{
    const char *key, *inner_key;
    const json_t *value, *inner;
    json_object_foreach((json_t *)object, key, value)
    {
        if (is_metric(key, value))
            note_metric(view, "", key);
        if (!is_measured(key) || !ends_in(key, "_fit"))
            continue;
        json_object_foreach((json_t *)value, inner_key, inner)
        {
            if (json_is_number(inner))
                note_metric(view, key, inner_key);
        }
    }
}

/* The first of these that there is. */
static size_t find_primary(const struct hr_view *view)
{
    static const char *const ranks[][2] = {{"", "test_accuracy"},   {"", "validation_accuracy"},
                                           {"test_fit", "rmse"},    {"validation_fit", "rmse"},
                                           {"", "test_rmse"},       {"", "test_loss"},
                                           {"", "validation_loss"}, {"", "train_loss"}};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        for (size_t m = 0; m < view->nmetrics; m++)
            if (!strcmp(view->metric[m].part, ranks[i][0]) &&
                !strcmp(view->metric[m].key, ranks[i][1]))
                return m;
    return view->nmetrics;
}

static void find_metrics(struct hr_view *view)
{
    for (size_t r = 0; r < view->nruns; r++) {
        size_t i;
        const json_t *point;
        note_metrics(view, view->run[r]);
        json_array_foreach(json_object_get(view->run[r], "curve"), i, point)
        {
            note_metrics(view, point);
        }
    }
    view->primary = find_primary(view);
}

double hr_metric_of(const struct hr_metric *metric, const json_t *object)
{
    if (metric->part[0])
        object = json_object_get(object, metric->part);
    return hr_field_number(object, metric->key);
}

struct hr_mean hr_group_metric(const struct hr_group *group, const struct hr_metric *metric)
{
    struct hr_mean mean = HR_MEAN_NONE;
    for (size_t r = 0; r < group->n; r++)
        hr_mean_add(&mean, hr_metric_of(metric, group->run[r]));
    return mean;
}

double hr_metric_factor(const struct hr_metric *metric)
{
    return metric->share ? 100 : 1;
}

/* Larger is better; the last where there is none. */
static double score(const struct hr_view *view, size_t g)
{
    if (view->primary == view->nmetrics)
        return -(double)g;
    const struct hr_metric *metric = &view->metric[view->primary];
    const double mean = hr_group_metric(&view->group[g], metric).mean;
    return isnan(mean) ? -INFINITY : metric->more ? mean : -mean;
}

size_t hr_view_best(const struct hr_view *view)
{
    size_t best = view->ngroups;
    for (size_t g = 0; g < view->ngroups && view->primary < view->nmetrics; g++)
        if (isfinite(score(view, g)) &&
            (best == view->ngroups || score(view, g) > score(view, best)))
            best = g;
    return best;
}

/* The best of them, in the order in which they stand. */
static void choose_drawn(struct hr_view *view)
{
    for (size_t g = 0; g < view->ngroups; g++) {
        size_t better = 0;
        const double mine = score(view, g);
        for (size_t o = 0; o < view->ngroups && better < HR_DRAWN; o++)
            better += score(view, o) > mine || (score(view, o) == mine && o < g);
        if (better < HR_DRAWN)
            view->drawn[view->ndrawn++] = g;
    }
}

/* --- the view --- */

enum hr_status hr_view_make(struct hr_view *view, const struct hr_page_source *sources, size_t n)
{
    size_t nruns = 0;
    for (size_t s = 0; s < n; s++)
        nruns += json_array_size(json_object_get(sources[s].document, "runs"));
    size_t *group_of = calloc(nruns + 1, sizeof *group_of);
    *view = (struct hr_view){.source = sources,
                             .nsources = n,
                             .nruns = nruns,
                             .run = calloc(nruns + 1, sizeof *view->run),
                             .group = calloc(nruns + 1, sizeof *view->group)};
    if (!group_of || !view->run || !view->group) {
        free(group_of);
        hr_view_free(view);
        return hr_fail(HR_E_NOMEM, "no memory for the page of %zu runs", nruns);
    }
    gather(view, group_of);
    free(group_of);
    tell_apart(view);
    find_metrics(view);
    choose_drawn(view);
    return HR_OK;
}

void hr_view_free(struct hr_view *view)
{
    free(view->run);
    free(view->group);
    *view = (struct hr_view){0};
}
