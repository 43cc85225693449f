#include "support/wire_socket.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machines/wire_socket.h"
#include "support/check.h"

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

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
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

enum hr_status wire_socket_open(struct wire_mesh *mesh, size_t self, uint32_t seed,
                                uint32_t trouble, struct hr_wire **out)
{
    return hr_wire_socket_open(&(struct hr_wire_socket_options){.machines = mesh->machines,
                                                                .self = self,
                                                                .host = mesh->host,
                                                                .end = mesh->end[self],
                                                                .seed = seed,
                                                                .trouble = trouble},
                               out);
}
