#include "cli/outcome.h"

#include <string.h>
#include <unistd.h>

#include "report/report.h"

static bool ends_in(const char *text, const char *ending)
{
    const size_t length = strlen(text), tail = strlen(ending);
    return length > tail && !strcmp(text + length - tail, ending);
}

static enum hr_status check_folder_of(const char *flag, const char *path)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    if (access(slash ? folder : ".", W_OK) == 0)
        return HR_OK;
    return hr_fail_errno(HR_E_IO, "--%s %s: its folder cannot be written to", flag, path);
}

enum hr_status hr_outcome_check(const struct hr_cli *cli)
{
    if (cli->json[0] && strcmp(cli->json, "-") != 0)
        HR_TRY(check_folder_of("json", cli->json));
    if (!cli->plot[0])
        return HR_OK;
    if (!ends_in(cli->plot, ".svg") && !ends_in(cli->plot, ".png"))
        return hr_fail(HR_E_USAGE, "--plot %s: expected a name that ends in .svg or .png",
                       cli->plot);
    return check_folder_of("plot", cli->plot);
}

enum hr_status hr_outcome_write(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                const struct hr_run_result *runs, size_t n)
{
    char title[2400];
    if (cli->json[0])
        HR_TRY(hr_json_write_runs(cli->json, &cli->train, dataset, runs, n));
    if (!cli->plot[0] || n == 0)
        return HR_OK;
    snprintf(title, sizeof title, "%s on %s, %zu workers x batch %zu, %s, lr %g", cli->train.model,
             dataset->name, runs[0].workers, cli->train.batch_size, cli->train.optimizer,
             cli->train.lr);
    return hr_plot_curves(cli->plot, title, runs, n);
}

enum hr_status hr_outcome_expect(const struct hr_cli *cli, const struct hr_run_result *runs,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cli->expect_accuracy > 0 && !(runs[i].test_accuracy >= cli->expect_accuracy))
            return hr_fail(HR_E_EXPECTATION, "--expect-accuracy %g: %s, seed %llu, reached %.4f",
                           cli->expect_accuracy, runs[i].strategy, (unsigned long long)runs[i].seed,
                           runs[i].test_accuracy);
        if (cli->expect_digest[0] && strcmp(cli->expect_digest, runs[i].weights_digest) != 0)
            return hr_fail(HR_E_EXPECTATION, "--expect-digest %s: the weights have %s",
                           cli->expect_digest, runs[i].weights_digest);
    }
    return HR_OK;
}

FILE *hr_outcome_stream(const struct hr_cli *cli)
{
    return strcmp(cli->json, "-") ? stdout : stderr;
}
