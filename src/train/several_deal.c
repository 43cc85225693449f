/* Which runs work on several machines, and which rank lives where. */

#include "train/several.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "machines/machines.h"
#include "netsim/inject.h"
#include "options/train_options.h"
#include "server/server.h"
#include "session/kept.h"

/* Known of Open MPI 4, which MPI_Get_library_version names. */
static void warn_of_library(const struct hr_machines *machines)
{
    const char *library = machines->wire->table->name;
    if (!strncmp(library, "Open MPI 4.", 11))
        hr_log(HR_LOG_WARNING,
               "--on-loss continue: survivors may wait in %s until --timeout ends the run; Open "
               "MPI 5 and MPICH let them go on (help machines)",
               library);
}

/* --- for people --- */

static struct hr_machine_report report_of(const struct hr_run *run, size_t m)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_machines *machines = run->machines;
    const struct hr_machine_clock *clock = &machines->together.clock[m];
    struct hr_machine_report report = {.processors = (size_t)machines->traits[m].processors,
                                       .clock_offset_s = hr_seconds(clock->offset_ns),
                                       .clock_error_s = hr_seconds(clock->error_ns)};
    snprintf(report.host, sizeof report.host, "%s", machines->wire->host[m]);
    snprintf(report.isa, sizeof report.isa, "%s", machines->traits[m].isa);
    for (size_t w = shared->workers; w-- > 0;)
        if (shared->homes.machine[w] == m) {
            report.first_worker = w;
            report.workers++;
        }
    for (size_t s = 0; s < shared->servers; s++)
        report.servers += shared->homes.machine[hr_shard_rank(shared, s)] == m;
    return report;
}

enum hr_status hr_several_describe(struct hr_run *run)
{
    struct hr_run_result *result = run->result;
    if (!run->machines || !hr_several_is_first(run))
        return HR_OK;
    const size_t n = run->machines->wire->machines;
    if (run->shared.outlives)
        warn_of_library(run->machines);
    result->machines = calloc(n, sizeof *result->machines);
    if (!result->machines)
        return hr_fail(HR_E_NOMEM, "no memory to describe %zu machines", n);
    result->nmachines = n;
    for (size_t m = 0; m < n; m++)
        result->machines[m] = report_of(run, m);
    return HR_OK;
}

/* --- for the run --- */

/* Also to machines on which workers have stages alone. */
static enum hr_status deal_servers(struct hr_run *run)
{
    struct hr_shared_state *shared = &run->shared;
    const bool first = run->job.choices.server_placement == HR_SERVERS_FIRST;
    const bool asked = first && !hr_kept_is(run->resume.checkpoint, "server-placement", "first");
    if (asked && !run->machines)
        return hr_fail(HR_E_USAGE, "--server-placement first: is not supported on one machine (it "
                                   "belongs to a run on several, which mpirun starts)");
    if (asked && shared->colocated)
        return hr_fail(HR_E_USAGE, "--server-placement first: is not supported with --placement "
                                   "colocated, where server s is worker s");
    if (run->machines && !shared->colocated)
        hr_homes_deal_behind(&shared->homes, shared->workers, shared->servers, first);
    return HR_OK;
}

/* Stages of all workers, one worker's behind another's: machines have equal runs of them. */
struct deal {
    size_t machines, workers, stages, team; /* stages of a worker; team: ranks of a stage */
};

static struct deal deal_of(const struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    const bool split = run->job.first_stage < run->job.nranks;
    return (struct deal){.machines = run->machines->wire->machines,
                         .workers = run->shared.workers,
                         .stages = split && o->pipeline ? o->pipeline : 1,
                         .team = split && o->tensor_parallel ? o->tensor_parallel : 1};
}

static size_t stages_of_a_machine(const struct deal *deal)
{
    return deal->workers * deal->stages / deal->machines;
}

static enum hr_status refuse_deal(const struct deal *deal)
{
    const char *team = deal->team > 1 ? "; the ranks of --tensor-parallel stay on one" : "";
    if (deal->stages * deal->team == 1)
        return hr_fail(HR_E_USAGE,
                       "--workers %zu: cannot be dealt out to %zu machines evenly; expected a "
                       "multiple of %zu",
                       deal->workers, deal->machines, deal->machines);
    return hr_fail(HR_E_USAGE,
                   "--workers %zu of %zu stage%s: cannot be dealt out to %zu machines; expected a "
                   "multiple of %zu workers, or machines that share each worker's stages evenly%s",
                   deal->workers, deal->stages, deal->stages == 1 ? "" : "s", deal->machines,
                   deal->machines, team);
}

/* Whole workers on a machine, or whole machines to a worker. */
static enum hr_status check_deal(const struct hr_run *run, const struct deal *deal)
{
    if (deal->workers % deal->machines == 0)
        return HR_OK;
    if (deal->machines % deal->workers || deal->stages % (deal->machines / deal->workers))
        return refuse_deal(deal);
    if (hr_strategy_shares_weights(run->shared.strategy))
        return hr_fail(HR_E_USAGE, "hogwild of workers whose stages live on several machines: not "
                                   "there yet; expected a worker or more on each");
    return HR_OK;
}

/* Ranks are counted as worker/staged.h has it. */
static void place(struct hr_run *run, const struct deal *deal)
{
    const size_t seats = deal->stages * deal->team, each = stages_of_a_machine(deal);
    struct hr_homes *homes = &run->shared.homes;
    homes->machines = (uint8_t)deal->machines;
    homes->self = (uint8_t)run->machines->wire->self;
    for (size_t w = 0; w < deal->workers; w++)
        for (size_t seat = 0; seat < seats; seat++) {
            const size_t rank = seat ? run->job.first_stage + w * (seats - 1) + seat - 1 : w;
            homes->machine[rank] = (uint8_t)((w * deal->stages + seat / deal->team) / each);
        }
}

enum hr_status hr_several_deal(struct hr_run *run)
{
    if (!run->machines)
        return deal_servers(run);
    const struct deal deal = deal_of(run);
    HR_TRY(check_deal(run, &deal));
    place(run, &deal);
    if (hr_strategy_shares_weights(run->shared.strategy))
        hr_leaders_choose(&run->shared.leaders, &run->shared.homes, run->shared.workers);
    return deal_servers(run);
}
