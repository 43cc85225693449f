/* The memory that a run on sparse data will take, before it is allocated. */
#include <stdio.h>

#include "session/saved.h"
#include "sparse/run.h"

static size_t pairs_of(const struct hr_split *split)
{
    size_t sum = 0;
    if (!split->chosen)
        return split->rows ? split->rows[split->count] : 0;
    for (size_t i = 0; i < split->count; i++)
        sum += split->rows[split->chosen[i] + 1] - split->rows[split->chosen[i]];
    return sum;
}

/* (features, users) of tables in problem.c, and the largest of the temporary ones, which exist one
 * at a time: to sort rows, to count conflicts, to copy the weights at the end. */
static void add_tables(const struct hr_sparse_run *run, size_t features, size_t users,
                       size_t params, struct hr_needs *needs)
{
    const struct hr_dataset *d = run->dataset;
    const size_t pairs = pairs_of(&d->train), all = pairs + pairs_of(&d->test);
    const size_t table = 2 * sizeof(uint32_t) + (users ? 0 : sizeof(uint32_t));
    const size_t sorting = features * sizeof(uint64_t) + pairs * (sizeof(uint32_t) + sizeof(float));
    const size_t copies = params * 2 * sizeof(float);
    hr_needs_add(needs, "rows", all, sizeof(struct hr_sparse_pair));
    hr_needs_add(needs, "rows", d->train.count + d->test.count + 2, sizeof(uint64_t));
    hr_needs_add(needs, "feature tables", users + features, table);
    hr_needs_add(needs, "sorting and copying", 1, sorting > copies ? sorting : copies);
}

/* What hr_held_out_gather copies. */
static void add_parts(const struct hr_dataset *d, struct hr_needs *needs)
{
    hr_needs_add(needs, "held out", pairs_of(&d->train) + pairs_of(&d->test),
                 sizeof(uint32_t) + sizeof(float));
    hr_needs_add(needs, "held out", d->train.count + d->test.count + 2,
                 sizeof(uint64_t) + sizeof(uint32_t));
}

enum hr_status hr_sparse_sum_up(const struct hr_sparse_run *run,
                                const struct hr_checkpoint *checkpoint, struct hr_needs *needs)
{
    const struct hr_dataset *d = run->dataset;
    const struct hr_train_options *o = &run->options;
    const bool mf = run->steps == hr_sparse_factorise;
    const size_t features = hr_shape_elems(d->shape), users = mf ? d->classes : 0;
    const size_t params = mf ? (users + features) * o->factors : features;
    size_t group_bytes;
    HR_TRY(hr_group_bytes(&run->group_options, &group_bytes));
    hr_needs_add_taken(needs, "data", hr_dataset_bytes(d));
    if (checkpoint)
        hr_needs_add_taken(needs, "checkpoint", hr_saved_bytes(checkpoint));
    else if (o->init_weights[0])
        hr_needs_add(needs, "initial weights", params, sizeof(float));
    add_tables(run, features, users, params, needs);
    hr_needs_add(needs, "weights", params, sizeof(float));
    hr_needs_add(needs, "targets", d->targets.rows, sizeof *run->scale.values);
    if (run->held_out.chosen)
        add_parts(d, needs);
    if (run->cuts.early_stop.asked)
        hr_needs_add(needs, "best weights", 2 * params, sizeof(float));
    if (run->dual)
        hr_needs_add(needs, "dual variables", d->train.count,
                     sizeof *run->alphas + sizeof *run->norms);
    if (run->cuts.saves)
        hr_needs_add(needs, "copies to save", 2, params * sizeof(float));
    if (run->cuts.saves && run->dual)
        hr_needs_add(needs, "copies to save", d->train.count, sizeof *run->alphas);
    hr_needs_add(needs, "counters and curve", run->cuts.curve_room, sizeof *run->cuts.curve);
    if (run->launcher.observer && run->launcher.observer->stepped)
        hr_needs_add(needs, "records of steps", 1, hr_feed_bytes(o->workers, HR_FEED_SLOTS));
    hr_needs_add(needs, "rings", 1, group_bytes);
    return HR_OK;
}

enum hr_status hr_sparse_fits(struct hr_sparse_run *run, const struct hr_checkpoint *checkpoint)
{
    struct hr_train_options *o = &run->options;
    char advice[80] = "";
    const struct hr_memory there = hr_memory_there_is();
    HR_TRY(hr_sparse_sum_up(run, checkpoint, &run->needs));
    if (hr_needs_fit(&run->needs, &there))
        return HR_OK;
    const size_t asked = o->factors;
    while (run->steps == hr_sparse_factorise && o->factors > 2 && !advice[0]) {
        struct hr_needs fewer = {0};
        o->factors = o->factors / 4 * 2;
        HR_TRY(hr_sparse_sum_up(run, checkpoint, &fewer));
        if (hr_needs_fit(&fewer, &there))
            snprintf(advice, sizeof advice, "--factors %zu would fit", o->factors);
    }
    o->factors = asked;
    return hr_needs_check(&run->needs, "this run needs", advice);
}
