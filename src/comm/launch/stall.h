/* stall.h - who is waited for, said before a wait reaches its deadline (--stall-warn).
 *
 * The launcher looks at what every rank says of itself in the control block; waits.h tells from
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

#include "launch/waits.h"

/* What was said of a rank. */
struct hr_said_rank {
    bool told, told_before; /* it was waited for too long in this step; in the one before */
    bool told_stop;         /* and since it is stopped */
    bool said, goes_on;     /* a line was about it; it has moved since */
    int64_t said_since;
};

struct hr_stall {
    struct hr_waits waits; /* its times: time that was looked at */
    int64_t looked_ns;     /* by the clock; 0: never */
    struct hr_said_rank said[HR_MAX_RANKS];
};

enum hr_stall_word { HR_STALL_NOTHING, HR_STALL_WAITS, HR_STALL_GOES_ON };

/* --stall-warn in ns; 0 where --timeout (0: none) ends every wait before. */
int64_t hr_stall_limit_ns(double warn_s, double timeout_s);

void hr_stall_begin(struct hr_stall *stall, const struct hr_wait_rules *rules, size_t nranks);

/* A look at all ranks, at that time of the clock. */
void hr_stall_see(struct hr_stall *stall, int64_t clock_ns, const struct hr_rank_view *view);

/* What there is to say now, one line after the other, until there is nothing. */
enum hr_stall_word hr_stall_next(struct hr_stall *stall, char *text, size_t size);

/* Look at the control block, and say on stderr what there is to say. Nothing after an abort. */
void hr_stall_look(struct hr_stall *stall, struct hr_control *control);

#endif
