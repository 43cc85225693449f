/* inside.h - what the files of the carrier share. For src/machines alone.
 *
 * Everything here is touched by who has the lock. Files, from the bottom: rings, head, tracked,
 * credits, outgoing, landing, sending, letters, beats, carrier.
 */
#ifndef HR_MACHINES_INSIDE_H
#define HR_MACHINES_INSIDE_H

#include <pthread.h>

#include "machines/head.h"

enum { HR_SENDING_PARTS = 16, HR_SCAN_NS = 1000 * 1000 /* between looks at everything */ };

/* Part of a body, or a whole one, that the wire has. */
struct hr_part {
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
    struct hr_part part[HR_SENDING_PARTS];
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
    uint64_t told;     /* releases that the sender knows of, or will */
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

struct hr_letter {
    struct hr_letter *next;
    struct hr_head_letter head;
    unsigned char note[HR_LETTER_NOTE];
    const unsigned char *body;
    size_t sent;
    struct hr_part part[HR_SENDING_PARTS];
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
struct hr_beat_line {
    uint32_t rank, phase, result, stage;
    uint64_t step, age_ns, samples, gradients;
};

/* Another machine. */
struct hr_machine {
    struct hr_landed *landed; /* in their order */
    size_t nlanded, room;
    uint64_t landings;       /* of what had waited, from 1 */
    struct hr_landing **due; /* (rings) */
    size_t ndue;
    uint64_t knows[HR_TRACKED_REGIONS]; /* the versions it has */
    struct hr_letter *first, *last;     /* to be sent */
    /* Of the letter that is coming. */
    bool receiving;
    unsigned char *where;
    struct hr_beat_line out[HR_MAX_RANKS], in[HR_MAX_RANKS];
    bool beat_done, abort_told, leave_told; /* beat_done: `out` may be written */
    struct hr_failure failure;              /* of its abort */
    int64_t silent_ns;
    bool left, gone;
    bool seen_told, seen; /* that it leaves, and that this one does */
};

struct hr_carrier {
    struct hr_carrier_options options;
    pthread_mutex_t lock;
    size_t self, machines, nrings;
    struct hr_machine *machine; /* (machines) */
    struct hr_sending *sending_to[HR_MAX_RANKS];
    struct hr_landing *landing_from[HR_MAX_RANKS];
    struct hr_sending **active;
    size_t nactive;
    struct hr_landing **landing; /* (nrings) by number; NULL: it does not end here */
    struct hr_sending **sending; /* (nrings) NULL: it does not begin here */
    bool halts;                  /* rings from `halted` on send nothing */
    size_t halted;
    uint32_t bell_seen[HR_MAX_RANKS];
    struct hr_tracked tracked[HR_TRACKED_REGIONS];
    size_t ntracked;
    struct hr_wire_sink sink[HR_CARRIER_CHANNELS];
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

static inline bool hr_carrier_speaks_to(const struct hr_carrier *carrier, size_t machine)
{
    return machine != carrier->self && !carrier->machine[machine].gone;
}

/* May that ring send? */
static inline bool hr_carrier_sends(const struct hr_carrier *carrier, size_t ring)
{
    return !carrier->halts || ring < carrier->halted;
}

/* --- tracked.c --- */

size_t hr_tracked_due_bytes(const struct hr_carrier *carrier, size_t to);
void hr_tracked_look(struct hr_carrier *carrier);
/* Append what that machine does not have, as far as there is room: how many. */
size_t hr_tracked_pack(struct hr_carrier *carrier, size_t to, struct hr_head *head);
/* That head went; its words, n of them, stand at `at`. */
void hr_tracked_packed(struct hr_carrier *carrier, size_t to, const void *at, size_t n);
bool hr_tracked_unpack(struct hr_carrier *carrier, size_t from, size_t n,
                       struct hr_head_reader *reader);

/* --- sending.c --- */

/* Look at the rings to and from that rank again. */
void hr_sending_stir(struct hr_carrier *carrier, size_t rank);
void hr_sending_go(struct hr_carrier *carrier);
void hr_credit_arrived(struct hr_carrier *carrier, const struct hr_head_credit *credit);

/* --- credits.c --- */

/* How many messages the rank has released. */
static inline uint64_t hr_landing_released(const struct hr_landing *landing)
{
    return hr_atom64_load_acquire(&landing->ring->head); /* partner: the consumer's release */
}
void hr_landing_stir(struct hr_carrier *carrier, size_t rank);
/* The same for credits that are due. */
size_t hr_landing_pack(struct hr_carrier *carrier, size_t to, struct hr_head *head);
void hr_landing_packed(struct hr_carrier *carrier, size_t to, const struct hr_head_credit *credit,
                       size_t n);

/* --- outgoing.c --- */

/* Abort the run: something is wrong with what came. */
void hr_carrier_fail(struct hr_carrier *carrier, enum hr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Send a head that is complete but for credits and words, which are added. False: no room. */
bool hr_carrier_send(struct hr_carrier *carrier, size_t to, struct hr_head *head, const void *body,
                     size_t bytes, bool *done);

/* Words that a machine does not have go ahead, if they would not fit into one head. False: no
 * room. */
bool hr_tracked_ahead(struct hr_carrier *carrier, size_t to);
/* Credits that cannot wait for something that they could ride on. */
void hr_credits_alone(struct hr_carrier *carrier);

/* --- landing.c --- */

void hr_landing_go(struct hr_carrier *carrier);
bool hr_landing_place(struct hr_carrier *carrier, size_t from, const struct hr_head_message *head,
                      bool last, void **where);
void hr_landing_arrived(struct hr_carrier *carrier, size_t from, const struct hr_head_message *head,
                        bool last);

/* --- letters.c --- */

void hr_letters_go(struct hr_carrier *carrier);
bool hr_letters_place(struct hr_carrier *carrier, size_t from, const struct hr_head_letter *head,
                      const void *note, void **where);
void hr_letters_arrived(struct hr_carrier *carrier, size_t from, const struct hr_head_letter *head,
                        const void *note, bool last);
void hr_letters_drop(struct hr_carrier *carrier, size_t machine);

/* --- beats.c: beats, silence, aborts, the end --- */

void hr_beats_go(struct hr_carrier *carrier);
void hr_beats_arrived(struct hr_carrier *carrier, size_t from, size_t lines);
void hr_beats_abort_arrived(struct hr_carrier *carrier, size_t from, uint32_t step);

#endif
