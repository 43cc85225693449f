/* porter.h - MPI in a process of its own, for a run whose ranks are processes.
 *
 *     mpirun --- this process: the run ---+--- ranks, forked when memory is laid out
 *                                         +--- porter, forked first of all: MPI, a relay (relay.h)
 *
 *   Nothing that forks begins MPI: Open MPI advises against fork() behind MPI_Init, since what it
 *   stands upon may not bear it (docs.open-mpi.org, "Calling fork(), system(), or popen() in MPI
 *   processes"), and MPICH is silent. To the library the porter is a program that a wrapper script
 *   has started: a child of the process that mpirun knows.
 *   What goes between machines is copied once more on each side, through sockets.
 *
 * Threads: the command's, before there is any other.
 * Errors:  start.h's. A porter that dies is all other machines lost.
 * Test:    tests/cli/machines_train.bats
 */
#ifndef HR_MACHINES_PORTER_H
#define HR_MACHINES_PORTER_H

#include "machines/start.h"

/* hr_mpi_open in a child; once. The wire between the processes of the launcher, by sockets. */
HR_CHECKED enum hr_status hr_porter_open(int64_t timeout_ns, struct hr_wire **wire);

/* hr_mpi_leave, by the porter if there is one, which is waited for. */
int hr_porter_leave(int code);

#endif
