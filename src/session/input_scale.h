/* input_scale.h - how large a model's inputs were, in its file: bytes that are divided by 255 and
 * the same bytes as numbers of a CSV file are unlike inputs.
 *
 *     hogring.input_scale      what stored features were multiplied by: 1/255 for bytes
 *     hogring.input_largest    the largest absolute input behind it, of a look at the training data
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/cli/hints.bats
 */
#ifndef HR_TRAIN_INPUT_SCALE_H
#define HR_TRAIN_INPUT_SCALE_H

#include "hogring/checkpoint.h"
#include "hogring/data.h"

enum { HR_INPUT_SCALE_ENTRIES = 2 };

/* Put them behind the entries that are there. */
void hr_input_scale_put(const struct hr_dataset *dataset, struct hr_tensor_file *file);

/* One line where the data have another scale and inputs ten times as large or small as those that
 * the file's model was trained on. */
void hr_input_scale_compare(const struct hr_checkpoint *checkpoint,
                            const struct hr_dataset *dataset, const struct hr_split *split);

#endif
