#include "strategy/leaders.h"

#include "strategy/shared_state.h"

void hr_leaders_choose(struct hr_leaders *leaders, const struct hr_homes *homes, size_t workers)
{
    *leaders = (struct hr_leaders){.each = workers / homes->machines};
    leaders->options = (struct hr_group_options){
        .nranks = homes->machines,
        .algorithm = &hr_allreduce_auto,
        .homes = {.machines = homes->machines, .self = homes->self},
    };
    for (size_t m = 0; m < homes->machines; m++) {
        leaders->options.homes.machine[m] = (uint8_t)m;
        leaders->rank[m] = (uint16_t)(m * leaders->each);
        HR_ASSERT(homes->machine[leaders->rank[m]] == m);
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
    return hr_member_init(member, &leaders->options, &place, shared->homes.self);
}
