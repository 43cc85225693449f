/* hogring bench - how fast the collectives are, in the columns that nccl-tests uses. */
#include <stdio.h>
#include <string.h>

#include "base/cpus.h"
#include "base/fpenv.h"
#include "bench/bench_kinds.h"
#include "bench/bench_loop.h"
#include "bench/bench_store.h"
#include "options/meaning.h"
#include "cli/commands.h"
#include "terminal/grid.h"
#include "options/nearest.h"
#include "base/signals.h"
#include "group/tune.h"
#include "json/documents.h"
#include "watch/watch.h"

enum { MAX_ROWS = 512, STEP = 4 };

struct rows {
    struct hr_bench_row row[MAX_ROWS];
    size_t n;
    uint64_t low, high; /* bytes to measure */
    struct hr_grid table;
};

/* --- the command line --- */

/* "all_reduce", "all-reduce" and "allreduce" are one. */
static void squeeze(char *out, size_t size, const char *name)
{
    size_t used = 0;
    for (; *name && used + 1 < size; name++)
        if (*name != '_' && *name != '-')
            out[used++] = *name;
    out[used] = 0;
}

static const char *bench_name(enum hr_operation operation)
{
    return operation == HR_OP_SEND ? "sendrecv" : hr_operation_facts(operation)->name;
}

static bool is_measured(enum hr_operation operation)
{
    return operation != HR_OP_NONE && operation != HR_OP_REDUCE_APPLY;
}

static enum hr_status find_operation(const char *asked, enum hr_operation *out)
{
    char wanted[64], known[64];
    squeeze(wanted, sizeof wanted, asked);
    for (enum hr_operation operation = 0; operation < HR_OPERATIONS; operation++) {
        squeeze(known, sizeof known, bench_name(operation));
        if (is_measured(operation) && !strcmp(known, wanted)) {
            *out = operation;
            return HR_OK;
        }
    }
    return hr_fail(
        HR_E_USAGE,
        "bench %s: expected all_reduce, reduce, broadcast, reduce_scatter, all_gather, "
        "gather, scatter, all_to_all, barrier, sendrecv, or all; or layers, train, links, "
        "store, pipeline",
        asked);
}

static enum hr_status read_case(const struct hr_cli *cli, struct hr_bench_case *what)
{
    if (!hr_type_parse(cli->type, &what->type))
        return hr_fail(HR_E_USAGE, "--type %s: expected float32, float64, int32 or int64",
                       cli->type);
    if (!hr_redop_parse(cli->redop, &what->redop))
        return hr_fail(HR_E_USAGE, "--redop %s: expected sum, product, min, max or mean",
                       cli->redop);
    HR_TRY(hr_bench_parse_either("buffers", cli->buffers, "arena", "private", &what->own_memory));
    HR_TRY(
        hr_bench_parse_either("loop", cli->loop, "barrier", "back-to-back", &what->back_to_back));
    what->world = (struct hr_world_options){
        .nranks = cli->ranks,
        .launch = cli->train.launch,
        .transport = cli->transport,
        .link = cli->link[0] ? cli->link : NULL,
        .topology = cli->topology[0] ? cli->topology : NULL,
        .group_size = cli->group_size,
        .timeout = cli->train.timeout > 0 ? cli->train.timeout : -1,
        .pin = 1,
    };
    return HR_OK;
}

/* What means nothing to this operation; to all of them, that is what means nothing to any. */
static enum hr_status check_meaning(const struct hr_cli *cli, bool all, enum hr_operation operation)
{
    const char *algorithm = cli->train.algorithm;
    const bool reduced = all || operation == HR_OP_ALL_REDUCE;
    const bool carries = all || operation != HR_OP_BARRIER;
    const bool grouped = !strcmp(algorithm, "all") || !strcmp(algorithm, "hierarchical");
    const struct {
        const char *option;
        bool fits;
    } rules[] = {{"algorithm", reduced},
                 {"group-size", reduced && grouped},
                 {"redop", all || hr_operation_facts(operation)->reduces},
                 {"type", carries},
                 {"sizes", carries},
                 {"buffers", carries},
                 {"plot", carries}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (hr_cli_was_given(cli, rules[i].option) && !rules[i].fits)
            return hr_fail(HR_E_USAGE, "--%s: is not supported with bench %s%s%s", rules[i].option,
                           cli->positional[0], reduced ? " --algorithm " : "",
                           reduced ? algorithm : "");
    return hr_meaning_check_link(cli, cli->topology);
}

/* --- the table --- */

static void print_row(struct hr_grid *table, const struct hr_bench_row *row)
{
    fprintf(table->cells, "%zu\t%zu\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%zu\n", row->bytes,
            row->count, row->type, row->redop, row->algorithm, row->p50_us, row->p10_us,
            row->p90_us, row->algbw_gbs, row->busbw_gbs, row->wrong);
    hr_grid_flush(table, stdout);
    fflush(stdout);
}

static void begin_table(struct hr_grid *table, const struct hr_bench_case *what,
                        const char *operation)
{
    printf("# %s: %zu rank%s (%s, %s, %s buffers%s)\n", operation, what->world.nranks,
           what->world.nranks == 1 ? "" : "s", what->world.launch, what->world.transport,
           what->own_memory ? "private" : "arena", what->back_to_back ? ", back to back" : "");
    hr_grid_begin(table, "    size (B)\t       count\t-type    \t-redop   \t-algorithm         \t"
                         " time (us)\t       p10\t       p90\t   algbw\t   busbw\t #wrong");
    hr_grid_flush(table, stdout);
}

/* --- measuring --- */

static enum hr_status measure_sizes(const struct hr_cli *cli, struct hr_bench_case *what,
                                    struct rows *rows)
{
    const struct hr_operation_facts *facts = hr_operation_facts(what->operation);
    const bool sized = what->operation != HR_OP_BARRIER;
    const uint64_t low = sized ? rows->low : 0, high = sized ? rows->high : 0;
    for (uint64_t bytes = low; bytes <= high && rows->n < MAX_ROWS; bytes *= STEP) {
        struct hr_bench_row *row = &rows->row[rows->n];
        what->bytes = bytes;
        *row = (struct hr_bench_row){
            .op = bench_name(what->operation),
            .algorithm = what->operation == HR_OP_ALL_REDUCE ? what->world.algorithm : "direct",
            .transport = what->world.transport,
            .launch = what->world.launch,
            .type = hr_type_name(what->type),
            .redop = facts->reduces ? hr_redop_name(what->redop) : "none",
            .buffers = cli->buffers,
            .loop = cli->loop,
            .ranks = what->world.nranks};
        HR_TRY(hr_signals_check());
        HR_TRY(hr_bench_measure(what, row));
        rows->n++;
        if (hr_cli_speaks(cli))
            print_row(&rows->table, row);
        if (bytes == 0)
            break;
    }
    return HR_OK;
}

/* With one algorithm, or with all of them: NULL. */
static enum hr_status measure_operation(const struct hr_cli *cli, const struct hr_algorithm *only,
                                        struct hr_bench_case *what, struct rows *rows)
{
    const bool speaks = hr_cli_speaks(cli);
    enum hr_status status = HR_OK;
    if (speaks)
        begin_table(&rows->table, what, bench_name(what->operation));
    for (size_t i = 0; status == HR_OK && hr_algorithm_at(i); i++) {
        if (only ? hr_algorithm_at(i) != only : i == 0)
            continue; /* auto is one of the others */
        what->world.algorithm = hr_algorithm_at(i)->name;
        status = measure_sizes(cli, what, rows);
        if (what->operation != HR_OP_ALL_REDUCE)
            break;
    }
    if (speaks)
        hr_grid_end(&rows->table, NULL, 0);
    return status;
}

static enum hr_status refuse_wrong_sums(const struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].wrong)
            return hr_fail(HR_E_FAILED, "%s %s of %zu bytes: %zu elements are wrong",
                           rows->row[i].op, rows->row[i].algorithm, rows->row[i].bytes,
                           rows->row[i].wrong);
    return HR_OK;
}

static enum hr_status publish(const struct hr_cli *cli, const struct hr_bench_case *what,
                              const struct hr_calibration *calibration, const struct rows *rows)
{
    char title[200], links[100] = "";
    if (cli->link[0] || cli->topology[0])
        snprintf(links, sizeof links, ", emulated links %.50s %.30s", cli->topology, cli->link);
    snprintf(title, sizeof title, "%s: %zu ranks on %zu processors (%s, %s%s)", cli->positional[0],
             what->world.nranks, hr_cpus_allowed(), what->world.launch, what->world.transport,
             links);
    return hr_publish(cli, title, hr_json_rows(calibration, rows->row, rows->n));
}

static enum hr_status bench(struct hr_cli *cli, struct rows *rows)
{
    struct hr_bench_case what = {0};
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "bench: expected an operation, as \"hogring bench all_reduce\"");
    const bool all = !strcmp(cli->positional[0], "all");
    const struct hr_algorithm *only = NULL;
    HR_TRY(read_case(cli, &what));
    if (strcmp(cli->train.algorithm, "all") != 0)
        HR_TRY(hr_algorithm_find(cli->train.algorithm, &only));
    HR_TRY(hr_bench_parse_sizes(cli->sizes, &rows->low, &rows->high));
    if (!all)
        HR_TRY(find_operation(cli->positional[0], &what.operation));
    HR_TRY(check_meaning(cli, all, what.operation));
    const bool apart = all || hr_operation_facts(what.operation)->blocks;
    HR_TRY(hr_bench_check_memory((apart ? 2 : 1) * what.world.nranks, rows->low, rows->high, STEP));
    hr_fp_flush_denormals();
    struct hr_calibration calibration;
    hr_bench_calibrate(cli->ranks, &calibration);
    if (hr_cli_speaks(cli)) {
        hr_bench_print_calibration(&calibration);
        printf("# auto: one-shot up to %zu bytes, direct above, as measured (%s)\n",
               hr_tune_one_shot_bytes(cli->ranks), hr_tune_file());
    }
    for (enum hr_operation o = all ? HR_OP_BARRIER : what.operation;
         o < (all ? HR_OPERATIONS : what.operation + 1); o++) {
        what.operation = o;
        if (is_measured(o))
            HR_TRY(measure_operation(cli, only, &what, rows));
    }
    HR_TRY(publish(cli, &what, &calibration, rows));
    return refuse_wrong_sums(rows);
}

static int run(struct hr_cli *cli)
{
    static struct rows rows;
    const enum hr_command_bit kind = hr_bench_kind_of(cli);
    enum hr_status status = hr_bench_check_options(cli, kind);
    if (status == HR_OK)
        status = kind == HR_BENCH_LINKS      ? hr_bench_links(cli)
                 : kind == HR_BENCH_LAYERS   ? hr_bench_layers(cli)
                 : kind == HR_BENCH_TRAIN    ? hr_bench_train(cli)
                 : kind == HR_BENCH_STORE    ? hr_bench_store(cli)
                 : kind == HR_BENCH_PIPELINE ? hr_bench_pipeline(cli)
                                             : bench(cli, &rows);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_bench = {
    .name = "bench",
    .summary = "measure collectives, layers, training, the store, pipelines",
    .bit = HR_BENCH,
    .usage = "OPERATION|layers|train|links|store|pipeline [OPTIONS]",
    .story =
        "OPERATION: all_reduce, reduce, broadcast, "
        "reduce_scatter, all_gather, gather, scatter,\n"
        "all_to_all, barrier, sendrecv, or all of them.\n"
        "Every rank rewrites its input before each operation; an iteration takes as long as its\n"
        "slowest rank; the time is the median. algbw is size / time, busbw algbw x the share of a\n"
        "link in the best algorithm (all_reduce: 2 (n - 1) / n), in GB/s, as nccl-tests prints\n"
        "them. Ranks keep to processors, shared out evenly. Every eighth result is checked,\n"
        "element by element.\n"
        "\n"
        "Algorithms add in one order each, whatever the timing. direct, one-shot, tree,\n"
        "master-worker and hierarchical (nodes of a power of two) give the same bits, those of\n"
        "the binary tree T(n) over ranks; halving-doubling too where ranks are a power of two.\n"
        "ring and bidirectional-ring add round the ring, double-tree half of the data from the\n"
        "last rank down, each 16384 elements in turn from another rank: by an element's index\n"
        "alone, so that buckets change no bit. auto is one-shot or direct, by a measurement.\n"
        "\n"
        "hogring bench links walks the plans of all_reduce over the links of a machine that need\n"
        "not be there: a path of links is held whole, and what is sent over it arrives when its\n"
        "last byte has passed. hogring help collectives says how to write such a topology.\n"
        "\n"
        "hogring bench layers times every layer of a network inside whole training steps: "
        "forward,\n"
        "backward weights (the gradients of its parameters) and backward data (of its input). "
        "Beside\n"
        "them, in turns, it measures two roofs of the machine with as many threads: the best rate "
        "of\n"
        "multiplying, and of reading and writing in L1, L2, L3 and DRAM. A layer's work is "
        "counted\n"
        "from shapes: two operations a multiply-add, and every input, output, parameter and "
        "gradient\n"
        "once; the memory roof is that of the smallest level which holds these bytes. What "
        "reaches\n"
        "the larger share of its roof binds: compute (only fewer operations or a faster machine\n"
        "help), memory (fuse, or move less), or overhead, where both are under 10 % (larger "
        "batches\n"
        "help, or a better kernel). --plot draws the roofline.\n"
        "\n"
        "hogring bench train trains each built-in model in short rounds and shows samples/s, the\n"
        "share of the compute roof of all workers' threads together that this is, and where the "
        "workers'\n"
        "time goes. With several --workers, --servers and so on each combination is a row, and\n"
        "--plot draws samples/s over workers.\n"
        "\n"
        "hogring bench store times the key-value store (hogring/store.h): every worker pushes and\n"
        "pulls all keys, as equal as can be, and waits; 2W1PS is two workers and one server. "
        "GB/s is\n"
        "what all workers pushed and pulled, in that time. With --link every server has such a\n"
        "link, and law is what data / total bandwidth says. The sums are checked in the end.\n"
        "\n"
        "hogring bench pipeline walks the schedules of a pipeline on paper: of --model, cut into\n"
        "stages, where time is counted in multiply-adds; or of equal stages. hogring help "
        "pipeline\n"
        "says what they do, with pictures; one schedule with one number of stages and\n"
        "micro-batches is drawn.\n",
    .examples = "  hogring bench all_reduce\n"
                "  hogring bench all_reduce --algorithm all --ranks 4 --sizes 1K:16M\n"
                "  hogring bench all --type int64 --sizes 64K:64K\n"
                "  hogring bench all_reduce --algorithm ring --transport copy --link 1GB/s\n"
                "  hogring bench links --topology ring:8 --link 16GB/s,5us --bytes 160MB\n"
                "  hogring bench links --topology star:4 \\\n"
                "    --algorithm master-worker --root switch\n"
                "  hogring bench links --topology ring:8 --find-rings\n"
                "  hogring bench links --topology star:1024 --link 100Gb/s,5us --bytes 1GB\n"
                "  hogring bench links --sweep\n"
                "  hogring bench layers --model mlp --batch-size 64 --plot roofline.svg\n"
                "  hogring bench layers --model cnn --input 3x32x32 --threads-per-worker 2\n"
                "  hogring bench train --model mlp,cnn --workers 2 --batch-size 64\n"
                "  hogring bench train --model mlp --strategy allreduce,ps-async \\\n"
                "    --workers 1,2,4 --plot speed.svg\n"
                "  hogring bench pipeline --pipeline 4 --micro-batches 8 \\\n"
                "    --pipeline-schedule 1f1b\n"
                "  hogring bench pipeline --model resnet8 --pipeline 2,4\n"
                "  hogring bench store --sweep --workers 4 --servers 2 --link 200MB/s\n",
    .run = run,
};
