/* hogring eval - a checkpoint's model on a test set. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "base/printable.h"
#include "options/metric.h"
#include "cli/commands.h"
#include "terminal/output.h"
#include "watch/watch.h"
#include "json/documents.h"
#include "report/report.h"
#include "json/value.h"
#include "answers/answers.h"
#include "session/reading.h"
#include "session/saved.h"
#include "train/evaluate.h"

enum { WIDTH = 80, USUAL_WORST = 20 };

static json_t *fit_json(const struct hr_fit *fit)
{
    return json_pack("{so so so}", "rmse", hr_json_number(fit->rmse), "mae",
                     hr_json_number(fit->mae), "r2", hr_json_number(fit->r2));
}

static json_t *targets_json(const struct hr_evaluation *evaluation)
{
    json_t *array = json_array();
    for (size_t k = 0; evaluation->target && k < evaluation->targets; k++) {
        const struct hr_target_fit *target = &evaluation->target[k];
        json_t *one = fit_json(&target->fit);
        json_object_set_new(one, "name", hr_json_text_or_null(target->name));
        json_object_set_new(one, "mean", hr_json_number(target->mean));
        json_object_set_new(one, "deviation", hr_json_number(target->deviation));
        json_array_append_new(array, one);
    }
    return array;
}

static enum hr_status publish(const struct hr_cli *cli, const struct hr_evaluation *evaluation,
                              const struct hr_worst *worst, size_t skipped)
{
    const bool values = evaluation->targets;
    const struct hr_fit *fit = &evaluation->fit;
    const double none = (double)NAN;
    json_t *document = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "checkpoint",
        hr_json_text(cli->positional[0]), "model", hr_json_text(evaluation->model), "precision",
        evaluation->precision ? hr_json_text(evaluation->precision) : json_null(), "data",
        hr_json_text(cli->data), "test_loss", hr_json_number(evaluation->test_loss),
        "test_accuracy", hr_json_number(evaluation->test_accuracy), "classes",
        evaluation->classes ? hr_json_classes(evaluation) : json_null(), "test_fit",
        values ? fit_json(&evaluation->fit) : json_null(), "targets",
        values ? targets_json(evaluation) : json_null(), "worst",
        worst->n ? hr_worst_json(worst) : json_null());
    json_object_set_new(document, "skipped", hr_json_count(skipped));
    json_object_set_new(document, "balanced_accuracy",
                        hr_json_number(values ? none : fit->balanced_accuracy));
    json_object_set_new(document, "macro_f1", hr_json_number(values ? none : fit->macro_f1));
    json_object_set_new(document, "roc_auc", hr_json_number(values ? none : fit->roc_auc));
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

/* Of several: what stands above is the mean over them. */
static void print_targets(const struct hr_evaluation *evaluation)
{
    for (size_t k = 0; evaluation->targets > 1 && k < evaluation->targets; k++) {
        const struct hr_target_fit *target = &evaluation->target[k];
        printf("  target %zu%s%s: ", k + 1, target->name[0] ? ", " : "",
               hr_printable(target->name).text);
        print_fit("rmse ", &target->fit);
        printf("mean %.6g, deviation %.6g\n", target->mean, target->deviation);
    }
}

static enum hr_status print(const struct hr_cli *cli, const struct hr_evaluation *evaluation,
                            const struct hr_worst *worst)
{
    const struct hr_fit *fit = &evaluation->fit;
    const size_t width = hr_output_width() ? hr_output_width() : WIDTH;
    hr_put_printable(stdout, cli->positional[0]);
    fputs(" on ", stdout);
    hr_put_printable(stdout, cli->data);
    fputs(": ", stdout);
    if (isfinite(evaluation->test_accuracy))
        printf("test accuracy %.2f %%, ", 100 * evaluation->test_accuracy);
    if (evaluation->targets)
        print_fit("rmse ", &evaluation->fit);
    printf("test loss %.4f (%zu samples%s%s)\n", evaluation->test_loss, evaluation->count,
           evaluation->precision ? ", computed in " : "",
           evaluation->precision ? evaluation->precision : "");
    print_targets(evaluation);
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
                             const struct hr_worst *worst, size_t skipped)
{
    const double accuracy = evaluation->test_accuracy;
    if (cli->expect_rmse > 0 && !evaluation->targets)
        return hr_fail(HR_E_USAGE, "--expect-rmse: %s predicts no values", evaluation->model);
    if (cli->expect_accuracy > 0 && isnan(accuracy))
        return hr_fail(HR_E_USAGE, "--expect-accuracy: %s has no accuracy, it predicts numbers",
                       evaluation->model);
    if (cli->outputs[0])
        HR_TRY(hr_npy_write(cli->outputs, evaluation->outputs, evaluation->count,
                            evaluation->noutputs));
    HR_TRY(publish(cli, evaluation, worst, skipped));
    if (hr_cli_speaks(cli))
        HR_TRY(print(cli, evaluation, worst));
    if (cli->expect_accuracy > 0 && !(accuracy >= cli->expect_accuracy))
        return hr_fail(HR_E_EXPECTATION, "--expect-accuracy %g: reached %.4f", cli->expect_accuracy,
                       accuracy);
    if (cli->expect_rmse > 0 && !(evaluation->fit.rmse <= cli->expect_rmse))
        return hr_fail(HR_E_EXPECTATION, "--expect-rmse %g: reached %g", cli->expect_rmse,
                       evaluation->fit.rmse);
    return HR_OK;
}

/* Options that could only fail when all is computed. */
static enum hr_status check(const struct hr_cli *cli)
{
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "eval: which checkpoint? (hogring eval DIR --data NAME)");
    if (hr_cli_was_given(cli, "worst") && cli->worst == 0)
        return hr_fail(HR_E_USAGE, "--worst 0: expected at least 1");
    if (cli->worst_sheet[0] && cli->worst > HR_SHEET_MOST)
        return hr_fail(HR_E_USAGE, "--worst %zu: expected at most %d with --worst-sheet",
                       cli->worst, HR_SHEET_MOST);
    return HR_OK;
}

/* Where none are named, its own. */
static enum hr_status open_data(struct hr_cli *cli, const struct hr_checkpoint *checkpoint,
                                struct hr_reading *reading, struct hr_dataset *dataset)
{
    const struct hr_option *row;
    const bool named = hr_cli_was_given(cli, "data");
    const char *own = hr_reading_own(checkpoint);
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        reading->given |= (unsigned)hr_cli_was_given(cli, row->name) << i;
    if (!named && own)
        snprintf(cli->data, sizeof cli->data, "%s", own);
    if (!named && !own && hr_kept_option(checkpoint, "model"))
        return hr_fail(HR_E_USAGE, "%s: does not say the name of its data; expected --data NAME",
                       checkpoint->path);
    const enum hr_status status = hr_reading_open(checkpoint, reading, dataset);
    return status == HR_OK || named ? status
                                    : hr_fail_within(status, "the data of %s", checkpoint->path);
}

static enum hr_status evaluate_saved(struct hr_cli *cli, const struct hr_checkpoint *checkpoint,
                                     struct hr_dataset *dataset)
{
    struct hr_evaluation evaluation;
    struct hr_worst worst;
    const char *layers = hr_cli_was_given(cli, "model") ? cli->train.model : NULL;
    struct hr_reading reading = {.data = cli->data, .options = &cli->data_options};
    HR_TRY(open_data(cli, checkpoint, &reading, dataset));
    HR_TRY(hr_apart_check(cli));
    if (cli->worst_sheet[0])
        HR_TRY(hr_sheet_check(dataset));
    HR_TRY(hr_evaluate_saved(checkpoint, layers, dataset, &evaluation));
    hr_hints_print_notes(dataset);
    hr_reading_say(&reading);
    enum hr_status status = find_worst(cli, dataset, &evaluation, &worst);
    if (status == HR_OK)
        status = report(cli, &evaluation, &worst, dataset->skipped);
    hr_worst_free(&worst);
    hr_evaluation_free(&evaluation);
    return status;
}

static enum hr_status evaluate(struct hr_cli *cli, struct hr_dataset *dataset)
{
    HR_TRY(check(cli));
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    enum hr_status status = hr_saved_read(cli->positional[0], checkpoint);
    if (status == HR_OK)
        status = evaluate_saved(cli, checkpoint, dataset);
    hr_checkpoint_free(checkpoint);
    free(checkpoint);
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
        "CHECKPOINT is a step-* folder, or a folder of them: then the newest good one is taken.\n"
        "A single .safetensors file may be PyTorch's; --model says its layers.\n"
        "Data are read as training read them; what it was trained on is tested on what was held\n"
        "out, the test split, and of other data all are tested (hogring help validation).\n"
        "Below the accuracy stands which classes are taken for which; where a matrix is\n"
        "wider than 80 columns, the classes with the least recall (all of them: --json).\n"
        "--worst lists the samples with the largest loss, and draws them; hogring predict uses\n"
        "a model on data without labels.\n",
    .examples = "  hogring eval runs/mlp\n"
                "  hogring eval runs/mlp/step-00002345 --data fashion-mnist \\\n"
                "    --expect-accuracy 0.86\n"
                "  hogring eval runs/mlp --data fashion-mnist --outputs logits.npy\n"
                "  hogring eval runs/mlp --worst 20 --worst-sheet worst.png\n",
    .run = run,
};
