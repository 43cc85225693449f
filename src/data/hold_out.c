#include "data/hold_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "data/bytes.h"
#include "data/order.h"

static const char group_of[] = "group:", fold_of[] = "fold:";

/* Behind fold:I/K, and what these are; NULL: it is malformed. */
static const char *rule_of(const char *split, struct hr_cv_fold *fold)
{
    int length = 0;
    *fold = (struct hr_cv_fold){0};
    if (strncmp(split, fold_of, sizeof fold_of - 1))
        return split;
    split += sizeof fold_of - 1;
    if (sscanf(split, "%6zu/%6zu%n", &fold->fold, &fold->folds, &length) < 2 || fold->fold < 1 ||
        fold->fold > fold->folds || fold->folds < 2 || fold->folds > HR_FOLDS_MAX)
        return NULL;
    split += length;
    return !split[0] ? split : split[0] == ',' && split[1] ? split + 1 : NULL;
}

struct hr_cv_fold hr_split_fold(const char *split)
{
    struct hr_cv_fold fold;
    rule_of(split, &fold);
    return fold;
}

enum hr_status hr_split_with_fold(const char *split, struct hr_cv_fold fold, char *out, size_t size)
{
    if (hr_split_fold(split).folds)
        return hr_fail(HR_E_USAGE,
                       "--folds: is not supported with --split %s, which is one of them", split);
    const int length = snprintf(out, size, "%s%zu/%zu%s%s", fold_of, fold.fold, fold.folds,
                                split[0] ? "," : "", split);
    return (size_t)length < size
               ? HR_OK
               : hr_fail(HR_E_USAGE, "--split %s: is too long for --folds", split);
}

enum hr_status hr_split_needs_no_fold(const char *split, const char *name)
{
    return hr_split_fold(split).folds
               ? hr_fail(HR_E_USAGE,
                         "--split %s: is not supported for %s, which has test samples of its own",
                         split, name)
               : HR_OK;
}

const char *hr_hold_out_group(const char *split)
{
    const size_t prefix = sizeof group_of - 1;
    struct hr_cv_fold fold;
    const char *rule = rule_of(split, &fold);
    return !rule || strncmp(rule, group_of, prefix) ? "" : rule + prefix;
}

bool hr_split_rule_parse(const char *split, enum hr_split_rule *out)
{
    struct hr_cv_fold fold;
    const char *rule = rule_of(split, &fold);
    const bool stratified = rule && !strcmp(rule, "stratified");
    const bool last = rule && !strcmp(rule, "last") && !fold.folds;
    const bool group = hr_hold_out_group(split)[0];
    *out = stratified ? HR_SPLIT_STRATIFIED
           : group    ? HR_SPLIT_GROUP
           : last     ? HR_SPLIT_LAST
                      : HR_SPLIT_RANDOM;
    return stratified || group || last || (rule && (!rule[0] || !strcmp(rule, "random")));
}

size_t hr_hold_out_count(size_t count, double fraction)
{
    const size_t wanted = (size_t)((double)count * fraction + 0.5);
    return hr_min_size(wanted ? wanted : 1, count - 1);
}

/* How many samples each number has; free(*sizes). */
static enum hr_status count_sizes(const char *name, const uint32_t *numbers, size_t count,
                                  size_t **sizes, size_t *n)
{
    void *taken;
    *n = 0;
    for (size_t i = 0; i < count; i++)
        *n = numbers[i] + (size_t)1 > *n ? numbers[i] + (size_t)1 : *n;
    HR_TRY(hr_take(name, *n * sizeof **sizes, &taken));
    *sizes = taken;
    for (size_t i = 0; i < count; i++)
        (*sizes)[numbers[i]]++;
    return HR_OK;
}

static enum hr_status mark_stratified(const char *name, const uint32_t *labels,
                                      const struct hr_sampler *order, size_t count, double fraction,
                                      uint8_t *marks)
{
    size_t *quota, classes, held = 0;
    HR_TRY(count_sizes(name, labels, count, &quota, &classes));
    for (size_t c = 0; c < classes; c++)
        quota[c] = quota[c] < 2 ? 0 : hr_hold_out_count(quota[c], fraction);
    for (size_t i = 0; i < count; i++) {
        uint32_t sample;
        hr_sampler_fill(order, i, 1, &sample);
        if (!quota[labels[sample]])
            continue;
        quota[labels[sample]]--;
        marks[sample] = 1;
        held++;
    }
    free(quota);
    return held ? HR_OK
                : hr_fail(HR_E_USAGE, "%s: --split stratified: no class has two samples", name);
}

static enum hr_status mark_groups(const char *name, const uint32_t *groups, uint64_t seed,
                                  uint64_t epoch, size_t count, double fraction, uint8_t *marks)
{
    const size_t wanted = hr_hold_out_count(count, fraction);
    size_t *sizes, n, there = 0, held = 0;
    void *taken = NULL;
    enum hr_status st;
    HR_TRY(count_sizes(name, groups, count, &sizes, &n));
    for (size_t g = 0; g < n; g++)
        there += sizes[g] > 0; /* others are all among the test samples */
    if (there < 2) {
        free(sizes);
        return hr_fail(HR_E_USAGE,
                       "%s: --split group: its column has one value%s, expected at least two", name,
                       n > 1 ? " in the training samples" : "");
    }
    HR_TRY_GOTO(hr_take(name, n, &taken), st, out);
    uint8_t *out_groups = taken;
    const struct hr_sampler order = hr_sampler_of(seed, epoch, n);
    for (size_t i = 0; i < n && there > 1 && held < wanted; i++) {
        uint32_t group;
        hr_sampler_fill(&order, i, 1, &group);
        out_groups[group] = 1;
        held += sizes[group];
        there -= sizes[group] > 0;
    }
    for (size_t i = 0; i < count; i++)
        marks[i] = out_groups[groups[i]];
out:
    free(sizes);
    free(taken);
    return st;
}

/* Does the rule have what it needs of these samples? */
static enum hr_status check_rule(const char *name, const struct hr_hold_out *how,
                                 enum hr_split_rule rule)
{
    if ((rule == HR_SPLIT_GROUP && !how->groups) || (rule == HR_SPLIT_STRATIFIED && !how->labels))
        return hr_fail(HR_E_USAGE, "--split %s: is not supported for %s, whose samples have no %s",
                       how->split, name, rule == HR_SPLIT_STRATIFIED ? "classes" : "columns");
    return HR_OK;
}

enum hr_status hr_hold_out_mark(const char *name, const struct hr_hold_out *how, uint64_t seed,
                                uint64_t epoch, size_t count, double fraction, uint8_t *marks)
{
    const size_t wanted = hr_hold_out_count(count, fraction);
    const struct hr_sampler order = hr_sampler_of(seed, epoch, count);
    enum hr_split_rule rule;
    const bool known = hr_split_rule_parse(how->split, &rule);
    HR_ASSERT(known);
    HR_TRY(check_rule(name, how, rule));
    if (rule == HR_SPLIT_GROUP)
        return mark_groups(name, how->groups, seed, epoch, count, fraction, marks);
    if (rule == HR_SPLIT_STRATIFIED)
        return mark_stratified(name, how->labels, &order, count, fraction, marks);
    for (size_t i = 0; i < wanted; i++) {
        uint32_t sample = (uint32_t)(count - 1 - i);
        if (rule == HR_SPLIT_RANDOM)
            hr_sampler_fill(&order, i, 1, &sample);
        marks[sample] = 1;
    }
    return HR_OK;
}

/* --- one of K parts --- */

/* The order of an epoch that no training reaches. */
static const uint64_t of_tests = UINT64_MAX;

/* Samples in the drawn order, those of a class one behind the other, are dealt to the parts in
 * turn: so parts, and each class's samples in them, differ by one at most. Classes come as met.
 * labels NULL: all are of one class. */
static enum hr_status mark_dealt(const char *name, const uint32_t *labels, struct hr_cv_fold fold,
                                 size_t count, uint8_t *marks)
{
    const struct hr_sampler order = hr_sampler_of(0, of_tests, count);
    size_t *sizes = NULL, classes = 0, dealt = 0;
    void *taken = NULL;
    enum hr_status st = HR_OK;
    if (labels)
        HR_TRY(count_sizes(name, labels, count, &sizes, &classes));
    HR_TRY_GOTO(hr_take(name, classes * sizeof *sizes, &taken), st, out);
    size_t *places = taken; /* 1 + that of a class's next sample; 0: it was not met */
    for (size_t i = 0; i < count; i++) {
        uint32_t sample;
        hr_sampler_fill(&order, i, 1, &sample);
        size_t *place = labels ? &places[labels[sample]] : NULL;
        if (place && !*place) {
            *place = 1 + dealt;
            dealt += sizes[labels[sample]];
        }
        marks[sample] = (place ? (*place)++ - 1 : i) % fold.folds + 1 == fold.fold;
    }
out:
    free(sizes);
    free(taken);
    return st;
}

struct sized_group {
    size_t size, drawn;
    uint32_t group;
};

static int by_size(const void *a, const void *b)
{
    const struct sized_group *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->drawn > y->drawn) - (x->drawn < y->drawn);
}

/* The largest group first, each to the part that has the fewest samples. */
static enum hr_status mark_whole_groups(const char *name, const uint32_t *groups,
                                        struct hr_cv_fold fold, size_t count, uint8_t *marks)
{
    size_t *sizes, n, loads[HR_FOLDS_MAX] = {0};
    void *taken;
    HR_TRY(count_sizes(name, groups, count, &sizes, &n));
    const enum hr_status st = hr_take(name, n * sizeof(struct sized_group), &taken);
    struct sized_group *order = taken;
    const struct hr_sampler draw = hr_sampler_of(0, of_tests, n);
    for (size_t i = 0; st == HR_OK && i < n; i++) {
        uint32_t group;
        hr_sampler_fill(&draw, i, 1, &group);
        order[i] = (struct sized_group){sizes[group], i, group};
    }
    if (st == HR_OK)
        qsort(order, n, sizeof *order, by_size);
    const bool enough = st == HR_OK && n >= fold.folds && order[fold.folds - 1].size;
    for (size_t i = 0; enough && i < n; i++) {
        size_t part = 0;
        for (size_t k = 1; k < fold.folds; k++)
            part = loads[k] < loads[part] ? k : part;
        loads[part] += order[i].size;
        sizes[order[i].group] = part + 1;
    }
    for (size_t i = 0; enough && i < count; i++)
        marks[i] = sizes[groups[i]] == fold.fold;
    free(sizes);
    free(taken);
    if (st != HR_OK || enough)
        return st;
    return hr_fail(HR_E_USAGE, "%s: --split group: its column has fewer values than %zu folds",
                   name, fold.folds);
}

enum hr_status hr_hold_out_tests(const char *name, const struct hr_hold_out *how, size_t count,
                                 double fraction, uint8_t *marks)
{
    const struct hr_cv_fold fold = hr_split_fold(how->split);
    enum hr_split_rule rule;
    if (!fold.folds)
        return hr_hold_out_mark(name, how, 0, of_tests, count, fraction, marks);
    const bool known = hr_split_rule_parse(how->split, &rule);
    HR_ASSERT(known);
    HR_TRY(check_rule(name, how, rule));
    if (count < fold.folds)
        return hr_fail(HR_E_USAGE, "%s: has %zu samples, fewer than %zu folds", name, count,
                       fold.folds);
    if (rule == HR_SPLIT_GROUP)
        return mark_whole_groups(name, how->groups, fold, count, marks);
    return mark_dealt(name, rule == HR_SPLIT_STRATIFIED ? how->labels : NULL, fold, count, marks);
}
