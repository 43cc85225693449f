/* From a data set to rows: folded labels, placed features, degrees. Linear in the data. */
#include "sparse/problem.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "data/order.h"
#include "hogring/sparse.h"
#include "options/train_options.h"

static enum hr_status take(size_t count, size_t size, void *out)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        return hr_fail(HR_E_NOMEM, "no memory for %zu bytes of sparse rows", count * size);
    memcpy(out, &memory, sizeof memory);
    return HR_OK;
}

/* --- what the data must be --- */

enum hr_status hr_sparse_problem_check(const char *model, const struct hr_dataset *dataset)
{
    const enum hr_sparse_model which = hr_sparse_model_of(model);
    const bool mf = which == HR_SPARSE_MF, linear = which == HR_SPARSE_LINEAR;
    if (dataset->targets.count && !linear)
        return hr_fail(HR_E_USAGE,
                       "--model %s: does not learn values (--task regress); linear does, and a "
                       "network, as \"flatten, dense %zu\"",
                       model, dataset->targets.count);
    if (dataset->features != HR_FEATURES_SPARSE)
        return hr_fail(HR_E_USAGE, "--model %s: %s is not sparse, expected libsvm data", model,
                       dataset->name);
    if (linear && dataset->targets.count != 1)
        return hr_fail(HR_E_USAGE,
                       "--model linear: %s has %zu values per row, expected 1 (--task regress)",
                       dataset->name, dataset->targets.count);
    if (!mf && !linear && dataset->classes != 2)
        return hr_fail(HR_E_USAGE, "--model %s: %s has %zu classes, expected 2", model,
                       dataset->name, dataset->classes);
    return HR_OK;
}

/* --- degrees and places --- */

static void count_degrees(struct hr_sparse_problem *problem, const struct hr_split *train)
{
    for (size_t i = 0; i < train->count; i++)
        for (uint64_t k = train->rows[i]; k < train->rows[i + 1]; k++) {
            problem->degree[problem->users + train->columns[k]]++;
            if (problem->users)
                problem->degree[train->labels[i]]++;
        }
}

/* place[f] = how many features come before f by (falling degree, rising number): a counting
 * sort. */
static enum hr_status place_features(struct hr_sparse_problem *problem, size_t rows)
{
    size_t *before = NULL;
    HR_TRY(take(rows + 2, sizeof *before, &before));
    for (size_t f = 0; f < problem->features; f++)
        before[problem->degree[f]]++;
    size_t sum = 0;
    for (size_t degree = rows + 1; degree-- > 0;) {
        const size_t count = before[degree];
        before[degree] = sum;
        sum += count;
    }
    for (size_t f = 0; f < problem->features; f++)
        problem->place[f] = (uint32_t)before[problem->degree[f]]++;
    free(before);
    return HR_OK;
}

static void fill_decay(struct hr_sparse_problem *problem, float largest)
{
    for (size_t f = 0; f < problem->users + problem->features; f++) {
        const size_t at = problem->users ? f : problem->place[f];
        const uint32_t degree = problem->degree[f] ? problem->degree[f] : 1;
        const float decay = (float)(1 / (problem->cost * degree));
        problem->decay[at] = decay < largest ? decay : largest;
    }
}

/* --- rows --- */

/* Sort by place without comparing: transpose into columns, then append each column's pairs to their
 * rows. */
static enum hr_status place_rows(const struct hr_sparse_problem *problem,
                                 const struct hr_split *split, struct hr_sparse_rows *rows)
{
    const uint64_t pairs = split->rows[split->count];
    const bool straight = problem->model == HR_SPARSE_LINEAR; /* labels are no signs */
    uint64_t *begin = NULL;
    uint32_t *row_of = NULL;
    float *values = NULL;
    enum hr_status st;
    HR_TRY_GOTO(take(problem->features + 1, sizeof *begin, &begin), st, out);
    HR_TRY_GOTO(take(pairs, sizeof *row_of, &row_of), st, out);
    HR_TRY_GOTO(take(pairs, sizeof *values, &values), st, out);
    for (uint64_t k = 0; k < pairs; k++)
        begin[problem->place[split->columns[k]] + 1]++;
    for (size_t f = 0; f < problem->features; f++)
        begin[f + 1] += begin[f];
    for (size_t i = 0; i < split->count; i++)
        for (uint64_t k = split->rows[i]; k < split->rows[i + 1]; k++) {
            const uint64_t at = begin[problem->place[split->columns[k]]]++;
            row_of[at] = (uint32_t)i;
            values[at] = straight || split->labels[i] ? split->values[k] : -split->values[k];
        }
    /* Now begin[f] is where column f ends, and rows->begin serves as the rows' cursors. */
    for (uint64_t f = 0, k = 0; f < problem->features; f++)
        for (; k < begin[f]; k++)
            rows->pairs[rows->begin[row_of[k]]++] = (struct hr_sparse_pair){(uint32_t)f, values[k]};
    memcpy(rows->begin, split->rows, split->count * sizeof *rows->begin);
out:
    free(begin);
    free(row_of);
    free(values);
    return st;
}

static void center_rows(const struct hr_sparse_problem *problem, const struct hr_split *split,
                        struct hr_sparse_rows *rows)
{
    for (uint64_t k = 0; k < split->rows[split->count]; k++)
        rows->pairs[k] =
            (struct hr_sparse_pair){split->columns[k], split->values[k] - problem->mean};
}

static enum hr_status make_rows(const struct hr_sparse_problem *problem,
                                const struct hr_split *split, struct hr_sparse_rows *rows)
{
    rows->count = split->count;
    rows->labels = split->labels;
    HR_TRY(take(split->count + 1, sizeof *rows->begin, &rows->begin));
    HR_TRY(take(split->rows[split->count], sizeof *rows->pairs, &rows->pairs));
    memcpy(rows->begin, split->rows, (split->count + 1) * sizeof *rows->begin);
    if (problem->model != HR_SPARSE_MF)
        return place_rows(problem, split, rows);
    center_rows(problem, split, rows);
    return HR_OK;
}

static float mean_rating(const struct hr_split *split)
{
    const uint64_t pairs = split->rows[split->count];
    double sum = 0;
    for (uint64_t k = 0; k < pairs; k++)
        sum += (double)split->values[k];
    return pairs ? (float)(sum / (double)pairs) : 0;
}

static enum hr_status begin(const char *model, size_t factors, const struct hr_dataset *dataset,
                            struct hr_sparse_problem *p)
{
    const bool mf = hr_sparse_model_of(model) == HR_SPARSE_MF;
    *p = (struct hr_sparse_problem){
        .model = hr_sparse_model_of(model),
        .features = hr_shape_elems(dataset->shape),
        .users = mf ? dataset->classes : 0,
        .factors = mf ? factors : 0,
        .targets = dataset->targets,
    };
    p->params = mf ? (p->users + p->features) * p->factors : p->features;
    HR_TRY(hr_sparse_problem_check(model, dataset));
    if (p->users + p->features > UINT32_MAX / 2)
        return hr_fail(HR_E_USAGE, "--model %s: %s has too many users and items", model,
                       dataset->name);
    HR_TRY(take(p->users + p->features, sizeof *p->degree, &p->degree));
    HR_TRY(take(mf ? 0 : p->features, sizeof *p->place, &p->place));
    if (mf)
        return HR_OK;
    count_degrees(p, &dataset->train);
    return place_features(p, dataset->train.count);
}

enum hr_status hr_sparse_problem_make(const struct hr_train_options *options,
                                      const struct hr_dataset *dataset, float largest_decay,
                                      struct hr_sparse_problem *out)
{
    HR_TRY(begin(options->model, options->factors, dataset, out));
    HR_TRY(take(out->users + out->features, sizeof *out->decay, &out->decay));
    out->cost = options->cost;
    if (out->model == HR_SPARSE_MF) {
        out->mean = mean_rating(&dataset->train);
        count_degrees(out, &dataset->train);
    }
    fill_decay(out, largest_decay);
    HR_TRY(make_rows(out, &dataset->train, &out->train));
    HR_TRY(make_rows(out, &dataset->test, &out->test));
    return hr_sparse_conflicts(dataset, &out->conflicts);
}

enum hr_status hr_sparse_problem_make_test(const char *model, size_t factors, float mean,
                                           const struct hr_dataset *dataset,
                                           struct hr_sparse_problem *out)
{
    HR_TRY(begin(model, factors, dataset, out));
    out->mean = mean;
    return make_rows(out, &dataset->test, &out->test);
}

void hr_sparse_problem_free(struct hr_sparse_problem *problem)
{
    free(problem->degree);
    free(problem->place);
    free(problem->decay);
    free(problem->train.begin);
    free(problem->train.pairs);
    free(problem->test.begin);
    free(problem->test.pairs);
    *problem = (struct hr_sparse_problem){0};
}

/* How often rows share features: the Hogwild! paper's Omega, Delta and rho. */
/* How many rows are compared with all others: a random sample. */
enum { PROBES = 64, OTHERS = 1000 };

static uint64_t row_size(const struct hr_split *split, size_t row)
{
    return split->rows[row + 1] - split->rows[row];
}

static void measure_rows(const struct hr_split *split, uint32_t *degree, struct hr_conflicts *out)
{
    uint32_t most = 0;
    for (size_t i = 0; i < split->count; i++) {
        out->omega = row_size(split, i) > out->omega ? row_size(split, i) : out->omega;
        for (uint64_t k = split->rows[i]; k < split->rows[i + 1]; k++) {
            const uint32_t d = ++degree[split->columns[k]];
            most = d > most ? d : most;
        }
    }
    out->delta = (double)most / (double)split->count;
}

/* Features of row `row` that carry this mark. */
static size_t count_marked(const struct hr_split *split, size_t row, const uint32_t *marks,
                           uint32_t mark)
{
    size_t found = 0;
    for (uint64_t k = split->rows[row]; k < split->rows[row + 1]; k++)
        found += marks[split->columns[k]] == mark;
    return found;
}

/* One row against the others. marks: no number above `mark` yet. */
static void measure_probe(const struct hr_split *split, const uint32_t *rows, size_t n,
                          uint32_t probe, uint32_t *marks, struct hr_conflicts *out)
{
    const uint32_t mark = probe + 1, row = rows[probe];
    size_t met = 0;
    double share = 0;
    for (uint64_t k = split->rows[row]; k < split->rows[row + 1]; k++)
        marks[split->columns[k]] = mark;
    for (size_t j = 0; j < n; j++) {
        const size_t common = j == probe ? 0 : count_marked(split, rows[j], marks, mark);
        met += common > 0;
        share += common ? (double)common / (double)row_size(split, row) : 0;
    }
    const double rho = n > 1 ? (double)met / (double)(n - 1) : 0;
    out->rho = rho > out->rho ? rho : out->rho;
    out->overlap += n > 1 ? share / (double)(n - 1) / (double)hr_min_size(PROBES, n) : 0;
}

enum hr_status hr_sparse_conflicts(const struct hr_dataset *dataset, struct hr_conflicts *out)
{
    const struct hr_split *split = &dataset->train;
    const size_t features = hr_shape_elems(dataset->shape), n = hr_min_size(OTHERS, split->count);
    *out = (struct hr_conflicts){0};
    if (dataset->features != HR_FEATURES_SPARSE)
        return hr_fail(HR_E_USAGE, "%s: is not sparse, expected libsvm data", dataset->name);
    uint32_t rows[OTHERS], *marks = calloc(2 * features, sizeof *marks);
    if (!marks)
        return hr_fail(HR_E_NOMEM, "no memory to count %zu features", features);
    measure_rows(split, marks + features, out);
    const struct hr_sampler sampler = hr_sampler_of(0, UINT64_MAX - 1, split->count);
    hr_sampler_fill(&sampler, 0, n, rows);
    for (uint32_t probe = 0; probe < hr_min_size(PROBES, n); probe++)
        measure_probe(split, rows, n, probe, marks, out);
    free(marks);
    return HR_OK;
}
