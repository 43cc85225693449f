/* hogring verify - does what is promised hold on this machine, with this build? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "terminal/output.h"
#include "json/value.h"
#include "report/progress.h"
#include "verify/verify.h"

static void report(void *view, const struct hr_verify *verify, const struct hr_verify_row *next)
{
    char what[120];
    uint64_t cases = 0;
    for (size_t i = 0; i < verify->n; i++)
        cases += verify->row[i].cases;
    snprintf(what, sizeof what, "%llu cases, %zu FAILED: %s", (unsigned long long)cases,
             hr_verify_count(verify, HR_CHECK_FAILED), next->check->name);
    hr_progress_view_report(view, what, fmax(verify->seconds - verify->took, 0));
}

static enum hr_status run_checks(struct hr_verify *verify)
{
    struct hr_progress_view view;
    hr_progress_view_init(&view, hr_output_terminal(), &(struct hr_progress_subject){.label = ""},
                          HR_VERBOSITY_BRIEF);
    const enum hr_status status = hr_verify_run(verify, report, &view);
    hr_progress_view_end(&view);
    return status;
}

static enum hr_status write_results(const struct hr_cli *cli, const struct hr_verify *verify)
{
    if (hr_cli_speaks(cli))
        hr_verify_print(stdout, verify);
    return cli->json[0] ? hr_json_write(cli->json, hr_verify_json(verify)) : HR_OK;
}

static enum hr_status work(const struct hr_cli *cli, struct hr_verify *verify)
{
    static struct hr_dataset digits;
    if (cli->npositional)
        return hr_fail(HR_E_USAGE, "verify %s: expected options alone (--only %s)",
                       cli->positional[0], cli->positional[0]);
    HR_TRY(hr_cli_check(cli, HR_VERIFY, "seconds"));
    HR_TRY(hr_verify_begin(verify, cli->only));
    if (cli->list && cli->json[0])
        return hr_fail(HR_E_USAGE, "--json: is not supported with --list, which checks nothing");
    if (cli->list) {
        hr_verify_list(stdout, verify);
        return HR_OK;
    }
    HR_TRY(hr_dataset_open("digits", &digits));
    verify->dataset = &digits;
    HR_TRY(run_checks(verify));
    return write_results(cli, verify);
}

static int run(struct hr_cli *cli)
{
    static struct hr_verify verify;
    verify.seed = cli->shape.seed;
    verify.seconds = cli->seconds;
    const enum hr_status status = work(cli, &verify);
    if (status != HR_OK)
        return hr_cli_failed(status);
    return hr_verify_count(&verify, HR_CHECK_FAILED) ? 1 : 0;
}

const struct hr_command hr_command_verify = {
    .name = "verify",
    .summary = "check on this machine what is guaranteed, in 30 s",
    .bit = HR_VERIFY,
    .usage = "[OPTIONS]",
    .story =
        "Checks on this machine, with this build: runs that must end with the same bits, sums\n"
        "in their documented order, products against double precision, instruction sets against\n"
        "each other, and shared memory between processes. Each case runs in a process of its\n"
        "own. Cases are drawn from --seed, so a failure can be repeated. Exit code 0: all hold;\n"
        "1: one does not, and is named. What cannot be tested here is skipped, with the reason.\n",
    .examples = "  hogring verify\n"
                "  hogring verify --list\n"
                "  hogring verify --seconds 10m --seed 7 --json verified.json\n"
                "  hogring verify --only collectives,products\n",
    .run = run,
};
