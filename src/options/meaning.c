#include "options/meaning.h"

#include <string.h>

#include "hogring/sparse.h"
#include "strategy/strategy.h"

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

#define CHECK(rules, chooser, choice)                                                              \
    HR_TRY(check_rules(cli, rules, sizeof rules / sizeof *rules, chooser, choice))

static enum hr_status check_strategy(const struct hr_cli *cli, const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &strategy));
    const bool pushes = !strategy->shares_batch && !hr_strategy_obeys(strategy, "moving-rate");
    static const char pushers[] = "ps-async, ssp of --staleness 1 or more, and hogwild";
    static const char servers[] = "ps-sync, ps-async, ssp, elastic-averaging and backup-workers";
    const bool local = !strcmp(o->strategy, "local-sgd"), simulated = !strcmp(o->clock, "virtual");
    const bool talks = strcmp(o->strategy, "hogwild") != 0; /* its workers share their memory */
    const struct rule rules[] = {
        {"staleness", !strcmp(o->strategy, "ssp"), "ssp"},
        {"servers", strategy->served, servers},
        {"placement", strategy->served, servers},
        {"server-time", strategy->served || !simulated, servers},
        {"record-block", !strcmp(o->strategy, "hogwild"), "hogwild"},
        {"algorithm", local || !strcmp(o->strategy, "allreduce"), "allreduce and local-sgd"},
        {"async-lr", pushes, pushers},
        {"staleness-lr", pushes, pushers},
        {"delay-compensation", pushes, pushers},
        {"backups", hr_strategy_obeys(strategy, "backups"), "backup-workers"},
        {"sync-every", local || hr_strategy_obeys(strategy, "moving-rate"),
         "local-sgd and elastic-averaging"},
        {"moving-rate", hr_strategy_obeys(strategy, "moving-rate"), "elastic-averaging"},
        {"adaptive-sync", local, "local-sgd"},
        {"link", simulated ? talks : !strcmp(o->strategy, "allreduce"),
         "allreduce with --transport copy, and to --clock virtual but for hogwild"},
        {"topology", talks || !simulated, "those that send messages"},
    };
    CHECK(rules, "strategy", o->strategy);
    return HR_OK;
}

static enum hr_status check_updates(const struct hr_cli *cli, const struct hr_train_options *o)
{
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
    const struct rule of_scale[] = {
        {"base-batch-size", strcmp(o->scale_lr, "none") != 0, "linear and sqrt"}};
    CHECK(of_optimizer, "optimizer", o->optimizer);
    CHECK(of_schedule, "lr-schedule", o->lr_schedule);
    CHECK(of_scale, "scale-lr", o->scale_lr);
    return HR_OK;
}

/* What there is too little of to obey. */
static enum hr_status check_few(const struct hr_cli *cli, const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &strategy));
    const bool talks =
        o->workers != 1 || (strategy->served && strcmp(o->placement, "colocated") != 0);
    static const char peers[] = "several workers: one alone sends no messages";
    const struct rule of_workers[] = {{"algorithm", talks, peers},
                                      {"link", talks, peers},
                                      {"topology", talks, peers},
                                      {"transport", talks, peers}};
    const struct rule of_period[] = {
        {"adaptive-sync", !o->adaptive_sync || o->sync_every != 1,
         "longer periods: it shortens them, and none is shorter than 1"}};
    CHECK(of_workers, "workers", "1");
    CHECK(of_period, "sync-every", "1");
    return HR_OK;
}

/* How a batch is computed and its gradient travels. */
static enum hr_status check_batches(const struct hr_cli *cli, const struct hr_train_options *o)
{
    const bool repro = !strcmp(o->reduce, "repro"), free_run = !strcmp(o->schedule, "free");
    const bool real = !strcmp(o->clock, "real");
    const struct rule of_reduce[] = {{"micro-shards", repro, "repro"},
                                     {"prefetch", !repro || !o->prefetch, "sum"}};
    const struct rule of_overlap[] = {{"bucket-size", !strcmp(o->overlap, "on"), "on"}};
    const struct rule of_schedule[] = {{"prefetch", free_run || !o->prefetch, "free"},
                                       {"launch", free_run, "free"},
                                       {"compute-time", free_run, "free"},
                                       {"inject", free_run, "free"},
                                       {"link", free_run, "free"},
                                       {"calibrate", free_run, "free"}};
    if (hr_cli_was_given(cli, "batch-size") && o->global_batch_size)
        return hr_fail(HR_E_USAGE,
                       "--batch-size: means nothing with --global-batch-size %zu, "
                       "which says the same of all workers",
                       o->global_batch_size);
    const struct rule of_clock[] = {
        {"prefetch", real || !o->prefetch, "real"},
        {"launch", real, "real"},
        {"transport", real, "real"},
        {"overlap", real, "real"},
        {"calibrate", real, "real"},
        {"server-time", !real, "virtual"},
        {"topology", !real, "virtual"},
    };
    CHECK(of_clock, "clock", o->clock);
    CHECK(of_reduce, "reduce", o->reduce);
    CHECK(of_overlap, "overlap", o->overlap);
    CHECK(of_schedule, "schedule", o->schedule);
    return HR_OK;
}

static enum hr_status check_saving(const struct hr_cli *cli, const struct hr_train_options *o)
{
    static const char *const options[] = {"checkpoint-every", "keep", "overwrite"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (hr_cli_was_given(cli, options[i]) && !o->checkpoint_dir[0])
            return hr_fail(HR_E_USAGE, "--%s: where to? give --checkpoint-dir too", options[i]);
    if (hr_cli_was_given(cli, "record-block") && !o->record[0])
        return hr_fail(HR_E_USAGE, "--record-block: of what? give --record too");
    return HR_OK;
}

static enum hr_status check_models(const struct hr_cli *cli, const struct hr_train_options *o)
{
    static const char belongs[] = "logistic, svm and mf";
    const struct rule of_model[] = {{"solver", false, belongs},
                                    {"cost", false, belongs},
                                    {"factors", false, belongs},
                                    {"hot-copies", false, belongs}};
    CHECK(of_model, "model", o->model);
    return HR_OK;
}

enum hr_status hr_combination_check_link(const struct hr_cli *cli, const char *topology)
{
    const bool family = !strncmp(topology, "star:", 5) || !strncmp(topology, "ring:", 5);
    if (topology[0] && !family && hr_cli_was_given(cli, "link"))
        return hr_fail(HR_E_USAGE, "--link: the file %s says how fast its links are", topology);
    return HR_OK;
}

enum hr_status hr_combination_check(const struct hr_cli *cli, const struct hr_train_options *o)
{
    if (hr_sparse_is_model(o->model)) {
        HR_TRY(hr_sparse_meaning_check(cli, o));
        return check_saving(cli, o);
    }
    HR_TRY(check_strategy(cli, o));
    HR_TRY(check_updates(cli, o));
    HR_TRY(check_batches(cli, o));
    HR_TRY(check_few(cli, o));
    HR_TRY(check_models(cli, o));
    HR_TRY(hr_combination_check_link(cli, o->topology));
    return check_saving(cli, o);
}
