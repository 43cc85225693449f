/* replica_script.h - a script of shards on two ranks each, one of which dies. */
#ifndef HR_TESTS_SERVER_REPLICA_SCRIPT_H
#define HR_TESTS_SERVER_REPLICA_SCRIPT_H

#include <string.h>

#include "server/server.h"
#include "shm/control.h"
#include "support/check.h"
#include "support/script.h"

enum { WORKERS = 3, SPAN = 9, BATCHES = 2 * SPAN };

static struct script script;

static inline struct hr_shared_state *shared(void)
{
    return &script.shared;
}

static inline void open_with(const struct hr_strategy *strategy, size_t servers, size_t copies,
                             const struct hr_train_options *options)
{
    script_open(&script, strategy,
                (struct script_plan){.workers = WORKERS,
                                     .servers = servers,
                                     .copies = copies,
                                     .batches = BATCHES,
                                     .options = options,
                                     .outlives = true,
                                     .reissues = true});
}

/* The others hear of it, and nobody may read what it had. */
static inline void bury(size_t owner)
{
    struct hr_shard *shard = &script.shard[owner];
    memset(shard->weights, 0xff, shard->count * sizeof(float));
    if (shard->sum)
        memset(shard->sum, 0xff, shard->count * sizeof(float));
    for (size_t at = shard->first; at < hr_state_floats(shared()); at += shared()->params)
        memset(shard->state + at, 0xff, shard->count * sizeof(float));
    shared()->strategy->shard_stop(shard);
    hr_roster_lose(shared()->control, WORKERS + owner, false);
}

#endif
