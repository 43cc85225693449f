/* hogring bench store - push_pull through parameter servers, over workers, servers and sizes. */
#include "bench/bench_store.h"

#include <string.h>

#include "base/cpus.h"
#include "bench/bench_kinds.h"
#include "base/signals.h"
#include "strategies/find.h"
#include "strategies/strategies.h"
#include "json/documents.h"
#include "watch/watch.h"

enum { MOST_ROWS = 1024, STEP = 4, SWEEP_WORKERS = 4, SWEEP_SERVERS = 2 };

struct store_bench {
    const struct hr_cli *cli;
    struct hr_store_case what;
    uint64_t low, high; /* bytes to measure */
    bool dedicated, colocated;
    struct hr_store_row row[MOST_ROWS];
    struct hr_store_table table;
    struct hr_grid cells;
};

/* --- what was asked for --- */

static enum hr_status read_placement(struct store_bench *bench)
{
    const char *asked = bench->cli->placement;
    const bool both = !strcmp(asked, "both");
    bench->dedicated = both || !strcmp(asked, "dedicated");
    bench->colocated = both || !strcmp(asked, "colocated");
    if (bench->dedicated || bench->colocated)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--placement %s: expected dedicated, colocated or both", asked);
}

static enum hr_status read_strategy(struct store_bench *bench)
{
    const bool given = hr_cli_was_given(bench->cli, "strategy");
    bench->table.strategy = given ? bench->cli->train.strategy : "ps-async";
    const struct hr_strategy *strategy;
    const bool found = hr_strategy_find(bench->table.strategy, 1, &strategy) == HR_OK;
    bench->what.synchronous = found && strategy->synchronous;
    if (found && (strategy == &hr_strategy_ps_async || strategy == &hr_strategy_ps_sync))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--strategy %s: bench store has ps-async and ps-sync",
                   bench->table.strategy);
}

/* How many workers and servers, at most in a sweep. */
static enum hr_status read_numbers(struct store_bench *bench)
{
    const struct hr_cli *cli = bench->cli;
    struct hr_store_case *what = &bench->what;
    const bool sweep = cli->sweep;
    what->workers = sweep && !hr_cli_was_given(cli, "workers") ? SWEEP_WORKERS : cli->train.workers;
    what->servers = hr_cli_was_given(cli, "servers") ? cli->train.servers
                    : sweep                          ? SWEEP_SERVERS
                                                     : 1;
    if (what->workers < 1 || what->workers > 32)
        return hr_fail(HR_E_USAGE, "--workers %zu: expected 1 to 32", what->workers);
    if (what->servers < 1 || what->servers > 32)
        return hr_fail(HR_E_USAGE, "--servers %zu: expected 1 to 32", what->servers);
    if (!sweep && !bench->dedicated && what->servers > what->workers)
        return hr_fail(HR_E_USAGE,
                       "--servers %zu: colocated in %zu worker%s, there are at most "
                       "as many",
                       what->servers, what->workers, what->workers == 1 ? "" : "s");
    return HR_OK;
}

static enum hr_status read_options(struct store_bench *bench)
{
    const struct hr_cli *cli = bench->cli;
    struct hr_store_case *what = &bench->what;
    const char *usual = cli->sweep ? "1M:1M" : "16K:16M";
    const char *sizes = hr_cli_was_given(cli, "sizes") ? cli->sizes : usual;
    HR_TRY(read_placement(bench));
    HR_TRY(read_strategy(bench));
    HR_TRY(read_numbers(bench));
    HR_TRY(hr_bench_parse_sizes(sizes, &bench->low, &bench->high));
    HR_TRY(hr_bench_parse_either("buffers", cli->buffers, "arena", "private", &what->own_memory));
    if (cli->keys < 1 || cli->keys > HR_STORE_BENCH_KEYS || cli->keys > bench->low / sizeof(float))
        return hr_fail(HR_E_USAGE, "--keys %zu: expected 1 to %d, and a float for each of them",
                       cli->keys, HR_STORE_BENCH_KEYS);
    if (cli->link[0])
        HR_TRY(hr_link_parse("--link ", cli->link, &what->link));
    what->keys = cli->keys;
    what->world = (struct hr_world_options){
        .launch = cli->train.launch,
        .timeout = cli->train.timeout > 0 ? cli->train.timeout : -1,
    };
    bench->table.launch = cli->train.launch;
    bench->table.buffers = cli->buffers;
    bench->table.link = cli->link;
    bench->table.keys = cli->keys;
    bench->table.row = bench->row;
    return HR_OK;
}

/* --- measuring --- */

static enum hr_status measure(struct store_bench *bench, const char *placement, size_t workers,
                              size_t servers)
{
    const bool silent = !hr_cli_speaks(bench->cli);
    for (uint64_t bytes = bench->low; bytes <= bench->high && bench->table.n < MOST_ROWS;
         bytes *= STEP) {
        struct hr_store_row *row = &bench->row[bench->table.n];
        struct hr_store_case what = bench->what;
        what.placement = placement;
        what.workers = workers;
        what.servers = servers;
        what.bytes = bytes - bytes % sizeof(float);
        *row = (struct hr_store_row){
            .placement = placement, .workers = workers, .servers = servers, .bytes = what.bytes};
        snprintf(row->setup, sizeof row->setup, "%zuW%zuPS%s", workers, servers,
                 strcmp(placement, "dedicated") ? " colocated" : "");
        HR_TRY(hr_signals_check());
        HR_TRY(hr_store_measure(&what, row));
        bench->table.n++;
        if (!silent) {
            hr_store_print_row(&bench->cells, stdout, row);
            fflush(stdout);
        }
        if (row->wrong)
            return hr_fail(HR_E_FAILED, "store %s of %zu bytes: %zu elements are wrong", row->setup,
                           row->bytes, row->wrong);
    }
    return HR_OK;
}

static enum hr_status measure_placement(struct store_bench *bench, const char *placement)
{
    const size_t workers = bench->what.workers, servers = bench->what.servers;
    const bool colocated = strcmp(placement, "dedicated") != 0;
    for (size_t s = bench->cli->sweep ? 1 : servers; s <= servers; s++)
        for (size_t w = bench->cli->sweep ? 1 : workers; w <= workers; w++)
            if (!colocated || s <= w)
                HR_TRY(measure(bench, placement, w, s));
    return HR_OK;
}

enum hr_status hr_bench_store(struct hr_cli *cli)
{
    static struct store_bench bench;
    char title[160];
    bench = (struct store_bench){.cli = cli};
    HR_TRY(read_options(&bench));
    HR_TRY(hr_bench_check_memory(2 * (bench.what.workers + bench.what.servers + 1), bench.low,
                                 bench.high, STEP));
    if (hr_cli_speaks(cli))
        hr_store_begin(&bench.cells, stdout, &bench.table);
    if (bench.dedicated)
        HR_TRY(measure_placement(&bench, "dedicated"));
    if (bench.colocated)
        HR_TRY(measure_placement(&bench, "colocated"));
    if (hr_cli_speaks(cli))
        hr_grid_end(&bench.cells, NULL, 0);
    snprintf(title, sizeof title, "store: push_pull on %zu processors (%s, %s%s%.50s)",
             hr_cpus_allowed(), bench.table.strategy, bench.table.launch,
             cli->link[0] ? ", servers' links " : "", cli->link);
    return hr_publish(cli, title, hr_json_store(&bench.table));
}
