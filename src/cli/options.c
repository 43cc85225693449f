#include "cli/options.h"

#include <stddef.h>
#include <string.h>

#include "cli/config.h"
#include "cli/options_table.h"
#include "cli/parse.h"

#define FIELD(member) offsetof(struct hr_cli, member), sizeof(((struct hr_cli *)0)->member)
#define BOTH (HR_TRAIN | HR_COMPARE)
#define DATA (BOTH | HR_EVAL | HR_DATA)
#define ALL (DATA | HR_INSPECT | HR_BENCH | HR_REPLAY)

/* A row with an empty name begins a section of --help. */
static const struct hr_option_row rows[] = {
    {"", FLAG, 0, 0, DATA | HR_BENCH | HR_INSPECT | HR_REPLAY, NULL, "Data and model"},
    {"data", TEXT, FIELD(data), DATA | HR_BENCH | HR_REPLAY, "NAME",
     "digits (built in), fashion-mnist, a file of CSV, TSV, libsvm or packed data, or a folder of "
     "IDX, CIFAR or npy files; bytes (uint8) are divided by 255, numbers are taken as they are "
     "(data --help says more) [digits; bench: none]"},
    {"test-data", TEXT, FIELD(data_options.test_data), DATA | HR_REPLAY, "FILE",
     "test samples, in the format of --data (CSV, libsvm)"},
    {"test-fraction", NUMBER, FIELD(data_options.test_fraction), DATA, "X",
     "without them: held out of --data, always the same ones [0.2]"},
    {"header", TEXT, FIELD(data_options.header), DATA, "HOW",
     "CSV: the first line has names: yes, no or auto [auto]"},
    {"label-column", TEXT, FIELD(data_options.label_column), DATA, "COLUMN",
     "CSV: a name, or a number from 1 [label, class, target or y, else the last]"},
    {"index-base", TEXT, FIELD(data_options.index_base), DATA, "BASE",
     "libsvm: the first index is 0, 1 or auto: 0 when there is an index 0 [auto]"},
    {"features", COUNT, FIELD(data_options.feature_count), DATA, "N",
     "libsvm: how many features [the largest index; data make: 47236]"},
    {"classes", TEXT, FIELD(data_options.classes), DATA, "LIST",
     "all there are, in order, for data that lacks some: cat,dog,eel, or how many: 10 (0 to 9) "
     "[those of the data]"},
    {"out", TEXT, FIELD(out), HR_DATA, "FILE", "data pack, data make: write here"},
    {"rows", COUNT, FIELD(shape.rows), HR_DATA, "N", "data make sparse: so many [20242]"},
    {"nonzeros", NUMBER, FIELD(shape.nonzeros), HR_DATA, "N",
     "data make sparse: features of a row, on average [74]"},
    {"exponent", NUMBER, FIELD(shape.exponent), HR_DATA, "S",
     "data make sparse: the k-th most frequent feature is drawn in proportion to k^-S [1]"},
    {"noise", NUMBER, FIELD(shape.noise), HR_DATA, "X",
     "data make sparse: share of the labels that are wrong [0.02]"},
    {"seed", COUNT64, FIELD(shape.seed), HR_DATA, "N",
     "data make sparse: of all random numbers [1]"},
    {"model", TEXT, FIELD(train.model), BOTH | HR_EVAL | HR_BENCH, "LAYERS",
     "softmax, mlp, cnn, lenet, vgg-small, resnet8, or layers: \"flatten, dense 64, relu, dense "
     "10\" "
     "[mlp; eval: what the file says; bench train: all that are built in, or some, as mlp,cnn]; "
     "train: also logistic, svm, mf, on sparse data"},
    {"task", TEXT, FIELD(train.task), BOTH, "WHAT",
     "classify: each label is a class, though labels look like values (numbers that are not whole, "
     "or most of them different); auto: such are refused [auto]"},
    {"loss", TEXT, FIELD(train.loss), BOTH, "NAME", "cross-entropy, bce, mse [cross-entropy]"},
    {"label-smoothing", NUMBER, FIELD(train.label_smoothing), BOTH, "S", "of cross-entropy [0]"},
    {"init-weights", TEXT, FIELD(train.init_weights), BOTH | HR_REPLAY, "FILE",
     "begin with the weights of a .safetensors file, PyTorch's too, or of a checkpoint"},
    {"input", TEXT, FIELD(input), HR_BENCH | HR_INSPECT, "CxHxW",
     "shape of a sample; bench layers and train, without --data: of random numbers [1x28x28]"},
    {"classes", COUNT, FIELD(classes), HR_BENCH | HR_INSPECT, "N",
     "of the labels; bench: of random ones, with --input [10]"},
    {"", FLAG, 0, 0, BOTH | HR_BENCH, NULL, "Workers and how they are kept in step"},
    {"strategy", TEXT, FIELD(train.strategy), HR_TRAIN | HR_BENCH, "NAME",
     "allreduce, ps-sync, ps-async, ssp, hogwild, local-sgd, elastic-averaging, backup-workers "
     "[allreduce]"},
    {"strategies", TEXT, FIELD(strategies), HR_COMPARE, "LIST",
     "what to compare, with settings of their own behind colons: allreduce:algorithm=ring,"
     "ssp:staleness=1; commas and colons of a value in \"\" or (): 'hogwild:inject=\"slow:0x4\"' "
     "[allreduce,ps-sync,ps-async,ssp,hogwild]"},
    {"workers", COUNT, FIELD(train.workers), BOTH | HR_BENCH, "N",
     "1 to 64; in virtual time to 1024, with the servers [processors allowed, at least 2]"},
    {"servers", COUNT, FIELD(train.servers), BOTH | HR_BENCH, "S",
     "shards of the parameter server, each a rank [1]"},
    {"staleness", COUNT64, FIELD(train.staleness), BOTH, "CLOCKS",
     "bound of ssp; 0 is ps-sync [3]"},
    {"staleness-lr", TEXT, FIELD(train.staleness_lr), BOTH, "HOW",
     "ps-async, ssp, hogwild: inverse: an update of staleness t at lr / (1 + t); none [none]"},
    {"delay-compensation", NUMBER, FIELD(train.delay_compensation), BOTH, "LAMBDA",
     "ps-async, ssp, hogwild: carry gradients over to the weights they meet (DC-ASGD) [0]"},
    {"backups", COUNT, FIELD(train.backups), BOTH, "K",
     "backup-workers: the K slowest gradients of a step are not waited for [1]"},
    {"sync-every", COUNT, FIELD(train.sync_every), BOTH, "STEPS",
     "local-sgd: steps between averagings; elastic-averaging: between exchanges with the center "
     "[8]"},
    {"moving-rate", NUMBER, FIELD(train.moving_rate), BOTH, "ALPHA",
     "elastic-averaging: share of the difference that an exchange moves [0.9 / workers]"},
    {"adaptive-sync", FLAG, FIELD(train.adaptive_sync), BOTH, NULL,
     "local-sgd: average ever more often, as the training loss falls (AdaComm)"},
    {"algorithm", TEXT, FIELD(train.algorithm), BOTH | HR_BENCH, "NAME",
     "of all-reduce: auto, direct, one-shot, ring, bidirectional-ring, tree, double-tree, "
     "halving-doubling, master-worker, hierarchical; bench also: all, and bench links: rings "
     "[auto]"},
    {"launch", TEXT, FIELD(train.launch), BOTH | HR_BENCH, "HOW", "thread or process [thread]"},
    {"async-lr", TEXT, FIELD(train.async_lr), BOTH, "HOW",
     "asynchronous updates at the same lr, or divide it by the workers [same]"},
    {"", FLAG, 0, 0, BOTH | HR_BENCH, NULL, "Training"},
    {"epochs", COUNT, FIELD(train.epochs), BOTH, "N",
     "each a pass over the data, or --epoch-size samples [10]"},
    {"epoch-size", COUNT, FIELD(train.epoch_size), BOTH, "N",
     "samples an epoch; passes run on through epochs [the training set]"},
    {"batch-size", COUNT, FIELD(train.batch_size), BOTH | HR_BENCH | HR_INSPECT, "N",
     "samples a worker and step [32]"},
    {"global-batch-size", COUNT, FIELD(train.global_batch_size), BOTH, "N",
     "samples a step of all workers, instead of --batch-size [batch-size times workers]"},
    {"reduce", TEXT, FIELD(train.reduce), BOTH, "HOW",
     "sum, or repro: the same bits whatever the number of workers (1, 2, 4, 8); needs "
     "--global-batch-size [sum]"},
    {"micro-shards", COUNT, FIELD(train.micro_shards), BOTH, "N",
     "pieces that repro cuts a global batch into; at least the workers, a power of two [8]"},
    {"threads-per-worker", COUNT, FIELD(train.threads_per_worker), BOTH | HR_BENCH, "N",
     "threads that share a worker's computing; they change no bit [1]"},
    {"augment", TEXT, FIELD(train.augment), BOTH, "HOW",
     "of training images: flip, crop:PAD (behind PAD zeros), or flip,crop:PAD [none]"},
    {"normalize", FLAG, FIELD(train.normalize), BOTH, NULL, "scale each channel to mean 0, std 1"},
    {"prefetch", COUNT, FIELD(train.prefetch), BOTH, "N",
     "a thread beside each worker decodes up to N batches ahead; 0: none [0]"},
    {"seed", COUNT64, FIELD(train.seed), BOTH, "N", "of initial weights and data order [1]"},
    {"seeds", COUNT, FIELD(seeds), HR_COMPARE, "N", "repeat with seeds seed .. seed + N - 1 [1]"},
    {"concurrent", FLAG, FIELD(concurrent), HR_COMPARE, NULL,
     "all strategies at once, side by side, sharing the processors"},
    {"", FLAG, 0, 0, BOTH, NULL, "How gradients travel (allreduce)"},
    {"overlap", TEXT, FIELD(train.overlap), BOTH, "on|off",
     "sum gradients in buckets while backward still computes the rest [off]"},
    {"bucket-size", TEXT, FIELD(train.bucket_size), BOTH, "BYTES",
     "that a bucket has at least; it ends where a layer does [256K]"},
    {"transport", TEXT, FIELD(train.transport), BOTH, "HOW",
     "zero-copy: peers read gradients in place; copy: they go through the rings [zero-copy]"},
    {"link", TEXT, FIELD(train.link), BOTH, "BANDWIDTH,LATENCY",
     "1GB/s,5us; real clock: a link of its own between any two workers (emulated: transport copy); "
     "virtual: one each, to a switch (a star)"},
    {"", FLAG, 0, 0, BOTH, NULL, "Time and trouble"},
    {"clock", TEXT, FIELD(train.clock), BOTH, "WHICH",
     "real, or virtual: up to 1024 workers whose gradients are computed and whose time is "
     "simulated, the same again bit for bit [real; simulate: virtual]"},
    {"compute-time", TEXT, FIELD(train.compute_time), BOTH, "MODEL",
     "of a gradient: 10ms, uniform(5ms,15ms), exponential(10ms), lognormal(10ms,0.3) (median, "
     "sigma), pareto(10ms,2.5) (minimum, shape), trace:FILE (drawn from a text file of times, one "
     "a "
     "line as 9.8ms, behind # a comment); on the real clock workers sleep until then [virtual: "
     "lognormal(10ms,0.3); real: as it is]"},
    {"inject", TEXT, FIELD(train.inject), BOTH, "LIST",
     "slow:3x2 (worker 3 computes for twice as long), slow:*x3@10% (each, in a tenth of its "
     "steps), "
     "stall:1@step=50+3s, load:0+5ms (each batch of worker 0 comes 5 ms later)"},
    {"server-time", TEXT, FIELD(train.server_time), BOTH, "MODEL",
     "virtual: how long a server takes a message [0s]"},
    {"calibrate", TEXT, FIELD(train.calibrate), HR_TRAIN, "FILE",
     "real: measure how long gradients, servers and messages take, and write a model of this run, "
     "for simulate --config FILE"},
    {"topology", TEXT, FIELD(train.topology), BOTH, "FILE",
     "virtual: who is wired to whom, workers first, then servers; star:N, ring:N of links like "
     "--link [with --link: a star; without: messages take no time]"},
    {"", FLAG, 0, 0, BOTH, NULL, "Updates"},
    {"optimizer", TEXT, FIELD(train.optimizer), BOTH, "NAME",
     "sgd, adagrad, adam, adamw, lars, lamb [sgd]"},
    {"lr", NUMBER, FIELD(train.lr), BOTH, "RATE",
     "learning rate [sgd 0.05, adagrad 0.01, adam and adamw 0.001, lars 1, lamb 0.005]"},
    {"momentum", NUMBER, FIELD(train.momentum), BOTH, "M", "of sgd and lars [0.9]"},
    {"nesterov", FLAG, FIELD(train.nesterov), BOTH, NULL, "sgd: look ahead along the momentum"},
    {"beta1", NUMBER, FIELD(train.beta1), BOTH, "B", "of adam, adamw, lamb: first moment [0.9]"},
    {"beta2", NUMBER, FIELD(train.beta2), BOTH, "B", "of adam, adamw, lamb: second moment [0.999]"},
    {"eps", NUMBER, FIELD(train.eps), BOTH, "E",
     "added to the divisor [adam and adamw 1e-8, adagrad 1e-10, lamb 1e-6]"},
    {"weight-decay", NUMBER, FIELD(train.weight_decay), BOTH, "D",
     "[adamw and lamb 0.01, lars 0.0005, others 0]"},
    {"trust-coefficient", NUMBER, FIELD(train.trust_coefficient), BOTH, "T", "of lars [0.001]"},
    {"clip-norm", NUMBER, FIELD(train.clip_norm), BOTH, "X",
     "scale the mean gradient down where its norm is larger; 0: never [0]"},
    {"lr-schedule", TEXT, FIELD(train.lr_schedule), BOTH, "NAME",
     "constant, step, cosine or linear [constant]"},
    {"warmup-epochs", NUMBER, FIELD(train.warmup_epochs), BOTH, "E",
     "the rate rises over so many epochs [0]"},
    {"lr-step-epochs", NUMBER, FIELD(train.lr_step_epochs), BOTH, "E",
     "schedule step: epochs between steps [1]"},
    {"lr-gamma", NUMBER, FIELD(train.lr_gamma), BOTH, "G",
     "schedule step: each multiplies the rate by this [0.1]"},
    {"scale-lr", TEXT, FIELD(train.scale_lr), BOTH, "HOW",
     "multiply the rate by the samples of one update over --base-batch-size (linear), by their "
     "square root (sqrt), or not (none) [none]"},
    {"base-batch-size", COUNT, FIELD(train.base_batch_size), BOTH, "N",
     "samples that --lr is meant for [the batch size of one worker]"},
    {"", FLAG, 0, 0, HR_TRAIN, NULL,
     "Sparse models (logistic, svm, mf; strategy hogwild or locked)"},
    {"solver", TEXT, FIELD(train.solver), HR_TRAIN, "NAME",
     "sgd, or dual: coordinate descent, which needs no rate (logistic, svm) [dual; mf: sgd]"},
    {"cost", NUMBER, FIELD(train.cost), HR_TRAIN, "C",
     "of the losses; minimised is C sum loss + |w|^2 / 2 [1]"},
    {"factors", COUNT, FIELD(train.factors), HR_TRAIN, "K",
     "mf: numbers that describe a user, or an item; even [16]"},
    {"hot-copies", COUNT, FIELD(train.hot_copies), HR_TRAIN, "N",
     "sgd (logistic, svm; hogwild): weights of the N most frequent features of which each of "
     "several "
     "workers keeps a copy, merged every 64 rows; 0: none, as in the paper [256]"},
    {"", FLAG, 0, 0, ALL, NULL, "Limits"},
    {"max-steps", COUNT64, FIELD(train.max_steps), BOTH | HR_REPLAY, "N",
     "stop after so many updates of the model"},
    {"max-seconds", SECONDS, FIELD(train.max_seconds), BOTH | HR_BENCH, "T",
     "stop after so long: 90s, 5m (bench layers and train: for a model [1s])"},
    {"timeout", DURATION, FIELD(train.timeout), BOTH | HR_BENCH, "T",
     "longest any wait may take; 0: no limit [30s]"},
    {"max-memory", BYTES, FIELD(max_memory), ALL, "SIZE",
     "what the whole run may take, workers and data: 512M, 16G; more is refused before it begins "
     "[what the kernel says is available, and what is left of the control group's limit]"},
    {"", FLAG, 0, 0, BOTH | HR_REPLAY, NULL, "Checkpoints"},
    {"checkpoint-dir", TEXT, FIELD(train.checkpoint_dir), BOTH | HR_REPLAY, "DIR",
     "save here (compare: DIR/<strategy>) at the ends of epochs"},
    {"checkpoint-every", COUNT64, FIELD(train.checkpoint_every), BOTH, "STEPS",
     "and at multiples of STEPS instead"},
    {"keep", COUNT, FIELD(train.keep), BOTH | HR_REPLAY, "N",
     "newest checkpoints to keep; 0: all [3]"},
    {"overwrite", FLAG, FIELD(train.overwrite), BOTH | HR_REPLAY, NULL,
     "remove what another run left in --checkpoint-dir [such a folder is refused]"},
    {"resume", OPTIONAL_TEXT, FIELD(train.resume), BOTH | HR_REPLAY, "[DIR]",
     "go on from a checkpoint, or the newest good one of a folder [--checkpoint-dir], with its "
     "options where none are given; auto: begin where there is none, exit 0 where it is finished"},
    {"", FLAG, 0, 0, ALL, NULL, "Results"},
    {"json", TEXT, FIELD(json), ALL, "FILE",
     "write everything as JSON; - for stdout (help json: fields)"},
    {"record", TEXT, FIELD(train.record), HR_TRAIN, "FILE",
     "write a trace, with which hogring replay gives the same bits again"},
    {"what-if", TEXT, FIELD(what_if), HR_REPLAY, "CHANGE",
     "in virtual time: straggler=none, staleness=N, link=10Gbps, servers=S; several joined by +"},
    {"record-block", TEXT, FIELD(train.record_block), HR_TRAIN, "BYTES",
     "hogwild, recorded: weights that are read or updated at once, 4K to 64K [16K]"},
    {"plot", TEXT, FIELD(plot), BOTH | HR_BENCH | HR_REPLAY, "FILE",
     "draw loss and accuracy (bench: times over sizes; bench layers: the roofline): .svg or .png"},
    {"outputs", TEXT, FIELD(outputs), HR_EVAL, "FILE.npy",
     "write what the last layer gives for each test sample, (samples, outputs) as NumPy reads it"},
    {"expect-accuracy", NUMBER, FIELD(expect_accuracy), BOTH | HR_EVAL | HR_REPLAY, "X",
     "exit 1 when the test accuracy (0 to 1) is less"},
    {"expect-digest", TEXT, FIELD(expect_digest), HR_TRAIN, "D",
     "exit 1 when the weights_digest is another"},
    {"target-accuracy", NUMBER, FIELD(train.target_accuracy), BOTH, "X",
     "note the seconds until it (0 to 1) is reached"},
    {"quiet", FLAG, FIELD(quiet), BOTH | HR_REPLAY, NULL, "no banner, no progress"},
    {"", FLAG, 0, 0, HR_BENCH, NULL, "Measurement"},
    {"ranks", COUNT, FIELD(ranks), HR_BENCH, "N", "ranks that take part [2]"},
    {"sizes", TEXT, FIELD(sizes), HR_BENCH, "LO:HI",
     "bytes, by factors of 4: 4:64M [4:64M; store: 16K:16M, --sweep: 1M]"},
    {"type", TEXT, FIELD(type), HR_BENCH, "TYPE", "float32, float64, int32, int64 [float32]"},
    {"redop", TEXT, FIELD(redop), HR_BENCH, "OP", "sum, product, min, max, mean [sum]"},
    {"group-size", COUNT, FIELD(group_size), HR_BENCH, "N", "ranks a node, of hierarchical [2]"},
    {"transport", TEXT, FIELD(transport), HR_BENCH, "HOW",
     "zero-copy: peers read buffers in place; copy: payload goes through the rings [zero-copy]"},
    {"link", TEXT, FIELD(link), HR_BENCH, "BANDWIDTH,LATENCY",
     "emulate, between any two ranks, a link of its own: 1GB/s,5us (transport copy); store: one "
     "link a server"},
    {"topology", TEXT, FIELD(topology), HR_BENCH, "FILE",
     "emulate a topology's links, as data/topologies/ring-8.txt (transport copy); bench links: "
     "walk them; there also star:N and ring:N, whose links are like --link [16GB/s]"},
    {"buffers", TEXT, FIELD(buffers), HR_BENCH, "WHERE",
     "arena: in shared memory; private: from malloc, as MPI's programs have them [arena]"},
    {"loop", TEXT, FIELD(loop), HR_BENCH, "HOW",
     "barrier before each operation, or back-to-back [barrier]"},
    {"placement", TEXT, FIELD(placement), HR_BENCH, "WHERE",
     "store: servers are dedicated ranks, or colocated in workers; or both, in turn [dedicated]"},
    {"keys", COUNT, FIELD(keys), HR_BENCH, "N",
     "store: equal keys that the bytes are cut into [4]"},
    {"", FLAG, 0, 0, HR_BENCH, NULL, "On paper (bench links)"},
    {"bytes", TEXT, FIELD(bytes), HR_BENCH, "N", "to synchronise: 160MB, 64M [160MB]"},
    {"root", TEXT, FIELD(root), HR_BENCH, "NODE",
     "of master-worker; one that is no gpu is a master without data [the first gpu]"},
    {"emulate", FLAG, FIELD(emulate), HR_BENCH, NULL,
     "links: also run the algorithms, over rings as slow in proportion"},
    {"find-rings", FLAG, FIELD(find_rings), HR_BENCH, NULL,
     "decompose the links between gpus into rings"},
    {"sweep", FLAG, FIELD(sweep), HR_BENCH, NULL,
     "links: 1 to 32 workers with 1 to 8 parameter servers, links like --link; store: all numbers "
     "up to --workers [4] and --servers [2]"},
    {"", FLAG, 0, 0, BOTH | HR_BENCH, NULL, "For tests and experts"},
    {"schedule", TEXT, FIELD(train.schedule), BOTH, "HOW",
     "free, or explore:SEED: one thread plays all ranks in an order drawn from SEED [free]"},
    {"kernels", TEXT, FIELD(train.kernels), BOTH | HR_BENCH, "WHICH",
     "fast (OpenBLAS) or reference (plain C) [fast]"},
    {"config", CONFIG, 0, 0, BOTH, "FILE",
     "read options from FILE, one \"name = value\" a line, as if they stood here"},
    {"help", FLAG, FIELD(help), ALL, NULL, "this text"},
};

enum { NROWS = sizeof rows / sizeof *rows };
_Static_assert((size_t)NROWS <= (size_t)HR_CLI_OPTIONS, "struct hr_cli remembers which were given");

const struct hr_option_row *hr_option_at(size_t i)
{
    return i < NROWS ? &rows[i] : NULL;
}

void hr_cli_defaults(struct hr_cli *cli)
{
    *cli = (struct hr_cli){
        .data = "digits",
        .strategies = "allreduce,ps-sync,ps-async,ssp,hogwild",
        .seeds = 1,
        .ranks = 2,
        .sizes = "4:64M",
        .bytes = "160MB",
        .input = "1x28x28",
        .classes = 10,
        .transport = "zero-copy",
        .type = "float32",
        .redop = "sum",
        .buffers = "arena",
        .loop = "barrier",
        .placement = "dedicated",
        .keys = 4,
    };
    hr_train_defaults(&cli->train);
    hr_data_defaults(&cli->data_options);
    hr_sparse_shape_defaults(&cli->shape);
}

static const struct hr_option_row *find_row(const char *name, unsigned command)
{
    for (size_t i = 0; i < NROWS; i++)
        if (rows[i].name[0] && !strcmp(rows[i].name, name) && (rows[i].commands & command))
            return &rows[i];
    return NULL;
}

enum hr_status hr_option_unknown(const char *name, unsigned command, const char *where)
{
    const char *names[NROWS];
    size_t n = 0;
    for (size_t i = 0; i < NROWS; i++)
        if (rows[i].name[0] && (rows[i].commands & command))
            names[n++] = rows[i].name;
    const char *near = hr_nearest(name, names, n);
    if (near)
        return hr_fail(HR_E_USAGE, "%s--%s: no such option here; did you mean --%s?", where, name,
                       near);
    return hr_fail(HR_E_USAGE, "%s--%s: no such option here (--help lists them)", where, name);
}

enum hr_status hr_cli_set(struct hr_cli *cli, enum hr_command_bit command, const char *name,
                          const char *value, const char *where)
{
    const struct hr_option_row *row = find_row(name, command);
    if (!row)
        return hr_option_unknown(name, command, where);
    if (row->kind == CONFIG)
        return where[0] ? hr_fail(HR_E_USAGE, "%s--config: not inside a configuration file", where)
                        : hr_config_read(cli, command, value);
    if (!hr_option_store(cli, row, value))
        return hr_fail(HR_E_USAGE, "%s--%s %s: expected %s", where, name, value,
                       hr_option_expected(row->kind));
    cli->given[row - rows] = true;
    return HR_OK;
}

bool hr_cli_was_given(const struct hr_cli *cli, const char *name)
{
    for (size_t i = 0; i < NROWS; i++)
        if (!strcmp(rows[i].name, name) && cli->given[i])
            return true;
    return false;
}

void hr_cli_mark_given(struct hr_cli *cli, const char *name)
{
    for (size_t i = 0; i < NROWS; i++)
        cli->given[i] |= !strcmp(rows[i].name, name);
}
