/* lost_workers.h - a script of parameter servers whose workers are lost and come back, by hand. */
#ifndef HR_TESTS_SERVER_LOST_WORKERS_H
#define HR_TESTS_SERVER_LOST_WORKERS_H

#include "server/server.h"
#include "support/check.h"
#include "support/script.h"

static struct script script;

static inline struct script_plan lost_plan(size_t workers, size_t servers, uint64_t batches)
{
    return (struct script_plan){.workers = workers,
                                .servers = servers,
                                .batches = batches,
                                .outlives = true,
                                .reissues = true};
}

/* Worker w is lost, and every shard takes that. */
static inline void lose(size_t w)
{
    script_lose(&script, w);
    script_serve_all(&script, w);
    for (size_t s = 0; s < script.shared.servers; s++) {
        assert_int_equal(script.shard[s].taken.kind, HR_GONE);
        assert_false(script_enabled(&script, s, w));
    }
}

static inline void join(size_t w)
{
    script_return(&script, w);
    script_serve_all(&script, w);
}

#endif
