/* p2p.h - messages between two ranks: send, receive, and the same begun now and awaited later.
 *
 * Each pair of ranks has a stream each way of its own, apart from those of collectives. Requests to
 * one peer are seen through in the order in which they were made, so the n-th send meets the n-th
 * receive; count and type are compared. A request that waits moves all others on as well.
 *
 * Threads: a member belongs to its rank.
 */
#ifndef HR_GROUP_P2P_H
#define HR_GROUP_P2P_H

#include <stdbool.h>

#include "group/group.h"

struct hr_p2p;

HR_CHECKED enum hr_status hr_p2p_create(size_t nranks, struct hr_p2p **out);
/* Forgets requests that nobody waited for. Harmless on NULL. */
void hr_p2p_destroy(struct hr_p2p *p2p);

/* The streams, for whoever knows where they lie. */
struct hr_stream *hr_p2p_to(struct hr_p2p *p2p, size_t peer);
struct hr_stream *hr_p2p_from(struct hr_p2p *p2p, size_t peer);

/* Begin to send, or to receive, `bytes` of `count` elements of `type`. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_p2p_send(struct hr_member *member, const void *buffer, size_t count,
                                      enum hr_type type, size_t to, struct hr_request **request);
HR_CHECKED enum hr_status hr_p2p_receive(struct hr_member *member, void *buffer, size_t count,
                                         enum hr_type type, size_t from,
                                         struct hr_request **request);

/* Make what progress can be made with all requests; true while some are not over. */
bool hr_p2p_progress(struct hr_p2p *p2p);

/* Wait until it is over; the request is gone. */
HR_CHECKED enum hr_status hr_p2p_wait(struct hr_request *request);

#endif
