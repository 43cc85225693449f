/* The options of training, a row each (option.h says what stands in one). */
#include <math.h>
#include <string.h>

#include "compress/compress.h"
#include "nn/model_text.h"
#include "optim/optimizer.h"
#include "options/budget.h"
#include "options/choices.h"
#include "options/metric.h"
#include "options/nearest.h"
#include "options/option.h"
#include "options/train_options.h"
#include "pipeline/schedule.h"
#include "plan/plan.h"
#include "shm/control.h"
#include "strategies/strategies.h"

/* --- checks of single options --- */

static enum hr_status check_model(const struct hr_train_options *o)
{
    const char *why = hr_why_not_here(o->model);
    return why ? hr_fail(HR_E_USAGE, "--model %s: %s", o->model, why) : HR_OK;
}

static enum hr_status check_compress(const struct hr_train_options *o)
{
    struct hr_compress compress;
    return hr_compress_parse(o->compress, &compress);
}

static enum hr_status check_stall_warn(const struct hr_train_options *o)
{
    if (o->stall_warn <= 0 || o->timeout <= 0 || o->stall_warn < o->timeout)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--timeout %gs:%gs: expected to be warned before the wait is ended, or 0",
                   o->timeout, o->stall_warn);
}

static const char *model_at(size_t i)
{
    return hr_model_builtins()[i];
}

static const char *strategy_at(size_t i)
{
    const struct hr_strategy *strategy = hr_strategy_at(i);
    return strategy ? strategy->name : NULL;
}

static const char *optimizer_at(size_t i)
{
    const struct hr_rule *rule = hr_rule_at(i);
    return rule ? rule->name : NULL;
}

static const char *algorithm_at(size_t i)
{
    const struct hr_algorithm *algorithm = hr_algorithm_at(i);
    return algorithm ? algorithm->name : NULL;
}

static const char *compressor_at(size_t i)
{
    const struct hr_compressor *compressor = hr_compressor_at(i);
    return compressor ? compressor->example : NULL;
}

static const char *pipeline_schedule_at(size_t i)
{
    const struct hr_pipeline_schedule *schedule = hr_pipeline_schedule_at(i);
    return schedule ? schedule->name : NULL;
}

static double lr_of(const struct hr_rule *rule)
{
    return rule->lr;
}

static double weight_decay_of(const struct hr_rule *rule)
{
    return rule->weight_decay;
}

static double eps_of(const struct hr_rule *rule)
{
    return rule->eps;
}

/* --- the rows --- */

#define ROW(option, type, field, role, value, preset, ...)                                         \
    {                                                                                              \
        .name = option, .kind = HR_OPTION_##type,                                                  \
        .offset = offsetof(struct hr_train_options, field),                                        \
        .size = sizeof(((struct hr_train_options *)0)->field), .use = HR_##role, .metavar = value, \
        .usual = preset, .help = __VA_ARGS__                                                       \
    }
/* The words of a list of choices.h, and where its enum goes. */
#define CHOICE(field, list)                                                                        \
    .words = &list(HR_CHOICE_WORD)[1], .choice = 1 + offsetof(struct hr_choices, field)
#define RANGE(low, high) .range = {.least = low, .most = high}
#define SPARSE_RANGE(low, high) .sparse_range = {.least = low, .most = high}
/* It is said behind such a value of another option; behind any. */
#define PARAMETER(option, values) .parameter = true, .with = {{option, values}}
#define PARAMETER_OF_ANY(option, value) .parameter = true, .of_any = true, .with = {{option, value}}
#define BOTH (HR_TRAIN | HR_COMPARE)

static const struct hr_option model[] = {
    ROW("model", TEXT, model, DECIDES, "LAYERS", "mlp",
        "a name, or layers: \"flatten, dense 64, relu, dense 10\"; for sparse data also "
        "logistic, svm, linear and mf:K (matrix factorisation with K factors, an even number "
        "[16]); names: ",
        .name_at = model_at,
        .other = {{HR_EVAL | HR_PREDICT,
                   "a name, or layers: \"flatten, dense 64, relu, dense 10\"; for sparse data also "
                   "logistic, svm, linear and mf; names: ",
                   "what the file says"},
                  {HR_BENCH,
                   "a name, or layers: \"flatten, dense 64, relu, dense 10\"; train: one or "
                   "several names, as mlp,cnn; names: ",
                   "mlp; train: all names; pipeline: equal stages"}},
        .commands = BOTH | HR_EVAL | HR_PREDICT | HR_BENCH_MODELS | HR_FORECAST,
        .models = HR_OF_ALL_MODELS, .first = true, .check = check_model),
    ROW("task", TEXT, task, DECIDES, "WHAT", "auto",
        "regress: predict values (rmse, mae, R2 in place of accuracy), which are scaled to "
        "mean 0 and deviation 1 for training, or not: regress:none; classify: each different "
        "label is a class; auto: classify, but refuse labels that look like values (numbers "
        "that are not whole, or most of them different)",
        CHOICE(task, HR_TASKS), .said = "auto; with --target: regress",
        .commands = BOTH | HR_DATA_INFO | HR_DATA_PACK | HR_FORECAST, .models = HR_OF_ALL_MODELS),
    ROW("loss", TEXT, loss, DECIDES, "NAME", "auto",
        "cross-entropy:S (label smoothing S [0], also in reported losses), bce, mse; for "
        "values mse or huber:D (absolute error above D [1], of scaled targets; squared error "
        "below)",
        CHOICE(loss, HR_LOSSES), .said = "cross-entropy; for values mse",
        .commands = BOTH | HR_FORECAST),
    ROW("huber-delta", NUMBER, huber_delta, DECIDES, "D", "1", "", PARAMETER("loss", "huber"),
        .range = {.least = 0, .most = 1e9, .above = true}),
    ROW("target-scale", TEXT, target_scale, DECIDES, "SCALE", "standard", "",
        PARAMETER("task", "regress"), CHOICE(target_scale, HR_TARGET_SCALES),
        .models = HR_OF_ALL_MODELS),
    ROW("label-smoothing", NUMBER, label_smoothing, DECIDES, "S", "0", "",
        PARAMETER("loss", "cross-entropy|auto")),
    ROW("class-weights", TEXT, class_weights, DECIDES, "LIST", NULL,
        "weight of each class in the training loss, scaled to mean 1: balanced (rare classes "
        "count as much as frequent ones), or 1,5,1",
        .said = "all 1", .commands = BOTH),
    ROW("init-weights", TEXT, init_weights, BEGINS, "FILE", NULL,
        "begin with the weights of a checkpoint, or of a .safetensors file, PyTorch's too; "
        "FILE,replace-head: except the last layer, which is drawn from the seed, for other "
        "classes",
        .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("replace-head", FLAG, replace_head, BEGINS, "replace-head", NULL, "",
        HR_PART_OF("init-weights", "="), .commands = BOTH | HR_REPLAY,
        .needs = {"init-weights", "of what?"}),
    ROW("precision", TEXT, precision, DECIDES, "WHICH", "float32",
        "bf16: activations and matrix products in bfloat16 (help precision)",
        CHOICE(precision, HR_PRECISIONS), .commands = BOTH | HR_BENCH_NETS | HR_FORECAST),
    ROW("freeze", TEXT, freeze, DECIDES, "PATTERN[,...]", NULL,
        "do not train the tensors with these names: \"0.*,2.bias\""),
};

static const struct hr_option workers[] = {
    ROW("strategy", TEXT, strategy, DECIDES, "NAME", "allreduce",
        "how workers are synchronised (hogring help strategies); parameters follow a colon: "
        "gossip:torus; names: ",
        .name_at = strategy_at, .commands = HR_TRAIN | HR_BENCH_TRAIN | HR_BENCH_STORE,
        .models = HR_OF_ALL_MODELS, .sparse_usual = "hogwild", .first = true),
    ROW("workers", COUNT, workers, DECIDES, "N", NULL,
        "1 to 64; in virtual time up to 1024, with the servers", .said = "cores, at least 2",
        .other = {{HR_COMPARE, .said = "cores, 2 to 4"}},
        .commands = BOTH | HR_BENCH_TRAIN | HR_BENCH_STORE | HR_FORECAST,
        .models = HR_OF_ALL_MODELS, SPARSE_RANGE(1, HR_MAX_RANKS), .first = true),
    ROW("servers", COUNT, servers, DECIDES, "S", NULL,
        "parameter servers, each with a part of the weights; S,time=MODEL: in virtual time, "
        "how long a server takes per message, as in --compute-time [0s]",
        RANGE(1, INFINITY), .said = "1; colocated: one per worker, at most 64",
        .commands = BOTH | HR_BENCH_TRAIN | HR_BENCH_STORE | HR_FORECAST),
    ROW("placement", TEXT, placement, DECIDES, "WHERE", "dedicated",
        "dedicated: each server is a rank of its own; colocated: worker s is also server s, "
        "and serves while it waits; on several machines dedicated:spread: servers on all "
        "machines in turn, or dedicated:first: all on machine 0 (help machines)",
        .other = {{HR_COMPARE, .help = "dedicated: each server is a rank of its own; colocated: "
                                       "worker s is also server s, "
                                       "and serves while it waits"}},
        CHOICE(placement, HR_PLACEMENTS)),
    ROW("server-placement", TEXT, server_placement, AROUND, "WHERE", "spread", "",
        PARAMETER("placement", "dedicated"), CHOICE(server_placement, HR_SERVER_PLACEMENTS),
        .commands = HR_TRAIN),
    ROW("aggregate", TEXT, aggregate, AROUND, "WHERE", "auto",
        "servers on several machines: node: each machine adds the gradients of its workers, "
        "and pushes the sum, which with ps-async and ssp is one update; none: each worker "
        "pushes; auto: node for ps-sync where possible (help machines)",
        CHOICE(aggregate, HR_AGGREGATES), .commands = HR_TRAIN,
        .otherwise = "elsewhere nobody pushes, or servers have to know whose push it is"),
    ROW("staleness", COUNT64, staleness, DECIDES, "CLOCKS", "3",
        "ssp: how many updates a worker may be ahead of the slowest; 0 is ps-sync",
        .commands = BOTH | HR_BENCH_TRAIN | HR_FORECAST),
    ROW("backups", COUNT, backups, DECIDES, "K", "1", "", PARAMETER("strategy", "backup-workers")),
    ROW("sync-every", COUNT, sync_every, DECIDES, "STEPS", "8",
        "local-sgd, and hogwild on several machines: steps between averagings; diloco: between "
        "outer steps; elastic-averaging: between exchanges with the center",
        RANGE(1, 1 << 20), .commands = BOTH | HR_FORECAST),
    ROW("outer-lr", NUMBER, outer_lr, DECIDES, "LR", "0.7", "", PARAMETER("strategy", "diloco"),
        .range = {.least = 0, .most = 1e6, .above = true}),
    ROW("outer-momentum", NUMBER, outer_momentum, DECIDES, "M", "0.9", "",
        PARAMETER("strategy", "diloco"), .range = {.least = 0, .most = 1, .below = true}),
    ROW("moving-rate", NUMBER, moving_rate, DECIDES, "ALPHA", NULL, "",
        PARAMETER("strategy", "elastic-averaging"), RANGE(0, 1)),
    ROW("adaptive-sync", FLAG, adaptive_sync, DECIDES, "adaptive", NULL, "",
        PARAMETER("strategy", "local-sgd")),
    ROW("gossip-graph", TEXT, gossip_graph, DECIDES, "GRAPH", "ring", "",
        PARAMETER("strategy", "gossip")),
    ROW("algorithm", TEXT, algorithm, DECIDES, "NAME", "auto",
        "of all-reduce: ", .name_at = algorithm_at,
        .other = {{HR_BENCH, .help = "of all-reduce: all; links: also rings; or "}},
        .commands = BOTH | HR_BENCH_PLANS | HR_BENCH_TRAIN | HR_FORECAST, .between_ranks = true),
    ROW("launch", TEXT, launch, DECIDES, "HOW", "thread", "thread or process",
        CHOICE(launch, HR_LAUNCHES),
        .commands = BOTH | HR_BENCH_COLLECTIVES | HR_BENCH_TRAIN | HR_BENCH_STORE | HR_FORECAST,
        .models = HR_OF_ALL_MODELS, .with = {{"clock", "real"}}),
    ROW("async-lr", TEXT, async_lr, DECIDES, "HOW", "same",
        "learning rate of asynchronous updates: same: --lr; divide: --lr / workers; "
        "same:inverse: --lr / (1 + t) at staleness t; same:none,LAMBDA: --lr, with gradients "
        "corrected for staleness (DC-ASGD)",
        CHOICE(async_lr, HR_ASYNC_LRS)),
    ROW("staleness-lr", TEXT, staleness_lr, DECIDES, "STALENESS", "none", "",
        PARAMETER("async-lr", "same|divide"), CHOICE(staleness_lr, HR_STALENESS_LRS)),
    ROW("delay-compensation", NUMBER, delay_compensation, DECIDES, "LAMBDA", "0", "",
        PARAMETER("async-lr", "same|divide"), RANGE(0, 1e6)),
};

static const struct hr_option training[] = {
    ROW("epochs", COUNT, epochs, DECIDES, "N", "10",
        "passes over the data, or --epoch-size samples each", RANGE(1, 1 << 20),
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("epoch-size", COUNT, epoch_size, DECIDES, "N", NULL,
        "samples per epoch; a pass over the data may span several epochs",
        .said = "the training set", RANGE(0, 0x1p40)),
    ROW("validation-fraction", NUMBER, validation_fraction, DECIDES, "X", NULL, "",
        HR_PART_OF("validation", ""), RANGE(0, 1), .range.below = true, .models = HR_OF_ALL_MODELS,
        SPARSE_RANGE(0, 1), .sparse_range.below = true),
    ROW("batch-size", COUNT, batch_size, DECIDES, "N", "32", "samples per worker and step",
        RANGE(1, 1 << 20), .commands = BOTH | HR_BENCH_NETS | HR_INSPECT | HR_FORECAST,
        .sparse_usual = "1", .gpt_usual = "8", .first = true),
    ROW("global-batch-size", COUNT, global_batch_size, DECIDES, "N", NULL,
        "samples per step of all workers, instead of --batch-size; times N with --accumulate N",
        RANGE(0, 1 << 24), .said = "batch-size times workers"),
    ROW("accumulate", COUNT, accumulate, DECIDES, "N", "1",
        "minibatches of each worker per update, which then has N times the samples",
        RANGE(1, 1024)),
    ROW("reduce", TEXT, reduce, DECIDES, "HOW", "sum",
        "sum, or repro:N: 1, 2, 4 and 8 workers give the same bits; the global batch is cut "
        "into N pieces, a power of two [8]; needs --global-batch-size",
        CHOICE(reduce, HR_REDUCES)),
    ROW("micro-shards", COUNT, micro_shards, DECIDES, "N", "8", "", PARAMETER("reduce", "repro")),
    ROW("threads-per-worker", COUNT, threads_per_worker, AROUND, "N", "1",
        "threads of each worker's computing; their number changes no bit", RANGE(1, 256),
        .commands = BOTH | HR_BENCH_NETS | HR_FORECAST),
    ROW("augment", TEXT, augment, DECIDES, "HOW", NULL,
        "of training images: flip, crop:PAD (after padding with PAD zeros), or flip,crop:PAD",
        .said = "none"),
    ROW("normalize", FLAG, normalize, DECIDES, NULL, NULL,
        "scale each column or channel to mean 0 and standard deviation 1",
        .commands = BOTH | HR_FORECAST),
    ROW("shuffle-window", COUNT, shuffle_window, DECIDES, "N", "0",
        "shuffle within windows of N samples, for files larger than memory; 0: all samples",
        RANGE(0, 0x1p31), .zero_is_off = true),
    ROW("prefetch", COUNT, prefetch, AROUND, "N", "0",
        "a thread beside each worker decodes up to N minibatches ahead; 0: none", RANGE(0, 64),
        .with = {{"clock", "real"}}, .zero_is_off = true, .commands = BOTH | HR_FORECAST),
    ROW("seed", COUNT64, seed, DECIDES, "N", "1",
        "seed of the initial weights and the order of samples", .models = HR_OF_ALL_MODELS,
        .first = true, .commands = BOTH | HR_FORECAST),
};

static const struct hr_option gradients[] = {
    ROW("overlap", TEXT, overlap, DECIDES, "on|off", "off",
        "send gradients in buckets while backward computes the rest: to all-reduce, or, in "
        "virtual time and between machines, to servers; on:BYTES: smallest bucket [256K], "
        "which ends where a layer ends",
        CHOICE(overlap, HR_OVERLAPS), .commands = BOTH | HR_FORECAST),
    ROW("bucket-size", TEXT, bucket_size, DECIDES, "BYTES", "256K", "", PARAMETER("overlap", "on")),
    ROW("transport", TEXT, transport, AROUND, "HOW", "auto",
        "zero-copy: peers read gradients in place; copy: gradients are copied through rings "
        "in shared memory; auto: copy where --link emulates links",
        CHOICE(transport, HR_TRANSPORTS), .with = {{"clock", "real|explore"}},
        .between_ranks = true),
    ROW("compress", TEXT, compress, DECIDES, "HOW", NULL,
        "send smaller gradients (gossip: weights) over slow links, with error feedback "
        "(hogring help compress): ",
        .name_at = compressor_at, .said = "none",
        .otherwise = "elsewhere weights travel, and nobody keeps public copies of them, or "
                     "nothing does",
        .between_ranks = true, .check = check_compress, .commands = BOTH | HR_BENCH_TRAIN),
    ROW("consensus-step", NUMBER, consensus_step, DECIDES, "GAMMA", NULL, "",
        PARAMETER("strategy", "gossip"), RANGE(0, 1), .between_ranks = true,
        .needs = {"compress", "of what?"}),
    ROW("link", TEXT, link, AROUND, "BANDWIDTH,LATENCY", NULL,
        "1GB/s,5us; real clock: one emulated link per pair of workers (transport copy); "
        "virtual: one link per worker, to a switch (a star)",
        .with = {{"clock", "real|virtual"}}, .between_ranks = true, .or_stages = true,
        .commands = BOTH | HR_FORECAST),
};

#define PIPELINE_PART HR_PART_OF("pipeline", "="), .needs = {"pipeline", "of what?"}

static const struct hr_option pipelines[] = {
    ROW("pipeline", COUNT, pipeline, DECIDES, "K", NULL,
        "split the layers of each worker's model over K ranks, the stages. After K, with "
        "commas: micro-batches=M: cut a worker's batch into M [one per stage]; "
        "schedule=NAME: gpipe, 1f1b, interleaved:V (each stage has V parts of the model "
        "[1]), zero-bubble, or without a flush pipedream, unstashed [1f1b]; stages=auto: "
        "stages of equal multiply-adds, as far as layers allow, or the layers of each, as "
        "3,2,4, where a residual block is one [auto]; recompute: compute forward again "
        "before backward, which takes less memory and more time, and gives the same bits. "
        "With a flush the bits are those of --accumulate M without a pipeline",
        RANGE(0, HR_MAX_RANKS), .said = "none"),
    ROW("micro-batches", COUNT, micro_batches, DECIDES, "micro-batches", NULL, "", PIPELINE_PART,
        RANGE(0, 65536)),
    ROW("pipeline-schedule", TEXT, pipeline_schedule, DECIDES, "schedule", "1f1b", "",
        PIPELINE_PART, .name_at = pipeline_schedule_at),
    ROW("stages", TEXT, stages, DECIDES, "stages", "auto", "", PIPELINE_PART),
    ROW("chunks", COUNT, chunks, DECIDES, "V", "1", "",
        PARAMETER("pipeline-schedule", "interleaved"), RANGE(1, 64),
        .typed = "pipeline schedule=", .needs = {"pipeline", "of what?"}),
    ROW("recompute", FLAG, recompute, AROUND, "recompute", NULL, "", PIPELINE_PART),
    ROW("tensor-parallel", COUNT, tensor_parallel, AROUND, "T", NULL,
        "split the layers of each worker, or stage, over T ranks, by columns and rows; T:S: "
        "into S shards [T]; with the same S, T changes no bit (hogring help split)",
        RANGE(0, HR_MAX_RANKS), .said = "none"),
    ROW("tensor-shards", COUNT, tensor_shards, DECIDES, "S", NULL, "",
        PARAMETER_OF_ANY("tensor-parallel", "2"), RANGE(0, HR_MAX_RANKS)),
};

static const struct hr_option times[] = {
    ROW("clock", TEXT, clock, AROUND, "WHICH", "real",
        "real; virtual: gradients are computed, time is simulated, up to 1024 workers, and "
        "every run repeats bit for bit; explore:SEED: nothing takes time, and one thread "
        "runs all ranks in an order drawn from SEED",
        .said = "real; simulate: virtual", CHOICE(clock, HR_CLOCKS), .also = "explore:SEED",
        .commands = BOTH | HR_BENCH_TRAIN | HR_FORECAST, .models = HR_OF_ALL_MODELS),
    ROW("schedule", TEXT, schedule, AROUND, "explore:SEED", "free", "",
        HR_PART_OF("clock", "explore")),
    ROW("compute-time", TEXT, compute_time, AROUND, "MODEL", NULL,
        "time per gradient: 10ms, uniform(5ms,15ms), exponential(10ms), lognormal(10ms,0.3) "
        "(median, sigma), pareto(10ms,2.5) (minimum, shape), trace:FILE (drawn from a text "
        "file, one time per line: 9.8ms; # begins a comment); on the real clock workers "
        "sleep until then",
        .said = "virtual: lognormal(10ms,0.3); real: as it is",
        .other = {{HR_BENCH, .said = "real: as it is; virtual: as long as it takes here"}},
        .commands = BOTH | HR_BENCH_TRAIN | HR_FORECAST, .with = {{"clock", "real|virtual"}}),
    ROW("inject", TEXT, inject, BEGINS, "LIST", NULL,
        "faults on purpose: slow:3x2 (worker 3 computes for twice as long), slow:*x3@10% "
        "(each, in a tenth of its steps), stall:1@step=50+3s, load:0+5ms (each batch of "
        "worker 0 comes 5 ms later), kill:2@step=100, kill:2@time=3s, kill:server:0@step=300 "
        "(what follows: --on-loss), kill:any@p=0.01x3 and stall:any@p=0.01x3 (under "
        "explore), nan:1@step=7 (in its gradient), flip-bit:weights:1@step=9, "
        "drop-push:p=0.01+50ms (pushes are lost, and sent again); hogring help inject",
        .commands = BOTH | HR_BENCH_TRAIN),
    ROW("server-time", TEXT, server_time, AROUND, "time", NULL, "", .parameter = true, .part = true,
        .with = {{"servers", "="}, {"clock", "virtual"}},
        .commands = BOTH | HR_BENCH_TRAIN | HR_FORECAST),
    ROW("calibrate", TEXT, calibrate, ONCE, "FILE", NULL,
        "real: measure how long gradients, servers and messages take, and write a model of this "
        "run, for simulate --config FILE",
        .written = true, .commands = HR_TRAIN, .with = {{"clock", "real"}}),
    ROW("topology", TEXT, topology, AROUND, "FILE", NULL,
        "virtual: a file of the links between ranks: workers, then servers, then their "
        "replicas; star:N, ring:N: of links like --link",
        .said = "with --link: a star; without: messages take no time",
        .with = {{"clock", "virtual"}}, .between_ranks = true, .or_stages = true),
};

static const struct hr_option updates[] = {
    ROW("optimizer", TEXT, optimizer, DECIDES, "NAME", "sgd",
        "sgd:nesterov; adam, adamw, lamb:BETA1,BETA2,EPS [0.9,0.999,1e-08; lamb 1e-06]; "
        "adagrad:EPS [1e-10]; lars:TRUST (trust coefficient [0.001]); names: ",
        .name_at = optimizer_at, .gpt_usual = "adamw", .first = true,
        .commands = BOTH | HR_FORECAST),
    ROW("lr", NUMBER, lr, DECIDES, "RATE", NULL, "learning rate", .by_optimizer = lr_of,
        .gpt_usual = "0.003", .sparse_said = "0.5, mf 0.05", RANGE(0, 1e6),
        .models = HR_OF_ALL_MODELS, SPARSE_RANGE(1e-12, 1e6), .with = {{"solver", "sgd"}},
        .first = true, .commands = BOTH | HR_FORECAST),
    ROW("momentum", NUMBER, momentum, DECIDES, "M", "0.9", "momentum of sgd and lars", RANGE(0, 1),
        .with = {{"optimizer", "sgd|lars"}}, .commands = BOTH | HR_FORECAST),
    ROW("nesterov", FLAG, nesterov, DECIDES, "nesterov", NULL, "", PARAMETER("optimizer", "sgd")),
    ROW("beta1", NUMBER, beta1, DECIDES, "BETA1", "0.9", "",
        PARAMETER("optimizer", "adam|adamw|lamb"), RANGE(0, 1), .range.below = true),
    ROW("beta2", NUMBER, beta2, DECIDES, "BETA2", "0.999", "",
        PARAMETER("optimizer", "adam|adamw|lamb"), RANGE(0, 1), .range.below = true),
    ROW("eps", NUMBER, eps, DECIDES, "EPS", NULL, "",
        PARAMETER("optimizer", "adam|adamw|lamb|adagrad"), RANGE(0, 1), .by_optimizer = eps_of),
    ROW("weight-decay", NUMBER, weight_decay, DECIDES, "D", NULL,
        "weight decay: how fast weights shrink towards 0", RANGE(0, 1e6),
        .by_optimizer = weight_decay_of),
    ROW("trust-coefficient", NUMBER, trust_coefficient, DECIDES, "TRUST", "0.001", "",
        PARAMETER("optimizer", "lars"), RANGE(0, 1e6)),
    ROW("clip-norm", NUMBER, clip_norm, DECIDES, "X", "0",
        "scale the mean gradient down to norm X if its norm is larger; 0: never", RANGE(0, 1e30)),
    ROW("lr-schedule", TEXT, lr_schedule, DECIDES, "NAME", "constant",
        "constant, step:EPOCHS,FACTOR (every EPOCHS [1] times FACTOR [0.1; sparse models: "
        "0.9]), cosine or linear",
        .words = "constant|step|cosine|linear", .models = HR_OF_ALL_MODELS, .sparse_usual = "step",
        .gpt_usual = "cosine", .with = {{"solver", "sgd"}}),
    ROW("warmup-epochs", NUMBER, warmup_epochs, DECIDES, "E", "0",
        "the learning rate rises over the first E epochs", .models = HR_OF_ALL_MODELS,
        .gpt_usual = "0.2", .with = {{"solver", "sgd"}}),
    ROW("lr-step-epochs", NUMBER, lr_step_epochs, DECIDES, "EPOCHS", "1", "", .parameter = true,
        .with = {{"lr-schedule", "step"}, {"solver", "sgd"}}, RANGE(0, INFINITY),
        .range.above = true, .models = HR_OF_ALL_MODELS, SPARSE_RANGE(1e-6, 1e9)),
    ROW("lr-gamma", NUMBER, lr_gamma, DECIDES, "FACTOR", "0.1", "", .parameter = true,
        .with = {{"lr-schedule", "step"}, {"solver", "sgd"}}, RANGE(0, 1e6),
        .models = HR_OF_ALL_MODELS, .sparse_usual = "0.9", SPARSE_RANGE(1e-9, 1)),
    ROW("scale-lr", TEXT, scale_lr, DECIDES, "HOW", "none",
        "--lr is meant for N samples per update [the batch size of one worker]: linear:N "
        "multiplies it by samples per update / N, sqrt:N by the square root of that",
        CHOICE(scale_lr, HR_SCALE_LRS)),
    ROW("base-batch-size", COUNT, base_batch_size, DECIDES, "N", NULL, "",
        PARAMETER("scale-lr", "linear|sqrt"), RANGE(0, 1 << 24)),
};

static const struct hr_option sparse[] = {
    ROW("solver", TEXT, solver, SPARSE, "NAME", "auto",
        "dual: coordinate descent without a learning rate (logistic, svm, linear); sgd; "
        "sgd:N, with hogwild: each worker keeps copies of the weights of the N [256] most "
        "frequent features, merged every 64 rows; 0: none, as in the paper",
        .said = "dual; mf: sgd", CHOICE(solver, HR_SOLVERS), .models = HR_OF_SPARSE_MODELS,
        .commands = BOTH | HR_FORECAST),
    ROW("cost", NUMBER, cost, SPARSE, "C", "1",
        "weight of the losses: C * (sum of losses) + |w|^2 / 2 is minimised",
        SPARSE_RANGE(1e-9, 1e9), .models = HR_OF_SPARSE_MODELS, .commands = BOTH | HR_FORECAST),
    ROW("factors", COUNT, factors, SPARSE, "K", "16", "", PARAMETER("model", "mf"),
        SPARSE_RANGE(2, 4096), .models = HR_OF_SPARSE_MODELS, .commands = BOTH | HR_FORECAST),
    ROW("hot-copies", COUNT, hot_copies, SPARSE, "N", "256", "", .parameter = true,
        .with = {{"solver", "sgd"}, {"model", "logistic|svm|linear"}, {"strategy", "hogwild"}},
        SPARSE_RANGE(0, 1024), .models = HR_OF_SPARSE_MODELS),
};

static const struct hr_option limits[] = {
    ROW("budget", TEXT, budget, DECIDES, "LENGTH", NULL,
        "length of each run, in place of --epochs: 500Ksamples, 20Kupdates, or 60s of its "
        "clock",
        .models = HR_OF_ALL_MODELS, .check = hr_check_budget, .said = "--epochs"),
    ROW("max-steps", COUNT64, max_steps, BEGINS, "N", NULL,
        "stop after N updates, before the run's length", .commands = BOTH | HR_REPLAY),
    ROW("max-seconds", SECONDS, max_seconds, ONCE, "T", NULL, "stop after this time: 90s, 5m",
        RANGE(0, 1e9),
        .other = {{HR_BENCH, "how long to measure each model, train: a round: 5s, 1m",
                   "1s; train: 250ms"}},
        .commands = BOTH | HR_BENCH_NETS, .models = HR_OF_ALL_MODELS),
    ROW("early-stop", TEXT, early_stop, DECIDES, "METRIC,PATIENCE[,MIN-DELTA]", NULL,
        "loss,5: stop when 5 evaluations have not improved the loss by more than MIN-DELTA "
        "[0], and end with the best weights; other metrics: accuracy, balanced, macro_f1, "
        "roc_auc; for values rmse, mae, r2; measured on the validation split",
        .check = hr_check_early_stop, .models = HR_OF_ALL_MODELS),
    ROW("on-loss", TEXT, on_loss, AROUND, "HOW", "stop",
        "when a worker or server is lost: stop; continue without it; restart it; "
        "restart:count,5: its batch is counted as lost [another worker gets it], and at most "
        "5 [3] are restarted, each after twice the delay",
        CHOICE(on_loss, HR_ON_LOSSES)),
    ROW("lost-batch", TEXT, lost_batch, AROUND, "BATCH", "reissue", "",
        PARAMETER("on-loss", "continue|restart"), CHOICE(lost_batch, HR_LOST_BATCHES)),
    ROW("max-restarts", COUNT, max_restarts, AROUND, "N", "3", "",
        PARAMETER("on-loss", "continue|restart"), RANGE(0, 4096)),
    ROW("timeout", DURATION, timeout, ONCE, "T", "30s",
        "deadline of every wait; 0: none; T:WARN: on the real clock, after a wait of WARN "
        "[10s], say on stderr who is waited for; 0: never",
        RANGE(0, 1e6),
        .commands = BOTH | HR_BENCH_COLLECTIVES | HR_BENCH_TRAIN | HR_BENCH_STORE | HR_GATE,
        .models = HR_OF_ALL_MODELS),
    ROW("stall-warn", DURATION, stall_warn, ONCE, "WARN", "10s", "", .parameter = true,
        .of_any = true, .with = {{"timeout", "30s"}, {"clock", "real"}}, RANGE(0, 1e6),
        .models = HR_OF_ALL_MODELS, .check = check_stall_warn, .zero_is_off = true),
};

static const struct hr_option checkpoints[] = {
    ROW("checkpoint-dir", TEXT, checkpoint_dir, ONCE, "DIR", NULL,
        "save checkpoints here at the end of each epoch", .written = true,
        .other = {{HR_COMPARE,
                   .help = "save each strategy in DIR/<strategy> at the end of each epoch"}},
        .commands = BOTH | HR_REPLAY, .first = true, .models = HR_OF_ALL_MODELS),
    ROW("checkpoint-every", EVERY, checkpoint_every, DECIDES, "N", NULL,
        "save every N steps (100), every 30s or 5m, or every 2epochs", .said = "every epoch",
        .needs = {"checkpoint-dir", "where to?"}, .models = HR_OF_ALL_MODELS),
    ROW("keep", COUNT, keep, AROUND, "N", "3",
        "newest checkpoints to keep; 0: all; best=METRIC or N,best=METRIC: also the best one "
        "by a metric of --early-stop, as DIR/best",
        .commands = BOTH | HR_REPLAY, .needs = {"checkpoint-dir", "where to?"},
        .models = HR_OF_ALL_MODELS),
    ROW("keep-best", TEXT, keep_best, AROUND, "best", NULL, "", HR_PART_OF("keep", "="),
        .commands = BOTH | HR_REPLAY, .needs = {"checkpoint-dir", "where to?"},
        .check = hr_check_keep_best, .models = HR_OF_ALL_MODELS),
    ROW("overwrite", FLAG, overwrite, ONCE, NULL, NULL,
        "remove what another run left in --checkpoint-dir, --log and --tensorboard",
        .said = "it is refused", .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("resume", OPTIONAL_TEXT, resume, BEGINS, "[DIR]", NULL,
        "continue from a checkpoint, or the newest good one of a folder [--checkpoint-dir], "
        "with its options unless others are given; auto: begin if there is none, exit 0 if "
        "it is finished",
        .commands = BOTH | HR_REPLAY, .first = true, .models = HR_OF_ALL_MODELS),
};

static const struct hr_option results[] = {
    ROW("record", TEXT, record, ONCE, "FILE", NULL,
        "write a trace, from which hogring replay repeats the run bit for bit", .written = true,
        .commands = HR_TRAIN),
    ROW("record-block", TEXT, record_block, DECIDES, "BYTES", "16K", "", .commands = HR_LIBRARY),
    ROW("note", TEXT, note, ONCE, "TEXT", NULL, "a text of your own, which --json keeps",
        .models = HR_OF_ALL_MODELS),
    ROW("digest-every", COUNT64, digest_every, ONCE, "digests", NULL, "", HR_PART_OF("json", "=")),
    ROW("target-accuracy", NUMBER, target_accuracy, AROUND, "accuracy", NULL, "",
        HR_PART_OF("time-to", "="), RANGE(0, 1), .models = HR_OF_ALL_MODELS),
    ROW("target-rmse", NUMBER, target_rmse, AROUND, "rmse", NULL, "", HR_PART_OF("time-to", "="),
        RANGE(0, INFINITY), .models = HR_OF_ALL_MODELS),
    ROW("target-loss", NUMBER, target_loss, AROUND, "loss", NULL, "", HR_PART_OF("time-to", "="),
        RANGE(0, INFINITY), .models = HR_OF_ALL_MODELS),
};

static const struct hr_option expert[] = {
    ROW("kernels", TEXT, kernels, DECIDES, "WHICH", "fast",
        "fast, direct (without Winograd's algorithm in 3x3 convolutions), reference (plain "
        "C), or openblas (matrix products)",
        .words = "fast|direct|reference|openblas", .commands = BOTH | HR_BENCH_NETS | HR_FORECAST),
    ROW("ranks-beside", COUNT, ranks_beside, ONCE, "N", NULL, "", .commands = HR_LIBRARY),
    ROW("event-order", COUNT, event_order, ONCE, "N", NULL, "", .commands = HR_LIBRARY),
};

#define LIST(section, rows)                                                                        \
    {                                                                                              \
        section, rows, sizeof rows / sizeof *rows                                                  \
    }

const struct hr_option_list hr_train_lists[] = {
    LIST(HR_IN_DATA, model),          LIST(HR_IN_WORKERS, workers),
    LIST(HR_IN_TRAINING, training),   LIST(HR_IN_GRADIENTS, gradients),
    LIST(HR_IN_PIPELINES, pipelines), LIST(HR_IN_TIME, times),
    LIST(HR_IN_UPDATES, updates),     LIST(HR_IN_SPARSE, sparse),
    LIST(HR_IN_LIMITS, limits),       LIST(HR_IN_CHECKPOINTS, checkpoints),
    LIST(HR_IN_RESULTS, results),     LIST(HR_IN_EXPERT, expert),
};

const size_t hr_train_nlists = sizeof hr_train_lists / sizeof *hr_train_lists;
