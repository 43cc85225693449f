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

enum hr_meet_kind {
    HR_MEET_REST, /* nothing of a void meeting comes behind it */
    HR_MEET_COME,
    HR_MEET_RUN,
    HR_MEET_PACK,
    HR_MEET_END,
    HR_MEET_HAVE, /* to machine 0; and */
    HR_MEET_PASS  /* from it */
};

/* Letters' notes. */
struct hr_meet_note {
    uint32_t kind, meeting, stage, alone; /* alone: of launchers, behind all ranks */
    uint64_t offset, bytes;               /* of a RUN */
};

/* Another machine. */
struct hr_meet_other {
    struct hr_atom32 came, ended;  /* meetings. Writer: who polls; partner: the conductor */
    struct hr_atom32 rested, has;  /* the same */
    bool gone;                     /* the conductor's */
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
    struct hr_atom32 over;           /* the last that machine 0 says is. Writer: who polls */
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

/* A meeting that is conducted. */
struct hr_meeting {
    unsigned stage;
    bool alone, rests; /* rests: behind a void one */
    bool repairs;      /* areas as a whole */
    size_t source;
    const char *what;
};

struct hr_gathering {
    struct hr_meet *meet;
    uint32_t meeting;
};

static inline bool hr_meet_is_wrong(const struct hr_meet *meet)
{
    return hr_atom32_load_acquire(&meet->wrong); /* partner: say_wrong */
}

/* Does that machine meet, beside this one? */
static inline bool hr_meet_has(const struct hr_meet *meet, size_t machine)
{
    return machine != meet->options.homes.self && !meet->other[machine].gone;
}

/* --- meet_order.c --- */

/* To a machine; the body is counted in meet->done when it has been sent. */
HR_CHECKED enum hr_status hr_meet_post(struct hr_meet *meet, size_t to,
                                       const struct hr_meet_note *note, const void *body,
                                       size_t bytes);

/* Nothing of a void meeting is under way any more, from or to anybody. */
HR_CHECKED enum hr_status hr_meet_come_to_rest(struct hr_meet *meet, struct hr_waiter *waiter,
                                               uint32_t meeting);
/* This machine has all of it, and by machine 0's word so have all. */
HR_CHECKED enum hr_status hr_meet_agree(struct hr_meet *meet, struct hr_waiter *waiter,
                                        uint32_t meeting);

/* What other machines send: called by who polls. */
struct hr_wire_sink hr_meet_sink(struct hr_meet *meet);

#endif
