/* wire.h - bytes between machines, behind a table of functions: one transport a file.
 *
 *     while (!hr_wire_send(wire, to, head, head_bytes, body, body_bytes, &done))
 *         ...                                        do something else, poll, try again
 *     hr_wire_poll(wire, &sink);                     here and there: everything moves in here
 *
 *   send      machine a                          machine b, in its poll
 *     head    copied                             sink.place: where does the body go?
 *     body    stays, until *done ------------->  there, then sink.arrived
 *
 * A *message* is a head of a few bytes, which its reader has to understand, and a body, which is
 * only moved. A small body travels behind its head (a transport copies it, and says done at once);
 * a larger one goes from the sender's memory into the receiver's without a copy of ours.
 *
 * Blocking: nothing here ever blocks or sleeps. What cannot go on now is answered so, and goes on
 *           in a later poll; a body moves while both machines poll, or by itself where it can.
 * Ordering: between two machines messages are placed in the order in which they were sent, and
 *           arrive in that order. A message may be placed before the one before it has arrived.
 *           While place says "not now", what is behind that message from that machine waits; other
 *           machines' messages do not.
 * Threads:  one at a time; who calls sees to it (the bridge has a lock). sink's functions are
 *           called in poll alone, and may call send, but not poll.
 * Memory:   where a body goes stays the transport's from place to arrived; a body is the
 *           transport's from send until it has set *done: in send itself or in a poll, under the
 *           caller's lock, so that a plain word will do. done NULL: nobody asks, and the body is
 *           empty or never changes.
 * Errors:   a broken connection is no error here: what was sent is forgotten (its *done is set: the
 *           memory is the caller's again), nothing arrives any more, and lost says who is gone. A
 *           transport that does not notice leaves that to whoever counts the silence.
 */
#ifndef HR_MACHINES_WIRE_H
#define HR_MACHINES_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    HR_WIRE_HEAD = 512,    /* bytes of a head, at most; a multiple of 8 */
    HR_WIRE_MACHINES = 64, /* at most */
    HR_WIRE_HOST = 64,     /* of a name, its 0 included */
};

/* Who is told of what comes. */
struct hr_wire_sink {
    void *arg;
    /* A message from machine `from`: where do its body_bytes go? body_bytes may be 0, and then
     * *where is not looked at. False: not now; it is asked again in a later poll. The head is
     * aligned to 8 bytes, and valid during the call. */
    bool (*place)(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where);
    /* Its head, the same bytes, and its body are there. */
    void (*arrived)(void *arg, size_t from, const void *head, size_t head_bytes);
};

struct hr_wire;

struct hr_wire_table {
    const char *name; /* "Open MPI 4.1.4", "sockets": for people */
    bool (*send)(struct hr_wire *wire, size_t to, const void *head, size_t head_bytes,
                 const void *body, size_t body_bytes, bool *done);
    bool (*poll)(struct hr_wire *wire, const struct hr_wire_sink *sink);
    bool (*lost)(struct hr_wire *wire, size_t *machine, char *text, size_t size);
    void (*close)(struct hr_wire *wire);
};

/* A transport's own struct begins with this. */
struct hr_wire {
    const struct hr_wire_table *table;
    size_t machines, self;      /* self < machines <= HR_WIRE_MACHINES */
    char (*host)[HR_WIRE_HOST]; /* (machines): names, for people; the transport's memory */
    bool abandoned; /* a machine is lost, and the run is over: the transport, which may hang where
                       its link is broken, is asked for nothing more. By who closes it alone. */
};

/* Send to machine `to`, not self. False: no room now; nothing has been taken, poll and try again.
 * *done is set false, and true when body is the caller's again; an abandoned wire takes all, and
 * forgets it. */
static inline bool hr_wire_send(struct hr_wire *wire, size_t to, const void *head,
                                size_t head_bytes, const void *body, size_t body_bytes, bool *done)
{
    if (wire->abandoned) {
        if (done)
            *done = true;
        return true;
    }
    return wire->table->send(wire, to, head, head_bytes, body, body_bytes, done);
}

/* Transports that notice a broken connection only when they send are made to: a head that says
 * nothing goes to a machine of which nothing has come for a while. It may not arrive; every sink
 * drops it, whatever else it waits for. */
#define HR_WIRE_PROBE "PROBED.."
static inline void hr_wire_probe(struct hr_wire *wire, size_t to)
{
    (void)hr_wire_send(wire, to, HR_WIRE_PROBE, sizeof HR_WIRE_PROBE, NULL, 0, NULL);
}

static inline bool hr_wire_is_probe(const void *head, size_t head_bytes)
{
    return head_bytes == sizeof HR_WIRE_PROBE && !memcmp(head, HR_WIRE_PROBE, head_bytes);
}

/* Move what can be moved, both ways. True: something did, so another poll soon may be worth it. */
static inline bool hr_wire_poll(struct hr_wire *wire, const struct hr_wire_sink *sink)
{
    return !wire->abandoned && wire->table->poll(wire, sink);
}

/* A machine that the transport knows to be gone, and how it knows ("connection closed"), each once;
 * false: none (any more). */
static inline bool hr_wire_lost(struct hr_wire *wire, size_t *machine, char *text, size_t size)
{
    return wire->table->lost(wire, machine, text, size);
}

/* Let go of everything; what was not done by then may never arrive. Harmless on NULL. */
static inline void hr_wire_close(struct hr_wire *wire)
{
    if (wire)
        wire->table->close(wire);
}

#endif
