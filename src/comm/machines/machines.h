/* machines.h - the machines of a run, from before it begins until it has ended.
 *
 *     hr_machines_open(wire, &machines)     all are there; one clock, one instruction set
 *     status = hr_together_fail(&machines.together, status, ...)   as often as something may fail
 *     hr_train_call                         a run
 *     hr_machines_close(&machines)          all part; then the caller closes the wire
 *
 * Threads: one. Test: tests/unit/machines/test_together.c, tests/unit/train/test_several.c
 */
#ifndef HR_MACHINES_MACHINES_H
#define HR_MACHINES_MACHINES_H

#include "base/isa.h"
#include "machines/together.h"

/* What a machine says of itself when it comes. */
struct hr_machine_traits {
    uint64_t processors; /* that this process may use */
    enum hr_isa level;   /* of instructions, that it came with, */
    bool sums_as_amx;    /* and the order */
    char isa[16];        /* in full */
};

struct hr_machines {
    struct hr_wire *wire; /* borrowed */
    struct hr_together together;
    struct hr_machine_traits traits[HR_WIRE_MACHINES]; /* (machines) */
    size_t processors; /* that the machine with the fewest may use */
};

/* All come down to the lowest level of instructions among them (base/isa.h), and machine 0 says so:
 * call it before anything is computed, while there is one thread. HR_E_TIMEOUT, HR_E_LOST: not all
 * have come. */
HR_CHECKED enum hr_status hr_machines_open(struct hr_wire *wire, struct hr_machines *out);
/* In whatever way the run has ended. Waits for the others, a few seconds at most. */
void hr_machines_close(struct hr_machines *machines);

/* Is this machine 0, whose output is the run's? NULL: there is one machine. */
static inline bool hr_machines_first(const struct hr_machines *machines)
{
    return !machines || machines->wire->self == 0;
}

#endif
