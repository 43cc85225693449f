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
        "a name, or layers: \"flatten, dense 64, relu, dense 10\"; also logistic, svm, linear, "
        "and mf:K (K numbers for a user, or an item, even [16]), on sparse data; names: ",
        .name_at = model_at,
        .other = {{HR_EVAL | HR_PREDICT,
                   "a name, or layers: \"flatten, dense 64, relu, dense 10\"; also logistic, svm, "
                   "linear and mf, on sparse data; names: ",
                   "what the file says"},
                  {HR_BENCH,
                   "a name, or layers: \"flatten, dense 64, relu, dense 10\"; train: one or "
                   "several names, as mlp,cnn; names: ",
                   "mlp; train: all names; pipeline: equal stages"}},
        .commands = BOTH | HR_EVAL | HR_PREDICT | HR_BENCH_MODELS | HR_FORECAST,
        .models = HR_OF_ALL_MODELS, .first = true, .check = check_model),
    ROW("task", TEXT, task, DECIDES, "WHAT", "auto",
        "regress: labels are values, which are predicted (rmse, mae, R2 in place of accuracy), "
        "learned with mean 0 and deviation 1, or with regress:none as they are; "
        "classify: each label is a class, though labels look like values (numbers that are not "
        "whole, or most of them different); auto: labels that look like values are refused",
        CHOICE(task, HR_TASKS), .said = "auto; with --target: regress",
        .commands = BOTH | HR_DATA_INFO | HR_DATA_PACK | HR_FORECAST, .models = HR_OF_ALL_MODELS),
    ROW("loss", TEXT, loss, DECIDES, "NAME", "auto",
        "cross-entropy:S (labels smoothed by S [0], in the losses that are reported, too), bce, "
        "mse; of values mse or huber:D (errors above D [1] of scaled targets count in proportion, "
        "smaller ones squared)",
        CHOICE(loss, HR_LOSSES), .said = "cross-entropy; of values mse",
        .commands = BOTH | HR_FORECAST),
    ROW("huber-delta", NUMBER, huber_delta, DECIDES, "D", "1", "", PARAMETER("loss", "huber"),
        .range = {.least = 0, .most = 1e9, .above = true}),
    ROW("target-scale", TEXT, target_scale, DECIDES, "SCALE", "standard", "",
        PARAMETER("task", "regress"), CHOICE(target_scale, HR_TARGET_SCALES),
        .models = HR_OF_ALL_MODELS),
    ROW("label-smoothing", NUMBER, label_smoothing, DECIDES, "S", "0", "",
        PARAMETER("loss", "cross-entropy|auto")),
    ROW("class-weights", TEXT, class_weights, DECIDES, "LIST", NULL,
        "of each class in the loss that is trained, scaled to mean 1: balanced (as much for rare "
        "classes), or 1,5,1",
        .said = "all 1", .commands = BOTH),
    ROW("init-weights", TEXT, init_weights, BEGINS, "FILE", NULL,
        "begin with the weights of a .safetensors file, PyTorch's too, or of a checkpoint; "
        "FILE,replace-head: but for the last layer, drawn from the seed: for other classes",
        .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("replace-head", FLAG, replace_head, BEGINS, "replace-head", NULL, "",
        HR_PART_OF("init-weights", "="), .commands = BOTH | HR_REPLAY,
        .needs = {"init-weights", "of what?"}),
    ROW("precision", TEXT, precision, DECIDES, "WHICH", "float32",
        "of a network; bf16: products and activations of bfloat16 values (help precision)",
        CHOICE(precision, HR_PRECISIONS), .commands = BOTH | HR_BENCH_NETS | HR_FORECAST),
    ROW("freeze", TEXT, freeze, DECIDES, "PATTERN[,...]", NULL,
        "keep tensors with these names, as \"0.*,2.bias\", as they are: all others are trained"),
};

static const struct hr_option workers[] = {
    ROW("strategy", TEXT, strategy, DECIDES, "NAME", "allreduce",
        "parameters stand behind a colon, as gossip:torus (hogring help strategies); there are: ",
        .name_at = strategy_at, .commands = HR_TRAIN | HR_BENCH_TRAIN | HR_BENCH_STORE,
        .models = HR_OF_ALL_MODELS, .sparse_usual = "hogwild", .first = true),
    ROW("workers", COUNT, workers, DECIDES, "N", NULL,
        "1 to 64; in virtual time to 1024, with the servers", .said = "cores, at least 2",
        .other = {{HR_COMPARE, .said = "cores, 2 to 4"}},
        .commands = BOTH | HR_BENCH_TRAIN | HR_BENCH_STORE | HR_FORECAST,
        .models = HR_OF_ALL_MODELS, SPARSE_RANGE(1, HR_MAX_RANKS), .first = true),
    ROW("servers", COUNT, servers, DECIDES, "S", NULL,
        "shards of the parameter server; S,time=MODEL, as --compute-time's: in virtual time, how "
        "long each takes for a message [0s]",
        RANGE(1, INFINITY), .said = "1; colocated: one a worker, at most 64",
        .commands = BOTH | HR_BENCH_TRAIN | HR_BENCH_STORE | HR_FORECAST),
    ROW("placement", TEXT, placement, DECIDES, "WHERE", "dedicated",
        "of the servers: dedicated: each is a rank of its own; colocated: server s is worker s, "
        "who serves while it waits; on several machines dedicated:spread: one after the other, or "
        "dedicated:first: all on machine 0 (help machines)",
        .other = {{HR_COMPARE, .help = "of the servers: dedicated: each is a rank of its own; "
                                       "colocated: server s is worker s, who serves while it "
                                       "waits"}},
        CHOICE(placement, HR_PLACEMENTS)),
    ROW("server-placement", TEXT, server_placement, AROUND, "WHERE", "spread", "",
        PARAMETER("placement", "dedicated"), CHOICE(server_placement, HR_SERVER_PLACEMENTS),
        .commands = HR_TRAIN),
    ROW("aggregate", TEXT, aggregate, AROUND, "WHERE", "auto",
        "servers on several machines: node: gradients of a machine's workers are added there, and "
        "pushed as one, with ps-async and ssp one update of all; none: each is pushed; auto: node "
        "for ps-sync where that can be (help machines)",
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
        "asynchronous updates at the same lr, or divide: by the workers; same:inverse: one of "
        "staleness t at lr / (1 + t); same:none,LAMBDA: gradients carried over to the weights they "
        "meet (DC-ASGD)",
        CHOICE(async_lr, HR_ASYNC_LRS)),
    ROW("staleness-lr", TEXT, staleness_lr, DECIDES, "STALENESS", "none", "",
        PARAMETER("async-lr", "same|divide"), CHOICE(staleness_lr, HR_STALENESS_LRS)),
    ROW("delay-compensation", NUMBER, delay_compensation, DECIDES, "LAMBDA", "0", "",
        PARAMETER("async-lr", "same|divide"), RANGE(0, 1e6)),
};

static const struct hr_option training[] = {
    ROW("epochs", COUNT, epochs, DECIDES, "N", "10",
        "each a pass over the data, or --epoch-size samples", RANGE(1, 1 << 20),
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("epoch-size", COUNT, epoch_size, DECIDES, "N", NULL,
        "samples an epoch; passes run on through epochs", .said = "the training set",
        RANGE(0, 0x1p40)),
    ROW("validation-fraction", NUMBER, validation_fraction, DECIDES, "X", NULL, "",
        HR_PART_OF("validation", ""), RANGE(0, 1), .range.below = true, .models = HR_OF_ALL_MODELS,
        SPARSE_RANGE(0, 1), .sparse_range.below = true),
    ROW("batch-size", COUNT, batch_size, DECIDES, "N", "32", "samples a worker and step",
        RANGE(1, 1 << 20), .commands = BOTH | HR_BENCH_NETS | HR_INSPECT | HR_FORECAST,
        .sparse_usual = "1", .gpt_usual = "8", .first = true),
    ROW("global-batch-size", COUNT, global_batch_size, DECIDES, "N", NULL,
        "samples a step of all workers, instead of --batch-size; times N with --accumulate N",
        RANGE(0, 1 << 24), .said = "batch-size times workers"),
    ROW("accumulate", COUNT, accumulate, DECIDES, "N", "1",
        "minibatches of each worker that make one update together, of N times the samples",
        RANGE(1, 1024)),
    ROW("reduce", TEXT, reduce, DECIDES, "HOW", "sum",
        "sum, or repro:N: the same bits for 1, 2, 4 and 8 workers, as a global batch is cut into N "
        "pieces, a power of two [8]; needs --global-batch-size",
        CHOICE(reduce, HR_REDUCES)),
    ROW("micro-shards", COUNT, micro_shards, DECIDES, "N", "8", "", PARAMETER("reduce", "repro")),
    ROW("threads-per-worker", COUNT, threads_per_worker, AROUND, "N", "1",
        "threads that share a worker's computing; they change no bit", RANGE(1, 256),
        .commands = BOTH | HR_BENCH_NETS | HR_FORECAST),
    ROW("augment", TEXT, augment, DECIDES, "HOW", NULL,
        "of training images: flip, crop:PAD (behind PAD zeros), or flip,crop:PAD", .said = "none"),
    ROW("normalize", FLAG, normalize, DECIDES, NULL, NULL, "scale each channel to mean 0, std 1",
        .commands = BOTH | HR_FORECAST),
    ROW("shuffle-window", COUNT, shuffle_window, DECIDES, "N", "0",
        "neighbours that are shuffled with each other, for files larger than memory; 0: all",
        RANGE(0, 0x1p31), .zero_is_off = true),
    ROW("prefetch", COUNT, prefetch, AROUND, "N", "0",
        "a thread beside each worker decodes up to N minibatches ahead; 0: none", RANGE(0, 64),
        .with = {{"clock", "real"}}, .zero_is_off = true, .commands = BOTH | HR_FORECAST),
    ROW("seed", COUNT64, seed, DECIDES, "N", "1", "of initial weights and data order",
        .models = HR_OF_ALL_MODELS, .first = true, .commands = BOTH | HR_FORECAST),
};

static const struct hr_option gradients[] = {
    ROW("overlap", TEXT, overlap, DECIDES, "on|off", "off",
        "gradients leave in buckets while backward computes the rest: to be summed, or, in virtual "
        "time and between machines, on their way to servers; on:BYTES: a bucket has at least so "
        "much [256K], and ends where a layer does",
        CHOICE(overlap, HR_OVERLAPS), .commands = BOTH | HR_FORECAST),
    ROW("bucket-size", TEXT, bucket_size, DECIDES, "BYTES", "256K", "", PARAMETER("overlap", "on")),
    ROW("transport", TEXT, transport, AROUND, "HOW", "auto",
        "zero-copy: peers read gradients in place; copy: they go through the rings; auto: copy "
        "where "
        "--link emulates links between them",
        CHOICE(transport, HR_TRANSPORTS), .with = {{"clock", "real|explore"}},
        .between_ranks = true),
    ROW("compress", TEXT, compress, DECIDES, "HOW", NULL,
        "gradients on their way, of gossip weights, for slow links, with error feedback (hogring "
        "help compress): ",
        .name_at = compressor_at, .said = "none",
        .otherwise = "elsewhere weights travel, and nobody keeps public copies of them, or "
                     "nothing does",
        .between_ranks = true, .check = check_compress, .commands = BOTH | HR_BENCH_TRAIN),
    ROW("consensus-step", NUMBER, consensus_step, DECIDES, "GAMMA", NULL, "",
        PARAMETER("strategy", "gossip"), RANGE(0, 1), .between_ranks = true,
        .needs = {"compress", "of what?"}),
    ROW("link", TEXT, link, AROUND, "BANDWIDTH,LATENCY", NULL,
        "1GB/s,5us; real clock: a link of its own between any two workers (emulated: transport "
        "copy); virtual: one each, to a switch (a star)",
        .with = {{"clock", "real|virtual"}}, .between_ranks = true, .or_stages = true,
        .commands = BOTH | HR_FORECAST),
};

#define PIPELINE_PART HR_PART_OF("pipeline", "="), .needs = {"pipeline", "of what?"}

static const struct hr_option pipelines[] = {
    ROW("pipeline", COUNT, pipeline, DECIDES, "K", NULL,
        "each worker is K ranks, stages, among which the layers of its model are split; behind K, "
        "with commas: micro-batches=M: pieces of a worker's batch that pass through the stages "
        "[one "
        "a stage]; schedule=NAME: when a stage computes what: gpipe, 1f1b, interleaved:V (each "
        "stage has V parts of the model [1]), zero-bubble; pipedream and unstashed never drain "
        "[1f1b]; stages=auto: the model is cut as evenly as its layers let it, in multiply-adds; "
        "or "
        "the layers of each part, as 3,2,4, a residual block being one [auto]; recompute: a stage "
        "keeps its input of a micro-batch alone, and computes forward again before backward: less "
        "memory, more time, the same bits. Beside --accumulate M of one worker each it changes no "
        "bit, unless it never drains",
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
        "each worker, or each of its stages, is T ranks, which share its layers by columns and "
        "rows; T:S: cut into S shards [T], beside which T changes no bit (hogring help split)",
        RANGE(0, HR_MAX_RANKS), .said = "none"),
    ROW("tensor-shards", COUNT, tensor_shards, DECIDES, "S", NULL, "",
        PARAMETER_OF_ANY("tensor-parallel", "2"), RANGE(0, HR_MAX_RANKS)),
};

static const struct hr_option times[] = {
    ROW("clock", TEXT, clock, AROUND, "WHICH", "real",
        "real; virtual: up to 1024 workers whose gradients are computed and whose time is "
        "simulated, the same again bit for bit; explore:SEED: nothing takes time, and one thread "
        "runs all ranks in an order drawn from SEED",
        .said = "real; simulate: virtual", CHOICE(clock, HR_CLOCKS), .also = "explore:SEED",
        .commands = BOTH | HR_BENCH_TRAIN | HR_FORECAST, .models = HR_OF_ALL_MODELS),
    ROW("schedule", TEXT, schedule, AROUND, "explore:SEED", "free", "",
        HR_PART_OF("clock", "explore")),
    ROW("compute-time", TEXT, compute_time, AROUND, "MODEL", NULL,
        "of a gradient: 10ms, uniform(5ms,15ms), exponential(10ms), lognormal(10ms,0.3) (median, "
        "sigma), pareto(10ms,2.5) (minimum, shape), trace:FILE (drawn from a text file of times, "
        "one a line as 9.8ms, behind # a comment); on the real clock workers sleep until then",
        .said = "virtual: lognormal(10ms,0.3); real: as it is",
        .other = {{HR_BENCH, .said = "real: as it is; virtual: as long as it takes here"}},
        .commands = BOTH | HR_BENCH_TRAIN | HR_FORECAST, .with = {{"clock", "real|virtual"}}),
    ROW("inject", TEXT, inject, BEGINS, "LIST", NULL,
        "trouble on purpose: slow:3x2 (worker 3 computes for twice as long), slow:*x3@10% (each, "
        "in a tenth of its steps), stall:1@step=50+3s, load:0+5ms (each batch of worker 0 comes "
        "5 ms later), kill:2@step=100, kill:2@time=3s, kill:server:0@step=300 (with --on-loss it "
        "goes on), kill:any@p=0.01x3 and stall:any@p=0.01x3 (under explore), nan:1@step=7 (in "
        "its gradient), flip-bit:weights:1@step=9, drop-push:p=0.01+50ms (pushes are lost, and "
        "sent again); hogring help inject",
        .commands = BOTH | HR_BENCH_TRAIN),
    ROW("server-time", TEXT, server_time, AROUND, "time", NULL, "", .parameter = true, .part = true,
        .with = {{"servers", "="}, {"clock", "virtual"}},
        .commands = BOTH | HR_BENCH_TRAIN | HR_FORECAST),
    ROW("calibrate", TEXT, calibrate, ONCE, "FILE", NULL,
        "real: measure how long gradients, servers and messages take, and write a model of this "
        "run, for simulate --config FILE",
        .written = true, .commands = HR_TRAIN, .with = {{"clock", "real"}}),
    ROW("topology", TEXT, topology, AROUND, "FILE", NULL,
        "virtual: who is wired to whom, workers first, then servers, then their replicas; star:N, "
        "ring:N of links like --link",
        .said = "with --link: a star; without: messages take no time",
        .with = {{"clock", "virtual"}}, .between_ranks = true, .or_stages = true),
};

static const struct hr_option updates[] = {
    ROW("optimizer", TEXT, optimizer, DECIDES, "NAME", "sgd",
        "sgd:nesterov looks ahead along the momentum; adam, adamw, lamb:BETA1,BETA2,EPS (moments "
        "[0.9,0.999], added to the divisor [1e-08, lamb 1e-06]); adagrad:EPS [1e-10]; lars:TRUST "
        "(coefficient [0.001]); there are: ",
        .name_at = optimizer_at, .gpt_usual = "adamw", .first = true,
        .commands = BOTH | HR_FORECAST),
    ROW("lr", NUMBER, lr, DECIDES, "RATE", NULL, "learning rate", .by_optimizer = lr_of,
        .gpt_usual = "0.003", .sparse_said = "0.5, mf 0.05", RANGE(0, 1e6),
        .models = HR_OF_ALL_MODELS, SPARSE_RANGE(1e-12, 1e6), .with = {{"solver", "sgd"}},
        .first = true, .commands = BOTH | HR_FORECAST),
    ROW("momentum", NUMBER, momentum, DECIDES, "M", "0.9", "of sgd and lars", RANGE(0, 1),
        .with = {{"optimizer", "sgd|lars"}}, .commands = BOTH | HR_FORECAST),
    ROW("nesterov", FLAG, nesterov, DECIDES, "nesterov", NULL, "", PARAMETER("optimizer", "sgd")),
    ROW("beta1", NUMBER, beta1, DECIDES, "BETA1", "0.9", "",
        PARAMETER("optimizer", "adam|adamw|lamb"), RANGE(0, 1), .range.below = true),
    ROW("beta2", NUMBER, beta2, DECIDES, "BETA2", "0.999", "",
        PARAMETER("optimizer", "adam|adamw|lamb"), RANGE(0, 1), .range.below = true),
    ROW("eps", NUMBER, eps, DECIDES, "EPS", NULL, "",
        PARAMETER("optimizer", "adam|adamw|lamb|adagrad"), RANGE(0, 1), .by_optimizer = eps_of),
    ROW("weight-decay", NUMBER, weight_decay, DECIDES, "D", NULL, "pull of weights towards 0",
        RANGE(0, 1e6), .by_optimizer = weight_decay_of),
    ROW("trust-coefficient", NUMBER, trust_coefficient, DECIDES, "TRUST", "0.001", "",
        PARAMETER("optimizer", "lars"), RANGE(0, 1e6)),
    ROW("clip-norm", NUMBER, clip_norm, DECIDES, "X", "0",
        "scale the mean gradient down where its norm is larger; 0: never", RANGE(0, 1e30)),
    ROW("lr-schedule", TEXT, lr_schedule, DECIDES, "NAME", "constant",
        "constant, step:EPOCHS,FACTOR (each so many epochs [1] times FACTOR [0.1; sparse models: "
        "0.9]), cosine or linear",
        .words = "constant|step|cosine|linear", .models = HR_OF_ALL_MODELS, .sparse_usual = "step",
        .gpt_usual = "cosine", .with = {{"solver", "sgd"}}),
    ROW("warmup-epochs", NUMBER, warmup_epochs, DECIDES, "E", "0",
        "the rate rises over so many epochs", .models = HR_OF_ALL_MODELS, .gpt_usual = "0.2",
        .with = {{"solver", "sgd"}}),
    ROW("lr-step-epochs", NUMBER, lr_step_epochs, DECIDES, "EPOCHS", "1", "", .parameter = true,
        .with = {{"lr-schedule", "step"}, {"solver", "sgd"}}, RANGE(0, INFINITY),
        .range.above = true, .models = HR_OF_ALL_MODELS, SPARSE_RANGE(1e-6, 1e9)),
    ROW("lr-gamma", NUMBER, lr_gamma, DECIDES, "FACTOR", "0.1", "", .parameter = true,
        .with = {{"lr-schedule", "step"}, {"solver", "sgd"}}, RANGE(0, 1e6),
        .models = HR_OF_ALL_MODELS, .sparse_usual = "0.9", SPARSE_RANGE(1e-9, 1)),
    ROW("scale-lr", TEXT, scale_lr, DECIDES, "HOW", "none",
        "linear:N, sqrt:N: multiply the rate by an update's samples over N, for which --lr is "
        "meant [the batch size of one worker], or by their square root",
        CHOICE(scale_lr, HR_SCALE_LRS)),
    ROW("base-batch-size", COUNT, base_batch_size, DECIDES, "N", NULL, "",
        PARAMETER("scale-lr", "linear|sqrt"), RANGE(0, 1 << 24)),
};

static const struct hr_option sparse[] = {
    ROW("solver", TEXT, solver, SPARSE, "NAME", "auto",
        "dual: coordinate descent, which needs no rate (logistic, svm, linear); sgd; sgd:N, with "
        "hogwild: of the weights of the N [256] most frequent features each of several workers "
        "keeps a copy, merged every 64 rows; 0: none, as in the paper",
        .said = "dual; mf: sgd", CHOICE(solver, HR_SOLVERS), .models = HR_OF_SPARSE_MODELS,
        .commands = BOTH | HR_FORECAST),
    ROW("cost", NUMBER, cost, SPARSE, "C", "1",
        "of the losses; minimised is C sum loss + |w|^2 / 2", SPARSE_RANGE(1e-9, 1e9),
        .models = HR_OF_SPARSE_MODELS, .commands = BOTH | HR_FORECAST),
    ROW("factors", COUNT, factors, SPARSE, "K", "16", "", PARAMETER("model", "mf"),
        SPARSE_RANGE(2, 4096), .models = HR_OF_SPARSE_MODELS, .commands = BOTH | HR_FORECAST),
    ROW("hot-copies", COUNT, hot_copies, SPARSE, "N", "256", "", .parameter = true,
        .with = {{"solver", "sgd"}, {"model", "logistic|svm|linear"}, {"strategy", "hogwild"}},
        SPARSE_RANGE(0, 1024), .models = HR_OF_SPARSE_MODELS),
};

static const struct hr_option limits[] = {
    ROW("budget", TEXT, budget, DECIDES, "LENGTH", NULL,
        "in place of --epochs: 500Ksamples, 20Kupdates, or 60s on its clock; the same for all",
        .models = HR_OF_ALL_MODELS, .check = hr_check_budget, .said = "--epochs"),
    ROW("max-steps", COUNT64, max_steps, BEGINS, "N", NULL,
        "stop after so many updates of the model, before the run's length",
        .commands = BOTH | HR_REPLAY),
    ROW("max-seconds", SECONDS, max_seconds, ONCE, "T", NULL, "stop after so long: 90s, 5m",
        RANGE(0, 1e9),
        .other = {{HR_BENCH, "how long to measure each model, train: a round: 5s, 1m",
                   "1s; train: 250ms"}},
        .commands = BOTH | HR_BENCH_NETS, .models = HR_OF_ALL_MODELS),
    ROW("early-stop", TEXT, early_stop, DECIDES, "METRIC,PATIENCE[,MIN-DELTA]", NULL,
        "loss,5: stop when 5 evaluations have not improved the loss (or accuracy, "
        "balanced, macro_f1, roc_auc; of values rmse, mae, r2) by more than MIN-DELTA [0], "
        "and end with the weights of the best of all; read on the validation split",
        .check = hr_check_early_stop, .models = HR_OF_ALL_MODELS),
    ROW("on-loss", TEXT, on_loss, AROUND, "HOW", "stop",
        "of a worker or server: stop; continue with those that are left; restart it, too; "
        "restart:count,5: the batch that it had is counted as lost [it is reissued to another], "
        "and at most 5 [3] are started again, each after twice as long as the one before",
        CHOICE(on_loss, HR_ON_LOSSES)),
    ROW("lost-batch", TEXT, lost_batch, AROUND, "BATCH", "reissue", "",
        PARAMETER("on-loss", "continue|restart"), CHOICE(lost_batch, HR_LOST_BATCHES)),
    ROW("max-restarts", COUNT, max_restarts, AROUND, "N", "3", "",
        PARAMETER("on-loss", "continue|restart"), RANGE(0, 4096)),
    ROW("timeout", DURATION, timeout, ONCE, "T", "30s",
        "longest any wait may take; 0: no limit; T:WARN, of a run on the real clock: when one has "
        "lasted so long [10s], say on stderr for whom; 0: never",
        RANGE(0, 1e6),
        .commands = BOTH | HR_BENCH_COLLECTIVES | HR_BENCH_TRAIN | HR_BENCH_STORE | HR_GATE,
        .models = HR_OF_ALL_MODELS),
    ROW("stall-warn", DURATION, stall_warn, ONCE, "WARN", "10s", "", .parameter = true,
        .of_any = true, .with = {{"timeout", "30s"}, {"clock", "real"}}, RANGE(0, 1e6),
        .models = HR_OF_ALL_MODELS, .check = check_stall_warn, .zero_is_off = true),
};

static const struct hr_option checkpoints[] = {
    ROW("checkpoint-dir", TEXT, checkpoint_dir, ONCE, "DIR", NULL,
        "save here at the ends of epochs", .written = true,
        .other = {{HR_COMPARE,
                   .help = "save each strategy in DIR/<strategy> at the ends of epochs"}},
        .commands = BOTH | HR_REPLAY, .first = true, .models = HR_OF_ALL_MODELS),
    ROW("checkpoint-every", EVERY, checkpoint_every, DECIDES, "N", NULL,
        "and every so many steps (100), seconds (30s, 5m) or epochs (2epochs) instead",
        .said = "every epoch", .needs = {"checkpoint-dir", "where to?"},
        .models = HR_OF_ALL_MODELS),
    ROW("keep", COUNT, keep, AROUND, "N", "3",
        "newest checkpoints to keep; 0: all; N,best=METRIC, or best=METRIC: and the one of the "
        "best evaluation, by such a metric as --early-stop's: best points at it",
        .commands = BOTH | HR_REPLAY, .needs = {"checkpoint-dir", "where to?"},
        .models = HR_OF_ALL_MODELS),
    ROW("keep-best", TEXT, keep_best, AROUND, "best", NULL, "", HR_PART_OF("keep", "="),
        .commands = BOTH | HR_REPLAY, .needs = {"checkpoint-dir", "where to?"},
        .check = hr_check_keep_best, .models = HR_OF_ALL_MODELS),
    ROW("overwrite", FLAG, overwrite, ONCE, NULL, NULL,
        "remove what another run left in --checkpoint-dir, --log and --tensorboard",
        .said = "it is refused", .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("resume", OPTIONAL_TEXT, resume, BEGINS, "[DIR]", NULL,
        "go on from a checkpoint, or the newest good one of a folder (else of --checkpoint-dir), "
        "with its options where none are given; auto: begin where there is none, exit 0 where it "
        "is finished",
        .commands = BOTH | HR_REPLAY, .first = true, .models = HR_OF_ALL_MODELS),
};

static const struct hr_option results[] = {
    ROW("record", TEXT, record, ONCE, "FILE", NULL,
        "write a trace, with which hogring replay gives the same bits again", .written = true,
        .commands = HR_TRAIN),
    ROW("record-block", TEXT, record_block, DECIDES, "BYTES", "16K", "", .commands = HR_LIBRARY),
    ROW("note", TEXT, note, ONCE, "TEXT", NULL,
        "words of your own, which --json keeps beside the run", .models = HR_OF_ALL_MODELS),
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
        "fast, direct (without Winograd's algorithm in 3x3 convolutions), reference "
        "(plain C), or openblas, which multiplies",
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
