/* hogring predict - a checkpoint's model on new data. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "hogring/predict.h"
#include "cli/commands.h"
#include "terminal/output.h"
#include "json/value.h"
#include "answers/answers.h"

enum { WIDTH = 80 };

static bool is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

static enum hr_status check(const struct hr_cli *cli)
{
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "predict: which checkpoint? (hogring predict DIR --data NEW)");
    if (!hr_cli_was_given(cli, "data"))
        return hr_fail(HR_E_USAGE, "predict: of which samples? --data NEW.csv");
    if (cli->out[0] && !is_stdout(cli->out) && !hr_path_ends_in(cli->out, ".csv") &&
        !hr_path_ends_in(cli->out, ".npy"))
        return hr_fail(HR_E_USAGE, "--out %s: expected a name that ends in .csv or .npy, or -",
                       cli->out);
    if (is_stdout(cli->out) && is_stdout(cli->json))
        return hr_fail(HR_E_USAGE, "--out - and --json -: there is one stdout, expected a file for "
                                   "one of them");
    if (hr_cli_was_given(cli, "top") && cli->top_classes == 0)
        return hr_fail(HR_E_USAGE, "--top 0: expected at least 1");
    return HR_OK;
}

/* On a terminal the first rows; a pipe or a file gets all. */
static enum hr_status print(const struct hr_cli *cli, const struct hr_prediction *prediction)
{
    char rest[1100];
    if (is_stdout(cli->json))
        return HR_OK;
    if (is_stdout(cli->out) || (!cli->out[0] && !isatty(STDOUT_FILENO)))
        return hr_prediction_print_csv(stdout, prediction, cli->top_classes);
    snprintf(rest, sizeof rest, cli->out[0] ? "%s" : "--out FILE.csv writes all%.0s", cli->out);
    return hr_prediction_print(stdout, prediction, cli->data,
                               hr_output_width() ? hr_output_width() : WIDTH, rest);
}

static enum hr_status report(const struct hr_cli *cli, const struct hr_prediction *prediction)
{
    if (cli->out[0] && !is_stdout(cli->out))
        HR_TRY(hr_prediction_write(cli->out, prediction, cli->top_classes));
    if (cli->json[0])
        HR_TRY(hr_json_write(cli->json, hr_prediction_json(prediction, cli->data)));
    return print(cli, prediction);
}

static enum hr_status predict(struct hr_cli *cli)
{
    struct hr_prediction prediction;
    const struct hr_predict_options options = {
        .layers = hr_cli_was_given(cli, "model") ? cli->train.model : NULL,
        .data = cli->data_options,
    };
    HR_TRY(check(cli));
    HR_TRY(hr_predict(cli->positional[0], cli->data, &options, &prediction));
    const enum hr_status status = report(cli, &prediction);
    hr_prediction_free(&prediction);
    return status;
}

static int run(struct hr_cli *cli)
{
    const enum hr_status status = predict(cli);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_predict = {
    .name = "predict",
    .summary = "use a checkpoint's model on new data",
    .bit = HR_PREDICT,
    .usage = "CHECKPOINT|FILE.safetensors --data NEW [OPTIONS]",
    .story =
        "NEW needs no labels: CSV (columns are found by name, others left out), libsvm, npy\n"
        "(X alone), an IDX file of images, a PNG or JPEG file or a folder of them (brought to\n"
        "the model's size); of a data set with labels its test samples. Inputs are scaled and\n"
        "normalised as in training. A terminal shows the first rows; a pipe, or --out, gets all\n"
        "of them: row (from 1), a picture's file, class, its probability, and those of all\n"
        "classes.\n",
    .examples = "  hogring predict runs/iris --data new.csv\n"
                "  hogring predict runs/iris --data new.csv --out answers.csv\n"
                "  hogring predict runs/pets --data holiday/ --out pets.csv\n"
                "  hogring predict runs/mlp --data X.npy --out probabilities.npy\n"
                "  hogring predict runs/cnn --data fashion-mnist --top 3 | head\n",
    .run = run,
};
