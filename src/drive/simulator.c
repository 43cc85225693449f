#include "drive/simulator.h"

#include <stdlib.h>

#include "strategy/server.h"

enum hr_status hr_simulator_push(struct hr_simulator *sim, int64_t time_ps, uint64_t what)
{
    if (time_ps >= HR_PS_NEVER)
        return hr_fail(HR_E_USAGE, "this run would take more than 53 days of virtual time");
    return hr_events_push(&sim->events, time_ps, what);
}

static enum hr_status take_memory(struct hr_simulator *sim, const struct hr_shared_state *shared)
{
    const size_t shards = shared->servers ? shared->servers : 1;
    const size_t slots = shared->workers * HR_SERVER_SLOTS, kinds = shards + 1;
    sim->station = calloc(shards, sizeof *sim->station);
    sim->seat = calloc(shared->workers, sizeof *sim->seat);
    sim->moving_ps = calloc(shared->workers * kinds, sizeof *sim->moving_ps);
    sim->queue = calloc(shards * slots, sizeof *sim->queue);
    if (!sim->station || !sim->seat || !sim->moving_ps || !sim->queue)
        return hr_fail(HR_E_NOMEM, "no memory to simulate %zu workers", shared->workers);
    for (size_t s = 0; s < shards; s++)
        sim->station[s].inbox.sender = sim->queue + s * slots;
    for (size_t r = 0; r < shared->workers; r++)
        sim->seat[r].account = (struct hr_virtual_account){.account = &shared->stats[r].account,
                                                           .moving_ps = sim->moving_ps + r * kinds,
                                                           .nmoving = kinds};
    return HR_OK;
}

enum hr_status hr_simulator_open(struct hr_simulator *sim, const struct hr_drive *drive)
{
    HR_TRY(take_memory(sim, drive->job->shared));
    return hr_message_queue_open(&sim->messages, &drive->job->conditions.topology,
                                 drive->job->shared->group_options.group_size);
}

void hr_simulator_close(struct hr_simulator *sim)
{
    hr_message_queue_close(&sim->messages);
    hr_events_fini(&sim->events);
    free(sim->station);
    free(sim->seat);
    free(sim->moving_ps);
    free(sim->queue);
}
