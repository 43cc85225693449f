/* formats.h - the data formats there are, in the order in which they are asked whether a file is
 * theirs. A new one is its reader, and its name here.
 *
 * Threads: any; nothing is kept.
 */
#ifndef HR_FORMATS_FORMATS_H
#define HR_FORMATS_FORMATS_H

#include "data/format.h"

#define HR_FORMATS(X) X(packed) X(npy) X(cifar) X(images) X(libsvm) X(text) X(idx) X(csv)

#define HR_DECLARE_FORMAT(name) extern const struct hr_format hr_format_##name;
HR_FORMATS(HR_DECLARE_FORMAT)

/* Is that a name, and no path: digits, fashion-mnist? */
bool hr_dataset_is_built_in(const char *name);

/* The format of a file or folder that is there; NULL when nothing recognises it. HR_E_IO. */
HR_CHECKED enum hr_status hr_format_find(const char *path, const struct hr_format **out);

/* HR_E_USAGE: an option that is no default means nothing for these data, or beside another one;
 * else as hr_dataset_open_with, whose first step this is. */
HR_CHECKED enum hr_status hr_data_options_check(const char *name,
                                                const struct hr_data_options *options);

#endif
