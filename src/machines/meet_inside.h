/* meet_inside.h - what the two files of meetings share: meet.c, and what arrives, meet_arrivals.c.
 *
 * Threads: as meet.h has it.
 */
#ifndef HR_MACHINES_MEET_INSIDE_H
#define HR_MACHINES_MEET_INSIDE_H

#include "machines/meet.h"

/* Shared by the ranks of this machine. Numbers of meetings, from 1, modulo 2^32. */
struct hr_meet_words {
    alignas(HR_LINE) struct hr_atom32 arrived; /* of ranks, in all meetings; fetch_add by each */
    alignas(HR_LINE) struct hr_atom32 passed;  /* the last that is over; writer: the conductor */
    alignas(HR_LINE) struct hr_bell bell;      /* the conductor's */
    struct hr_atom32 ready;                    /* the last that all ranks here have come to, and */
    struct hr_atom32 stage;                    /* where: writer: who came last */
    alignas(HR_LINE) struct hr_atom32 came[HR_MAX_RANKS]; /* the last that a rank has come to */
};

enum hr_meet_kind { HR_MEET_COME, HR_MEET_RUN, HR_MEET_PACK, HR_MEET_END };

/* Letters' notes. */
struct hr_meet_note {
    uint32_t kind, meeting, stage, alone; /* alone: of launchers, behind all ranks */
    uint64_t offset, bytes;               /* of a RUN */
};

/* Another machine. */
struct hr_meet_other {
    struct hr_atom32 came, ended;  /* meetings. Writer: who polls; partner: the conductor */
    struct hr_atom32 stage, alone; /* of the last that it has come to */
    unsigned char *packet;         /* (room) owned: of what is packed; who polls has it */
    size_t room, bytes;
    bool arriving; /* into the packet */
};

struct hr_meet_packet {
    unsigned char *bytes; /* (room) owned */
    size_t n, room;
};

struct hr_meet {
    struct hr_meet_options options;
    struct hr_meet_words *words;
    size_t here; /* ranks that live here */
    struct hr_twin twin;
    struct hr_wire_sink sink;        /* meet_arrivals.c */
    struct hr_atom32 lands;          /* the meeting whose bytes may land. Writer: the conductor */
    struct hr_atom32 wrong;          /* what came was not what should. Writer: who polls */
    char why[200];                   /* published by wrong */
    struct hr_meet_packet packet[2]; /* for all, and for machine 0 */
    struct hr_atom32 done;           /* bodies that were sent. Writer: the carrier */
    uint32_t posted;
    uint64_t bytes;
    struct hr_meet_other other[HR_WIRE_MACHINES];
};

/* Is that meeting, or a later one, the last that this word tells of? */
static inline bool hr_meet_is_past(const struct hr_atom32 *last, uint32_t meeting)
{
    /* Partners: who polls, the conductor, ranks. */
    return (int32_t)(hr_atom32_load_acquire(last) - meeting) >= 0;
}

/* What other machines send: called by who polls. */
struct hr_wire_sink hr_meet_sink(struct hr_meet *meet);

#endif
