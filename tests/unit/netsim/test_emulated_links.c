/* Emulated links: messages queue for the channels of their path, and only for those. */
#include "netsim/links.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "support/check.h"

enum { MS = 1000000 };

static struct hr_wires open_wires(size_t nranks, const char *link, const char *topology,
                                  double slower)
{
    struct hr_wires wires;
    CHECK_OK(hr_wires_open(&wires, nranks, link, topology, slower));
    wires.free_at = calloc(1, hr_wires_bytes(&wires));
    assert_non_null(wires.free_at);
    return wires;
}

static void close_wires(struct hr_wires *wires)
{
    free(wires->free_at);
    hr_wires_close(wires);
}

/* What is sent arrives so long after it was, to half a millisecond; time goes on meanwhile. Returns
 * when. */
static int64_t expect_ms(const struct hr_wires *wires, size_t from, size_t to, size_t bytes,
                         int64_t ms)
{
    const int64_t before = hr_clock_ns();
    const int64_t arrives = (int64_t)hr_wires_send(wires, from, to, bytes);
    assert_in_range(arrives, before + ms * MS - MS / 2, hr_clock_ns() + ms * MS + MS / 2);
    return arrives;
}

/* So long behind another, to half a millisecond. */
static void expect_behind(const struct hr_wires *wires, size_t from, size_t to, size_t bytes,
                          int64_t arrived, int64_t ms)
{
    const int64_t arrives = (int64_t)hr_wires_send(wires, from, to, bytes);
    assert_in_range(arrives - arrived, ms * MS - MS / 2, ms * MS + MS / 2);
}

static void a_link_carries_one_message_at_a_time(void **state)
{
    (void)state;
    struct hr_wires wires = open_wires(3, "1MB/s,3ms", NULL, 1);
    const int64_t arrived = expect_ms(&wires, 0, 1, 100000, 103);
    expect_behind(&wires, 0, 1, 100000, arrived, 100); /* latencies overlap */
    expect_ms(&wires, 0, 2, 100000, 103);              /* a link of its own */
    expect_ms(&wires, 1, 0, 100000, 103);              /* the other way too */
    expect_ms(&wires, 2, 1, 0, 3);
    close_wires(&wires);
}

static void bandwidth_is_divided(void **state)
{
    (void)state;
    struct hr_wires wires = open_wires(2, "10MB/s", NULL, 10);
    expect_ms(&wires, 0, 1, 100000, 100);
    close_wires(&wires);
}

static void a_path_is_cut_through_and_held_whole(void **state)
{
    (void)state;
    struct hr_wires wires = open_wires(4, "1MB/s,1ms", "ring:4", 1);
    const int64_t arrived = expect_ms(&wires, 0, 2, 100000, 102); /* two links, at once */
    expect_ms(&wires, 3, 0, 100000, 101); /* the other direction of no link of that path */
    const bool by_one = wires.path[2].channel[0] == wires.path[1].channel[0];
    expect_behind(&wires, 0, by_one ? 1 : 3, 100000, arrived, 99); /* its first link is taken */
    close_wires(&wires);
}

static void a_shared_medium_is_taken_once(void **state)
{
    (void)state;
    struct hr_wires wires = open_wires(4, NULL, "data/topologies/pcie-4.txt", 16000);
    const int64_t arrived = expect_ms(&wires, 0, 1, 100000, 100); /* 16 GB/s / 16000 */
    for (size_t to = 2; to < 4; to++)
        expect_behind(&wires, 0, to, 100000, arrived, 100 * (int64_t)(to - 1));
    close_wires(&wires);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct hr_wires wires;
    CHECK_FAILS(hr_wires_open(&wires, 2, "fast", NULL, 1), HR_E_USAGE);
    CHECK_MESSAGE("--link fast");
    CHECK_FAILS(hr_wires_open(&wires, 5, NULL, "ring:4", 1), HR_E_USAGE);
    CHECK_MESSAGE("--topology has 4 ranks, and 5 are to run");
    CHECK_FAILS(hr_wires_open(&wires, 64, NULL, "ring:64", 1), HR_E_USAGE);
    CHECK_MESSAGE("paths of at most 16 links");
    CHECK_FAILS(hr_wires_open(&wires, 2, NULL, "nowhere.txt", 1), HR_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_carries_one_message_at_a_time),
        cmocka_unit_test(bandwidth_is_divided),
        cmocka_unit_test(a_path_is_cut_through_and_held_whole),
        cmocka_unit_test(a_shared_medium_is_taken_once),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
