/* hogring compare - the main job: the same training under several strategies, side by side. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "compare/compare.h"
#include "compare/tune.h"
#include "json/value.h"
#include "options/metric.h"
#include "options/sweep.h"
#include "report/report.h"
#include "terminal/output.h"
#include "verdict/verdict.h"
#include "watch/watch.h"

static enum hr_status write_outcome(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                    const struct hr_compare_runs *runs,
                                    const struct hr_tuning *tuning, size_t good,
                                    const struct hr_verdict_request *request)
{
    json_t *lists = hr_sweep_json(cli, HR_COMPARE);
    if (lists)
        json_object_update_new(
            lists, hr_json_object(HR_OF(cli, strategies), HR_OF(cli, seeds), "folds",
                                  cli->folds ? HR_JSON(cli->folds) : json_null(), NULL));
    json_t *tuned = tuning->nentries ? hr_json_tuning(tuning) : NULL;
    const enum hr_status status = hr_outcome_write(cli, dataset,
                                                   &(struct hr_endings){.runs = runs->results,
                                                                        .n = good,
                                                                        .failed = runs->failed,
                                                                        .nfailed = runs->nfailed,
                                                                        .tuning = tuned,
                                                                        .request = request,
                                                                        .lists = lists});
    json_decref(lists);
    json_decref(tuned);
    return status;
}

static enum hr_status report(const struct hr_cli *cli, const struct hr_dataset *dataset,
                             struct hr_compare_runs *runs, const struct hr_tuning *tuning)
{
    FILE *out = hr_outcome_stream(cli);
    size_t good;
    static struct hr_fair_text text;
    char sure[HR_TUNING_SURE_MAX];
    const enum hr_status failed = hr_compare_sort_out(runs, &good);
    struct hr_verdict_request request =
        hr_compare_request(cli, runs, good, tuning->nentries > 0, &text);
    request.tuned = hr_tuning_chose_rates(tuning);
    request.more.seconds += tuning->took_s; /* it is searched again */
    request.sure = tuning->nentries ? hr_tuning_sure(tuning, sure) : "";
    if (!cli->quiet && !tuning->nentries) /* else each has the rate and momentum that suit it */
        hr_watch_advise(runs->results, good);
    hr_output_hold();
    if (tuning->nentries)
        hr_tuning_print(out, tuning, cli->details);
    if (good) {
        const struct hr_table_style style = {request.target, hr_output_width(), cli->details};
        hr_table_print(out, runs->results, good, &style);
        fputc('\n', out);
        hr_verdict_print(out, runs->results, good, request, cli->details, hr_output_width());
        if (runs->folds && runs->per_seed > 1)
            fprintf(out,
                    "%sFolds share what they are trained on: differences look surer than they "
                    "are.\n",
                    hr_yields(out, HR_NOTICE));
    }
    HR_TRY(write_outcome(cli, dataset, runs, tuning, good, &request));
    hr_outcome_say(cli, out);
    if (failed)
        return hr_fail(failed, "some runs failed: see above");
    if (runs->unwritten)
        return hr_fail(HR_E_IO, "not every file is written whole: see above");
    if (hr_signals_seen(NULL))
        return hr_fail(HR_E_INTERRUPTED, "interrupted: the table shows what was finished");
    return hr_outcome_expect(cli, runs->results, good);
}

/* Runs that are compared should not disturb themselves, nor differ between machines more than they
 * have to. */
static size_t usual_workers(void)
{
    const size_t cores = hr_cpus_cores();
    return cores < 2 ? 2 : cores > 4 ? 4 : cores;
}

static enum hr_status compare(struct hr_cli *cli, struct hr_dataset *dataset,
                              struct hr_compare_runs *runs, struct hr_tuning *tuning)
{
    if (!hr_cli_was_given(cli, "workers"))
        cli->train.workers = usual_workers();
    HR_TRY(hr_tune_check(cli));
    /* Answers are told beside the test samples' labels: those of the last fold alone are there. */
    cli->train.wants_answers = !cli->folds && hr_outcome_wants_answers(cli);
    HR_TRY(hr_compare_plan(cli, runs));
    HR_TRY(hr_train_complete(&cli->train)); /* what the settings of each strategy stand upon */
    cli->data_options.admit = hr_compare_admit;
    cli->data_options.admit_arg = runs;
    HR_TRY(hr_dataset_open_with(cli->data, &cli->data_options, dataset));
    HR_TRY(hr_outcome_check_task(cli, dataset));
    HR_TRY(hr_compare_check(cli, runs, dataset));
    hr_hints_print(cli, dataset);
    HR_TRY(hr_watch_forget(cli, &runs->options[0]));
    HR_TRY(hr_tune(cli, dataset, runs, tuning));
    HR_TRY(hr_compare_run(cli, dataset, runs));
    return report(cli, dataset, runs, tuning);
}

static int run(struct hr_cli *cli)
{
    struct hr_dataset dataset = {0};
    struct hr_tuning tuning = {0};
    struct hr_compare_runs *runs = calloc(1, sizeof *runs);
    const enum hr_status status = runs ? compare(cli, &dataset, runs, &tuning)
                                       : hr_fail(HR_E_NOMEM, "no memory to compare anything in");
    hr_tuning_free(&tuning);
    hr_compare_free(runs);
    hr_dataset_close(&dataset);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_compare = {
    .name = "compare",
    .summary = "train under several strategies and show them side by side",
    .bit = HR_COMPARE,
    .usage = "[OPTIONS]",
    .story =
        "Every strategy gets the same model, data, initial weights and order of samples, and "
        "is evaluated at\n"
        "the same places. Synchronous ones make one update per step with the mean gradient of "
        "the global batch;\n"
        "asynchronous ones make one update per minibatch of a worker, at the same --lr "
        "(--async-lr divide:\n"
        "at lr / workers). If updates differ in number or size, only speed is compared; "
        "--tune makes a fair\n"
        "comparison: each strategy first gets a learning rate and momentum that suit it.\n"
        "Strategies run one after another, so that timings are fair, or all at once "
        "(--concurrent).\n"
        "An option with several values, as --lr 0.01,0.02, makes one row per value. An entry of "
        "--strategies\n"
        "may have settings of its own (ssp:lr=0.01), except data, seed, clock, --time-to and "
        "output files.\n",
    .examples = "  hogring compare\n"
                "  hogring compare --tune --seeds 5\n"
                "  hogring compare --data fashion-mnist --batch-size 64 --tune \\\n"
                "    --epochs 5 --seeds 3 --plot mlp.svg\n"
                "  hogring compare --strategies allreduce,ssp:staleness=1,ssp:staleness=8\n"
                "  hogring compare --strategies allreduce --data points.csv --folds 5\n"
                "  hogring compare --strategies 'ssp,ssp:inject=\"slow:0x4\":lr=0.01'\n"
                "  hogring compare --strategies ssp --staleness 1,8 --workers 2,4\n"
                "  hogring compare --tune --seeds 5\n"
                "  hogring compare --tune lr=0.005:0.5 --budget 20Ksamples --seeds 3\n"
                "  hogring compare --concurrent --json results.json\n",
    .run = run,
};
