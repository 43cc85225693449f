/* Rings, words and messages between machines, moved by hand: nothing is lost, torn or overtaken. */
#include "machines/bridge.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/philox.h"
#include "base/size.h"
#include "support/check.h"
#include "support/wire_socket.h"

enum { MACHINES = 3, SEGMENT = 1 << 16, SLOTS = 4, BODY = 3000, BODIES = 1 << 15 };

/* A machine a rank. */
struct rig {
    struct wire_mesh mesh;
    struct hr_wire *wire[MACHINES];
    struct hr_control *control[MACHINES];
    unsigned char *segment[MACHINES];
    struct hr_bridge *bridge[MACHINES];
    size_t rings;
};

static void rig_open(struct rig *rig, uint32_t trouble)
{
    memset(rig, 0, sizeof *rig);
    wire_mesh_open(&rig->mesh, MACHINES);
    for (size_t m = 0; m < MACHINES; m++) {
        struct hr_bridge_options options = {.segment_bytes = SEGMENT,
                                            .part_bytes = trouble ? 700 : 0};
        const size_t bytes = hr_round_up(hr_control_bytes(MACHINES), HR_LINE);
        rig->segment[m] = aligned_alloc(HR_LINE, SEGMENT);
        rig->control[m] = aligned_alloc(HR_LINE, bytes);
        assert_true(rig->segment[m] && rig->control[m]);
        memset(rig->segment[m], 0, SEGMENT);
        memset(rig->control[m], 0, bytes);
        hr_control_init(rig->control[m], MACHINES);
        CHECK_OK(wire_socket_open(&rig->mesh, m, (uint32_t)check_seed(), trouble, &rig->wire[m]));
        hr_hosts_deal(&options.hosts, MACHINES, MACHINES, m);
        options.wire = rig->wire[m];
        options.control = rig->control[m];
        options.segment = rig->segment[m];
        CHECK_OK(hr_bridge_open(&options, &rig->bridge[m]));
    }
}

static void rig_close(struct rig *rig)
{
    for (size_t m = 0; m < MACHINES; m++) {
        assert_int_equal(hr_control_failure(rig->control[m]), HR_OK);
        hr_bridge_close(rig->bridge[m]);
    }
    for (size_t m = 0; m < MACHINES; m++) {
        hr_wire_close(rig->wire[m]);
        free(rig->segment[m]);
        free(rig->control[m]);
    }
    wire_mesh_close(&rig->mesh);
}

static void poll_all(struct rig *rig)
{
    for (size_t m = 0; m < MACHINES; m++)
        hr_bridge_poll(rig->bridge[m]);
}

static struct hr_ring *ring_on(const struct rig *rig, size_t m, size_t number)
{
    return (struct hr_ring *)(void *)(rig->segment[m] + number * 1024);
}

/* word[0]: where its bytes lie, word[1]: how many. */
static struct hr_cargo cargo_of(const void *arg, const struct hr_ring *ring,
                                const struct hr_message *message)
{
    (void)arg, (void)ring;
    return (struct hr_cargo){.offset = message->word[0], .bytes = message->word[1]};
}

static size_t add_ring(struct rig *rig, size_t from, size_t to)
{
    const size_t number = rig->rings++;
    assert_true(hr_ring_bytes(SLOTS) <= 1024);
    for (size_t m = 0; m < MACHINES; m++) {
        hr_ring_init(ring_on(rig, m, number), SLOTS, 0);
        CHECK_OK(
            hr_bridge_add_ring(rig->bridge[m], ring_on(rig, m, number), from, to, cargo_of, NULL));
    }
    return number;
}

static unsigned char byte_of(uint64_t sequence, size_t i)
{
    return (unsigned char)(sequence * 31 + i * 7);
}

/* From rank `from`, if the ring has room: `bytes` bytes at `offset`, as number `sequence` has. */
static bool push(struct rig *rig, size_t ring, size_t from, size_t to, uint64_t sequence,
                 size_t offset, size_t bytes)
{
    struct hr_message *slot = hr_ring_try_reserve_spsc(ring_on(rig, from, ring));
    if (!slot)
        return false;
    for (size_t i = 0; i < bytes; i++)
        rig->segment[from][offset + i] = byte_of(sequence, i);
    *slot = (struct hr_message){.sequence = sequence, .word = {offset, bytes}};
    hr_ring_commit_spsc(ring_on(rig, from, ring));
    hr_bell_ring(&rig->control[from]->rank[to].bell);
    return true;
}

static const struct hr_message *peek(struct rig *rig, size_t ring, size_t to)
{
    const struct hr_message *message = hr_ring_peek_spsc(ring_on(rig, to, ring));
    for (size_t i = 0; message && i < message->word[1]; i++)
        assert_int_equal(rig->segment[to][message->word[0] + i], byte_of(message->sequence, i));
    return message;
}

static void release(struct rig *rig, size_t ring, size_t from, size_t to)
{
    hr_ring_release_spsc(ring_on(rig, to, ring));
    hr_bell_ring(&rig->control[to]->rank[from].bell);
}

/* --- rings -------------------------------------------------------------------------------------
 */

/* Rank 0 sends to 1 and 2 from the same memory, which it fills anew as soon as both rings have
 * released it; they take their time. */
static void bytes_stay_until_their_message_is_released(void **state)
{
    (void)state;
    for (uint32_t trouble = 0; trouble <= 40; trouble += 20) {
        struct rig rig;
        uint64_t sent[3] = {0}, taken[3] = {0};
        rig_open(&rig, trouble);
        const size_t ring[3] = {0, add_ring(&rig, 0, 1), add_ring(&rig, 0, 2)};
        for (uint64_t turn = 0; taken[1] < 100 || taken[2] < 100; turn++) {
            const uint32_t random =
                hr_random_block(check_seed(), HR_STREAM_TEST, turn, trouble).v[0];
            assert_true(turn < 1000000);
            poll_all(&rig);
            const bool drained = hr_ring_drained_spsc(ring_on(&rig, 0, ring[1])) &&
                                 hr_ring_drained_spsc(ring_on(&rig, 0, ring[2]));
            for (size_t to = 1; to < 3 && drained && sent[to] < 100; to++)
                sent[to] += push(&rig, ring[to], 0, to, sent[to], BODIES + sent[to] % 3 * 1000,
                                 sent[to] * 37 % BODY);
            for (size_t to = 1; to < 3; to++)
                if (random >> to & 1 && peek(&rig, ring[to], to)) {
                    assert_int_equal(peek(&rig, ring[to], to)->sequence, taken[to]++);
                    release(&rig, ring[to], 0, to);
                }
        }
        assert_true(hr_bridge_carried(rig.bridge[1]).put_aside > 0);
        rig_close(&rig);
    }
}

/* A ring has room over there for as many as it has slots: more wait here. */
static void sender_is_held_by_a_consumer_that_takes_nothing(void **state)
{
    (void)state;
    struct rig rig;
    uint64_t sent = 0;
    rig_open(&rig, 0);
    const size_t ring = add_ring(&rig, 0, 1);
    for (int i = 0; i < 1000; i++) {
        sent += push(&rig, ring, 0, 1, sent, BODIES + sent * 8, 8);
        poll_all(&rig);
    }
    assert_int_equal(sent, 2 * SLOTS);
    for (uint64_t taken = 0; taken < sent; taken++) {
        assert_non_null(peek(&rig, ring, 1));
        assert_int_equal(peek(&rig, ring, 1)->sequence, taken);
        release(&rig, ring, 0, 1);
        for (int i = 0; i < 10; i++)
            poll_all(&rig);
    }
    assert_true(hr_ring_drained_spsc(ring_on(&rig, 0, ring)));
    rig_close(&rig);
}

/* --- words -------------------------------------------------------------------------------------
 */

static struct hr_atom64 *words_on(const struct rig *rig, size_t m, size_t region)
{
    return (struct hr_atom64 *)(void *)(rig->segment[m] + (8 + region) * 1024);
}

/* Rank 0 stores, then sends to 1, who sends to 2: 2 sees what 0 stored, whatever way it came. */
static void words_come_before_what_they_caused(void **state)
{
    (void)state;
    enum { REGIONS = 5, ROUNDS = 50 };
    for (uint32_t trouble = 0; trouble <= 40; trouble += 40) {
        struct rig rig;
        rig_open(&rig, trouble);
        const size_t first = add_ring(&rig, 0, 1), second = add_ring(&rig, 1, 2);
        for (size_t m = 0; m < MACHINES; m++)
            for (size_t region = 0; region < REGIONS; region++)
                hr_bridge_track(rig.bridge[m], 0, words_on(&rig, m, region), HR_TRACKED_BYTES);
        for (uint64_t round = 1; round <= ROUNDS; round++) {
            for (size_t region = 0; region < REGIONS; region++)
                hr_atom64_store_release(words_on(&rig, 0, region) + 15, round * 10 + region);
            assert_true(push(&rig, first, 0, 1, round, BODIES, 100));
            while (!peek(&rig, first, 1))
                poll_all(&rig);
            release(&rig, first, 0, 1);
            assert_true(push(&rig, second, 1, 2, round, BODIES + BODY, 100));
            while (!peek(&rig, second, 2)) {
                hr_bridge_poll(rig.bridge[1]);
                hr_bridge_poll(rig.bridge[2]);
            }
            release(&rig, second, 1, 2);
            for (size_t region = 0; region < REGIONS; region++)
                assert_int_equal(hr_atom64_load_acquire(words_on(&rig, 2, region) + 15),
                                 round * 10 + region);
            for (int i = 0; i < 20; i++)
                poll_all(&rig);
        }
        rig_close(&rig);
    }
}

/* --- direct messages ---------------------------------------------------------------------------
 */

struct inbox {
    uint64_t arrived, refused;
    unsigned char body[BODY];
    bool shut;
};

static bool place(void *arg, size_t from, const void *note, size_t note_bytes, size_t bytes,
                  void **where)
{
    struct inbox *inbox = arg;
    (void)note;
    assert_int_equal(note_bytes, 8);
    assert_int_equal(from, 2);
    assert_true(bytes <= BODY);
    inbox->refused += inbox->shut;
    *where = inbox->body;
    return !inbox->shut;
}

static void arrived(void *arg, size_t from, const void *note, size_t note_bytes)
{
    struct inbox *inbox = arg;
    uint64_t number;
    (void)from, (void)note_bytes;
    memcpy(&number, note, sizeof number);
    assert_int_equal(number, inbox->arrived++);
    for (size_t i = 0; i < number * 97 % BODY; i++)
        assert_int_equal(inbox->body[i], byte_of(number, i));
}

static void direct_messages_arrive_in_order_and_are_given_back(void **state)
{
    (void)state;
    enum { MESSAGES = 60 };
    static unsigned char body[MESSAGES][BODY];
    for (uint32_t trouble = 0; trouble <= 40; trouble += 40) {
        struct rig rig;
        struct inbox inbox = {0};
        struct hr_atom32 done = {0};
        struct hr_bell bell = {0};
        rig_open(&rig, trouble);
        hr_wire_probe(rig.wire[2], 1); /* before it saw that the other is there: says nothing */
        for (uint64_t k = 0; k < MESSAGES; k++) {
            const size_t bytes = k * 97 % BODY;
            for (size_t i = 0; i < bytes; i++)
                body[k][i] = byte_of(k, i);
            CHECK_OK(
                hr_bridge_post(rig.bridge[2], 1, 3, &k, sizeof k, body[k], bytes, &done, &bell));
        }
        for (int i = 0; i < 20; i++) /* nobody listens */
            poll_all(&rig);
        hr_bridge_listen(rig.bridge[1], 3, &(struct hr_wire_sink){&inbox, place, arrived});
        for (uint64_t turn = 0; inbox.arrived < MESSAGES; turn++) {
            assert_true(turn < 1000000);
            inbox.shut = turn % 4 < 2;
            poll_all(&rig);
        }
        assert_int_equal(hr_atom32_load_acquire(&done), MESSAGES);
        assert_true(hr_bell_has_rung(&bell, MESSAGES));
        assert_true(inbox.refused > 0);
        rig_close(&rig);
    }
}

/* --- idle --------------------------------------------------------------------------------------
 */

static int64_t cpu_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

static void idle_bridges_leave_the_processor_alone(void **state)
{
    (void)state;
    struct rig rig;
    if (CHECK_SANITIZED)
        SKIP("under a sanitizer");
    rig_open(&rig, 0);
    add_ring(&rig, 0, 1);
    for (size_t m = 0; m < MACHINES; m++)
        CHECK_OK(hr_bridge_start(rig.bridge[m]));
    usleep(20000);
    const int64_t before = cpu_ns(), began = hr_clock_ns();
    usleep(500000);
    const double share = (double)(cpu_ns() - before) / (double)(hr_clock_ns() - began);
    assert_true(share < 0.05 * MACHINES);
    rig_close(&rig);
}

/* --- the end ------------------------------------------------------------------------------------
 */

static const char after[8] = "MACHINES";
static size_t words_after;

static bool place_after(void *arg, size_t from, const void *head, size_t head_bytes,
                        size_t body_bytes, void **where)
{
    (void)arg, (void)where;
    return from == 1 && head_bytes == sizeof after && !body_bytes &&
           !memcmp(head, after, sizeof after);
}

static void note_after(void *arg, size_t from, const void *head, size_t head_bytes)
{
    (void)arg, (void)from, (void)head, (void)head_bytes;
    words_after++;
}

static void who_has_left_may_say_more_to_others_than_the_bridge(void **state)
{
    (void)state;
    const struct hr_wire_sink sink = {NULL, place_after, note_after};
    struct rig rig;
    rig_open(&rig, 0);
    for (size_t m = 0; m < MACHINES; m++)
        hr_bridge_leave(rig.bridge[m]);
    while (!hr_bridge_is_over(rig.bridge[1]))
        poll_all(&rig);
    while (!hr_wire_send(rig.wire[1], 0, after, sizeof after, NULL, 0, NULL))
        poll_all(&rig);
    for (int polls = 0; polls < 1000; polls++)
        poll_all(&rig);
    assert_true(hr_bridge_is_over(rig.bridge[0]) && hr_bridge_is_over(rig.bridge[2]));
    for (words_after = 0; !words_after;)
        hr_wire_poll(rig.wire[0], &sink);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_stay_until_their_message_is_released),
        cmocka_unit_test(sender_is_held_by_a_consumer_that_takes_nothing),
        cmocka_unit_test(words_come_before_what_they_caused),
        cmocka_unit_test(direct_messages_arrive_in_order_and_are_given_back),
        cmocka_unit_test(idle_bridges_leave_the_processor_alone),
        cmocka_unit_test(who_has_left_may_say_more_to_others_than_the_bridge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
