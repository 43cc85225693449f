/* hogring bench - its kinds, a file each in bench/. */
#include "cli/commands.h"

#include <string.h>

#include "bench/bench.h"
#include "terminal/output.h"

static const struct kind {
    const char *name;
    enum hr_command_bit bit;
    enum hr_status (*run)(struct hr_cli *cli);
} kinds[] = {{"links", HR_BENCH_LINKS, hr_bench_links},
             {"layers", HR_BENCH_LAYERS, hr_bench_layers},
             {"train", HR_BENCH_TRAIN, hr_bench_train},
             {"store", HR_BENCH_STORE, hr_bench_store},
             {"pipeline", HR_BENCH_PIPELINE, hr_bench_pipeline}},
  collectives = {"all_reduce", HR_BENCH_COLLECTIVES, hr_bench_collectives};

enum { NKINDS = sizeof kinds / sizeof *kinds };

/* What the first argument asks for. */
static const struct kind *kind_of(const struct hr_cli *cli)
{
    for (size_t i = 0; cli->npositional && i < NKINDS; i++)
        if (!strcmp(cli->positional[0], kinds[i].name))
            return &kinds[i];
    return &collectives;
}

static enum hr_status needs_another(const struct hr_option *row)
{
    char names[160] = "";
    size_t length = 0;
    for (size_t i = 0; i < NKINDS; i++)
        if (row->commands & kinds[i].bit)
            length +=
                (size_t)snprintf(names + length, sizeof names - length, "%s\"hogring bench %s\"",
                                 length ? " or " : "", kinds[i].name);
    return hr_fail(HR_E_USAGE, "--%s: needs %s", row->name, names);
}

/* An option was given that means nothing to that kind, or a second argument. */
static enum hr_status check_options(const struct hr_cli *cli, const struct kind *kind)
{
    if (kind != &collectives && cli->npositional > 1)
        return hr_fail(HR_E_USAGE, "bench %s %s: expected nothing behind \"%s\" but options",
                       cli->positional[0], cli->positional[1], cli->positional[0]);
    const struct hr_option *row = hr_cli_given_beyond(cli, kind->bit);
    if (!row && cli->naxes && kind->bit != HR_BENCH_TRAIN)
        return hr_fail(HR_E_USAGE, "--%s %s: bench %s expects a single value",
                       hr_cli_option_at(cli->axes[0].option).row->name, cli->axes[0].values,
                       kind->name);
    if (!row)
        return HR_OK;
    if (kind == &collectives)
        return needs_another(row);
    return hr_fail(HR_E_USAGE, "--%s: is not supported with bench %s", row->name, kind->name);
}

static int run(struct hr_cli *cli)
{
    const struct kind *kind = kind_of(cli);
    enum hr_status status = check_options(cli, kind);
    if (status == HR_OK)
        status = kind->run(cli);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_bench = {
    .name = "bench",
    .summary = "measure collectives, layers, training, the store, pipelines",
    .bit = HR_BENCH,
    .usage = "OPERATION|layers|train|links|store|pipeline [OPTIONS]",
    .story =
        "OPERATION: all_reduce, reduce, broadcast, reduce_scatter, all_gather, gather, scatter, "
        "all_to_all, barrier, sendrecv, or all of them, in the columns of nccl-tests: algbw is "
        "size / time, busbw algbw x the share of a link in the best algorithm (all_reduce: "
        "2 (n - 1) / n), in GB/s. links walks the plans of all_reduce over the links of a machine "
        "that need not be there. hogring help collectives has both.\n"
        "\n"
        "layers says what limits each layer of a network, train how fast whole training is: below. "
        "store times the key-value store (hogring help store); pipeline walks the schedules of a "
        "pipeline on paper, and draws a single one (hogring help pipeline).\n",
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
                "  hogring bench pipeline --pipeline 4,micro-batches=8,schedule=1f1b\n"
                "  hogring bench pipeline --model resnet8 --pipeline 2,4\n"
                "  hogring bench store --sweep --workers 4 --servers 2 --link 200MB/s\n",
    .run = run,
};
