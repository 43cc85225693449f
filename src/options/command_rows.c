/* The options of commands that are none of training or of reading data: a row each. */
#include "options/train_options.h"
#include "options/command_line.h"

#define ROW(option, type, field, value, preset, ...)                                               \
    {                                                                                              \
        .name = option, .kind = HR_OPTION_##type, .offset = offsetof(struct hr_cli, field),        \
        .size = sizeof(((struct hr_cli *)0)->field), .metavar = value, .usual = preset,            \
        .help = __VA_ARGS__                                                                        \
    }
#define PARTS(option, value, ...)                                                                  \
    {                                                                                              \
        .name = option, .kind = HR_OPTION_PARTS, .metavar = value, .help = __VA_ARGS__             \
    }
#define BOTH (HR_TRAIN | HR_COMPARE)
#define READERS (BOTH | HR_EVAL | HR_DATA_INFO | HR_DATA_PACK | HR_FORECAST)
#define RUNNING                                                                                    \
    (BOTH | HR_EVAL | HR_PREDICT | HR_SAMPLE | HR_DATA | HR_INSPECT | HR_BENCH | HR_REPLAY)
#define ALL (RUNNING | HR_DOCTOR | HR_TOP | HR_REPORT | HR_VERIFY | HR_FORECAST | HR_GATE)

static const struct hr_option data[] = {
    ROW("data", TEXT, data, "NAME|FILE", "digits",
        "digits (built in), fashion-mnist, a file (CSV, TSV, libsvm, packed), or a folder (IDX, "
        "CIFAR, npy, or images by class): hogring help data",
        .other = {{HR_BENCH, .said = "none: random numbers"}},
        .commands = READERS | HR_PREDICT | HR_DATA_VERIFY | HR_BENCH_MODELS | HR_REPLAY,
        .models = HR_OF_ALL_MODELS, .first = true, .use = HR_DECIDES),
    PARTS("test", "FILE|X",
          "test samples: a file in the format of --data, or the share of --data that is held out, "
          "always the same samples",
          .said = "0.2", .commands = READERS | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    PARTS("validation", "FILE|X",
          "validation samples, which are measured while training: a file, or a share of the "
          "training samples, drawn by the seed and not trained on; the test set is then read "
          "once, at the end",
          .said = "the test set", .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    PARTS("text", "KEY[=X],...",
          "context=N: tokens per sample [128]; vocabulary=bytes, or chars (characters of "
          "UTF-8): what a token is [bytes]; lines: for a list, as of words: shuffle its lines, "
          "always alike, before the last ones are held out; eval-tokens=N: evaluate on the "
          "first N tokens that are held out [131072]",
          .commands = READERS | HR_DATA_MAKE),
    ROW("input", TEXT, input, "CxHxW", "1x28x28",
        "shape of a sample; bench, without --data: of random numbers",
        .commands = HR_BENCH_MODELS | HR_INSPECT),
    ROW("classes", COUNT, classes, "N", "10", "of the labels; bench: of random ones, with --input",
        .commands = HR_BENCH_MODELS | HR_INSPECT),
};

static const struct hr_option making[] = {
    ROW("rows", COUNT, shape.rows, "N", "20242", "how many", .commands = HR_DATA_MAKE),
    ROW("nonzeros", NUMBER, shape.nonzeros, "N", "74", "features per row, on average",
        .commands = HR_DATA_MAKE),
    ROW("exponent", NUMBER, shape.exponent, "S", "1",
        "the k-th most frequent feature is drawn in proportion to k^-S", .commands = HR_DATA_MAKE),
    ROW("noise", NUMBER, shape.noise, "X", "0.02", "share of the labels that are wrong",
        .commands = HR_DATA_MAKE),
    ROW("seed", COUNT64, shape.seed, "N", "1", "of all random numbers",
        .commands = HR_DATA_MAKE | HR_VERIFY | HR_SAMPLE),
};

static const struct hr_option sampling[] = {
    ROW("prompt", TEXT, prompt, "TEXT", NULL,
        "what the text begins with; for a model of numbers \"17 4 9\"; - for stdin",
        .said = "a newline", .commands = HR_SAMPLE, .first = true),
    ROW("tokens", COUNT, tokens, "N", "200", "how many follow", .commands = HR_SAMPLE,
        .first = true, .range = {.least = 1, .most = 1e9}),
    ROW("temperature", NUMBER, temperature, "X", "0.8",
        "divide outputs by this before the softmax; 0: always the likeliest token",
        .commands = HR_SAMPLE, .first = true, .range = {.most = 1e6}),
    ROW("top-k", COUNT, top_k, "K", "40", "draw among the K likeliest tokens; 0: among all",
        .commands = HR_SAMPLE, .first = true),
    ROW("count", COUNT, count, "N", "1", "texts, each drawn anew from the same prompt",
        .commands = HR_SAMPLE, .first = true, .range = {.least = 1, .most = 1e6}),
};

static const struct hr_option workers[] = {
    ROW("strategies", TEXT, strategies, "LIST", "allreduce,ps-sync,ps-async,ssp,hogwild",
        "each with settings of its own after colons: "
        "allreduce:algorithm=ring,ssp:staleness=1; values that have commas or colons stand "
        "in \"\" or (): 'hogwild:inject=\"slow:0x4\"'",
        .sparse_usual = "hogwild,locked", .commands = HR_COMPARE | HR_FORECAST, .first = true,
        .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
};

static const struct hr_option training[] = {
    ROW("seeds", COUNT, seeds, "N", "1", "runs of each strategy, with N seeds from --seed on",
        .commands = HR_COMPARE, .first = true, .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
    ROW("folds", COUNT, folds, "K", "0",
        "cross-validation: cut the samples into K parts, as --split says; each is tested by "
        "a model that is trained on the others, with a seed of its own; 0: none",
        .commands = HR_COMPARE, .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
    ROW("orders", COUNT, orders, "N", "1",
        "run each seed of an asynchronous strategy in N orders of events, and report the "
        "deviation between seeds and between orders (help compare)",
        .commands = HR_COMPARE, .range = {.least = 1, .most = 256}),
    ROW("margin", NUMBER, margin, "X", NULL,
        "say which strategies are no worse than the best by X, and which are equal within X: "
        "points of accuracy, or units of rmse or loss (help compare)",
        .commands = HR_COMPARE, .range = {.most = 1e9, .above = true}, .models = HR_OF_ALL_MODELS,
        .use = HR_AROUND),
    ROW("concurrent", FLAG, concurrent, NULL, NULL,
        "run all strategies at the same time, on the same processors", .commands = HR_COMPARE,
        .models = HR_OF_ALL_MODELS),
    ROW("tune", OPTIONAL_TEXT, tune, "[NAME=VALUES]", NULL,
        "first find the best lr and momentum for each strategy, on other seeds and a "
        "validation split; lr=0.005:0.5: try 8 values of this range; lr=0.01,0.1: try these; "
        "for several options repeat --tune (help tune)",
        .commands = HR_COMPARE, .models = HR_OF_ALL_MODELS, .use = HR_DECIDES, .first = true),
    ROW("tune-budget", TEXT, tune_budget, "LENGTH", NULL,
        "length of all trials of one strategy together: 500Ksamples",
        .said = "as much as the strategy with the most candidates needs", .commands = HR_COMPARE,
        .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
};

static const struct hr_option limits[] = {
    ROW("max-memory", BYTES, max_memory, "SIZE", NULL,
        "memory for the whole run, workers and data: 512M, 16G; a run that needs more is "
        "refused before it begins",
        .said = "what is available here, within the control group's limit",
        .commands = RUNNING | HR_TOP | HR_FORECAST | HR_GATE, .models = HR_OF_ALL_MODELS),
    ROW("color", TEXT, color, "WHEN", "auto",
        "auto: on terminals, unless NO_COLOR is set; always, never", .words = "auto|always|never",
        .commands = ALL, .models = HR_OF_ALL_MODELS),
};

#define EXPECT(metric, named)                                                                      \
    ROW("expect-" named, NUMBER, expect[HR_METRIC_##metric], named, NULL, "",                      \
        HR_PART_OF("expect", "="), .commands = BOTH | HR_EVAL | HR_REPLAY,                         \
        .models = HR_OF_ALL_MODELS, .zero_is_value = true)

static const struct hr_option results[] = {
    ROW("json", TEXT, json, "FILE", NULL,
        "write all results as JSON; - for stdout (fields: help json); train, compare: "
        "FILE,digests=N: with digests of all tensors every N steps, so that hogring gate "
        "finds where two runs differ",
        .written = true, .stdout_too = true,
        .commands = READERS | HR_PREDICT | HR_SAMPLE | HR_INSPECT | HR_BENCH | HR_REPLAY |
                    HR_DOCTOR | HR_TOP | HR_VERIFY | HR_GATE,
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("what-if", TEXT, what_if, "CHANGE", NULL,
        "in virtual time: straggler=none, staleness=N, link=10Gbps, servers=S, kill=none, kill=R@N;"
        " several joined by +",
        .commands = HR_REPLAY),
    ROW("forecast", FLAG, forecast, NULL, NULL,
        "first forecast speed and memory from 2 s of short runs; at the end say how wrong "
        "that was (help forecast)",
        .commands = HR_TRAIN),
    ROW("out", TEXT, out, "FILE", NULL, "write here", .other = {{HR_REPORT, .said = "report.html"}},
        .written = true, .commands = HR_DATA_PACK | HR_DATA_MAKE | HR_REPORT, .first = true),
    ROW("plot", TEXT, plot, "FILE", NULL, "draw loss and accuracy: .svg or .png",
        .other = {{HR_BENCH,
                   .help = "draw times over sizes, of layers the roofline, of training samples/s "
                           "over several --workers, of a pipeline a single schedule: .svg or "
                           ".png"}},
        .written = true,
        .commands = BOTH | HR_BENCH_COLLECTIVES | HR_BENCH_LAYERS | HR_BENCH_TRAIN |
                    HR_BENCH_STORE | HR_BENCH_PIPELINE | HR_REPLAY | HR_REPORT,
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("report", TEXT, report, "FILE", NULL,
        "write results and plots as one .html file that needs no network (hogring report "
        "makes one of several --json)",
        .written = true, .commands = BOTH | HR_EVAL | HR_BENCH | HR_REPLAY,
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("timeline", TEXT, timeline, "FILE", NULL,
        "what every rank did, and when, for Perfetto (ui.perfetto.dev); written while the run goes "
        "on; FILE,steps=A:B: from step A on and before step B alone (help timeline)",
        .written = true, .commands = BOTH | HR_REPLAY),
    ROW("timeline-steps", TEXT, timeline_steps, "steps", NULL, "", HR_PART_OF("timeline", "="),
        .commands = BOTH | HR_REPLAY),
    ROW("log", TEXT, log, "FILE.jsonl", NULL,
        "append each step of each worker, each evaluation, saves and lost ranks as JSON "
        "Lines, as they happen (fields: help log); --resume appends, too; FILE,every=N, or "
        "every=N with --tensorboard: one step in N, with the times since the last one",
        .written = true, .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("log-every", COUNT64, log_every, "every", "1", "", HR_PART_OF("log", "="),
        .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("tensorboard", TEXT, tensorboard, "DIR", NULL,
        "write loss, rate, accuracy and staleness for TensorBoard, one folder per run in DIR",
        .written = true, .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("outputs", TEXT, outputs, "FILE.npy", NULL,
        "write the outputs of the last layer for each test sample, as a NumPy array "
        "(samples, outputs)",
        .written = true, .commands = HR_EVAL),
    ROW("out", TEXT, out, "FILE", NULL,
        "write all predictions here: FILE.csv, or FILE.npy (float32, samples x classes); - "
        "for stdout",
        .written = true, .stdout_too = true, .commands = HR_PREDICT, .first = true),
    ROW("worst", COUNT, worst, "N", NULL,
        "list the N test samples with the largest loss: wrong answers of high probability "
        "come first",
        .commands = HR_EVAL, .first = true),
    ROW("worst-sheet", TEXT, worst_sheet, "FILE.png", NULL,
        "draw these images, with label, prediction and probability [--worst 20]", .written = true,
        .commands = HR_EVAL),
    ROW("export", TEXT, export_to, "FILE.onnx", NULL,
        "write the model for other programs, as ONNX (opset 13): input in the data's own units, "
        "any batch size, probabilities and logits; train: of the last checkpoint",
        .written = true, .commands = HR_TRAIN | HR_INSPECT, .models = HR_OF_ALL_MODELS),
    ROW("pytorch", FLAG, pytorch, NULL, NULL,
        "print a checkpoint's network as a module of PyTorch, whose state_dict is its "
        "model.safetensors",
        .commands = HR_INSPECT),
    ROW("top", COUNT, top_classes, "K", NULL, "CSV: only the K likeliest classes of each sample",
        .said = "all", .commands = HR_PREDICT, .first = true),
    PARTS("expect", "METRIC=X[,...]",
          "exit 1 if the test result is worse: accuracy=0.95, loss, balanced, macro_f1, "
          "roc_auc, rmse, mae, r2, perplexity, bits_per_byte; train: digest=D: if the "
          "weights_digest differs",
          .commands = BOTH | HR_EVAL | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    EXPECT(LOSS, "loss"),
    EXPECT(ACCURACY, "accuracy"),
    EXPECT(BALANCED_ACCURACY, "balanced"),
    EXPECT(MACRO_F1, "macro_f1"),
    EXPECT(ROC_AUC, "roc_auc"),
    EXPECT(RMSE, "rmse"),
    EXPECT(MAE, "mae"),
    EXPECT(R2, "r2"),
    EXPECT(PERPLEXITY, "perplexity"),
    EXPECT(BITS_PER_BYTE, "bits_per_byte"),
    ROW("expect-digest", TEXT, expect_digest, "digest", NULL, "", HR_PART_OF("expect", "="),
        .commands = HR_TRAIN, .models = HR_OF_ALL_MODELS),
    PARTS("time-to", "METRIC=X",
          "report the seconds until an evaluation reaches accuracy=0.95, rmse=X or loss=X",
          .models = HR_OF_ALL_MODELS),
    ROW("quiet", FLAG, quiet, NULL, NULL, "no banner and no progress",
        .commands = BOTH | HR_REPLAY | HR_GATE, .models = HR_OF_ALL_MODELS),
    ROW("details", FLAG, details, NULL, NULL,
        "print everything; for runs: the whole banner, each evaluation, all columns, who was "
        "waited for, staleness, all pairs, power, what was tuned",
        .commands = BOTH | HR_REPLAY | HR_EVAL | HR_INSPECT | HR_DATA_INFO | HR_DOCTOR |
                    HR_FORECAST | HR_GATE | HR_BENCH_LAYERS | HR_BENCH_PIPELINE,
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("wide", FLAG, wide, NULL, NULL,
        "print all columns and whole lines, even wider than the terminal", .commands = RUNNING,
        .models = HR_OF_ALL_MODELS),
};

static const struct hr_option gate[] = {
    ROW("against", TEXT, against, "BINARY", NULL,
        "the old program: if bits differ both run again, to find the step, the tensor and "
        "the rank; if the baseline is another machine's, the old program runs here in its "
        "place",
        .commands = HR_GATE, .first = true),
    ROW("slower", TEXT, slower, "X%", NULL,
        "with --against: time both in turn, and fail if a strategy is slower by more than X "
        "%, in seconds or in processor time; 1 % of gates fail by chance",
        .commands = HR_GATE, .first = true),
    ROW("pairs", COUNT, pairs, "N", "10", "--slower: runs of each binary, one seed per run",
        .commands = HR_GATE, .first = true),
    ROW("junit", TEXT, junit, "FILE.xml", NULL, "write the verdicts as JUnit's XML",
        .written = true, .commands = HR_GATE, .first = true),
    ROW("annotations", TEXT, annotations, "WHERE", "auto",
        "github: say what has not passed as GitHub's annotations; none; auto: where GITHUB_ACTIONS "
        "is true",
        .words = "auto|github|none", .commands = HR_GATE),
};

static const struct hr_option measurement[] = {
    ROW("ranks", COUNT, ranks, "N", "2", "ranks that take part", .commands = HR_BENCH_COLLECTIVES,
        .first = true),
    ROW("sizes", TEXT, sizes, "LO:HI", "4:64M", "bytes, by factors of 4: 4:64M",
        .said = "4:64M; store: 16K:16M, --sweep: 1M",
        .commands = HR_BENCH_COLLECTIVES | HR_BENCH_STORE, .first = true),
    ROW("type", TEXT, type, "TYPE", "float32", "float32, float64, int32, int64",
        .words = "float32|float64|int32|int64", .commands = HR_BENCH_COLLECTIVES),
    ROW("redop", TEXT, redop, "OP", "sum", "sum, product, min, max, mean",
        .words = "sum|product|min|max|mean", .commands = HR_BENCH_COLLECTIVES),
    ROW("group-size", COUNT, group_size, "N", NULL, "hierarchical: ranks per node", .said = "2",
        .commands = HR_BENCH_PLANS),
    ROW("transport", TEXT, transport, "HOW", "zero-copy",
        "zero-copy: peers read buffers in place; copy: payload goes through the rings",
        .words = "zero-copy|copy", .commands = HR_BENCH_COLLECTIVES),
    ROW("link", TEXT, link, "BANDWIDTH,LATENCY", NULL,
        "emulate, between any two ranks, a link of its own: 1GB/s,5us (transport copy); "
        "store: one link per server; train, in virtual time: one link per worker, to a switch",
        .commands = HR_BENCH_PLANS | HR_BENCH_STORE | HR_BENCH_TRAIN),
    ROW("topology", TEXT, topology, "FILE", NULL,
        "emulate a topology's links, as data/topologies/ring-8.txt (transport copy); bench links: "
        "walk them; there also star:N and ring:N, whose links are like --link [16GB/s]",
        .commands = HR_BENCH_PLANS),
    ROW("buffers", TEXT, buffers, "WHERE", "arena",
        "arena: in shared memory; private: from malloc, as MPI's programs have them",
        .words = "arena|private", .commands = HR_BENCH_COLLECTIVES | HR_BENCH_STORE),
    ROW("loop", TEXT, loop, "HOW", "barrier", "barrier before each operation, or back-to-back",
        .words = "barrier|back-to-back", .commands = HR_BENCH_COLLECTIVES),
    ROW("placement", TEXT, placement, "WHERE", "dedicated",
        "store: servers are dedicated ranks, or colocated in workers; or both, in turn",
        .words = "dedicated|colocated|both", .commands = HR_BENCH_STORE),
    ROW("keys", COUNT, keys, "N", "4", "store: equal keys that the bytes are cut into",
        .commands = HR_BENCH_STORE),
};

static const struct hr_option paper[] = {
    ROW("bytes", TEXT, bytes, "N", "160MB", "to synchronise: 160MB, 64M",
        .commands = HR_BENCH_LINKS),
    ROW("root", TEXT, root, "NODE", NULL,
        "of master-worker; one that is no gpu is a master without data", .said = "the first gpu",
        .commands = HR_BENCH_LINKS),
    ROW("emulate", FLAG, emulate, NULL, NULL,
        "links: also run the algorithms, over rings as slow in proportion",
        .commands = HR_BENCH_LINKS),
    ROW("find-rings", FLAG, find_rings, NULL, NULL, "decompose the links between gpus into rings",
        .commands = HR_BENCH_LINKS),
    ROW("sweep", FLAG, sweep, NULL, NULL,
        "links: 1 to 32 workers with 1 to 8 parameter servers, links like --link; store: all "
        "numbers up to --workers [4] and --servers [2]",
        .commands = HR_BENCH_LINKS | HR_BENCH_STORE),
};

static const struct hr_option pipelines[] = {
    ROW("pipeline", TEXT, pipeline, "LIST", NULL,
        "stages that the layers of --model are split over: 4, or several in turn: 2,4,8; "
        "after them, with commas: micro-batches=LIST: that a batch is cut into: 8, or 4,8,16 "
        "[once, twice and four times the stages]; schedule=LIST: gpipe, 1f1b, interleaved:V "
        "(each stage has V parts of the model [2]), zero-bubble, pipedream, unstashed [all "
        "synchronous ones]; stages=auto: stages of equal multiply-adds, as far as layers "
        "allow; or the layers of each, as 3,2,4 [auto]",
        .said = "2,4,8, as far as the layers go", .commands = HR_BENCH_PIPELINE, .first = true),
    ROW("micro-batches", TEXT, micro_batches, "micro-batches", NULL, "",
        HR_PART_OF("pipeline", "="), .commands = HR_BENCH_PIPELINE),
    ROW("pipeline-schedule", TEXT, pipeline_schedule, "schedule", "all", "",
        HR_PART_OF("pipeline", "="), .commands = HR_BENCH_PIPELINE),
    ROW("stages", TEXT, stages, "stages", "auto", "", HR_PART_OF("pipeline", "="),
        .commands = HR_BENCH_PIPELINE),
    ROW("rounds", COUNT, rounds, "N", "0",
        "pipeline: also train in real time, N times half a second each, in turns with one worker "
        "that accumulates as many micro-batches: the bubble that was measured; train: measure each "
        "row N times, in turns, and the roof before and after each",
        .said = "pipeline: none, on paper alone; train: 7, in virtual time 1",
        .commands = HR_BENCH_PIPELINE | HR_BENCH_TRAIN),
};

static const struct hr_option looking[] = {
    ROW("stall-warn", DURATION, long_wait, "T", "1s",
        "report no shorter waits; a stopped process is named at once", .commands = HR_DOCTOR,
        .first = true, .range = {.most = 1e6, .above = true}),
    ROW("interval", DURATION, interval, "T", "500ms", "time between two looks", .commands = HR_TOP,
        .first = true, .range = {.least = 0.05, .most = 3600}),
    ROW("once", FLAG, once, NULL, NULL,
        "print one table, or with --json one document, over half a second or until a sample "
        "is trained on, at most two",
        .commands = HR_TOP, .first = true),
    ROW("clean", FLAG, clean, NULL, NULL,
        "remove what dead processes left in /dev/shm, also the last crash", .commands = HR_DOCTOR,
        .first = true),
};

static const struct hr_option searching[] = {
    ROW("search", TEXT, search, "SPACE", NULL,
        "in virtual time, find the policy that reaches --time-to first. Options with their "
        "values: \"strategy=ssp,ps-async;staleness=1,4;servers=1,2\"; all get short trials, "
        "the better half longer ones. After a semicolon confirm=SEEDS [5]: train the best "
        "three again, on other seeds; confirm=5,real: train the chosen one on the real "
        "clock, too, and say how wrong the forecast was",
        .commands = HR_TRAIN),
    ROW("confirm", TEXT, confirm, "confirm", "5", "", HR_PART_OF("search", "="),
        .commands = HR_TRAIN),
};

static const struct hr_option verification[] = {
    ROW("seconds", SECONDS, seconds, "T", "30",
        "time for all checks together; more time tests more random cases", .commands = HR_VERIFY,
        .first = true, .range = {.least = 0, .most = 1e6}),
    ROW("only", TEXT, only, "NAMES", NULL, "only these checks: NAME,NAME", .said = "all",
        .commands = HR_VERIFY, .first = true),
    ROW("list", FLAG, list, NULL, NULL, "say what each check claims, and check nothing",
        .commands = HR_VERIFY, .first = true),
};

static const struct hr_option expert[] = {
    {.name = "config",
     .kind = HR_OPTION_CONFIG,
     .metavar = "FILE",
     .help = "read options from FILE, one \"name = value\" per line",
     .commands = BOTH,
     .models = HR_OF_ALL_MODELS},
    ROW("help", FLAG, help, NULL, NULL, "this text", .commands = ALL, .models = HR_OF_ALL_MODELS),
    ROW("all", FLAG, all, NULL, NULL, "all checkpoints of a folder, one row per checkpoint",
        .commands = HR_EVAL, .models = HR_OF_ALL_MODELS),
};

#define LIST(section, rows)                                                                        \
    {                                                                                              \
        section, rows, sizeof rows / sizeof *rows                                                  \
    }

const struct hr_option_list hr_command_lists[] = {
    LIST(HR_IN_DATA, data),
    LIST(HR_IN_MAKING, making),
    LIST(HR_IN_SAMPLING, sampling),
    LIST(HR_IN_WORKERS, workers),
    LIST(HR_IN_TRAINING, training),
    LIST(HR_IN_LIMITS, limits),
    LIST(HR_IN_RESULTS, results),
    LIST(HR_IN_RESULTS, gate),
    LIST(HR_IN_MEASUREMENT, measurement),
    LIST(HR_IN_PAPER, paper),
    LIST(HR_IN_PIPELINES, pipelines),
    LIST(HR_IN_LOOKING, looking),
    LIST(HR_IN_VERIFYING, verification),
    LIST(HR_IN_SEARCHING, searching),
    LIST(HR_IN_EXPERT, expert),
};

const size_t hr_command_nlists = sizeof hr_command_lists / sizeof *hr_command_lists;
