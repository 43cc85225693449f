/* Outputs of a command: refused before it begins, and written: watch.h. */
#include "watch/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/inputs.h"
#include "base/log.h"
#include "json/documents.h"
#include "json/value.h"
#include "options/choices.h"
#include "options/sweep.h"
#include "page/page.h"
#include "plot/plot.h"
#include "report/groups.h"
#include "report/human.h"
#include "terminal/output.h"
#include "verdict/verdict.h"

/* --- outputs are no other outputs --- */

/* Where a file is, or would be: that of its folder and its last name. */
struct place {
    const char *flag, *path;
    dev_t device;
    ino_t inode;
    const char *name; /* "": the file is there, and inode is its own */
};

/* false: there is nothing that another could be: /dev/null takes anything, a folder many files. */
static bool find_place(const char *flag, const char *path, struct place *place)
{
    struct stat info;
    char folder[HR_PATH_MAX];
    const char *slash = strrchr(path, '/');
    *place = (struct place){.flag = flag, .path = path, .name = ""};
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return false;
    } else {
        place->name = slash ? slash + 1 : path;
        if (hr_path_parent(folder, path) != HR_OK || stat(folder, &info) != 0)
            return false;
    }
    place->device = info.st_dev;
    place->inode = info.st_ino;
    return true;
}

static bool is_same(const struct place *a, const struct place *b)
{
    return a->device == b->device && a->inode == b->inode && !strcmp(a->name, b->name);
}

enum { MOST = 16 };

enum hr_status hr_outcome_check_files(const struct hr_cli *cli)
{
    struct place places[MOST];
    const struct hr_option *row;
    size_t n = 0;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        const char *path = (const char *)cli + hr_cli_option_at(i).base + row->offset;
        if (!row->written || !path[0] || !strcmp(path, "-"))
            continue;
        if (hr_input_spare(path) != HR_OK)
            return hr_fail(HR_E_USAGE, "--%s %s", row->name, hr_error_message());
        if (n == MOST || !find_place(row->name, path, &places[n]))
            continue;
        for (size_t k = 0; k < n; k++)
            if (places[k].path != path && is_same(&places[k], &places[n]))
                return hr_fail(HR_E_USAGE, "--%s and --%s are one file, %s; expected two",
                               places[k].flag, row->name, path);
        n++;
    }
    return HR_OK;
}

/* --- what is refused before a command begins --- */

bool hr_outcome_is_page(const char *path)
{
    return hr_path_ends_in(path, ".html") || hr_path_ends_in(path, ".htm");
}

bool hr_outcome_wants_answers(const struct hr_cli *cli)
{
    return cli->json[0] || cli->report[0];
}

/* What the names of some outputs end in. */
static const struct {
    const char *option, *one, *other; /* other: NULL: there is none */
} ends_in[] = {{"plot", ".svg", ".png"},
               {"report", ".html", ".htm"},
               {"worst-sheet", ".png", NULL},
               {"export", ".onnx", NULL}};

/* Of one that is written while the run goes on, a pipe that nobody reads is refused, too. */
static enum hr_status check_output(const struct hr_option *row, const char *path)
{
    const bool grows = !strcmp(row->name, "log") || !strcmp(row->name, "timeline");
    for (size_t i = 0; i < sizeof ends_in / sizeof *ends_in; i++)
        if (!strcmp(row->name, ends_in[i].option) && !hr_path_ends_in(path, ends_in[i].one) &&
            !(ends_in[i].other && hr_path_ends_in(path, ends_in[i].other)))
            return hr_fail(HR_E_USAGE, "--%s %s: expected a name that ends in %s%s%s", row->name,
                           path, ends_in[i].one, ends_in[i].other ? " or " : "",
                           ends_in[i].other ? ends_in[i].other : "");
    if (strstr(row->metavar, "DIR"))
        return HR_OK;
    enum hr_status status = hr_file_check_writable(path);
    if (status == HR_OK && grows)
        status = hr_file_check_unblocked(path);
    return status == HR_OK ? HR_OK : hr_fail(status, "--%s %s", row->name, hr_error_message());
}

/* --log and --tensorboard, and what goes with them. */
static enum hr_status check_metrics(const struct hr_cli *cli)
{
    const bool wanted = cli->log[0] || cli->tensorboard[0];
    if (hr_cli_was_given(cli, "log-every") && !wanted)
        return hr_fail(HR_E_USAGE, "--log every=N: of what? give --log FILE or --tensorboard too");
    if (hr_cli_was_given(cli, "log-every") && !cli->log_every)
        return hr_fail(HR_E_USAGE, "--log every=0: expected 1 or more");
    if (hr_cli_was_given(cli, "overwrite") && !wanted && !cli->train.checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--overwrite: what? give --checkpoint-dir, --log or "
                                   "--tensorboard too");
    return HR_OK;
}

enum hr_status hr_outcome_check(const struct hr_cli *cli)
{
    const struct hr_option *row;
    for (size_t m = 0; m < HR_METRICS; m++)
        if (hr_metric_kind((enum hr_metric)m)->scale > 1 && cli->expect[m] > 1)
            return hr_fail(HR_E_USAGE, "--expect %s=%g: expected 0 to 1, as 0.95",
                           hr_metric_kind((enum hr_metric)m)->name, cli->expect[m]);
    HR_TRY(hr_outcome_check_files(cli));
    HR_TRY(check_metrics(cli));
    if (hr_cli_was_given(cli, "digest-every") && !cli->json[0])
        return hr_fail(HR_E_USAGE, "--json digests=N: where to? give --json FILE,digests=N");
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        const char *path = (const char *)cli + hr_cli_option_at(i).base + row->offset;
        if (!row->written || !path[0])
            continue;
        if (strcmp(path, "-") != 0)
            HR_TRY(check_output(row, path));
        else if (cli->given[i] && !row->stdout_too) /* --out is two commands' */
            return hr_fail(HR_E_USAGE, "--%s -: cannot go to stdout; expected %s", row->name,
                           row->metavar);
    }
    return HR_OK;
}

enum hr_status hr_outcome_check_expected(const struct hr_cli *cli, enum hr_predicted of,
                                         size_t classes, bool sparse)
{
    for (size_t m = 0; m < HR_METRICS; m++) {
        const struct hr_early_stop rule = {.asked = cli->expect[m] >= 0,
                                           .metric = (enum hr_metric)m};
        HR_TRY(sparse ? hr_early_stop_fits_sparse(&rule, "expect", of == HR_OF_VALUES)
                      : hr_early_stop_fits(&rule, "expect", of, classes));
    }
    return HR_OK;
}

enum hr_status hr_outcome_check_task(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    const bool values =
        dataset->targets.count || hr_sparse_model_of(cli->train.model) == HR_SPARSE_MF;
    if (dataset->targets.count && hr_choices_of(&cli->train).task == HR_TASK_AUTO)
        return hr_fail(HR_E_USAGE, "%s: its labels are values, expected --task regress",
                       dataset->name);
    return hr_outcome_check_expected(cli, values ? HR_OF_VALUES : hr_predicted_of(dataset),
                                     dataset->classes, hr_sparse_is_model(cli->train.model));
}

/* Stopped before anything was evaluated: there is nothing to draw, and that is no mistake. */
static bool was_cut_off(const struct hr_run_result *runs, size_t n)
{
    bool interrupted = false;
    for (size_t i = 0; i < n; i++) {
        if (runs[i].ncurve)
            return false;
        interrupted = interrupted || runs[i].interrupted;
    }
    return interrupted;
}

enum hr_status hr_outcome_forget(const struct hr_cli *cli)
{
    HR_TRY(hr_outcome_check_files(cli));
    if (cli->json[0] && hr_cli_speaks(cli))
        HR_TRY(hr_file_forget(cli->json));
    if (cli->report[0])
        HR_TRY(hr_file_forget(cli->report));
    return cli->plot[0] ? hr_file_forget(cli->plot) : HR_OK;
}

/* Who trains what on what; what differs between runs is in their labels. */
static void write_title(const struct hr_cli *cli, const struct hr_dataset *dataset,
                        const struct hr_run_result *first, char *title, size_t size)
{
    const struct hr_train_options *o = &cli->train;
    char workers[40] = "", batch[40] = "", optimizer[64] = "", rate[48] = "";
    if (!hr_sweep_has(cli, "workers"))
        snprintf(workers, sizeof workers, ", %zu worker%s", first->workers,
                 first->workers == 1 ? "" : "s");
    if (!hr_sweep_has(cli, "batch-size"))
        snprintf(batch, sizeof batch, "%s batch %zu", workers[0] ? " x" : ",", o->batch_size);
    if (!hr_sweep_has(cli, "optimizer"))
        snprintf(optimizer, sizeof optimizer, ", %.60s", first->optimizer);
    if (o->lr >= 0 && !hr_sweep_has(cli, "lr")) /* else a solver that needs none, or its own */
        snprintf(rate, sizeof rate, ", lr %g", o->lr);
    const bool models = hr_sweep_has(cli, "model");
    const char *slash = strrchr(dataset->name, '/');
    snprintf(title, size, "%s%s%.255s%s%s%s%s", models ? "" : o->model, models ? "" : " on ",
             slash && slash[1] ? slash + 1 : dataset->name, workers, batch, optimizer, rate);
}

static enum hr_status write_page(const char *path, const json_t *document)
{
    const struct hr_page_source source = {.name = "", .document = document};
    char *text;
    size_t bytes;
    HR_TRY(hr_page_make(&source, 1, &text, &bytes));
    const enum hr_status status = hr_file_replace_durably(path, text, bytes);
    free(text);
    return status;
}

static enum hr_status publish(const struct hr_cli *cli, const char *title, bool picture,
                              json_t *rest)
{
    if (rest && title)
        json_object_set_new(rest, "title", hr_json_text(title));
    json_t *document = hr_json_document(rest);
    enum hr_status status = document ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for the results");
    if (status == HR_OK && cli->json[0])
        status = hr_json_write_document(cli->json, document);
    if (status == HR_OK && cli->report[0])
        status = write_page(cli->report, document);
    if (status == HR_OK && picture && cli->plot[0])
        status = hr_plot(cli->plot, document);
    json_decref(document);
    return status;
}

static bool is_shown(const struct hr_cli *cli)
{
    return cli->json[0] || cli->report[0] || cli->plot[0];
}

enum hr_status hr_publish(const struct hr_cli *cli, const char *title, json_t *rest)
{
    if (is_shown(cli))
        return publish(cli, title, true, rest);
    json_decref(rest);
    return HR_OK;
}

enum hr_status hr_outcome_write(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                const struct hr_endings *endings)
{
    const bool picture = endings->n && !was_cut_off(endings->runs, endings->n);
    struct hr_endings told = *endings;
    char title[2400] = "";
    if (!is_shown(cli))
        return HR_OK;
    if (endings->n)
        write_title(cli, dataset, &endings->runs[0], title, sizeof title);
    told.given = hr_sweep_given(cli);
    char *note = hr_verdict_note(endings->runs, endings->n, endings->request);
    json_t *rest = hr_json_runs(&cli->train, dataset, &told);
    if (rest)
        json_object_set_new(rest, "note", hr_json_text_or_null(note));
    free(note);
    json_decref(told.given);
    return publish(cli, title, picture, rest);
}

/* What was written by what option; what an earlier run wrote was removed (hr_outcome_forget). */
static size_t list_files(const struct hr_cli *cli, FILE *out)
{
    const struct {
        const char *name, *path;
    } files[] = {{"picture", cli->plot},
                 {"report", cli->report},
                 {"json", hr_cli_speaks(cli) ? cli->json : ""},
                 {"log", cli->log},
                 {"tensorboard", cli->tensorboard},
                 {"timeline", cli->timeline}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!files[i].path[0] || access(files[i].path, F_OK) != 0)
            continue;
        n++;
        if (out)
            fprintf(out, "%-15s %s\n", files[i].name, files[i].path);
    }
    return n;
}

void hr_outcome_say(const struct hr_cli *cli, FILE *out)
{
    const struct {
        const char *name, *path;
    } more[] = {
        {"--details", ""}, {"--report page.html", cli->report}, {"--json results.json", cli->json}};
    const size_t left_out = hr_output_release(list_files(cli, NULL) + !cli->details);
    list_files(cli, out);
    const char *before = "more           "; /* of what was not given */
    for (size_t i = 0; !cli->details && i < sizeof more / sizeof *more; i++)
        if (!more[i].path[0]) {
            fprintf(out, "%s %s", before, more[i].name);
            if (i == 0 && left_out)
                fprintf(out, " (+%zu line%s)", left_out, left_out == 1 ? "" : "s");
            before = ",";
        }
    if (before[0] == ',')
        fputc('\n', out);
}

enum hr_status hr_outcome_failed(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                 bool begun, enum hr_status status)
{
    char message[1024];
    snprintf(message, sizeof message, "%s", hr_error_message());
    const struct hr_failed_run failed = {.label = cli->train.strategy,
                                         .strategy = cli->train.strategy,
                                         .message = message,
                                         .seed = cli->train.seed};
    if (begun && hr_outcome_write(cli, dataset,
                                  &(struct hr_endings){.failed = &failed, .nfailed = 1}) != HR_OK)
        hr_log(HR_LOG_ERROR, "%s", hr_error_message());
    return hr_fail(status, "%s", message);
}

enum hr_status hr_outcome_expect_of(const struct hr_cli *cli, const struct hr_run_result *run,
                                    const char *who)
{
    struct hr_rise rise;
    char last[HR_HUMAN_MAX], first[HR_HUMAN_MAX];
    if (hr_run_diverged(run, &rise))
        return hr_fail(HR_E_DIVERGED, "%straining diverged: its loss ended at %s, above the %s %s",
                       who, hr_human_loss(last, run->train_loss), hr_human_loss(first, rise.above),
                       rise.what);
    for (size_t m = 0; m < HR_METRICS; m++) {
        const enum hr_metric metric = (enum hr_metric)m;
        const double wanted = cli->expect[m], is = hr_metric_of_test(metric, run);
        if (wanted >= 0 && (isnan(is) || hr_metric_better(metric, wanted, is, 0)))
            return hr_fail(HR_E_EXPECTATION, "--expect %s=%g: %sreached %.4g",
                           hr_metric_kind(metric)->name, wanted, who, is);
    }
    if (cli->expect_digest[0] && strcmp(cli->expect_digest, run->weights_digest) != 0)
        return hr_fail(HR_E_EXPECTATION, "--expect digest=%s: the weights have %s",
                       cli->expect_digest, run->weights_digest);
    return HR_OK;
}

enum hr_status hr_outcome_expect(const struct hr_cli *cli, const struct hr_run_result *runs,
                                 size_t n)
{
    struct hr_groups groups;
    enum hr_status status = hr_groups_make(&groups, runs, n);
    for (size_t i = 0; status == HR_OK && i < n; i++) {
        char who[400];
        snprintf(who, sizeof who, "%s, seed %llu, ", hr_groups_label(&groups, &runs[i]),
                 (unsigned long long)runs[i].seed);
        status = hr_outcome_expect_of(cli, &runs[i], who);
    }
    hr_groups_free(&groups);
    return status;
}

FILE *hr_outcome_stream(const struct hr_cli *cli)
{
    return hr_cli_speaks(cli) ? stdout : stderr;
}
