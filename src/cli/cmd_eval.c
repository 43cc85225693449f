/* hogring eval - a checkpoint's model on a test set. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hogring/evaluate.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/hints.h"
#include "json/value.h"
#include "report/npy_writer.h"

static enum hr_status write_json(const struct hr_cli *cli, const struct hr_evaluation *evaluation)
{
    json_t *document = json_pack("{s:s, s:s, s:s, s:o, s:o}", "checkpoint", cli->positional[0],
                                 "model", evaluation->model, "data", cli->data, "test_loss",
                                 hr_json_number(evaluation->test_loss), "test_accuracy",
                                 hr_json_number(evaluation->test_accuracy));
    return hr_json_write(cli->json, document);
}

static void print(const struct hr_cli *cli, const struct hr_evaluation *evaluation)
{
    printf("%s on %s: ", cli->positional[0], cli->data);
    if (isfinite(evaluation->test_accuracy))
        printf("test accuracy %.2f %%, ", 100 * evaluation->test_accuracy);
    printf("test loss %.4f (%zu samples)\n", evaluation->test_loss, evaluation->count);
}

static enum hr_status report(const struct hr_cli *cli, const struct hr_evaluation *evaluation)
{
    const double accuracy = evaluation->test_accuracy;
    if (cli->expect_accuracy > 0 && isnan(accuracy))
        return hr_fail(HR_E_USAGE, "--expect-accuracy: %s has no accuracy, it predicts numbers",
                       evaluation->model);
    if (cli->outputs[0])
        HR_TRY(hr_npy_write(cli->outputs, evaluation->outputs, evaluation->count,
                            evaluation->noutputs));
    if (cli->json[0])
        HR_TRY(write_json(cli, evaluation));
    if (strcmp(cli->json, "-") != 0)
        print(cli, evaluation);
    if (cli->expect_accuracy > 0 && !(accuracy >= cli->expect_accuracy))
        return hr_fail(HR_E_EXPECTATION, "--expect-accuracy %g: reached %.4f", cli->expect_accuracy,
                       accuracy);
    return HR_OK;
}

static enum hr_status evaluate(struct hr_cli *cli, struct hr_dataset *dataset)
{
    struct hr_evaluation evaluation;
    const char *layers = hr_cli_was_given(cli, "model") ? cli->train.model : NULL;
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "eval: which checkpoint? (hogring eval DIR --data NAME)");
    HR_TRY(hr_dataset_open_with(cli->data, &cli->data_options, dataset));
    hr_hints_print_notes(dataset);
    HR_TRY(hr_evaluate_checkpoint(cli->positional[0], layers, dataset, &evaluation));
    const enum hr_status status = report(cli, &evaluation);
    hr_evaluation_free(&evaluation);
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
        "A single .safetensors file may be PyTorch's; --model says its layers.\n",
    .examples = "  hogring eval runs/mlp --data fashion-mnist\n"
                "  hogring eval runs/mlp/step-00002345 --data fashion-mnist \\\n"
                "    --expect-accuracy 0.86\n"
                "  hogring eval runs/mlp --data fashion-mnist --outputs logits.npy\n",
    .run = run,
};
