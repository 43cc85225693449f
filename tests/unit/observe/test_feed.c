/* Records come whole, all of them, in the order of their rank: from threads and processes, through
 * rings that are full, and from ranks that die. */
#include "observe/feed.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/ranks.h"

enum { RANKS = 3, SLOTS = 4, RECORDS = 3000 };

/* A feed in a segment of its own, and what came of it. */
struct watched {
    struct hr_segment segment;
    struct hr_feed feed;
    uint64_t n[RANKS], wrong;
    uint64_t dies_at; /* rank 1's record at which it kills itself; 0: none */
    bool deaf;        /* the launcher drains nothing */
};

static void open_feed(struct watched *watched, struct ranks *ranks)
{
    CHECK_OK(hr_segment_create(hr_feed_bytes(RANKS, SLOTS), false, &watched->segment));
    watched->feed.nranks = RANKS;
    watched->feed.slots = SLOTS;
    watched->feed.launcher = &ranks->control->launcher_bell;
    hr_feed_init(&watched->feed, watched->segment.base);
    ranks->arg = watched;
}

/* The k-th of a rank: each field tells which. */
static struct hr_span_record record_of(size_t rank, uint64_t k)
{
    return (struct hr_span_record){.step = k,
                                   .kind = HR_RECORD_SPAN,
                                   .what = (uint32_t)rank,
                                   .begin_ns = (int64_t)(k * 3),
                                   .end_ns = (int64_t)(k * 5),
                                   .peer = HR_NO_PEER,
                                   .note = {k, ~k, k ^ rank}};
}

static bool take(void *arg, size_t rank, const struct hr_message *message)
{
    struct watched *watched = arg;
    const struct hr_span_record want = record_of(rank, watched->n[rank]++);
    watched->wrong += memcmp(&want, message, sizeof want) != 0;
    return true;
}

static enum hr_status drain(struct ranks *ranks)
{
    struct watched *watched = ranks->arg;
    if (!watched->deaf)
        hr_feed_drain(&watched->feed, take, watched);
    return HR_OK;
}

static enum hr_status tell_all(struct rank *me)
{
    const struct watched *watched = me->ranks->arg;
    for (uint64_t k = 0; k < RECORDS; k++) {
        const struct hr_span_record record = record_of(me->rank, k);
        if (watched->dies_at && me->rank == 1 && k == watched->dies_at)
            kill(getpid(), SIGKILL);
        HR_TRY(hr_feed_put(&watched->feed, me->rank, &me->waiter, &record));
    }
    return HR_OK;
}

static enum hr_status run(struct watched *watched, struct ranks *ranks)
{
    ranks->nranks = RANKS;
    ranks->bare = true;
    ranks->body = tell_all;
    ranks->tick = drain;
    ranks_open(ranks);
    open_feed(watched, ranks);
    const enum hr_status status = ranks_run(ranks);
    if (!watched->deaf)
        hr_feed_drain(&watched->feed, take, watched);
    ranks_close(ranks);
    hr_segment_destroy(&watched->segment);
    return status;
}

static void all_records_come_in_order(void **state)
{
    (void)state;
    for (int launch = HR_LAUNCH_THREAD; launch <= HR_LAUNCH_PROCESS; launch++) {
        struct watched watched = {.wrong = 0};
        struct ranks ranks = {.launch = (enum hr_launch)launch};
        CHECK_OK(run(&watched, &ranks));
        assert_int_equal(watched.wrong, 0);
        for (size_t r = 0; r < RANKS; r++)
            assert_int_equal(watched.n[r], RECORDS);
    }
}

static void a_killed_rank_leaves_whole_records(void **state)
{
    (void)state;
    struct watched watched = {.dies_at = 1001};
    struct ranks ranks = {.launch = HR_LAUNCH_PROCESS};
    CHECK_FAILS(run(&watched, &ranks), HR_E_LOST);
    assert_int_equal(watched.n[1], watched.dies_at);
    assert_int_equal(watched.wrong, 0);
}

static void who_waits_for_a_deaf_launcher_says_so(void **state)
{
    (void)state;
    struct watched watched = {.deaf = true};
    struct ranks ranks = {.timeout_ns = HR_NS_PER_SECOND / 20};
    CHECK_FAILS(run(&watched, &ranks), HR_E_TIMEOUT);
    CHECK_MESSAGE("for the writer of the log (--timeout)");
}

/* One thread puts and drains. */
static void drain_here(void *arg)
{
    struct watched *watched = arg;
    hr_feed_drain(&watched->feed, take, watched);
}

static void who_plays_all_ranks_makes_room_itself(void **state)
{
    (void)state;
    struct hr_bell nobody = {.word = {0}};
    struct watched watched = {.feed = {.nranks = RANKS, .slots = SLOTS, .launcher = &nobody}};
    watched.feed.make_room = drain_here;
    watched.feed.arg = &watched;
    void *memory = aligned_alloc(HR_LINE, hr_feed_bytes(RANKS, SLOTS));
    assert_non_null(memory);
    memset(memory, 0, hr_feed_bytes(RANKS, SLOTS));
    hr_feed_init(&watched.feed, memory);
    for (uint64_t k = 0; k < 9; k++) {
        const struct hr_span_record record = record_of(2, k);
        CHECK_OK(hr_feed_put(&watched.feed, 2, NULL, &record));
    }
    assert_int_equal(watched.n[2], 8);
    hr_feed_drain(&watched.feed, take, &watched);
    assert_int_equal(watched.n[2], 9);
    assert_int_equal(watched.wrong, 0);
    free(memory);
}

static void a_step_keeps_its_four_times(void **state)
{
    (void)state;
    const int64_t times[] = {0, 1, 65535, 65536, (1LL << 48) - 1, 1LL << 48, -5};
    const int64_t want[] = {0, 1, 65535, 65536, (1LL << 48) - 1, (1LL << 48) - 1, 0};
    struct hr_step_record record = {.index = 7};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        for (int a = 0; a < HR_ACTIVITIES; a++) {
            hr_record_spend(&record, (enum hr_activity)a, times[i]);
            hr_record_spend(&record, (enum hr_activity)((a + 1) % HR_ACTIVITIES), 12345);
            assert_int_equal(hr_record_spent_ns(&record, (enum hr_activity)a), want[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_records_come_in_order),
        cmocka_unit_test(a_killed_rank_leaves_whole_records),
        cmocka_unit_test(who_waits_for_a_deaf_launcher_says_so),
        cmocka_unit_test(who_plays_all_ranks_makes_room_itself),
        cmocka_unit_test(a_step_keeps_its_four_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
