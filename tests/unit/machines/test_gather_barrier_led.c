/* Barriers where machines have no rank that meets: their launchers conduct, and pass first. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machines/gather_barrier.h"
#include "support/check.h"
#include "support/wire_socket.h"

enum { MACHINES = 3, BYTES = 1 << 14, MEETINGS = 60 };

static const struct hr_area area = {.offset = 8192, .bytes = 1024, .stages = UINT32_MAX};

struct machine {
    size_t self;
    struct hr_wire *wire;
    struct hr_bridge *bridge;
    struct hr_gather_barrier *meet;
    struct hr_control *control;
    unsigned char *segment;
    struct hr_waiter waiter;
    pthread_t thread;
    enum hr_status status;
};

/* Rank 0 is the only one that meets; rank 1, a server, lives on machine 1. */
static void open_machine(struct machine *m, struct wire_mesh *mesh, size_t self)
{
    const struct hr_hosts hosts = {.machines = MACHINES, .self = (uint8_t)self, .machine = {0, 1}};
    *m = (struct machine){.self = self};
    CHECK_OK(wire_socket_open(mesh, self, 11, 30, &m->wire));
    m->control = aligned_alloc(HR_LINE, hr_control_bytes(2));
    m->segment = aligned_alloc(4096, BYTES);
    assert_true(m->control && m->segment);
    memset(m->control, 0, hr_control_bytes(2));
    memset(m->segment, 0, BYTES);
    hr_control_init(m->control, 2);
    const struct hr_bridge_options carried = {.wire = m->wire,
                                              .hosts = hosts,
                                              .control = m->control,
                                              .segment = m->segment,
                                              .segment_bytes = BYTES};
    CHECK_OK(hr_bridge_open(&carried, &m->bridge));
    const struct hr_gather_barrier_options options = {.bridge = m->bridge,
                                                      .wire = m->wire,
                                                      .hosts = hosts,
                                                      .nranks = 1,
                                                      .led = self > 0,
                                                      .control = m->control,
                                                      .segment = m->segment,
                                                      .area = &area,
                                                      .nareas = 1};
    CHECK_OK(hr_gather_barrier_open(&options, &m->meet));
    m->waiter = (struct hr_waiter){.abort = &m->control->abort,
                                   .timeout_ns = 20 * HR_NS_PER_SECOND,
                                   .poll = hr_bridge_poll,
                                   .poll_arg = m->bridge};
}

static void close_machine(struct machine *m)
{
    hr_bridge_close(m->bridge);
    hr_gather_barrier_close(m->meet);
    hr_wire_close(m->wire);
    free(m->control);
    free(m->segment);
}

static bool has_passed(const struct machine *m, uint32_t round)
{
    return hr_gather_barrier_so_far(m->meet).barriers >= round;
}

static enum hr_status meet_and_look(struct machine *m)
{
    for (uint32_t round = 1; round <= MEETINGS; round++) {
        m->segment[area.offset] = (unsigned char)round;
        HR_TRY(hr_gather_barrier_at(m->meet, 0, &m->waiter, 0, "a cut"));
        for (size_t i = 1; i < MACHINES; i++)
            if (!has_passed(&m[i], round))
                return hr_fail(HR_E_FAILED, "machine %zu is at barrier %u yet", i, round);
    }
    return HR_OK;
}

static enum hr_status conduct(struct machine *m)
{
    enum hr_status status = HR_OK;
    while (status == HR_OK && !has_passed(m, MEETINGS) &&
           !hr_atom32_load_acquire(m->waiter.abort)) {
        hr_bridge_poll(m->bridge);
        status = hr_gather_barrier_conduct(m->meet, &m->waiter, "a cut");
    }
    return status;
}

static void *machine_main(void *arg)
{
    struct machine *m = arg;
    m->status = (m->self ? conduct : meet_and_look)(m);
    if (m->status != HR_OK)
        hr_control_abort(m->control, 0, m->status, hr_error_message());
    hr_bridge_leave(m->bridge);
    /* The last thing that is said may be under way still when it is over. */
    for (int more = 50, most = 40000; more && most; most--) {
        more -= hr_bridge_is_over(m->bridge);
        hr_bridge_poll(m->bridge);
        usleep(100);
    }
    return NULL;
}

/* Its server is woken by the rank, which has left. */
static void machines_without_ranks_pass_before_a_rank_leaves(void **state)
{
    struct wire_mesh mesh;
    struct machine machines[MACHINES];
    (void)state;
    wire_mesh_open(&mesh, MACHINES);
    for (size_t m = 0; m < MACHINES; m++)
        open_machine(&machines[m], &mesh, m);
    for (size_t m = 0; m < MACHINES; m++)
        assert_int_equal(pthread_create(&machines[m].thread, NULL, machine_main, &machines[m]), 0);
    for (size_t m = 0; m < MACHINES; m++)
        pthread_join(machines[m].thread, NULL);
    for (size_t m = 0; m < MACHINES; m++) {
        assert_int_equal(machines[m].status, HR_OK);
        assert_int_equal(machines[m].segment[area.offset], MEETINGS);
        close_machine(&machines[m]);
    }
    wire_mesh_close(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_without_ranks_pass_before_a_rank_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
