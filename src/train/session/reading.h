/* reading.h - data for a checkpoint's model, read as its training data were.
 *
 * How: what is not given is as the checkpoint has it (option.* of its trainer.safetensors), where
 * that means something for the format of these data, and beside what is given; whether labels are
 * values, the first index and the number of sparse features are as its model has them.
 *
 * Which samples are tested, the test split of what is opened:
 *
 *     the data that it was trained on       what training held out for the test: neither trained
 *                                           on nor validated with. They are known by their digest,
 *                                           whatever file they stand in
 *     test samples that are given           these: --test
 *     other data with test samples          these: a folder of two parts, packed
 *     other data                            all of them, and a line says so: some may be among
 *                                           those that it was trained on
 *
 * A model's file alone says nothing of this: all is then as hr_data_defaults has it.
 *
 * Errors:  those of hr_dataset_open_with.
 * Threads: one call at a time. Test: tests/cli/reading.bats
 */
#ifndef HR_SESSION_READING_H
#define HR_SESSION_READING_H

#include <stdbool.h>

#include "base/error.h"
#include "hogring/checkpoint.h"
#include "hogring/data.h"

/* What is asked for. */
struct hr_reading {
    const char *data;
    const struct hr_data_options *options;
    unsigned given; /* bit i: row i of hr_data_option_at was given */
    char
        said[8192]; /* out, lines: where figures may be others than the checkpoint's own, and why */
};

/* The options that are no defaults. */
unsigned hr_reading_given(const struct hr_data_options *options);

/* How to read the data. */
HR_CHECKED enum hr_status hr_reading_options(const struct hr_checkpoint *checkpoint,
                                             const struct hr_reading *reading,
                                             struct hr_data_options *out);

/* out: written on success, close with hr_dataset_close */
HR_CHECKED enum hr_status hr_reading_open(const struct hr_checkpoint *checkpoint,
                                          struct hr_reading *reading, struct hr_dataset *out);

/* Are all its samples taken? */
bool hr_reading_is_whole(const struct hr_dataset *dataset);

/* Those lines, on stderr: when all has gone well, and not before it is refused. */
void hr_reading_say(const struct hr_reading *reading);

#endif
