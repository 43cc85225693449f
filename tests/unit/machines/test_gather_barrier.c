/* Barriers: ranks of several machines, here threads with a segment a machine, have behind one what
 * the others wrote. */
#include "machines/gather_barrier.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/philox.h"
#include "support/check.h"
#include "support/wire_socket.h"

enum { MACHINES = 3, HERE = 2, RANKS = MACHINES * HERE, BYTES = 1 << 18 };

static const int64_t SECOND = HR_NS_PER_SECOND;

/* Small ones of odd sizes; large ones; what machine 0 alone gets; what is sent at stage 3 alone. */
static const struct hr_area kind[] = {
    {.offset = 4099, .bytes = 1003, .stages = UINT32_MAX},
    {.offset = 12288, .bytes = 25000, .stages = UINT32_MAX},
    {.offset = 163840, .bytes = 3000, .for_first = true, .stages = UINT32_MAX},
    {.offset = 182000, .bytes = 5001, .stages = 1u << 3},
};
enum { KINDS = sizeof kind / sizeof *kind, AREAS = KINDS * RANKS };

/* One of each kind a rank, side by side. */
static struct hr_area areas[AREAS];

static void list_areas(void)
{
    for (size_t i = 0; i < AREAS; i++) {
        areas[i] = kind[i / RANKS];
        areas[i].writer = i % RANKS;
        areas[i].offset += areas[i].writer * areas[i].bytes;
        assert_true(areas[i].offset + areas[i].bytes <= BYTES);
    }
}

struct machine {
    struct wire_mesh *mesh;
    size_t self;
    struct hr_wire *wire;
    struct hr_bridge *bridge;
    struct hr_gather_barrier *meet;
    struct hr_control *control;
    unsigned char *segment;
};

struct rank {
    struct machine *machine;
    size_t rank;
    pthread_t thread;
    enum hr_status (*body)(struct rank *me);
    struct hr_waiter waiter;
    enum hr_status status;
    char message[600];
};

static void open_machine(struct machine *m, struct wire_mesh *mesh, size_t self, uint32_t trouble)
{
    *m = (struct machine){.mesh = mesh, .self = self};
    struct hr_hosts hosts = {0};
    hr_hosts_deal(&hosts, RANKS, MACHINES, self);
    CHECK_OK(wire_socket_open(mesh, self, 11, trouble, &m->wire));
    m->control = aligned_alloc(HR_LINE, hr_control_bytes(RANKS));
    m->segment = aligned_alloc(4096, BYTES);
    assert_true(m->control && m->segment);
    memset(m->control, 0, hr_control_bytes(RANKS));
    memset(m->segment, 0, BYTES);
    hr_control_init(m->control, RANKS);
    for (size_t r = 0; r < RANKS; r++)
        if (!hr_hosts_here(&hosts, r))
            hr_control_place(m->control, r, m->wire->host[hosts.machine[r]]);
    const struct hr_bridge_options carried = {.wire = m->wire,
                                              .hosts = hosts,
                                              .control = m->control,
                                              .segment = m->segment,
                                              .segment_bytes = BYTES,
                                              .timeout_ns = 20 * SECOND,
                                              .part_bytes = 10000};
    CHECK_OK(hr_bridge_open(&carried, &m->bridge));
    const struct hr_gather_barrier_options options = {.bridge = m->bridge,
                                                      .wire = m->wire,
                                                      .hosts = hosts,
                                                      .nranks = RANKS,
                                                      .control = m->control,
                                                      .segment = m->segment,
                                                      .area = areas,
                                                      .nareas = AREAS};
    CHECK_OK(hr_gather_barrier_open(&options, &m->meet));
}

static void close_machine(struct machine *m)
{
    hr_bridge_close(m->bridge);
    hr_gather_barrier_close(m->meet);
    hr_wire_close(m->wire);
    free(m->control);
    free(m->segment);
}

static void *rank_main(void *arg)
{
    struct rank *me = arg;
    me->status = me->body(me);
    snprintf(me->message, sizeof me->message, "%s", me->status ? hr_error_message() : "");
    if (me->status != HR_OK)
        hr_control_abort(me->machine->control, me->rank, me->status, me->message);
    hr_bridge_leave(me->machine->bridge);
    /* The last thing that is said may be under way still when it is over. */
    for (int more = 50, most = 40000; more && most; most--) {
        more -= hr_bridge_is_over(me->machine->bridge);
        hr_bridge_poll(me->machine->bridge);
        usleep(100);
    }
    return NULL;
}

static void run(struct machine *machines, struct rank *ranks,
                enum hr_status (*body)(struct rank *me), int64_t timeout_ns)
{
    for (size_t r = 0; r < RANKS; r++) {
        struct machine *m = &machines[r / HERE];
        ranks[r] = (struct rank){
            .machine = m,
            .rank = r,
            .body = body,
            .waiter = {.abort = &m->control->abort,
                       .timeout_ns = timeout_ns,
                       .poll = hr_bridge_poll,
                       .poll_arg = m->bridge},
        };
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, rank_main, &ranks[r]), 0);
    }
    for (size_t r = 0; r < RANKS; r++)
        pthread_join(ranks[r].thread, NULL);
}

static void open_all(struct wire_mesh *mesh, struct machine *machines, uint32_t trouble)
{
    wire_mesh_open(mesh, MACHINES);
    for (size_t m = 0; m < MACHINES; m++)
        open_machine(&machines[m], mesh, m, trouble);
}

static void close_all(struct wire_mesh *mesh, struct machine *machines)
{
    for (size_t m = 0; m < MACHINES; m++)
        close_machine(&machines[m]);
    wire_mesh_close(mesh);
}

/* --- several writers --- */

enum { MEETINGS = 12 };

/* What the writer of an area writes into a byte before a barrier; -1: nothing. Some barriers change
 * much, some little, some nothing. */
static int written(uint64_t round, size_t area, size_t at)
{
    const struct hr_philox random = hr_random_block(round, HR_STREAM_NAME, at, (uint32_t)area);
    const uint32_t often = round % 3 == 0 ? 2 : round % 3 == 1 ? 97 : 0;
    return often && random.v[0] % often == 0 ? (int)((random.v[1] + at) & 0xff) : -1;
}

static void write_mine(const struct rank *me, uint64_t round)
{
    for (size_t a = 0; a < AREAS; a++)
        for (size_t at = 0; areas[a].writer == me->rank && at < areas[a].bytes; at++) {
            const int byte = written(round, a, at);
            if (byte >= 0)
                me->machine->segment[areas[a].offset + at] = (unsigned char)byte;
        }
}

/* Everything that was written before the barrier is here, and nothing else has changed. */
static enum hr_status check_all(const struct rank *me, uint64_t round, unsigned stage,
                                unsigned char *model)
{
    for (size_t a = 0; a < AREAS; a++)
        for (size_t at = 0; at < areas[a].bytes; at++) {
            unsigned char *expected = &model[areas[a].offset + at];
            const int byte = written(round, a, at);
            if (byte >= 0)
                *expected = (unsigned char)byte;
            if ((areas[a].for_first && me->machine->self) || !(areas[a].stages >> stage & 1))
                continue; /* some have it, some do not */
            if (me->machine->segment[areas[a].offset + at] != *expected)
                return hr_fail(HR_E_FAILED, "barrier %d: byte %zu of area %zu is %d, not %d",
                               (int)round, at, a, me->machine->segment[areas[a].offset + at],
                               *expected);
        }
    return HR_OK;
}

static enum hr_status write_and_meet(struct rank *me)
{
    unsigned char *model = calloc(1, BYTES);
    enum hr_status status = HR_OK;
    for (uint64_t round = 1; round <= MEETINGS && status == HR_OK; round++) {
        const unsigned stage = round % 4 == 0 ? 3 : 1;
        write_mine(me, round);
        status = hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, stage, "a cut");
        if (status == HR_OK)
            status = check_all(me, round, stage, model);
        if (status == HR_OK) /* nobody writes before all have looked */
            status = hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, 0, "a cut");
    }
    free(model);
    return status;
}

static void what_any_rank_wrote_is_everywhere(void **state)
{
    (void)state;
    for (uint32_t trouble = 0; trouble <= 30; trouble += 30) {
        struct wire_mesh mesh;
        struct machine machines[MACHINES];
        struct rank ranks[RANKS];
        open_all(&mesh, machines, trouble);
        run(machines, ranks, write_and_meet, 20 * SECOND);
        for (size_t r = 0; r < RANKS; r++)
            if (ranks[r].status != HR_OK)
                fail_msg("rank %zu: %s", r, ranks[r].message);
        for (size_t m = 0; m < MACHINES; m++) {
            const struct hr_met met = hr_gather_barrier_so_far(machines[m].meet);
            assert_int_equal(met.barriers, 2 * MEETINGS);
            assert_true(met.bytes > 0);
        }
        close_all(&mesh, machines);
    }
}

/* --- what goes wrong --- */

static enum hr_status the_fourth_fails(struct rank *me)
{
    HR_TRY(hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, 1, "a cut"));
    if (me->rank == 3)
        return hr_fail(HR_E_IO, "disk full");
    return hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, 1, "a cut");
}

static void a_failure_ends_the_meeting_everywhere(void **state)
{
    struct wire_mesh mesh;
    struct machine machines[MACHINES];
    struct rank ranks[RANKS];
    (void)state;
    open_all(&mesh, machines, 0);
    run(machines, ranks, the_fourth_fails, 3600 * SECOND);
    for (size_t r = 0; r < RANKS; r++)
        assert_int_equal(ranks[r].status, r == 3 ? HR_E_IO : HR_E_ABORTED);
    for (size_t m = 0; m < MACHINES; m++) {
        CHECK_FAILS(hr_control_failure(machines[m].control), HR_E_IO);
        CHECK_MESSAGE(m == 1 ? "rank 3: disk full" : "rank 3 (on host-1): disk full");
    }
    close_all(&mesh, machines);
}

static struct hr_atom32 given_up; /* how many have */

static enum hr_status all_but_the_last_come(struct rank *me)
{
    while (me->rank == RANKS - 1 && hr_atom32_load_acquire(&given_up) < RANKS - 1)
        usleep(1000);
    const enum hr_status status =
        hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, 1, "a cut");
    hr_atom32_fetch_add_release(&given_up, 1);
    return status;
}

/* Who has waited long enough names the machine that has not come, or the rank beside it. */
static void who_does_not_come_in_time_is_named(void **state)
{
    struct wire_mesh mesh;
    struct machine machines[MACHINES];
    struct rank ranks[RANKS];
    size_t timeouts = 0;
    (void)state;
    open_all(&mesh, machines, 0);
    run(machines, ranks, all_but_the_last_come, 2 * SECOND);
    for (size_t r = 0; r < RANKS - 1; r++) {
        const bool beside = r / HERE == MACHINES - 1;
        if (ranks[r].status != HR_E_TIMEOUT)
            continue;
        timeouts++;
        if (beside)
            assert_non_null(strstr(ranks[r].message, "a cut: not there: rank 5"));
        else
            assert_true(strstr(ranks[r].message, "not there: host-2 (ranks 4 to 5)") ||
                        strstr(ranks[r].message, "all of this machine are there"));
    }
    assert_true(timeouts > 0);
    close_all(&mesh, machines);
}

static enum hr_status one_meets_elsewhere(struct rank *me)
{
    const unsigned stage = me->machine->self == 2 ? 5 : 1;
    return hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, stage, "a cut");
}

static void machines_that_meet_elsewhere_are_told(void **state)
{
    struct wire_mesh mesh;
    struct machine machines[MACHINES];
    struct rank ranks[RANKS];
    size_t mismatches = 0;
    (void)state;
    open_all(&mesh, machines, 0);
    run(machines, ranks, one_meets_elsewhere, 5 * SECOND);
    for (size_t r = 0; r < RANKS; r++) {
        assert_true(ranks[r].status != HR_OK);
        mismatches += ranks[r].status == HR_E_MISMATCH &&
                      strstr(ranks[r].message, "a cut: this machine meets at stage") != NULL;
    }
    assert_true(mismatches > 0);
    close_all(&mesh, machines);
}

static enum hr_status all_come(struct rank *me)
{
    return hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, 3, "a cut");
}

/* One that lists other areas than the others sends what they do not expect, and they it. */
static void machines_that_share_other_areas_are_told(void **state)
{
    struct wire_mesh mesh;
    struct machine machines[MACHINES];
    struct rank ranks[RANKS];
    size_t told = 0;
    (void)state;
    open_all(&mesh, machines, 0);
    hr_gather_barrier_share(machines[MACHINES - 1].meet, areas, AREAS / 2);
    run(machines, ranks, all_come, 5 * SECOND);
    /* Machine 1 may have passed: it gets nothing that it does not expect. */
    for (size_t r = 0; r < RANKS; r++) {
        assert_true(r / HERE == 1 || ranks[r].status != HR_OK);
        told +=
            ranks[r].status == HR_E_FAILED && strstr(ranks[r].message, "does not share") != NULL;
    }
    assert_true(told > 0);
    close_all(&mesh, machines);
}

/* --- a machine that is gone --- */

static enum hr_status the_second_machine_is_cut_off(struct rank *me)
{
    HR_TRY(hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, 1, "a cut"));
    if (me->machine->self == 1) { /* nobody polls there any more */
        for (size_t p = 0; p < MACHINES; p++)
            if (p != 1)
                shutdown(me->machine->mesh->end[1][p], SHUT_RDWR);
        return hr_fail(HR_E_FAILED, "is cut off");
    }
    return hr_gather_barrier_at(me->machine->meet, me->rank, &me->waiter, 1, "a cut");
}

static void a_lost_machine_ends_the_meeting(void **state)
{
    struct wire_mesh mesh;
    struct machine machines[MACHINES];
    struct rank ranks[RANKS];
    (void)state;
    open_all(&mesh, machines, 0);
    run(machines, ranks, the_second_machine_is_cut_off, 3600 * SECOND);
    for (size_t m = 0; m < MACHINES; m += 2) {
        assert_int_equal(ranks[m * HERE].status, HR_E_ABORTED);
        CHECK_FAILS(hr_control_failure(machines[m].control), HR_E_LOST);
        assert_non_null(strstr(hr_error_message(), "host-1"));
    }
    close_all(&mesh, machines);
}

int main(void)
{
    list_areas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_any_rank_wrote_is_everywhere),
        cmocka_unit_test(a_failure_ends_the_meeting_everywhere),
        cmocka_unit_test(who_does_not_come_in_time_is_named),
        cmocka_unit_test(machines_that_meet_elsewhere_are_told),
        cmocka_unit_test(machines_that_share_other_areas_are_told),
        cmocka_unit_test(a_lost_machine_ends_the_meeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
