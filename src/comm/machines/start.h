/* start.h - the processes of a run as mpirun or a batch system started them, and the wire between.
 *
 *     if (hr_mpi_launched(&launch) && launch.processes > 1)     looks at the environment alone
 *         HR_TRY(hr_mpi_open(timeout_ns, &wire));               MPI begins: after the last fork
 *     ...
 *     hr_wire_close(wire);
 *     return hr_mpi_leave(code);                                the last thing that main does
 *
 * One program links one MPI library, because their ABIs differ: build/hogring none,
 * build/hogring-openmpi and build/hogring-mpich theirs. All that knows MPI is in wire_mpi.c,
 * compiled once a library; the rest asks hr_mpi_library, which is NULL where none is linked.
 *
 * Threads:  MPI is begun with MPI_THREAD_SERIALIZED: any thread, one at a time; so is the wire.
 * Blocking: open waits for the other processes, at most timeout_ns in MPI_Init (then the process
 *           ends there, with a line and the exit code of a loss) and as long behind it; leave
 *           waits for them, asleep, as stated below.
 * Errors:   MPI's are returned, never fatal (MPI_ERRORS_RETURN); as wire.h has it, a connection
 *           that breaks is a machine lost. What launchers do then: hogring help machines.
 * Test:     tests/cli/machines_mpi.bats
 */
#ifndef HR_MACHINES_START_H
#define HR_MACHINES_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "machines/wire.h"

/* Seconds that leave waits for the other processes after a run that ended well (they may still be
 * writing), and after one that did not; in MPI_Finalize after that, and after one that ended well,
 * where all are there: of one who left it early the launcher would call the run a failure. */
enum { HR_MPI_OTHERS_S = 600, HR_MPI_FAILED_S = 1, HR_MPI_FINALIZE_S = 2, HR_MPI_CALM_S = 30 };

/* What a launcher has told this process. */
struct hr_mpi_launch {
    const char *launcher; /* "Open MPI's mpirun", "MPICH's mpirun", "srun" */
    const char *program;  /* of its library; NULL: the launcher does for any */
    const char *one_each; /* the flag that makes it start one process per machine */
    size_t process, processes;
};

/* One MPI library, where it is linked. */
struct hr_mpi_library {
    enum hr_status (*open)(const struct hr_mpi_launch *launch, int64_t timeout_ns,
                           struct hr_wire **wire);
    int (*leave)(int code);
};

/* Of this program; NULL: none. */
const struct hr_mpi_library *hr_mpi_library(void);

/* Has a launcher started this process, as one of several or alone? Reads the environment; nothing
 * of MPI begins. */
bool hr_mpi_launched(struct hr_mpi_launch *launch);

/* HR_E_USAGE: started as one of several by a program without MPI; says which one to start. */
HR_CHECKED enum hr_status hr_mpi_check(void);

/* Begin MPI, once per process, and meet the others; later calls give a new wire between the same.
 * All processes call it equally often, the k-th calls belong together, and the wire before has been
 * closed. HR_E_USAGE: no library is linked, or another one than the launcher's; two processes are
 * on one host (says with which flag they would not be). HR_E_TIMEOUT: somebody did not come. */
HR_CHECKED enum hr_status hr_mpi_open(int64_t timeout_ns, struct hr_wire **wire);

/* End MPI if it has begun, and say with which code to exit: `code`. Flushes stdout and stderr. When
 * machines are lost or do not come, or MPI_Finalize does not end, the process leaves here. */
int hr_mpi_leave(int code);

#endif
