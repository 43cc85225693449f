/* hogring bench links - what a collective takes over links that this machine does not have. */
#include "bench/bench.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json/value.h"
#include "netsim/rings.h"
#include "netsim/walk.h"
#include "options/meaning.h"
#include "options/nearest.h"
#include "terminal/grid.h"
#include "watch/watch.h"

/* --- results: plans over links, rings, laws of servers --- */

/* One algorithm. */
struct hr_links_row {
    char algorithm[64];
    char formula[64];    /* the textbook's; "": none */
    double textbook_s;   /* its value; NaN: none */
    struct hr_walk walk; /* owned by the row's maker */
    double emulated_s;   /* measured over throttled rings, in the topology's time; NaN: not */
};

struct hr_links_table {
    const char *name; /* of the topology, as it was asked for */
    const struct hr_topology *topology;
    uint64_t bytes;
    double bandwidth; /* B of the formulas: of the slowest lane at a rank */
    const char *root; /* name of the master's node */
    size_t workers;
    double slower; /* what the bandwidths were divided by for the emulation; 0: there was none */
    struct hr_links_row row[16];
    size_t n;
};

/* Time of one synchronisation round, for each number of workers (from 1) and servers. */
enum { HR_SWEEP_WORKERS = 32, HR_SWEEP_SERVERS = 4 };

struct hr_sweep {
    uint64_t bytes;
    struct hr_link link;
    size_t servers[HR_SWEEP_SERVERS];
    double seconds[HR_SWEEP_WORKERS][HR_SWEEP_SERVERS];
    double slope_s[HR_SWEEP_SERVERS]; /* a worker, fitted where workers >= servers */
    double law_s[HR_SWEEP_SERVERS];   /* 2 N / (n B) */
};

/* --- tables --- */

/* 160000000 -> "160 MB", 16e9 -> "16 GB". */
static char *decimal(double bytes, char text[32])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, 32, "%.6g %s", bytes, units[unit]);
    return text;
}

/* Milliseconds; "-": there are none. */
static const char *ms(double seconds, const char *format, char text[32])
{
    snprintf(text, 32, "-");
    if (!isnan(seconds))
        snprintf(text, 32, format, 1e3 * seconds);
    return text;
}

static void write_row(FILE *cells, const struct hr_links_table *table,
                      const struct hr_links_row *row)
{
    char name[HR_CHANNEL_NAME], textbook[32], emulated[32];
    const struct hr_walk *walk = &row->walk;
    const size_t busiest = hr_links_busiest(&walk->links);
    const double busy = (double)walk->links.channel[busiest].busy_ps;
    fprintf(cells, "%s\t%zu\t%.6f\t%s\t%s\t%s\t%s\t%.1f %%\n", row->algorithm, walk->nsteps,
            1e3 * hr_ps_seconds(walk->ps),
            table->slower > 0 ? ms(row->emulated_s, "%.3f", emulated) : "",
            ms(row->textbook_s, "%.6f", textbook), row->formula[0] ? row->formula : "-",
            hr_channel_name(walk->links.topology, busiest, name),
            walk->ps ? 100 * busy / (double)walk->ps : 0);
}

static void links_print(FILE *out, const struct hr_links_table *table)
{
    char bytes[32], bandwidth[32];
    const struct hr_topology *topology = table->topology;
    struct hr_grid cells;
    fprintf(out, "# %s: %zu nodes, %zu links; N = %s, P = %zu workers, B = %s/s, master %s\n",
            table->name, topology->nnodes, topology->nwires, decimal((double)table->bytes, bytes),
            table->workers, decimal(table->bandwidth, bandwidth), table->root);
    if (table->slower > 0)
        fprintf(out,
                "# emulated: measured over rings slowed down to 1/%.4g of these bandwidths, "
                "times that\n",
                table->slower);
    hr_grid_begin(&cells, "-algorithm\tsteps\ttime (ms)\temulated (ms)\ttextbook (ms)\t"
                          "-textbook's formula\t-busiest link\tbusy");
    for (size_t i = 0; i < table->n; i++)
        write_row(cells.cells, table, &table->row[i]);
    hr_grid_end(&cells, out, 0);
}

static void write_sweep(FILE *cells, const char *name, const double seconds[HR_SWEEP_SERVERS])
{
    fputs(name, cells);
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        fprintf(cells, "\t%.6f", 1e3 * seconds[s]);
    fputc('\n', cells);
}

static void sweep_print(FILE *out, const struct hr_sweep *sweep)
{
    char bytes[32], bandwidth[32], text[32];
    struct hr_grid table;
    fprintf(out,
            "# push and pull of N = %s, m workers and n servers around a switch, B = %s/s: ms\n",
            decimal((double)sweep->bytes, bytes), decimal(sweep->link.bandwidth, bandwidth));
    hr_grid_begin(&table, "-m");
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++) {
        snprintf(text, sizeof text, "n = %zu", sweep->servers[s]);
        hr_grid_add(&table, text);
    }
    for (size_t m = 0; m < HR_SWEEP_WORKERS; m++) {
        snprintf(text, sizeof text, "%zu", m + 1);
        write_sweep(table.cells, text, sweep->seconds[m]);
    }
    write_sweep(table.cells, "slope, ms per worker", sweep->slope_s);
    write_sweep(table.cells, "law, 2 N / (n B)", sweep->law_s);
    hr_grid_end(&table, out, 0);
}

static void rings_print(FILE *out, const struct hr_topology *topology, const struct hr_rings *rings)
{
    char bandwidth[32];
    for (size_t i = 0; i < rings->n; i++) {
        const uint16_t *order = hr_rings_order(rings, i);
        fprintf(out, "ring %zu, %zu lane%s, %s/s: ", i + 1, rings->lanes[i],
                rings->lanes[i] == 1 ? "" : "s", decimal(rings->bandwidth[i], bandwidth));
        for (size_t k = 0; k <= rings->nranks; k++)
            fprintf(out, "%s%s", k ? " - " : "",
                    topology->node[topology->rank_node[order[k % rings->nranks]]].name);
        fputs("\n", out);
    }
    fprintf(out, "in all %s/s one way round%s\n", decimal(rings->total, bandwidth),
            rings->complete ? "; there is no more" : "; the search was cut short");
}

/* --- what bench links shows, as JSON: fields are only ever added --- */

static json_t *step_json(const void *steps, size_t s)
{
    return hr_json_number(hr_ps_seconds(((const int64_t *)steps)[s]));
}

/* Channels that carried something. */
static json_t *channels(const struct hr_walk *walk)
{
    json_t *array = json_array();
    char name[HR_CHANNEL_NAME];
    for (size_t c = 0; c < walk->links.nchannels; c++) {
        const struct hr_channel *channel = &walk->links.channel[c];
        if (channel->messages)
            hr_json_append(
                &array,
                hr_json_object("link", HR_JSON(hr_channel_name(walk->links.topology, c, name)),
                               HR_OF(channel, bytes), HR_OF(channel, messages), "busy_seconds",
                               HR_JSON(hr_ps_seconds(channel->busy_ps)), NULL));
    }
    return array;
}

static json_t *row_json(const void *of, size_t i)
{
    const struct hr_links_table *table = of;
    const struct hr_links_row *row = &table->row[i];
    char busiest[HR_CHANNEL_NAME];
    const struct hr_walk *walk = &row->walk;
    hr_channel_name(walk->links.topology, hr_links_busiest(&walk->links), busiest);
    return hr_json_object(
        "op", HR_JSON("links"), HR_OF(row, algorithm), "topology", HR_JSON(table->name),
        HR_OF(table, root), HR_OF(table, workers), HR_OF(table, bytes), "steps",
        HR_JSON(walk->nsteps), "seconds", HR_JSON(hr_ps_seconds(walk->ps)), "textbook_seconds",
        HR_JSON(row->textbook_s), "textbook_formula", hr_json_text_or_null(row->formula),
        HR_OF(walk, messages), "bytes_sent", HR_JSON(walk->bytes), "busiest", HR_JSON(busiest),
        "step_seconds", hr_json_list(walk->nsteps, step_json, walk->step_ps), "links",
        channels(walk), "emulated_seconds",
        hr_json_number(table->slower > 0 ? row->emulated_s : NAN), "slower",
        hr_json_number(table->slower > 0 ? table->slower : NAN), NULL);
}

static json_t *sweep_json(const struct hr_sweep *sweep)
{
    json_t *array = json_array();
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        for (size_t m = 0; m < HR_SWEEP_WORKERS; m++)
            hr_json_append(
                &array, hr_json_object("op", HR_JSON("server_round"), "workers", HR_JSON(m + 1),
                                       "servers", HR_JSON(sweep->servers[s]), HR_OF(sweep, bytes),
                                       "seconds", HR_JSON(sweep->seconds[m][s]), "slope_seconds",
                                       HR_JSON(sweep->slope_s[s]), "law_slope_seconds",
                                       HR_JSON(sweep->law_s[s]), NULL));
    return array;
}

static json_t *rings_json(const struct hr_topology *topology, const struct hr_rings *rings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < rings->n; i++) {
        json_t *order = json_array();
        for (size_t k = 0; k < rings->nranks; k++) {
            const size_t node = topology->rank_node[hr_rings_order(rings, i)[k]];
            hr_json_append(&order, hr_json_text(topology->node[node].name));
        }
        hr_json_append(&array, hr_json_object("op", HR_JSON("ring"), "order", order, "lanes",
                                              HR_JSON(rings->lanes[i]), "bandwidth_gbs",
                                              HR_JSON(rings->bandwidth[i] * 1e-9),
                                              HR_OF(rings, complete), NULL));
    }
    return array;
}

/* {"rows": [...]}, of whatever was asked for. */
static enum hr_status publish(const struct hr_cli *cli, json_t *rows)
{
    return hr_publish(cli, NULL, hr_json_object("rows", rows, NULL));
}

enum {
    LOOKS = 20000000, /* of the search for rings: a second */
    EMULATIONS = 3,
};

/* What the memory of a small machine carries, payload of all ranks together, in bytes/s. */
static const double CARRIED = 1e9;

struct links {
    const struct hr_cli *cli;
    uint64_t bytes;
    struct hr_link link;
    struct hr_topology topology;
    uint16_t node[HR_TOPOLOGY_RANKS + 1]; /* of the ranks, and of a root that is none */
    size_t root;                          /* as a rank of these */
    struct hr_links_table table;
};

/* --- what was asked for --- */

static enum hr_status refuse(const struct hr_cli *cli, const char *const *names, size_t n,
                             const char *with)
{
    for (size_t i = 0; i < n; i++)
        if (hr_cli_was_given(cli, names[i]))
            return hr_fail(HR_E_USAGE, "--%s: is not supported %s", names[i], with);
    return HR_OK;
}

static enum hr_status check_options(const struct hr_cli *cli)
{
    static const char *const on_topology[] = {"topology",   "root",       "algorithm",
                                              "find-rings", "group-size", "emulate"};
    static const char *const on_bytes[] = {"bytes", "root", "algorithm", "group-size", "emulate"};
    if (cli->sweep)
        HR_TRY(refuse(cli, on_topology, sizeof on_topology / sizeof *on_topology, "with --sweep"));
    if (cli->find_rings)
        HR_TRY(refuse(cli, on_bytes, sizeof on_bytes / sizeof *on_bytes, "with --find-rings"));
    if (!cli->sweep && !cli->topology[0])
        return hr_fail(HR_E_USAGE, "bench links: expected --topology star:N, ring:N or a FILE, as "
                                   "data/topologies/pcie-4.txt");
    return cli->sweep ? HR_OK : hr_meaning_check_link(cli, cli->topology);
}

static enum hr_status read_numbers(struct links *links)
{
    const struct hr_cli *cli = links->cli;
    HR_TRY(hr_link_parse("--link ", cli->link[0] ? cli->link : "16GB/s", &links->link));
    if (!hr_parse_size(cli->bytes, &links->bytes) || links->bytes < 4 ||
        links->bytes > 1000000000000)
        return hr_fail(HR_E_USAGE, "--bytes %s: expected 4 to 1000GB, as 160MB or 64M", cli->bytes);
    links->bytes -= links->bytes % sizeof(float);
    return HR_OK;
}

/* Ranks at their nodes; a root that is no rank becomes one more. */
static enum hr_status place_ranks(struct links *links)
{
    const struct hr_topology *topology = &links->topology;
    const char *name = links->cli->root;
    memcpy(links->node, topology->rank_node, topology->nranks * sizeof *links->node);
    if (name[0]) {
        const size_t node = hr_topology_node(topology, name);
        if (node == HR_TOPOLOGY_NONE)
            return hr_fail(HR_E_USAGE, "--root %s: no such node in %s", name, links->cli->topology);
        while (links->root < topology->nranks && links->node[links->root] != node)
            links->root++;
        links->node[links->root] = (uint16_t)node;
    }
    links->table.root = topology->node[links->node[links->root]].name;
    return HR_OK;
}

/* The slowest lane at a rank. */
static double bandwidth_at_ranks(const struct hr_topology *topology)
{
    double least = INFINITY;
    for (size_t r = 0; r < topology->nranks; r++)
        for (size_t w = 0; w < topology->nwires; w++) {
            const struct hr_topology_wire *wire = &topology->wire[w];
            if (wire->a == topology->rank_node[r] || wire->b == topology->rank_node[r])
                least = fmin(least, wire->link.bandwidth);
        }
    return least;
}

static double widest(const struct hr_topology *topology)
{
    double most = 0;
    for (size_t w = 0; w < topology->nwires; w++) {
        const double bandwidth = hr_wire_bandwidth(&topology->wire[w]);
        most = bandwidth > most ? bandwidth : most; /* with fmax GCC 12 fails for arm64 */
    }
    return most;
}

static enum hr_status prepare(struct links *links)
{
    const char *what = links->cli->topology;
    HR_TRY(hr_topology_open(what, &links->link, &links->topology));
    HR_TRY(place_ranks(links));
    links->table.name = what;
    links->table.topology = &links->topology;
    links->table.bytes = links->bytes;
    links->table.workers = links->topology.nranks;
    links->table.bandwidth = bandwidth_at_ranks(&links->topology);
    if (links->cli->emulate)
        links->table.slower =
            fmax(1, (double)links->topology.nranks * widest(&links->topology) / CARRIED);
    return HR_OK;
}

/* --- one algorithm a row --- */

static size_t neighbour(const struct hr_topology *topology, size_t rank)
{
    size_t w = 0;
    while (topology->wire[w].a != topology->rank_node[rank] &&
           topology->wire[w].b != topology->rank_node[rank])
        w++; /* every rank has a link */
    return hr_wire_across(&topology->wire[w], topology->rank_node[rank]);
}

/* Ranks a node of the hierarchy: as asked, or those that hang on rank 0's switch; 0: as usual. */
static size_t group_size(const struct links *links)
{
    const struct hr_topology *topology = &links->topology;
    size_t n = 0;
    if (hr_cli_was_given(links->cli, "group-size"))
        return links->cli->group_size;
    while (n < topology->nranks && neighbour(topology, n) == neighbour(topology, 0))
        n++;
    return n > 1 && n < topology->nranks ? n : 0;
}

/* Run it for real over throttled rings, as often as a short patience allows. */
static enum hr_status emulate(struct links *links, const struct hr_algorithm *algorithm,
                              struct hr_links_row *row)
{
    struct hr_bench_row measured = {0};
    const struct hr_bench_case what = {
        .world = {.nranks = links->table.workers,
                  .launch = "thread",
                  .algorithm = algorithm->name,
                  .transport = "copy",
                  .link = hr_cli_was_given(links->cli, "link") ? links->cli->link : NULL,
                  .topology = links->cli->topology,
                  .slower = links->table.slower,
                  .group_size = group_size(links),
                  .timeout = -1,
                  .max_groups = 1},
        .operation = HR_OP_ALL_REDUCE,
        .bytes = links->bytes,
        .iterations = EMULATIONS,
    };
    if (!links->cli->emulate)
        return HR_OK;
    HR_TRY(hr_bench_measure(&what, &measured));
    if (measured.wrong)
        return hr_fail(HR_E_FAILED, "%s: %zu elements are wrong", algorithm->name, measured.wrong);
    row->emulated_s = 1e-6 * measured.p50_us / links->table.slower;
    return HR_OK;
}

static enum hr_status add_algorithm(struct links *links, const struct hr_algorithm *algorithm)
{
    struct hr_links_table *table = &links->table;
    struct hr_links_row *row = &table->row[table->n];
    const bool rooted = algorithm == &hr_allreduce_master_worker;
    const bool nodes = algorithm == &hr_allreduce_hierarchical;
    const size_t workers = table->workers, root = rooted ? links->root : 0;
    const struct hr_walk_options options = {.topology = &links->topology,
                                            .node = links->node,
                                            .n = root < workers ? workers : root + 1,
                                            .plan = algorithm->plan,
                                            .root = root,
                                            .group_size = nodes ? group_size(links) : 0,
                                            .bytes = links->bytes};
    HR_ASSERT(table->n < sizeof table->row / sizeof *table->row);
    row->emulated_s = NAN;
    const char *formula = hr_law_formula(algorithm->name);
    snprintf(row->formula, sizeof row->formula, "%s",
             formula && root == workers ? "2 P N / B"
             : formula                  ? formula
                                        : "");
    row->textbook_s = hr_law_seconds(algorithm->name, workers, options.n - 1, (double)links->bytes,
                                     table->bandwidth);
    if (options.group_size)
        snprintf(row->algorithm, sizeof row->algorithm, "%s (%zu a node)", algorithm->name,
                 options.group_size);
    else
        snprintf(row->algorithm, sizeof row->algorithm, "%s", algorithm->name);
    HR_TRY(hr_walk(&options, &row->walk));
    table->n++;
    return options.n == workers ? emulate(links, algorithm, row) : HR_OK;
}

static enum hr_status add_rings(struct links *links)
{
    struct hr_links_table *table = &links->table;
    struct hr_links_row *row = &table->row[table->n];
    struct hr_rings rings;
    size_t lanes = 0;
    row->emulated_s = NAN;
    HR_TRY(hr_rings_find(&links->topology, LOOKS, &rings));
    for (size_t i = 0; i < rings.n; i++)
        lanes += rings.lanes[i];
    snprintf(row->algorithm, sizeof row->algorithm, "rings (%zu, %zu lane%s)", rings.n, lanes,
             lanes == 1 ? "" : "s");
    snprintf(row->formula, sizeof row->formula, "2 N / %.6g GB/s", rings.total * 1e-9);
    row->textbook_s = 2 * (double)links->bytes / rings.total;
    const enum hr_status status = hr_walk_rings(&links->topology, &rings, links->bytes, &row->walk);
    hr_rings_fini(&rings);
    table->n += status == HR_OK;
    return status;
}

/* Every algorithm that has a plan, and the rings where the topology has some. */
static enum hr_status add_all(struct links *links)
{
    for (size_t i = 0; hr_algorithm_at(i); i++)
        if (hr_algorithm_at(i)->plan)
            HR_TRY(add_algorithm(links, hr_algorithm_at(i)));
    const enum hr_status status = add_rings(links);
    return status == HR_E_FAILED ? HR_OK : status;
}

static enum hr_status add_asked(struct links *links)
{
    const char *name = links->cli->train.algorithm;
    const struct hr_algorithm *algorithm = NULL;
    if (!hr_cli_was_given(links->cli, "algorithm") || !strcmp(name, "all"))
        return add_all(links);
    const bool rings = !strcmp(name, "rings");
    if (!rings)
        HR_TRY(hr_algorithm_find(name, &algorithm));
    if (links->cli->root[0] && algorithm != &hr_allreduce_master_worker)
        return hr_fail(HR_E_USAGE, "--root: is not supported with --algorithm %s", name);
    if (hr_cli_was_given(links->cli, "group-size") && algorithm != &hr_allreduce_hierarchical)
        return hr_fail(HR_E_USAGE, "--group-size: is not supported with --algorithm %s", name);
    if (rings && links->cli->emulate)
        return hr_fail(HR_E_USAGE, "--emulate: is not supported with --algorithm rings, which are "
                                   "known on paper only");
    if (rings)
        return add_rings(links);
    if (!algorithm->plan)
        return hr_fail(HR_E_USAGE,
                       "--algorithm %s: is chosen by measuring this machine; name one, "
                       "all, or rings",
                       name);
    return add_algorithm(links, algorithm);
}

static enum hr_status show_table(struct links *links)
{
    HR_TRY(add_asked(links));
    if (hr_cli_speaks(links->cli))
        links_print(stdout, &links->table);
    return publish(links->cli, hr_json_list(links->table.n, row_json, &links->table));
}

/* --- the other two --- */

static enum hr_status show_rings(struct links *links)
{
    struct hr_rings rings;
    HR_TRY(hr_rings_find(&links->topology, LOOKS, &rings));
    enum hr_status status = HR_OK;
    if (hr_cli_speaks(links->cli))
        rings_print(stdout, &links->topology, &rings);
    if (status == HR_OK)
        status = publish(links->cli, rings_json(&links->topology, &rings));
    hr_rings_fini(&rings);
    return status;
}

static enum hr_status sweep_servers(const struct links *links, struct hr_sweep *sweep, size_t s)
{
    const size_t servers = sweep->servers[s];
    double x[HR_SWEEP_WORKERS], y[HR_SWEEP_WORKERS];
    for (size_t m = 0; m < HR_SWEEP_WORKERS; m++) {
        int64_t ps;
        HR_TRY(hr_law_server_round(m + 1, servers, links->bytes, &links->link, &ps));
        x[m] = (double)(m + 1);
        y[m] = sweep->seconds[m][s] = hr_ps_seconds(ps);
    }
    sweep->slope_s[s] =
        hr_law_slope(x + servers - 1, y + servers - 1, HR_SWEEP_WORKERS + 1 - servers);
    sweep->law_s[s] = 2 * (double)links->bytes / ((double)servers * links->link.bandwidth);
    return HR_OK;
}

static enum hr_status show_sweep(const struct links *links)
{
    struct hr_sweep sweep = {.bytes = links->bytes, .link = links->link, .servers = {1, 2, 4, 8}};
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        HR_TRY(sweep_servers(links, &sweep, s));
    if (hr_cli_speaks(links->cli))
        sweep_print(stdout, &sweep);
    return publish(links->cli, sweep_json(&sweep));
}

enum hr_status hr_bench_links(struct hr_cli *cli)
{
    static struct links links;
    enum hr_status status;
    links = (struct links){.cli = cli};
    HR_TRY(check_options(cli));
    HR_TRY(read_numbers(&links));
    if (cli->sweep)
        return show_sweep(&links);
    status = prepare(&links);
    if (status == HR_OK)
        status = cli->find_rings ? show_rings(&links) : show_table(&links);
    for (size_t i = 0; i < links.table.n; i++)
        hr_walk_fini(&links.table.row[i].walk);
    hr_topology_fini(&links.topology);
    return status;
}
