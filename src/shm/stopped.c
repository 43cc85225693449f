/* Ranks whose process is stopped, and that a timeout is put down to them. */
#include <stdio.h>
#include <unistd.h>

#include "shm/control.h"
#include "shm/process.h"

bool hr_control_stopped(const struct hr_control *control, size_t rank, char *text, size_t size)
{
    const struct hr_rank_status *line = &control->rank[rank];
    const long pid = (long)hr_atom64_load_acquire(&line->pid); /* partner: who starts the rank */
    if (!pid || pid == (long)getpid() ||
        hr_atom32_load_acquire(&line->result) != HR_RUNNING || /* partner: the rank, at its end */
        !hr_process_is_stopped(pid))
        return false;
    snprintf(text, size, "pid %ld is stopped, while %s", pid,
             hr_phase_str((enum hr_phase)hr_atom32_load_relaxed(&line->phase)));
    return true;
}

void hr_control_blame_stopped(const struct hr_control *control, struct hr_failure *failure,
                              const char *message)
{
    const uint32_t waiter = failure->rank;
    char said[240] = "", text[100];
    size_t used = 0;
    for (uint32_t r = 0; r < control->nranks && used < sizeof said / 2; r++) {
        if (!hr_control_stopped(control, r, text, sizeof text))
            continue;
        if (used)
            used += (size_t)snprintf(said + used, sizeof said - used, "; rank %u: %s", r, text);
        else
            used = (size_t)snprintf(said, sizeof said, "%s", text);
        failure->rank = failure->rank == waiter ? r : failure->rank;
    }
    if (used && waiter < control->nranks)
        snprintf(failure->message, sizeof failure->message, "%s; rank %u %s", said, waiter,
                 message);
    else if (used)
        snprintf(failure->message, sizeof failure->message, "%s; %s", said, message);
}
