#include "support/machines.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/size.h"
#include "machines/bridge.h"
#include "support/check.h"

/* One machine, seen from inside. */
struct machine {
    struct machines *machines;
    size_t self;
    struct hr_wire *wire;
    struct hr_bridge *bridge;
    struct hr_carried_group carried;
    struct hr_control *control;
    unsigned char *segment;
    size_t segment_bytes, group_bytes;
    pthread_t thread;
};

struct slot {
    struct machine *machine;
    size_t rank;
    pthread_t thread;
};

static size_t ranks_of(const struct machines *m)
{
    return m->machines * m->each;
}

static size_t floats_bytes(const struct machines *m)
{
    return hr_round_up(m->floats * sizeof(float), HR_LINE);
}

static struct hr_place place_of(const struct machine *machine, struct hr_waiter *waiter)
{
    return (struct hr_place){.group = machine->segment,
                             .segment = machine->segment,
                             .segment_bytes = machine->segment_bytes,
                             .control = machine->control,
                             .waiter = waiter};
}

static enum hr_status rank_main(struct machine *machine, size_t number)
{
    struct machines *m = machine->machines;
    struct far_rank me = {.machines = m,
                          .rank = number,
                          .machine = machine->self,
                          .bridge = machine->bridge,
                          .control = machine->control,
                          .result = m->result + number * m->results};
    me.floats =
        (float *)(void *)(machine->segment + machine->group_bytes + number * floats_bytes(m));
    me.waiter = (struct hr_waiter){.abort = &machine->control->abort,
                                   .spin_ns = 20000,
                                   .timeout_ns = m->timeout_ns,
                                   .poll = machine->bridge && !m->alone ? hr_bridge_poll : NULL,
                                   .poll_arg = machine->bridge};
    const struct hr_place place = place_of(machine, &me.waiter);
    HR_TRY(hr_member_init(&me.member, &m->options, &place, number));
    const enum hr_status status = m->body(&me);
    hr_member_fini(&me.member);
    return status;
}

static void *rank_thread(void *arg)
{
    struct slot *slot = arg;
    const enum hr_status status = rank_main(slot->machine, slot->rank);
    if (status != HR_OK)
        hr_control_abort(slot->machine->control, slot->rank, status, hr_error_message());
    return NULL;
}

static void run_ranks(struct machine *machine)
{
    struct machines *m = machine->machines;
    struct slot slot[HR_MAX_RANKS];
    for (size_t i = 0; i < m->each; i++) {
        slot[i] = (struct slot){.machine = machine, .rank = machine->self * m->each + i};
        assert_int_equal(pthread_create(&slot[i].thread, NULL, rank_thread, &slot[i]), 0);
    }
    for (size_t i = 0; i < m->each; i++)
        pthread_join(slot[i].thread, NULL);
}

/* Others may need what this one has sent. */
static void leave(struct machine *machine)
{
    const int64_t began = hr_clock_ns();
    hr_bridge_leave(machine->bridge);
    while (!hr_bridge_is_over(machine->bridge) &&
           hr_clock_ns() - began < machine->machines->timeout_ns) {
        hr_bridge_poll(machine->bridge);
        usleep(50);
    }
}

static enum hr_status open_bridge(struct machine *machine)
{
    struct machines *m = machine->machines;
    const struct hr_place place = place_of(machine, NULL);
    HR_TRY(wire_socket_open(&m->mesh, machine->self, (uint32_t)check_seed(), m->trouble,
                            &machine->wire));
    struct hr_bridge_options options = {.wire = machine->wire,
                                        .hosts = m->options.hosts,
                                        .control = machine->control,
                                        .segment = machine->segment,
                                        .segment_bytes = machine->segment_bytes,
                                        .timeout_ns = m->timeout_ns,
                                        .part_bytes = m->part_bytes};
    HR_TRY(hr_bridge_open(&options, &machine->bridge));
    HR_TRY(hr_bridge_add_group(machine->bridge, &machine->carried, &m->options, &place));
    return m->carries ? hr_bridge_start(machine->bridge) : HR_OK;
}

static enum hr_status machine_main(struct machine *machine)
{
    struct machines *m = machine->machines;
    const size_t n = ranks_of(m);
    enum hr_status status = HR_OK;
    HR_TRY(hr_group_bytes(&m->options, &machine->group_bytes));
    machine->group_bytes = hr_round_up(machine->group_bytes, HR_LINE);
    machine->segment_bytes = machine->group_bytes + n * floats_bytes(m);
    machine->segment = aligned_alloc(HR_LINE, machine->segment_bytes);
    machine->control = aligned_alloc(HR_LINE, hr_round_up(hr_control_bytes(n), HR_LINE));
    assert_true(machine->segment && machine->control);
    memset(machine->segment, 0, machine->segment_bytes);
    memset(machine->control, 0, hr_control_bytes(n));
    hr_control_init(machine->control, n);
    HR_TRY(hr_group_init(machine->segment, &m->options));
    if (m->machines > 1)
        HR_TRY_GOTO(open_bridge(machine), status, out);
    run_ranks(machine);
    if (machine->bridge)
        leave(machine);
    status = hr_control_failure(machine->control);
    if (machine->bridge)
        m->outcome[machine->self].carried = hr_bridge_carried(machine->bridge);
out:
    hr_bridge_close(machine->bridge);
    hr_wire_close(machine->wire);
    free(machine->segment);
    free(machine->control);
    return status;
}

static void *machine_thread(void *arg)
{
    struct machine *machine = arg;
    struct outcome *outcome = &machine->machines->outcome[machine->self];
    outcome->status = machine_main(machine);
    if (outcome->status != HR_OK)
        snprintf(outcome->message, sizeof outcome->message, "%s", hr_error_message());
    outcome->ended_ns = hr_clock_ns();
    free(machine);
    return NULL;
}

static struct machine *machine_of(struct machines *m, size_t self)
{
    struct machine *machine = calloc(1, sizeof *machine);
    assert_non_null(machine);
    machine->machines = m;
    machine->self = self;
    return machine;
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void fork_machine(struct machines *m, size_t self)
{
    m->pid[self] = fork();
    assert_true(m->pid[self] >= 0);
    if (m->pid[self])
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    m->options.hosts.self = (uint8_t)self;
    wire_mesh_keep(&m->mesh, self);
    m->outcome[self].status = HR_E_FAILED; /* unless it gets to its end */
    machine_thread(machine_of(m, self));
    _exit(0);
}

void machines_start(struct machines *m)
{
    const size_t n = ranks_of(m);
    m->timeout_ns = m->timeout_ns ? m->timeout_ns : 100 * HR_NS_PER_SECOND;
    m->options.nranks = n;
    m->options.algorithm = m->options.algorithm ? m->options.algorithm : &hr_allreduce_auto;
    hr_hosts_deal(&m->options.hosts, n, m->machines, 0);
    m->result = shared(n * m->results * sizeof *m->result);
    m->outcome = shared(m->machines * sizeof *m->outcome);
    wire_mesh_open(&m->mesh, m->machines);
    for (size_t self = 0; m->fork && self < m->machines; self++)
        fork_machine(m, self);
    for (size_t self = 0; m->fork && self < m->machines; self++)
        for (size_t peer = 0; peer < m->machines; peer++)
            if (m->mesh.end[self][peer] >= 0) { /* the machines have their own */
                close(m->mesh.end[self][peer]);
                m->mesh.end[self][peer] = -1;
            }
}

/* As threads: each with options of its own, because only `self` differs. */
static void run_as_threads(struct machines *m)
{
    struct machines copy[WIRE_MESH_MACHINES];
    struct machine *machine[WIRE_MESH_MACHINES];
    pthread_t thread[WIRE_MESH_MACHINES];
    for (size_t self = 0; self < m->machines; self++) {
        copy[self] = *m;
        copy[self].options.hosts.self = (uint8_t)self;
        machine[self] = machine_of(&copy[self], self);
        assert_int_equal(pthread_create(&thread[self], NULL, machine_thread, machine[self]), 0);
    }
    for (size_t self = 0; self < m->machines; self++) {
        pthread_join(thread[self], NULL);
        for (size_t peer = 0; peer < m->machines; peer++)
            m->mesh.end[self][peer] = -1; /* its wire has closed them */
    }
}

enum hr_status machines_wait(struct machines *m)
{
    if (!m->fork)
        run_as_threads(m);
    for (size_t self = 0; m->fork && self < m->machines; self++)
        assert_int_equal(waitpid(m->pid[self], NULL, 0), m->pid[self]);
    for (size_t self = 0; self < m->machines; self++)
        if (m->outcome[self].status != HR_OK)
            return hr_fail(m->outcome[self].status, "machine %zu: %s", self,
                           m->outcome[self].message);
    return HR_OK;
}

enum hr_status machines_run(struct machines *m)
{
    machines_start(m);
    return machines_wait(m);
}

void machines_close(struct machines *m)
{
    munmap(m->result, ranks_of(m) * m->results * sizeof *m->result + 1);
    munmap(m->outcome, m->machines * sizeof *m->outcome + 1);
    wire_mesh_close(&m->mesh);
}
