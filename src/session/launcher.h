/* launcher.h - the launcher's side of a run: it shows progress and points of the curve, has
 * checkpoints written, and passes on requests to stop. It never computes.
 *
 * How an engine plugs in: it fills the constants, `save` among them, has hr_launcher_begin called
 * before the first rank starts and hr_launcher_tick about ten times a second (hr_launch_run does),
 * and once more after all ranks have ended, for the last points and the last save.
 *
 * Threads: the launcher's own; workers see only struct hr_cut and `stop`.
 * Test:    tests/unit/session/test_cut.c
 */
#ifndef HR_SESSION_LAUNCHER_H
#define HR_SESSION_LAUNCHER_H

#include "session/cut.h"

struct hr_launcher {
    const struct hr_observer *observer;
    const struct hr_cuts *cuts;
    struct hr_atom32 *stop; /* enum hr_stop; partner: who begins a batch */
    size_t workers;
    const struct hr_atom64 *seen; /* samples of the first worker so far; an estimate */
    size_t seen_stride;           /* bytes from one worker's to the next one's */
    double max_seconds;           /* of the run's clock; 0: any */
    int64_t (*now_ns)(const void *clock);
    const void *clock;
    enum hr_status (*save)(void *engine); /* write the state at the cut to `checkpoint` */
    void *engine;
    const char *checkpoint; /* the path of the last one saved */
    /* Its own. */
    int64_t began_ns; /* by the run's clock */
    size_t points_shown;
    uint64_t saves_seen;
    enum hr_status save_status; /* of the last one */
};

/* The run begins now. */
void hr_launcher_begin(struct hr_launcher *launcher);

/* The run's clock, in picoseconds since it began. Any rank may ask. */
int64_t hr_launcher_ps(const struct hr_launcher *launcher);

/* HR_E_INTERRUPTED: asked to stop at once. */
HR_CHECKED enum hr_status hr_launcher_tick(void *launcher);

#endif
