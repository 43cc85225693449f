#include "base/path.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hr_status hr_path(char out[HR_PATH_MAX], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(out, HR_PATH_MAX, format, args);
    va_end(args);
    if (length < 0 || length >= HR_PATH_MAX)
        return hr_fail(HR_E_USAGE, "a path of %d bytes is too long, at most %d: %.80s...", length,
                       HR_PATH_MAX - 1, out);
    return HR_OK;
}

enum hr_status hr_path_parent(char out[HR_PATH_MAX], const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length ? hr_path(out, "%.*s", (int)length, path) : hr_path(out, ".");
}

bool hr_path_ends_in(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);
    return length > tail && !strcmp(path + length - tail, ending);
}

enum hr_status hr_path_place(const char *path, char place[HR_PATH_MAX])
{
    char *real = realpath(path, NULL);
    const enum hr_status status = hr_path(place, "%s", real ? real : path);
    free(real);
    return status;
}
