/* hogring train - one run under one strategy. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "report/report.h"

/* An option, whether it means something under what was chosen, and with what it does. */
struct rule {
    const char *option;
    bool fits;
    const char *belongs;
};

static enum hr_status check_rules(const struct hr_cli *cli, const struct rule *rules, size_t n,
                                  const char *chooser, const char *choice)
{
    for (size_t i = 0; i < n; i++)
        if (hr_cli_was_given(cli, rules[i].option) && !rules[i].fits)
            return hr_fail(HR_E_USAGE, "--%s: means nothing with --%s %s (it belongs to %s)",
                           rules[i].option, chooser, choice, rules[i].belongs);
    return HR_OK;
}

static enum hr_status check_updates(const struct hr_cli *cli)
{
    const struct hr_train_options *o = &cli->train;
    const bool sgd = !strcmp(o->optimizer, "sgd"), lars = !strcmp(o->optimizer, "lars");
    const bool moments = !strcmp(o->optimizer, "lamb") || !strncmp(o->optimizer, "adam", 4);
    const struct rule of_optimizer[] = {
        {"momentum", sgd || lars, "sgd and lars"},
        {"nesterov", sgd, "sgd"},
        {"beta1", moments, "adam, adamw and lamb"},
        {"beta2", moments, "adam, adamw and lamb"},
        {"eps", !sgd && !lars, "adagrad, adam, adamw and lamb"},
        {"trust-coefficient", lars, "lars"},
    };
    const bool steps = !strcmp(o->lr_schedule, "step");
    const struct rule of_schedule[] = {{"lr-step-epochs", steps, "step"},
                                       {"lr-gamma", steps, "step"}};
    const struct rule of_scale = {"base-batch-size", strcmp(o->scale_lr, "none") != 0,
                                  "linear and sqrt"};
    HR_TRY(check_rules(cli, of_optimizer, sizeof of_optimizer / sizeof *of_optimizer, "optimizer",
                       o->optimizer));
    HR_TRY(check_rules(cli, of_schedule, 2, "lr-schedule", o->lr_schedule));
    return check_rules(cli, &of_scale, 1, "scale-lr", o->scale_lr);
}

/* Options that mean nothing under the chosen strategy are refused, not ignored. */
static enum hr_status check_combination(const struct hr_cli *cli)
{
    const char *strategy = cli->train.strategy;
    const bool served = !strncmp(strategy, "ps-", 3) || !strcmp(strategy, "ssp");
    const bool synchronous = !strcmp(strategy, "allreduce") || !strcmp(strategy, "ps-sync");
    const struct rule rules[] = {
        {"staleness", !strcmp(strategy, "ssp"), "ssp"},
        {"servers", served, "ps-sync, ps-async and ssp"},
        {"algorithm", !strcmp(strategy, "allreduce"), "allreduce"},
        {"async-lr", !synchronous, "ps-async, ssp and hogwild"},
    };
    HR_TRY(check_rules(cli, rules, sizeof rules / sizeof *rules, "strategy", strategy));
    if (cli->train.checkpoint_every && !cli->train.checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--checkpoint-every: where to? give --checkpoint-dir too");
    return HR_OK;
}

static void print_end(FILE *out, const struct hr_run_result *result)
{
    fprintf(out, "\nweights digest  %s (%llu updates)\n", result->weights_digest,
            (unsigned long long)result->updates);
    if (result->repro_cost > 0)
        fprintf(out,
                "reduce repro    gradients took %.2f times as long as uncut (%zu shards a batch)\n",
                result->repro_cost, result->micro_shards);
    if (result->checkpoint[0])
        fprintf(out, "checkpoint      %s\n", result->checkpoint);
}

static enum hr_status train(struct hr_cli *cli, struct hr_dataset *dataset,
                            struct hr_run_result *result)
{
    struct hr_watch watch;
    HR_TRY(check_combination(cli));
    HR_TRY(hr_train_complete(&cli->train));
    HR_TRY(check_updates(cli));
    HR_TRY(hr_outcome_check(cli));
    HR_TRY(hr_dataset_open_with(cli->data, &cli->data_options, dataset));
    const struct hr_observer observer =
        hr_watch_begin(&watch, &cli->train, cli->data, "", cli->quiet);
    const enum hr_status status = hr_train(&cli->train, dataset, &observer, result);
    hr_watch_end(&watch, status == HR_OK ? result : NULL);
    if (status != HR_OK && result->checkpoint[0])
        return hr_fail(status, "%s (last good checkpoint: %s)", hr_error_message(),
                       result->checkpoint);
    HR_TRY(status);
    if (!result->interrupted || result->ncurve)
        hr_table_print(hr_outcome_stream(cli), result, 1, cli->train.target_accuracy);
    print_end(hr_outcome_stream(cli), result);
    HR_TRY(hr_outcome_write(cli, dataset, result, 1));
    return result->interrupted
               ? hr_fail(HR_E_INTERRUPTED, "interrupted at step %llu%s",
                         (unsigned long long)result->steps,
                         result->checkpoint[0] ? "; --resume goes on from there" : "")
               : hr_outcome_expect(cli, result, 1);
}

static int run(struct hr_cli *cli)
{
    struct hr_dataset dataset = {0};
    struct hr_run_result result = {0};
    const enum hr_status status = train(cli, &dataset, &result);
    hr_run_result_free(&result);
    hr_dataset_close(&dataset);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_train = {
    .name = "train",
    .summary = "train one network under one strategy",
    .bit = HR_TRAIN,
    .usage = "[OPTIONS]",
    .story =
        "Worker threads (or processes) stand in for GPUs: each holds a replica of the model and a "
        "share\n"
        "of every batch. --strategy says how they are kept in step. The same seed gives the same\n"
        "initial weights and the same order of samples under every strategy; synchronous ones "
        "give\n"
        "the same bits again, which --expect-digest checks.\n",
    .examples =
        "  hogring train\n"
        "  hogring train --strategy hogwild --workers 4 --epochs 20 --plot hogwild.svg\n"
        "  hogring train --data fashion-mnist --batch-size 64 --lr 0.02 --checkpoint-dir runs/mlp\n"
        "  hogring train --optimizer adamw --lr-schedule linear --warmup-epochs 1 --clip-norm 1\n"
        "  hogring train --checkpoint-dir runs/mlp --resume --epochs 20\n",
    .run = run,
};
