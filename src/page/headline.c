/* What came out of several strategies, in a sentence that claims no more than was tested. */
#include "page/headline.h"

#include <math.h>
#include <string.h>

#include "page/html.h"

/* The comparison of a document, and whom it calls best. */
struct found {
    const json_t *strategies, *pairs, *best; /* best: of the strategies; NULL */
    const char *at;                          /* "lr 0.05": what claims hold at; "" */
    bool unlike;                             /* not like for like: nothing is claimed */
    char key[48], title[48];                 /* "test_accuracy", "test accuracy" */
    bool share;
};

static void name_metric(struct found *found, const char *metric)
{
    const bool rmse = !strcmp(metric, "rmse");
    snprintf(found->key, sizeof found->key, "test_%.32s", metric);
    snprintf(found->title, sizeof found->title, "test %.32s", rmse ? "RMSE" : metric);
    found->share = !strcmp(metric, "accuracy");
}

static struct found find(const struct hr_view *view)
{
    const json_t *comparison = hr_field_object(view->source[0].document, "comparison"), *one;
    const char *best = hr_field_text(comparison, "best");
    struct found found = {.strategies = hr_field_list(comparison, "strategies"),
                          .pairs = hr_field_list(comparison, "pairs"),
                          .at = hr_field_text(comparison, "at"),
                          .unlike = !strcmp(hr_field_text(comparison, "like_for_like"), "no") &&
                                    !hr_field_true(comparison, "tuned")};
    size_t i;
    name_metric(&found, hr_field_text(comparison, "metric"));
    json_array_foreach(found.strategies, i, one)
    {
        if (best[0] && !strcmp(hr_field_text(one, "label"), best))
            found.best = one;
    }
    return found;
}

static double mean_of(const struct found *found, const json_t *strategy)
{
    return hr_field_number(hr_field_object(strategy, found->key), "mean");
}

static bool was_tested(const struct found *found, const json_t *strategy)
{
    return strategy == found->best || !isnan(hr_field_number(strategy, "p_against_best"));
}

static void write_score(FILE *out, bool share, double x)
{
    char text[HR_NUMBER_MAX];
    if (share)
        fprintf(out, "%.2f %%", 100 * x);
    else
        fputs(hr_number_text(text, x, 4), out);
}

static bool any_told_apart(const struct found *found)
{
    size_t i;
    const json_t *pair;
    json_array_foreach(found->pairs, i, pair)
    {
        if (hr_field_true(pair, "told_apart"))
            return true;
    }
    return false;
}

/* "3 seeds", "2 to 3 seeds": of those that were tested. */
static void write_seeds(FILE *out, const struct found *found)
{
    struct hr_mean seeds = HR_MEAN_NONE;
    size_t i;
    const json_t *one;
    json_array_foreach(found->strategies, i, one)
    {
        if (was_tested(found, one))
            hr_mean_add(&seeds, hr_field_number(one, "seeds"));
    }
    if (seeds.n && seeds.least < seeds.most)
        fprintf(out, "%.0f to %.0f seeds", seeds.least, seeds.most);
    else if (seeds.n)
        fprintf(out, "%.0f seeds", seeds.least);
    else
        fputs("these seeds", out);
}

/* Those that the test left level with the best, or, where not `level`, that it left out. */
static void write_others(FILE *out, const struct found *found, bool level, const char *before)
{
    size_t i;
    const json_t *one;
    json_array_foreach(found->strategies, i, one)
    {
        if (one == found->best || was_tested(found, one) != level ||
            (level && hr_field_true(one, "worse_than_best")))
            continue;
        fprintf(out, "%s%s", before, hr_field_text(one, "label"));
        before = ", ";
    }
}

static bool all_means_equal(const struct found *found)
{
    size_t i;
    const json_t *one;
    json_array_foreach(found->strategies, i, one)
    {
        if (was_tested(found, one) && mean_of(found, one) != mean_of(found, found->best))
            return false;
    }
    return true;
}

static void write_found(FILE *out, const struct found *found)
{
    const char *best = hr_field_text(found->best, "label");
    if (any_told_apart(found)) {
        fprintf(out, "%s has the best mean %s, ", best, found->title);
        write_score(out, found->share, mean_of(found, found->best));
        write_others(out, found, true, "; not to be told from it: ");
    } else {
        fprintf(out, "No difference in %s can be told from ", found->title);
        write_seeds(out, found);
        if (all_means_equal(found))
            fputs("; the means are equal, ", out);
        else
            fprintf(out, "; the best mean is that of %s, ", best);
        write_score(out, found->share, mean_of(found, found->best));
    }
    write_others(out, found, false, "; not tested: ");
}

/* Without a test: from one seed, or by a version that tested nothing. */
static void write_untested(FILE *out, const struct hr_view *view)
{
    const size_t best = hr_view_best(view);
    fputs(view->nruns == view->ngroups ? "With one seed no difference can be told"
                                       : "No difference was tested",
          out);
    if (best < view->ngroups) {
        const struct hr_metric *metric = &view->metric[view->primary];
        fprintf(out, "; the %s %c%s was that of %s, ", metric->more ? "highest" : "lowest",
                metric->title[0] | ' ', metric->title + 1, view->group[best].label);
        write_score(out, metric->share, hr_group_metric(&view->group[best], metric).mean);
    }
}

/* Who was faster with every seed than any other with any; of several seeds. */
static void write_fastest(FILE *out, const struct hr_view *view)
{
    char text[HR_NUMBER_MAX];
    size_t first = view->ngroups, rivals = 0, same = 0;
    struct hr_mean most = HR_MEAN_NONE;
    for (size_t g = 0; g < view->ngroups; g++) {
        const struct hr_mean rate = hr_group_mean(&view->group[g], "samples_per_s");
        if (rate.n && (first == view->ngroups || rate.mean > most.mean)) {
            most = rate;
            first = g;
        }
    }
    if (first == view->ngroups || most.n < 2)
        return;
    for (size_t g = 0; g < view->ngroups; g++) {
        const struct hr_mean rate = hr_group_mean(&view->group[g], "samples_per_s");
        rivals += g != first && rate.most >= most.least;
        same += g != first && rate.least == most.least && rate.most == most.most &&
                rate.mean == most.mean;
    }
    if (rivals == 0)
        fprintf(out, ". %s was the fastest, %s samples/s on average", view->group[first].label,
                hr_number_short(text, most.mean));
    else if (same + 1 == view->ngroups)
        fprintf(out, ". All were equally fast, %s samples/s", hr_number_short(text, most.mean));
    else
        fputs(". No fastest can be told: speeds overlap", out);
}

void hr_headline_write(FILE *out, const struct hr_view *view)
{
    if (view->nsources > 1) {
        fprintf(out, "%zu documents side by side; nothing was tested across them.", view->nsources);
        return;
    }
    const struct found found = find(view);
    if (found.unlike)
        fputs("Not like for like, so nothing is claimed but speed", out);
    else if (found.best && isfinite(mean_of(&found, found.best)))
        write_found(out, &found);
    else
        write_untested(out, view);
    if (found.at[0])
        fprintf(out, ", at %s", found.at);
    write_fastest(out, view);
    fputs(".", out);
}
