/* hogring eval - a checkpoint's model on a test set. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "report/json_value.h"

static enum hr_status write_json(const struct hr_cli *cli, const char *model, double loss,
                                 double accuracy)
{
    json_t *document =
        json_pack("{s:s, s:s, s:s, s:f, s:f}", "checkpoint", cli->positional[0], "model", model,
                  "data", cli->data, "test_loss", loss, "test_accuracy", accuracy);
    return hr_json_write(cli->json, document);
}

static enum hr_status evaluate(struct hr_cli *cli, struct hr_dataset *dataset)
{
    char model[sizeof cli->train.model];
    double loss, accuracy;
    const char *layers = hr_cli_was_given(cli, "model") ? cli->train.model : NULL;
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "eval: which checkpoint? (hogring eval DIR --data NAME)");
    HR_TRY(hr_dataset_open_with(cli->data, &cli->data_options, dataset));
    HR_TRY(hr_evaluate_checkpoint(cli->positional[0], layers, dataset, &loss, &accuracy, model));
    if (cli->json[0])
        HR_TRY(write_json(cli, model, loss, accuracy));
    if (strcmp(cli->json, "-") != 0)
        printf("%s on %s: test accuracy %.2f %%, test loss %.4f (%zu samples)\n",
               cli->positional[0], cli->data, 100 * accuracy, loss, dataset->test.count);
    if (cli->expect_accuracy > 0 && !(accuracy >= cli->expect_accuracy))
        return hr_fail(HR_E_EXPECTATION, "--expect-accuracy %g: reached %.4f", cli->expect_accuracy,
                       accuracy);
    return HR_OK;
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
    .examples =
        "  hogring eval runs/mlp --data fashion-mnist\n"
        "  hogring eval runs/mlp/step-00002345 --data fashion-mnist --expect-accuracy 0.86\n",
    .run = run,
};
