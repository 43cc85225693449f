#include "strategy/leaders.h"

#include "strategy/shared_state.h"

void hr_leaders_choose(struct hr_leaders *leaders, const struct hr_homes *homes,
                       const uint16_t *rank, size_t n)
{
    *leaders = (struct hr_leaders){.group = leaders->group};
    leaders->options = (struct hr_group_options){
        .algorithm = &hr_allreduce_auto,
        .homes = {.machines = homes->machines, .self = homes->self},
    };
    size_t *machines = &leaders->options.nranks;
    uint8_t *machine = leaders->options.homes.machine;
    for (size_t seat = 0; seat < n; seat++) {
        const size_t worker = rank ? rank[seat] : seat;
        if (!*machines || machine[*machines - 1] != homes->machine[worker]) {
            machine[*machines] = homes->machine[worker];
            leaders->rank[(*machines)++] = (uint16_t)worker;
        }
        if (homes->machine[worker] != homes->self)
            continue;
        leaders->here = *machines - 1;
        leaders->first = leaders->each++ ? leaders->first : seat;
    }
}

enum hr_status hr_leaders_join(const struct hr_shared_state *shared, struct hr_waiter *waiter,
                               struct hr_member *member)
{
    const struct hr_leaders *leaders = &shared->leaders;
    const struct hr_place place = {.group = leaders->group,
                                   .segment = shared->segment,
                                   .control = shared->control,
                                   .waiter = waiter,
                                   .world_rank = leaders->rank,
                                   .number = 1};
    return hr_member_init(member, &leaders->options, &place, leaders->here);
}
