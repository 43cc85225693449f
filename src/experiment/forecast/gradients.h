/* gradients.h - the gradients that a noise scale is estimated from: of batches of a data set, at
 * the weights that training begins with, and after some steps of it.
 *
 * Threads: computes in the caller's; needs BLAS in this process, so nothing is forked after it.
 * Test: tests/unit/forecast/test_gradients.c
 */
#ifndef HR_FORECAST_GRADIENTS_H
#define HR_FORECAST_GRADIENTS_H

#include "forecast/noise.h"
#include "hogring/train.h"

struct hr_noise_report {
    struct hr_noise start; /* at the initial weights */
    struct hr_noise later; /* after `steps` of training with one worker's batches */
    size_t steps;          /* 0: there was no time for them */
    const char *missing;   /* why there is no estimate at all; NULL: there is one */
};

/* Estimate it. Of options are used: model, loss, label_smoothing, normalize, seed, batch_size,
 * optimizer and its numbers. Samples are not augmented, and all tensors are trained.
 *   seconds  that it may take, about; 0.1 to some
 * HR_E_NOMEM. Models without a loss of classes: out->missing. */
enum hr_status hr_noise_measure(const struct hr_train_options *options,
                                const struct hr_dataset *dataset, double seconds,
                                struct hr_noise_report *out);

/* Products of each two of n gradients, (n, params) in: products (n, n) out, in double. */
void hr_noise_products(const float *gradients, size_t n, size_t params, double *products);

#endif
