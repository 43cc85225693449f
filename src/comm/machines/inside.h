/* inside.h - what the two files of the bridge share: carry.c, and above it bridge.c. Everything
 * here is touched by who has the lock.
 */
#ifndef HR_MACHINES_INSIDE_H
#define HR_MACHINES_INSIDE_H

#include <pthread.h>
#include <string.h>

#include "base/size.h"
#include "machines/bridge.h"

/* --- heads of what bridges send each other ---
 *
 *   [ base | of its kind | words | credits ]      at most HR_WIRE_HEAD bytes, all multiples of 8
 *
 * All machines run the same program on the same kind of processor (whoever starts a run sees to
 * it), so a head is structs as they lie. */

enum hr_head_kind {
    HR_HEAD_MESSAGE = 1, /* struct hr_head_message */
    HR_HEAD_DIRECT,      /* struct hr_head_direct, note */
    HR_HEAD_HEARTBEAT,   /* body: lines */
    HR_HEAD_ABORT,       /* body: struct hr_failure */
    HR_HEAD_LEAVE,
    HR_HEAD_LEAVE_SEEN, /* it has come, and its sender may go */
    HR_HEAD_NOTHING     /* credits and words alone */
};

struct hr_head_base {
    uint8_t kind, credits, words;
    uint8_t last;    /* the last part of its body */
    uint32_t number; /* of lines, of a heartbeat; of the step at which it failed, of an abort */
    uint32_t term;   /* it means something in that one alone; 0: in any */
    uint32_t bare;   /* it carries no words and no credits; all of no term do not */
};

struct hr_head_message {
    uint32_t ring; /* its number in the order of hr_bridge_add_ring */
    uint32_t slot; /* struct hr_cargo */
    uint64_t ring_at, number, offset, bytes, part_at;
    struct hr_message message;
};

struct hr_head_direct {
    uint32_t channel, note_bytes;
    uint64_t bytes, part_at;
};

struct hr_head_credit {
    uint32_t ring, released; /* modulo 2^32 */
};

struct hr_head_words {
    uint32_t region, bytes;
    uint64_t version; /* then the words */
};

/* A head that is being made. */
struct hr_head {
    alignas(8) unsigned char at[HR_WIRE_HEAD];
    size_t bytes;
};

static inline struct hr_head_base *hr_head_begin(struct hr_head *head, enum hr_head_kind kind,
                                                 uint32_t term)
{
    struct hr_head_base *base = (struct hr_head_base *)(void *)head->at;
    *base = (struct hr_head_base){.kind = (uint8_t)kind, .last = 1, .term = term, .bare = !term};
    head->bytes = sizeof *base;
    return base;
}

static inline size_t hr_head_room(const struct hr_head *head)
{
    return HR_WIRE_HEAD - head->bytes;
}

/* Append; there is room. */
static inline void hr_head_add(struct hr_head *head, const void *what, size_t bytes)
{
    HR_ASSERT(bytes % 8 == 0 && bytes <= hr_head_room(head));
    memcpy(head->at + head->bytes, what, bytes);
    head->bytes += bytes;
}

/* A head that is read. */
struct hr_head_reader {
    const unsigned char *at, *end;
};

/* The next `bytes` bytes; NULL: there are not so many. */
static inline const void *hr_head_take(struct hr_head_reader *reader, size_t bytes)
{
    const unsigned char *at = reader->at;
    if (bytes > (size_t)(reader->end - at))
        return NULL;
    reader->at += bytes;
    return at;
}

/* --- what a bridge has --- */

enum { HR_SENDING_PARTS = 16, HR_SCAN_NS = 1000 * 1000 /* between looks at everything */ };

/* Part of a body, or a whole one, that the wire has. */
struct hr_body_part {
    bool done, last;
};

/* A ring whose producer lives here: we are its consumer. */
struct hr_sending {
    struct hr_sending *next; /* to the same rank */
    struct hr_ring *ring;
    uint32_t number;
    uint16_t from, to;
    uint8_t machine;
    bool active; /* there may be something to do */
    hr_cargo_fn cargo;
    const void *arg;
    uint64_t taken;    /* messages of which the wire has all */
    uint64_t released; /* over there */
    /* Of the message that is being taken. */
    bool begun;
    struct hr_cargo now;
    size_t sent;
    struct hr_body_part part[HR_SENDING_PARTS];
    size_t first, nparts;
};

/* A ring whose consumer lives here: we are its producer. */
struct hr_landing {
    struct hr_landing *next; /* from the same rank */
    struct hr_ring *ring;
    uint32_t number;
    uint16_t from, to;
    uint8_t machine;
    bool due;          /* among those whose credits are due */
    uint64_t credited; /* releases that the sender knows of, or will */
    uint64_t expected; /* the number of the message that is placed next */
    size_t aside;      /* messages that wait for their place */
    /* Of the message that is coming. */
    bool receiving;
    unsigned char *where;
};

/* Bytes of a message that is not released yet, or that wait beside the segment. */
struct hr_landed {
    struct hr_landing *landing;
    uint64_t number;
    size_t begin, bytes;
    unsigned char *aside; /* owned; NULL: they, or nothing, lie in the segment */
    bool whole;           /* all of it has come */
    bool waits;           /* it is not committed */
    uint64_t compared;    /* with what lies there: machine's landings then */
    struct hr_message message;
};

struct hr_direct_message {
    struct hr_direct_message *next;
    uint32_t term; /* 0: of any */
    bool bare;     /* a machine that has not come as far can take it */
    struct hr_head_direct head;
    unsigned char note[HR_DIRECT_NOTE];
    const unsigned char *body;
    size_t sent;
    struct hr_body_part part[HR_SENDING_PARTS];
    size_t first, nparts;
    bool all_sent;
    struct hr_atom32 *done;
    struct hr_bell *bell;
};

/* Small regions with one writer. */
struct hr_tracked {
    struct hr_atom64 *words;
    size_t writer, bytes;
    uint64_t version; /* of `copy` */
    uint64_t copy[HR_TRACKED_BYTES / 8];
};

/* What one rank does, told to the others. */
struct hr_heartbeat_line {
    uint32_t rank, phase, result, stage;
    uint64_t step, age_ns, samples, gradients;
};

/* A direct message that is coming. */
struct hr_direct_coming {
    bool receiving;
    unsigned char *where;
};

/* Another machine. */
struct hr_machine {
    struct hr_landed *landed; /* in their order */
    size_t nlanded, room;
    uint64_t landings;       /* of what had waited, from 1 */
    struct hr_landing **due; /* (rings) */
    size_t ndue;
    uint64_t knows[HR_TRACKED_REGIONS];     /* the versions it has */
    struct hr_direct_message *first, *last; /* to be sent */
    struct hr_direct_coming direct[2];      /* of no term, of a term */
    struct hr_heartbeat_line out[HR_MAX_RANKS], in[HR_MAX_RANKS];
    bool heartbeat_done, abort_sent, leave_sent; /* heartbeat_done: `out` may be written */
    struct hr_failure failure;                   /* of its abort */
    unsigned char *waste; /* owned, or NULL: for bodies of a term that is over */
    size_t coming;        /* messages of a term that have a place, and are not here */
    int64_t silent_ns;
    bool left, gone;
    bool leave_seen_sent, seen; /* that it leaves, and that this one does */
};

enum hr_term_stage {
    HR_TERM_RUNS,
    HR_TERM_ENDED,  /* what is under way still is */
    HR_TERM_BEGINS, /* the rings of the one before are forgotten, and its own not added */
    HR_TERM_READY   /* they are, and may be sent to; nothing overtakes messages of before */
};

struct hr_bridge {
    struct hr_bridge_options options;
    pthread_mutex_t lock;
    size_t self, machines, nrings;
    struct hr_machine *machine; /* (machines) */
    struct hr_sending *sending_to[HR_MAX_RANKS];
    struct hr_landing *landing_from[HR_MAX_RANKS];
    struct hr_sending **active;
    size_t nactive;
    struct hr_landing **landing; /* (nrings) by number; NULL: it does not end here */
    struct hr_sending **sending; /* (nrings) NULL: it does not begin here */
    uint32_t term;               /* from 1 */
    enum hr_term_stage stage;
    uint32_t bell_seen[HR_MAX_RANKS];
    struct hr_tracked tracked[HR_TRACKED_REGIONS];
    size_t ntracked;
    struct hr_wire_sink sink[HR_BRIDGE_CHANNELS];
    int64_t now, scanned, beaten; /* ns */
    bool leaves, moved;
    struct hr_failure failure; /* as it is told */
    char loss[640];            /* of the first machine that was lost */
    struct hr_carried carried;
    /* Its thread. */
    pthread_t thread;
    bool started;
    struct hr_atom32 stop;
    struct hr_atom64 polled; /* when somebody did last */
};

static inline bool hr_bridge_speaks_to(const struct hr_bridge *bridge, size_t machine)
{
    return machine != bridge->self && !bridge->machine[machine].gone;
}

/* --- carry.c --- */

/* Abort the run: something is wrong with what came. */
void hr_bridge_fail(struct hr_bridge *bridge, enum hr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Send a head that is complete but for credits and words, which are added. False: no room. */
bool hr_bridge_send(struct hr_bridge *bridge, size_t to, struct hr_head *head, const void *body,
                    size_t bytes, bool *done);
/* Look at the rings to and from that rank again. */
void hr_bridge_stir(struct hr_bridge *bridge, size_t rank);

/* What can be moved: messages out; those that wait for their place; direct ones out; and credits
 * that cannot wait for something that they could ride on. */
void hr_sending_go(struct hr_bridge *bridge);
void hr_landing_go(struct hr_bridge *bridge);
void hr_direct_go(struct hr_bridge *bridge);
void hr_credits_alone(struct hr_bridge *bridge);

/* What comes. */
bool hr_tracked_unpack(struct hr_bridge *bridge, size_t from, size_t n,
                       struct hr_head_reader *reader);
void hr_credit_arrived(struct hr_bridge *bridge, const struct hr_head_credit *credit);
bool hr_landing_place(struct hr_bridge *bridge, size_t from, const struct hr_head_message *head,
                      bool last, void **where);
void hr_landing_arrived(struct hr_bridge *bridge, size_t from, const struct hr_head_message *head,
                        bool last);
bool hr_direct_place(struct hr_bridge *bridge, size_t from, const struct hr_head_direct *head,
                     const void *note, void **where);
void hr_direct_arrived(struct hr_bridge *bridge, size_t from, const struct hr_head_direct *head,
                       const void *note, bool last);

/* Is a direct message that was posted before this term ran still to be sent? */
bool hr_direct_is_due(const struct hr_bridge *bridge);
void hr_direct_drop(struct hr_bridge *bridge, size_t machine);

#endif
