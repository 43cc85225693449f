/* stall.h - who is waited for, said before a wait reaches its deadline (--stall-warn).
 *
 * The launcher looks at what every rank says of itself in the control block, its phase and its
 * step, so ranks do nothing for it.
 *
 *   Waits    a worker that communicates or stands at a cut, since its phase and step have changed
 *            last; a server's rank while every worker starts or computes.
 *   For whom whoever it cannot go on without, as far as phases and steps tell:
 *            a rank that starts: for it everybody waits, since all begin together
 *            a worker that computes a gradient: for it wait those at a cut; servers that have
 *            nothing else to take; and those who communicate, as hr_stall_waits says
 *            a stopped process: for it waits whoever has not moved for half as long
 *   Said     once a wait has lasted warn_ns, or a process has been stopped for so long, which the
 *            launcher itself waits for. A stopped one is named again when it stops again. Who is
 *            waited for in one step after the other is named in the first of them alone: it is
 *            slow. Long gradients that all compute alike hold up nobody but servers.
 *   Not said what phases cannot tell: who holds up others while all communicate, or all stand at
 *            a cut, where they evaluate; and which server does not reply, though it runs. For ssp
 *            all that have computed for as long are named; the slowest is among them.
 *   Time     of looks: where the launcher did not look for longer than 0.25 s, because it saved or
 *            the whole run was stopped (Ctrl-Z), only so much counts.
 *
 * Threads: the launcher's.
 * Test:    tests/unit/launch/test_stall.c, tests/cli/stall.bats
 */
#ifndef HR_LAUNCH_STALL_H
#define HR_LAUNCH_STALL_H

#include "shm/control.h"

/* Which workers' gradients a worker that communicates may wait for. */
enum hr_stall_waits {
    HR_WAITS_FOR_SERVERS, /* nobody's: only for servers, and workers that own a shard are servers */
    HR_WAITS_FOR_STEP,    /* those of the step that it has computed, and earlier ones */
    HR_WAITS_FOR_SLOWEST, /* those of workers that are some clocks behind */
};

struct hr_stall_rules {
    int64_t warn_ns; /* 0: say nothing */
    size_t workers;  /* the ranks behind them are servers */
    size_t owners;   /* workers that own a shard; the first ones */
    enum hr_stall_waits waits;
};

/* What is seen of a rank at one look. */
struct hr_stall_view {
    long pid;
    enum hr_phase phase;
    uint64_t step;
    bool over; /* it has returned, or is lost */
    bool stopped;
};

/* What is remembered of it. Times are those of struct hr_stall. */
struct hr_stall_rank {
    struct hr_stall_view view;
    int64_t since, stopped_since; /* it has this phase and step; it is stopped */
    int64_t awake_since;          /* it has had that phase and was not stopped */
    bool told, told_before;       /* it was waited for too long in this step; in the one before */
    bool told_stop;               /* and since it is stopped */
    bool said, goes_on;           /* a line was about it; it has moved since */
    int64_t said_since;
};

struct hr_stall {
    struct hr_stall_rules rules;
    size_t nranks;
    int64_t looked_ns; /* by the clock; 0: never */
    int64_t now;       /* time that was looked at */
    struct hr_stall_rank rank[HR_MAX_RANKS];
};

enum hr_stall_word { HR_STALL_NOTHING, HR_STALL_WAITS, HR_STALL_GOES_ON };

/* --stall-warn in ns; 0 where --timeout (0: none) ends every wait before. */
int64_t hr_stall_limit_ns(double warn_s, double timeout_s);

void hr_stall_begin(struct hr_stall *stall, const struct hr_stall_rules *rules, size_t nranks);

/* A look at all ranks, at that time of the clock. */
void hr_stall_see(struct hr_stall *stall, int64_t clock_ns, const struct hr_stall_view *view);

/* What there is to say now, one line after the other, until there is nothing. */
enum hr_stall_word hr_stall_next(struct hr_stall *stall, char *text, size_t size);

/* Look at the control block, and say on stderr what there is to say. Nothing after an abort. */
void hr_stall_look(struct hr_stall *stall, const struct hr_control *control);

#endif
