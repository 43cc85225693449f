/* bridge.h - carries rings between machines, with the bytes that their messages speak of.
 *
 * Every machine has laid out the same segment for all ranks. A ring whose producer lives on machine
 * a and whose consumer lives on b is there in both; the bridge of a is its consumer, that of b its
 * producer:
 *
 *     machine a                                   machine b
 *     rank: commit --> ring                       ring --> rank: peek, use, release
 *                       | bridge: take      commit: bridge ^   |
 *     segment [......bytes......]           [......bytes......]  |  at the same offsets
 *                       +------------- wire -----------------+   |
 *     rank: drained <-- released when sent        <-- credits <--+
 *
 *   Sending    A message is taken when the ring over there has room for it, and its slot is
 *              released when its bytes have been sent: then the memory may be overwritten, and
 *              `drained` costs no round trip. Long bodies go in parts, so that no ring waits long
 *              for another.
 *   Landing    Bytes land at the offset from which they came, as soon as no earlier message of that
 *              machine that speaks of any of them is unreleased, or where they lie there already;
 *              until then they wait beside the segment, and hold up nothing but their own ring.
 *   Credits    How many messages of a ring have been released over there rides on whatever goes the
 *              other way, or goes alone when half a ring's are due.
 *   Words      Small regions with one writing machine (hr_bridge_track) go with the next message,
 *              of any ring, to each machine that has an older version of them; and they are in
 *              force before that message is delivered. So whoever has seen an effect has seen
 *              the words stored before its cause, over however many machines it came.
 *   Heartbeats Ten times per second each machine tells the others what its ranks do: their lines of
 *              the control segment are then as good elsewhere, to 0.1 s.
 *   Losses     A machine of which nothing has come for long, though this one listened, or that
 *              the wire knows to be gone, is lost: the run is aborted with HR_E_LOST, naming
 *              its host and ranks. An abort, wherever it is, is told to all.
 *              A run that goes on without it is told instead (lost), and hears of it no more.
 *   Direct     messages: bytes for who listens on a channel of another machine, in no ring.
 *   Terms      A run that goes on without a machine begins a new term, with rings made anew. Heads
 *              say of which term they are: what is of an older one is dropped, what is of a newer
 *              one waits until this machine has begun it, too.
 *
 * Who moves it: hr_bridge_poll, called by whoever waits (hr_waiter.poll), and the bridge's own
 *            thread (hr_bridge_start), which sleeps between two looks, a sixteenth of the time
 *            since something moved, 20 us to 1 ms.
 * Threads:   add, track and listen before start; poll, post and leave by any thread. One of them at
 *            a time has the bridge; who polls does not wait for it. Of a ring that is carried the
 *            bridge is the one consumer, or producer, on this machine.
 * Ordering:  a ring's messages arrive in their order, and of one machine all that it sent before in
 *            any ring has landed. Between machines nothing else is ordered.
 * Bells:     a rank that commits or releases rings the bell of its peer, as ever, in the control
 *            segment of its own machine; that is how the bridge sees that there is something to do
 *            (and looks at every ring once per millisecond, for those that ring none). A rank that
 *            lives here is rung when something arrives for it, or when it has room again.
 * Memory:    private, but for the bytes that are carried, which lie in the segment.
 * Errors:    after open nothing fails but the run: hr_control_abort, here and on all machines.
 * Source:    in-order windows as in Go-Back-N; words as in causal broadcast (Birman, Schiper,
 *            Stephenson 1991), with versions for vector clocks, as each has one writer.
 * Test:      tests/unit/machines/test_bridge.c
 */
#ifndef HR_MACHINES_BRIDGE_H
#define HR_MACHINES_BRIDGE_H

#include "group/group.h"
#include "machines/wire.h"
#include "shm/control.h"
#include "shm/hosts.h"
#include "shm/ring.h"

struct hr_bridge;

struct hr_bridge_options {
    struct hr_wire *wire; /* the bridge's until it is closed; then the caller closes it */
    struct hr_hosts hosts;
    struct hr_control *control; /* of all ranks */
    void *segment;              /* offsets count from here */
    size_t segment_bytes;
    int64_t timeout_ns; /* of a wait: a machine that is silent for three quarters of it is lost, so
                           that it is named before who waits for it; 0: only the wire says it */
    size_t part_bytes;  /* bodies are sent in parts of so many bytes; 0: 1 MiB */
    /* A machine is lost, in words: "lost machine m1 (ranks 2, 3): why". Once a machine, by who
     * polls, who has the bridge: it must not be called from here. NULL: the run is aborted. */
    void (*lost)(void *arg, size_t machine, const char *how);
    void *lost_arg;
};

/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_bridge_open(const struct hr_bridge_options *options,
                                         struct hr_bridge **out);
/* Stop its thread, and forget what is under way. Harmless on NULL. */
void hr_bridge_close(struct hr_bridge *bridge);

/* What goes with a message of that ring. Called by the sender's machine only. */
typedef struct hr_cargo (*hr_cargo_fn)(const void *arg, const struct hr_ring *ring,
                                       const struct hr_message *message);

/* A ring in the segment, from rank `from` to rank `to` of the run. All machines add the same rings
 * in the same order; those that do not end here, or begin and end here, are only counted. NULL:
 * nothing goes with its messages. arg stays the caller's, and is read until close. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_bridge_add_ring(struct hr_bridge *bridge, struct hr_ring *ring,
                                             size_t from, size_t to, hr_cargo_fn cargo,
                                             const void *arg);

/* A group whose ranks live on several machines: which of its rings are carried. The caller's, and
 * read until close. */
struct hr_carried_group {
    const void *segment;
    size_t slot_bytes;
};

/* Add the rings of a group in `place` (its segment, group and world_rank count), made with these
 * options. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_bridge_add_group(struct hr_bridge *bridge,
                                              struct hr_carried_group *carried,
                                              const struct hr_group_options *options,
                                              const struct hr_place *place);

enum { HR_TRACKED_BYTES = 128, HR_TRACKED_REGIONS = 1024 };

/* Words in the segment with one writer, rank `writer`: at most HR_TRACKED_BYTES, a multiple of 8,
 * read and written as hr_atom64 or smaller parts of one. As many times, in the same order, on all
 * machines. */
void hr_bridge_track(struct hr_bridge *bridge, size_t writer, void *words, size_t bytes);

/* Move what can be moved, unless another thread does; never waits. arg is the bridge: for
 * hr_waiter's poll. */
void hr_bridge_poll(void *bridge);

/* A thread that polls from now on, until close. HR_E_FAILED. */
HR_CHECKED enum hr_status hr_bridge_start(struct hr_bridge *bridge);

/* --- going on without a machine --- */

/* It is lost, though this machine may not have noticed: nothing is sent to it or taken from it any
 * more. */
void hr_bridge_lose(struct hr_bridge *bridge, size_t machine);
/* The term (the first is 1) is over, and `term` is the next, on all machines that live, in
 * whatever order they hear of it: rings send nothing, and nothing of before is delivered. May come
 * again at any time. */
void hr_bridge_end_term(struct hr_bridge *bridge, uint32_t term);
/* Behind that: is nothing of before under way any more, from or to a machine that lives? Ask until
 * then. (hr_ready_fn; arg is the bridge) */
bool hr_bridge_is_still(void *bridge);
/* Then, and all ranks here are quiescent: rings and words are forgotten, with what is in them,
 * ranks live where hosts say, and direct messages of the new term come. */
void hr_bridge_begin_term(struct hr_bridge *bridge, const struct hr_hosts *hosts);
/* The new term's rings and words have been added, their memory made ready: ranks may go on. */
void hr_bridge_run_term(struct hr_bridge *bridge);

/* --- direct messages --- */

enum {
    HR_CHANNEL_OF_A_TERM = 0, /* its messages are dropped when the term is over; others' are not */
    HR_BRIDGE_CHANNELS = 8,
    HR_DIRECT_NOTE = 128 /* bytes, a multiple of 8 */
};

/* Who listens: wire.h's sink, with the message's note as the head; of a machine one at a time.
 * What comes while nobody listens waits, with all that is behind it from that machine. */
void hr_bridge_listen(struct hr_bridge *bridge, size_t channel, const struct hr_wire_sink *sink);

/* Send a note (copied) and a body, in whole, to machine `to`'s listener. Messages to one machine
 * are sent in their order. *done counts up by one when the body is the caller's again (release),
 * and `bell` is rung; both may be NULL, and then the body never changes. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_bridge_post(struct hr_bridge *bridge, size_t to, size_t channel,
                                         const void *note, size_t note_bytes, const void *body,
                                         size_t bytes, struct hr_atom32 *done,
                                         struct hr_bell *bell);

/* --- the end --- */

/* This machine is through, well or badly, and is not lost when it falls silent. */
void hr_bridge_leave(struct hr_bridge *bridge);
/* Is everything sent, and have all others left, or been lost? Until then go on polling: others may
 * wait for what is under way. arg is the bridge: an hr_ready_fn. */
bool hr_bridge_is_over(void *bridge);

/* Was that machine lost? Any thread. */
bool hr_bridge_has_lost(struct hr_bridge *bridge, size_t machine);
/* "lost machine m1 (ranks 2, 3): why" of the first that was; "": none. Any thread. */
void hr_bridge_loss(struct hr_bridge *bridge, char *text, size_t size);

/* What has been carried so far, both ways, heads included. */
struct hr_carried {
    uint64_t messages_sent, bytes_sent;
    uint64_t messages_received, bytes_received;
    uint64_t put_aside; /* bodies that could not land at once */
};
struct hr_carried hr_bridge_carried(struct hr_bridge *bridge);

#endif
