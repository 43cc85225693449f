/* What an option is when nobody says it. */
#include <stdio.h>
#include <string.h>

#include "base/cpus.h"
#include "group/group.h"
#include "hogring/train.h"
#include "optim/optimizer.h"

static size_t default_workers(void)
{
    const size_t processors = hr_cpus_allowed();
    return processors < 2 ? 2 : processors > HR_MAX_RANKS ? HR_MAX_RANKS : processors;
}

void hr_train_defaults(struct hr_train_options *options)
{
    *options = (struct hr_train_options){
        .strategy = "allreduce",
        .algorithm = "auto",
        .model = "mlp",
        .loss = "cross-entropy",
        .launch = "thread",
        .schedule = "free",
        .kernels = "fast",
        .workers = default_workers(),
        .servers = 1,
        .staleness = 3,
        .sync_every = 8,
        .backups = 1,
        .staleness_lr = "none",
        .clock = "real",
        .record_block = "16K",
        .batch_size = 32,
        .overlap = "off",
        .bucket_size = "256K",
        .transport = "zero-copy",
        .task = "auto",
        .reduce = "sum",
        .micro_shards = 8,
        .threads_per_worker = 1,
        .epochs = 10,
        .optimizer = "sgd",
        .lr = HR_BY_OPTIMIZER,
        .weight_decay = HR_BY_OPTIMIZER,
        .eps = HR_BY_OPTIMIZER,
        .momentum = 0.9,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .trust_coefficient = 0.001,
        .lr_schedule = "constant",
        .lr_step_epochs = 1,
        .lr_gamma = 0.1,
        .scale_lr = "none",
        .async_lr = "same",
        .seed = 1,
        .timeout = 30,
        .keep = 3,
        .solver = "auto",
        .cost = 1,
        .factors = 16,
        .hot_copies = 256,
    };
}

/* With a rule of the caller's, which is told lr and nothing else. */
static enum hr_status complete_own(struct hr_train_options *o, struct hr_rule *rule)
{
    const char *name = o->update_rule->name;
    HR_TRY(hr_rule_own(o->update_rule, o->optimizer, rule));
    if (o->weight_decay > 0 || o->eps > 0 || o->nesterov)
        return hr_fail(HR_E_USAGE,
                       "update rule %s: has no weight_decay, eps or nesterov but its own; expected "
                       "them as they are by default",
                       name);
    if (strcmp(o->optimizer, "sgd") != 0 &&
        (strncmp(o->optimizer, HR_RULE_OWN, 4) != 0 || strcmp(o->optimizer + 4, name) != 0))
        return hr_fail(HR_E_USAGE, "update rule %s: stands in place of --optimizer %s", name,
                       o->optimizer);
    snprintf(o->optimizer, sizeof o->optimizer, HR_RULE_OWN "%s", name);
    return HR_OK;
}

enum hr_status hr_train_complete(struct hr_train_options *options)
{
    struct hr_rule own;
    const struct hr_rule *rule = &own;
    HR_TRY(options->update_rule ? complete_own(options, &own)
                                : hr_rule_find(options->optimizer, &rule));
    if (options->lr < 0)
        options->lr = rule->lr;
    if (options->weight_decay < 0)
        options->weight_decay = rule->weight_decay;
    if (options->eps < 0)
        options->eps = rule->eps;
    if (!strcmp(options->clock, "virtual") && !options->compute_time[0])
        snprintf(options->compute_time, sizeof options->compute_time, "lognormal(10ms,0.3)");
    return HR_OK;
}
