/* picture.h - a walked schedule as text: a line a rank, time to the right.
 *
 *     rank 0  F0F1F2F3......B0--B1--B2--B3--      GPipe, 2 stages, 4 micro-batches:
 *     rank 1  ..F0F1F2F3B0--B1--B2--B3--....      F forward, B backward, . idle
 *
 * D and W are the backward for the data and for the weights, small letters those of every other
 * chunk. The number is the micro-batch, its last digits where there is no room for more.
 *
 * Threads: none.
 * Test:    tests/unit/pipeline/test_picture.c
 */
#ifndef HR_PIPELINE_PICTURE_H
#define HR_PIPELINE_PICTURE_H

#include "pipeline/walk.h"

enum { HR_PICTURE_BANDS = 4 };

/* Lines of at most `width` columns (at least 40), each with its newline. What is longer goes on in
 * a second band below, at most HR_PICTURE_BANDS, the numbers losing digits; what is longer still is
 * drawn into one, where what is shorter than a column may not be seen. HR_E_NOMEM.
 *   out  free() it */
HR_CHECKED enum hr_status hr_pipeline_picture(const struct hr_pipeline_walk *walk, size_t width,
                                              char **out);

#endif
