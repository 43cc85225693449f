#include "stages/cut.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/model_text.h"
#include "pipeline/cut.h"

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
                       "--pipeline stages=%s: expected auto, or the layers of each part, as 3,2,4",
                       text);
    if (given != parts)
        return hr_fail(HR_E_USAGE, "--pipeline stages=%s: %zu part%s, expected %zu", text, given,
                       given == 1 ? "" : "s", parts);
    if (sum != count_layers(model))
        return hr_fail(HR_E_USAGE, "--pipeline stages=%s: %zu layers, the model has %zu", text, sum,
                       count_layers(model));
    for (size_t p = 0; p + 1 < parts; p++) {
        const enum hr_status status = hr_model_may_cut(model, cut[p]);
        if (status != HR_OK)
            return hr_fail_within(status, "--pipeline stages=%s", text);
    }
    return HR_OK;
}

/* --- what parts cost --- */

void hr_cut_count(const struct hr_model *model, const size_t *cut, size_t parts,
                  struct hr_part_cost *cost)
{
    size_t trained = 0;
    for (size_t p = 0; p < parts; p++) {
        cost[p] = (struct hr_part_cost){0};
        for (size_t i = cut[p]; i < cut[p + 1]; i++) {
            const struct hr_layer_info layer = hr_model_layer(model, i);
            const int64_t madds = (int64_t)layer.madds;
            cost[p].forward += madds;
            cost[p].backward_data += trained ? madds : 0;
            cost[p].backward_weights += madds;
            trained += layer.params;
        }
    }
}

/* --- auto --- */

/* Runs of layers that stay together, between the places where the model may be cut. */
struct pieces {
    size_t n;
    size_t first[HR_MODEL_MAX_LAYERS]; /* layer of each */
    int64_t madds[HR_MODEL_MAX_LAYERS];
};

/* Forward, and both halves of backward; the first layers have no gradient of their input, or none
 * at all. */
static int64_t madds_of(const struct hr_layer_info *info, size_t params_before)
{
    return (int64_t)(info->madds * (params_before ? 3 : info->params ? 2 : 1));
}

static void find_pieces(const struct hr_model *model, struct pieces *pieces)
{
    size_t params = 0;
    for (size_t i = 0; i < hr_model_layer_count(model); i++) {
        const struct hr_layer_info info = hr_model_layer(model, i);
        if (i == 0 || hr_model_may_cut(model, i) == HR_OK)
            pieces->first[pieces->n++] = i;
        pieces->madds[pieces->n - 1] += madds_of(&info, params);
        params += info.params;
    }
}

static bool has_blocks(const struct hr_model *model)
{
    return count_layers(model) < hr_model_layer_count(model);
}

static enum hr_status check_parts(const struct hr_model *model, const struct pieces *pieces,
                                  size_t parts)
{
    if (parts <= pieces->n)
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "the model can be cut into at most %zu part%s, not %zu: %sa layer stays with the "
        "one that does its work; expected fewer stages (--pipeline), or parts (--pipeline "
        "schedule=interleaved:V)",
        pieces->n, pieces->n == 1 ? "" : "s", parts,
        has_blocks(model) ? "a residual block is whole, and " : "");
}

/* first (parts + 1), of pieces: in layers. */
static enum hr_status time_of(const struct hr_model *model, const struct pieces *pieces,
                              const struct hr_pipeline_schedule *schedule,
                              const struct hr_pipeline_shape *shape, const size_t *first,
                              int64_t *makespan)
{
    const size_t parts = shape->stages * shape->chunks;
    struct hr_part_cost cost[HR_MODEL_MAX_LAYERS];
    size_t cut[HR_MODEL_MAX_LAYERS + 1];
    struct hr_pipeline_walk walk;
    for (size_t p = 0; p < parts; p++)
        cut[p] = pieces->first[first[p]];
    cut[parts] = hr_model_layer_count(model);
    hr_cut_count(model, cut, parts, cost);
    HR_TRY(hr_pipeline_walk(schedule, shape, &(struct hr_pipeline_costs){.part = cost}, &walk));
    *makespan = walk.makespan;
    hr_pipeline_walk_fini(&walk);
    return HR_OK;
}

static enum hr_status cut_evenly(const struct hr_model *model,
                                 const struct hr_pipeline_schedule *schedule,
                                 const struct hr_pipeline_shape *shape, size_t *cut)
{
    const size_t parts = shape->stages * shape->chunks;
    size_t first[HR_MODEL_MAX_LAYERS + 1], other[HR_MODEL_MAX_LAYERS + 1];
    struct pieces pieces = {0};
    int64_t makespan, of_other;
    find_pieces(model, &pieces);
    HR_TRY(check_parts(model, &pieces, parts));
    HR_TRY(hr_pipeline_cut(pieces.madds, pieces.n, parts, first));
    if (shape->chunks > 1) {
        HR_TRY(hr_pipeline_cut_for_ranks(pieces.madds, pieces.n, shape->stages, parts, other));
        HR_TRY(time_of(model, &pieces, schedule, shape, first, &makespan));
        HR_TRY(time_of(model, &pieces, schedule, shape, other, &of_other));
        if (of_other < makespan)
            memcpy(first, other, sizeof first);
    }
    for (size_t p = 1; p < parts; p++)
        cut[p - 1] = pieces.first[first[p]];
    return HR_OK;
}

enum hr_status hr_cut_model(const struct hr_model *model, const char *text,
                            const struct hr_pipeline_schedule *schedule,
                            const struct hr_pipeline_shape *shape, size_t *cut)
{
    return strcmp(text, "auto") ? cut_as_given(model, text, shape->stages * shape->chunks, cut)
                                : cut_evenly(model, schedule, shape, cut);
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
