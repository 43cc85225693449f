/* idx_files.h - hand-made IDX files in a temporary folder, and how much memory reading
 * them took. */
#ifndef HR_TESTS_SUPPORT_IDX_FILES_H
#define HR_TESTS_SUPPORT_IDX_FILES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes on the heap; free(blob.data). */
struct blob {
    uint8_t *data;
    size_t size;
};

/* cmocka fixtures: *state is the path of a new folder, removed with the files in it afterwards. */
int folder_setup(void **state);
int folder_teardown(void **state);

/* IDX of the given type byte: header, then `payload` bytes 0, 1, 2, ... 250, 0, 1, ... */
struct blob blob_idx(uint8_t type, size_t ndim, const uint32_t *dims, size_t payload);
/* One gzip member of these bytes. */
struct blob blob_gzip(const uint8_t *data, size_t size);
/* a followed by b. */
struct blob blob_join(struct blob a, struct blob b);

/* folder/name, in a static buffer of the next call but two. */
const char *path_in(const char *folder, const char *name);
void write_file(const char *path, const void *data, size_t size);

/* A line of /proc/self/status in KiB: "VmPeak", "VmSize", "VmHWM", "VmRSS". */
size_t process_kib(const char *key);

#endif
