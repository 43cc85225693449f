/* launch.h - ranks as threads or as forked processes, with the same code.
 *
 * The launcher creates the ranks, watches them and reaps them, and never computes. A rank is one
 * call of `main`; when it returns an error, or its process dies, the whole run is aborted through
 * the control block and the first failure is what the launcher returns.
 *
 * Of a run on several machines this one starts those that live here, and has the others' lines in
 * the control block beside them: they are waited for, and named, but not looked after
 * (shm/control.h).
 *
 * Processes: forked before any team of threads or BLAS call of this process; they ignore SIGINT,
 * SIGTERM and SIGHUP (the launcher decides what a signal means), and die with the launcher.
 */
#ifndef HR_LAUNCH_LAUNCH_H
#define HR_LAUNCH_LAUNCH_H

#include "launch/stall.h"
#include "shm/control.h"
#include "shm/hosts.h"

enum hr_launch { HR_LAUNCH_THREAD, HR_LAUNCH_PROCESS };

/* "thread" or "process"; HR_E_USAGE. */
HR_CHECKED enum hr_status hr_launch_parse(const char *name, enum hr_launch *out);
const char *hr_launch_name(enum hr_launch launch);

#define HR_LATER SIZE_MAX

struct hr_launch_options {
    enum hr_launch launch;
    size_t nranks;                /* of the run */
    const struct hr_hosts *hosts; /* those that live here are started; NULL: all */
    struct hr_control *control;
    enum hr_status (*main)(void *arg, size_t rank); /* runs in the rank */
    /* Runs in the launcher about every tick_ns, and whenever control->launcher_bell rings; an error
     * aborts the run. May be NULL. */
    enum hr_status (*tick)(void *arg);
    /* Rank `rank` is gone: its process has died, or main returned HR_E_GONE. True: the run goes on
     * without it. Runs in the launcher. NULL: it never does. */
    bool (*lost)(void *arg, size_t rank, const char *how);
    /* The rank to start again now; nranks: none; HR_LATER: not now. NULL: never. */
    size_t (*again)(void *arg);
    void *losses;       /* arg of both */
    int64_t tick_ns;    /* 0: 50 ms */
    int64_t grace_ns;   /* for ranks to react to an abort; 0: 10 s, processes 1 s */
    int64_t timeout_ns; /* for a stopped process, if no rank has waited as long; 0: for ever */
    struct hr_wait_rules stall; /* who is named when others wait for it; zeroed: nobody */
    void *arg;                  /* of main, */
    void *tick_arg;             /* and of tick; NULL: the same */
};

/* Run all ranks to their end. HR_OK, or the first failure with its message. When a rank does not
 * react to an abort (it computes without end) a process is killed, one that is stopped at once; a
 * thread cannot be, and *stuck is set: its memory must not be freed. */
HR_CHECKED enum hr_status hr_launch_run(const struct hr_launch_options *options, bool *stuck);

#endif
