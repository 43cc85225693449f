/* look.h - one look at a run from outside: who waits for whom, since when, and whose fault it is.
 *
 * What a run's control segment says (a copy of it: runs.h) and /proc, put together. Of a run that
 * is dead it is what was seen last: times end there.
 *
 * Threads: any. Test: tests/unit/launch/test_look.c, tests/cli/doctor.bats
 */
#ifndef HR_LAUNCH_LOOK_H
#define HR_LAUNCH_LOOK_H

#include "launch/runs.h"
#include "launch/waits.h"

enum hr_run_state {
    HR_RUN_ALIVE,
    HR_RUN_HELD_UP, /* some rank waits for long */
    HR_RUN_STOPPED, /* the launcher's process, or some rank's */
    HR_RUN_ENDING,  /* it has failed, and ends */
    HR_RUN_DEAD,
};

/* "held up" */
const char *hr_run_state_str(enum hr_run_state state);

struct hr_look {
    enum hr_run_state state;
    bool launcher_stopped;
    int64_t silent_ns;         /* since the launcher has looked; 0: it is no launcher's run */
    struct hr_waits waits;     /* its now: the time of the look, by hr_clock_ns; or of the end */
    bool lost[HR_MAX_RANKS];   /* its process is gone, and it has not returned */
    struct hr_hold_up hold_up; /* who is to blame; n 0: nobody is */
};

/* Look at a run that can be read. Waits of at least long_ns are long; a stopped process holds up
 * others at once. */
void hr_look_at(const struct hr_run_file *run, int64_t long_ns, struct hr_look *look);

/* For how many ranks this one waits, the first of `whom` (HR_MAX_RANKS), and how long at most. */
size_t hr_look_waits_for(const struct hr_look *look, size_t rank, size_t *whom, int64_t *time);

/* One sentence: what is wrong, and whose fault it is; "" when nothing is. 1000 will do. */
void hr_look_say(const struct hr_run_file *run, const struct hr_look *look, char *text,
                 size_t size);

#endif
