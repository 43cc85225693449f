/* stall.h - who is waited for, said before a wait reaches its deadline (--timeout T:WARN).
 *
 * The launcher looks at what every rank says of itself in the control block, and tells from
 * that who waits for whom. What it sees it leaves there, for hogring doctor.
 *
 *   Said     once a wait has lasted warn_ns, or a process has been stopped for so long, which the
 *            launcher itself waits for. A stopped one is named again when it stops again. Who is
 *            waited for in one step after the other is named in the first of them alone: it is
 *            slow. Long gradients that all compute alike hold up nobody but servers.
 *   Time     of looks: where the launcher did not look for longer than 0.25 s, because it saved or
 *            the whole run was stopped (Ctrl-Z), only so much counts.
 *
 * Threads: the launcher's.
 * Test:    tests/unit/launch/test_stall.c, test_stall_look.c, tests/cli/stall.bats
 */
#ifndef HR_LAUNCH_STALL_H
#define HR_LAUNCH_STALL_H

#include "shm/control.h"

/* === who waits for whom, told from what every rank says of itself: its phase and its step ===
 *
 *   Waits    a worker that communicates or stands at a cut, since its phase and step have changed
 *            last; a server's rank while every worker starts or computes.
 *   For whom whoever it cannot go on without, as far as phases and steps tell:
 *            a rank that starts: for it everybody waits, since all begin together
 *            a worker that computes a gradient: for it wait those at a cut; servers that have
 *            nothing else to take; and those who communicate, as enum hr_waits_for says.
 *            a rank of its own pipeline that computes: for it the others wait
 *            So it is with who is between two collectives, whose step is the next one's number
 *            a stopped process: for it waits whoever has not moved for half as long as is long
 *   Not told what phases cannot tell: who holds up others while all communicate, or all stand at
 *            a cut, where they evaluate; and which server does not reply, though it runs. For ssp
 *            all that have computed for as long are named; the slowest is among them.
 *
 * Pure functions: the launcher fills the struct at every look, hogring doctor once (runs.h). */

/* Which workers' gradients a worker that communicates may wait for. */
enum hr_waits_for {
    HR_WAITS_FOR_SERVERS, /* nobody's: only for servers, and workers that own a shard are servers */
    HR_WAITS_FOR_STEP,    /* those of the step that it has computed, and earlier ones */
    HR_WAITS_FOR_SLOWEST, /* those of workers that are some clocks behind */
};

struct hr_wait_rules {
    int64_t warn_ns;            /* waits as long as that are long; 0: say nothing of them */
    size_t workers;             /* the ranks behind them are servers, */
    size_t first_stage, stages; /* and then, with pipelines of `stages` ranks, workers' others */
    size_t owners;              /* workers that own a shard; the first ones */
    enum hr_waits_for waits;
};

/* What is seen of a rank at one look. */
struct hr_rank_view {
    long pid;         /* 0: on another machine, or not started */
    const char *host; /* of another machine, borrowed; NULL or "": this one */
    enum hr_phase phase;
    uint64_t step;
    bool over; /* it has returned, or is lost */
    bool stopped;
};

/* What it is called: "rank 2 (pid 4711)", "rank 5 (on node-b)". */
enum { HR_RANK_NAME = 80 };

/* And since when. */
struct hr_seen_rank {
    struct hr_rank_view view;
    int64_t since, stopped_since; /* it has this phase and step; it is stopped */
    int64_t awake_since;          /* it has had that phase and was not stopped */
    bool not_before;              /* nobody saw it being stopped: then, at the earliest */
};

struct hr_waits {
    struct hr_wait_rules rules;
    int64_t stop_ns; /* a process that has been stopped for so long holds up others */
    size_t nranks;
    int64_t now;
    struct hr_seen_rank rank[HR_MAX_RANKS];
};

/* Has it been stopped for stop_ns? */
bool hr_waits_is_stopped(const struct hr_waits *waits, size_t rank);

/* How long `waiter` has waited for rank c; 0: it does not. */
int64_t hr_waits_time(const struct hr_waits *waits, size_t waiter, size_t c);
/* The longest wait of anybody for rank c. */
int64_t hr_waits_longest(const struct hr_waits *waits, size_t c);

/* Ranks that hold up others, and those that wait for one of them. */
struct hr_hold_up {
    size_t holding[HR_MAX_RANKS], n;
    size_t first, nwaiting; /* the one that has waited longest; how many wait */
    int64_t longest;
};

/* Who waits for those `n` in holding. */
void hr_hold_up_find_waiters(const struct hr_waits *waits, struct hr_hold_up *hold_up);

/* "rank 2 (pid 4711) has been computing a gradient at step 40 for 10.2 s; rank 0 and 2 more have
 * waited up to 10.1 s for it". Returns how long it is; 800 will do. */
size_t hr_hold_up_describe(const struct hr_waits *waits, const struct hr_hold_up *hold_up,
                           char *text, size_t size);

/* What was said of a rank. */
struct hr_said_rank {
    bool reported, reported_before; /* it was waited for too long in this step; in the one before */
    bool reported_stop;             /* and since it is stopped */
    bool said, goes_on;             /* a line was about it; it has moved since */
    int64_t said_since, went_on_at;
};

struct hr_stall {
    struct hr_waits waits; /* its times: time that was looked at */
    int64_t looked_ns;     /* by the clock; 0: never */
    struct hr_said_rank said[HR_MAX_RANKS];
};

enum hr_stall_word { HR_STALL_NOTHING, HR_STALL_WAITS, HR_STALL_GOES_ON };

/* WARN of --timeout T in ns; 0 where --timeout (0: none) ends every wait before. */
int64_t hr_stall_limit_ns(double warn_s, double timeout_s);

void hr_stall_begin(struct hr_stall *stall, const struct hr_wait_rules *rules, size_t nranks);

/* A look at all ranks, at that time of the clock. */
void hr_stall_see(struct hr_stall *stall, int64_t clock_ns, const struct hr_rank_view *view);

/* What there is to say now, one line after the other, until there is nothing. */
enum hr_stall_word hr_stall_next(struct hr_stall *stall, char *text, size_t size);

/* Look at the control block, and say on stderr what there is to say. Nothing after an abort. */
void hr_stall_look(struct hr_stall *stall, struct hr_control *control);

#endif
