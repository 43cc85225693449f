/* losses_apart.h - losses of a run on several machines: machine 0 says who is gone, and all hear it
 * in the same order.
 *
 *   machine m   sees that another is lost, or a rank of its own     report -> machine 0
 *   machine 0   has seen it, or been told                           order  -> all who live
 *   all         take the order: a meeting under way is void (machines/meet.h), workers are recalled
 *               (shm/roster.h); when all who live rest a new term begins, on all machines
 *
 * A term that begins (hr_losses_apart_begin):
 *   1. rings of the group send nothing more, and all have what was sent; a meeting: what ranks have
 *      counted is everywhere.
 *   2. seats are those of who lives; the group and its rings are made anew.
 *   3. machine 0 goes back to the last cut (terms.h), of which it has kept the state.
 *   4. a second meeting: all have that snapshot, and those counters. It is over for all or for
 *      none: who is lost before makes all begin again with 1.
 * Machine 0 leads: without it the run ends, as it does when no worker is left there.
 *
 * Threads: the launcher's, but for what carriers' pollers write.
 * Source:  one sequencer for all decisions: Birman and Joseph, "Reliable communication in the
 *          presence of failures", ACM TOCS 1987 (views agreed upon by a coordinator).
 * Test:    tests/unit/drive/test_losses_apart.c, tests/unit/train/test_several_losses.c
 */
#ifndef HR_DRIVE_LOSSES_APART_H
#define HR_DRIVE_LOSSES_APART_H

#include "drive/losses.h"
#include "machines/meet.h"

enum { HR_LOSS_TEXT = 104 };

struct hr_losses_apart {
    struct hr_carrier *carrier;
    struct hr_meet *meet;
    const struct hr_wire *wire; /* for names */
    struct hr_homes homes;
    struct hr_control *control;
    int64_t timeout_ns;
    size_t channel;    /* of letters */
    size_t first_ring; /* of the group's; those before it stay */
    /* Carry the rings of the group of those who have seats. */
    enum hr_status (*carry)(void *arg);
    void *arg;
    /* Writer: who polls; sets, of machines and of ranks. */
    struct hr_atom64 seen;                      /* machines that were lost, as this one sees it */
    struct hr_atom64 told_machines, told_ranks; /* by reports, or, elsewhere, by orders */
    struct hr_atom32 news;                      /* machine 0: of any of these; else: orders */
    char how[HR_WIRE_MACHINES][HR_LOSS_TEXT];   /* published by the sets */
    char rank_how[HR_MAX_RANKS][HR_LOSS_TEXT];
    /* The launcher's. */
    uint64_t died; /* ranks, here */
    uint64_t reported_machines, reported_ranks;
    uint64_t gone_machines, gone_ranks; /* by order */
    uint64_t again;                     /* samples that the next term computes once more */
    uint32_t taken;                     /* of news */
    unsigned stage;                     /* where ranks here rest, or others meet */
    unsigned passed;                    /* the stage of the last meeting; 0: there was none */
};

/* Does this machine keep the account, and say who is gone? */
static inline bool hr_losses_lead(const struct hr_losses *losses)
{
    return !losses->apart || losses->apart->homes.self == 0;
}

/* Who listens for reports and orders; what the carrier calls (lost), of struct hr_losses_apart. */
struct hr_wire_sink hr_losses_apart_sink(struct hr_losses_apart *apart);
void hr_losses_apart_saw(void *apart, size_t machine, const char *how);

/* A rank that lived here is gone. (hr_launch_options.lost) */
bool hr_losses_apart_lost(void *losses, size_t rank, const char *how);

/* What has been seen or ordered since the last time: reported, ordered, taken. Call at every ring
 * of the launcher's bell. HR_E_LOST: the others go on without this machine. */
HR_CHECKED enum hr_status hr_losses_apart_take(struct hr_losses *losses);

/* Do all ranks here rest that live? Where none does: have others come to a meeting, or is there a
 * term to be begun? Then apart->stage says where. */
bool hr_losses_apart_rest(struct hr_losses *losses);
/* Where no worker lives here: until the others meet, or there is an order to take. HR_E_ABORTED. */
HR_CHECKED enum hr_status hr_losses_apart_wait(struct hr_losses *losses);
/* All machines meet, where their ranks rest. HR_E_RECALLED: there is an order to take first. */
HR_CHECKED enum hr_status hr_losses_apart_meet(struct hr_losses *losses);
/* All ranks here rest, and a loss has been taken: see above. *again: samples that will be computed
 * once more. HR_E_RECALLED: as above. */
HR_CHECKED enum hr_status hr_losses_apart_begin(struct hr_losses *losses, uint64_t *again);
/* All ranks have ended: machines' launchers meet. */
HR_CHECKED enum hr_status hr_losses_apart_end(struct hr_losses *losses);

#endif
