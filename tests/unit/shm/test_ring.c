/* Rings: order by sequence numbers, edges, and indices that wrap. */
#include "shm/ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/wait.h"
#include "support/check.h"

enum { SLOTS = 8, PLACES = 3 };

_Static_assert(alignof(struct hr_ring) == HR_LINE, "a ring begins on a line");
_Static_assert(sizeof(struct hr_ring) == 3 * HR_LINE, "two lines of indices, one of constants");
_Static_assert(offsetof(struct hr_ring, head_seen) < HR_LINE, "the producer's copy on its line");
_Static_assert(offsetof(struct hr_ring, tail_seen) > HR_LINE, "the consumer's copy on its line");
_Static_assert(offsetof(struct hr_ring, tail_seen) < 2 * HR_LINE, "and not further on");
_Static_assert(offsetof(struct hr_ring, mask) == 2 * HR_LINE, "what both read is on a third line");

/* Where indices start: plainly, and so that they wrap at once, in the middle of a lap, and late. */
static const uint64_t starts[] = {0, UINT64_MAX, UINT64_MAX - 2, UINT64_MAX - SLOTS,
                                  UINT64_MAX - 1000};

enum { STARTS = sizeof starts / sizeof *starts };

static struct hr_ring *ring_create(size_t slots, uint64_t start)
{
    struct hr_ring *ring = aligned_alloc(HR_LINE, hr_ring_bytes(slots));
    assert_non_null(ring);
    memset((void *)ring, 0xa5, hr_ring_bytes(slots));
    hr_ring_init(ring, slots, start);
    return ring;
}

/* The payload of message k: each word tells k, so that torn or stale slots are seen. */
static struct hr_message message_of(uint64_t k)
{
    struct hr_message message = {.sequence = k, .kind = (uint32_t)k ^ 0x55, .from = 7};
    for (uint64_t w = 0; w < 6; w++)
        message.word[w] = k * 0x9e3779b97f4a7c15u + w;
    return message;
}

static bool try_send(struct hr_ring *ring, uint64_t k)
{
    struct hr_message *slot = hr_ring_try_reserve_spsc(ring);
    if (!slot)
        return false;
    *slot = message_of(k);
    hr_ring_commit_spsc(ring);
    return true;
}

/* Takes the next message; *wrong grows when it is not message k. */
static bool try_take(struct hr_ring *ring, uint64_t k, uint64_t *wrong)
{
    const struct hr_message *message = hr_ring_peek_spsc(ring);
    if (!message)
        return false;
    const struct hr_message want = message_of(k);
    *wrong += memcmp(message, &want, sizeof want) != 0;
    hr_ring_release_spsc(ring);
    return true;
}

static void ring_bytes_hold_header_and_slots(void **state)
{
    (void)state;
    for (size_t slots = 1; slots <= 64; slots *= 2) {
        assert_true(hr_ring_bytes(slots) >= 3 * HR_LINE + 64 * slots);
        assert_int_equal(hr_ring_bytes(slots) % HR_LINE, 0);
    }
}

static void ring_takes_all_its_slots_and_no_more(void **state)
{
    (void)state;
    uint64_t wrong = 0;
    for (size_t slots = 1; slots <= 16; slots *= 2)
        for (size_t s = 0; s < STARTS; s++) {
            struct hr_ring *ring = ring_create(slots, starts[s]);
            assert_null(hr_ring_peek_spsc(ring));
            for (uint64_t k = 0; k < slots; k++)
                assert_true(try_send(ring, k));
            assert_null(hr_ring_try_reserve_spsc(ring));
            assert_true(try_take(ring, 0, &wrong));
            assert_true(try_send(ring, slots)); /* one was released: one fits */
            assert_null(hr_ring_try_reserve_spsc(ring));
            for (uint64_t k = 1; k <= slots; k++)
                assert_true(try_take(ring, k, &wrong));
            assert_null(hr_ring_peek_spsc(ring));
            assert_int_equal(wrong, 0);
            free(ring);
        }
}

static void ring_keeps_order_when_indices_wrap(void **state)
{
    (void)state;
    for (size_t s = 0; s < STARTS; s++) {
        struct hr_ring *ring = ring_create(SLOTS, starts[s]);
        uint64_t sent = 0, taken = 0, wrong = 0;
        for (uint64_t burst = 0; sent < 5000; burst++) {
            for (uint64_t k = 0; k <= burst % (SLOTS + 1) && try_send(ring, sent); k++)
                sent++;
            for (uint64_t k = 0; k <= burst % 5 && try_take(ring, taken, &wrong); k++)
                taken++;
        }
        while (try_take(ring, taken, &wrong))
            taken++;
        assert_int_equal(taken, sent);
        assert_int_equal(wrong, 0);
        free(ring);
    }
}

static void reserve_and_peek_change_nothing(void **state)
{
    (void)state;
    struct hr_ring *ring = ring_create(SLOTS, UINT64_MAX);
    struct hr_message *slot = hr_ring_try_reserve_spsc(ring);
    assert_ptr_equal(hr_ring_try_reserve_spsc(ring), slot);
    assert_null(hr_ring_peek_spsc(ring)); /* reserved is not sent */
    hr_ring_commit_spsc(ring);
    assert_ptr_equal(hr_ring_peek_spsc(ring), slot);
    assert_ptr_equal(hr_ring_peek_spsc(ring), slot);
    free(ring);
}

/* Released or not, and dropped or not, it is there for who knows that the producer is dead. */
static void the_newest_is_what_was_committed_last(void **state)
{
    (void)state;
    struct hr_ring *ring = ring_create(SLOTS, 0);
    uint64_t wrong = 0;
    assert_null(hr_ring_newest_spsc(ring));
    for (uint64_t k = 0; k < 3 * SLOTS; k++) {
        assert_true(try_send(ring, k));
        assert_non_null(hr_ring_try_reserve_spsc(ring)); /* reserved is not sent */
        assert_int_equal(hr_ring_newest_spsc(ring)->sequence, k);
        assert_true(k % 2 || try_take(ring, hr_ring_taken_spsc(ring), &wrong));
        if (k % SLOTS == SLOTS - 1) {
            hr_ring_drop_spsc(ring);
            assert_null(hr_ring_peek_spsc(ring));
            assert_int_equal(hr_ring_taken_spsc(ring), k + 1);
            assert_int_equal(hr_ring_newest_spsc(ring)->sequence, k);
        }
    }
    hr_ring_drop_spsc(ring); /* harmless */
    assert_true(hr_ring_drained_spsc(ring));
    assert_int_equal(wrong, 0);
    free(ring);
}

static void drained_is_true_when_all_was_released(void **state)
{
    (void)state;
    uint64_t wrong = 0;
    for (size_t s = 0; s < STARTS; s++) {
        struct hr_ring *ring = ring_create(SLOTS, starts[s]);
        assert_true(hr_ring_drained_spsc(ring));
        for (uint64_t k = 0; k < 3; k++)
            assert_true(try_send(ring, k));
        for (uint64_t k = 0; k < 3; k++) {
            assert_non_null(hr_ring_peek_spsc(ring)); /* seen, but not released */
            assert_false(hr_ring_drained_spsc(ring));
            assert_true(try_take(ring, k, &wrong));
        }
        assert_true(hr_ring_drained_spsc(ring));
        free(ring);
    }
}

/* Send messages k ... in runs of at most `most`; how many went. */
static size_t send_run(struct hr_ring *ring, uint64_t k, size_t most)
{
    struct hr_message *slot;
    const size_t run = hr_ring_try_reserve_run_spsc(ring, most, &slot);
    for (size_t i = 0; i < run; i++)
        slot[i] = message_of(k + i);
    hr_ring_commit_run_spsc(ring, run);
    return run;
}

static size_t take_run(struct hr_ring *ring, uint64_t k, size_t most, uint64_t *wrong)
{
    const struct hr_message *message;
    const size_t run = hr_ring_peek_run_spsc(ring, most, &message);
    for (size_t i = 0; i < run; i++) {
        const struct hr_message want = message_of(k + i);
        *wrong += memcmp(&message[i], &want, sizeof want) != 0;
    }
    hr_ring_release_run_spsc(ring, run);
    return run;
}

static void runs_end_where_the_slots_do_and_where_others_begin(void **state)
{
    (void)state;
    uint64_t wrong = 0;
    struct hr_ring *ring = ring_create(SLOTS, 3);
    assert_int_equal(take_run(ring, 0, SLOTS, &wrong), 0);
    assert_int_equal(send_run(ring, 0, 2), 2);
    assert_int_equal(send_run(ring, 2, SLOTS), SLOTS - 5); /* slot 5 to the last */
    assert_int_equal(send_run(ring, SLOTS - 3, SLOTS), 3); /* those before slot 3 */
    assert_int_equal(send_run(ring, SLOTS, SLOTS), 0);
    assert_null(hr_ring_try_reserve_spsc(ring));
    assert_int_equal(take_run(ring, 0, 0, &wrong), 0);
    assert_int_equal(take_run(ring, 0, 1, &wrong), 1);
    assert_int_equal(send_run(ring, SLOTS, SLOTS), 1);
    assert_int_equal(take_run(ring, 1, SLOTS, &wrong), SLOTS - 4);
    assert_int_equal(take_run(ring, SLOTS - 3, 2, &wrong), 2);
    assert_true(try_take(ring, SLOTS - 1, &wrong)); /* singly */
    assert_int_equal(take_run(ring, SLOTS, SLOTS, &wrong), 1);
    assert_int_equal(take_run(ring, SLOTS + 1, SLOTS, &wrong), 0);
    assert_true(hr_ring_drained_spsc(ring));
    assert_int_equal(wrong, 0);
    free(ring);
}

/* --- threads ---------------------------------------------------------------------------------- */

struct lane {
    struct hr_ring *in, *out;
    uint64_t messages, wrong;
    unsigned misses;
};

/* Nothing to do yet: spin, then sleep, since threads may have to share a busy processor. */
static void back_off(struct lane *lane)
{
    if (++lane->misses % 200)
        hr_cpu_relax();
    else
        nanosleep(&(struct timespec){0, 20000}, NULL);
}

static void *produce(void *arg)
{
    struct lane *lane = arg;
    for (uint64_t k = 0; k < lane->messages; k++)
        while (!try_send(lane->out, k))
            back_off(lane);
    while (!hr_ring_drained_spsc(lane->out))
        back_off(lane);
    return NULL;
}

static void *consume(void *arg)
{
    struct lane *lane = arg;
    for (uint64_t k = 0; k < lane->messages; k++)
        while (!try_take(lane->in, k, &lane->wrong))
            back_off(lane);
    return NULL;
}

static void two_threads_pass_every_message_in_order(void **state)
{
    (void)state;
    struct hr_ring *ring = ring_create(64, UINT64_MAX - 500);
    struct lane producer = {.out = ring, .messages = check_count(1000000, 10000000)};
    struct lane consumer = {.in = ring, .messages = producer.messages};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, &producer), 0);
    consume(&consumer);
    pthread_join(thread, NULL);
    assert_int_equal(consumer.wrong, 0);
    assert_null(hr_ring_peek_spsc(ring)); /* nothing came twice */
    free(ring);
}

static void *produce_runs(void *arg)
{
    struct lane *lane = arg;
    for (uint64_t k = 0, sent; k < lane->messages; k += sent) {
        const uint64_t left = lane->messages - k, most = 1 + k % 40;
        sent = send_run(lane->out, k, (size_t)(left < most ? left : most));
        if (!sent)
            back_off(lane);
    }
    return NULL;
}

static void two_threads_pass_runs_in_order(void **state)
{
    (void)state;
    struct hr_ring *ring = ring_create(64, UINT64_MAX - 500);
    struct lane producer = {.out = ring, .messages = check_count(1000000, 10000000)};
    struct lane consumer = {.in = ring};
    uint64_t taken = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce_runs, &producer), 0);
    while (taken < producer.messages) {
        const size_t run = take_run(ring, taken, 1 + taken % 23, &consumer.wrong);
        taken += run;
        if (!run)
            back_off(&consumer);
    }
    pthread_join(thread, NULL);
    assert_int_equal(taken, producer.messages);
    assert_int_equal(consumer.wrong, 0);
    assert_true(hr_ring_drained_spsc(ring));
    free(ring);
}

/* One place of the circle: whatever comes from the left goes on to the right. */
static void *pass_on(void *arg)
{
    struct lane *lane = arg;
    for (uint64_t k = 0; k < lane->messages; k++) {
        while (!try_take(lane->in, k, &lane->wrong))
            back_off(lane);
        while (!try_send(lane->out, k))
            back_off(lane);
    }
    return NULL;
}

/* As in Concurrency Kit's validator: a circle of threads, one ring per neighbour. This thread is
 * the first place, which puts new messages in and checks what has gone round. */
static void messages_go_round_a_circle_of_three(void **state)
{
    (void)state;
    const uint64_t messages = check_count(20000, 200000);
    struct hr_ring *ring[PLACES];
    struct lane lane[PLACES] = {0};
    pthread_t thread[PLACES];
    for (size_t p = 0; p < PLACES; p++)
        ring[p] = ring_create(SLOTS, UINT64_MAX - 100 * p);
    for (size_t p = 1; p < PLACES; p++) {
        lane[p] = (struct lane){ring[p - 1], ring[p], messages, 0, 0};
        assert_int_equal(pthread_create(&thread[p], NULL, pass_on, &lane[p]), 0);
    }
    for (uint64_t sent = 0, back = 0; back < messages;) {
        sent += sent < messages && try_send(ring[0], sent);
        if (try_take(ring[PLACES - 1], back, &lane[0].wrong))
            back++;
        else
            back_off(&lane[0]);
    }
    for (size_t p = 1; p < PLACES; p++)
        pthread_join(thread[p], NULL);
    for (size_t p = 0; p < PLACES; p++) {
        assert_int_equal(lane[p].wrong, 0);
        assert_true(hr_ring_drained_spsc(ring[p]));
        free(ring[p]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_bytes_hold_header_and_slots),
        cmocka_unit_test(ring_takes_all_its_slots_and_no_more),
        cmocka_unit_test(ring_keeps_order_when_indices_wrap),
        cmocka_unit_test(reserve_and_peek_change_nothing),
        cmocka_unit_test(the_newest_is_what_was_committed_last),
        cmocka_unit_test(drained_is_true_when_all_was_released),
        cmocka_unit_test(runs_end_where_the_slots_do_and_where_others_begin),
        cmocka_unit_test(two_threads_pass_every_message_in_order),
        cmocka_unit_test(two_threads_pass_runs_in_order),
        cmocka_unit_test(messages_go_round_a_circle_of_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
