/* hogring report - one page of HTML on runs whose JSON was kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/commands.h"
#include "watch/watch.h"
#include "terminal/output.h"
#include "page/page.h"
#include "plot/plot.h"
#include "report/human.h"

static const size_t cap = (size_t)1 << 30; /* bytes of a document */

static enum hr_status read_document(const char *path, struct hr_page_source *source)
{
    json_t *document;
    HR_TRY(hr_json_read(path, cap, &document));
    *source = (struct hr_page_source){.name = path, .document = document};
    return hr_page_check(source);
}

/* A document that says what one before says is left out: its runs count once. What is left. */
static size_t leave_out_twins(struct hr_page_source *sources, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t twin = 0;
        while (twin < kept && !json_equal(sources[twin].document, sources[i].document))
            twin++;
        if (twin == kept) {
            sources[kept++] = sources[i];
            continue;
        }
        if (!strcmp(sources[twin].name, sources[i].name))
            hr_log(HR_LOG_WARNING, "%s is given twice: it counts once", sources[i].name);
        else
            hr_log(HR_LOG_WARNING, "%s says what %s says: it counts once", sources[i].name,
                   sources[twin].name);
        json_decref((json_t *)sources[i].document);
    }
    memset(sources + kept, 0, (n - kept) * sizeof *sources);
    return kept;
}

static enum hr_status write_page(const char *path, const struct hr_page_source *sources, size_t n)
{
    char *text, size[HR_HUMAN_MAX];
    size_t bytes;
    HR_TRY(hr_page_make(sources, n, &text, &bytes));
    const enum hr_status status = hr_file_replace_durably(path, text, bytes);
    free(text);
    if (status == HR_OK)
        printf("%s: %zu document%s, %s bytes\n", path, n, n == 1 ? "" : "s",
               hr_human_count(size, bytes));
    return status;
}

/* Nobody has named it: what is there is written over only where it is such a page. */
static enum hr_status check_usual(const char *path)
{
    char head[512] = "";
    int fd;
    size_t bytes;
    if (access(path, F_OK) != 0)
        return HR_OK;
    HR_TRY(hr_file_open(path, &fd, &bytes));
    const ssize_t n = read(fd, head, sizeof head - 1);
    close(fd);
    hr_input_release(path);
    if (n >= 0 && strstr(head, "<meta name=\"generator\" content=\"hogring "))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: is there, and no page of hogring's; expected --out with another name, or "
                   "with this one to write over it",
                   path);
}

static enum hr_status report(const struct hr_cli *cli, struct hr_page_source *sources)
{
    const char *path = cli->out[0] ? cli->out : "report.html";
    const bool page = cli->out[0] || !cli->plot[0]; /* or a picture alone */
    if (cli->npositional == 0)
        return hr_fail(HR_E_USAGE, "report: of which results? (hogring report run.json; "
                                   "--json of train, compare, simulate, replay, bench, eval)");
    if (!hr_outcome_is_page(path))
        return hr_fail(HR_E_USAGE, "--out %s: expected a name that ends in .html", path);
    if (cli->plot[0] && cli->npositional > 1)
        return hr_fail(HR_E_USAGE, "--plot: draws one document, and %zu are given",
                       cli->npositional);
    if (page && !cli->out[0])
        HR_TRY(check_usual(path));
    if (page)
        HR_TRY(hr_file_check_writable(path));
    for (size_t i = 0; i < cli->npositional; i++)
        HR_TRY(read_document(cli->positional[i], &sources[i]));
    const size_t n = leave_out_twins(sources, cli->npositional);
    if (page)
        HR_TRY(write_page(path, sources, n));
    if (!cli->plot[0])
        return HR_OK;
    HR_TRY(hr_plot(cli->plot, sources[0].document));
    printf("%s: a picture of %s\n", cli->plot, sources[0].name);
    return HR_OK;
}

static int run(struct hr_cli *cli)
{
    struct hr_page_source *sources = calloc(cli->npositional + 1, sizeof *sources);
    const enum hr_status status =
        sources ? report(cli, sources) : hr_fail(HR_E_NOMEM, "no memory for a report");
    for (size_t i = 0; sources && i < cli->npositional; i++)
        json_decref((json_t *)sources[i].document);
    free(sources);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_report = {
    .name = "report",
    .summary = "a page of HTML, or a picture, from earlier runs' JSON",
    .bit = HR_REPORT,
    .usage = "FILE.json... [--out FILE.html] [--plot FILE.svg]",
    .story =
        "Each FILE was written by --json of train, compare, simulate, replay, bench or eval, of\n"
        "this version or an earlier one. The page is one file, without network or server:\n"
        "results, curves, staleness, times, settings, and the commands that repeat the runs.\n"
        "--report of these commands writes the same page. --plot draws the picture of one\n"
        "document; without --out it makes no page.\n",
    .examples = "  hogring compare --seeds 3 --json compare.json\n"
                "  hogring report compare.json\n"
                "  hogring report compare.json --plot compare.svg\n"
                "  hogring report monday.json tuesday.json --out both.html\n",
    .run = run,
};
