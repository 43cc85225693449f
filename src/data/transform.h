/* transform.h - what is done to samples between gathering and the network.
 *
 *   augment   a random crop behind zero padding and a horizontal flip, of training batches
 *   scale     (x - mean) / std of each channel, measured over the training split; of all batches
 *
 * in this order, so padding is a pixel of 0 before it is scaled. Of a channel whose values floats
 * cannot tell apart (hr_dataset.rounding) the mean is its origin: it is subtracted in double while
 * samples are gathered, before anything is rounded (padding is then a pixel of the mean). Semantics
 * are those of torchvision's RandomCrop(size, padding), RandomHorizontalFlip and Normalize.
 *
 * Random numbers come from Philox keyed by (seed, pass over the data, sample): the same bits
 * whoever decodes the sample, and when, and in which batch.
 *
 * Threads: pure functions on the caller's memory, but for hr_scaling_measure, which allocates.
 * Test: tests/unit/data/test_transform.c, against naive twins.
 */
#ifndef HR_DATA_TRANSFORM_H
#define HR_DATA_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "hogring/data.h"

struct hr_augment {
    bool flip;  /* left and right change places, with probability 1/2 */
    size_t pad; /* crop: shift by up to so many pixels each way, zeros move in; 0: do not */
};

/* Parse "flip", "crop:PAD", or both with a comma; "" is neither. HR_E_USAGE: an unknown word, a PAD
 * that is not 1 .. min(height, width) - 1, samples that are no images. */
HR_CHECKED enum hr_status hr_augment_parse(const char *text, struct hr_shape shape,
                                           struct hr_augment *out);

/* Whose samples a batch holds: what the random numbers are keyed by. */
struct hr_augment_key {
    uint64_t seed, pass;
    const uint32_t *samples; /* (n) */
};

/* Augment in place.
 *   x      (n, channels, height, width) in and out
 *   plane  (height * width) scratch */
void hr_augment_apply(const struct hr_augment *augment, struct hr_shape shape,
                      const struct hr_augment_key *key, size_t n, float *x, float *plane);

/* Mean and standard deviation of each channel; where a sample is a row of features, (F,1,1), that
 * is of each feature. */
struct hr_scaling {
    size_t channels;   /* 0: none, and applying it does nothing */
    float *mean, *std; /* (channels) mean owned, std behind it; std > 0 */
    double *origin;    /* (channels) owned: subtracted before mean; NULL: of no channel */
};

/* Room for `channels`; free with hr_scaling_free. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_scaling_create(size_t channels, bool origin, struct hr_scaling *out);

/* Measure the training split: two passes in double and a fixed order, deviation over n (not n - 1).
 * A channel that is constant gets std 1. */
HR_CHECKED enum hr_status hr_scaling_measure(const struct hr_dataset *dataset,
                                             struct hr_scaling *out);
/* Harmless on a zeroed struct. */
void hr_scaling_free(struct hr_scaling *scaling);

/* As hr_dataset_gather, with the origins taken off: what hr_scaling_apply wants. */
void hr_scaling_gather(const struct hr_scaling *scaling, const struct hr_dataset *dataset,
                       const struct hr_split *split, const uint32_t *samples, size_t n, float *x,
                       uint32_t *y);

/* x (n, channels, height, width) in and out: (x - mean) / std, each rounded to float. */
void hr_scaling_apply(const struct hr_scaling *scaling, struct hr_shape shape, size_t n, float *x);

#endif
