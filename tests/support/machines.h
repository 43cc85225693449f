/* machines.h - several machines in one: processes or threads, each with a segment of its own,
 * joined by sockets; on each some ranks of one group, as threads.
 *
 *     struct machines machines = {.machines = 2, .each = 2, .floats = 1000, .body = body};
 *     CHECK_OK(machines_run(&machines));
 *     ... machines.result ...
 *     machines_close(&machines);
 */
#ifndef HR_TESTS_SUPPORT_MACHINES_H
#define HR_TESTS_SUPPORT_MACHINES_H

#include <sys/types.h>

#include "group/group.h"
#include "machines/bridge.h"
#include "support/wire_socket.h"

struct machines;

/* What a body sees: one rank, in its thread. */
struct far_rank {
    struct machines *machines;
    size_t rank, machine;
    struct hr_bridge *bridge; /* NULL: there is one machine */
    struct hr_control *control;
    struct hr_waiter waiter;
    struct hr_member member;
    float *floats; /* its own, in the segment */
    float *result; /* (results), of all machines' ranks one behind the other, for the test */
};

struct outcome {
    enum hr_status status;
    char message[480];
    int64_t ended_ns;
    struct hr_carried carried;
};

struct machines {
    size_t machines, each; /* ranks */
    bool fork, carries;    /* carries: each has a thread that does, */
    bool alone;            /* and nobody else: as where ranks are processes */
    size_t floats, results;
    struct hr_group_options options; /* nranks and hosts are filled in */
    uint32_t trouble;                /* of the wire, in percent */
    size_t part_bytes;
    int64_t timeout_ns; /* (100 s) */
    enum hr_status (*body)(struct far_rank *me);
    void *arg;
    /* Made by the run; shared with forked machines. */
    struct wire_mesh mesh;
    pid_t pid[WIRE_MESH_MACHINES];
    float *result; /* (ranks, results) */
    struct outcome *outcome;
};

/* Run; HR_OK or the status of the first machine that failed, with its message. */
HR_CHECKED enum hr_status machines_run(struct machines *machines);
/* The same in two steps: forked machines run meanwhile. */
void machines_start(struct machines *machines);
HR_CHECKED enum hr_status machines_wait(struct machines *machines);
void machines_close(struct machines *machines);

#endif
