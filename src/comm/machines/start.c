/* What launchers tell their processes, and the library that is linked, if one is. */
#include <stdlib.h>
#include <string.h>

#include "machines/start.h"

/* Defined by wire_mpi.c, which not every program links. */
extern const struct hr_mpi_library hr_mpi_linked __attribute__((weak));

/* Slurm's job script is not one of a step's tasks, and is told of no step. */
static const struct launcher {
    const char *name, *program, *rank, *size, *one_each;
} LAUNCHERS[] = {
    {"Open MPI's mpirun", "hogring-openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "--map-by ppr:1:node"},
    {"srun", NULL, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "--ntasks-per-node=1"},
    {"MPICH's mpirun", "hogring-mpich", "PMI_RANK", "PMI_SIZE", "-ppn 1"},
};
enum { NLAUNCHERS = sizeof LAUNCHERS / sizeof *LAUNCHERS };

static bool read_number(const char *variable, size_t *value)
{
    const char *text = getenv(variable);
    if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 9)
        return false;
    *value = (size_t)strtoul(text, NULL, 10);
    return true;
}

bool hr_mpi_launched(struct hr_mpi_launch *launch)
{
    for (size_t l = 0; l < NLAUNCHERS; l++) {
        const struct launcher *launcher = &LAUNCHERS[l];
        if (read_number(launcher->rank, &launch->process) &&
            read_number(launcher->size, &launch->processes)) {
            launch->launcher = launcher->name;
            launch->one_each = launcher->one_each;
            launch->program = launcher->program;
            return true;
        }
    }
    return false;
}

const struct hr_mpi_library *hr_mpi_library(void)
{
    return &hr_mpi_linked;
}

static enum hr_status refuse(const struct hr_mpi_launch *launch)
{
    return hr_fail(HR_E_USAGE,
                   "started by %s as process %zu of %zu, but this program has no MPI: start %s",
                   launch->launcher, launch->process, launch->processes,
                   launch->program ? launch->program : "hogring-openmpi or hogring-mpich");
}

enum hr_status hr_mpi_check(void)
{
    struct hr_mpi_launch launch;
    return hr_mpi_launched(&launch) && launch.processes > 1 && !hr_mpi_library() ? refuse(&launch)
                                                                                 : HR_OK;
}

enum hr_status hr_mpi_open(int64_t timeout_ns, struct hr_wire **wire)
{
    struct hr_mpi_launch launch;
    const struct hr_mpi_library *library = hr_mpi_library();
    *wire = NULL;
    if (!hr_mpi_launched(&launch))
        return hr_fail(HR_E_USAGE, "not started by mpirun or srun: there are no other machines");
    return library ? library->open(&launch, timeout_ns, wire) : refuse(&launch);
}

int hr_mpi_leave(int code)
{
    const struct hr_mpi_library *library = hr_mpi_library();
    return library ? library->leave(code) : code;
}
