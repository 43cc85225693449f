/* wire_socket.h - a wire over socketpairs: machines that are forked processes or threads, in tests.
 *
 *     struct wire_mesh mesh;
 *     wire_mesh_open(&mesh, 3);                      before the fork, or the threads
 *     CHECK_OK(wire_socket_open(&mesh, self, seed, 0, &wire));    in each machine
 *     wire_mesh_keep(&mesh, self);                   in a forked one: only its own ends stay open
 *     ...
 *     hr_wire_close(wire);                           closes its ends: the others see it gone
 *     wire_mesh_close(&mesh);                        what is still open
 *
 *   stream   [ bytes of head | bytes of body | head | body ] ...     in each direction
 *
 * A socket that is closed, or was reset, is a machine lost.
 */
#ifndef HR_TESTS_SUPPORT_WIRE_SOCKET_H
#define HR_TESTS_SUPPORT_WIRE_SOCKET_H

#include <stdint.h>

#include "base/error.h"
#include "machines/wire.h"

enum { WIRE_MESH_MACHINES = 8 };

struct wire_mesh {
    size_t machines;
    int end[WIRE_MESH_MACHINES][WIRE_MESH_MACHINES]; /* [machine][peer]; -1: closed */
    char host[WIRE_MESH_MACHINES][HR_WIRE_HOST];
};

void wire_mesh_open(struct wire_mesh *mesh, size_t machines);
void wire_mesh_keep(struct wire_mesh *mesh, size_t self);
void wire_mesh_close(struct wire_mesh *mesh);

/* The wire of machine `self`, whose hosts are called "host-0", ... trouble: how often, in percent,
 * it has no room, sees nothing, or moves but a few bytes at a time; drawn from `seed`. HR_E_NOMEM.
 */
HR_CHECKED enum hr_status wire_socket_open(struct wire_mesh *mesh, size_t self, uint32_t seed,
                                           uint32_t trouble, struct hr_wire **out);

#endif
