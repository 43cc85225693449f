/* What is asked for ahead comes into memory, and nothing else changes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/ahead.h"
#include "data/format.h"
#include "support/runs.h"

enum { SAMPLES = 20000, SAMPLE = 1000, PAGE = 4096 };

/* A data set whose training samples are a mapped file of 20 MB. */
struct place {
    char path[64];
    int fd;
    struct hr_storage storage;
    struct hr_dataset dataset;
};

static void open_place(struct place *at)
{
    static uint8_t sample[SAMPLE];
    *at = (struct place){.path = "/var/tmp/hogring-ahead-XXXXXX"};
    at->fd = mkstemp(at->path);
    assert_true(at->fd >= 0);
    for (int i = 0; i < SAMPLES; i++)
        assert_int_equal(write(at->fd, sample, sizeof sample), sizeof sample);
    assert_int_equal(fsync(at->fd), 0);
    void *map = mmap(NULL, SAMPLES * SAMPLE, PROT_READ, MAP_PRIVATE, at->fd, 0);
    assert_true(map != MAP_FAILED);
    at->storage.train = (struct hr_table){.count = SAMPLES,
                                          .shape = {1, 10, 100},
                                          .pixels = map,
                                          .map = map,
                                          .map_bytes = SAMPLES * SAMPLE};
    at->dataset = (struct hr_dataset){.shape = {1, 10, 100},
                                      .storage = &at->storage,
                                      .train = hr_table_split(&at->storage.train)};
}

static void close_place(struct place *at)
{
    hr_table_free(&at->storage.train);
    close(at->fd);
    unlink(at->path);
}

/* Pages of samples [first, first + count) that are in memory, of all of them. */
static double share_in_memory(const struct place *at, size_t first, size_t count)
{
    static unsigned char in[SAMPLES * SAMPLE / PAGE + 2];
    const size_t begin = first * SAMPLE / PAGE, end = ((first + count) * SAMPLE + PAGE - 1) / PAGE;
    size_t n = 0;
    assert_int_equal(
        mincore((char *)at->storage.train.map + begin * PAGE, (end - begin) * PAGE, in), 0);
    for (size_t i = 0; i < end - begin; i++)
        n += in[i] & 1;
    return (double)n / (double)(end - begin);
}

/* What is still being read stays for a moment; and not every file system forgets. */
static bool forget(const struct place *at)
{
    for (int i = 0; i < 100; i++) {
        madvise(at->storage.train.map, SAMPLES * SAMPLE, MADV_DONTNEED);
        posix_fadvise(at->fd, 0, 0, POSIX_FADV_DONTNEED);
        if (share_in_memory(at, 0, SAMPLES) < 0.01)
            return true;
        usleep(10000);
    }
    return false;
}

/* The kernel reads beside us, as fast as the disk is. */
static bool comes(const struct place *at, size_t first, size_t count)
{
    for (int i = 0; i < 6000 && share_in_memory(at, first, count) < 1; i++)
        usleep(10000);
    return share_in_memory(at, first, count) == 1;
}

static void samples_that_are_asked_for_come(void **state)
{
    (void)state;
    struct place at;
    open_place(&at);
    const struct hr_split *train = &at.dataset.train;
    assert_true(hr_ahead_may_ask(&at.dataset));
    if (forget(&at)) {
        errno = EDOM;
        for (size_t i = 5000; i < 10000; i += 50) /* as batches do */
            hr_ahead_ask(&at.dataset, train, i, 50, i == 5000);
        assert_int_equal(errno, EDOM);
        assert_true(comes(&at, 5000, 5000));
        assert_true(share_in_memory(&at, 0, 4000) < 0.5);
        assert_true(forget(&at));
        hr_ahead_ask(&at.dataset, train, SAMPLES - 100, 200, true); /* round the end */
        assert_true(comes(&at, SAMPLES - 100, 100) && comes(&at, 0, 100));
        assert_true(forget(&at));
        hr_ahead_expect_scattered(&at.dataset);
        hr_ahead_ask_one(&at.dataset, train, 7777);
        assert_true(comes(&at, 7777, 1));
        assert_true(share_in_memory(&at, 0, SAMPLES) < 0.01);
    }
    close_place(&at);
}

static void data_in_memory_are_not_asked_for(void **state)
{
    (void)state;
    const struct hr_dataset *digits = run_digits();
    const struct hr_dataset none = {.train = {.count = 1}};
    assert_false(hr_ahead_may_ask(digits));
    assert_false(hr_ahead_may_ask(&none));
    hr_ahead_ask(&none, &none.train, 0, 1, true);
    hr_ahead_ask_one(&none, &none.train, 0);
    hr_ahead_expect_scattered(&none);
    assert_false(hr_ahead_is_too_large(&none));
}

int main(void)
{
    setenv("TMPDIR", "/var/tmp", 1); /* files that are in memory are always there */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_that_are_asked_for_come),
        cmocka_unit_test(data_in_memory_are_not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
