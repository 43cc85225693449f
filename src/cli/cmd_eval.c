/* hogring eval - a checkpoint's model on a test set. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "base/log.h"
#include "base/path.h"
#include "base/printable.h"
#include "checkpoint/steps.h"
#include "formats/npy.h"
#include "terminal/grid.h"
#include "options/metric.h"
#include "cli/commands.h"
#include "terminal/output.h"
#include "watch/watch.h"
#include "json/documents.h"
#include "report/report.h"
#include "json/value.h"
#include "cli/worst.h"
#include "session/reading.h"
#include "session/saved.h"
#include "train/evaluate.h"

enum { WIDTH = 80, USUAL_WORST = 20 };

/* An evaluation of a sparse model keeps what it answers only where that is asked for. */
static bool has_residuals(const struct hr_evaluation *evaluation, const struct hr_dataset *dataset)
{
    return evaluation->values && evaluation->labels && dataset->targets.values;
}

static json_t *residuals_json(const struct hr_evaluation *evaluation,
                              const struct hr_dataset *dataset, size_t target)
{
    if (!has_residuals(evaluation, dataset))
        return json_null();
    const struct hr_residuals of = hr_residuals_of(evaluation, dataset, target);
    return hr_json_object(HR_OF(&of, mean), HR_OF(&of, deviation), HR_OF(&of, largest),
                          HR_OF(&of, row), NULL);
}

static json_t *targets_json(const struct hr_evaluation *evaluation,
                            const struct hr_dataset *dataset)
{
    json_t *array = json_array();
    for (size_t k = 0; evaluation->target && k < evaluation->targets; k++) {
        const struct hr_target_fit *target = &evaluation->target[k];
        json_t *one = hr_json_fit(&target->fit);
        json_object_set_new(one, "name", hr_json_text_or_null(target->name));
        json_object_set_new(one, "mean", hr_json_number(target->mean));
        json_object_set_new(one, "deviation", hr_json_number(target->deviation));
        json_object_set_new(one, "residuals", residuals_json(evaluation, dataset, k));
        json_array_append_new(array, one);
    }
    return array;
}

/* What one checkpoint reached. */
static void put_figures(json_t *object, const struct hr_evaluation *evaluation)
{
    const bool values = evaluation->targets, text = evaluation->tokens;
    const struct hr_fit *fit = &evaluation->fit;
    const double none = (double)NAN;
    json_object_set_new(object, "test_loss", hr_json_number(evaluation->test_loss));
    json_object_set_new(object, "test_accuracy", hr_json_number(evaluation->test_accuracy));
    hr_json_put_fits(object, fit, values, text);
    /* Once more, where they stood before runs and evaluations had the same objects. */
    json_object_set_new(object, "balanced_accuracy",
                        hr_json_number(values || text ? none : fit->balanced_accuracy));
    json_object_set_new(object, "macro_f1", hr_json_number(values || text ? none : fit->macro_f1));
    json_object_set_new(object, "roc_auc", hr_json_number(values ? none : fit->roc_auc));
    json_object_set_new(object, "perplexity", hr_json_number(text ? fit->perplexity : none));
    json_object_set_new(object, "bits_per_byte", hr_json_number(text ? fit->bits_per_byte : none));
}

static enum hr_status publish(const struct hr_cli *cli, const struct hr_evaluation *evaluation,
                              const struct hr_dataset *dataset, const struct hr_worst *worst)
{
    json_t *document = hr_json_object(
        "checkpoint", HR_JSON(cli->positional[0]), HR_OF(evaluation, model), "precision",
        hr_json_text_or_null(evaluation->precision), HR_OF(cli, data), "classes",
        evaluation->classes ? hr_json_classes(evaluation) : json_null(), "targets",
        evaluation->targets ? targets_json(evaluation, dataset) : json_null(), "worst",
        worst->n ? hr_worst_json(worst) : json_null(), NULL);
    put_figures(document, evaluation);
    json_object_set_new(document, "skipped", hr_json_count(dataset->skipped));
    return hr_publish(cli, NULL, document);
}

static void print_fit(const char *before, const struct hr_fit *fit)
{
    printf("%s%s, ", before, hr_metric_text(HR_METRIC_RMSE, fit->rmse).text);
    printf("mae %s, ", hr_metric_text(HR_METRIC_MAE, fit->mae).text);
    if (isnan(fit->r2))
        printf("no R2 (all samples have the same target), ");
    else
        printf("R2 %.4f, ", fit->r2);
}

/* Of several: what stands above is the mean over them. Residuals are of one, too. */
static void print_targets(const struct hr_evaluation *evaluation, const struct hr_dataset *dataset)
{
    const bool several = evaluation->targets > 1;
    for (size_t k = 0; evaluation->target && k < evaluation->targets; k++) {
        const struct hr_target_fit *target = &evaluation->target[k];
        if (several) {
            printf("  target %zu%s%s: ", k + 1, target->name[0] ? ", " : "",
                   hr_printable(target->name).text);
            print_fit("rmse ", &target->fit);
            printf("mean %.6g, deviation %.6g\n", target->mean, target->deviation);
        }
        if (!has_residuals(evaluation, dataset))
            continue;
        const struct hr_residuals of = hr_residuals_of(evaluation, dataset, k);
        printf("%sresiduals: mean %.4g, deviation %.4g, largest %.4g (row %zu)\n",
               several ? "    " : "", of.mean, of.deviation, of.largest, of.row);
    }
}

static enum hr_status print(const struct hr_cli *cli, const struct hr_evaluation *evaluation,
                            const struct hr_dataset *dataset, const struct hr_worst *worst)
{
    const struct hr_fit *fit = &evaluation->fit;
    const size_t width = hr_output_width() ? hr_output_width() : WIDTH;
    hr_output_hold();
    hr_put_printable(stdout, cli->positional[0]);
    fputs(" on ", stdout);
    hr_put_printable(stdout, cli->data);
    fputs(": ", stdout);
    if (isfinite(evaluation->test_accuracy))
        printf("test accuracy %.2f %%, ", 100 * evaluation->test_accuracy);
    if (evaluation->targets)
        print_fit("rmse ", &evaluation->fit);
    printf("test loss %.4f", evaluation->test_loss);
    if (evaluation->tokens)
        printf(" nats per token, perplexity %.4g", fit->perplexity);
    if (evaluation->tokens && !isnan(fit->bits_per_byte))
        printf(", %.4g bits per byte", fit->bits_per_byte);
    printf(" (%zu samples", evaluation->count);
    if (evaluation->tokens)
        printf(" of %zu tokens", evaluation->tokens);
    printf("%s%s)\n", evaluation->precision ? ", computed in " : "",
           evaluation->precision ? evaluation->precision : "");
    print_targets(evaluation, dataset);
    if (evaluation->classes)
        printf("balanced accuracy %.2f %%, macro F1 %.2f %%", 100 * fit->balanced_accuracy,
               100 * fit->macro_f1);
    if (evaluation->classes && !isnan(fit->roc_auc))
        printf(", ROC AUC %.4f", fit->roc_auc);
    if (evaluation->classes)
        putchar('\n');
    if (evaluation->classes)
        HR_TRY(hr_confusion_print(stdout, evaluation, width));
    if (worst->n)
        hr_worst_print(stdout, worst, width);
    return HR_OK;
}

static enum hr_status find_worst(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                 const struct hr_evaluation *evaluation, struct hr_worst *worst)
{
    const size_t n = cli->worst ? cli->worst : cli->worst_sheet[0] ? USUAL_WORST : 0;
    *worst = (struct hr_worst){0};
    if (n == 0)
        return HR_OK;
    HR_TRY(hr_worst_find(evaluation, dataset, n, worst));
    return cli->worst_sheet[0] ? hr_sheet_write(cli->worst_sheet, worst, dataset) : HR_OK;
}

static enum hr_status report(const struct hr_cli *cli, const struct hr_evaluation *evaluation,
                             const struct hr_dataset *dataset, const struct hr_worst *worst)
{
    const size_t n = evaluation->count, width = evaluation->noutputs;
    const struct hr_npy outputs = evaluation->values
                                      ? hr_npy_of_doubles(evaluation->values, n, width)
                                      : hr_npy_of_floats(evaluation->outputs, n, width);
    const struct hr_run_result run = {.test_loss = evaluation->test_loss,
                                      .test_accuracy = evaluation->test_accuracy,
                                      .test_fit = evaluation->fit,
                                      .targets = evaluation->targets,
                                      .tokens = evaluation->tokens};
    HR_TRY(hr_outcome_check_expected(cli, hr_predicted_by(&run), dataset->classes, false));
    if (cli->outputs[0])
        HR_TRY(hr_npy_write(cli->outputs, &outputs));
    HR_TRY(publish(cli, evaluation, dataset, worst));
    if (hr_cli_speaks(cli))
        HR_TRY(print(cli, evaluation, dataset, worst));
    return hr_outcome_expect_of(cli, &run, "");
}

/* Options that could only fail when all is computed. */
static enum hr_status check(const struct hr_cli *cli)
{
    static const char *const of_one[] = {"worst", "worst-sheet", "outputs", "expect", "report"};
    for (size_t i = 0; cli->all && i < sizeof of_one / sizeof *of_one; i++)
        if (hr_cli_was_given(cli, of_one[i]))
            return hr_fail(HR_E_USAGE, "--%s: is of one checkpoint, expected no --all", of_one[i]);
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "eval: which checkpoint? (hogring eval DIR --data NAME)");
    if (cli->worst_sheet[0] && cli->worst > HR_SHEET_MOST)
        return hr_fail(HR_E_USAGE, "--worst %zu: expected at most %d with --worst-sheet",
                       cli->worst, HR_SHEET_MOST);
    return HR_OK;
}

/* Of text, whose windows have a loss each and no answer. */
static enum hr_status check_text(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    static const char *const of_answers[] = {"worst", "worst-sheet", "outputs"};
    for (size_t i = 0; dataset->tokens.context && i < sizeof of_answers / sizeof *of_answers; i++)
        if (hr_cli_was_given(cli, of_answers[i]))
            return hr_fail(HR_E_USAGE,
                           "--%s: is not supported for text (%s), which has a loss alone",
                           of_answers[i], dataset->name);
    return HR_OK;
}

/* Where none are named, its own. */
static enum hr_status open_data(struct hr_cli *cli, const struct hr_checkpoint *checkpoint,
                                struct hr_reading *reading, struct hr_dataset *dataset)
{
    const struct hr_option *row;
    const bool named = hr_cli_was_given(cli, "data");
    const char *own = hr_saved_option(checkpoint, "data");
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        reading->given |= (unsigned)hr_cli_was_given(cli, row->name) << i;
    if (!named && own)
        snprintf(cli->data, sizeof cli->data, "%s", own);
    if (!named && !own && hr_saved_option(checkpoint, "model"))
        return hr_fail(HR_E_USAGE, "%s: does not say the name of its data; expected --data NAME",
                       checkpoint->path);
    const enum hr_status status = hr_reading_open(checkpoint, reading, dataset);
    return status == HR_OK || named ? status
                                    : hr_fail_within(status, "the data of %s", checkpoint->path);
}

static const char *layers_of(const struct hr_cli *cli)
{
    return hr_cli_was_given(cli, "model") ? cli->train.model : NULL;
}

static enum hr_status evaluate_saved(struct hr_cli *cli, const struct hr_checkpoint *checkpoint,
                                     struct hr_dataset *dataset)
{
    struct hr_evaluation evaluation;
    struct hr_worst worst;
    struct hr_reading reading = {.data = cli->data, .options = &cli->data_options};
    HR_TRY(open_data(cli, checkpoint, &reading, dataset));
    HR_TRY(hr_outcome_check_files(cli));
    HR_TRY(check_text(cli, dataset));
    if (cli->worst_sheet[0])
        HR_TRY(hr_sheet_check(dataset));
    HR_TRY(hr_evaluate_saved(checkpoint, layers_of(cli), dataset, &evaluation));
    hr_hints_print_notes(dataset);
    hr_reading_say(&reading);
    enum hr_status status = find_worst(cli, dataset, &evaluation, &worst);
    if (status == HR_OK)
        status = report(cli, &evaluation, dataset, &worst);
    hr_worst_free(&worst);
    hr_evaluation_free(&evaluation);
    return status;
}

/* --- every checkpoint of a folder --- */

struct every {
    struct hr_grid table;
    json_t *good, *damaged;
};

/* Epochs that are done, with the part of the one that is not; NaN: it does not say. */
static double epoch_of(const struct hr_checkpoint *checkpoint)
{
    const double size = hr_saved_number(checkpoint, "epoch_size");
    const double position = hr_saved_number(checkpoint, "position");
    if (!hr_metadata_get(&checkpoint->trainer, "epoch"))
        return (double)NAN;
    return hr_saved_number(checkpoint, "epoch") + (size > 0 ? position / size : 0);
}

static void add_row(struct every *every, const struct hr_checkpoint *checkpoint,
                    const struct hr_evaluation *evaluation)
{
    const double epoch = epoch_of(checkpoint);
    FILE *out = every->table.cells;
    json_t *one = hr_json_object("checkpoint", HR_JSON(checkpoint->path), HR_OF(checkpoint, step),
                                 "epoch", HR_JSON(epoch), NULL);
    put_figures(one, evaluation);
    json_array_append_new(every->good, one);
    fprintf(out, "%s%llu\t", hr_yields(stdout, HR_ROW), (unsigned long long)checkpoint->step);
    if (!isnan(epoch))
        fprintf(out, "%.4g", epoch);
    fprintf(out, "\t%s\t%s\t%.4f",
            isnan(evaluation->test_accuracy)
                ? ""
                : hr_metric_text(HR_METRIC_ACCURACY, evaluation->test_accuracy).text,
            evaluation->targets ? hr_metric_text(HR_METRIC_RMSE, evaluation->fit.rmse).text : "",
            evaluation->test_loss);
    if (evaluation->tokens)
        fprintf(out, "\t%.4g", evaluation->fit.perplexity);
    fputc('\n', out);
}

/* The first good one's data are those of all: a folder is of one run. */
static enum hr_status evaluate_good(struct hr_cli *cli, const struct hr_checkpoint *checkpoint,
                                    struct hr_dataset *dataset, struct every *every)
{
    struct hr_evaluation evaluation;
    struct hr_reading reading = {.data = cli->data, .options = &cli->data_options};
    if (!json_array_size(every->good)) {
        HR_TRY(open_data(cli, checkpoint, &reading, dataset));
        HR_TRY(hr_outcome_check_files(cli));
        hr_hints_print_notes(dataset);
        hr_reading_say(&reading);
    }
    HR_TRY(hr_evaluate_saved(checkpoint, layers_of(cli), dataset, &evaluation));
    add_row(every, checkpoint, &evaluation);
    hr_evaluation_free(&evaluation);
    return HR_OK;
}

static enum hr_status evaluate_step(struct hr_cli *cli, const char *name,
                                    struct hr_dataset *dataset, struct every *every)
{
    char path[HR_PATH_MAX];
    struct hr_checkpoint checkpoint;
    HR_TRY(hr_path(path, "%s/%s", cli->positional[0], name));
    enum hr_status status = hr_checkpoint_load(path, &checkpoint);
    if (status == HR_E_NOMEM)
        return status;
    if (status != HR_OK) {
        hr_log(HR_LOG_WARNING, "%s is passed over: %s", name, hr_error_message());
        json_array_append_new(every->damaged, hr_json_text(path));
        return HR_OK;
    }
    status = evaluate_good(cli, &checkpoint, dataset, every);
    hr_checkpoint_free(&checkpoint);
    return status;
}

static enum hr_status report_every(const struct hr_cli *cli, struct every *every)
{
    const size_t good = json_array_size(every->good), damaged = json_array_size(every->damaged);
    if (!good)
        return hr_fail(HR_E_FORMAT, "%s: no checkpoint of %zu verifies", cli->positional[0],
                       damaged);
    if (hr_cli_speaks(cli)) {
        hr_output_hold();
        hr_put_printable(stdout, cli->positional[0]);
        fputs(" on ", stdout);
        hr_put_printable(stdout, cli->data);
        printf(": %zu checkpoint%s\n\n", good, good == 1 ? "" : "s");
    }
    hr_grid_end(&every->table, hr_cli_speaks(cli) ? stdout : NULL, 0);
    every->table = (struct hr_grid){0};
    return hr_publish(cli, NULL,
                      hr_json_object(HR_OF(cli, data), "checkpoints", json_incref(every->good),
                                     "damaged", json_incref(every->damaged), NULL));
}

static enum hr_status evaluate_every(struct hr_cli *cli, struct hr_dataset *dataset)
{
    struct every every = {.good = json_array(), .damaged = json_array()};
    struct hr_saved_step *steps;
    size_t count;
    HR_TRY(hr_steps_list(cli->positional[0], &steps, &count));
    enum hr_status status =
        count
            ? HR_OK
            : hr_fail(HR_E_USAGE, "--all: %s holds no step-* folders, expected a --checkpoint-dir",
                      cli->positional[0]);
    hr_grid_begin(&every.table, "step\tepoch\taccuracy\trmse\tloss\tperplexity");
    for (size_t i = count; i-- > 0 && status == HR_OK;)
        if (!steps[i].old)
            status = evaluate_step(cli, steps[i].name.text, dataset, &every);
    if (status == HR_OK)
        status = report_every(cli, &every);
    if (every.table.cells)
        hr_grid_end(&every.table, NULL, 0);
    json_decref(every.good);
    json_decref(every.damaged);
    free(steps);
    return status;
}

static enum hr_status evaluate(struct hr_cli *cli, struct hr_dataset *dataset)
{
    HR_TRY(check(cli));
    if (cli->all)
        return evaluate_every(cli, dataset);
    struct hr_checkpoint checkpoint = {0};
    enum hr_status status = hr_saved_read(cli->positional[0], &checkpoint);
    if (status == HR_OK)
        status = evaluate_saved(cli, &checkpoint, dataset);
    hr_checkpoint_free(&checkpoint);
    return status;
}

static int run(struct hr_cli *cli)
{
    struct hr_dataset dataset = {0};
    const enum hr_status status = evaluate(cli, &dataset);
    hr_dataset_close(&dataset);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_eval = {
    .name = "eval",
    .summary = "test a checkpoint",
    .bit = HR_EVAL,
    .usage = "CHECKPOINT|FILE.safetensors [OPTIONS]",
    .story =
        "CHECKPOINT is a step-* folder, or a folder of them, of which the newest good one is\n"
        "tested; --all tests every one. A single .safetensors file may be PyTorch's; --model\n"
        "says its layers.\n"
        "\n"
        "Data are read as in training. On the data that it was trained on, the test split is\n"
        "tested; on other data, all samples (hogring help validation).\n"
        "\n"
        "Below the accuracy is the confusion matrix; if it is wider than 80 columns, the\n"
        "classes with the lowest recall (all of them: --json). --worst lists the samples with\n"
        "the largest loss, and draws them. For data without labels use hogring predict.\n",
    .examples = "  hogring eval runs/mlp\n"
                "  hogring eval runs/mlp/step-00002345 --data fashion-mnist \\\n"
                "    --expect accuracy=0.86\n"
                "  hogring eval runs/mlp --data fashion-mnist --outputs logits.npy\n"
                "  hogring eval runs/mlp --all --json course.json\n"
                "  hogring eval runs/mlp --worst 20 --worst-sheet worst.png\n",
    .run = run,
};
