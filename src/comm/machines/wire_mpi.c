/* A wire of MPI's point-to-point messages; compiled once a library.
 *
 * A poll is one MPI_Testsome over all requests (pending_mpi.h), then what has come is handed on.
 * Frames are received in the order of their posting, so a ring of them for each machine is also the
 * order of messages: [oldest, placing) have a place and await their bodies, [placing, oldest +
 * FRAMES) are here and want one, or are still to come.
 *
 * Memory of a machine that is lost stays MPI's: its requests are forgotten, not cancelled. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machines/pending_mpi.h"
#include "machines/wire_mpi.h"

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
    bool gone, told;              /* lost, and said so */
    bool left;                    /* it has said farewell */
    char why[MPI_MAX_ERROR_STRING];
};

struct wire_mpi {
    struct hr_wire wire;
    MPI_Comm all;
    uint32_t number; /* of the wire between these processes */
    struct peer *peer[HR_WIRE_MACHINES];
    struct pending pending;
    bool broken, open, leaving;
};

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
    hr_mpi_text(error, text);
    lose(w, machine, text);
}

/* The request that has just been begun at hr_pending_next. */
static bool keep(struct wire_mpi *w, int error, struct owner owner)
{
    if (error != MPI_SUCCESS) {
        lose_by(w, owner.machine, error);
        return false;
    }
    hr_pending_keep(&w->pending, owner);
    return true;
}

/* All parts of a body, out of or into memory; how many have been begun. */
static size_t move_body(struct wire_mpi *w, unsigned char *body, size_t bytes, struct owner owner)
{
    size_t parts = 0;
    for (size_t at = 0; at < bytes; at += PART, parts++) {
        const int size = (int)(bytes - at < PART ? bytes - at : PART), to = (int)owner.machine;
        const int error = owner.kind == OUT ? MPI_Isend(body + at, size, MPI_BYTE, to, TAG_BODY,
                                                        w->all, hr_pending_next(&w->pending))
                                            : MPI_Irecv(body + at, size, MPI_BYTE, to, TAG_BODY,
                                                        w->all, hr_pending_next(&w->pending));
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
    return hr_pending_reserve(&w->pending, 1) &&
           keep(w,
                MPI_Irecv(&in->frame, sizeof in->frame, MPI_BYTE, (int)machine, TAG_FRAME, w->all,
                          hr_pending_next(&w->pending)),
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
    if (!peer->gone && (out->parts || !hr_pending_reserve(&w->pending, 2 + body_bytes / PART)))
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
              MPI_Isend(&out->frame, (int)bytes, MPI_BYTE, (int)to, TAG_FRAME, w->all,
                        hr_pending_next(&w->pending)),
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
    struct incoming *in = &peer->in[owner->slot];
    if (peer->gone)
        return;
    if (owner->kind == FRAME_IN) {
        in->here = is_whole(&in->frame, bytes);
        if (!in->here)
            lose(w, owner->machine, "it sent what is no message");
    } else if (owner->kind == BODY_IN)
        in->parts--;
    else if (--peer->out[owner->slot].parts == 0)
        let_go(&peer->out[owner->slot]);
}

/* Let MPI work, and note what has ended. */
static bool test(struct wire_mpi *w)
{
    struct ended *ended;
    const size_t n = hr_pending_test(&w->pending, &ended);
    for (size_t i = 0; i < n; i++)
        if (ended[i].error != MPI_SUCCESS)
            lose_by(w, ended[i].owner.machine, ended[i].error);
        else
            complete(w, &ended[i].owner, ended[i].bytes);
    for (size_t m = 0; n && w->broken && m < w->wire.machines; m++)
        if (m != w->wire.self && w->peer[m]->gone)
            hr_pending_forget(&w->pending, m);
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
    if (!hr_pending_reserve(&w->pending, 1 + prefix->body_bytes / PART) ||
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
        if (m == wire->self || peer->told || !(peer->gone || peer->left))
            continue;
        peer->told = true;
        *machine = m;
        snprintf(text, size, "%s", peer->gone ? peer->why : "its process has ended");
        return true;
    }
    return false;
}

/* Is memory of the caller's still MPI's? */
static bool is_moving(const struct wire_mpi *w)
{
    return hr_pending_has(&w->pending, OUT) || hr_pending_has(&w->pending, BODY_IN);
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

static bool tell_farewell(struct wire_mpi *w, size_t to)
{
    struct peer *peer = w->peer[to];
    const size_t slot = peer->next % SLOTS;
    struct outgoing *out = &peer->out[slot];
    if (out->parts || !hr_pending_reserve(&w->pending, 1))
        return false;
    out->frame.prefix = (struct prefix){w->number, 0, FAREWELL};
    out->parts = 1;
    peer->next++;
    return keep(w,
                MPI_Isend(&out->frame, sizeof out->frame.prefix, MPI_BYTE, (int)to, TAG_FRAME,
                          w->all, hr_pending_next(&w->pending)),
                (struct owner){OUT, to, slot});
}

bool hr_wire_mpi_farewell(int64_t until)
{
    struct wire_mpi *w = &the_wire;
    bool told[HR_WIRE_MACHINES] = {false}, all = !w->number;
    w->leaving = true;
    while (!all && !w->broken && hr_clock_own_ns() < until) {
        const bool moved = test(w);
        all = !is_moving(w);
        for (size_t m = 0; m < w->wire.machines; m++) {
            if (m == w->wire.self)
                continue;
            told[m] = told[m] || tell_farewell(w, m);
            deliver(w, m, NULL);
            all = all && told[m] && w->peer[m]->left && !is_moving(w);
        }
        if (!moved)
            usleep(200);
    }
    if (all)
        hr_pending_cancel(&w->pending);
    return all && !w->broken;
}

static enum hr_status first_wire(struct wire_mpi *w, const struct hr_wire_mpi_options *options)
{
    for (size_t m = 0; m < options->machines; m++) {
        if (m == options->self)
            continue;
        w->peer[m] = calloc(1, sizeof *w->peer[m]);
        if (!w->peer[m])
            return hr_fail(HR_E_NOMEM, "no memory for messages of %zu machines", options->machines);
        for (size_t f = 0; f < FRAMES; f++)
            if (!post_frame(w, m, f))
                return hr_fail(HR_E_NOMEM, "MPI takes no receive for machine %zu", m);
    }
    return HR_OK;
}

enum hr_status hr_wire_mpi(const struct hr_wire_mpi_options *options, struct hr_wire **wire)
{
    static struct hr_wire_table table = {
        .send = send_message, .poll = poll_wire, .lost = lost, .close = close_wire};
    struct wire_mpi *w = &the_wire;
    *wire = NULL;
    if (w->open)
        return hr_fail(HR_E_USAGE, "there is one wire over MPI at a time");
    if (w->broken)
        return hr_fail(HR_E_LOST, "a machine has been lost; MPI has no wire without it");
    table.name = options->library;
    w->all = options->all;
    w->wire = (struct hr_wire){&table, options->machines, options->self, options->host, false};
    if (!w->number)
        HR_TRY(first_wire(w, options));
    w->number++;
    w->open = true;
    *wire = &w->wire;
    return HR_OK;
}
