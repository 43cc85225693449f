/* wire_mpi.h - a wire (wire.h) of MPI's point-to-point messages; compiled once a library.
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
#ifndef HR_MACHINES_WIRE_MPI_H
#define HR_MACHINES_WIRE_MPI_H

#include <mpi.h>

#include "base/error.h"
#include "machines/wire.h"

struct hr_wire_mpi_options {
    MPI_Comm all; /* of the wire alone, returning errors; a machine is its rank there */
    const char *library;
    char (*host)[HR_WIRE_HOST];
    size_t self, machines;
};

/* The wire; what options point at stays. One at a time; equally many opened in all processes. Its
 * close waits up to a second for bodies under way, whose memory is the caller's again then. */
HR_CHECKED enum hr_status hr_wire_mpi(const struct hr_wire_mpi_options *options,
                                      struct hr_wire **wire);

/* After the last close: take leave of the other machines, and wait until they do. To one whose wire
 * is still open this machine is lost then. false: a machine was lost, memory of the caller's was
 * still under way when a wire was closed, or it is later than `until` (of hr_clock_own_ns): then
 * MPI_Finalize would not end. */
bool hr_wire_mpi_farewell(int64_t until);

#endif
