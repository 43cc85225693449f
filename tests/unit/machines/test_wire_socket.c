/* Sockets keep what wire.h promises. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wire_socket.h"

enum { MESSAGES = 200, BODY = 5000, DEPTH = 4 };

struct note {
    uint64_t number, bytes;
};

/* What one machine has got from the others, in order. */
struct inbox {
    uint64_t placed, arrived;
    unsigned char body[DEPTH][BODY];
    bool shut; /* place says "not now" */
    uint64_t refused;
};

static size_t body_bytes(uint64_t number)
{
    return number % 3 == 0 ? 0 : (size_t)(number * 37 % BODY);
}

static unsigned char byte_of(uint64_t number, size_t i)
{
    return (unsigned char)(number * 31 + i * 7);
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t bytes,
                  void **where)
{
    struct inbox *inbox = arg;
    struct note note;
    if (inbox->shut) {
        inbox->refused++;
        return false;
    }
    assert_int_equal(head_bytes, sizeof note);
    memcpy(&note, head, sizeof note);
    assert_int_equal((uintptr_t)head % 8, 0);
    assert_int_equal(note.number, inbox->placed++);
    assert_int_equal(bytes, note.bytes);
    assert_int_equal(from, 0);
    *where = inbox->body[note.number % DEPTH];
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct inbox *inbox = arg;
    struct note note;
    (void)from, (void)head_bytes;
    memcpy(&note, head, sizeof note);
    assert_int_equal(note.number, inbox->arrived++);
    for (size_t i = 0; i < note.bytes; i++)
        assert_int_equal(inbox->body[note.number % DEPTH][i], byte_of(note.number, i));
}

/* Memory that is the sender's again is overwritten at once. */
struct parcel {
    unsigned char body[BODY];
    bool done, used;
};

static void give_back(struct parcel *parcel)
{
    if (parcel->used && parcel->done) {
        memset(parcel->body, 0xee, BODY);
        parcel->used = false;
    }
}

static bool send_next(struct hr_wire *wire, struct parcel *parcel, uint64_t number)
{
    const struct note note = {number, body_bytes(number)};
    for (size_t i = 0; i < note.bytes; i++)
        parcel->body[i] = byte_of(number, i);
    parcel->used =
        hr_wire_send(wire, 1, &note, sizeof note, parcel->body, note.bytes, &parcel->done);
    return parcel->used;
}

static void messages_arrive_in_order_and_whole(void **state)
{
    (void)state;
    for (uint32_t trouble = 0; trouble <= 60; trouble += 30) {
        static struct parcel parcel[DEPTH];
        static struct inbox inbox;
        struct wire_mesh mesh;
        struct hr_wire *wire[2];
        uint64_t sent = 0;
        memset(&inbox, 0, sizeof inbox);
        wire_mesh_open(&mesh, 2);
        for (size_t m = 0; m < 2; m++)
            CHECK_OK(wire_socket_open(&mesh, m, (uint32_t)check_seed(), trouble, &wire[m]));
        for (uint64_t turn = 0; inbox.arrived < MESSAGES; turn++) {
            struct parcel *free = NULL;
            assert_true(turn < 1000000);
            for (size_t p = 0; p < DEPTH; p++) {
                give_back(&parcel[p]);
                free = parcel[p].used ? free : &parcel[p];
            }
            if (free && sent < MESSAGES)
                sent += send_next(wire[0], free, sent);
            inbox.shut = turn % 5 < 2;
            hr_wire_poll(wire[0], &(struct hr_wire_sink){&inbox, place, arrived});
            hr_wire_poll(wire[1], &(struct hr_wire_sink){&inbox, place, arrived});
        }
        assert_true(inbox.refused > 0);
        hr_wire_close(wire[0]);
        hr_wire_close(wire[1]);
        wire_mesh_close(&mesh);
    }
}

static void killed_machine_is_told_once_and_bodies_are_given_back(void **state)
{
    (void)state;
    struct wire_mesh mesh;
    struct hr_wire *wire;
    struct inbox inbox = {0};
    const struct hr_wire_sink sink = {&inbox, place, arrived};
    static unsigned char body[1 << 20];
    const struct note note = {0};
    size_t machine = 99;
    char text[80];
    bool done;
    wire_mesh_open(&mesh, 2);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wire_mesh_keep(&mesh, 1);
        pause();
    }
    wire_mesh_keep(&mesh, 0);
    CHECK_OK(wire_socket_open(&mesh, 0, 1, 0, &wire));
    assert_true(hr_wire_send(wire, 1, &note, sizeof note, body, sizeof body, &done));
    for (int i = 0; i < 10; i++)
        hr_wire_poll(wire, &sink);
    assert_false(done); /* more than a socket holds */
    assert_false(hr_wire_lost(wire, &machine, text, sizeof text));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    hr_wire_poll(wire, &sink);
    assert_true(done);
    assert_true(hr_wire_lost(wire, &machine, text, sizeof text));
    assert_int_equal(machine, 1);
    assert_true(strstr(text, "connection") != NULL);
    assert_false(hr_wire_lost(wire, &machine, text, sizeof text));
    hr_wire_close(wire);
    wire_mesh_close(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_order_and_whole),
        cmocka_unit_test(killed_machine_is_told_once_and_bodies_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
