/* How often rows share features: the Hogwild! paper's Omega, Delta and rho. */
#include <stdlib.h>

#include "base/error.h"
#include "base/size.h"
#include "data/sampler.h"
#include "hogring/sparse.h"

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
