/* Two machines, each with a process that runs and one that relays: what they send each other comes
 * whole and in order, and who is lost is told. */
#include "machines/relay.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machines/wire_socket.h"
#include "shm/atom.h"
#include "support/check.h"

enum { MESSAGES = 300, BODY = 60000, TURNS = 10 * 1000 * 1000 };

static char host[2][HR_WIRE_HOST] = {"host-0", "host-1"};

/* A machine: the run's wire, its relay's two, in a thread. */
struct machine {
    int run_end[2], near_end[2], far_end[2];
    struct hr_wire *run, *near, *far;
    struct hr_atom32 over;
    pthread_t thread;
    enum hr_status status;
};

static bool goes_on(void *arg)
{
    struct machine *machine = arg;
    return !hr_atom32_load_acquire(&machine->over);
}

static void cut(void *arg, size_t other)
{
    struct machine *machine = arg;
    shutdown(machine->near_end[other], SHUT_RDWR);
}

static void *relay(void *arg)
{
    struct machine *machine = arg;
    machine->status =
        hr_relay(&(struct hr_relay_options){machine->near, machine->far, cut, goes_on, machine});
    return NULL;
}

static struct hr_wire *wire_of(size_t self, int *end, uint32_t trouble)
{
    struct hr_wire *wire;
    CHECK_OK(hr_wire_socket_open(&(struct hr_wire_socket_options){.machines = 2,
                                                                  .self = self,
                                                                  .host = host,
                                                                  .end = end,
                                                                  .seed = (uint32_t)check_seed(),
                                                                  .trouble = trouble},
                                 &wire));
    return wire;
}

static void connect_ends(int *one, int *other)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    *one = pair[0];
    *other = pair[1];
}

static void begin(struct machine machine[2], uint32_t trouble)
{
    memset(machine, 0, 2 * sizeof *machine);
    for (size_t m = 0; m < 2; m++) {
        machine[m].run_end[m] = machine[m].near_end[m] = machine[m].far_end[m] = -1;
        connect_ends(&machine[m].run_end[1 - m], &machine[m].near_end[1 - m]);
    }
    connect_ends(&machine[0].far_end[1], &machine[1].far_end[0]);
    for (size_t m = 0; m < 2; m++) {
        machine[m].run = wire_of(m, machine[m].run_end, trouble);
        machine[m].near = wire_of(m, machine[m].near_end, trouble);
        machine[m].far = wire_of(m, machine[m].far_end, trouble);
        assert_int_equal(pthread_create(&machine[m].thread, NULL, relay, &machine[m]), 0);
    }
}

static void end_one(struct machine *machine)
{
    hr_atom32_store_release(&machine->over, 1); /* partner: goes_on */
    assert_int_equal(pthread_join(machine->thread, NULL), 0);
    CHECK_OK(machine->status);
    hr_wire_close(machine->near);
    hr_wire_close(machine->far);
}

/* --- messages, whose number says what is in them --- */

struct inbox {
    uint64_t placed, arrived;
    unsigned char body[16][BODY];
};

static size_t body_bytes(uint64_t number)
{
    return number % 3 == 0 ? 0 : (size_t)(number * 7919 % BODY);
}

static unsigned char byte_of(uint64_t number, size_t i)
{
    return (unsigned char)(number * 31 + i * 7);
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t bytes,
                  void **where)
{
    struct inbox *inbox = arg;
    uint64_t number;
    (void)from;
    assert_int_equal(head_bytes, sizeof number);
    memcpy(&number, head, sizeof number);
    assert_int_equal(number, inbox->placed++);
    assert_int_equal(bytes, body_bytes(number));
    *where = inbox->body[number % 16];
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct inbox *inbox = arg;
    uint64_t number;
    (void)from, (void)head_bytes;
    memcpy(&number, head, sizeof number);
    assert_int_equal(number, inbox->arrived++);
    for (size_t i = 0; i < body_bytes(number); i++)
        assert_int_equal(inbox->body[number % 16][i], byte_of(number, i));
}

/* One side's sending: a body at a time. */
struct outbox {
    uint64_t sent;
    unsigned char body[BODY];
    bool done;
};

static void send_next(struct hr_wire *wire, struct outbox *out)
{
    if (!out->done || out->sent == MESSAGES)
        return;
    for (size_t i = 0; i < body_bytes(out->sent); i++)
        out->body[i] = byte_of(out->sent, i);
    out->done = true;
    if (hr_wire_send(wire, 1 - wire->self, &out->sent, sizeof out->sent, out->body,
                     body_bytes(out->sent), &out->done))
        out->sent++;
}

static void messages_go_on_in_order_and_whole_both_ways(void **state)
{
    (void)state;
    for (uint32_t trouble = 0; trouble <= 30; trouble += 30) {
        static struct machine machine[2];
        static struct inbox inbox[2];
        static struct outbox outbox[2];
        begin(machine, trouble);
        memset(inbox, 0, sizeof inbox);
        memset(outbox, 0, sizeof outbox);
        outbox[0].done = outbox[1].done = true;
        for (size_t turn = 0; inbox[0].arrived + inbox[1].arrived < 2 * MESSAGES; turn++) {
            assert_true(turn < TURNS);
            for (size_t m = 0; m < 2; m++) {
                send_next(machine[m].run, &outbox[m]);
                hr_wire_poll(machine[m].run, &(struct hr_wire_sink){&inbox[m], place, arrived});
            }
        }
        for (size_t m = 0; m < 2; m++) {
            end_one(&machine[m]);
            hr_wire_close(machine[m].run);
        }
    }
}

/* What was said before the end comes, though the run has closed its wire. */
static void what_was_sent_last_goes_on(void **state)
{
    (void)state;
    static struct machine machine[2];
    static struct inbox inbox, nobody;
    static struct outbox out;
    begin(machine, 0);
    memset(&inbox, 0, sizeof inbox);
    memset(&out, 0, sizeof out);
    for (out.done = true; out.sent < 5;) {
        send_next(machine[0].run, &out);
        hr_wire_poll(machine[0].run, &(struct hr_wire_sink){&nobody, place, arrived});
    }
    while (!out.done)
        hr_wire_poll(machine[0].run, &(struct hr_wire_sink){&nobody, place, arrived});
    hr_wire_close(machine[0].run);
    end_one(&machine[0]);
    for (size_t turn = 0; inbox.arrived < 5; turn++) {
        assert_true(turn < TURNS);
        hr_wire_poll(machine[1].run, &(struct hr_wire_sink){&inbox, place, arrived});
    }
    end_one(&machine[1]);
    hr_wire_close(machine[1].run);
}

static void a_lost_machine_is_told(void **state)
{
    (void)state;
    static struct machine machine[2];
    static struct inbox inbox;
    char text[120];
    size_t lost = 9;
    begin(machine, 0);
    memset(&inbox, 0, sizeof inbox);
    end_one(&machine[1]);
    for (size_t turn = 0; !hr_wire_lost(machine[0].run, &lost, text, sizeof text); turn++) {
        assert_true(turn < TURNS);
        hr_wire_poll(machine[0].run, &(struct hr_wire_sink){&inbox, place, arrived});
    }
    assert_int_equal(lost, 1);
    end_one(&machine[0]);
    for (size_t m = 0; m < 2; m++)
        hr_wire_close(machine[m].run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_go_on_in_order_and_whole_both_ways),
        cmocka_unit_test(what_was_sent_last_goes_on),
        cmocka_unit_test(a_lost_machine_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
