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
          "what is measured while training is measured on these samples of a file, or on this "
          "share of the training samples, drawn by the seed, which are not trained on; the test "
          "set is read once, at the end",
          .said = "the test set", .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    PARTS("text", "KEY[=X],...",
          "context=N: tokens of a sample, which a language model reads at once [128]; "
          "vocabulary=bytes, or chars (characters of UTF-8): what a token is [bytes]; lines: a "
          "list, as of words: its lines are shuffled, always alike, before the end of it is held "
          "out; eval-tokens=N: how many of those held out are measured on, the first ones [131072]",
          .commands = READERS | HR_DATA_MAKE),
    ROW("input", TEXT, input, "CxHxW", "1x28x28",
        "shape of a sample; bench, without --data: of random numbers",
        .commands = HR_BENCH_MODELS | HR_INSPECT),
    ROW("classes", COUNT, classes, "N", "10", "of the labels; bench: of random ones, with --input",
        .commands = HR_BENCH_MODELS | HR_INSPECT),
};

static const struct hr_option making[] = {
    ROW("rows", COUNT, shape.rows, "N", "20242", "how many", .commands = HR_DATA_MAKE),
    ROW("nonzeros", NUMBER, shape.nonzeros, "N", "74", "features of a row, on average",
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
        "what the text begins with; of a model of numbers \"17 4 9\"; - for stdin",
        .said = "a newline", .commands = HR_SAMPLE, .first = true),
    ROW("tokens", COUNT, tokens, "N", "200", "how many follow", .commands = HR_SAMPLE,
        .first = true, .range = {.least = 1, .most = 1e9}),
    ROW("temperature", NUMBER, temperature, "X", "0.8",
        "outputs are divided by it before the softmax; 0: always the likeliest token",
        .commands = HR_SAMPLE, .first = true, .range = {.most = 1e6}),
    ROW("top-k", COUNT, top_k, "K", "40", "draw among the K likeliest tokens; 0: among all",
        .commands = HR_SAMPLE, .first = true),
    ROW("count", COUNT, count, "N", "1", "texts, each drawn anew from the same prompt",
        .commands = HR_SAMPLE, .first = true, .range = {.least = 1, .most = 1e6}),
};

static const struct hr_option workers[] = {
    ROW("strategies", TEXT, strategies, "LIST", "allreduce,ps-sync,ps-async,ssp,hogwild",
        "with settings of their own behind colons: "
        "allreduce:algorithm=ring,"
        "ssp:staleness=1; commas and colons of a value in \"\" or (): "
        "'hogwild:inject=\"slow:0x4\"'",
        .sparse_usual = "hogwild,locked", .commands = HR_COMPARE | HR_FORECAST, .first = true,
        .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
};

static const struct hr_option training[] = {
    ROW("seeds", COUNT, seeds, "N", "1", "repeat with seeds seed .. seed + N - 1",
        .commands = HR_COMPARE, .first = true, .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
    ROW("folds", COUNT, folds, "K", "0",
        "cut the samples into K parts, as --split says, and test each once, with a seed of its own "
        "and a model that is trained on the others; 0: do not",
        .commands = HR_COMPARE, .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
    ROW("orders", COUNT, orders, "N", "1",
        "run each seed of asynchronous strategies in N orders of events, and split their spread "
        "into seeds and orders; in real time an order is a repetition (help compare)",
        .commands = HR_COMPARE, .range = {.least = 1, .most = 256}),
    ROW("margin", NUMBER, margin, "X", NULL,
        "say who is no worse than the best by X, and who is equal within X: points of accuracy, or "
        "units of rmse or loss (help compare)",
        .commands = HR_COMPARE, .range = {.most = 1e9, .above = true}, .models = HR_OF_ALL_MODELS,
        .use = HR_AROUND),
    ROW("concurrent", FLAG, concurrent, NULL, NULL,
        "all strategies at once, side by side, sharing the processors", .commands = HR_COMPARE,
        .models = HR_OF_ALL_MODELS),
    ROW("tune", OPTIONAL_TEXT, tune, "[NAME=VALUES]", NULL,
        "each strategy first chooses lr and momentum of its own, on seeds that are not compared "
        "and a validation split; lr=0.005:0.5 (8 values between), lr=0.01,0.1: by these; several: "
        "--tune again (help tune)",
        .commands = HR_COMPARE, .models = HR_OF_ALL_MODELS, .use = HR_DECIDES, .first = true),
    ROW("tune-budget", TEXT, tune_budget, "LENGTH", NULL,
        "what each strategy may spend on all trials of --tune: 500Ksamples",
        .said = "as much as the strategy with the most candidates needs", .commands = HR_COMPARE,
        .models = HR_OF_ALL_MODELS, .use = HR_DECIDES),
};

static const struct hr_option limits[] = {
    ROW("max-memory", BYTES, max_memory, "SIZE", NULL,
        "what the whole run may take, workers and data: 512M, 16G; more is refused before it "
        "begins",
        .said = "what the kernel says is available, and what is left of the control group's limit",
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
        "write everything as JSON; - for stdout (help json: fields); train, compare: "
        "FILE,digests=N: with digests of all tensors every N steps, which change no bit, so that "
        "hogring gate finds the step and the tensor where two runs part",
        .written = true, .stdout_too = true,
        .commands = READERS | HR_PREDICT | HR_SAMPLE | HR_INSPECT | HR_BENCH | HR_REPLAY |
                    HR_DOCTOR | HR_TOP | HR_VERIFY | HR_GATE,
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("what-if", TEXT, what_if, "CHANGE", NULL,
        "in virtual time: straggler=none, staleness=N, link=10Gbps, servers=S, kill=none, kill=R@N;"
        " several joined by +",
        .commands = HR_REPLAY),
    ROW("forecast", FLAG, forecast, NULL, NULL,
        "first forecast speed and memory, from 2 s of short runs; the end says how wrong that "
        "was (help forecast)",
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
        "write all of it as a page of HTML, one file that needs no network: .html (hogring report "
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
        "append each step of each worker, each evaluation, saves and losses as JSON Lines, whole "
        "lines as they happen; --resume goes on with it (help log: fields); FILE,every=N, or "
        "every=N with --tensorboard: one step in N, with the times since the one before",
        .written = true, .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("log-every", COUNT64, log_every, "every", "1", "", HR_PART_OF("log", "="),
        .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("tensorboard", TEXT, tensorboard, "DIR", NULL,
        "write loss, rate, accuracy and staleness for TensorBoard, a folder a run below DIR",
        .written = true, .commands = BOTH | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("outputs", TEXT, outputs, "FILE.npy", NULL,
        "write what the last layer gives for each test sample, (samples, outputs) as NumPy reads "
        "it",
        .written = true, .commands = HR_EVAL),
    ROW("out", TEXT, out, "FILE", NULL,
        "write all samples' answers here: FILE.csv, or FILE.npy (float32, samples x classes); - "
        "for stdout",
        .written = true, .stdout_too = true, .commands = HR_PREDICT, .first = true),
    ROW("worst", COUNT, worst, "N", NULL,
        "list the N test samples with the largest loss: those that it gets wrong and is surest of "
        "come first",
        .commands = HR_EVAL, .first = true),
    ROW("worst-sheet", TEXT, worst_sheet, "FILE.png", NULL,
        "draw them, where samples are images, with truth, answer and probability [--worst 20]",
        .written = true, .commands = HR_EVAL),
    ROW("export", TEXT, export_to, "FILE.onnx", NULL,
        "write the model for other programs, as ONNX (opset 13): input in the data's own units, "
        "any batch size, probabilities and logits; train: of the last checkpoint",
        .written = true, .commands = HR_TRAIN | HR_INSPECT, .models = HR_OF_ALL_MODELS),
    ROW("pytorch", FLAG, pytorch, NULL, NULL,
        "print a checkpoint's network as a module of PyTorch, whose state_dict is its "
        "model.safetensors",
        .commands = HR_INSPECT),
    ROW("top", COUNT, top_classes, "K", NULL,
        "CSV: the K likeliest classes of a sample, not all of them", .said = "all",
        .commands = HR_PREDICT, .first = true),
    PARTS("expect", "METRIC=X[,...]",
          "exit 1 where the test set says worse: accuracy=0.95, loss, balanced, macro_f1, roc_auc, "
          "rmse, mae, r2, perplexity, bits_per_byte; train: digest=D: where the weights_digest is "
          "another",
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
          "note the seconds until accuracy=0.95 is reached, or rmse=X, or loss=X, on what is "
          "measured while training",
          .models = HR_OF_ALL_MODELS),
    ROW("quiet", FLAG, quiet, NULL, NULL,
        "no banner, no progress: neither a terminal's line nor a log's lines",
        .commands = BOTH | HR_REPLAY | HR_GATE, .models = HR_OF_ALL_MODELS),
    ROW("details", FLAG, details, NULL, NULL,
        "all that there is to say, whatever a screen has no room for; of runs the whole banner, "
        "each evaluation, all columns, who was waited for, staleness, all pairs, power, what was "
        "tuned",
        .commands = BOTH | HR_REPLAY | HR_EVAL | HR_INSPECT | HR_DATA_INFO | HR_DOCTOR |
                    HR_FORECAST | HR_GATE | HR_BENCH_LAYERS | HR_BENCH_PIPELINE,
        .models = HR_OF_ALL_MODELS, .first = true),
    ROW("wide", FLAG, wide, NULL, NULL,
        "all columns of tables and whole lines, however few columns the terminal has",
        .commands = RUNNING, .models = HR_OF_ALL_MODELS),
};

static const struct hr_option gate[] = {
    ROW("against", TEXT, against, "BINARY", NULL,
        "the old program: where bits differ both run again, to find the step, the tensor and the "
        "rank; where the baseline is another machine's, its runs here take their place",
        .commands = HR_GATE, .first = true),
    ROW("slower", TEXT, slower, "X%", NULL,
        "with --against: time both, in turn, and fail where a strategy is slower by more than "
        "that, in seconds or in processor time; of 100 gates one is wrong",
        .commands = HR_GATE, .first = true),
    ROW("pairs", COUNT, pairs, "N", "10", "of --slower: runs of each binary, one seed each",
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
    ROW("group-size", COUNT, group_size, "N", NULL, "ranks a node, of hierarchical", .said = "2",
        .commands = HR_BENCH_PLANS),
    ROW("transport", TEXT, transport, "HOW", "zero-copy",
        "zero-copy: peers read buffers in place; copy: payload goes through the rings",
        .words = "zero-copy|copy", .commands = HR_BENCH_COLLECTIVES),
    ROW("link", TEXT, link, "BANDWIDTH,LATENCY", NULL,
        "emulate, between any two ranks, a link of its own: 1GB/s,5us (transport copy); store: one "
        "link a server; train, in virtual time: one each, to a switch",
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
        "stages, among which the layers of --model are split: 4, or several in turn: 2,4,8; behind "
        "them, with commas: micro-batches=LIST: that a batch is cut into: 8, or 4,8,16 [once, "
        "twice "
        "and four times the stages]; schedule=LIST: gpipe, 1f1b, interleaved:V (each stage has V "
        "parts of the model [2]), zero-bubble, pipedream, unstashed [all: those that are "
        "synchronous]; stages=auto: so that the largest part is smallest, in multiply-adds; or the "
        "layers of each part, as 3,2,4 [auto]",
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
        "who has waited for less than that is not held up; a stopped process is named at once",
        .commands = HR_DOCTOR, .first = true, .range = {.most = 1e6, .above = true}),
    ROW("interval", DURATION, interval, "T", "500ms", "time between two looks", .commands = HR_TOP,
        .first = true, .range = {.least = 0.05, .most = 3600}),
    ROW("once", FLAG, once, NULL, NULL,
        "one table, or with --json one document, over half a second or until a sample is trained "
        "on, two at most",
        .commands = HR_TOP, .first = true),
    ROW("clean", FLAG, clean, NULL, NULL,
        "remove what processes that are gone have left in /dev/shm, also the last crash",
        .commands = HR_DOCTOR, .first = true),
};

static const struct hr_option searching[] = {
    ROW("search", TEXT, search, "SPACE", NULL,
        "in virtual time: which policy reaches --time-to first? Options with their values: "
        "\"strategy=ssp,ps-async;staleness=1,4;servers=1,2\"; short trials of all, "
        "long ones of the better half. Behind a semicolon confirm=SEEDS [5]: "
        "the best three are trained again, on so many seeds of their own; confirm=5,real: the "
        "chosen one also by the machine's clock, on the same seeds: how wrong was the forecast?",
        .commands = HR_TRAIN),
    ROW("confirm", TEXT, confirm, "confirm", "5", "", HR_PART_OF("search", "="),
        .commands = HR_TRAIN),
};

static const struct hr_option verification[] = {
    ROW("seconds", SECONDS, seconds, "T", "30",
        "time for all checks together: more time, more drawn cases; each is tried once in any case",
        .commands = HR_VERIFY, .first = true, .range = {.least = 0, .most = 1e6}),
    ROW("only", TEXT, only, "NAMES", NULL, "these checks, with commas between", .said = "all",
        .commands = HR_VERIFY, .first = true),
    ROW("list", FLAG, list, NULL, NULL, "say what each check claims, and check nothing",
        .commands = HR_VERIFY, .first = true),
};

static const struct hr_option expert[] = {
    {.name = "config",
     .kind = HR_OPTION_CONFIG,
     .metavar = "FILE",
     .help = "read options from FILE, one \"name = value\" a line, as if they stood here",
     .commands = BOTH,
     .models = HR_OF_ALL_MODELS},
    ROW("help", FLAG, help, NULL, NULL, "this text", .commands = ALL, .models = HR_OF_ALL_MODELS),
    ROW("all", FLAG, all, NULL, NULL, "every checkpoint of a folder, a row each",
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
