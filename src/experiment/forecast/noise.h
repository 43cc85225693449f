/* noise.h - the gradient noise scale: how many samples a gradient may be averaged over before the
 * rest of its noise stops to matter, and so what a larger global batch costs in samples.
 *
 *   Words    G: the gradient over all samples. tr S: the trace of the covariance of one sample's
 *            gradient. B_noise = tr S / |G|^2 ("B_simple" of the paper).
 *   Measured n gradients g_i at the same weights, each the mean over b samples of its own. With the
 *            mean square c_ii and the mean product c_ij (i != j) of all pairs:
 *                |G|^2 = mean of c_ij            tr S = b (mean of c_ii - mean of c_ij)
 *            Both are unbiased, and the same as the paper's estimate from the norms at two batch
 *            sizes, b and n b (its appendix A.1).
 *   Interval of the ratio: Fieller's, from variances and covariance by the jackknife (one gradient
 *            left out at a time). Where |G|^2 itself may be 0 there is no upper end: infinity.
 *   Costs    steps / fewest steps = 1 + B_noise / B, samples / fewest samples = 1 + B / B_noise
 *            (its equation 2.11, with a rate that suits each batch). So a global batch of W b takes
 *            (1 + W b / B_noise) / (1 + b / B_noise) times the samples that one of b takes.
 *
 * Threads: pure. Test: tests/unit/forecast/test_noise.c
 * Source: McCandlish, Kaplan, Amodei et al., "An empirical model of large-batch training",
 * arXiv 1812.06162. Fieller, "Some problems in interval estimation", 1954.
 */
#ifndef HR_FORECAST_NOISE_H
#define HR_FORECAST_NOISE_H

#include <stdbool.h>
#include <stddef.h>

#include "hogring/train.h"

enum { HR_NOISE_BATCHES = 64 }; /* n, at most */

struct hr_noise {
    size_t batches, batch; /* n and b; batches 0: not estimated */
    double gradient2;      /* |G|^2; may come out below 0 where it is small */
    double trace;          /* tr S */
    double scale;          /* B_noise; infinity where |G|^2 is not above 0 */
    double low, high;      /* 95 % interval of it, 0 to infinity */
};

/* products (n, n) in: of each two of the n gradients, at least 3. */
struct hr_noise hr_noise_estimate(const double *products, size_t n, size_t batch);

/* How many times the samples that batches of `from` take, batches of `to` do. */
double hr_noise_cost(double scale, double from, double to);

/* --- such gradients, of a data set ---
 * The gradients that a noise scale is estimated from: of batches of a data set, at
 * the weights that training begins with, and after some steps of it.
 * Threads: computes in the caller's; needs BLAS in this process, so nothing is forked after it.
 * Test: tests/unit/forecast/test_gradients.c */

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
