/* Messages in virtual time: who leaves when, by hand, and for random messages over random links as
 * a twin has it that looks at all of them whenever something happens. */
#include "virtual/message_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"

static const int64_t MS = 1000000000; /* in ps */
static const uint64_t MB = 1000000;   /* passes in 1 ms at 1 GB/s */

static struct hr_topology topology;
static struct hr_message_queue queue;

static void wire_up(const char *text)
{
    CHECK_OK(hr_topology_parse("t", text, &topology));
    CHECK_OK(hr_message_queue_open(&queue, &topology, 0));
}

static int take_down(void **state)
{
    (void)state;
    hr_message_queue_close(&queue);
    hr_topology_fini(&topology);
    return 0;
}

/* Ranks 0 to 3, each with a link of its own. */
static const char star[] =
    "gpu a b c d\nnode s\nlink a s 1GB/s\nlink b s 1GB/s\nlink c s 1GB/s\nlink d s 1GB/s\n";

static void post(size_t from, size_t to, uint64_t bytes, uint64_t tag)
{
    const struct hr_parcel parcel = {.from = from, .to = to, .bytes = bytes, .tag = tag};
    CHECK_OK(hr_message_queue_post(&queue, &parcel));
}

/* The message of this tag leaves now, and is through at free_ps. */
static void leaves(uint64_t tag, int64_t now_ps, int64_t free_ps)
{
    struct hr_departure departure;
    CHECK_OK(hr_message_queue_depart(&queue, now_ps, &departure));
    assert_true(departure.left);
    assert_int_equal(departure.tag, tag);
    assert_int_equal(departure.passage.start_ps, now_ps);
    assert_int_equal(departure.passage.free_ps, free_ps);
}

static void nobody_leaves(int64_t now_ps)
{
    struct hr_departure departure;
    CHECK_OK(hr_message_queue_depart(&queue, now_ps, &departure));
    assert_false(departure.left);
}

/* --- by hand --- */

static void a_message_to_an_idle_server_overtakes_one_to_a_busy_server(void **state)
{
    (void)state;
    wire_up(star);
    post(1, 2, 5 * MB, 10);
    leaves(10, 0, 5 * MS);
    post(0, 2, 1 * MB, 11);
    nobody_leaves(0);
    post(0, 3, 2 * MB, 12);
    leaves(12, 0, 2 * MS);
    nobody_leaves(2 * MS);
    leaves(11, 5 * MS, 6 * MS);
    nobody_leaves(6 * MS);
}

static void between_two_ranks_first_posted_is_first_to_leave(void **state)
{
    (void)state;
    wire_up(star);
    for (uint64_t i = 0; i < 200; i++) /* more than there is room for at first */
        post(0, 1, MB * (i % 3), i);
    int64_t now_ps = 0;
    for (uint64_t i = 0; i < 200; i++) {
        leaves(i, now_ps, now_ps + MS * (int64_t)(i % 3));
        now_ps += MS * (int64_t)(i % 3);
    }
    nobody_leaves(now_ps);
}

static void one_that_waits_for_two_links_is_not_passed_over_when_both_are_free_at_once(void **state)
{
    (void)state;
    wire_up(star);
    post(0, 2, 3 * MB, 0);
    post(1, 3, 3 * MB, 1);
    post(1, 2, 1 * MB, 2); /* for the first one's end and the second one's begin */
    post(0, 2, 1 * MB, 3);
    leaves(0, 0, 3 * MS);
    leaves(1, 0, 3 * MS);
    nobody_leaves(0);
    leaves(2, 3 * MS, 4 * MS);
    nobody_leaves(3 * MS);
    leaves(3, 4 * MS, 5 * MS);
}

static void a_link_is_not_kept_for_one_that_waits_for_another_one_too(void **state)
{
    (void)state;
    wire_up(star);
    post(0, 2, 2 * MB, 0);
    post(1, 3, 3 * MB, 1);
    post(1, 2, 1 * MB, 2); /* c is free before b is */
    post(0, 2, 2 * MB, 3);
    leaves(0, 0, 2 * MS);
    leaves(1, 0, 3 * MS);
    nobody_leaves(0);
    leaves(3, 2 * MS, 4 * MS);
    nobody_leaves(3 * MS);
    leaves(2, 4 * MS, 5 * MS);
}

static void one_posted_at_the_moment_at_which_a_link_is_free_stands_behind_those_that_wait(void **s)
{
    (void)s;
    wire_up(star);
    post(0, 2, 1 * MB, 0);
    leaves(0, 0, 1 * MS);
    post(1, 2, 1 * MB, 1);
    nobody_leaves(0);
    post(3, 2, 1 * MB, 2);
    leaves(1, 1 * MS, 2 * MS);
    nobody_leaves(1 * MS);
    leaves(2, 2 * MS, 3 * MS);
}

static void a_shared_medium_lets_one_pass_at_a_time_either_way(void **state)
{
    (void)state;
    wire_up("gpu a b c\nnode s\nlink a s 1GB/s shared m\nlink s b 1GB/s shared m\n"
            "link c s 1GB/s\n");
    post(0, 2, 1 * MB, 0);
    leaves(0, 0, 1 * MS);
    post(2, 1, 1 * MB, 1);
    post(1, 0, 1 * MB, 2);
    nobody_leaves(0);
    leaves(1, 1 * MS, 2 * MS);
    nobody_leaves(1 * MS);
    leaves(2, 2 * MS, 3 * MS);
}

static void without_links_everything_leaves_and_arrives_at_once(void **state)
{
    (void)state;
    CHECK_OK(hr_message_queue_open(&queue, &topology, 0));
    for (uint64_t i = 0; i < 3; i++) {
        post(i, i + 1, UINT64_MAX, i);
        leaves(i, 7, 7);
    }
    nobody_leaves(7);
}

/* What has left keeps its link; of what waited nothing is left, and its places are free. */
static void what_has_not_left_may_be_dropped(void **state)
{
    (void)state;
    wire_up(star);
    post(0, 3, 4 * MB, 0);
    leaves(0, 0, 4 * MS);
    for (uint64_t i = 1; i <= 200; i++) /* more than there is room for at first */
        post(i % 3, 3, 1 * MB, i);
    nobody_leaves(0);
    hr_message_queue_drop(&queue);
    nobody_leaves(1 * MS);
    for (uint64_t i = 0; i < 100; i++)
        post(1, 3, 1 * MB, 1000 + i);
    nobody_leaves(1 * MS);
    for (int64_t i = 0; i < 100; i++)
        leaves(1000 + (uint64_t)i, (4 + i) * MS, (5 + i) * MS);
    nobody_leaves(200 * MS);
}

/* Rank c has a slow link. */
static void after_a_drop_others_may_sum(void **state)
{
    (void)state;
    static const uint16_t all[] = {0, 1, 2, 3}, fast[] = {0, 1, 3};
    const struct hr_local_group_sum sum = {.bytes = 3 * MB, .algorithm = &hr_allreduce_ring};
    const int64_t *moving_ps;
    int64_t of_all, of_fast, again;
    wire_up(
        "gpu a b c d\nnode s\nlink a s 1GB/s\nlink b s 1GB/s\nlink c s 1MB/s\nlink d s 1GB/s\n");
    CHECK_OK(hr_message_queue_all_reduce(&queue, &sum, all, 4, &of_all, &moving_ps));
    hr_message_queue_drop(&queue);
    CHECK_OK(hr_message_queue_all_reduce(&queue, &sum, fast, 3, &of_fast, &moving_ps));
    assert_true(of_fast < of_all / 100);
    for (size_t i = 0; i < 3; i++)
        assert_true(moving_ps[i] > 0 && moving_ps[i] <= of_fast);
    CHECK_OK(hr_message_queue_all_reduce(&queue, &sum, fast, 3, &again, &moving_ps));
    assert_int_equal(again, of_fast);
}

/* Three blocks of 1 MB from each, and to each, over links of 1 GB/s; not the ring's time. */
static void blocks_have_the_time_of_their_own_plan(void **state)
{
    (void)state;
    static const uint16_t all[] = {0, 1, 2, 3};
    const struct hr_local_group_sum blocks = {.bytes = 4 * MB, .plan = hr_plan_all_gather},
                                    to_all = {.bytes = 4 * MB, .plan = hr_plan_all_to_all},
                                    sum = {.bytes = 4 * MB, .algorithm = &hr_allreduce_direct};
    const int64_t *moving_ps;
    int64_t gathered, exchanged, summed;
    wire_up(star);
    CHECK_OK(hr_message_queue_all_reduce(&queue, &sum, all, 4, &summed, &moving_ps));
    CHECK_OK(hr_message_queue_all_reduce(&queue, &blocks, all, 4, &gathered, &moving_ps));
    CHECK_OK(hr_message_queue_all_reduce(&queue, &to_all, all, 4, &exchanged, &moving_ps));
    assert_int_equal(gathered, 3 * MS);
    assert_int_equal(exchanged, 3 * MS);
    assert_true(summed > 5 * MS);
}

/* --- at random --- */

enum { MESSAGES = 80, FREED = MESSAGES }; /* what an event says: which is posted, or FREED */

/* All messages, and links of its own. */
struct twin {
    struct hr_links links;
    struct hr_parcel parcel[MESSAGES];
    bool left[MESSAGES];
    size_t order[MESSAGES]; /* numbers of messages, as they were posted */
    size_t nposted;
};

static uint32_t drawn(uint32_t run, uint32_t *count, uint32_t below)
{
    return hr_random_block(run, HR_STREAM_TEST, (*count)++, 0).v[0] % below;
}

/* A random tree of 2 to 6 ranks and some switches, with a few more links, and some of the links on
 * one of two media. Few bandwidths, so that much happens at the same moment. */
static void wire_at_random(uint32_t run, uint32_t *count)
{
    char text[2048];
    bool linked[10][10] = {{false}};
    const uint32_t ranks = 2 + drawn(run, count, 5), nodes = ranks + drawn(run, count, 4);
    const uint32_t links = nodes - 1 + drawn(run, count, 4);
    size_t at = 0;
    for (uint32_t i = 0; i < nodes; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s n%u\n", i < ranks ? "gpu" : "node",
                               i);
    for (uint32_t i = 0; i < links; i++) {
        static const char *const medium[] = {"", "", "", " shared m", " shared p"};
        const uint32_t b = i + 1 < nodes ? i + 1 : 1 + drawn(run, count, nodes - 1);
        const uint32_t a = drawn(run, count, b);
        if (linked[a][b])
            continue;
        linked[a][b] = true;
        at += (size_t)snprintf(text + at, sizeof text - at, "link n%u n%u %uGB/s 1us%s\n", a, b,
                               1 + drawn(run, count, 2), medium[drawn(run, count, 5)]);
    }
    assert_true(at < sizeof text);
    wire_up(text);
}

static void draw_messages(struct twin *twin, uint32_t run, uint32_t *count,
                          struct hr_events *events)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        twin->parcel[i] = (struct hr_parcel){.from = drawn(run, count, (uint32_t)topology.nranks),
                                             .to = drawn(run, count, (uint32_t)topology.nranks),
                                             .bytes = MB * drawn(run, count, 4),
                                             .tag = i};
        CHECK_OK(hr_events_push(events, MS / 2 * drawn(run, count, 60), i));
    }
}

/* Send it if it can start now; nothing is changed if not. */
static bool try_to_send(struct twin *twin, const struct hr_parcel *parcel, int64_t now_ps,
                        struct hr_passage *passage)
{
    struct hr_links *links = &twin->links;
    const size_t bytes = links->nchannels * sizeof *links->channel;
    struct hr_channel *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, links->channel, bytes);
    *passage = hr_links_send(links, topology.rank_node[parcel->from],
                             topology.rank_node[parcel->to], now_ps, parcel->bytes);
    if (passage->start_ps > now_ps)
        memcpy(links->channel, before, bytes);
    free(before);
    return passage->start_ps == now_ps;
}

/* Everybody who can leaves, in order of posting, of the network as of the twin. */
static void all_leave(struct twin *twin, int64_t now_ps, struct hr_events *events)
{
    for (size_t i = 0; i < twin->nposted; i++) {
        const size_t number = twin->order[i];
        struct hr_passage want;
        struct hr_departure got;
        if (twin->left[number] || !try_to_send(twin, &twin->parcel[number], now_ps, &want))
            continue;
        twin->left[number] = true;
        CHECK_OK(hr_message_queue_depart(&queue, now_ps, &got));
        assert_true(got.left);
        assert_int_equal(got.tag, number);
        assert_memory_equal(&got.passage, &want, sizeof want);
        CHECK_OK(hr_events_push(events, want.free_ps, FREED));
    }
    nobody_leaves(now_ps);
}

static void messages_leave_as_they_do_when_all_are_looked_at_every_time(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 300; run++) {
        struct twin twin = {0};
        struct hr_events events = {0};
        uint32_t count = 0;
        int64_t now_ps;
        uint64_t what;
        wire_at_random(run, &count);
        CHECK_OK(hr_links_init(&twin.links, &topology));
        draw_messages(&twin, run, &count, &events);
        while (hr_events_pop(&events, &now_ps, &what)) {
            if (what != FREED) {
                twin.order[twin.nposted++] = what;
                CHECK_OK(hr_message_queue_post(&queue, &twin.parcel[what]));
            }
            all_leave(&twin, now_ps, &events);
        }
        for (size_t i = 0; i < MESSAGES; i++)
            assert_true(twin.left[i]);
        hr_events_fini(&events);
        hr_links_fini(&twin.links);
        take_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_message_to_an_idle_server_overtakes_one_to_a_busy_server,
                                  take_down),
        cmocka_unit_test_teardown(between_two_ranks_first_posted_is_first_to_leave, take_down),
        cmocka_unit_test_teardown(
            one_that_waits_for_two_links_is_not_passed_over_when_both_are_free_at_once, take_down),
        cmocka_unit_test_teardown(a_link_is_not_kept_for_one_that_waits_for_another_one_too,
                                  take_down),
        cmocka_unit_test_teardown(
            one_posted_at_the_moment_at_which_a_link_is_free_stands_behind_those_that_wait,
            take_down),
        cmocka_unit_test_teardown(a_shared_medium_lets_one_pass_at_a_time_either_way, take_down),
        cmocka_unit_test_teardown(without_links_everything_leaves_and_arrives_at_once, take_down),
        cmocka_unit_test_teardown(what_has_not_left_may_be_dropped, take_down),
        cmocka_unit_test_teardown(after_a_drop_others_may_sum, take_down),
        cmocka_unit_test_teardown(blocks_have_the_time_of_their_own_plan, take_down),
        cmocka_unit_test(messages_leave_as_they_do_when_all_are_looked_at_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
