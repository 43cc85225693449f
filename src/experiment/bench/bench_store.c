/* hogring bench store - push_pull through parameter servers, over workers, servers and sizes. */
#include "bench/bench.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "hogring/group.h"
#include "hogring/store.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/json.h"
#include "base/median.h"
#include "base/signals.h"
#include "base/size.h"
#include "base/vec.h"
#include "netsim/topology.h"
#include "options/command_line.h"
#include "store/partition.h"
#include "strategies/strategies.h"
#include "terminal/grid.h"
#include "watch/watch.h"

/* --- one measurement ---
 * All workers meet at the store's barrier; each begins a push_pull of every key, and
 * waits for all; the time of an iteration is that of its slowest worker. An emulated link of a
 * server is a rule of update that takes as long as the link would: it carries one part at a time,
 * there and back. */

enum { HR_STORE_BENCH_KEYS = 1024 };

struct hr_store_case {
    struct hr_world_options world; /* nranks and arena_bytes are set here */
    const char *placement;
    size_t workers, servers;
    size_t keys;  /* 1 .. HR_STORE_BENCH_KEYS, and at most bytes / 4 */
    size_t bytes; /* of all keys */
    bool synchronous, own_memory;
    struct hr_link link; /* bandwidth 0: as fast as memory */
};

struct store_row {
    char setup[32]; /* "2W1PS", "2W2PS colocated" */
    const char *placement;
    size_t workers, servers;
    size_t bytes; /* of all keys */
    double p10_us, p50_us, p90_us;
    double gbs;     /* pushed and pulled by all workers, over p50; GB/s, decimal */
    double law_us;  /* data / total bandwidth of the emulated links; NaN: there are none */
    double balance; /* largest shard over the mean */
    size_t wrong;   /* elements with a wrong value */
};

enum {
    MOST_ITERATIONS = 500,
    LEAST_ITERATIONS = 10,
    WARMUP = 3,
    VOLUME = 128 << 20, /* pushed by all workers */
};

/* Patience with an emulated link. */
static const double PATIENCE_S = 0.3;

struct bench {
    const struct hr_store_case *what;
    struct hr_store_key key[HR_STORE_BENCH_KEYS];
    char name[HR_STORE_BENCH_KEYS][8];
    size_t count, iterations; /* floats of all keys */
    double *seconds;          /* (workers, iterations); processes write here as well */
    uint64_t *wrong;          /* (workers) */
};

/* A server's link; private to its rank. */
struct wire {
    const struct hr_link *link;
    int64_t free_at; /* ns */
};

static void add_over_link(void *arg, const struct hr_store_update *what, float *weights,
                          const float *pushed)
{
    struct wire *wire = arg;
    const int64_t now = hr_clock_own_ns();
    const uint64_t bytes = 2 * what->count * sizeof(float); /* there and back */
    const int64_t busy_ps = hr_link_busy_ps(bytes, wire->link->bandwidth) + wire->link->latency_ps;
    wire->free_at = (now > wire->free_at ? now : wire->free_at) + busy_ps / 1000;
    const struct timespec until = {wire->free_at / HR_NS_PER_SECOND,
                                   wire->free_at % HR_NS_PER_SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
    hr_vec()->add(weights, pushed, what->count);
}

/* --- a worker --- */

static enum hr_status take_buffer(const struct bench *bench, struct hr_group *world, float **out)
{
    const size_t bytes = bench->count * sizeof(float);
    if (!bench->what->own_memory)
        return hr_group_alloc(world, bytes, (void **)out);
    *out = aligned_alloc(128, hr_round_up(bytes, 128));
    return *out ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a buffer of %zu bytes", bytes);
}

static enum hr_status push_pull_all(const struct bench *bench, struct hr_store *store,
                                    const float *values, float *out)
{
    uint64_t ticket;
    for (size_t k = 0; k < bench->what->keys; k++) {
        HR_TRY(hr_store_push_pull(store, k, values, out, &ticket));
        values += bench->key[k].count;
        out += bench->key[k].count;
    }
    return hr_store_wait_all(store);
}

/* Every worker has pushed a one in every round. */
static enum hr_status count_wrong(const struct bench *bench, struct hr_store *store, float *out,
                                  uint64_t *wrong)
{
    const float sum = (float)(bench->what->workers * (WARMUP + bench->iterations));
    float *at = out;
    uint64_t ticket;
    HR_TRY(hr_store_barrier(store));
    for (size_t k = 0; k < bench->what->keys; at += bench->key[k++].count)
        HR_TRY(hr_store_pull(store, k, at, &ticket));
    HR_TRY(hr_store_wait_all(store));
    for (size_t i = 0; i < bench->count; i++)
        *wrong += out[i] != sum;
    return HR_OK;
}

static enum hr_status iterate(const struct bench *bench, struct hr_store *store, size_t rank,
                              float *values, float *out)
{
    double *seconds = bench->seconds + rank * bench->iterations;
    for (size_t i = 0; i < bench->count; i++)
        values[i] = 1;
    for (size_t k = 0; k < WARMUP + bench->iterations; k++) {
        HR_TRY(hr_store_barrier(store));
        const int64_t began = hr_clock_ns();
        HR_TRY(push_pull_all(bench, store, values, out));
        if (k >= WARMUP)
            seconds[k - WARMUP] = hr_seconds(hr_clock_ns() - began);
    }
    return count_wrong(bench, store, out, &bench->wrong[rank]);
}

static enum hr_status rank_main(struct hr_group *world, void *arg)
{
    const struct bench *bench = arg;
    const struct hr_store_case *what = bench->what;
    struct wire wire = {.link = &what->link};
    const bool linked = what->link.bandwidth > 0;
    const struct hr_store_options options = {.keys = bench->key,
                                             .nkeys = what->keys,
                                             .placement = what->placement,
                                             .servers = what->servers,
                                             .synchronous = what->synchronous,
                                             .update = linked ? add_over_link : NULL,
                                             .arg = &wire};
    struct hr_store *store;
    float *values = NULL, *out = NULL;
    enum hr_status status = HR_OK;
    if (linked)
        prctl(PR_SET_TIMERSLACK, 1); /* else the kernel rounds sleeps up by 50 us */
    HR_TRY(hr_store_open(world, &options, &store));
    if (!hr_store_serves(store)) {
        status = take_buffer(bench, world, &values);
        if (status == HR_OK)
            status = take_buffer(bench, world, &out);
        if (status == HR_OK)
            status = iterate(bench, store, hr_group_rank(world), values, out);
    }
    if (status == HR_OK)
        status = hr_store_close(store);
    if (what->own_memory) {
        free(values);
        free(out);
    }
    return status;
}

/* --- one measurement --- */

/* data / total bandwidth, if the data were spread evenly. */
static double law_s(const struct hr_store_case *what)
{
    if (what->link.bandwidth <= 0)
        return NAN;
    return 2 * (double)what->bytes * (double)what->workers /
           ((double)what->servers * what->link.bandwidth);
}

static enum hr_status measure_balance(const struct bench *bench, double *balance)
{
    struct hr_partition partition;
    const size_t servers = bench->what->servers;
    size_t largest = 0;
    HR_TRY(hr_partition_make(&partition, bench->key, bench->what->keys, servers));
    for (size_t s = 0; s < servers; s++) {
        const size_t elems = hr_partition_elems(&partition, s);
        largest = elems > largest ? elems : largest;
    }
    hr_partition_fini(&partition);
    *balance = (double)largest * (double)servers / (double)bench->count;
    return HR_OK;
}

static void fill_row(const struct bench *bench, struct store_row *row)
{
    const struct hr_store_case *what = bench->what;
    double *slowest = bench->seconds; /* worker 0's line takes the maxima */
    for (size_t w = 0; w < what->workers; w++) {
        row->wrong += bench->wrong[w];
        for (size_t k = 0; k < bench->iterations; k++)
            slowest[k] = fmax(slowest[k], bench->seconds[w * bench->iterations + k]);
    }
    hr_sort(slowest, bench->iterations);
    const double median = slowest[bench->iterations / 2];
    row->p10_us = 1e6 * slowest[bench->iterations / 10];
    row->p50_us = 1e6 * median;
    row->p90_us = 1e6 * slowest[bench->iterations * 9 / 10];
    row->gbs = 2e-9 * (double)what->bytes * (double)what->workers / median;
    row->law_us = 1e6 * law_s(what);
}

static void cut_keys(struct bench *bench)
{
    const size_t n = bench->what->keys;
    for (size_t k = 0; k < n; k++) {
        snprintf(bench->name[k], sizeof bench->name[k], "key%zu", k);
        bench->key[k] = (struct hr_store_key){
            bench->name[k],
            hr_split_begin(bench->count, n, k + 1) - hr_split_begin(bench->count, n, k), NULL};
    }
}

static size_t iterations_for(const struct hr_store_case *what)
{
    const double law = law_s(what);
    const size_t by_volume = VOLUME / what->workers / (what->bytes ? what->bytes : 1);
    const size_t by_time = isnan(law) ? MOST_ITERATIONS : (size_t)(PATIENCE_S / law);
    const size_t n = hr_min_size(by_volume, by_time);
    return n < LEAST_ITERATIONS ? LEAST_ITERATIONS : hr_min_size(n, MOST_ITERATIONS);
}

static enum hr_status run(struct bench *bench, struct store_row *row)
{
    const struct hr_store_case *what = bench->what;
    struct hr_world_options world = what->world;
    const size_t bytes =
        what->workers * (bench->iterations * sizeof *bench->seconds + sizeof *bench->wrong);
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "no memory for %zu times", bench->iterations);
    bench->seconds = shared;
    bench->wrong = (uint64_t *)(bench->seconds + what->workers * bench->iterations);
    world.nranks = what->workers + (strcmp(what->placement, "dedicated") ? 0 : what->servers);
    world.max_groups = 1;
    /* Buffers, or stages, two at most; and rings. */
    world.arena_bytes = 2 * what->bytes + what->keys * 1024 + (1 << 20);
    const enum hr_status status = hr_world_run(&world, rank_main, bench);
    if (status == HR_OK)
        fill_row(bench, row);
    munmap(shared, bytes);
    return status;
}

/* Measure it; fills *row. */
static enum hr_status store_measure(const struct hr_store_case *what, struct store_row *row)
{
    struct bench bench = {
        .what = what, .count = what->bytes / sizeof(float), .iterations = iterations_for(what)};
    cut_keys(&bench);
    HR_TRY(measure_balance(&bench, &row->balance));
    return run(&bench, row);
}

enum { MOST_ROWS = 1024, STEP = 4, SWEEP_WORKERS = 4, SWEEP_SERVERS = 2 };

struct store_bench {
    const struct hr_cli *cli;
    struct hr_store_case what;
    uint64_t low, high; /* bytes to measure */
    bool dedicated, colocated;
    const char *strategy;
    struct store_row row[MOST_ROWS];
    size_t n;
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
    bench->strategy = given ? bench->cli->train.strategy : "ps-async";
    const struct hr_strategy *strategy;
    const bool found = hr_strategy_find(bench->strategy, 1, &strategy) == HR_OK;
    bench->what.synchronous = found && strategy->synchronous;
    if (found && (strategy == &hr_strategy_ps_async || strategy == &hr_strategy_ps_sync))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--strategy %s: bench store has ps-async and ps-sync",
                   bench->strategy);
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
    return HR_OK;
}

/* --- the table; rows are shown as they come --- */

static void begin_table(struct store_bench *bench)
{
    const struct hr_cli *cli = bench->cli;
    printf("# store: push_pull of %zu key%s by every worker (%s, %s, %s buffers); 2W1PS is 2 "
           "workers and 1 server\n",
           cli->keys, cli->keys == 1 ? "" : "s", bench->strategy, cli->train.launch, cli->buffers);
    if (cli->link[0])
        printf("# every server has a link of %s, emulated; law: data / total bandwidth = "
               "2 x bytes x workers / (servers x bandwidth)\n",
               cli->link);
    hr_grid_begin(
        &bench->cells,
        "size (B)\t-setup\ttime (us)\t    p10\t    p90\t  GB/s\tlaw (us)\tbalance\t#wrong");
    hr_grid_flush(&bench->cells, stdout);
}

static void print_row(struct hr_grid *cells, const struct store_row *row)
{
    char law[32] = "-";
    if (!isnan(row->law_us))
        snprintf(law, sizeof law, "%.2f", row->law_us);
    fprintf(cells->cells, "%zu\t%s\t%.2f\t%.2f\t%.2f\t%.3f\t%s\t%.2f\t%zu\n", row->bytes,
            row->setup, row->p50_us, row->p10_us, row->p90_us, row->gbs, law, row->balance,
            row->wrong);
    hr_grid_flush(cells, stdout);
    fflush(stdout);
}

static json_t *row_json(const void *of, size_t i)
{
    const struct store_bench *bench = of;
    const struct hr_cli *cli = bench->cli;
    const struct store_row *row = &bench->row[i];
    return hr_json_object(
        "op", HR_JSON("store"), HR_OF(row, setup), HR_OF(row, placement), HR_OF(row, workers),
        HR_OF(row, servers), HR_OF(bench, strategy), HR_OF(&cli->train, launch),
        HR_OF(cli, buffers), "link", hr_json_text_or_null(cli->link), HR_OF(cli, keys),
        HR_OF(row, bytes), "time_us", hr_bench_times(row->p10_us, row->p50_us, row->p90_us),
        HR_OF(row, gbs), HR_OF(row, law_us), HR_OF(row, balance), HR_OF(row, wrong), NULL);
}

/* --- measuring --- */

static enum hr_status measure(struct store_bench *bench, const char *placement, size_t workers,
                              size_t servers)
{
    const bool silent = !hr_cli_speaks(bench->cli);
    for (uint64_t bytes = bench->low; bytes <= bench->high && bench->n < MOST_ROWS; bytes *= STEP) {
        struct store_row *row = &bench->row[bench->n];
        struct hr_store_case what = bench->what;
        what.placement = placement;
        what.workers = workers;
        what.servers = servers;
        what.bytes = bytes - bytes % sizeof(float);
        *row = (struct store_row){
            .placement = placement, .workers = workers, .servers = servers, .bytes = what.bytes};
        snprintf(row->setup, sizeof row->setup, "%zuW%zuPS%s", workers, servers,
                 strcmp(placement, "dedicated") ? " colocated" : "");
        HR_TRY(hr_signals_check());
        HR_TRY(store_measure(&what, row));
        bench->n++;
        if (!silent) {
            print_row(&bench->cells, row);
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
        begin_table(&bench);
    if (bench.dedicated)
        HR_TRY(measure_placement(&bench, "dedicated"));
    if (bench.colocated)
        HR_TRY(measure_placement(&bench, "colocated"));
    if (hr_cli_speaks(cli))
        hr_grid_end(&bench.cells, NULL, 0);
    snprintf(title, sizeof title, "store: push_pull on %zu processors (%s, %s%s%.50s)",
             hr_cpus_allowed(), bench.strategy, cli->train.launch,
             cli->link[0] ? ", servers' links " : "", cli->link);
    return hr_publish(cli, title,
                      hr_json_object("rows", hr_json_list(bench.n, row_json, &bench), NULL));
}
