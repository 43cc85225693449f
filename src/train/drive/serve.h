/* serve.h - a parameter server's shard in real time: it waits for inputs, and takes them.
 *
 * Threads: of its rank; colocated, of the worker that owns it.
 */
#ifndef HR_DRIVE_SERVE_H
#define HR_DRIVE_SERVE_H

#include "observe/spans.h"
#include "trace/trace.h"
#include "drive/driver.h"
#include "drive/rest.h"

struct hr_server {
    const struct hr_drive *drive;
    struct hr_shard shard;
    unsigned char enabled[HR_MAX_RANKS]; /* (workers) */
    struct hr_waiter waiter;
    struct hr_rest rest;
    uint64_t taken;        /* inputs, while it does nothing else */
    uint64_t inputs;       /* all */
    int64_t began_ns;      /* of a rank that does nothing else; else 0 */
    struct hr_spans spans; /* of such a one */
};

HR_CHECKED enum hr_status hr_server_open(struct hr_server *server, const struct hr_drive *drive,
                                         size_t shard);
/* Harmless on a zeroed one. */
void hr_server_close(struct hr_server *server);

/* Is there an input that may be taken? (hr_ready_fn) */
bool hr_server_has_input(void *server);
/* Take one. */
void hr_server_take(struct hr_server *server);

/* What the worker that owns it waits for. Drain the shard, then look; the time is booked for the
 * worker. (hr_ready_fn) */
struct hr_wanted {
    struct hr_server *server;
    hr_ready_fn ready;
    void *arg;
};
bool hr_serve_then_look(void *wanted);

/* Until all workers are done. HR_E_GONE: it was told to die. */
HR_CHECKED enum hr_status hr_serve(struct hr_server *server);
/* Recalled: rest, and begin again from the snapshot. */
HR_CHECKED enum hr_status hr_server_rest(struct hr_server *server);

/* A wait passed its deadline: name a rank that is computing, or sleeping for --inject, which is the
 * usual cause. */
enum hr_status hr_say_for_whom(const struct hr_shared_state *shared, size_t rank,
                               enum hr_status status);

/* serve_stage.c: ranks beside the workers: servers' shards, and the stages of a worker's pipeline,
 * each of which does its part of every gradient until the worker has ended. */
HR_CHECKED enum hr_status hr_serve_beside(const struct hr_drive *drive, size_t rank);

#endif
