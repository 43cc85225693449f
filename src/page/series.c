#include "page/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static const struct {
    const char *key, *title;
} abscissas[HR_ABSCISSAS] = {[HR_SAMPLES] = {"samples", "samples"},
                             [HR_UPDATES] = {"updates", "updates"},
                             [HR_SECONDS] = {"seconds", "seconds of training"},
                             [HR_EPOCH] = {"epoch", "epochs"}};

const char *hr_abscissa_key(enum hr_abscissa abscissa)
{
    return abscissas[abscissa].key;
}

const char *hr_abscissa_title(enum hr_abscissa abscissa)
{
    return abscissas[abscissa].title;
}

/* Curves do not say how many updates there were: as many a sample as in the whole run. */
static double updates_at(const json_t *run, const json_t *point)
{
    const double said = hr_field_number(point, "updates");
    if (!isnan(said))
        return said;
    const double samples = hr_field_number(run, "total_samples");
    const double updates = hr_field_number(run, "total_updates");
    if (samples > 0)
        return hr_field_number(point, "samples") * updates / samples;
    return hr_field_number(point, "samples") * hr_field_number(run, "updates") /
           hr_field_number(run, "samples");
}

static void fill(struct hr_point *out, const struct hr_view *view, const struct hr_group *group,
                 size_t i)
{
    struct hr_mean at[HR_ABSCISSAS];
    for (size_t a = 0; a < HR_ABSCISSAS; a++)
        at[a] = HR_MEAN_NONE;
    for (size_t m = 0; m < HR_METRICS; m++)
        out->value[m] = HR_MEAN_NONE;
    for (size_t r = 0; r < group->n; r++) {
        const json_t *point = json_array_get(json_object_get(group->run[r], "curve"), i);
        if (!json_is_object(point))
            continue;
        out->runs++;
        for (size_t a = 0; a < HR_ABSCISSAS; a++)
            hr_mean_add(&at[a], a == HR_UPDATES ? updates_at(group->run[r], point)
                                                : hr_field_number(point, abscissas[a].key));
        for (size_t m = 0; m < view->nmetrics; m++)
            hr_mean_add(&out->value[m], hr_metric_of(&view->metric[m], point));
    }
    for (size_t a = 0; a < HR_ABSCISSAS; a++)
        out->at[a] = at[a].mean;
}

/* --- thinning --- */

/* Keep, of points [from, to), those where a metric is least and most. */
static void keep_ends(const struct hr_series *series, size_t metric, size_t from, size_t to,
                      bool *keep)
{
    size_t least = to, most = to;
    for (size_t i = from; i < to; i++) {
        const struct hr_mean *value = &series->point[i].value[metric];
        if (value->n == 0)
            continue;
        if (least == to || value->least < series->point[least].value[metric].least)
            least = i;
        if (most == to || value->most > series->point[most].value[metric].most)
            most = i;
    }
    if (least < to)
        keep[least] = keep[most] = true;
}

static enum hr_status thin(struct hr_series *series, const struct hr_view *view)
{
    const size_t n = series->n;
    if (n <= HR_SERIES_MOST)
        return HR_OK;
    bool *keep = calloc(n, sizeof *keep);
    if (!keep)
        return hr_fail(HR_E_NOMEM, "no memory for a curve of %zu evaluations", n);
    keep[0] = keep[n - 1] = true;
    for (size_t s = 0; s < HR_SERIES_STRETCHES; s++)
        keep_ends(series, 0, n * s / HR_SERIES_STRETCHES, n * (s + 1) / HR_SERIES_STRETCHES, keep);
    for (size_t m = 0; m < view->nmetrics; m++)
        keep_ends(series, m, 0, n, keep);
    series->n = 0;
    for (size_t i = 0; i < n; i++)
        if (keep[i])
            series->point[series->n++] = series->point[i];
    free(keep);
    return HR_OK;
}

/* --- a series --- */

enum hr_status hr_series_make(struct hr_series *series, const struct hr_view *view,
                              const struct hr_group *group)
{
    size_t n = 0;
    for (size_t r = 0; r < group->n; r++)
        n = hr_max_size(n, json_array_size(json_object_get(group->run[r], "curve")));
    *series = (struct hr_series){.point = calloc(n + 1, sizeof *series->point)};
    if (!series->point)
        return hr_fail(HR_E_NOMEM, "no memory for a curve of %zu evaluations", n);
    for (size_t i = 0; i < n; i++) {
        fill(&series->point[series->n], view, group, i);
        if (series->point[series->n].runs)
            series->n++;
        else
            memset(&series->point[series->n], 0, sizeof *series->point);
    }
    series->whole = series->n;
    return thin(series, view);
}

void hr_series_free(struct hr_series *series)
{
    free(series->point);
    *series = (struct hr_series){0};
}
