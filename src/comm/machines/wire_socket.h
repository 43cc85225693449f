/* wire_socket.h - a wire over connected stream sockets, one to each other machine (wire.h).
 *
 *   stream   [ bytes of head | bytes of body | head | body ] ...     in each direction
 *
 * A body is read from the sender's memory and written into the receiver's by the kernel. A socket
 * that is closed, or was reset, is a machine lost.
 *
 * Threads: wire.h's. Test: tests/unit/machines/test_wire_socket.c
 */
#ifndef HR_MACHINES_WIRE_SOCKET_H
#define HR_MACHINES_WIRE_SOCKET_H

#include <stdint.h>

#include "base/error.h"
#include "machines/wire.h"

struct hr_wire_socket_options {
    size_t machines, self;
    char (*host)[HR_WIRE_HOST]; /* (machines) the caller's memory */
    int *end; /* (machines) the sockets, which do not block; the caller's memory: -1 when closed, by
                 close at the latest. end[self] is none */
    /* For tests: how often, in percent, it has no room, sees nothing, or moves but a few bytes at a
     * time; drawn from `seed`. 0: never. */
    uint32_t seed, trouble;
};

/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_wire_socket_open(const struct hr_wire_socket_options *options,
                                              struct hr_wire **out);

#endif
