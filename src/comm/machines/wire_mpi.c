/* MPI as a wire (wire.h) of its point-to-point messages, its beginning and its end; compiled once a
 * library.
 *
 *   a message   one frame: prefix, head, and the body if that is small, with tag FRAME; a larger
 *               body follows with tag BODY, in parts of at most 1 GiB. Between two processes MPI
 *               keeps the order of each tag.
 *   receiver    some receives of frames posted for each process in advance; a body's receive is
 *               posted into its place when place has named it.
 *   prefix      bytes of head and body, and the wire's number: what a closed wire has left under
 *               way is not for the next.
 *
 * Only MPI_Isend, MPI_Irecv, MPI_Testsome, and MPI_Error_string. Memory: some 1.3 MB a machine. */
#include <limits.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"
#include "machines/start.h"

/* === requests under way, and whose they are; their memory grows as they do, and stays ===
 *
 *     if (reserve(&pending, 1) &&
 *         MPI_Irecv(..., next_request(&pending)) == MPI_SUCCESS)
 *             keep_request(&pending, owner);
 *     n = test_requests(&pending, &ended);            one MPI_Testsome: one look at the network
 */

enum kind { FRAME_IN, BODY_IN, OUT };

struct owner {
    enum kind kind;
    size_t machine, slot;
};

struct ended {
    struct owner owner;
    int error;    /* MPI_SUCCESS, or why it never ends */
    size_t bytes; /* that a receive got */
};

struct pending {
    size_t n, room;
    MPI_Request *request;
    struct owner *owner;
    int *index;
    MPI_Status *status;
    struct ended *ended;
};

/* Where the next request is to be begun. */
static MPI_Request *next_request(struct pending *pending)
{
    return &pending->request[pending->n];
}

/* It has been. */
static void keep_request(struct pending *pending, struct owner owner)
{
    pending->owner[pending->n++] = owner;
}

static void free_requests(struct pending *pending)
{
    free(pending->request);
    free(pending->owner);
    free(pending->index);
    free(pending->status);
    free(pending->ended);
}

/* Room for so many more. */
static bool reserve(struct pending *pending, size_t more)
{
    const size_t room = 2 * (pending->n + more);
    if (pending->n + more <= pending->room)
        return true;
    struct pending larger = {.n = pending->n, .room = room};
    larger.request = malloc(room * sizeof *larger.request);
    larger.owner = malloc(room * sizeof *larger.owner);
    larger.index = malloc(room * sizeof *larger.index);
    larger.status = malloc(room * sizeof *larger.status);
    larger.ended = malloc(room * sizeof *larger.ended);
    if (!larger.request || !larger.owner || !larger.index || !larger.status || !larger.ended) {
        free_requests(&larger);
        return false;
    }
    for (size_t i = 0; i < pending->n; i++) {
        larger.request[i] = pending->request[i];
        larger.owner[i] = pending->owner[i];
    }
    free_requests(pending);
    *pending = larger;
    return true;
}

static void note_end(struct pending *pending, size_t n, size_t i, int error,
                     const MPI_Status *status)
{
    int bytes = 0;
    if (error == MPI_SUCCESS && pending->owner[i].kind == FRAME_IN)
        MPI_Get_count(status, MPI_BYTE, &bytes);
    pending->ended[n] = (struct ended){pending->owner[i], error, (size_t)(bytes > 0 ? bytes : 0)};
}

/* MPI has failed without saying at which request: ask each. One that fails has ended. */
static size_t test_each(struct pending *pending)
{
    size_t n = 0;
    for (size_t i = 0; i < pending->n; i++) {
        int done = 0;
        const int error = MPI_Test(&pending->request[i], &done, pending->status);
        if (error != MPI_SUCCESS)
            pending->request[i] = MPI_REQUEST_NULL;
        if (error != MPI_SUCCESS || done)
            note_end(pending, n++, i, error, pending->status);
    }
    return n;
}

static size_t test_some(struct pending *pending)
{
    int ended = 0;
    size_t n = 0;
    const int result =
        MPI_Testsome((int)pending->n, pending->request, &ended, pending->index, pending->status);
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)
        return test_each(pending);
    for (int e = 0; e < ended; e++) {
        const size_t i = (size_t)pending->index[e];
        const int error = result == MPI_SUCCESS ? MPI_SUCCESS : pending->status[e].MPI_ERROR;
        if (error == MPI_ERR_PENDING)
            continue;
        if (error != MPI_SUCCESS)
            pending->request[i] = MPI_REQUEST_NULL;
        note_end(pending, n++, i, error, &pending->status[e]);
    }
    return n;
}

/* Close the gaps. */
static void pack(struct pending *pending)
{
    size_t left = 0;
    for (size_t i = 0; i < pending->n; i++)
        if (pending->request[i] != MPI_REQUEST_NULL) {
            pending->request[left] = pending->request[i];
            pending->owner[left++] = pending->owner[i];
        }
    pending->n = left;
}

/* Let MPI work. Those that have ended are taken out, and valid until the next call. */
static size_t test_requests(struct pending *pending, struct ended **ended)
{
    const size_t n = pending->n ? test_some(pending) : 0;
    *ended = pending->ended;
    if (n)
        pack(pending);
    return n;
}

/* Do not ask for this machine's any more; their buffers stay MPI's. */
static void forget_requests(struct pending *pending, size_t machine)
{
    for (size_t i = 0; i < pending->n; i++)
        if (pending->owner[i].machine == machine)
            pending->request[i] = MPI_REQUEST_NULL;
    pack(pending);
}

/* End all receives that nobody will send for. */
static void cancel_requests(struct pending *pending)
{
    struct ended *ended;
    for (size_t i = 0; i < pending->n; i++)
        MPI_Cancel(&pending->request[i]);
    for (int tries = 0; pending->n && tries < 1000; tries++)
        test_requests(pending, &ended);
}

/* Is there any of that kind? */
static bool has_requests(const struct pending *pending, enum kind kind)
{
    for (size_t i = 0; i < pending->n; i++)
        if (pending->owner[i].kind == kind)
            return true;
    return false;
}

/* MPI's one line for an error; text has room for MPI_MAX_ERROR_STRING. MPICH's first line is "Other
 * MPI error, error stack:"; its last says why, behind a function. */
static void text_of(int error, char *text)
{
    int length = 0;
    text[0] = '\0';
    MPI_Error_string(error, text, &length);
    const char *last = strrchr(text, '\n');
    const char *why = last ? strchr(last, ':') : NULL;
    if (why) {
        why += 1 + strspn(why + 1, " ");
        memmove(text, why, strlen(why) + 1);
    }
    text[strcspn(text, "\n")] = '\0';
}

/* === the wire ===
 *
 * A poll is one MPI_Testsome over all requests, then what has come is handed on.
 * Frames are received in the order of their posting, so a ring of them for each machine is also the
 * order of messages: [oldest, placing) have a place and await their bodies, [placing, oldest +
 * FRAMES) are here and want one, or are still to come.
 *
 * Memory of a machine that is lost stays MPI's: its requests are forgotten, not cancelled. */

#ifndef HR_WIRE_INLINE
#define HR_WIRE_INLINE 32768 /* bytes of a body that travels behind its head */
#endif

enum { FRAMES = 8, SLOTS = 32, TAG_FRAME = 1, TAG_BODY = 2, PART = 1 << 30 };
#define FAREWELL UINT64_MAX /* instead of body_bytes: its sender's last frame */

struct prefix {
    uint32_t wire, head_bytes;
    uint64_t body_bytes;
};

struct frame {
    struct prefix prefix;
    unsigned char rest[HR_WIRE_HEAD + HR_WIRE_INLINE]; /* head, body */
};

struct incoming {
    struct frame frame;
    size_t parts;        /* of its body, still to come */
    bool here, unwanted; /* unwanted: of a wire that is closed */
    void *bin;           /* for the body of such a one */
};

struct outgoing {
    struct frame frame;
    size_t parts; /* requests under way */
    bool *done;
};

struct peer {
    struct incoming in[FRAMES];
    struct outgoing out[SLOTS];
    size_t oldest, placing, next; /* counters; % FRAMES, % SLOTS */
    bool gone, reported;          /* lost, and said so */
    bool left;                    /* it has said farewell */
    char why[MPI_MAX_ERROR_STRING];
};

struct wire_mpi {
    struct hr_wire wire;
    uint32_t number; /* of the wire between these processes */
    struct peer *peer[HR_WIRE_MACHINES];
    struct pending pending;
    bool broken, open, leaving;
};

static MPI_Comm
    all_processes; /* of the wire alone, returning errors; a machine is its rank there */
static struct wire_mpi the_wire; /* frames under way outlive a wire */

static struct wire_mpi *mine(struct hr_wire *wire)
{
    return (struct wire_mpi *)(void *)wire;
}

static void let_go(struct outgoing *out)
{
    if (out->done)
        *out->done = true;
    out->done = NULL;
    out->parts = 0;
}

static void lose(struct wire_mpi *w, size_t machine, const char *why)
{
    struct peer *peer = w->peer[machine];
    if (peer->gone)
        return;
    peer->gone = w->broken = true;
    snprintf(peer->why, sizeof peer->why, "%s", why);
    for (size_t s = 0; s < SLOTS; s++)
        let_go(&peer->out[s]);
}

static void lose_by(struct wire_mpi *w, size_t machine, int error)
{
    char text[MPI_MAX_ERROR_STRING];
    text_of(error, text);
    lose(w, machine, text);
}

/* The request that has just been begun at next_request. */
static bool keep(struct wire_mpi *w, int error, struct owner owner)
{
    if (error != MPI_SUCCESS) {
        lose_by(w, owner.machine, error);
        return false;
    }
    keep_request(&w->pending, owner);
    return true;
}

/* All parts of a body, out of or into memory; how many have been begun. */
static size_t move_body(struct wire_mpi *w, unsigned char *body, size_t bytes, struct owner owner)
{
    size_t parts = 0;
    for (size_t at = 0; at < bytes; at += PART, parts++) {
        const int size = (int)(bytes - at < PART ? bytes - at : PART), to = (int)owner.machine;
        const int error = owner.kind == OUT ? MPI_Isend(body + at, size, MPI_BYTE, to, TAG_BODY,
                                                        all_processes, next_request(&w->pending))
                                            : MPI_Irecv(body + at, size, MPI_BYTE, to, TAG_BODY,
                                                        all_processes, next_request(&w->pending));
        if (!keep(w, error, owner))
            break;
    }
    return parts;
}

static bool post_frame(struct wire_mpi *w, size_t machine, size_t slot)
{
    struct incoming *in = &w->peer[machine]->in[slot];
    in->here = false;
    in->parts = 0;
    return reserve(&w->pending, 1) &&
           keep(w,
                MPI_Irecv(&in->frame, sizeof in->frame, MPI_BYTE, (int)machine, TAG_FRAME,
                          all_processes, next_request(&w->pending)),
                (struct owner){FRAME_IN, machine, slot});
}

static bool send_message(struct hr_wire *wire, size_t to, const void *head, size_t head_bytes,
                         const void *body, size_t body_bytes, bool *done)
{
    struct wire_mpi *w = mine(wire);
    struct peer *peer = w->peer[to];
    const size_t slot = peer->next % SLOTS;
    struct outgoing *out = &peer->out[slot];
    const bool small = body_bytes <= HR_WIRE_INLINE;
    const struct owner owner = {OUT, to, slot};
    if (!peer->gone && (out->parts || !reserve(&w->pending, 2 + body_bytes / PART)))
        return false;
    if (done)
        *done = small || peer->gone;
    if (peer->gone)
        return true;
    out->done = small ? NULL : done;
    out->frame.prefix = (struct prefix){w->number, (uint32_t)head_bytes, body_bytes};
    memcpy(out->frame.rest, head, head_bytes);
    if (small && body_bytes)
        memcpy(out->frame.rest + head_bytes, body, body_bytes);
    const size_t bytes = sizeof out->frame.prefix + head_bytes + (small ? body_bytes : 0);
    out->parts = 1;
    if (!keep(w,
              MPI_Isend(&out->frame, (int)bytes, MPI_BYTE, (int)to, TAG_FRAME, all_processes,
                        next_request(&w->pending)),
              owner))
        return true;
    if (!small)
        out->parts += move_body(w, (unsigned char *)(uintptr_t)body, body_bytes, owner);
    if (peer->gone)
        let_go(out);
    peer->next++;
    return true;
}

static bool is_whole(const struct frame *frame, size_t bytes)
{
    const struct prefix *prefix = &frame->prefix;
    return bytes >= sizeof *prefix && prefix->head_bytes <= HR_WIRE_HEAD &&
           bytes == sizeof *prefix + prefix->head_bytes +
                        (prefix->body_bytes <= HR_WIRE_INLINE ? prefix->body_bytes : 0);
}

static void complete(struct wire_mpi *w, const struct owner *owner, size_t bytes)
{
    struct peer *peer = w->peer[owner->machine];
    if (peer->gone)
        return;
    if (owner->kind == FRAME_IN) {
        struct incoming *in = &peer->in[owner->slot];
        in->here = is_whole(&in->frame, bytes);
        if (!in->here)
            lose(w, owner->machine, "it sent what is no message");
    } else if (owner->kind == BODY_IN)
        peer->in[owner->slot].parts--;
    else if (--peer->out[owner->slot].parts == 0)
        let_go(&peer->out[owner->slot]);
}

/* Let MPI work, and note what has ended. */
static bool test(struct wire_mpi *w)
{
    struct ended *ended;
    const size_t n = test_requests(&w->pending, &ended);
    for (size_t i = 0; i < n; i++)
        if (ended[i].error != MPI_SUCCESS)
            lose_by(w, ended[i].owner.machine, ended[i].error);
        else
            complete(w, &ended[i].owner, ended[i].bytes);
    for (size_t m = 0; n && w->broken && m < w->wire.machines; m++)
        if (m != w->wire.self && w->peer[m]->gone)
            forget_requests(&w->pending, m);
    return n > 0;
}

/* Where the body of this frame goes; false: nobody knows yet. */
static bool find_place(struct wire_mpi *w, size_t from, struct incoming *in,
                       const struct hr_wire_sink *sink, void **where)
{
    const struct prefix *prefix = &in->frame.prefix;
    const int32_t ahead = (int32_t)(prefix->wire - w->number);
    *where = NULL;
    if (ahead > 0 && !w->leaving)
        return false; /* its sender has opened the next wire, and so shall we */
    in->unwanted = ahead < 0 || w->leaving;
    if (in->unwanted) {
        *where = in->bin = malloc(prefix->body_bytes + 1);
        return in->bin != NULL;
    }
    return sink->place(sink->arg, from, in->frame.rest, prefix->head_bytes, prefix->body_bytes,
                       where);
}

static bool place(struct wire_mpi *w, size_t from, size_t slot, const struct hr_wire_sink *sink)
{
    struct incoming *in = &w->peer[from]->in[slot];
    const struct prefix *prefix = &in->frame.prefix;
    void *where;
    if (prefix->body_bytes == FAREWELL) {
        w->peer[from]->left = true;
        return false;
    }
    if (!reserve(&w->pending, 1 + prefix->body_bytes / PART) ||
        !find_place(w, from, in, sink, &where))
        return false;
    in->here = false;
    if (prefix->body_bytes > HR_WIRE_INLINE)
        in->parts = move_body(w, where, prefix->body_bytes, (struct owner){BODY_IN, from, slot});
    else if (prefix->body_bytes)
        memcpy(where, in->frame.rest + prefix->head_bytes, prefix->body_bytes);
    return true;
}

static void arrive(struct wire_mpi *w, size_t from, size_t slot, const struct hr_wire_sink *sink)
{
    struct incoming *in = &w->peer[from]->in[slot];
    if (!in->unwanted)
        sink->arrived(sink->arg, from, in->frame.rest, in->frame.prefix.head_bytes);
    free(in->bin);
    in->bin = NULL;
    if (!post_frame(w, from, slot))
        lose(w, from, "no memory for what it sends");
}

static bool deliver(struct wire_mpi *w, size_t from, const struct hr_wire_sink *sink)
{
    struct peer *peer = w->peer[from];
    bool moved = false;
    while (!peer->gone && peer->placing - peer->oldest < FRAMES &&
           peer->in[peer->placing % FRAMES].here && place(w, from, peer->placing % FRAMES, sink))
        peer->placing++, moved = true;
    while (!peer->gone && peer->oldest != peer->placing && !peer->in[peer->oldest % FRAMES].parts) {
        arrive(w, from, peer->oldest % FRAMES, sink);
        peer->oldest++, moved = true;
    }
    return moved;
}

static bool poll_wire(struct hr_wire *wire, const struct hr_wire_sink *sink)
{
    struct wire_mpi *w = mine(wire);
    bool moved = test(w);
    for (size_t m = 0; m < wire->machines; m++)
        if (m != wire->self && deliver(w, m, sink))
            moved = true;
    return moved;
}

static bool lost(struct hr_wire *wire, size_t *machine, char *text, size_t size)
{
    struct wire_mpi *w = mine(wire);
    for (size_t m = 0; m < wire->machines; m++) {
        struct peer *peer = w->peer[m];
        if (m == wire->self || peer->reported || !(peer->gone || peer->left))
            continue;
        peer->reported = true;
        *machine = m;
        snprintf(text, size, "%s", peer->gone ? peer->why : "its process has ended");
        return true;
    }
    return false;
}

/* Is memory of the caller's still MPI's? */
static bool is_moving(const struct wire_mpi *w)
{
    return has_requests(&w->pending, OUT) || has_requests(&w->pending, BODY_IN);
}

static void close_wire(struct hr_wire *wire)
{
    struct wire_mpi *w = mine(wire);
    const int64_t until = hr_clock_own_ns() + HR_NS_PER_SECOND;
    for (size_t m = 0; m < wire->machines; m++)
        for (size_t s = 0; m != wire->self && s < SLOTS; s++)
            w->peer[m]->out[s].done = NULL; /* its owner is gone */
    while (!wire->abandoned && is_moving(w) && hr_clock_own_ns() < until)
        test(w);
    if (wire->abandoned || is_moving(w))
        w->broken = true; /* so there is no farewell either */
    for (size_t m = 0; m < wire->machines; m++)
        for (size_t at = 0; m != wire->self && at < FRAMES; at++)
            w->peer[m]->in[at].unwanted = true; /* unless it is still to be placed */
    w->open = false;
}

static bool send_farewell(struct wire_mpi *w, size_t to)
{
    struct peer *peer = w->peer[to];
    const size_t slot = peer->next % SLOTS;
    struct outgoing *out = &peer->out[slot];
    if (out->parts || !reserve(&w->pending, 1))
        return false;
    out->frame.prefix = (struct prefix){w->number, 0, FAREWELL};
    out->parts = 1;
    peer->next++;
    return keep(w,
                MPI_Isend(&out->frame, sizeof out->frame.prefix, MPI_BYTE, (int)to, TAG_FRAME,
                          all_processes, next_request(&w->pending)),
                (struct owner){OUT, to, slot});
}

/* After the last close: take leave of the other machines, and wait until they do. To one whose wire
 * is still open this machine is lost then. false: a machine was lost, memory of the caller's was
 * still under way when a wire was closed, or it is later than `until`: then MPI_Finalize would not
 * end. */
static bool take_farewell(int64_t until)
{
    struct wire_mpi *w = &the_wire;
    bool sent[HR_WIRE_MACHINES] = {false}, all = !w->number;
    w->leaving = true;
    while (!all && !w->broken && hr_clock_own_ns() < until) {
        const bool moved = test(w);
        all = !is_moving(w);
        for (size_t m = 0; m < w->wire.machines; m++) {
            if (m == w->wire.self)
                continue;
            sent[m] = sent[m] || send_farewell(w, m);
            deliver(w, m, NULL);
            all = all && sent[m] && w->peer[m]->left && !is_moving(w);
        }
        if (!moved)
            usleep(200);
    }
    if (all)
        cancel_requests(&w->pending);
    return all && !w->broken;
}

static enum hr_status first_wire(struct wire_mpi *w)
{
    for (size_t m = 0; m < w->wire.machines; m++) {
        if (m == w->wire.self)
            continue;
        w->peer[m] = calloc(1, sizeof *w->peer[m]);
        if (!w->peer[m])
            return hr_fail(HR_E_NOMEM, "no memory for messages of %zu machines", w->wire.machines);
        for (size_t f = 0; f < FRAMES; f++)
            if (!post_frame(w, m, f))
                return hr_fail(HR_E_NOMEM, "MPI takes no receive for machine %zu", m);
    }
    return HR_OK;
}

/* === MPI's beginning and end ===
 *
 * Beginning: MPI_Init_thread, a communicator of our own with MPI_ERRORS_RETURN, and every process's
 * host by one MPI_Iallgather, tested until a deadline. Everything later is point-to-point.
 *
 * End: MPI_Finalize is collective, and hangs where a process is gone. So all processes first take
 * leave of each other on the wire; whoever is not told farewell leaves without it. In MPICH 4.0.2
 * over UCX it hangs in 2 of 5 runs though all are there: one waits for the other's disconnect,
 * which sits in PMI's barrier. MPICH's mpirun does without it, and so do we: it is told by PMI's
 * own line alone. Open MPI's calls a process improper that has not called it, and srun is not
 * known: there a timer watches it. */

#ifdef OPEN_MPI
#define LIBRARY "Open MPI"
#else
#define LIBRARY "MPICH"
#endif

enum { BOOT = 40, VERSION = 64 };

/* Who a process is: equal on one host alone, whatever the hosts are called. */
struct place {
    char host[HR_WIRE_HOST], boot[BOOT];
};

static struct state {
    bool begun, is_hydra; /* is_hydra: MPICH's mpirun started it */
    int self, processes;
    struct place place[HR_WIRE_MACHINES];
    char version[VERSION]; /* "Open MPI 4.1.4" */
    volatile sig_atomic_t code;
} state;

HR_CHECKED static enum hr_status failed(int error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    text_of(error, text);
    return hr_fail(HR_E_LOST, "MPI: %s: %s", what, text);
}

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." as "NAME NUMBER". */
static void name_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const size_t digits = strcspn(text, "0123456789");
    text[digits + strspn(text + digits, "0123456789.")] = '\0';
    snprintf(state.version, sizeof state.version, "%s %.20s", LIBRARY, text + digits);
}

static void know_place(struct place *place)
{
    *place = (struct place){0};
    gethostname(place->host, sizeof place->host - 1);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && fscanf(file, "%39s", place->boot) != 1)
        place->boot[0] = '\0';
    if (file)
        fclose(file);
}

static enum hr_status check_launch(const struct hr_mpi_launch *launch, int provided)
{
    if (provided < MPI_THREAD_SERIALIZED)
        return hr_fail(HR_E_USAGE, "%s gives no MPI_THREAD_SERIALIZED, which hogring needs",
                       state.version);
    if ((size_t)state.processes != launch->processes)
        return hr_fail(HR_E_USAGE,
                       "started by %s as one of %zu processes, but %s knows of %d: start %s",
                       launch->launcher, launch->processes, state.version, state.processes,
                       launch->program ? launch->program : "what the launcher speaks MPI to");
    if (state.processes > HR_WIRE_MACHINES)
        return hr_fail(HR_E_USAGE, "%d processes: expected at most %d, one per machine",
                       state.processes, HR_WIRE_MACHINES);
    return HR_OK;
}

/* Wait without blocking in MPI. */
static enum hr_status finish(MPI_Request *request, int64_t until, const char *what)
{
    for (int done = 0; !done;) {
        const int error = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS)
            return failed(error, what);
        if (!done && hr_clock_own_ns() > until)
            return hr_fail(HR_E_TIMEOUT, "%s: not all %d processes of the run have answered", what,
                           state.processes);
        if (!done)
            usleep(50);
    }
    return HR_OK;
}

static enum hr_status meet(int64_t until)
{
    MPI_Request request;
    struct place mine;
    know_place(&mine);
    int error = MPI_Comm_idup(MPI_COMM_WORLD, &all_processes, &request);
    if (error != MPI_SUCCESS)
        return failed(error, "a communicator");
    HR_TRY(finish(&request, until, "a communicator"));
    MPI_Comm_set_errhandler(all_processes, MPI_ERRORS_RETURN);
    error = MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, state.place, sizeof mine, MPI_BYTE,
                           all_processes, &request);
    if (error != MPI_SUCCESS)
        return failed(error, "names of hosts");
    return finish(&request, until, "names of hosts");
}

static enum hr_status check_hosts(const struct hr_mpi_launch *launch)
{
    for (int p = 0; p < state.processes; p++)
        for (int q = 0; q < p; q++)
            if (!memcmp(&state.place[p], &state.place[q], sizeof *state.place))
                return hr_fail(HR_E_USAGE,
                               "processes %d and %d are both on %s: one process per machine, its "
                               "workers are threads (%s: %s)",
                               q, p, state.place[p].host, launch->launcher, launch->one_each);
    return HR_OK;
}

/* Open MPI 4 sends its texts for people to mpirun, and waits until that has taken them, inside
 * MPI_Testsome. mpirun sleeps while it ends a run in which a machine was lost: a survivor on its
 * host would hang until it is killed, in the time that it has to save. So the first is told here,
 * by its name, and none is sent. The pointer is Open MPI's own hook (<opal/util/show_help.h>),
 * which version 5 has not. */
#ifdef OPEN_MPI
extern int (*opal_show_help)(const char *file, const char *topic, bool header, ...)
    __attribute__((weak));

static int show_help(const char *file, const char *topic, bool header, ...)
{
    static bool said;
    (void)header;
    if (!said)
        fprintf(stderr, "hogring: %s says: %s (%s)\n", state.version, topic, file);
    said = true;
    return 0;
}

static void keep_from_mpirun(void)
{
    if (strstr(state.version, " 4.") && &opal_show_help)
        opal_show_help = show_help;
}
#else
static void keep_from_mpirun(void)
{
}
#endif

static char nobody_came[160];

static void give_up(int number)
{
    const ssize_t written = write(STDERR_FILENO, nobody_came, strlen(nobody_came));
    (void)number, (void)written;
    _exit(hr_status_exit_code(HR_E_LOST));
}

/* It has no deadline of its own: where a process of the run never begins, the others would wait
 * for ever. */
static int init_in_time(int64_t timeout_ns, int *provided)
{
    const unsigned seconds = (unsigned)((timeout_ns + HR_NS_PER_SECOND - 1) / HR_NS_PER_SECOND);
    snprintf(nobody_came, sizeof nobody_came,
             "hogring: MPI_Init: not all machines have come within %u s; see what they have "
             "printed\n",
             seconds);
    void (*before)(int) = signal(SIGALRM, give_up);
    alarm(seconds);
    const int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, provided);
    alarm(0);
    signal(SIGALRM, before);
    return error;
}

static enum hr_status begin(const struct hr_mpi_launch *launch, int64_t timeout_ns)
{
    int provided = MPI_THREAD_SINGLE, inside = 0;
    MPI_Initialized(&inside);
    if (!inside && init_in_time(timeout_ns, &provided) != MPI_SUCCESS)
        return hr_fail(HR_E_LOST, "MPI_Init failed");
    state.begun = true;
    state.is_hydra = launch->program && !strcmp(launch->program, "hogring-mpich");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &state.self);
    MPI_Comm_size(MPI_COMM_WORLD, &state.processes);
    name_library();
    HR_TRY(check_launch(launch, provided));
    keep_from_mpirun();
    HR_TRY(meet(hr_clock_own_ns() + timeout_ns));
    return check_hosts(launch);
}

/* One at a time; equally many opened in all processes. Its close waits up to a second for bodies
 * under way, whose memory is the caller's again then. */
static enum hr_status open_wire(const struct hr_mpi_launch *launch, int64_t timeout_ns,
                                struct hr_wire **wire)
{
    static struct hr_wire_table table = {
        .send = send_message, .poll = poll_wire, .lost = lost, .close = close_wire};
    static char host[HR_WIRE_MACHINES][HR_WIRE_HOST];
    struct wire_mpi *w = &the_wire;
    if (!state.begun)
        HR_TRY(begin(launch, timeout_ns));
    if (w->open)
        return hr_fail(HR_E_USAGE, "there is one wire over MPI at a time");
    if (w->broken)
        return hr_fail(HR_E_LOST, "a machine has been lost; MPI has no wire without it");
    for (int p = 0; p < state.processes; p++)
        memcpy(host[p], state.place[p].host, sizeof *host);
    table.name = state.version;
    w->wire = (struct hr_wire){&table, (size_t)state.processes, (size_t)state.self, host, false};
    if (!w->number)
        HR_TRY(first_wire(w));
    w->number++;
    w->open = true;
    *wire = &w->wire;
    return HR_OK;
}

static void leave_at_once(int number)
{
    (void)number;
    _exit(state.code);
}

/* What MPI_Finalize says to MPICH's mpirun behind its barrier, in PMI 1: a line, and one for an
 * answer. Without it a process that ends well is taken for one that was aborted (1) where the end
 * of its descriptor is seen before its own. */
static void tell_hydra(void)
{
    static const char farewell[] = "cmd=finalize\n";
    const char *text = getenv("PMI_FD");
    uint64_t fd;
    char answer[64];
    if (!text || !hr_parse_count(text, &fd) || fd > INT_MAX)
        return;
    struct pollfd ready = {.fd = (int)fd, .events = POLLIN};
    ssize_t moved = write((int)fd, farewell, sizeof farewell - 1);
    if (moved > 0 && poll(&ready, 1, 1000 * HR_MPI_FINALIZE_S) > 0)
        moved = read((int)fd, answer, sizeof answer);
    (void)moved;
}

static int leave(int code)
{
    int over = 0;
    if (!state.begun)
        return code;
    fflush(stdout);
    fflush(stderr);
    state.code = code;
    const bool finalizes = !strcmp(LIBRARY, "Open MPI") || !state.is_hydra;
    const int64_t patience = code ? HR_MPI_FAILED_S : HR_MPI_OTHERS_S;
    if (!take_farewell(hr_clock_own_ns() + patience * HR_NS_PER_SECOND))
        _exit(code);
    if (!finalizes) {
        tell_hydra();
        _exit(code);
    }
    signal(SIGALRM, leave_at_once);
    alarm(code ? HR_MPI_FINALIZE_S : HR_MPI_CALM_S);
    MPI_Finalized(&over);
    if (!over)
        MPI_Finalize();
    alarm(0);
    return code;
}

const struct hr_mpi_library hr_mpi_linked = {.open = open_wire, .leave = leave};
