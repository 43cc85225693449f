/* ahead.h - asking the disk for samples of a mapped file before they are wanted.
 *
 * A request: nobody waits for it but for a queue that is full, it changes no bit, and for samples
 * that are in memory nothing happens.
 *
 * Threads: any. Test: tests/unit/data/test_ahead.c
 */
#ifndef HR_DATA_AHEAD_H
#define HR_DATA_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

struct hr_dataset;
struct hr_split;

/* Do the features of its training samples lie in a file? Are they more than the memory there is? */
bool hr_ahead_may_ask(const struct hr_dataset *dataset);
bool hr_ahead_is_too_large(const struct hr_dataset *dataset);

/* The largest window of which two fit into the memory there is, at least 1: one is trained on, and
 * the next is asked for. */
size_t hr_ahead_largest_window(const struct hr_dataset *dataset);

/* Samples are taken from all over the file: let the kernel read what is touched, and not what lies
 * beside it. */
void hr_ahead_expect_scattered(const struct hr_dataset *dataset);

/* Ask for the features of training samples [first, first + count) of `split`, behind the last one
 * from 0. They are asked for in large pieces of the file, so that of calls for one batch behind the
 * other each asks for those that begin in it; and where `begins`, for what the first sample is
 * in. */
void hr_ahead_ask(const struct hr_dataset *dataset, const struct hr_split *split, size_t first,
                  size_t count, bool begins);
/* Ask for one, and for nothing beside it. */
void hr_ahead_ask_one(const struct hr_dataset *dataset, const struct hr_split *split,
                      size_t sample);

#endif
