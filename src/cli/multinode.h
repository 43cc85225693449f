/* multinode.h - hogring train on several machines, as mpirun or a batch system started it: the
 * wire, whose turn it is to speak, and one exit code.
 *
 *   Machine 0 says everything. The others read the same data, compute, and are silent, but for what
 *   machine 0 cannot say: that it is lost.
 *
 * Threads: the command's. Test: tests/cli/machines_mpi.bats
 */
#ifndef HR_CLI_MULTINODE_H
#define HR_CLI_MULTINODE_H

#include "hogring/train.h"
#include "options/command_line.h"

struct hr_machines;

/* Started as one of several, any other command than train would do its work as often. */
HR_CHECKED enum hr_status hr_cli_machines_check(const char *command, const struct hr_cli *cli,
                                                bool trains);

/* Meet the other machines, if this process was started as one of several; else *out is NULL. Says
 * how many workers there are where nobody has: as many a machine as the smallest has cores. */
HR_CHECKED enum hr_status hr_cli_machines_open(struct hr_cli *cli, struct hr_machines **out);
/* `status` has come of what all machines did. Returns the exit code; machine 0 says why. */
int hr_cli_machines_close(struct hr_machines *machines, enum hr_status status);

/* Before the run: `ready` has come of this machine's preparing. Is everybody's ready? */
HR_CHECKED enum hr_status hr_cli_machines_ready(const struct hr_cli *cli,
                                                struct hr_machines *machines, enum hr_status ready);
/* Behind one that went well: a signal that ended it on one machine has ended it on all. */
HR_CHECKED enum hr_status hr_cli_machines_ran(struct hr_machines *machines);
/* Behind it: what machine 0 has come to is everybody's exit code. */
HR_CHECKED enum hr_status hr_cli_machines_outcome(struct hr_machines *machines,
                                                  enum hr_status status);

/* The data, where the run, on these machines (NULL: on one), fits beside them into memory. */
HR_CHECKED enum hr_status hr_cli_open_data(struct hr_cli *cli, struct hr_machines *machines,
                                           struct hr_dataset *dataset);

/* On a machine that is not the first: the whole run. */
HR_CHECKED enum hr_status hr_cli_follow(struct hr_cli *cli, struct hr_dataset *dataset,
                                        struct hr_machines *machines);
#endif
