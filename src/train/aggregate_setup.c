#include "train/aggregate_setup.h"

#include <stdio.h>
#include <string.h>

#include "machines/machines.h"
#include "strategy/overlap.h"
#include "train/compress_setup.h"

/* Why each pushes for itself though a machine's workers could push as one; NULL: they do, or cannot
 * anyway. */
static const char *kept_apart(const struct hr_run *run, size_t each)
{
    if (!run->shared.strategy->aggregated || !run->shared.strategy->synchronous || each < 2 ||
        each & (each - 1) || strcmp(run->options.aggregate, "auto"))
        return NULL;
    if (run->options.record[0])
        return "the trace is replayed on one machine";
    if (hr_overlaps(&run->options))
        return "each leaves while it is computed";
    return hr_run_compresses(run) ? "each keeps what its own push left out" : NULL;
}

/* Workers of a machine. */
static size_t each_of(const struct hr_run *run)
{
    return run->machines ? run->shared.workers / run->machines->wire->machines : 0;
}

/* Why not; false: they do. */
static bool cannot(const struct hr_run *run, size_t each, char *why, size_t size)
{
    const struct hr_strategy *strategy = run->shared.strategy;
    why[0] = '\0';
    if (!run->machines)
        snprintf(why, size,
                 "means nothing on one machine (it belongs to a run on several, which mpirun "
                 "starts)");
    else if (!strategy->aggregated)
        snprintf(why, size, "with --strategy %s %s; expected ps-sync, ps-async or ssp",
                 strategy->name,
                 strategy->served ? "servers know workers, one by one" : "nobody pushes");
    else if (each < 2)
        snprintf(
            why, size,
            "each machine has one worker%s, whose gradient is its machine's; expected 2, 4, 8, "
            "... on each",
            each ? "" : ", or a part of one");
    else if (strategy->synchronous && each & (each - 1))
        snprintf(why, size,
                 "%zu workers on each machine cannot add in the order of all; expected 2, 4, 8, "
                 "...",
                 each);
    else if (run->options.record[0])
        snprintf(why, size,
                 "a recorded run is replayed on one machine, where each worker pushes; expected it "
                 "without --record");
    else if (hr_overlaps(&run->options))
        snprintf(why, size,
                 "with --overlap on a worker's push leaves while it is computed, before there is "
                 "a sum of a machine's; expected --overlap off");
    else if (hr_run_compresses(run))
        snprintf(why, size,
                 "with --compress each worker keeps what its own push left out; expected it "
                 "without");
    return why[0];
}

enum hr_status hr_aggregate_setup(struct hr_run *run)
{
    const char *how = run->options.aggregate;
    const size_t each = each_of(run);
    char why[200];
    run->shared.node_workers = 0;
    const bool changes = run->shared.strategy->aggregated && !run->shared.strategy->synchronous;
    if (!strcmp(how, "none") || (!strcmp(how, "auto") && changes)) /* which updates are made */
        return HR_OK;
    if (cannot(run, each, why, sizeof why))
        return strcmp(how, "node") ? HR_OK : hr_fail(HR_E_USAGE, "--aggregate node: %s", why);
    run->shared.node_workers = each;
    run->shared.strategy = run->shared.strategy->aggregated;
    return HR_OK;
}

void hr_aggregate_text(const struct hr_run *run, char *text, size_t size)
{
    const size_t together = run->shared.node_workers;
    text[0] = '\0';
    if (together && !run->shared.strategy->synchronous)
        snprintf(text, size,
                 "one a machine: gradients of its %zu workers, of a minibatch each, are added "
                 "there, and are one update",
                 together);
    else if (together)
        snprintf(text, size, "one a machine: gradients of its %zu workers are added there",
                 together);
    else if (kept_apart(run, each_of(run)))
        snprintf(text, size, "one a worker (--aggregate none): %s", kept_apart(run, each_of(run)));
}
