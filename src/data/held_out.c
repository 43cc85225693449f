#include "data/held_out.h"

#include <stdlib.h>

#include "base/size.h"
#include "data/sampler.h"

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

enum hr_status hr_held_out_open(const struct hr_dataset *dataset, double fraction, uint64_t seed,
                                struct hr_held_out *out)
{
    const struct hr_split *all = &dataset->train;
    *out = (struct hr_held_out){.dataset = *dataset};
    if (all->count < 2)
        return hr_fail(HR_E_USAGE,
                       "--validation-fraction: %s has %zu training samples, expected at least 2: "
                       "one to train on and one to validate",
                       dataset->name, all->count);
    out->chosen = malloc(all->count * sizeof *out->chosen);
    if (!out->chosen)
        return hr_fail(HR_E_NOMEM, "no memory to choose among %zu samples", all->count);
    const size_t wanted = (size_t)((double)all->count * fraction + 0.5);
    const size_t held = hr_min_size(wanted ? wanted : 1, all->count - 1);
    const struct hr_sampler sampler = hr_sampler_of(seed, drawing, all->count);
    hr_sampler_fill(&sampler, 0, all->count, out->chosen);
    for (size_t i = 0; i < all->count; i++)
        out->chosen[i] = (uint32_t)hr_split_row(all, out->chosen[i]);
    out->dataset.test = part_of(all, out->chosen, 0, held);
    out->dataset.train = part_of(all, out->chosen, held, all->count - held);
    return HR_OK;
}

void hr_held_out_close(struct hr_held_out *held_out)
{
    free(held_out->chosen);
    *held_out = (struct hr_held_out){0};
}
