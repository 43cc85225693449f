/* Machines at the start: what one says all know, a failure is everybody's, clocks are compared. */
#include "machines/machines.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/atom.h"
#include "support/check.h"
#include "support/wire_socket.h"

enum { MACHINES = 4 };

static const int64_t SECOND = HR_NS_PER_SECOND;

/* What a machine does, in a process of its own. */
typedef enum hr_status (*machine_fn)(struct hr_machines *machines, size_t self);

/* Exit codes of children: 0 as it should be, 9 a check of its own failed. */
#define MACHINE_CHECK(condition)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

static void play(struct wire_mesh *mesh, size_t self, machine_fn body, int64_t timeout_ns,
                 uint32_t trouble, bool parts)
{
    struct hr_machines machines;
    struct hr_wire *wire;
    alarm(250); /* should all else fail */
    MACHINE_CHECK(wire_socket_open(mesh, self, 7, trouble, &wire) == HR_OK);
    wire_mesh_keep(mesh, self);
    hr_machines_init(wire, timeout_ns, &machines);
    const enum hr_status status = body(&machines, self);
    if (status != HR_OK)
        fprintf(stderr, "host-%zu: %s\n", self, hr_error_message());
    MACHINE_CHECK(status == HR_OK);
    if (parts)
        MACHINE_CHECK(hr_machines_part(&machines) == HR_OK);
    hr_wire_close(wire);
    _exit(0);
}

/* How each machine ended: its exit code, or 100 and the signal. */
static void run_machines(machine_fn body, int64_t timeout_ns, uint32_t trouble, bool parts,
                         int ended[MACHINES])
{
    struct wire_mesh mesh;
    pid_t pid[MACHINES];
    wire_mesh_open(&mesh, MACHINES);
    for (size_t m = 0; m < MACHINES; m++) {
        pid[m] = fork();
        assert_true(pid[m] >= 0);
        if (pid[m] == 0)
            play(&mesh, m, body, timeout_ns, trouble, parts);
    }
    wire_mesh_close(&mesh);
    for (size_t m = 0; m < MACHINES; m++) {
        int status;
        assert_int_equal(waitpid(pid[m], &status, 0), pid[m]);
        ended[m] = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    }
}

static void check_all_end_well(machine_fn body, uint32_t trouble)
{
    int ended[MACHINES];
    run_machines(body, 100 * SECOND, trouble, true, ended);
    for (size_t m = 0; m < MACHINES; m++)
        assert_int_equal(ended[m], 0);
}

/* --- words --- */

static enum hr_status say_many_words(struct hr_machines *machines, size_t self)
{
    for (uint64_t round = 0; round < 50; round++) {
        uint64_t mine[HR_MACHINES_BYTES / 8], all[MACHINES][HR_MACHINES_BYTES / 8];
        const size_t n = 1 + round % (sizeof mine / 8); /* now short, now as long as can be */
        for (size_t i = 0; i < n; i++)
            mine[i] = 1000 * round + 10 * i + self;
        HR_TRY(hr_machines_gather(machines, mine, n * 8, all, "words"));
        for (size_t m = 0; m < MACHINES; m++)
            for (size_t i = 0; i < n; i++)
                MACHINE_CHECK(((uint64_t *)all)[m * n + i] == 1000 * round + 10 * i + m);
    }
    return HR_OK;
}

static void what_one_says_all_know(void **state)
{
    (void)state;
    check_all_end_well(say_many_words, 0);
    check_all_end_well(say_many_words, 30);
}

static enum hr_status say_words_between_probes(struct hr_machines *machines, size_t self)
{
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t mine = 10 * round + self, all[MACHINES];
        for (size_t m = 0; m < MACHINES; m++)
            if (m != self)
                hr_wire_probe(machines->wire, m);
        HR_TRY(hr_machines_gather(machines, &mine, sizeof mine, all, "words"));
        for (size_t m = 0; m < MACHINES; m++)
            MACHINE_CHECK(all[m] == 10 * round + m);
    }
    return HR_OK;
}

/* Those who are only late are probed, too. */
static void probes_say_nothing(void **state)
{
    (void)state;
    check_all_end_well(say_words_between_probes, 0);
    check_all_end_well(say_words_between_probes, 30);
}

/* --- failures --- */

static enum hr_status one_has_failed(struct hr_machines *machines, size_t self)
{
    MACHINE_CHECK(hr_machines_fail(machines, HR_OK, "all") == HR_OK);
    const enum hr_status mine = self == 2 ? hr_fail(HR_E_IO, "no such file: digits") : HR_OK;
    const enum hr_status all = hr_machines_fail(machines, mine, "all");
    MACHINE_CHECK(all == HR_E_IO);
    MACHINE_CHECK(!strcmp(hr_error_message(),
                          self == 2 ? "no such file: digits" : "host-2: no such file: digits"));
    return HR_OK;
}

static void a_failure_is_everybodys(void **state)
{
    (void)state;
    check_all_end_well(one_has_failed, 0);
}

static enum hr_status the_last_never_comes(struct hr_machines *machines, size_t self)
{
    uint32_t mine = 1, all[MACHINES];
    MACHINE_CHECK(hr_machines_fail(machines, HR_OK, "all") == HR_OK);
    if (self == MACHINES - 1)
        kill(getpid(), SIGKILL);
    MACHINE_CHECK(hr_machines_gather(machines, &mine, sizeof mine, all, "words") == HR_E_LOST);
    MACHINE_CHECK(strstr(hr_error_message(), "host-3 is lost: "));
    sleep(1); /* who leaves is gone, too */
    return HR_OK;
}

static void who_is_gone_is_named_at_once(void **state)
{
    int ended[MACHINES];
    (void)state;
    run_machines(the_last_never_comes, 3600 * SECOND, 0, false, ended);
    for (size_t m = 0; m < MACHINES; m++)
        assert_int_equal(ended[m], m == MACHINES - 1 ? 100 + SIGKILL : 0);
}

static struct hr_atom32 *through; /* how many are; in memory that all machines share */

/* They have so long for it. */
static void run_and_count(machine_fn body, int64_t timeout_ns)
{
    int ended[MACHINES];
    const int kind = MAP_SHARED | MAP_ANONYMOUS;
    through = mmap(NULL, sizeof *through, PROT_READ | PROT_WRITE, kind, -1, 0);
    assert_true(through != MAP_FAILED);
    run_machines(body, timeout_ns, 0, false, ended);
    for (size_t m = 0; m < MACHINES; m++)
        assert_int_equal(ended[m], 0);
    munmap(through, sizeof *through);
}

static void await_all_but_one(void)
{
    while (hr_atom32_load_acquire(through) < MACHINES - 1)
        usleep(1000);
}

/* The second does not come before the others have given it up. */
static enum hr_status one_is_too_slow(struct hr_machines *machines, size_t self)
{
    uint32_t mine = 1, all[MACHINES];
    if (self == 1) {
        await_all_but_one();
        return HR_OK;
    }
    MACHINE_CHECK(hr_machines_gather(machines, &mine, sizeof mine, all, "all to begin") ==
                  HR_E_TIMEOUT);
    MACHINE_CHECK(strstr(hr_error_message(), "s for all to begin: not there: host-1"));
    hr_atom32_fetch_add_release(through, 1);
    await_all_but_one();
    return HR_OK;
}

static void who_does_not_come_in_time_is_named(void **state)
{
    (void)state;
    run_and_count(one_is_too_slow, 2 * SECOND);
}

/* --- behind a bridge --- */

/* The last is silent, and known to be lost; its process is there until all others are through. */
static enum hr_status the_last_is_lost(struct hr_machines *machines, size_t self)
{
    if (self == MACHINES - 1) {
        await_all_but_one();
        return HR_OK;
    }
    machines->lost[MACHINES - 1] = true;
    MACHINE_CHECK(hr_machines_part(machines) == HR_E_LOST);
    hr_atom32_fetch_add_release(through, 1);
    return HR_OK;
}

/* The others have gone on without it: they part, and ask the wire for nothing behind that, as for a
 * farewell of all. */
static enum hr_status go_on_without_the_last(struct hr_machines *machines, size_t self)
{
    if (self == MACHINES - 1) {
        await_all_but_one();
        return HR_OK;
    }
    machines->lost[MACHINES - 1] = machines->without[MACHINES - 1] = true;
    MACHINE_CHECK(hr_machines_part(machines) == HR_OK);
    hr_machines_close(machines);
    MACHINE_CHECK(machines->wire->abandoned);
    hr_atom32_fetch_add_release(through, 1);
    return HR_OK;
}

static void no_farewell_is_taken_behind_a_loss(void **state)
{
    (void)state;
    run_and_count(go_on_without_the_last, 60 * SECOND);
}

static void nobody_waits_for_who_is_known_to_be_lost(void **state)
{
    (void)state;
    run_and_count(the_last_is_lost, 0);
}

/* What a bridge had still to say stands before the next word of its machine. */
static enum hr_status say_behind_a_bridge(struct hr_machines *machines, size_t self)
{
    static const char heartbeat[3000] = "body";
    const uint64_t head[4] = {1, 2, 3, 4};
    uint64_t mine = self, all[MACHINES];
    bool done;
    machines->ran = true;
    for (size_t m = 0; m < MACHINES; m++)
        while (m != self && !hr_wire_send(machines->wire, m, head, sizeof head, heartbeat,
                                          sizeof heartbeat * (self % 2), &done))
            usleep(100);
    HR_TRY(hr_machines_gather(machines, &mine, sizeof mine, all, "words"));
    for (size_t m = 0; m < MACHINES; m++)
        MACHINE_CHECK(all[m] == m);
    return HR_OK;
}

static void what_a_bridge_left_is_passed_over(void **state)
{
    (void)state;
    check_all_end_well(say_behind_a_bridge, 0);
    check_all_end_well(say_behind_a_bridge, 30);
}

/* --- clocks --- */

static enum hr_status compare_clocks(struct hr_machines *machines, size_t self)
{
    HR_TRY(hr_machines_clock(machines));
    for (size_t m = 0; m < MACHINES; m++) { /* in truth they are one */
        const struct hr_machine_clock *clock = &machines->clock[m];
        MACHINE_CHECK(clock->error_ns >= 0 && clock->error_ns < SECOND);
        MACHINE_CHECK(clock->offset_ns <= clock->error_ns && -clock->offset_ns <= clock->error_ns);
    }
    MACHINE_CHECK(machines->clock[0].error_ns == 0 && machines->clock[0].offset_ns == 0);
    MACHINE_CHECK(hr_clock_offset_ns == machines->clock[self].offset_ns);
    return HR_OK;
}

static void clocks_are_known_to_half_a_round_trip(void **state)
{
    (void)state;
    check_all_end_well(compare_clocks, 0);
    check_all_end_well(compare_clocks, 30);
}

/* --- a wire that is abandoned --- */

/* Machine 0 has abandoned it: what it sends does not come, what comes it does not see, and it waits
 * for nobody. The others send it more than a connection holds, and do not wait either. */
static enum hr_status abandon(struct hr_machines *machines, size_t self)
{
    static const unsigned char body[1 << 16];
    const struct hr_wire_sink none = {0}; /* would crash if it were called */
    bool done = false;
    if (self) {
        MACHINE_CHECK(hr_wire_send(machines->wire, 0, "12345678", 8, body, sizeof body, &done));
        return HR_OK;
    }
    usleep(100 * 1000);
    machines->wire->abandoned = true;
    MACHINE_CHECK(hr_wire_send(machines->wire, 1, "12345678", 8, body, sizeof body, &done));
    MACHINE_CHECK(done);
    MACHINE_CHECK(hr_wire_send(machines->wire, 1, "12345678", 8, NULL, 0, NULL));
    MACHINE_CHECK(!hr_wire_poll(machines->wire, &none));
    MACHINE_CHECK(hr_machines_part(machines) == HR_OK);
    return HR_OK;
}

static void what_is_abandoned_moves_nothing(void **state)
{
    int ended[MACHINES];
    (void)state;
    run_machines(abandon, 3600 * SECOND, 0, false, ended);
    for (size_t m = 0; m < MACHINES; m++)
        assert_int_equal(ended[m], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_says_all_know),
        cmocka_unit_test(probes_say_nothing),
        cmocka_unit_test(a_failure_is_everybodys),
        cmocka_unit_test(who_is_gone_is_named_at_once),
        cmocka_unit_test(who_does_not_come_in_time_is_named),
        cmocka_unit_test(nobody_waits_for_who_is_known_to_be_lost),
        cmocka_unit_test(no_farewell_is_taken_behind_a_loss),
        cmocka_unit_test(what_a_bridge_left_is_passed_over),
        cmocka_unit_test(what_is_abandoned_moves_nothing),
        cmocka_unit_test(clocks_are_known_to_half_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
