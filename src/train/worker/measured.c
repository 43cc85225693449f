#include "worker/measured.h"

#include <math.h>
#include <string.h>

/* The errors of all blocks, in the last place. */
static struct hr_fit fit_of(const struct hr_train_job *job)
{
    const size_t sums = 2 * job->values.count;
    double *all = job->errors + job->neval * sums;
    memset(all, 0, sums * sizeof *all);
    for (size_t block = 0; block < job->neval; block++)
        for (size_t i = 0; i < sums; i++)
            all[i] += job->errors[block * sums + i];
    return hr_fit_of(&job->dataset->targets, &job->dataset->test, all, NULL);
}

struct hr_measured hr_train_job_measured(const struct hr_train_job *job)
{
    const double tests = (double)job->dataset->test.count;
    double sum = 0;
    uint64_t correct = 0;
    for (size_t block = 0; block < job->neval; block++) {
        sum += job->cells[block].loss_sum;
        correct += job->cells[block].correct;
    }
    if (job->values.count)
        return (struct hr_measured){sum / tests, (double)NAN, fit_of(job)};
    return (struct hr_measured){
        sum / tests, (double)correct / tests, {(double)NAN, (double)NAN, (double)NAN}};
}

size_t hr_measured_bytes(const struct hr_dataset *dataset)
{
    if (!dataset->targets.count)
        return 0;
    return (hr_train_job_blocks(dataset) + 1) * 2 * dataset->targets.count * sizeof(double);
}
