/* hogring simulate --search - which policy reaches a target first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "cli/commands.h"
#include "cli/multinode.h"
#include "policy/policy.h"
#include "terminal/output.h"
#include "train/shared_memory.h"
#include "verdict/verdict.h"
#include "watch/watch.h"

static void report(void *arg, const char *what, double left_s)
{
    hr_progress_view_report(arg, what, left_s);
}

/* --- the document: runs of the finalists, and what led to them --- */

static size_t gather_runs(const struct hr_policy_search *search, struct hr_run_result *runs)
{
    size_t n = 0;
    for (size_t i = 0; i < search->nfinalists; i++)
        for (size_t s = 0; s < search->nseeds; s++) {
            const struct hr_finalist *finalist = &search->finalist[i];
            if (finalist->diverged[s])
                continue;
            runs[n] = finalist->run[s];
            snprintf(runs[n].setting, sizeof runs[n].setting, "%s", finalist->setting);
            n++;
        }
    for (size_t s = 0; search->real && s < search->nseeds; s++)
        if (search->real[s].ncurve) {
            runs[n] = search->real[s];
            snprintf(runs[n++].setting, sizeof runs[0].setting, "in real time");
        }
    return n;
}

static enum hr_status publish(const struct hr_policy_search *search)
{
    const struct hr_cli *cli = search->cli;
    if (!cli->json[0] && !cli->report[0])
        return HR_OK;
    struct hr_run_result *runs = calloc((search->nfinalists + 1) * search->nseeds, sizeof *runs);
    if (!runs)
        return hr_fail(HR_E_NOMEM, "no memory for the document");
    const struct hr_verdict_request request = {.tuned = hr_policy_tuned(search)};
    const struct hr_endings endings = {
        .runs = runs, .n = gather_runs(search, runs), .request = &request};
    json_t *document = hr_json_runs(&cli->train, search->dataset, &endings);
    if (document && json_object_set_new(document, "search", hr_policy_json(search)) != 0) {
        json_decref(document);
        document = NULL;
    }
    free(runs); /* lists in there are the search's */
    return hr_publish(cli, NULL, document);
}

/* --- the command --- */

static enum hr_status run_steps(struct hr_policy_search *search)
{
    HR_TRY(hr_policy_find(search));
    HR_TRY(hr_policy_confirm(search));
    return search->confirms_real ? hr_policy_run_real(search) : HR_OK;
}

static enum hr_status run_search(struct hr_policy_search *search)
{
    struct hr_progress_view view;
    HR_TRY(hr_policy_prepare(search));
    HR_TRY(hr_outcome_forget(search->cli));
    hr_progress_view_init(&view, hr_output_terminal(), &(struct hr_progress_subject){.label = ""},
                          hr_watch_verbosity(search->cli));
    search->report = report;
    search->arg = &view;
    hr_signals_run_begins();
    const enum hr_status status = run_steps(search);
    hr_signals_run_ended();
    hr_progress_view_end(&view);
    HR_TRY(status);
    hr_policy_print(hr_outcome_stream(search->cli), search);
    return publish(search);
}

static enum hr_status work(struct hr_cli *cli, struct hr_policy_search *search)
{
    static struct hr_dataset dataset;
    HR_TRY(hr_policy_check(search));
    HR_TRY(hr_cli_open_data(cli, NULL, &dataset));
    search->dataset = &dataset;
    HR_TRY(hr_outcome_check_task(cli, &dataset));
    const enum hr_status status = run_search(search);
    hr_policy_free(search);
    hr_dataset_close(&dataset);
    return status;
}

int hr_cli_search(struct hr_cli *cli)
{
    struct hr_policy_search search = {.cli = cli};
    const enum hr_status status = work(cli, &search);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}
