#include "support/gossip_script.h"

#include <stdio.h>

#include "strategies/strategies.h"

void gossip_open(struct script *script, const char *graph, size_t workers, uint64_t batches)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    snprintf(options.gossip_graph, sizeof options.gossip_graph, "%s", graph);
    script_open(script, &hr_strategy_gossip,
                (struct script_plan){.workers = workers,
                                     .batches = batches,
                                     .options = &options,
                                     .outlives = true,
                                     .reissues = true});
}

uint64_t gossip_draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}
