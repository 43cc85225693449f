/* inject.h - trouble on purpose: ranks that are slow, stall or die, messages that are lost, numbers
 * that go wrong. What happens is an input of the run like any other, and the same again.
 *
 * Text:      a comma list of
 *                slow:RANKxF                    every step of RANK takes F times as long
 *                slow:RANKxF@P%                 only with probability P %, drawn for each step
 *                slow:stage:RANK:KxF[@P%]       the same of stage K of RANK's pipeline alone
 *                stall:RANK@step=N+T            RANK waits T before its step N
 *                stall:any@p=P, =PxN            under --clock explore: at each event somebody
 *                                               stands still with probability P, a worker or a
 *                                               server, for at most HR_INJECT_LONGEST_STALL events,
 *                                               or until nothing else can happen; once, or at most
 *                                               N times in all
 *                load:RANK+T                    every batch of RANK takes T longer to load
 *                kill:RANK@step=N               RANK dies before the gradient of its step N
 *                kill:RANK@time=T               ... at time T of the run's clock
 *                kill:server:S@step=N           server S dies before it takes its input N
 *                kill:server:S@time=T           ... at time T of the run's clock
 *                kill:any@p=P                   under --clock explore: at each event some worker
 *                                               dies with probability P, once in all
 *                kill:any@p=PxN                 ... at most N times in all
 *                kill:server:any@p=P, =PxN      ... some server
 *                drop-push:p=P                  each push to a server, or the answer to it, is lost
 *                                               with probability P, and sent again after 50ms; each
 *                                               time anew
 *                drop-push:p=P+T                ... after T
 *                nan:RANK@step=N                a number in RANK's gradient of step N is NaN
 *                flip-bit:weights:RANK@step=N   one bit of RANK's copy of the weights flips before
 *                                               its step N
 *            RANK is a worker; for slow, stall and load also *, every one of them, as K may be.
 *            Steps and inputs are counted from 0, each worker's and server's by itself; a worker
 *            that came back goes on counting.
 *            F 0.001 to 1000; P % up to 100, P less than 1; T a time, at most 24h. As
 *            slow:3x2,slow:*x3@10%,stall:1@step=50+3s. What slows one step is multiplied; stalls
 *            and loading come on top and are not stretched.
 * Draws:     Philox of (seed, rank, step, place in the list, or server and attempt): the same
 *            everywhere.
 * Threads:   const after parse.
 * Test:      tests/unit/netsim/test_inject.c, test_inject_text.c
 */
#ifndef HR_NETSIM_INJECT_H
#define HR_NETSIM_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "netsim/topology.h"

enum { HR_INJECT_ENTRIES = 64, HR_INJECT_MOST_DROPS = 20, HR_INJECT_LONGEST_STALL = 200 };

enum hr_inject_kind {
    HR_INJECT_SLOW,
    HR_INJECT_SLOW_STAGE,
    HR_INJECT_STALL,
    HR_INJECT_STALL_ANY,
    HR_INJECT_LOAD,
    HR_INJECT_KILL,
    HR_INJECT_KILL_SERVER,
    HR_INJECT_KILL_ANY,
    HR_INJECT_KILL_ANY_SERVER,
    HR_INJECT_DROP_PUSH,
    HR_INJECT_NAN,
    HR_INJECT_FLIP_BIT,
};

#define HR_INJECT_ALL SIZE_MAX /* as a rank: every one */

struct hr_inject_entry {
    enum hr_inject_kind kind;
    size_t rank;        /* a worker, or a server */
    size_t stage;       /* slow:stage: of its pipeline */
    double factor;      /* slow */
    double probability; /* slow, drop-push, kill:any, stall:any: 0 to 1 */
    uint64_t step;      /* stall, kill, nan, flip-bit; of any: how often at most */
    int64_t ps;         /* stall, load, drop-push; kill at a time */
    bool timed;         /* kill: at a time, not a step */
};

/* All zero: nothing is injected. */
struct hr_inject {
    size_t n;
    struct hr_inject_entry entry[HR_INJECT_ENTRIES];
};

/* Read the list for a run of so many ranks; "" is nothing. HR_E_USAGE: "<where><entry>: expected
 * ...". On error *out is untouched. */
HR_CHECKED enum hr_status hr_inject_parse(const char *where, const char *text, size_t workers,
                                          size_t servers, struct hr_inject *out);
/* The first entry that is about time (slow, stall, load, and what is to be at a time), where text
 * has one: how such entries begin. NULL: there is none, or the text cannot be read. */
const char *hr_inject_timed(const char *text);
/* "kill:any", "kill:server:any" or "stall:any", where text has one that can be read; else NULL. */
const char *hr_inject_explored(const char *text);
/* The list without slow, stall, load and drop-push, which decide no bit of a run in which the order
 * of inputs is given, and without deaths, which a trace has itself. Not longer than `text`; what
 * cannot be read is kept. */
void hr_inject_to_repeat(const char *text, char *out, size_t size);
/* Is there an entry of that kind? */
bool hr_inject_has(const struct hr_inject *inject, enum hr_inject_kind kind);

/* How long the gradient of step `step` of `rank` takes instead of base_ps, without stalls and
 * loading. At most HR_PS_NEVER, as those below. */
int64_t hr_inject_ps(const struct hr_inject *inject, uint64_t seed, size_t rank, uint64_t step,
                     int64_t base_ps);
/* How many times as long stage `stage` of its pipeline takes, all else being equal. */
double hr_inject_stage_factor(const struct hr_inject *inject, uint64_t seed, size_t rank,
                              size_t stage, uint64_t step);
/* How long it stalls before that step. */
int64_t hr_inject_stall_ps(const struct hr_inject *inject, size_t rank, uint64_t step);
/* How much longer each of its batches takes to load. */
int64_t hr_inject_load_ps(const struct hr_inject *inject, size_t rank);

/* How many deaths of that kind (HR_INJECT_KILL, HR_INJECT_KILL_SERVER) are due by that step and
 * that time. */
size_t hr_inject_kills_due(const struct hr_inject *inject, enum hr_inject_kind kind, size_t rank,
                           uint64_t step, int64_t now_ps);

/* Whose deaths are drawn. */
enum hr_mortal { HR_MORTAL_WORKER, HR_MORTAL_SERVER, HR_MORTAL };

/* A death that was drawn: of whom, modulo those who live; late: its gradient is computed, and not
 * handed in. */
struct hr_inject_death {
    uint32_t who;
    bool late;
};

/* Does one die (kill:any) at event `event` of an explored schedule, when so many have died so? */
bool hr_inject_dies(const struct hr_inject *inject, uint64_t seed, enum hr_mortal kind,
                    uint64_t event, size_t deaths, struct hr_inject_death *death);

/* A stall that was drawn: of whom, modulo those who live, and for how many events. */
struct hr_inject_pause {
    uint32_t who, events;
};

/* Does one stand still (stall:any) from that event on, when so many have? */
bool hr_inject_stalls(const struct hr_inject *inject, uint64_t seed, uint64_t event, size_t stalls,
                      struct hr_inject_pause *pause);

/* What is lost when a push is sent to a server: one half of the losses each. */
enum hr_inject_loss {
    HR_LOSS_NONE,
    HR_LOSS_MESSAGE, /* it never arrives */
    HR_LOSS_ANSWER,  /* it arrives, and its sender does not learn so */
};
struct hr_inject_push {
    size_t rank, server;
    uint64_t step;    /* of the rank */
    unsigned attempt; /* from 0; that of HR_INJECT_MOST_DROPS succeeds */
};
enum hr_inject_loss hr_inject_drop(const struct hr_inject *inject, uint64_t seed,
                                   const struct hr_inject_push *push);
/* How long after a loss it is sent again. */
int64_t hr_inject_deadline_ps(const struct hr_inject *inject);

/* Does the gradient of that step have a NaN in it? */
bool hr_inject_nan(const struct hr_inject *inject, size_t rank, uint64_t step);
/* Does a bit of the rank's weights flip before that step? */
bool hr_inject_flip(const struct hr_inject *inject, size_t rank, uint64_t step);
/* A number below `count` for what goes wrong in that step: the same for the same arguments. */
uint64_t hr_inject_place(uint64_t seed, size_t rank, uint64_t step, uint64_t count);

#endif
