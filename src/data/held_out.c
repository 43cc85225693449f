#include "data/held_out.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "data/bytes.h"
#include "data/hold_out.h"
#include "data/order.h"
#include "data/tokens.h"

/* An epoch that no training reaches, and not the one that draws test samples (table.c). */
static const uint64_t drawing = UINT64_MAX - 1;

/* Samples [first, first + count) of the order. */
static struct hr_split part_of(const struct hr_split *split, const uint32_t *order, size_t first,
                               size_t count)
{
    struct hr_split part = *split;
    part.chosen = order + first;
    part.count = count;
    return part;
}

static enum hr_status take_file(double fraction, struct hr_dataset *dataset)
{
    dataset->test = dataset->validation;
    dataset->validation = (struct hr_split){0};
    if (!(fraction > 0))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--validation %g: is not supported with --validation %s, which says "
                   "the samples",
                   fraction, dataset->options.validation_data);
}

/* Other samples than the first of the order (--split): they are put first, the order is kept.
 * *held: how many they are. */
static enum hr_status put_first(const struct hr_dataset *dataset, double fraction, uint64_t seed,
                                uint32_t *order, size_t *held)
{
    const struct hr_split *all = &dataset->train;
    const struct hr_hold_out how = {dataset->options.split, dataset->classes ? all->labels : NULL,
                                    all->groups};
    enum hr_split_rule rule;
    void *marks, *rest = NULL;
    if (hr_split_rule_parse(how.split, &rule) && rule == HR_SPLIT_RANDOM)
        return HR_OK;
    enum hr_status st;
    HR_TRY(hr_take(dataset->name, all->count, &marks));
    HR_TRY_GOTO(hr_take(dataset->name, all->count * sizeof *order, &rest), st, out);
    HR_TRY_GOTO(hr_hold_out_mark(dataset->name, &how, seed, drawing, all->count, fraction, marks),
                st, out);
    uint32_t *others = rest;
    size_t n = 0;
    *held = 0;
    for (size_t i = 0; i < all->count; i++)
        if (((uint8_t *)marks)[order[i]])
            order[(*held)++] = order[i];
        else
            others[n++] = order[i];
    memcpy(order + *held, others, n * sizeof *order);
out:
    free(marks);
    free(rest);
    return st;
}

/* Of a text its end, as for the test (formats/text.c), of which so many tokens are measured on. */
static enum hr_status cut_text(const struct hr_dataset *dataset, double fraction,
                               struct hr_dataset *out)
{
    const struct hr_split *all = &dataset->train;
    const size_t held = hr_hold_out_count(all->count, fraction) * dataset->tokens.context;
    const size_t at = all->end - hr_min_size(held + 1, all->end - all->first);
    const size_t end = hr_min_size(all->end, at + hr_tokens_measured(&dataset->options));
    out->train = hr_tokens_split(&dataset->tokens, all->first, at);
    out->test = hr_tokens_split(&dataset->tokens, at, end);
    return out->train.count
               ? HR_OK
               : hr_fail(HR_E_USAGE, "--validation %g: leaves nothing to train on", fraction);
}

enum hr_status hr_held_out_open(const struct hr_dataset *dataset, double fraction, uint64_t seed,
                                struct hr_held_out *out)
{
    const struct hr_split *all = &dataset->train;
    *out = (struct hr_held_out){.dataset = *dataset};
    if (dataset->validation.count)
        return take_file(fraction, &out->dataset);
    if (all->count < 2)
        return hr_fail(HR_E_USAGE,
                       "--validation: %s has %zu training samples, expected at least 2: "
                       "one to train on and one to validate",
                       dataset->name, all->count);
    if (dataset->features == HR_FEATURES_TOKENS)
        return cut_text(dataset, fraction, &out->dataset);
    out->chosen = malloc(all->count * sizeof *out->chosen);
    if (!out->chosen)
        return hr_fail(HR_E_NOMEM, "no memory to choose among %zu samples", all->count);
    size_t held = hr_hold_out_count(all->count, fraction);
    const struct hr_sampler sampler = hr_sampler_of(seed, drawing, all->count);
    hr_sampler_fill(&sampler, 0, all->count, out->chosen);
    HR_TRY(put_first(dataset, fraction, seed, out->chosen, &held));
    for (size_t i = 0; i < all->count; i++)
        out->chosen[i] = (uint32_t)hr_split_row(all, out->chosen[i]);
    out->dataset.test = part_of(all, out->chosen, 0, held);
    out->dataset.train = part_of(all, out->chosen, held, all->count - held);
    return HR_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void hr_held_out_sort(struct hr_held_out *held_out)
{
    const size_t held = held_out->dataset.test.count;
    uint32_t *chosen = held_out->chosen;
    if (!chosen)
        return;
    qsort(chosen, held, sizeof *chosen, compare_rows);
    qsort(chosen + held, held_out->dataset.train.count, sizeof *chosen, compare_rows);
}

static uint64_t pairs_of(const struct hr_split *split, size_t sample)
{
    const size_t row = hr_split_row(split, sample);
    return split->rows[row + 1] - split->rows[row];
}

static enum hr_status take_rows(const char *name, const struct hr_split *split,
                                struct hr_table *out)
{
    uint64_t pairs = 0;
    void *taken[4] = {0};
    for (size_t i = 0; i < split->count; i++)
        pairs += pairs_of(split, i);
    const size_t bytes[] = {split->count * sizeof *out->labels,
                            (split->count + 1) * sizeof *out->rows, pairs * sizeof *out->columns,
                            pairs * sizeof *out->values};
    for (size_t t = 0; t < 4; t++) {
        const enum hr_status status = hr_take(name, bytes[t], &taken[t]);
        if (status != HR_OK) {
            while (t-- > 0)
                free(taken[t]);
            return status;
        }
    }
    *out = (struct hr_table){.features = HR_FEATURES_SPARSE,
                             .count = split->count,
                             .labels = taken[0],
                             .rows = taken[1],
                             .columns = taken[2],
                             .values = taken[3]};
    return HR_OK;
}

static enum hr_status gather(const char *name, struct hr_split *split, struct hr_table *out)
{
    HR_TRY(take_rows(name, split, out));
    for (size_t i = 0; i < split->count; i++) {
        const size_t row = hr_split_row(split, i);
        const uint64_t from = split->rows[row], to = out->rows[i], n = pairs_of(split, i);
        out->labels[i] = split->labels[row];
        out->rows[i + 1] = to + n;
        if (n) {
            memcpy(out->columns + to, split->columns + from, n * sizeof *out->columns);
            memcpy(out->values + to, split->values + from, n * sizeof *out->values);
        }
    }
    *split = hr_table_split(out);
    return HR_OK;
}

enum hr_status hr_held_out_gather(struct hr_held_out *held_out)
{
    struct hr_dataset *dataset = &held_out->dataset;
    if (!held_out->chosen)
        return HR_OK;
    HR_TRY(gather(dataset->name, &dataset->train, &held_out->parts[0]));
    return gather(dataset->name, &dataset->test, &held_out->parts[1]);
}

void hr_held_out_close(struct hr_held_out *held_out)
{
    hr_table_free(&held_out->parts[0]);
    hr_table_free(&held_out->parts[1]);
    free(held_out->chosen);
    *held_out = (struct hr_held_out){0};
}
