/* control.h - the control segment: who is alive, what each does, and the first failure.
 *
 *   [ run line | abort line + record | request line | launcher's bell | rank 0 | rank 1 | ... ]
 *   rank r: [ status line, gauge: writer rank r | bell line: rung by anybody ]
 *   behind the ranks: [ flight recorder of rank 0 | of rank 1 | ... ]: writer rank r
 *
 * It is small and keeps its name while the run lives, so that a monitor can attach and a crash can
 * be read afterwards (hogring doctor). It holds no pointers. Times are those of hr_clock_ns.
 *
 * Of a run on several machines each has one, with lines for all ranks: what those of the others say
 * is written here by who carries it. They have the name of their host, and no pid: no process of
 * theirs can be looked at from here.
 *
 * Test: tests/unit/shm/test_control.c
 */
#ifndef HR_SHM_CONTROL_H
#define HR_SHM_CONTROL_H

#include "base/clock.h"
#include "shm/flight.h"
#include "shm/gauge.h"
#include "shm/roster.h"
#include "shm/segment.h"
#include "shm/wait.h"

enum { HR_MAX_RANKS = 64, HR_CONTROL_VERSION = 9, HR_HOST_TEXT = 48 };

/* What a rank is doing; the words appear in messages. */
#define HR_PHASE_LIST(X)                                                                           \
    X(HR_PHASE_STARTING, "starting")                                                               \
    X(HR_PHASE_COMPUTE, "computing a gradient")                                                    \
    X(HR_PHASE_COMMUNICATE, "communicating")                                                       \
    X(HR_PHASE_SERVE, "serving")                                                                   \
    X(HR_PHASE_CUT, "at an epoch's end or checkpoint")                                             \
    X(HR_PHASE_FINISHED, "finished")                                                               \
    X(HR_PHASE_BETWEEN, "between collectives") /* said by who looks, not by ranks */

enum hr_phase {
#define HR_PHASE_ENUM(name, text) name,
    HR_PHASE_LIST(HR_PHASE_ENUM)
#undef HR_PHASE_ENUM
};

const char *hr_phase_str(enum hr_phase phase);

enum hr_result { HR_RUNNING, HR_RETURNED_OK, HR_RETURNED_ERROR, HR_RETURNED_GONE };

struct hr_rank_status {
    alignas(HR_LINE) struct hr_atom64 pid; /* this line's writer: the rank; pid: launcher, too */
    struct hr_atom64 started;              /* of ranks without a launcher: its start time; else 0 */
    struct hr_atom64 step;
    struct hr_atom32 phase;     /* enum hr_phase */
    struct hr_atom32 result;    /* enum hr_result */
    struct hr_atom32 quiescent; /* 1 + the round it is so in (roster.h); partner: the launcher */
    struct hr_atom32 stage;     /* where it is quiescent: the driver's number */
    struct hr_atom64 since;     /* it has had this phase; partner: hogring doctor */
    struct hr_atom32 killed; /* how often it died because it was told to (--inject), counted before
                                it does; partner: its next life */
    char host[HR_HOST_TEXT]; /* of a rank on another machine; "": it is here. Constant */
    struct hr_presence presence;
    struct hr_gauge gauge; /* a line of its own; writer: the rank */
    alignas(HR_LINE) struct hr_bell bell;
};

struct hr_failure {
    enum hr_status status;
    uint32_t rank; /* HR_MAX_RANKS: the launcher */
    char message[480];
};

/* How a run's ranks came about. */
enum hr_rank_kind { HR_RANKS_SERIAL, HR_RANKS_THREADS, HR_RANKS_PROCESSES, HR_RANKS_JOINED };

/* What a run is, for who looks from outside: written once, before its ranks begin. */
struct hr_about {
    int64_t began;                   /* when the segment was made */
    int64_t began_s;                 /* the same, in seconds since 1970 */
    uint32_t rank_kind;              /* enum hr_rank_kind; serial: one process acts for all ranks */
    uint32_t workers, owners, waits; /* who waits for whom: struct hr_wait_rules */
    uint32_t first_stage, stages;    /* stages: ranks of a pipeline, */
    uint32_t team;                   /* of which so many share a stage's layers; 0: one */
    uint64_t segment_bytes;          /* shared memory without a name */
    uint64_t tokens;                 /* of a sample, of text; else 0 */
    char strategy[24];
    char command[256]; /* of the process, words apart by blanks; cut to what fits */
};

struct hr_control {
    char magic[8]; /* "HOGRING" */
    uint32_t version, nranks;
    uint64_t launcher_pid;
    struct hr_about about;
    /* The first failure: claimed by compare-exchange, then written, then published by `abort`. */
    alignas(HR_LINE) struct hr_atom32 abort; /* nonzero: everybody gives up */
    struct hr_atom32 abort_claimed;          /* 1 + the rank that writes the record; 0: nobody */
    struct hr_failure failure;
    struct hr_atom32 speaker; /* without a launcher: 1 + the rank that speaks for the dead; or 0 */
    struct hr_roster roster;
    alignas(HR_LINE) struct hr_atom64 looked; /* the launcher, last; partner: hogring doctor */
    struct hr_atom64 clock_offset;            /* hr_clock_ns less this machine's own; the same */
    struct hr_course course;                  /* a line of its own; writer: the launcher */
    alignas(HR_LINE) struct hr_bell launcher_bell;
    struct hr_rank_status rank[];
};

/* Bytes of a control block for nranks ranks. */
size_t hr_control_bytes(size_t nranks);

/* Initialise zeroed memory of that size. */
void hr_control_init(struct hr_control *control, size_t nranks);

/* What this process is called, and that it begins now. */
void hr_about_fill(struct hr_about *about);

/* Say what the run's clock is, for who looks from outside. */
static inline void hr_control_publish_clock(struct hr_control *control)
{
    hr_atom64_store_relaxed(&control->clock_offset, (uint64_t)(hr_clock_ns() - hr_clock_own_ns()));
}
/* The time of that clock, at least 0; of a copy, too, which may hold anything. */
static inline int64_t hr_control_clock_ns(const struct hr_control *control)
{
    const uint64_t now =
        (uint64_t)hr_clock_own_ns() + hr_atom64_load_relaxed(&control->clock_offset);
    return now <= INT64_MAX ? (int64_t)now : 0;
}

/* That it is a run under a strategy, with so much shared memory beside this. */
void hr_about_run(struct hr_about *about, const char *strategy, size_t segment_bytes);

/* Rank `rank` is on another machine, of that name (cut to what fits). Before ranks start. */
void hr_control_place(struct hr_control *control, size_t rank, const char *host);
bool hr_control_is_elsewhere(const struct hr_control *control, size_t rank);
/* "rank 3", or of another machine "rank 3 (on node-b)". */
struct hr_rank_text {
    char text[80];
};
struct hr_rank_text hr_control_rank_text(const struct hr_control *control, size_t rank);

/* The recorder of rank `rank`. It alone writes; others read, any time. */
struct hr_flight *hr_control_flight(struct hr_control *control, size_t rank);

/* The first step of an abort: true when rank `rank` is the one that fails. */
bool hr_control_claim(struct hr_control *control, size_t rank);

/* Stop everybody: the first caller's status and message stand, later ones are ignored. `rank` is
 * HR_MAX_RANKS for the launcher. A timeout is blamed on a rank whose process is stopped, if there
 * is one, and the waiter's message follows. Called by any thread or process of the run; by the
 * launcher also for a dead rank, which may have died between its claim and its record. */
void hr_control_abort(struct hr_control *control, size_t rank, enum hr_status status,
                      const char *message);

/* Is the process of rank `rank` stopped? (False for this process, and for ranks that have
 * returned.) Then text says so, with its pid and phase. */
bool hr_control_stopped(const struct hr_control *control, size_t rank, char *text, size_t size);

/* Blame a timeout on the stopped ranks instead of the one that waited: failure->rank becomes the
 * first of them, the others are named after it. */
void hr_control_blame_stopped(const struct hr_control *control, struct hr_failure *failure,
                              const char *message);

/* Between the two, in this process and those that it forks, hr_clock_ns stands still where nobody
 * of them reads it for half a second: they were stopped. Somebody has to read it every 50 ms. Of
 * several runs at once all have to be stopped. */
void hr_standstill_begin(void);
void hr_standstill_end(void);

/* The failure that stopped the run, or HR_OK. Sets this thread's message, with the rank
 * before it. */
HR_CHECKED enum hr_status hr_control_failure(const struct hr_control *control);

/* Say what rank `rank` is doing, from now on. Only that rank calls it. */
static inline void hr_control_phase(struct hr_control *control, size_t rank, enum hr_phase phase)
{
    struct hr_rank_status *line = &control->rank[rank];
    hr_atom32_store_relaxed(&line->phase, (uint32_t)phase);                /* partner: launcher */
    hr_atom64_store_relaxed(&line->since, (uint64_t)hr_clock_coarse_ns()); /* partner: doctor */
}

static inline void hr_control_step(struct hr_control *control, size_t rank, uint64_t step)
{
    hr_atom64_store_relaxed(&control->rank[rank].step, step);
}

#endif
