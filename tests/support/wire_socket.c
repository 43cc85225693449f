#include "support/wire_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/check.h"

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

/* --- socketpairs --- */

void wire_mesh_open(struct wire_mesh *mesh, size_t machines)
{
    assert_true(machines <= WIRE_MESH_MACHINES);
    mesh->machines = machines;
    for (size_t m = 0; m < machines; m++)
        snprintf(mesh->host[m], HR_WIRE_HOST, "host-%zu", m);
    for (size_t a = 0; a < machines; a++) {
        mesh->end[a][a] = -1;
        for (size_t b = 0; b < a; b++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
            mesh->end[a][b] = pair[0];
            mesh->end[b][a] = pair[1];
        }
    }
}

void wire_mesh_keep(struct wire_mesh *mesh, size_t self)
{
    for (size_t a = 0; a < mesh->machines; a++)
        for (size_t b = 0; b < mesh->machines && a != self; b++)
            close_end(&mesh->end[a][b]);
}

void wire_mesh_close(struct wire_mesh *mesh)
{
    for (size_t a = 0; a < mesh->machines; a++)
        for (size_t b = 0; b < mesh->machines; b++)
            close_end(&mesh->end[a][b]);
}

/* --- a wire over them --- */

enum { QUEUED = 8, HELD = 4, FEW_BYTES = 13 };

struct frame {
    uint64_t head_bytes, body_bytes;
};

/* On its way to a peer. */
struct outgoing {
    struct frame frame;
    unsigned char head[HR_WIRE_HEAD];
    const void *body;
    bool *done;
    size_t written; /* of frame, head and body, one behind the other */
};

/* Coming from a peer. */
struct incoming {
    struct frame frame;
    _Alignas(8) unsigned char head[HR_WIRE_HEAD];
    unsigned char *where;
    size_t got;
    bool placed;
};

/* It has come, and nobody has been told: what is behind it may be placed before. */
struct held {
    _Alignas(8) unsigned char head[HR_WIRE_HEAD];
    size_t head_bytes;
};

struct peer {
    int *end; /* the caller's word; -1: closed */
    struct outgoing out[QUEUED];
    size_t first, queued;
    struct incoming in;
    struct held held[HELD];
    size_t nheld;
    bool gone, told;
    const char *how;
};

struct wire_socket {
    struct hr_wire wire;
    uint32_t random, trouble;
    struct peer peer[]; /* (machines) */
};

/* --- trouble --- */

static uint32_t draw(struct wire_socket *wire)
{
    wire->random ^= wire->random << 13;
    wire->random ^= wire->random >> 17;
    return wire->random ^= wire->random << 5;
}

static bool in_trouble(struct wire_socket *wire)
{
    return wire->trouble && draw(wire) % 100 < wire->trouble;
}

/* All of a body is the sender's again. */
static void forget(struct peer *peer, const char *how)
{
    peer->gone = true;
    peer->how = how;
    for (; peer->queued; peer->queued--, peer->first = (peer->first + 1) % QUEUED)
        if (peer->out[peer->first].done)
            *peer->out[peer->first].done = true;
}

/* True: it is neither gone nor busy. */
static bool moved(struct peer *peer, ssize_t bytes)
{
    if (bytes < 0 && errno != EAGAIN && errno != EINTR)
        forget(peer, "connection reset");
    return bytes > 0;
}

/* --- sending --- */

static bool send_message(struct hr_wire *base, size_t to, const void *head, size_t head_bytes,
                         const void *body, size_t body_bytes, bool *done)
{
    struct wire_socket *wire = (struct wire_socket *)base;
    struct peer *peer = &wire->peer[to];
    if (peer->gone) {
        if (done)
            *done = true;
        return true;
    }
    if (peer->queued == QUEUED || in_trouble(wire))
        return false;
    struct outgoing *out = &peer->out[(peer->first + peer->queued++) % QUEUED];
    *out = (struct outgoing){.frame = {head_bytes, body_bytes}, .body = body, .done = done};
    memcpy(out->head, head, head_bytes);
    if (done)
        *done = false;
    return true;
}

static bool push(struct wire_socket *wire, struct peer *peer)
{
    struct outgoing *out = &peer->out[peer->first];
    struct iovec part[3] = {{&out->frame, sizeof out->frame},
                            {out->head, out->frame.head_bytes},
                            {(void *)(uintptr_t)out->body, out->frame.body_bytes}};
    const size_t all = sizeof out->frame + out->frame.head_bytes + out->frame.body_bytes;
    size_t skip = out->written, room = in_trouble(wire) ? FEW_BYTES : SIZE_MAX;
    for (int i = 0; i < 3; i++) {
        const size_t over = skip < part[i].iov_len ? skip : part[i].iov_len;
        part[i].iov_base = (unsigned char *)((uintptr_t)part[i].iov_base + over);
        part[i].iov_len -= over;
        skip -= over;
        part[i].iov_len = part[i].iov_len < room ? part[i].iov_len : room;
        room -= part[i].iov_len;
    }
    const struct msghdr message = {.msg_iov = part, .msg_iovlen = 3};
    const ssize_t bytes = sendmsg(*peer->end, &message, MSG_NOSIGNAL);
    if (!moved(peer, bytes))
        return false;
    out->written += (size_t)bytes;
    if (out->written < all)
        return true;
    if (out->done)
        *out->done = true;
    peer->first = (peer->first + 1) % QUEUED;
    peer->queued--;
    return true;
}

/* --- receiving --- */

/* Read up to `end` bytes of the message, whose byte `begin` goes to `to`; true: all are there. */
static bool pull(struct wire_socket *wire, struct peer *peer, void *to, size_t begin, size_t end,
                 bool *any)
{
    struct incoming *in = &peer->in;
    while (in->got < end) {
        const size_t want =
            in_trouble(wire) && end - in->got > FEW_BYTES ? FEW_BYTES : end - in->got;
        const ssize_t bytes = recv(*peer->end, (unsigned char *)to + (in->got - begin), want, 0);
        if (bytes == 0)
            forget(peer, "connection closed");
        if (!moved(peer, bytes))
            return false;
        in->got += (size_t)bytes;
        *any = true;
    }
    return true;
}

static void tell_all(struct peer *peer, size_t from, const struct hr_wire_sink *sink)
{
    for (size_t i = 0; i < peer->nheld; i++)
        sink->arrived(sink->arg, from, peer->held[i].head, peer->held[i].head_bytes);
    peer->nheld = 0;
}

static void has_come(struct wire_socket *wire, size_t from, const struct hr_wire_sink *sink)
{
    struct peer *peer = &wire->peer[from];
    struct held *held = &peer->held[peer->nheld++];
    memcpy(held->head, peer->in.head, peer->in.frame.head_bytes);
    held->head_bytes = peer->in.frame.head_bytes;
    if (peer->nheld == HELD || !in_trouble(wire))
        tell_all(peer, from, sink);
}

/* Go on with one message; true when it is complete. */
static bool receive(struct wire_socket *wire, size_t from, const struct hr_wire_sink *sink,
                    bool *any)
{
    struct peer *peer = &wire->peer[from];
    struct incoming *in = &peer->in;
    const size_t head_at = sizeof in->frame;
    void *where = NULL;
    if (!pull(wire, peer, &in->frame, 0, head_at, any))
        return false;
    const size_t body_at = head_at + in->frame.head_bytes;
    if (!pull(wire, peer, in->head, head_at, body_at, any))
        return false;
    if (!in->placed &&
        !sink->place(sink->arg, from, in->head, in->frame.head_bytes, in->frame.body_bytes, &where))
        return false;
    if (!in->placed)
        in->where = where;
    in->placed = true;
    if (!pull(wire, peer, in->where, body_at, body_at + in->frame.body_bytes, any))
        return false;
    in->got = 0;
    in->placed = false;
    has_come(wire, from, sink);
    return true;
}

static bool poll_all(struct hr_wire *base, const struct hr_wire_sink *sink)
{
    struct wire_socket *wire = (struct wire_socket *)base;
    bool any = false;
    for (size_t p = 0; p < base->machines; p++) {
        struct peer *peer = &wire->peer[p];
        while (!peer->gone && p != base->self && peer->queued && push(wire, peer))
            any = true;
        if (!in_trouble(wire))
            tell_all(peer, p, sink);
        while (!peer->gone && p != base->self && !in_trouble(wire) && receive(wire, p, sink, &any))
            any = true;
    }
    return any;
}

static bool find_lost(struct hr_wire *base, size_t *machine, char *text, size_t size)
{
    struct wire_socket *wire = (struct wire_socket *)base;
    for (size_t p = 0; p < base->machines; p++) {
        if (!wire->peer[p].gone || wire->peer[p].told)
            continue;
        wire->peer[p].told = true;
        *machine = p;
        snprintf(text, size, "%s", wire->peer[p].how);
        return true;
    }
    return false;
}

static void close_wire(struct hr_wire *base)
{
    struct wire_socket *wire = (struct wire_socket *)base;
    for (size_t p = 0; p < base->machines; p++)
        if (p != base->self)
            close_end(wire->peer[p].end);
    free(wire);
}

enum hr_status wire_socket_open(struct wire_mesh *mesh, size_t self, uint32_t seed,
                                uint32_t trouble, struct hr_wire **out)
{
    static const struct hr_wire_table table = {"sockets", send_message, poll_all, find_lost,
                                               close_wire};
    struct wire_socket *wire = calloc(1, sizeof *wire + mesh->machines * sizeof *wire->peer);
    if (!wire)
        return hr_fail(HR_E_NOMEM, "no memory for a wire");
    wire->wire = (struct hr_wire){&table, mesh->machines, self, mesh->host, false};
    wire->random = seed * 2654435761u + (uint32_t)self + 1;
    wire->trouble = trouble;
    for (size_t p = 0; p < mesh->machines; p++)
        wire->peer[p].end = &mesh->end[self][p];
    *out = &wire->wire;
    return HR_OK;
}
