/* losses_multinode.h - losses of a run on several machines.
 *
 * Machine 0 says who is gone, and all hear it in the same order. Every loss ends the term, whatever
 * the strategy: what a machine has is in the last cut alone.
 *
 *   machine m   sees that another is lost, or a rank of its own     report -> machine 0
 *   machine 0   has seen it, or been told                           order  -> all who live
 *   all         take the order: the bridge's term is over (machines/bridge.h), and with it a
 *               barrier under way; ranks are revoked (shm/roster.h). Servers of a machine that is
 *               lost move to those that are left. When all ranks here are quiescent a new term
 *               begins:
 *
 *   1. what was under way has come, or is dropped; a barrier: what ranks have counted is everywhere
 *   2. machine 0 goes back to the last cut, of which it alone has kept the state
 *   3. a second barrier: all have what machine 0 has
 *   4. as on one machine: active workers, group and strategy begin there; their rings are carried
 *
 * Who is lost before 4 makes all begin again with 1: until then nobody needs anything but the last
 * cut. When the last cut has passed nobody goes back: who is lost then is only noted.
 * Machine 0 leads: without it the run ends, as it does when no worker is left there.
 *
 * Threads: the launcher's, but for what bridges' pollers write.
 * Source:  one sequencer for all decisions: Birman and Joseph, "Reliable communication in the
 *          presence of failures", ACM TOCS 1987 (views agreed upon by a coordinator).
 * Test:    tests/unit/drive/test_losses_multinode.c, tests/unit/train/test_multinode_losses.c
 */
#ifndef HR_DRIVE_LOSSES_MULTINODE_H
#define HR_DRIVE_LOSSES_MULTINODE_H

#include "drive/losses.h"
#include "machines/gather_barrier.h"

enum { HR_LOSS_TEXT = 104, HR_LOSS_INBOX = 2 * HR_WIRE_MACHINES };

/* A report, or an order: machines, and ranks that were lost alone. */
struct hr_loss_message {
    uint64_t machines, ranks, term; /* term: of an order: the next; 0: the run is ending */
    char how[HR_LOSS_TEXT];
};

struct hr_losses_multinode {
    struct hr_bridge *bridge;
    struct hr_gather_barrier *barrier;
    const struct hr_wire *wire; /* for names */
    struct hr_hosts *hosts;     /* shared->hosts: servers move */
    struct hr_control *control;
    int64_t timeout_ns;
    size_t channel; /* of messages */
    /* A term begins: make rings of the active workers anew, and carry them. */
    enum hr_status (*carry)(void *arg);
    void *arg;
    /* Writer: who polls. */
    uint64_t known;        /* machine 0: machines that it has been told of, or has seen lost */
    struct hr_atom64 seen; /* elsewhere: those that this one has seen lost; partner: report */
    uint32_t placed;       /* messages that have a place in the inbox */
    struct hr_atom32 came; /* of them, each of which becomes an order, or is one; partner: take */
    struct hr_loss_message inbox[HR_LOSS_INBOX + HR_WIRE_MACHINES];
    char how[HR_WIRE_MACHINES][HR_LOSS_TEXT]; /* published by seen */
    /* The launcher's. */
    struct hr_atom32 took;   /* of came; partner: place */
    uint64_t reported, gone; /* machines */
    uint64_t again;          /* samples that the next term computes once more */
    uint32_t term;
    unsigned stage;  /* where ranks here are quiescent, or others meet */
    unsigned passed; /* the stage of the last barrier; 0: there was none */
};

/* Does this machine keep the account, and say who is gone? */
static inline bool hr_losses_lead(const struct hr_losses *losses)
{
    return !losses->multinode || losses->multinode->hosts->self == 0;
}

/* Does that rank live here? */
static inline bool hr_losses_here(const struct hr_losses *losses, size_t rank)
{
    return !losses->multinode || hr_hosts_here(losses->multinode->hosts, rank);
}

/* Who listens for reports and orders; what the bridge calls (lost), of struct hr_losses_multinode.
 */
struct hr_wire_sink hr_losses_multinode_sink(struct hr_losses_multinode *it);
void hr_losses_multinode_saw(void *it, size_t machine, const char *how);

/* A rank that lived here is gone. (hr_launch_options.lost) */
bool hr_losses_multinode_lost(void *losses, size_t rank, const char *how);

/* What has been seen or ordered since the last time: reported, ordered, taken. Call at every ring
 * of the launcher's bell. HR_E_LOST: the others go on without this machine. */
HR_CHECKED enum hr_status hr_losses_multinode_take(struct hr_losses *losses);
/* Are all ranks here quiescent that live? Where none does: have others come to a barrier, or is
 * there a term to be begun? Then its stage says where. */
bool hr_losses_multinode_quiescent(struct hr_losses *losses);
/* All machines meet, where their ranks are quiescent. HR_E_REVOKED: there is an order to take
 * first. */
HR_CHECKED enum hr_status hr_losses_multinode_barrier(struct hr_losses *losses);
/* Where no worker lives here: until the others meet, or there is an order to take. HR_E_ABORTED. */
HR_CHECKED enum hr_status hr_losses_multinode_wait(struct hr_losses *losses);
/* All ranks here are quiescent, and a loss has been taken: see above. *again: samples that will be
 * computed once more. HR_E_REVOKED: as above. */
HR_CHECKED enum hr_status hr_losses_multinode_begin(struct hr_losses *losses, uint64_t *again);
/* All ranks have ended: machines' launchers meet. */
HR_CHECKED enum hr_status hr_losses_multinode_end(struct hr_losses *losses);

#endif
