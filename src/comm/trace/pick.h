/* pick.h - the only choice there is: which input an owner takes next.
 *
 * An owner (a server's shard, the batch dispenser, or - when one thread runs all ranks - the whole
 * run) looks at its enabled inputs and asks here. Everything else in a run is a function of the
 * configuration and of the answers, so a run is reproduced by answering alike.
 *
 *     free     in turn: the input after the one taken last, so that nobody starves
 *     explore  drawn from (seed, number of the choice)
 *     asked    what a function says: tests that try every order there is
 *
 * Two drivers answer by themselves: drive_replay.c from a trace, and drive_virtual.c with what came
 * first.
 *
 * Threads: a picker belongs to one owner.
 */
#ifndef HR_TRACE_PICK_H
#define HR_TRACE_PICK_H

#include <stddef.h>
#include <stdint.h>

enum hr_pick_kind { HR_PICK_FREE, HR_PICK_EXPLORE, HR_PICK_ASKED };

/* Returns an input that may be taken, or ninputs: none, and the run cannot go on. */
typedef size_t (*hr_choose_fn)(void *arg, const unsigned char *enabled, size_t ninputs);

struct hr_picker {
    enum hr_pick_kind kind;
    uint64_t seed;       /* explore */
    uint64_t taken;      /* choices made */
    size_t last;         /* free: the input taken last */
    hr_choose_fn choose; /* asked */
    void *arg;
};

/* enabled[i] says whether input i of ninputs may be taken. Returns one that may; ninputs
 * when none. */
size_t hr_pick(struct hr_picker *picker, const unsigned char *enabled, size_t ninputs);

#endif
