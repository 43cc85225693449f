/* input_scale.h - how large a model's inputs were, kept in its file: the same image may come as
 * bytes divided by 255, or as numbers up to 255 in a CSV file.
 *
 *     hogring.input_scale      what stored features were multiplied by: 1/255 for bytes
 *     hogring.input_largest    the largest absolute input after that, from a sample of the data
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/cli/hints.bats
 */
#ifndef HR_TRAIN_INPUT_SCALE_H
#define HR_TRAIN_INPUT_SCALE_H

#include "hogring/checkpoint.h"
#include "hogring/data.h"

enum { HR_INPUT_SCALE_ENTRIES = 2 };

/* Append them to the metadata. */
void hr_input_scale_put(const struct hr_dataset *dataset, struct hr_tensor_file *file);

/* The first of them; 0: the file does not say it. */
float hr_input_scale_get(const struct hr_checkpoint *checkpoint);

/* Warn when the data have another scale than the file's training data, and inputs ten times larger
 * or smaller. */
void hr_input_scale_compare(const struct hr_checkpoint *checkpoint,
                            const struct hr_dataset *dataset, const struct hr_split *split);

#endif
