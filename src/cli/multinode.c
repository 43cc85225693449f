#include "cli/multinode.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "machines/machines.h"
#include "machines/start.h"
#include "options/choices.h"
#include "options/meaning.h"
#include "options/pairs.h"
#include "sparse/engine.h"
#include "strategies/strategies.h"
#include "terminal/output.h"
#include "train/shared_memory.h"
#include "train/multinode.h"
#include "watch/watch.h"

static const int64_t BEGIN_NS = 60 * HR_NS_PER_SECOND;

enum hr_status hr_cli_machines_check(const char *command, const struct hr_cli *cli, bool trains)
{
    struct hr_mpi_launch launch;
    if ((trains && !cli->search[0]) || !hr_mpi_launched(&launch) || launch.processes < 2)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s%s: started by %s as process %zu of %zu, and only train runs on several "
                   "machines; start it once, without that",
                   command, cli->search[0] ? " --search" : "", launch.launcher, launch.process,
                   launch.processes);
}

enum hr_status hr_cli_machines_open(struct hr_cli *cli, struct hr_machines **out)
{
    struct hr_mpi_launch launch;
    struct hr_wire *wire;
    *out = NULL;
    if (!hr_mpi_launched(&launch) || launch.processes < 2)
        return HR_OK;
    HR_TRY(hr_mpi_open(BEGIN_NS, &wire));
    struct hr_machines *machines = malloc(sizeof *machines);
    const enum hr_status status =
        machines ? hr_machines_open(wire, machines) : hr_fail(HR_E_NOMEM, "no memory for machines");
    if (status != HR_OK) {
        free(machines);
        hr_wire_close(wire);
        return status;
    }
    hr_log_errors_only(wire->self > 0);
    cli->machines = wire->machines;
    if (!hr_cli_was_given(cli, "workers"))
        cli->train.workers = machines->cores * wire->machines;
    *out = machines;
    return HR_OK;
}

/* What machine 0 has said, or will; but not that it is gone. */
static bool is_said(const struct hr_machines *machines, enum hr_status status)
{
    return machines->wire->self > 0 && status != HR_E_LOST && status != HR_E_TIMEOUT;
}

int hr_cli_machines_close(struct hr_machines *machines, enum hr_status status)
{
    const int code = status == HR_OK                         ? 0
                     : machines && is_said(machines, status) ? hr_cli_exit_code(status)
                                                             : hr_cli_failed(status);
    if (!machines)
        return code;
    hr_machines_close(machines);
    hr_wire_close(machines->wire);
    free(machines);
    return code;
}

/* Where each machine has weights of its own, how often they are averaged has to be said, now or
 * when the run began. */
static enum hr_status check_averaging(const struct hr_cli *cli)
{
    const struct hr_strategy *strategy;
    HR_TRY(hr_strategy_find(cli->train.strategy, cli->train.staleness, &strategy));
    const bool kept = hr_cli_was_saved(cli, "strategy") && hr_cli_was_saved(cli, "sync-every");
    if (!hr_strategy_shares_weights(strategy) || hr_cli_was_given(cli, "sync-every") || kept)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--strategy %s: machines share no weights; expected --sync-every H as well, "
                   "which averages theirs every H steps, or local-sgd, or allreduce",
                   strategy->name);
}

enum hr_status hr_cli_machines_ready(const struct hr_cli *cli, struct hr_machines *machines,
                                     enum hr_status ready)
{
    if (!machines)
        return ready;
    if (ready == HR_OK)
        ready = check_averaging(cli);
    if (ready == HR_OK && cli->forecast)
        hr_log(HR_LOG_WARNING, "--forecast: it is of one machine: time on links is not in it");
    return hr_machines_fail(machines, ready, "all machines to read their data");
}

enum hr_status hr_cli_machines_ran(struct hr_machines *machines)
{
    const int mine = hr_signals_exit_code();
    int all[HR_WIRE_MACHINES];
    if (!machines)
        return HR_OK;
    HR_TRY(hr_machines_gather(machines, &mine, sizeof mine, all, "all machines to end the run"));
    for (size_t m = 0; m < machines->wire->machines; m++)
        if (all[m])
            hr_signals_came_elsewhere(all[m]);
    return HR_OK;
}

enum hr_status hr_cli_machines_outcome(struct hr_machines *machines, enum hr_status status)
{
    return machines ? hr_machines_fail(machines, status, "what machine 0 has to say of the run")
                    : status;
}

enum hr_status hr_cli_open_data(struct hr_cli *cli, struct hr_machines *machines,
                                struct hr_dataset *dataset)
{
    const struct hr_train_plan plan = {&cli->train, machines};
    cli->data_options.admit = hr_train_admit;
    cli->data_options.admit_arg = &plan;
    const enum hr_status status = hr_dataset_open_with(cli->data, &cli->data_options, dataset);
    cli->data_options.admit = NULL;
    return status;
}

static enum hr_status prepare(struct hr_cli *cli, struct hr_machines *machines,
                              struct hr_dataset *dataset)
{
    HR_TRY(hr_cli_resume(cli));
    cli->train.wants_answers = hr_outcome_wants_answers(cli);
    HR_TRY(hr_train_complete(&cli->train));
    HR_TRY(hr_meaning_check(cli, &cli->train));
    HR_TRY(hr_pairs_check_of(&cli->train, cli));
    HR_TRY(hr_cli_open_data(cli, machines, dataset));
    return hr_outcome_check_task(cli, dataset);
}

enum hr_status hr_cli_follow(struct hr_cli *cli, struct hr_dataset *dataset,
                             struct hr_machines *machines)
{
    const struct hr_observer observer = {.should_stop = hr_signals_seen,
                                         .saves_asked = hr_signals_saves_asked};
    struct hr_run_result result = {0};
    HR_TRY(hr_cli_machines_ready(cli, machines, prepare(cli, machines, dataset)));
    hr_signals_run_begins();
    enum hr_status status = hr_train_on(machines, &cli->train, dataset, &observer, &result);
    hr_signals_run_ended();
    hr_run_result_free(&result);
    if (status == HR_OK)
        status = hr_cli_machines_ran(machines);
    return status == HR_OK ? hr_cli_machines_outcome(machines, HR_OK) : status;
}
