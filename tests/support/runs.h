/* runs.h - small training runs on the digits, for tests that compare runs with one another. */
#ifndef HR_TESTS_SUPPORT_RUNS_H
#define HR_TESTS_SUPPORT_RUNS_H

#include "hogring/train.h"
#include "support/check.h"

/* The digits, opened once. */
const struct hr_dataset *run_digits(void);
/* Six samples of two features, of two classes: what a run has in memory is small. */
const struct hr_dataset *run_tiny(void);

/* The digits with two values a sample to predict, far from 0 and of unlike sizes. */
const struct hr_dataset *run_values(void);
/* A text of bytes, a sentence a line, in windows of 16 tokens. */
const struct hr_dataset *run_text(void);
/* What all runs below train on; NULL: the digits. */
void run_on(const struct hr_dataset *dataset);

/* Options of a run that takes milliseconds: a small network with an odd number of parameters,
 * batch 16, momentum, weight decay, cosine schedule with warm-up, reference kernels where the build
 * has no others. */
struct hr_train_options run_options(const char *strategy, size_t workers);

/* Train, which must go well; free the result. */
struct hr_run_result run_train(const struct hr_train_options *options);

/* Train, and keep only the weights digest (33). */
void run_digest(const struct hr_train_options *options, char digest[33]);

/* The digest must be `want`. */
#define CHECK_DIGEST(options, want) check_digest_((options), (want), __FILE__, __LINE__)
void check_digest_(const struct hr_train_options *options, const char *want, const char *file,
                   int line);

/* A temporary folder, removed (with what is in it) by run_folder_remove. */
void run_folder_make(char path[64]);
void run_folder_remove(const char *path);

/* Weights at the end of a run, (params) malloc'd; the run saves to a folder of its own. */
float *run_weights(struct hr_train_options options, size_t *params);

/* Both runs end with the same weights to rounding, and not to the bit: or nothing was compared. */
void run_check_near(struct hr_train_options a, struct hr_train_options b);

/* An asynchronous run is a function of the order: the same seed of --clock explore gives it
 * again, another does not. */
void run_check_order(struct hr_train_options options);

/* Train and record: the replay must end with the same digest. */
void run_check_replay(struct hr_train_options options);

/* Train to step k and stop; go on from the checkpoint to the end, which must have this digest. */
void run_check_resume(struct hr_train_options options, uint64_t k, const char *want);

#endif
