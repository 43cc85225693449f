#include "support/idx_files.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "support/check.h"

int folder_setup(void **state)
{
    char template[] = "/tmp/hogring-test-XXXXXX";
    *state = mkdtemp(template) ? strdup(template) : NULL;
    return *state ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

int folder_teardown(void **state)
{
    const int failed = nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return failed;
}

struct blob blob_idx(uint8_t type, size_t ndim, const uint32_t *dims, size_t payload)
{
    const struct blob blob = {malloc(4 + 4 * ndim + payload), 4 + 4 * ndim + payload};
    memcpy(blob.data, (uint8_t[]){0, 0, type, (uint8_t)ndim}, 4);
    for (size_t i = 0; i < ndim; i++)
        for (size_t j = 0; j < 4; j++)
            blob.data[4 + 4 * i + j] = (uint8_t)(dims[i] >> (24 - 8 * j));
    for (size_t i = 0; i < payload; i++)
        blob.data[4 + 4 * ndim + i] = (uint8_t)(i % 251);
    return blob;
}

struct blob blob_gzip(const uint8_t *data, size_t size)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    const size_t bound = deflateBound(&z, size);
    struct blob blob = {malloc(bound), 0};
    z.next_in = (z_const Bytef *)data;
    z.avail_in = (uInt)size;
    z.next_out = blob.data;
    z.avail_out = (uInt)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    blob.size = z.total_out;
    deflateEnd(&z);
    return blob;
}

struct blob blob_join(struct blob a, struct blob b)
{
    const struct blob blob = {malloc(a.size + b.size + 1), a.size + b.size};
    memcpy(blob.data, a.data, a.size);
    memcpy(blob.data + a.size, b.data, b.size);
    return blob;
}

const char *path_in(const char *folder, const char *name)
{
    static char paths[3][512];
    static unsigned next;
    char *path = paths[next++ % 3];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

size_t process_kib(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    char line[256];
    size_t kib = 0;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            sscanf(line + strlen(key), ": %zu", &kib);
    fclose(file);
    assert_int_not_equal(kib, 0);
    return kib;
}
