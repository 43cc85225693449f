#include "cli/sparse.h"

#include <string.h>

#include "options/command_line.h"
#include "hogring/sparse.h"

bool hr_cli_is_sparse(const struct hr_cli *cli)
{
    return hr_sparse_is_model(cli->train.model);
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(name, *list))
            return true;
    return false;
}

static enum hr_status check_given(const struct hr_cli *cli)
{
    static const char *const used[] = {"data",
                                       "test-data",
                                       "test-fraction",
                                       "index-base",
                                       "features",
                                       "classes",
                                       "model",
                                       "strategy",
                                       "workers",
                                       "launch",
                                       "epochs",
                                       "seed",
                                       "lr",
                                       "lr-gamma",
                                       "lr-schedule",
                                       "warmup-epochs",
                                       "lr-step-epochs",
                                       "solver",
                                       "cost",
                                       "factors",
                                       "hot-copies",
                                       "max-seconds",
                                       "max-memory",
                                       "timeout",
                                       "json",
                                       "plot",
                                       "quiet",
                                       "config",
                                       "expect-accuracy",
                                       "expect-digest",
                                       "target-accuracy",
                                       "help",
                                       NULL};
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (cli->given[i] && !is_listed(row->name, used))
            return hr_fail(HR_E_USAGE, "--%s: means nothing with --model %s", row->name,
                           cli->train.model);
    return HR_OK;
}

static enum hr_status check_meaning(const struct hr_cli *cli)
{
    static const char *const rates[] = {"lr", "lr-gamma", "lr-schedule", "warmup-epochs",
                                        "lr-step-epochs"};
    const struct hr_train_options *o = &cli->train;
    const bool mf = !strcmp(o->model, "mf"), dual = strcmp(o->solver, "sgd") && !mf;
    if (hr_cli_was_given(cli, "hot-copies") &&
        (mf || dual || o->workers < 2 || !strcmp(o->strategy, "locked")))
        return hr_fail(HR_E_USAGE,
                       "--hot-copies: means nothing here (it belongs to --model logistic "
                       "or svm, --solver sgd, --strategy hogwild, several workers)");
    if (hr_cli_was_given(cli, "lr-schedule") && strcmp(o->lr_schedule, "step") != 0 &&
        (hr_cli_was_given(cli, "lr-gamma") || hr_cli_was_given(cli, "lr-step-epochs")))
        return hr_fail(HR_E_USAGE, "--%s: means nothing with --lr-schedule %s (it belongs to step)",
                       hr_cli_was_given(cli, "lr-gamma") ? "lr-gamma" : "lr-step-epochs",
                       o->lr_schedule);
    for (size_t i = 0; dual && i < sizeof rates / sizeof *rates; i++)
        if (hr_cli_was_given(cli, rates[i]))
            return hr_fail(HR_E_USAGE, "--%s: means nothing with --solver dual (it belongs to sgd)",
                           rates[i]);
    if (hr_cli_was_given(cli, "factors") && !mf)
        return hr_fail(HR_E_USAGE, "--factors: means nothing with --model %s (it belongs to mf)",
                       o->model);
    if (mf &&
        (hr_cli_was_given(cli, "expect-accuracy") || hr_cli_was_given(cli, "target-accuracy")))
        return hr_fail(HR_E_USAGE, "--model mf: has no accuracy to expect, it predicts numbers");
    return HR_OK;
}

enum hr_status hr_cli_sparse_settle(struct hr_cli *cli)
{
    struct hr_train_options defaults, *o = &cli->train;
    hr_sparse_defaults(&defaults);
    HR_TRY(check_given(cli));
    HR_TRY(check_meaning(cli));
    if (!hr_cli_was_given(cli, "strategy"))
        memcpy(o->strategy, defaults.strategy, sizeof o->strategy);
    if (!hr_cli_was_given(cli, "lr-schedule"))
        memcpy(o->lr_schedule, defaults.lr_schedule, sizeof o->lr_schedule);
    if (!hr_cli_was_given(cli, "lr-gamma"))
        o->lr_gamma = defaults.lr_gamma;
    o->batch_size = defaults.batch_size;
    return HR_OK;
}
