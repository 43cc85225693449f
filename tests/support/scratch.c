#include "support/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

static char folder[256];
static int saved_stderr = -1;
static FILE *caught;

void scratch_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}

int scratch_setup(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/hogring-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info, (void)type, (void)ftw;
    return remove(path);
}

/* The test failed between begin and end: its reason is the last that was said. */
static void say_what_was_caught(void)
{
    char last[2048];
    const int file = dup(fileno(caught));
    scratch_stderr_end();
    const off_t size = lseek(file, 0, SEEK_END), from = size - (off_t)sizeof last;
    const ssize_t got = pread(file, last, sizeof last, from > 0 ? from : 0);
    fwrite(last, 1, got > 0 ? (size_t)got : 0, stderr);
    close(file);
}

int scratch_teardown(void **state)
{
    (void)state;
    if (caught)
        say_what_was_caught();
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch(const char *name)
{
    static char paths[8][512];
    static size_t next;
    char *path = paths[next++ % 8];
    assert_true(folder[0]); /* else who has no scratch_setup would write into the root */
    snprintf(path, sizeof *paths, *name ? "%s/%s" : "%s", folder, name);
    return path;
}

bool scratch_exists(const char *name)
{
    struct stat info;
    return lstat(scratch(name), &info) == 0;
}

size_t scratch_entries(const char *name)
{
    size_t count = 0;
    DIR *opened = opendir(scratch(name));
    assert_non_null(opened);
    while (readdir(opened))
        count++;
    closedir(opened);
    return count - 2;
}

void scratch_write(const char *name, const void *data, size_t bytes)
{
    const int fd = open(scratch(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
    close(fd);
}

unsigned char *scratch_read(const char *name, size_t *bytes)
{
    struct stat info;
    const int fd = open(scratch(name), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    *bytes = (size_t)info.st_size;
    unsigned char *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(read(fd, data, *bytes), (ssize_t)*bytes);
    close(fd);
    return data;
}

void scratch_flip(const char *name, size_t byte, unsigned bit)
{
    unsigned char value;
    const int fd = open(scratch(name), O_RDWR);
    assert_int_equal(pread(fd, &value, 1, (off_t)byte), 1);
    value ^= (unsigned char)(1u << bit);
    assert_int_equal(pwrite(fd, &value, 1, (off_t)byte), 1);
    close(fd);
}

void scratch_stderr_begin(void)
{
    fflush(stderr);
    caught = tmpfile();
    assert_non_null(caught);
    saved_stderr = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
}

const char *scratch_stderr_end(void)
{
    static char text[8192];
    fflush(stderr);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    const ssize_t got = pread(fileno(caught), text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = 0;
    fclose(caught);
    caught = NULL;
    return text;
}
