/* hogring bench links - what a collective takes over links that this machine does not have. */
#include "bench/bench_kinds.h"

#include <math.h>
#include <string.h>

#include "bench/bench_loop.h"
#include "options/meaning.h"
#include "options/nearest.h"
#include "netsim/laws.h"
#include "netsim/walk_rings.h"
#include "bench/link_times.h"
#include "watch/watch.h"

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
    for (size_t w = 0; w < topology->nwires; w++)
        most = fmax(most, hr_wire_bandwidth(&topology->wire[w]));
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
        hr_links_print(stdout, &links->table);
    return hr_publish(links->cli, NULL, hr_json_links(&links->table));
}

/* --- the other two --- */

static enum hr_status show_rings(struct links *links)
{
    struct hr_rings rings;
    HR_TRY(hr_rings_find(&links->topology, LOOKS, &rings));
    enum hr_status status = HR_OK;
    if (hr_cli_speaks(links->cli))
        hr_rings_print(stdout, &links->topology, &rings);
    if (status == HR_OK)
        status = hr_publish(links->cli, NULL, hr_json_rings(&links->topology, &rings));
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
        hr_sweep_print(stdout, &sweep);
    return hr_publish(links->cli, NULL, hr_json_sweep(&sweep));
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
