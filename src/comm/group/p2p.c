#include "group/p2p.h"

#include <stdlib.h>
#include <string.h>

#include "group/executor.h"

struct hr_request {
    struct hr_member *member;
    struct hr_request *next; /* made later, to the same peer and the same way */
    size_t peer;
    bool sends, over;
    bool lent;       /* a send: pushed in place, and being read */
    uint64_t ticket; /* then: of its message */
    struct hr_call call;
    struct hr_outgoing outgoing; /* of a send */
    unsigned char *buffer;       /* of a receive */
    size_t bytes, received;
    enum hr_status status;
};

/* The requests of one way between two ranks. */
struct queue {
    struct hr_stream stream;
    struct hr_request *first, *last; /* not over */
    uint64_t made;                   /* so far: the sequence of the last */
};

struct hr_p2p {
    size_t nranks;
    struct queue *to, *from; /* (nranks) */
    size_t pending;          /* requests that are not over */
};

enum hr_status hr_p2p_create(size_t nranks, struct hr_p2p **out)
{
    struct hr_p2p *p2p = calloc(1, sizeof *p2p + 2 * nranks * sizeof *p2p->to);
    if (!p2p)
        return hr_fail(HR_E_NOMEM, "no memory for a rank's messages");
    p2p->nranks = nranks;
    p2p->to = (struct queue *)(p2p + 1);
    p2p->from = p2p->to + nranks;
    *out = p2p;
    return HR_OK;
}

void hr_p2p_destroy(struct hr_p2p *p2p)
{
    if (!p2p)
        return;
    for (size_t i = 0; i < 2 * p2p->nranks; i++)
        for (struct hr_request *request = p2p->to[i].first, *next; request; request = next) {
            next = request->next;
            free(request);
        }
    free(p2p);
}

struct hr_stream *hr_p2p_to(struct hr_p2p *p2p, size_t peer)
{
    return &p2p->to[peer].stream;
}

struct hr_stream *hr_p2p_from(struct hr_p2p *p2p, size_t peer)
{
    return &p2p->from[peer].stream;
}

/* --- progress --- */

static void progress_send(struct hr_request *request, struct queue *queue)
{
    if (!request->lent) {
        const enum hr_pushed pushed = hr_stream_push(request->member, &queue->stream, request->peer,
                                                     &request->call, &request->outgoing);
        request->lent = pushed == HR_PUSHED_IN_PLACE;
        request->over = pushed == HR_PUSHED_PAYLOAD;
        request->ticket = hr_ring_committed_spsc(queue->stream.ring);
    }
    if (request->lent)
        request->over = hr_ring_released_spsc(queue->stream.ring, request->ticket);
}

static void progress_receive(struct hr_request *request, struct queue *queue)
{
    struct hr_incoming incoming;
    while (!request->over && hr_stream_peek(request->member, &queue->stream, request->peer,
                                            &request->call, &incoming, &request->status)) {
        if (incoming.bytes)
            memcpy(request->buffer + request->received, incoming.data, incoming.bytes);
        hr_stream_release(request->member, &queue->stream, request->peer);
        request->received += incoming.bytes;
        request->over = request->received == request->bytes;
    }
    request->over |= request->status != HR_OK;
}

static void account(struct hr_request *request)
{
    struct hr_traffic *traffic = &request->member->traffic[request->peer];
    if (request->sends) {
        traffic->bytes_sent += request->bytes;
        traffic->messages_sent++;
    } else {
        traffic->bytes_received += request->bytes;
        traffic->messages_received++;
    }
}

static void progress_queue(struct queue *queue)
{
    while (queue->first) {
        struct hr_request *request = queue->first;
        if (request->sends)
            progress_send(request, queue);
        else
            progress_receive(request, queue);
        if (!request->over)
            return;
        account(request);
        request->member->p2p->pending--;
        queue->first = request->next;
    }
}

bool hr_p2p_progress(struct hr_p2p *p2p)
{
    for (size_t peer = 0; peer < 2 * p2p->nranks && p2p->pending; peer++)
        progress_queue(&p2p->to[peer]);
    return p2p->pending != 0;
}

static bool is_over(void *arg)
{
    struct hr_request *request = arg;
    if (!request->over)
        hr_p2p_progress(request->member->p2p);
    return request->over;
}

/* --- requests --- */

static enum hr_status make(struct hr_member *member, struct queue *queue, struct hr_request made,
                           size_t count, enum hr_type type, struct hr_request **out)
{
    struct hr_request *request = malloc(sizeof *request);
    if (!request)
        return hr_fail(HR_E_NOMEM, "no memory for a message's request");
    *request = made;
    request->member = member;
    request->bytes = count * hr_type_bytes(type);
    request->outgoing.pieces = hr_pieces_together(0, request->bytes);
    request->call = (struct hr_call){
        .sequence = ++queue->made,
        .count = count,
        .kind = hr_call_kind(HR_OP_SEND, NULL, (struct hr_kind){.type = type}, false),
    };
    if (queue->first)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
    member->p2p->pending++;
    progress_queue(queue);
    *out = request;
    return HR_OK;
}

enum hr_status hr_p2p_send(struct hr_member *member, const void *buffer, size_t count,
                           enum hr_type type, size_t to, struct hr_request **request)
{
    const struct hr_request made = {.peer = to, .sends = true, .outgoing = {.origin = buffer}};
    return make(member, &member->p2p->to[to], made, count, type, request);
}

enum hr_status hr_p2p_receive(struct hr_member *member, void *buffer, size_t count,
                              enum hr_type type, size_t from, struct hr_request **request)
{
    const struct hr_request made = {.peer = from, .buffer = buffer};
    return make(member, &member->p2p->from[from], made, count, type, request);
}

/* When a wait fails the request stays in its queue: the world is over. */
enum hr_status hr_p2p_wait(struct hr_request *request)
{
    struct hr_member *member = request->member;
    const char *what = request->sends ? "a send" : "a receive";
    const enum hr_status waited = hr_wait_until(
        member->place.waiter, hr_member_bell_of(member, member->rank), is_over, request, what);
    if (waited == HR_E_ABORTED)
        return hr_member_name_failure(member, what);
    HR_TRY(waited);
    const enum hr_status status = request->status;
    free(request);
    return status;
}
