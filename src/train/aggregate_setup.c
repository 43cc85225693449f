#include "train/aggregate_setup.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "session/saved.h"
#include "strategy/shared.h"
#include "train/compress_setup.h"

/* Why each pushes for itself though a machine's workers could push as one: ": it is recorded". */
static const char *kept_apart(const struct hr_run *run)
{
    if (run->job.choices.aggregate == HR_AGGREGATE_NONE)
        return "";
    if (run->options.record[0])
        return ": the trace is replayed on one machine";
    if (run->shared.outlives)
        return ": the run outlives them one by one (--on-loss)";
    if (run->shared.overlaps)
        return ": --overlap is on";
    return hr_run_compresses(run) ? ": each keeps what its own push left out" : "";
}

/* Does it change which updates are made? Then nobody but the user chooses it. */
static bool changes_updates(const struct hr_run *run)
{
    return run->shared.strategy->aggregated && !run->shared.strategy->synchronous;
}

/* Workers of a machine. */
static size_t each_of(const struct hr_run *run)
{
    return run->machines ? run->shared.workers / run->shared.homes.machines : 0;
}

/* Why not; false: they do. */
static bool cannot(const struct hr_run *run, size_t each, char *why, size_t size)
{
    const struct hr_strategy *strategy = run->shared.strategy;
    why[0] = '\0';
    if (!run->machines)
        snprintf(why, size,
                 "is not supported on one machine (it belongs to a run on several, which mpirun "
                 "starts)");
    else if (!strategy->aggregated)
        snprintf(why, size, "with --strategy %s %s; expected ps-sync, ps-async or ssp",
                 strategy->name,
                 hr_strategy_is_served(strategy) ? "servers have to know whose push it is"
                                                 : "nobody pushes");
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
    else if (run->shared.outlives)
        snprintf(why, size,
                 "workers that push as one are not lost one by one; expected it without "
                 "--on-loss continue");
    else if (hr_run_compresses(run))
        snprintf(why, size,
                 "with --compress each worker keeps what its own push left out; expected it "
                 "without");
    return why[0];
}

/* Where it cannot be: asked for now, or when a run began that goes on in another place. */
static enum hr_status go_without(const struct hr_run *run, const char *why)
{
    if (run->job.choices.aggregate != HR_AGGREGATE_NODE)
        return HR_OK;
    if (!hr_kept_is(run->resume.checkpoint, "aggregate", "node"))
        return hr_fail(HR_E_USAGE, "--aggregate node: %s", why);
    if (run->shared.strategy->aggregated)
        hr_log(HR_LOG_INFO,
               "--resume %s: until here a machine's workers pushed as one; from here each "
               "pushes: --aggregate node %s",
               run->resume.checkpoint->path, why);
    return HR_OK;
}

enum hr_status hr_aggregate_setup(struct hr_run *run)
{
    const enum hr_aggregate_choice how = run->job.choices.aggregate;
    const bool chosen = how == HR_AGGREGATE_AUTO, overlaps = run->shared.overlaps;
    char why[200];
    run->shared.node_workers = 0;
    if (how == HR_AGGREGATE_NONE || (chosen && changes_updates(run)) ||
        (chosen && overlaps && hr_kept_is(run->resume.checkpoint, "overlap", "on")))
        return HR_OK;
    if (cannot(run, each_of(run), why, sizeof why))
        return go_without(run, why);
    if (overlaps)
        return hr_fail(HR_E_USAGE, "--overlap on: a machine's workers push as one (--aggregate "
                                   "node), whole; expected --aggregate none as well, or --overlap "
                                   "off");
    run->shared.node_workers = each_of(run);
    run->shared.strategy = run->shared.strategy->aggregated;
    return HR_OK;
}

/* Why each pushes for itself, with " (--aggregate none)" where they could have been told to. */
static void apart_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_strategy *strategy = run->shared.strategy;
    const size_t each = each_of(run);
    const char *told = strategy->aggregated && each > 1 ? " (--aggregate none)" : "";
    if (each < 2)
        snprintf(text, size, "one a worker: each machine has one%s", each ? "" : ", or a part");
    else if (!strategy->aggregated)
        snprintf(text, size, "one a worker");
    else if (!strategy->synchronous)
        snprintf(text, size, "one a worker%s: each is an update of its own", told);
    else if (each & (each - 1))
        snprintf(text, size, "one a worker%s: %zu a machine cannot add in the order of all", told,
                 each);
    else
        snprintf(text, size, "one a worker%s%s", told, kept_apart(run));
}

void hr_aggregate_text(const struct hr_run *run, char *text, size_t size)
{
    const size_t together = run->shared.node_workers;
    text[0] = '\0';
    if (!run->machines || !hr_strategy_is_served(run->shared.strategy))
        return;
    if (together && !run->shared.strategy->synchronous)
        snprintf(text, size,
                 "one a machine: gradients of its %zu workers, of a minibatch each, are added "
                 "there, and are one update",
                 together);
    else if (together)
        snprintf(text, size, "one a machine: gradients of its %zu workers are added there",
                 together);
    else
        apart_text(run, text, size);
}
