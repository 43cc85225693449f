#include "stages/cut.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* --- given --- */

/* The layer behind `count` layers of the text, from flat layer `at` on; a block is one. */
static size_t skip(const struct hr_model *model, size_t at, size_t count)
{
    const size_t n = hr_model_layer_count(model);
    while (at < n && count > 0)
        count -= !strchr(hr_model_layer(model, at++).path, '.');
    return count ? n + 1 : at;
}

static size_t count_layers(const struct hr_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < hr_model_layer_count(model); i++)
        count += !strchr(hr_model_layer(model, i).path, '.');
    return count;
}

/* The next number of a list; 0: there is none, or it is no number. */
static size_t next_number(const char **text)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return 0;
    const unsigned long long number = strtoull(*text, &end, 10);
    if (number > SIZE_MAX / 4) /* so that a sum of them shows */
        return 0;
    *text = *end == ',' && end[1] ? end + 1 : end;
    return (size_t)number;
}

static enum hr_status cut_as_given(const struct hr_model *model, const char *text, size_t parts,
                                   size_t *cut)
{
    const char *rest = text;
    size_t at = 0, sum = 0, given = 0;
    for (size_t number; *rest && (number = next_number(&rest)) > 0; given++) {
        sum = sum + number < sum ? SIZE_MAX : sum + number;
        at = skip(model, at, number);
        if (given + 1 < parts)
            cut[given] = at;
    }
    if (*rest)
        return hr_fail(HR_E_USAGE,
                       "--stages %s: expected auto, or the layers of each part, as 3,2,4", text);
    if (given != parts)
        return hr_fail(HR_E_USAGE, "--stages %s: %zu part%s, expected %zu", text, given,
                       given == 1 ? "" : "s", parts);
    if (sum != count_layers(model))
        return hr_fail(HR_E_USAGE, "--stages %s: %zu layers, the model has %zu", text, sum,
                       count_layers(model));
    for (size_t p = 0; p + 1 < parts; p++) {
        const enum hr_status status = hr_model_may_cut(model, cut[p]);
        if (status != HR_OK)
            return hr_fail_within(status, "--stages %s", text);
    }
    return HR_OK;
}

/* --- auto --- */

struct search {
    size_t places, *place; /* (places) from 0 to the last layer's end, owned */
    double *before;        /* (places) multiply-adds of all layers before it, owned */
    double *best;          /* (parts + 1, places) of the largest part, owned */
    size_t *from;          /* (parts + 1, places) where the last part begins, owned */
};

/* Forward, and both halves of backward; the first layers have no gradient of their input, or none
 * at all. */
static double madds_of(const struct hr_model *model, size_t i, size_t params_before)
{
    const struct hr_layer_info info = hr_model_layer(model, i);
    return info.madds * (params_before ? 3 : info.params ? 2 : 1);
}

static void find_places(const struct hr_model *model, struct search *search)
{
    const size_t n = hr_model_layer_count(model);
    size_t params = 0;
    double madds = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i == 0 || i == n || hr_model_may_cut(model, i) == HR_OK) {
            search->place[search->places] = i;
            search->before[search->places++] = madds;
        }
        if (i < n) {
            madds += madds_of(model, i, params);
            params += hr_model_layer(model, i).params;
        }
    }
}

/* best[parts][j]: the smallest largest part when what is before place j is cut into so many. */
static void solve(struct search *search, size_t parts)
{
    const size_t n = search->places;
    for (size_t i = 0; i < (parts + 1) * n; i++)
        search->best[i] = INFINITY;
    search->best[0] = 0;
    for (size_t p = 1; p <= parts; p++)
        for (size_t j = p; j < n; j++)
            for (size_t i = p - 1; i < j; i++) {
                const double part = search->before[j] - search->before[i];
                const double before = search->best[(p - 1) * n + i];
                const double largest = part > before ? part : before;
                if (largest < search->best[p * n + j]) {
                    search->best[p * n + j] = largest;
                    search->from[p * n + j] = i;
                }
            }
}

static enum hr_status cut_evenly(const struct hr_model *model, size_t parts, struct search *search,
                                 size_t *cut)
{
    find_places(model, search);
    if (parts >= search->places)
        return hr_fail(HR_E_USAGE,
                       "the model can be cut into at most %zu part%s, not %zu: a residual block "
                       "stays whole, and a layer with the one that does its work; expected fewer "
                       "stages (--pipeline), or chunks",
                       search->places - 1, search->places == 2 ? "" : "s", parts);
    search->best = calloc((parts + 1) * search->places, sizeof *search->best);
    search->from = calloc((parts + 1) * search->places, sizeof *search->from);
    if (!search->best || !search->from)
        return hr_fail(HR_E_NOMEM, "no memory to cut a model into %zu parts", parts);
    solve(search, parts);
    size_t j = search->places - 1;
    for (size_t p = parts; p > 1; p--) {
        j = search->from[p * search->places + j];
        cut[p - 2] = search->place[j];
    }
    return HR_OK;
}

enum hr_status hr_cut_model(const struct hr_model *model, const char *text, size_t parts,
                            size_t *cut)
{
    const size_t n = hr_model_layer_count(model);
    if (strcmp(text, "auto") != 0)
        return cut_as_given(model, text, parts, cut);
    struct search search = {.place = calloc(n + 1, sizeof *search.place),
                            .before = calloc(n + 1, sizeof *search.before)};
    const enum hr_status status =
        search.place && search.before
            ? cut_evenly(model, parts, &search, cut)
            : hr_fail(HR_E_NOMEM, "no memory to cut a model of %zu layers", n);
    free(search.place);
    free(search.before);
    free(search.best);
    free(search.from);
    return status;
}

void hr_cut_text(const struct hr_model *model, size_t first, size_t end, char *text, size_t size)
{
    const int begin = (int)strcspn(hr_model_layer(model, first).path, ".");
    const char *from = hr_model_layer(model, first).path, *to = hr_model_layer(model, end - 1).path;
    if (!strncmp(from, to, (size_t)begin) && strlen(to) == (size_t)begin)
        snprintf(text, size, "%s", to);
    else
        snprintf(text, size, "%.*s to %s", begin, from, to);
}
