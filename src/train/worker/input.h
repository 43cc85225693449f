/* input.h - a worker's input: its share of a batch, as floats.
 *
 *   index -> batch (batch_schedule.h) -> share of this worker -> pieces of passes -> samples
 *   (data/order.h)
 *         -> gathered into x (n, features), y (n) -> augmented, scaled (data/transform.h)
 *
 * A pure function of (job, rank, index), so who decodes, and when, changes no bit.
 *
 * Threads: a struct hr_input belongs to one thread; what it reads of the run is constant.
 */
#ifndef HR_WORKER_INPUT_H
#define HR_WORKER_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/order.h"
#include "strategy/batch_schedule.h"

struct hr_dataset;
struct hr_train_job;

/* A decoder; private memory of one thread. */
struct hr_input {
    const struct hr_train_job *job; /* borrowed */
    uint32_t *samples;              /* (max_samples) owned; numbers of what was decoded last */
    uint64_t pass;                  /* over the data, of the first of them */
    float *plane;                   /* (height * width) owned; scratch of augmentation */
    struct hr_order order;
    uint64_t order_pass; /* whose order it is */
    bool asked;          /* the disk for what it begins with (job->reading) */
};

/* Bytes that hr_input_init takes. */
size_t hr_input_bytes(const struct hr_train_job *job, size_t max_samples);
/* For batches (and blocks of the test split) of up to max_samples. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_input_init(struct hr_input *input, const struct hr_train_job *job,
                                        size_t max_samples);
void hr_input_fini(struct hr_input *input);

/* A worker's part of batch `index`: all of it, or the share that rank `group_rank` of `group_size`
 * has of a global batch. Shares differ by at most one sample, and may be empty. */
struct hr_batch hr_input_share(const struct hr_train_job *job, size_t group_rank, size_t group_size,
                               uint64_t index);
/* Part i of `parts` of a share; larger ones come first. */
struct hr_batch hr_input_part(const struct hr_batch *share, size_t parts, size_t i);

/* Decode a part of a batch: x (count, features) and y (count) out. No allocation. */
void hr_input_decode(struct hr_input *input, const struct hr_batch *part, float *x, uint32_t *y);

/* How many test samples of a block of HR_EVAL_BLOCK are evaluated at once: all, or, of wide sparse
 * data, as many as take 8 MiB as dense rows. It depends on the data alone, and so do the bits. */
size_t hr_input_eval_rows(const struct hr_dataset *dataset);

/* Decode samples first .. first + n - 1 of the test split; never augmented. No allocation. */
void hr_input_decode_test(struct hr_input *input, size_t first, size_t n, float *x, uint32_t *y);

/* A thread that decodes a worker's next batches while it computes.
 *
 *   Picture   slots [ free | ready | ready | being decoded | free ], a ring of `ahead` + 1: the
 *             worker computes from the oldest, in place, until it takes the next
 *   Next      the thread decodes first, first + stride, ... below end. Where indices are known
 *             (synchronous strategies) the stride is 1 and the guess is right; where an owner
 *             hands them out, the stride is the number of workers, a guess. A take of an
 *             index that is neither ready nor being decoded is a miss: the worker decodes for
 *             itself, and the thread continues after that index. A share that is computed in parts
 *             is decoded part by part. Where workers were lost, who is left has another share: that
 *             is a miss, once.
 *   Promise   decoding is a pure function of the key (input.h), so hits and misses change no bit.
 *
 * Memory and the thread belong to the rank: started after the fork, joined before the rank ends.
 * Neither side waits for anything but the other, and that wait is as long as one decode, so there
 * is nothing to abort.
 *
 * Threads: take and stop are the worker's.
 * Test: tests/unit/worker/test_prefetch.c
 */
struct hr_prefetch;

/* Part `part` of `parts` of what rank `group_rank` of `group_size` has of batch `index`. */
struct hr_prefetch_key {
    uint64_t index;
    size_t part, parts, group_rank, group_size;
};

struct hr_prefetched {
    struct hr_prefetch_key key;
    float *x;          /* (samples, features) */
    uint32_t *y;       /* (samples) */
    uint32_t *samples; /* their numbers */
    uint64_t pass;     /* over the data, of the first of them */
};

struct hr_prefetch_options {
    const struct hr_train_job *job; /* borrowed */
    size_t rank;
    size_t ahead;        /* parts, at least 1 */
    size_t max_samples;  /* in a part */
    uint64_t first, end; /* indices [first, end) */
    uint64_t stride;
    size_t parts; /* of a share, to begin with */
};

/* In a part, at most: a pipeline takes a share as one. */
size_t hr_prefetch_samples(const struct hr_train_job *job);
/* Bytes that one takes, a worker. */
size_t hr_prefetch_bytes(const struct hr_train_job *job, size_t ahead);
/* HR_E_NOMEM: no memory, or no thread. */
HR_CHECKED enum hr_status hr_prefetch_start(const struct hr_prefetch_options *options,
                                            struct hr_prefetch **out);
/* Harmless on NULL. */
void hr_prefetch_stop(struct hr_prefetch *prefetch);

/* What is decoded of that key, the caller's to use and to overwrite until its next take; NULL on a
 * miss. */
const struct hr_prefetched *hr_prefetch_take(struct hr_prefetch *prefetch,
                                             const struct hr_prefetch_key *key);

/* How many parts are ready, without the one in use: for tests. */
size_t hr_prefetch_ready(struct hr_prefetch *prefetch);

#endif
