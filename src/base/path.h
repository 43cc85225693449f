/* path.h - paths of files, put together and taken apart. */
#ifndef HR_BASE_PATH_H
#define HR_BASE_PATH_H

#include <stdbool.h>

#include "base/error.h"

enum { HR_PATH_MAX = 4096 };

/* out = the formatted path. HR_E_USAGE when it does not fit. */
HR_CHECKED enum hr_status hr_path(char out[HR_PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* out = the folder that holds path: "a/b" -> "a", "b" -> ".", "/b" -> "/". */
HR_CHECKED enum hr_status hr_path_parent(char out[HR_PATH_MAX], const char *path);

/* place = the file that path stands for, behind its symlinks. */
HR_CHECKED enum hr_status hr_path_place(const char *path, char place[HR_PATH_MAX]);

/* Does it end in that, behind something else? ".csv" is no name that ends in ".csv". */
bool hr_path_ends_in(const char *path, const char *ending);

#endif
