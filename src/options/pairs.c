#include "options/pairs.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "hogring/sparse.h"
#include "base/printable.h"
#include "base/text.h"
#include "compress/compress.h"
#include "netsim/inject.h"
#include "options/budget.h"
#include "options/choices.h"
#include "options/train_options.h"
#include "pipeline/schedule.h"

/* --- the table ---
 * The table of what does not go together: features, then pairs (pairs.h says what a row is). */

/* --- questions that more than one feature asks --- */

#define IS(field, value) (!strcmp(o->field, value))

static bool injects(const struct hr_train_options *o, enum hr_inject_kind kind)
{
    struct hr_inject inject;
    return o->inject[0] &&
           hr_inject_parse("", o->inject, o->workers, o->servers, &inject) == HR_OK &&
           hr_inject_has(&inject, kind);
}

/* A pipeline that never drains. */
static bool is_stale(const struct hr_train_options *o)
{
    const struct hr_pipeline_schedule *schedule;
    return o->pipeline && hr_pipeline_schedule_find(o->pipeline_schedule, &schedule) == HR_OK &&
           !schedule->synchronous;
}

/* Ranks that share layers; a replay computes their shards in one. */
static bool is_split(const struct hr_train_options *o)
{
    return o->tensor_parallel > 1 || o->tensor_shards > 1;
}

static bool is_factors(const struct hr_train_options *o)
{
    struct hr_compress how;
    return hr_compress_parse(o->compress, &how) == HR_OK && hr_compress_is_factors(&how);
}

static const struct hr_algorithm *algorithm_of(const struct hr_train_options *o)
{
    const struct hr_algorithm *algorithm;
    return hr_algorithm_find(o->algorithm, &algorithm) == HR_OK ? algorithm : NULL;
}

/* Packets go to the owners of sums at once in direct alone, which auto is here. */
static bool is_direct(const struct hr_train_options *o)
{
    const struct hr_algorithm *algorithm = algorithm_of(o);
    return !algorithm || algorithm == &hr_allreduce_direct || algorithm == &hr_allreduce_auto;
}

static bool adds_in_tree(const struct hr_train_options *o)
{
    const struct hr_algorithm *algorithm = algorithm_of(o);
    return !algorithm || algorithm == &hr_allreduce_auto || algorithm->tree_order;
}

static bool rule_has_norms(const struct hr_train_options *o)
{
    const struct hr_rule *rule;
    return !o->update_rule && hr_rule_find(o->optimizer, &rule) == HR_OK && rule->ratio;
}

static bool is_timed(const struct hr_train_options *o)
{
    struct hr_budget budget;
    return hr_budget_parse(o->budget, &budget) && budget.unit == HR_BUDGET_SECONDS;
}

/* Does it add up gradients among workers, without servers? */
static bool sums(const struct hr_strategy *s)
{
    return s && hr_strategy_adds(s) && !hr_strategy_is_served(s) && !hr_strategy_shares_weights(s);
}

static bool is_served(const struct hr_strategy *s)
{
    return s && hr_strategy_is_served(s);
}

/* --- features --- */

/* F(tag, name, option, example, question about r->options (o), r->strategy (s), and r) */
#define FEATURES(F)                                                                                \
    F(VIRTUAL, "--clock virtual", "clock", "--clock virtual", IS(clock, "virtual"))                \
    F(EXPLORED, "--clock explore:SEED", "schedule", "--clock explore:1", !IS(schedule, "free"))    \
    F(REAL, "in real time", NULL, "", !r->serial)                                                  \
    F(MACHINES, "on several machines", NULL, "", r->machines)                                      \
    F(FORECAST, "in a forecast", NULL, "", r->forecast)                                            \
    F(SPARSE, "--model logistic, svm, linear, mf", "model", "--model svm", r->sparse)              \
    F(MF, "--model mf", "model", "--model mf", IS(model, "mf"))                                    \
    F(LINEAR, "--model linear", "model", "--model linear", IS(model, "linear"))                    \
    F(DUAL, "--solver dual", "solver", "--model svm --solver dual",                                \
      r->sparse && (IS(solver, "dual") || (IS(solver, "auto") && !IS(model, "mf"))))               \
    F(SERVED, "a strategy with servers", "strategy", "--strategy ps-sync", is_served(s))           \
    F(IN_STEP, "a strategy with servers that add", "strategy", "--strategy ps-sync",               \
      is_served(s) && s->synchronous)                                                              \
    F(UNSERVED, "a strategy without servers", "strategy", "", s && !hr_strategy_is_served(s))      \
    F(SUMS, "a strategy that all-reduces", "strategy", "", sums(s))                                \
    F(NOT_ALLREDUCE, "any strategy but allreduce", "strategy", "--strategy ps-sync",               \
      s && !hr_strategy_is_everywhere(s))                                                          \
    F(NO_SUMS, "a strategy without all-reduce", "strategy", "--strategy ps-sync",                  \
      s && !hr_strategy_obeys(s, "algorithm"))                                                     \
    F(OWN_STATE, "a strategy of own updates", "strategy", "--strategy local-sgd",                  \
      s && !hr_strategy_adds(s))                                                                   \
    F(AVERAGES, "a strategy that averages weights", "strategy", "--strategy local-sgd",            \
      s && s->synchronous && s->rows.state == HR_KEPT_OWN)                                         \
    F(ASYNC, "an asynchronous strategy", "strategy", "--strategy ps-async", s && !s->synchronous)  \
    F(SHARED, "--strategy hogwild", "strategy", "--strategy hogwild",                              \
      s &&hr_strategy_shares_weights(s))                                                           \
    F(GOSSIP, "--strategy gossip", "strategy", "--strategy gossip --workers 4",                    \
      s && s->rows.weights == HR_KEPT_MEAN)                                                        \
    F(ONE_SHARD, "--strategy backup-workers", "strategy", "--strategy backup-workers",             \
      s && s->one_shard)                                                                           \
    F(INPUTS, "a strategy that goes on at once", "strategy", "--strategy ps-async",                \
      s && !s->synchronous && !IS(placement, "colocated"))                                         \
    F(WORKERS, "--workers 2 or more", "workers", "--workers 2", o->workers > 1)                    \
    F(ONE_WORKER, "--workers 1", "workers", "--workers 1", o->workers == 1)                        \
    F(SERVERS, "--servers 2 or more", "servers", "--strategy ps-sync --servers 2",                 \
      is_served(s) && o->servers > 1)                                                              \
    F(COLOCATED, "--placement colocated", "placement", "--strategy ps-sync --placement colocated", \
      is_served(s) && IS(placement, "colocated"))                                                  \
    F(PROCESS, "--launch process", "launch", "--launch process", IS(launch, "process"))            \
    F(ON_LOSS, "--on-loss continue or restart", "on-loss", "--on-loss continue",                   \
      !IS(on_loss, "stop"))                                                                        \
    F(RESTART, "--on-loss restart", "on-loss", "--on-loss restart", IS(on_loss, "restart"))        \
    F(PREFETCH, "--prefetch N", "prefetch", "--prefetch 2", o->prefetch > 0)                       \
    F(CALIBRATE, "--calibrate FILE", "calibrate", "--calibrate model.ini", o->calibrate[0])        \
    F(RECORD, "--record FILE", "record", "--record run.trace", o->record[0])                       \
    F(DIGESTS, "--json digests=N", "digest-every", "--json digests=5", o->digest_every > 0)        \
    F(SAVES, "--checkpoint-dir DIR", "checkpoint-dir", "--checkpoint-dir saved",                   \
      o->checkpoint_dir[0])                                                                        \
    F(ORDERED, "an asynchronous run in real time", "strategy", "--strategy ps-async",              \
      s && !hr_train_repeats(o))                                                                   \
    F(EVERY_STEPS, "--checkpoint-every STEPS", "checkpoint-every",                                 \
      "--checkpoint-dir saved --checkpoint-every 5",                                               \
      o->checkpoint_dir[0] && o->checkpoint_every.steps)                                           \
    F(RESUME, "--resume", "resume", "--resume saved", o->resume[0])                                \
    F(COMPRESS, "--compress HOW", "compress", "--compress int8",                                   \
      o->compress[0] && o->workers > 1 && s && hr_strategy_obeys(s, "compress"))                   \
    F(FACTORS, "--compress powersgd", "compress", "--compress powersgd:2",                         \
      is_factors(o) && o->workers > 1 && s && hr_strategy_obeys(s, "compress"))                    \
    F(PACKETS, "--compress, not powersgd", "compress", "--compress int8",                          \
      o->compress[0] && !is_factors(o) && o->workers > 1 && s && hr_strategy_obeys(s, "compress")) \
    F(INDIRECT, "--algorithm, not direct", "algorithm", "--algorithm ring", !is_direct(o))         \
    F(UNTREED, "--algorithm ring", "algorithm", "--algorithm ring", !adds_in_tree(o))              \
    F(REPRO, "--reduce repro", "reduce", "--reduce repro --global-batch-size 64",                  \
      IS(reduce, "repro"))                                                                         \
    F(SCALED, "--scale-lr, without a base", "scale-lr", "--scale-lr linear",                       \
      !IS(scale_lr, "none") && !o->base_batch_size)                                                \
    F(ACCUMULATE, "--accumulate N", "accumulate", "--accumulate 2", o->accumulate > 1)             \
    F(OVERLAP, "--overlap on", "overlap", "--overlap on", IS(overlap, "on"))                       \
    F(COPY, "--transport copy", "transport", "--transport copy", IS(transport, "copy"))            \
    F(ZERO_COPY, "--transport zero-copy", "transport", "--transport zero-copy",                    \
      IS(transport, "zero-copy"))                                                                  \
    F(LINK, "--link", "link", "--link 1GB/s,5us", o->link[0])                                      \
    F(TOPOLOGY, "--topology", "topology", "--topology star:8", o->topology[0])                     \
    F(SERVER_TIME, "--servers time=MODEL", "server-time", "--servers time=1ms", o->server_time[0]) \
    F(COMPUTE_TIME, "--compute-time", "compute-time", "--compute-time 5ms", o->compute_time[0])    \
    F(INJECT, "--inject", "inject", "--inject slow:0x2", o->inject[0])                             \
    F(TIMED, "--inject slow, stall, load", "inject", "--inject slow:0x2",                          \
      o->inject[0] && hr_inject_timed(o->inject))                                                  \
    F(DRAWN, "--inject kill:any, stall:any", "inject", "--inject kill:any@p=0.01",                 \
      o->inject[0] && hr_inject_explored(o->inject))                                               \
    F(FREE, "--clock real, virtual", "clock", "", IS(schedule, "free"))                            \
    F(DROP_PUSH, "--inject drop-push", "inject", "--inject drop-push:p=0.01",                      \
      injects(o, HR_INJECT_DROP_PUSH))                                                             \
    F(KILL_SERVER, "--inject kill:server", "inject", "--inject kill:server:0@step=5",              \
      injects(o, HR_INJECT_KILL_SERVER))                                                           \
    F(WRONG, "--inject nan, flip-bit", "inject", "--inject nan:0@step=5",                          \
      injects(o, HR_INJECT_NAN) || injects(o, HR_INJECT_FLIP_BIT))                                 \
    F(SLOW_STAGE, "--inject slow:stage", "inject", "--inject slow:stage:0:0x2",                    \
      injects(o, HR_INJECT_SLOW_STAGE))                                                            \
    F(PIPELINE, "--pipeline K", "pipeline", "--pipeline 2", o->pipeline > 0)                       \
    F(UNPIPED, "without --pipeline", NULL, "", !o->pipeline)                                       \
    F(TENSOR, "--tensor-parallel T", "tensor-parallel", "--tensor-parallel 2",                     \
      o->tensor_parallel > 1)                                                                      \
    F(SHARDS, "--tensor-parallel T:S", "tensor-shards", "--tensor-parallel 1:2",                   \
      o->tensor_shards > 1)                                                                        \
    F(ONE_STAGE, "in a single stage", NULL, "--pipeline 1,micro-batches=2",                        \
      o->pipeline < 2 && (o->pipeline || is_split(o) || o->micro_batches > 1))                     \
    F(STALE, "--pipeline schedule=pipedream", "pipeline-schedule",                                 \
      "--pipeline 2,schedule=pipedream --workers 1", is_stale(o))                                  \
    F(UNSTASHED, "--pipeline schedule=unstashed", "pipeline-schedule",                             \
      "--pipeline 2,schedule=unstashed --workers 1",                                               \
      o->pipeline &&IS(pipeline_schedule, "unstashed"))                                            \
    F(MICRO_BATCHES, "--pipeline micro-batches=M", "micro-batches",                                \
      "--pipeline 2,micro-batches=2", o->micro_batches > 0)                                        \
    F(RECOMPUTE, "--pipeline K,recompute", "recompute", "--pipeline 2,recompute", o->recompute)    \
    F(CLIP, "--clip-norm X", "clip-norm", "--clip-norm 1", o->clip_norm > 0)                       \
    F(TRUST, "--optimizer lars, lamb", "optimizer", "--optimizer lars", rule_has_norms(o))         \
    F(FALLS, "--lr-schedule cosine, linear", "lr-schedule", "--lr-schedule cosine",                \
      IS(lr_schedule, "cosine") || IS(lr_schedule, "linear"))                                      \
    F(SECONDS, "--budget SECONDS", "budget", "--budget 60s", is_timed(o))                          \
    F(BUDGET, "--budget", "budget", "--budget 60s", o->budget[0])                                  \
    F(EPOCHS, "--epochs N", "epochs", "--epochs 3", o->epochs > 0)                                 \
    F(BATCH, "--batch-size N", "batch-size", "--batch-size 16", o->batch_size > 0)                 \
    F(GLOBAL_BATCH, "--global-batch-size N", "global-batch-size", "--global-batch-size 64",        \
      o->global_batch_size > 0)                                                                    \
    F(ADAPTIVE, "--strategy local-sgd:adaptive", "adaptive-sync", "--strategy local-sgd:adaptive", \
      o->adaptive_sync)                                                                            \
    F(EACH_STEP, "--sync-every 1", "sync-every", "--sync-every 1", o->sync_every == 1)             \
    F(REGRESS, "--task regress", "task", "--task regress", hr_task_is_regress(o))                  \
    F(CLASSES, "--task classify or auto", "task", "", !hr_task_is_regress(o) && !IS(model, "mf"))  \
    F(CLASSIFY, "--task classify", "task", "--task classify", IS(task, "classify"))                \
    F(LOSS_OF_CLASSES, "--loss cross-entropy, bce", "loss", "--loss bce",                          \
      IS(loss, "cross-entropy") || IS(loss, "bce"))                                                \
    F(HUBER, "--loss huber", "loss", "--loss huber", IS(loss, "huber"))                            \
    F(NO_ENTROPY, "--loss bce, mse, huber", "loss", "--loss bce",                                  \
      !IS(loss, "cross-entropy") && !IS(loss, "auto"))                                             \
    F(SMOOTHING, "--loss cross-entropy:S", "label-smoothing", "--loss cross-entropy:0.1",          \
      o->label_smoothing > 0)                                                                      \
    F(CLASS_WEIGHTS, "--class-weights", "class-weights", "--class-weights balanced",               \
      o->class_weights[0])                                                                         \
    F(TO_ACCURACY, "--time-to accuracy=X", "target-accuracy", "--time-to accuracy=0.9",            \
      o->target_accuracy > 0)                                                                      \
    F(TO_RMSE, "--time-to rmse=X", "target-rmse", "--time-to rmse=0.5", o->target_rmse > 0)        \
    F(TO_LOSS, "--time-to loss=X", "target-loss", "--time-to loss=0.5", o->target_loss > 0)        \
    F(INIT, "--init-weights FILE", "init-weights", "--init-weights w.safetensors",                 \
      o->init_weights[0])                                                                          \
    F(EARLY_STOP, "--early-stop", "early-stop", "--early-stop loss,3", o->early_stop[0])           \
    F(HOT_COPIES, "--solver sgd:N", "hot-copies", "--model svm --solver sgd:8",                    \
      r->sparse && o->hot_copies > 0)                                                              \
    F(TIMELINE, "--timeline FILE", "timeline", "--timeline t.json", r->cli && r->cli->timeline[0]) \
    F(CONCURRENT, "--concurrent", "concurrent", "--concurrent", r->cli && r->cli->concurrent)      \
    F(ORDERS, "--orders N", "orders", "--orders 2", r->cli && r->cli->orders > 1)                  \
    F(TUNE, "--tune", "tune", "--tune lr=0.1,0.2", r->cli && r->cli->tune[0])

#define TAG(tag, ...) HAS_##tag,
#define ASK(tag, name, option, example, question)                                                  \
    static bool is_##tag(const struct hr_pair_run *r)                                              \
    {                                                                                              \
        const struct hr_train_options *o = r->options;                                             \
        const struct hr_strategy *s = r->strategy;                                                 \
        (void)o, (void)s;                                                                          \
        return question;                                                                           \
    }
#define ROW(tag, name, option, example, question) {name, option, example, is_##tag},

enum { HAS_NOTHING, FEATURES(TAG) HAS_END };
FEATURES(ASK)

const struct hr_feature hr_features[] = {{0}, FEATURES(ROW)};
const size_t hr_nfeatures = sizeof hr_features / sizeof *hr_features;

/* --- pairs --- */

#define PAIR(one, other, type, reason, ...)                                                        \
    {                                                                                              \
        .a = HAS_##one, .b = HAS_##other, .kind = HR_PAIR_##type, .why = reason,                   \
        .instead = __VA_ARGS__                                                                     \
    }
#define WHERE(...) .where = {__VA_ARGS__}

#define NO_FORECAST "nothing in a forecast stands for what it does to the time of a step"

const struct hr_feature_pair hr_pairs[] = {
    /* Clocks and schedules. */
    PAIR(VIRTUAL, MACHINES, SENSE, "one process runs all ranks", "--clock real, or no mpirun"),
    PAIR(EXPLORED, MACHINES, SENSE, "one process runs all ranks", "--clock real, or no mpirun"),
    PAIR(VIRTUAL, SPARSE, WORK,
         "its steps wait for the memory that workers share, and virtual time is of gradients and "
         "messages alone",
         "--clock real"),
    PAIR(PROCESS, MACHINES, SENSE, "there each has one process, whose threads are the ranks",
         "--launch thread"),
    PAIR(SPARSE, MACHINES, WORK, "not there yet", "it on one"),
    PAIR(TOPOLOGY, REAL, SENSE, "its links are simulated", "--clock virtual too"),
    PAIR(SERVER_TIME, REAL, SENSE, "there servers take as long as they take",
         "--clock virtual too"),
    PAIR(LINK, MACHINES, SENSE, "the links between machines are real ones", "no mpirun"),
    PAIR(TOPOLOGY, MACHINES, SENSE, "the links between machines are real ones", "no mpirun"),
    PAIR(LINK, NO_SUMS, WORK,
         "real links are emulated in the rings of an all-reduce, which allreduce alone has",
         "--clock virtual (but for hogwild), or --strategy allreduce", WHERE(HAS_REAL),
         .given = true),
    PAIR(LINK, ZERO_COPY, SENSE, "real links are emulated where gradients travel through rings",
         "--transport copy, or auto", WHERE(HAS_REAL, HAS_WORKERS)),
    PAIR(LINK, PIPELINE, WORK, "links between stages are there in virtual time alone",
         "--clock virtual too", WHERE(HAS_REAL)),
    PAIR(LINK, TENSOR, WORK, "links between ranks of a worker are there in virtual time alone",
         "--clock virtual too", WHERE(HAS_REAL)),
    PAIR(LINK, SHARDS, WORK, "links between ranks of a worker are there in virtual time alone",
         "--clock virtual too", WHERE(HAS_REAL)),
    PAIR(COPY, NO_SUMS, SENSE, "gradients travel through the rings of an all-reduce",
         "--strategy allreduce"),
    PAIR(CALIBRATE, VIRTUAL, SENSE, "what is measured is real time", "--clock real"),
    PAIR(CALIBRATE, EXPLORED, SENSE, "what is measured is real time", "--clock real"),
    PAIR(CALIBRATE, COLOCATED, WORK, "a server that waits for its worker cannot be timed",
         "--placement dedicated"),
    PAIR(CALIBRATE, SERVED, WORK, "not there yet", "it on one machine", WHERE(HAS_MACHINES)),

    /* Trouble on purpose. */
    PAIR(TIMED, EXPLORED, SENSE, "nothing takes time there", "--clock real"),
    PAIR(DRAWN, FREE, SENSE, "no events are drawn there", "--clock explore:SEED"),
    PAIR(DROP_PUSH, UNSERVED, SENSE, "nobody pushes to servers",
         "a strategy that does (hogring help strategies)"),
    PAIR(DROP_PUSH, MACHINES, WORK, "not there yet", "it on one"),
    PAIR(KILL_SERVER, COLOCATED, SENSE, "a server dies with its worker",
         "kill:W, or --placement dedicated"),
    PAIR(WRONG, STALE, WORK,
         "nan and flip-bit are of whole gradients and weights, which its stages have no more",
         "--clock virtual", WHERE(HAS_REAL)),
    PAIR(SLOW_STAGE, UNPIPED, SENSE, "a worker has no stages", "--pipeline K too"),
    PAIR(SLOW_STAGE, REAL, WORK, "stages have times in virtual time alone", "--clock virtual too"),

    /* Losses. */
    PAIR(ON_LOSS, COLOCATED, WORK, "a server would be lost with its machine", "one of them",
         WHERE(HAS_MACHINES)),
    PAIR(ON_LOSS, COLOCATED, WORK, "a worker without a place in a step would not serve",
         "one of them", WHERE(HAS_REPRO)),
    PAIR(ON_LOSS, TENSOR, WORK, "a rank that is lost leaves others in the middle of a layer",
         "--clock virtual, or --clock explore:SEED", WHERE(HAS_REAL)),
    PAIR(ON_LOSS, STALE, WORK, "its stages keep weights of their own",
         "a schedule that drains, as 1f1b"),
    PAIR(RESTART, MACHINES, SENSE, "nobody but the launcher can start a process on another one",
         "continue, or stop and --resume"),
    PAIR(ON_LOSS, PIPELINE, WORK, "not there yet", "stop", WHERE(HAS_MACHINES)),
    PAIR(ON_LOSS, TENSOR, WORK, "not there yet", "stop", WHERE(HAS_MACHINES)),
    PAIR(ON_LOSS, REPRO, WORK, "not there yet", "stop", WHERE(HAS_MACHINES)),
    PAIR(ON_LOSS, RECORD, WORK, "not there yet", "one of them", WHERE(HAS_MACHINES)),

    /* Records. */
    PAIR(RECORD, SHARED, WORK,
         "a trace is replayed on one machine, which has one copy of the weights", "it without",
         WHERE(HAS_MACHINES)),
    PAIR(RECORD, PROCESS, WORK, "a process of hogwild may be lost in the middle of a push",
         "--launch thread, or --on-loss stop", WHERE(HAS_ON_LOSS, HAS_SHARED)),
    PAIR(DIGESTS, SAVES, SENSE, "checkpoints say themselves where all rest", "one of them",
         .given = true),
    PAIR(DIGESTS, PACKETS, WORK,
         "workers end their gradients where all rest, so that no error is lost, and bits change",
         "one of them", WHERE(HAS_ASYNC), .given = true),
    PAIR(DIGESTS, ON_LOSS, WORK, "a lost batch is handed out again where all rest, and bits change",
         "one of them", WHERE(HAS_SHARED), .given = true),
    PAIR(DIGESTS, ORDERED, SENSE, "its bits are not reproducible in real time",
         "--clock virtual, or --clock explore:SEED", .given = true),
    PAIR(DIGESTS, STALE, SENSE, "it is empty only at the ends of epochs",
         "a schedule that drains, as 1f1b", .given = true),

    /* Sums. */
    PAIR(REPRO, AVERAGES, SENSE, "it averages weights, of as many replicas as there are workers",
         "a strategy that adds up gradients: allreduce, ps-sync, or ssp with --staleness 0"),
    PAIR(REPRO, ASYNC, SENSE, "it applies gradients as they come",
         "a strategy that adds them up: allreduce, ps-sync, or ssp with --staleness 0"),
    PAIR(REPRO, UNTREED, SENSE, "it adds in another order for each number of workers",
         "direct, tree, master-worker, halving-doubling or hierarchical", WHERE(HAS_SUMS)),
    PAIR(REPRO, STALE, SENSE, "it makes an update of each minibatch, at one time one of several",
         "a schedule that adds up a batch, as 1f1b"),
    PAIR(SCALED, REPRO, SENSE, "the rate must not depend on the number of workers",
         "--scale-lr linear:N"),
    PAIR(COMPRESS, ON_LOSS, WORK, "the error that a lost worker keeps is lost with it",
         "stop, or a strategy whose workers all go back to the last cut", WHERE(HAS_INPUTS)),
    PAIR(COMPRESS, ON_LOSS, WORK, "errors stay where their workers are", "stop",
         WHERE(HAS_MACHINES)),
    PAIR(COMPRESS, REPRO, SENSE, "what is rounded depends on how many workers there are",
         "--reduce sum"),
    PAIR(COMPRESS, OVERLAP, WORK, "a gradient is compressed as a whole", "--overlap off"),
    PAIR(FACTORS, SERVED, SENSE,
         "its factors are sums over all workers, which push to servers one by one",
         "allreduce, or another compressor"),
    PAIR(FACTORS, GOSSIP, SENSE,
         "its factors are sums over all workers, and each has neighbours alone",
         "allreduce, or another compressor"),
    PAIR(PACKETS, INDIRECT, SENSE,
         "packets go to the owners of the sums at once, as in direct, or each partial sum would be "
         "rounded again",
         "auto or direct", WHERE(HAS_SUMS)),
    PAIR(OVERLAP, OWN_STATE, SENSE, "its workers hand in no gradient",
         "allreduce, ps-sync, ps-async, ssp or backup-workers"),
    PAIR(OVERLAP, REPRO, SENSE, "no gradient is final before the last micro-shard",
         "--overlap off"),
    PAIR(OVERLAP, PIPELINE, WORK, "a worker pushes when all of its stages are through",
         "it without --pipeline, or allreduce", WHERE(HAS_SERVED)),
    PAIR(OVERLAP, SUMS, WORK, "sums begin there when all gradients are whole",
         "--clock real, or servers", WHERE(HAS_VIRTUAL), .given = true),
    PAIR(OVERLAP, ONE_STAGE, SENSE, "its gradients are whole all at once",
         "--pipeline 2, or --overlap off"),
    PAIR(OVERLAP, STALE, SENSE, "its stages make their own updates", "--overlap off"),
    PAIR(ACCUMULATE, OVERLAP, WORK, "a gradient is whole with its last minibatch", "--overlap off"),
    PAIR(ACCUMULATE, PIPELINE, SENSE,
         "micro-batches says how many pieces a gradient is added up from",
         "--pipeline K,micro-batches=M"),

    /* Pipelines that never drain. */
    PAIR(MICRO_BATCHES, STALE, SENSE,
         "it makes an update of each minibatch, which no other waits for", "it without"),
    PAIR(STALE, WORKERS, WORK, "its stages update their own weights, which no other replica has",
         "--workers 1 and --strategy allreduce, or --clock virtual", WHERE(HAS_REAL)),
    PAIR(STALE, NOT_ALLREDUCE, WORK,
         "its stages update their own weights, which no other replica has",
         "--workers 1 and --strategy allreduce, or --clock virtual", WHERE(HAS_REAL)),
    PAIR(STALE, TENSOR, WORK, "a stage that updates its own weights is one rank", "--clock virtual",
         WHERE(HAS_REAL)),
    PAIR(STALE, CLIP, WORK, "a stage that updates its own weights has no norms of the whole model",
         "it without, or --clock virtual", WHERE(HAS_REAL)),
    PAIR(STALE, TRUST, WORK, "a stage that updates its own weights has no norms of the whole model",
         "another --optimizer, or --clock virtual", WHERE(HAS_REAL)),
    PAIR(RECOMPUTE, UNSTASHED, SENSE, "it keeps no weights of a forward to compute it again with",
         "it without, or pipedream"),
    PAIR(PREFETCH, STALE, WORK, "its minibatches overlap", "it without", WHERE(HAS_REAL)),
    PAIR(CALIBRATE, STALE, WORK, "its minibatches overlap", "it without", WHERE(HAS_REAL)),
    PAIR(EVERY_STEPS, STALE, SENSE, "it is empty only at the ends of epochs, and is saved there",
         "epochs, as 1epochs"),

    /* Updates and lengths. */
    PAIR(CLIP, SERVERS, WORK, "a server sees only its slice of gradients of other machines",
         "--servers 1", WHERE(HAS_IN_STEP, HAS_MACHINES)),
    PAIR(SERVERS, ONE_SHARD, SENSE, "one server decides whose gradients are too late",
         "--servers 1"),
    PAIR(FALLS, SECONDS, SENSE,
         "it falls to the end of the run, and nobody knows which epoch that ends in",
         "a budget in samples or updates, or --lr-schedule constant or step"),
    PAIR(EPOCHS, BUDGET, SENSE, "both say the run's length", "one of the two", .given = true),
    PAIR(BATCH, GLOBAL_BATCH, SENSE, "which says the same of all workers", "one of the two",
         .given = true),
    PAIR(ADAPTIVE, EACH_STEP, SENSE, "it shortens periods, and none is shorter than 1",
         "longer ones", .given = true),

    /* Classes and values. */
    PAIR(LOSS_OF_CLASSES, REGRESS, SENSE, "it is of classes", "mse or huber"),
    PAIR(HUBER, CLASSES, SENSE, "it is of values", "it with --task regress"),
    PAIR(SMOOTHING, REGRESS, SENSE, "it is of classes", "it without"),
    PAIR(SMOOTHING, NO_ENTROPY, SENSE, "it is of cross-entropy", "it without", WHERE(HAS_CLASSES)),
    PAIR(CLASS_WEIGHTS, REGRESS, SENSE, "they are of classes", "it without"),
    PAIR(TO_ACCURACY, REGRESS, SENSE, "it is of classes", "--time-to rmse=X"),
    PAIR(TO_RMSE, CLASSES, SENSE, "it is of values", "it with --task regress"),
    PAIR(TO_LOSS, TO_ACCURACY, SENSE, "one target is noted", "one of the two"),
    PAIR(TO_LOSS, TO_RMSE, SENSE, "one target is noted", "one of the two"),
    PAIR(TO_ACCURACY, MF, SENSE, "it predicts numbers, and has no accuracy", "--time-to rmse=X"),
    PAIR(CLASSIFY, LINEAR, SENSE, "it predicts values", "logistic or svm, which predict classes"),

    /* Sparse models. */
    PAIR(DUAL, MF, SENSE, "it has no dual", "sgd"),
    PAIR(INIT, DUAL, SENSE, "its weights follow from its own variables", "--solver sgd"),
    PAIR(EARLY_STOP, DUAL, SENSE,
         "its weights follow from its own variables, and could not go on from the best ones",
         "--solver sgd, or --keep best=METRIC"),
    PAIR(HOT_COPIES, ONE_WORKER, SENSE, "it has the weights to itself", "several workers",
         .given = true),

    /* Commands. */
    PAIR(TIMELINE, EXPLORED, SENSE, "it has no clock", "--clock real"),
    PAIR(TIMELINE, CONCURRENT, WORK, "runs share processors there", "one of them"),
    PAIR(ORDERS, CONCURRENT, SENSE, "its runs disturb each other's order", "one of them"),
    PAIR(ORDERS, RESUME, SENSE, "a run that goes on has its order", "one of them"),
    PAIR(TUNE, CONCURRENT, SENSE,
         "trials have the processors to themselves, and runs side by side another staleness",
         "one of them", WHERE(HAS_REAL)),
    PAIR(TUNE, RESUME, SENSE, "what goes on has its values", "one of them"),
    PAIR(FORECAST, PIPELINE, WORK, NO_FORECAST, "it without"),
    PAIR(FORECAST, TENSOR, WORK, NO_FORECAST, "it without"),
    PAIR(FORECAST, INJECT, WORK, NO_FORECAST, "it without"),
    PAIR(FORECAST, ACCUMULATE, WORK, NO_FORECAST, "it without"),
    PAIR(FORECAST, ADAPTIVE, WORK, NO_FORECAST, "it without"),
    PAIR(FORECAST, COLOCATED, WORK, NO_FORECAST, "--placement dedicated, or --clock virtual",
         WHERE(HAS_REAL)),
    PAIR(FORECAST, EXPLORED, SENSE, "nothing takes time there", "--clock real"),
    PAIR(FORECAST, LINK, SENSE, "it is of this machine as it is", "--clock virtual",
         WHERE(HAS_REAL)),
    PAIR(FORECAST, COMPUTE_TIME, SENSE, "it is of this machine as it is", "--clock virtual",
         WHERE(HAS_REAL)),
};
const size_t hr_npairs = sizeof hr_pairs / sizeof *hr_pairs;

struct hr_pair_run hr_pair_run_of(const struct hr_train_options *options, const struct hr_cli *cli)
{
    struct hr_pair_run run = {.options = options, .cli = cli};
    run.sparse = hr_sparse_is_model(options->model);
    if (!run.sparse && hr_strategy_find(options->strategy, options->staleness, &run.strategy))
        run.strategy = NULL;
    run.machines = cli && cli->machines > 1;
    const struct hr_choices choice = hr_choices_of(options);
    run.serial = choice.clock == HR_CLOCK_VIRTUAL || choice.explored;
    return run;
}

bool hr_pair_holds(const struct hr_feature_pair *pair, const struct hr_pair_run *run)
{
    const unsigned char features[] = {pair->a, pair->b, pair->where[0], pair->where[1]};
    for (size_t i = 0; i < sizeof features; i++)
        if (features[i] && !hr_features[features[i]].is(run))
            return false;
    return true;
}

/* " with --clock virtual", " in real time"; behind another: " and --strategy hogwild". Of a list of
 * troubles the part is said, and what auto is. */
static void add_feature(char *text, size_t size, const char *before,
                        const struct hr_feature *feature, const struct hr_pair_run *run)
{
    const struct hr_option *row = feature->option ? hr_train_option_find(feature->option) : NULL;
    char value[200] = "";
    if (row && row->kind != HR_OPTION_FLAG)
        hr_option_text(row, run->options, value, sizeof value);
    if (!feature->option || !strcmp(feature->option, "inject") || !strcmp(value, "auto"))
        hr_append(text, size, "%s%s", feature->option ? before : " ", feature->name);
    else if (row && row->parameter)
        hr_append(text, size, "%s%s", before, hr_option_said(row, value).text);
    else
        hr_append(text, size, "%s--%s%s%s", before, feature->option, value[0] ? " " : "",
                  hr_printable(value).text);
}

static enum hr_status refuse_pair(const struct hr_feature_pair *pair, const struct hr_pair_run *run)
{
    char one[300] = "", other[700] = "";
    const struct hr_feature *a = &hr_features[pair->a], *b = &hr_features[pair->b];
    if (!a->option) { /* "--pipeline 2: not in a forecast" */
        a = b;
        b = &hr_features[pair->a];
    }
    add_feature(one, sizeof one, "", a, run);
    add_feature(other, sizeof other, " with ", b, run);
    for (size_t i = 0; i < 2 && pair->where[i]; i++)
        add_feature(other, sizeof other, " and ", &hr_features[pair->where[i]], run);
    return hr_fail(HR_E_USAGE, "%s: not%s: %s; expected %s", one, other, pair->why, pair->instead);
}

enum hr_status hr_pairs_check(const struct hr_pair_run *run)
{
    for (size_t i = 0; i < hr_npairs; i++)
        if (!hr_pairs[i].given && hr_pair_holds(&hr_pairs[i], run))
            return refuse_pair(&hr_pairs[i], run);
    return HR_OK;
}

enum hr_status hr_pairs_check_of(const struct hr_train_options *options, const struct hr_cli *cli)
{
    const struct hr_pair_run run = hr_pair_run_of(options, cli);
    return hr_pairs_check(&run);
}

enum hr_status hr_pairs_check_option(const char *option, const struct hr_pair_run *run)
{
    for (size_t i = 0; i < hr_npairs; i++)
        if (hr_pairs[i].given && !strcmp(hr_features[hr_pairs[i].a].option, option) &&
            hr_pair_holds(&hr_pairs[i], run))
            return refuse_pair(&hr_pairs[i], run);
    return HR_OK;
}

uint64_t hr_digest_every(const struct hr_train_options *o)
{
    const struct hr_pair_run run = hr_pair_run_of(o, NULL);
    return o->digest_every && hr_pairs_check_option("digest-every", &run) == HR_OK ? o->digest_every
                                                                                   : 0;
}

/* --- the page --- */

enum { COLUMNS = 20 }; /* of 80 */

static bool is_in(const struct hr_feature_pair *pair, size_t feature)
{
    return pair->a == feature || pair->b == feature;
}

/* Few columns in which each pair has a place: each time the feature that most of the rest have. */
static size_t choose_columns(unsigned char columns[COLUMNS])
{
    bool placed[UCHAR_MAX] = {false};
    size_t n = 0;
    while (n < COLUMNS) {
        size_t best = 0, most = 0;
        for (size_t f = 1; f < hr_nfeatures; f++) {
            size_t count = 0;
            for (size_t i = 0; i < hr_npairs; i++)
                count += !placed[i] && is_in(&hr_pairs[i], f);
            if (count > most) {
                most = count;
                best = f;
            }
        }
        if (most < 2) /* the list below is enough */
            break;
        columns[n++] = (unsigned char)best;
        for (size_t i = 0; i < hr_npairs; i++)
            placed[i] |= is_in(&hr_pairs[i], best);
    }
    return n;
}

/* Of two features: X and O always, x and o in some runs; a dot: nothing is said of them. */
static char cell(size_t a, size_t b)
{
    char mark = '.';
    for (size_t i = 0; i < hr_npairs; i++) {
        const struct hr_feature_pair *pair = &hr_pairs[i];
        const bool always = !pair->where[0], work = pair->kind == HR_PAIR_WORK;
        if (is_in(pair, a) && is_in(pair, b) && (mark == '.' || always))
            mark = work ? (always ? 'O' : 'o') : (always ? 'X' : 'x');
    }
    return mark;
}

static void write_matrix(FILE *out)
{
    unsigned char columns[COLUMNS];
    const size_t n = choose_columns(columns);
    fprintf(out, "    %36s", "");
    for (size_t c = 0; c < n; c++)
        fprintf(out, " %c", 'a' + (int)c);
    fputc('\n', out);
    for (size_t f = 1; f < hr_nfeatures; f++) {
        char row[2 * COLUMNS + 1] = "", letter = ' ';
        for (size_t c = 0; c < n; c++) {
            const bool own = columns[c] == f;
            letter = own ? (char)('a' + c) : letter;
            snprintf(row + 2 * c, 3, " %c", own ? ' ' : cell(f, columns[c]));
        }
        if (strpbrk(row, "XOxo"))
            fprintf(out, "    %c %-34s%s\n", letter, hr_features[f].name, row);
    }
}

static void write_reasons(FILE *out, enum hr_pair_kind kind)
{
    for (size_t i = 0; i < hr_npairs; i++) {
        const struct hr_feature_pair *pair = &hr_pairs[i];
        const unsigned char others[] = {pair->b, pair->where[0], pair->where[1], 0};
        if (pair->kind != kind)
            continue;
        fprintf(out, "%s ::", hr_features[pair->a].name);
        for (size_t k = 0; others[k]; k++)
            fprintf(out, "%s%s",
                    !hr_features[others[k]].option ? " "
                    : k                            ? " and "
                                                   : " with ",
                    hr_features[others[k]].name);
        fprintf(out, ": %s; %s\n", pair->why, pair->instead);
    }
}

static void write_belongings(FILE *out)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        if (row->needs.option && !hr_option_is_own_part(row))
            fprintf(out, "%s :: with --%s\n", hr_option_name(row).text, row->needs.option);
        if (!row->with[0].option || row->parameter)
            continue;
        fprintf(out, "--%s ::", row->name);
        for (size_t k = 0; k < sizeof row->with / sizeof *row->with && row->with[k].option; k++)
            fprintf(out, "%s with --%s %s", k ? "," : "", row->with[k].option, row->with[k].values);
        fputc('\n', out);
    }
}

void hr_pairs_write(FILE *out)
{
    write_matrix(out);
    fputs("\n# What can mean nothing\n", out);
    write_reasons(out, HR_PAIR_SENSE);
    fputs("\n# What nobody has built\n", out);
    write_reasons(out, HR_PAIR_WORK);
    fputs("\n# What belongs to another option\n", out);
    write_belongings(out);
}
