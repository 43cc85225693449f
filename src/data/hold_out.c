#include "data/hold_out.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "data/bytes.h"
#include "data/sampler.h"

static const char group_of[] = "group:";

const char *hr_hold_out_group(const char *split)
{
    const size_t prefix = sizeof group_of - 1;
    return strncmp(split, group_of, prefix) ? "" : split + prefix;
}

bool hr_split_rule_parse(const char *split, enum hr_split_rule *out)
{
    const bool stratified = !strcmp(split, "stratified"), last = !strcmp(split, "last");
    const bool group = hr_hold_out_group(split)[0];
    *out = stratified ? HR_SPLIT_STRATIFIED
           : group    ? HR_SPLIT_GROUP
           : last     ? HR_SPLIT_LAST
                      : HR_SPLIT_RANDOM;
    return stratified || group || last || !split[0] || !strcmp(split, "random");
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

enum hr_status hr_hold_out_mark(const char *name, const struct hr_hold_out *how, uint64_t seed,
                                uint64_t epoch, size_t count, double fraction, uint8_t *marks)
{
    const size_t wanted = hr_hold_out_count(count, fraction);
    const struct hr_sampler order = hr_sampler_of(seed, epoch, count);
    enum hr_split_rule rule;
    const bool known = hr_split_rule_parse(how->split, &rule);
    HR_ASSERT(known);
    if (rule == HR_SPLIT_GROUP && how->groups)
        return mark_groups(name, how->groups, seed, epoch, count, fraction, marks);
    if (rule == HR_SPLIT_STRATIFIED && how->labels)
        return mark_stratified(name, how->labels, &order, count, fraction, marks);
    if (rule == HR_SPLIT_GROUP || rule == HR_SPLIT_STRATIFIED)
        return hr_fail(HR_E_USAGE, "--split %s: is not supported for %s, whose samples have no %s",
                       how->split, name, rule == HR_SPLIT_STRATIFIED ? "classes" : "columns");
    for (size_t i = 0; i < wanted; i++) {
        uint32_t sample = (uint32_t)(count - 1 - i);
        if (rule == HR_SPLIT_RANDOM)
            hr_sampler_fill(&order, i, 1, &sample);
        marks[sample] = 1;
    }
    return HR_OK;
}

enum hr_status hr_hold_out_tests(const char *name, const struct hr_hold_out *how, size_t count,
                                 double fraction, uint8_t *marks)
{
    /* The order of an epoch that no training reaches. */
    return hr_hold_out_mark(name, how, 0, UINT64_MAX, count, fraction, marks);
}
