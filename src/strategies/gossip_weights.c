#include "strategies/gossip_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"
#include "checkpoint/digest.h"
#include "strategy/shared.h"

static void tie(struct hr_gossip_graph *graph, size_t a, size_t b)
{
    unsigned char *there = &graph->linked[a * graph->n + b];
    const bool is_new = a != b && !*there;
    graph->degree[a] += is_new;
    graph->degree[b] += is_new;
    *there = graph->linked[b * graph->n + a] = a != b;
}

static enum hr_status ring(struct hr_gossip_graph *graph)
{
    for (size_t i = 0; i < graph->n; i++)
        tie(graph, i, (i + 1) % graph->n);
    return HR_OK;
}

static enum hr_status complete(struct hr_gossip_graph *graph)
{
    for (size_t i = 0; i < graph->n; i++)
        for (size_t j = 0; j < i; j++)
            tie(graph, i, j);
    return HR_OK;
}

static enum hr_status hypercube(struct hr_gossip_graph *graph)
{
    const size_t n = graph->n;
    if (n & (n - 1))
        return hr_fail(HR_E_USAGE,
                       "--strategy gossip:hypercube: %zu workers; expected a power of two", n);
    for (size_t i = 0; i < n; i++)
        for (size_t bit = 1; bit < n; bit *= 2)
            tie(graph, i, i ^ bit);
    return HR_OK;
}

/* Rows and columns as equal as n allows; for a prime number a ring. */
static enum hr_status torus(struct hr_gossip_graph *graph)
{
    const size_t n = graph->n;
    size_t rows = 1;
    for (size_t d = 1; d * d <= n; d++)
        rows = n % d ? rows : d;
    const size_t columns = n / rows;
    for (size_t i = 0; i < n; i++) {
        const size_t row = i / columns, column = i % columns;
        tie(graph, i, row * columns + (column + 1) % columns);
        tie(graph, i, (row + 1) % rows * columns + column);
    }
    return HR_OK;
}

static enum hr_status refuse_link(const struct hr_gossip_graph *graph, const char *path,
                                  size_t number)
{
    return hr_fail(
        HR_E_USAGE,
        "--strategy gossip:%s:%zu: expected a link as two different workers of 0 to %zu, "
        "like \"0 1\"",
        path, number, graph->n - 1);
}

/* "0 1": a link between two workers; "#" begins a comment. */
static enum hr_status read_link(struct hr_gossip_graph *graph, const char *path, size_t number,
                                char *line)
{
    size_t a, b;
    char more[2];
    line[strcspn(line, "#")] = '\0';
    const int fields = sscanf(line, "%zu %zu %1s", &a, &b, more);
    if (fields == EOF) /* blank */
        return HR_OK;
    if (fields != 2 || a >= graph->n || b >= graph->n || a == b)
        return refuse_link(graph, path, number);
    tie(graph, a, b);
    return HR_OK;
}

static enum hr_status read_file(struct hr_gossip_graph *graph, const char *path)
{
    enum { CAP = 16 << 20 };
    char *text, *line;
    size_t bytes, number = 1;
    if (hr_file_read_all(path, CAP, &text, &bytes) != HR_OK)
        return hr_fail(HR_E_USAGE,
                       "--strategy gossip:%s: expected ring, torus, hypercube, complete, or a file "
                       "of links between workers",
                       path);
    enum hr_status status = HR_OK;
    for (char *rest = text; status == HR_OK && (line = strsep(&rest, "\n")); number++) {
        const char *end = rest ? rest - 1 : text + bytes;
        status = strlen(line) == (size_t)(end - line) ? read_link(graph, path, number, line)
                                                      : refuse_link(graph, path, number);
    }
    free(text);
    return status;
}

/* Fill in a zeroed graph of n workers. text: ring, torus, hypercube, complete, or a file's path.
 * HR_E_USAGE. */
static enum hr_status gossip_graph_make(struct hr_gossip_graph *graph, const char *text)
{
    static const struct {
        const char *name;
        enum hr_status (*make)(struct hr_gossip_graph *graph);
    } shapes[] = {
        {"ring", ring}, {"torus", torus}, {"hypercube", hypercube}, {"complete", complete}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(text, shapes[i].name))
            return shapes[i].make(graph);
    graph->of_file = true;
    return read_file(graph, text);
}

/* W (n, n), 0: no neighbours; see gossip.c. step: the consensus step, 1: the whole way (see
 * public_copies.h). Returns the number of links. */
static size_t gossip_graph_weigh(const struct hr_gossip_graph *graph, double step, float *weights)
{
    const size_t n = graph->n, *degree = graph->degree;
    size_t links = 0;
    for (size_t i = 0; i < n; i++) {
        double rest = 1;
        for (size_t j = 0; j < n; j++) {
            if (!graph->linked[i * n + j])
                continue;
            const double weight =
                step / (double)(1 + (degree[i] > degree[j] ? degree[i] : degree[j]));
            weights[i * n + j] = (float)weight;
            rest -= weight;
            links += i < j;
        }
        weights[i * n + i] = (float)rest;
    }
    return links;
}

/* Breadth-first search from worker 0; reached[]: workers in the order in which they are found. */
static enum hr_status gossip_graph_measure(const struct hr_gossip_graph *graph, uint64_t *reach)
{
    const size_t n = graph->n;
    size_t *reached = calloc(2 * n, sizeof *reached), *links = reached + n, known = 1;
    if (!reached)
        return hr_fail(HR_E_NOMEM, "no memory for a graph of %zu workers", n);
    for (size_t k = 0; k < known; k++)
        for (size_t j = 1, i = reached[k]; j < n; j++)
            if (graph->linked[i * n + j] && !links[j]) {
                links[j] = links[i] + 1;
                reached[known++] = j;
            }
    *reach = known > 1 ? links[reached[known - 1]] : 1;
    free(reached);
    if (known == n)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--strategy gossip: worker 0 reaches %zu of %zu workers; expected a "
                   "graph that joins all",
                   known, n);
}

/* Of its links, in whatever order and with whatever comments a file has them. */
static uint64_t gossip_graph_digest(const struct hr_gossip_graph *graph)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < graph->n; i++)
        for (size_t j = 0; j < i; j++)
            if (graph->linked[i * graph->n + j]) {
                const uint64_t so_far[] = {digest, i, j};
                digest = hr_digest64(so_far, sizeof so_far);
            }
    return digest;
}

struct setup {
    uint64_t reach;
    size_t links;    /* of all workers together */
    double step;     /* the consensus step; 1 without --compress */
    float weights[]; /* W (workers, workers) */
};

static const float *weights_of(const struct hr_shared_state *shared, size_t worker)
{
    return ((const struct setup *)shared->setup)->weights + worker * shared->workers;
}

bool hr_gossip_neighbours(const struct hr_shared_state *shared, size_t i, size_t j)
{
    return i != j && weights_of(shared, i)[j] > 0;
}

void hr_gossip_row(const struct hr_shared_state *shared, size_t worker, float *row)
{
    const struct hr_active *active = shared->active;
    const float *all = weights_of(shared, worker);
    memset(row, 0, shared->workers * sizeof *row);
    row[worker] = all[worker];
    for (size_t w = 0, s = 0; w < shared->workers; w++) {
        const bool is_active = s < active->n && active->rank[s] == w;
        s += is_active;
        if (w != worker && is_active)
            row[w] = all[w];
        else if (w != worker)
            row[worker] += all[w];
    }
}

uint64_t hr_gossip_reach(const struct hr_shared_state *shared)
{
    const struct hr_active *active = shared->active;
    uint64_t links[HR_VEC_MAX_INPUTS] = {0}; /* from the first active worker, by group rank */
    size_t found[HR_VEC_MAX_INPUTS], known = 1;
    found[0] = 0;
    if (active->n == shared->workers)
        return ((const struct setup *)shared->setup)->reach;
    for (size_t k = 0; k < known; k++)
        for (size_t s = 1; s < active->n; s++)
            if (!links[s] &&
                hr_gossip_neighbours(shared, active->rank[found[k]], active->rank[s])) {
                links[s] = links[found[k]] + 1;
                found[known++] = s;
            }
    return known < active->n ? UINT64_MAX : known > 1 ? links[found[known - 1]] : 1;
}

double hr_consensus_step(const struct hr_train_options *options, const struct hr_compress *how)
{
    if (!how->how || options->consensus_step > 0)
        return how->how ? options->consensus_step : 1;
    return hr_compress_is_sparse(how) ? sqrt(how->percent / 100) : 1;
}

enum hr_status hr_gossip_prepare(struct hr_shared_state *shared)
{
    const size_t n = shared->workers;
    struct hr_gossip_graph graph = {.n = n, .degree = calloc(n, sizeof(size_t) + n)};
    struct hr_compress how;
    struct setup *setup;
    enum hr_status status;
    if (!graph.degree)
        return hr_fail(HR_E_NOMEM, "no memory for a graph of %zu workers", n);
    graph.linked = (unsigned char *)(graph.degree + n);
    shared->have_peers = true;
    HR_TRY_GOTO(gossip_graph_make(&graph, shared->options->gossip_graph), status, out);
    HR_TRY_GOTO(hr_setup_take(shared, sizeof *setup + n * n * sizeof(float)), status, out);
    setup = shared->setup;
    HR_TRY_GOTO(hr_compress_parse(shared->options->compress, &how), status, out);
    setup->step = hr_consensus_step(shared->options, &how);
    setup->links = gossip_graph_weigh(&graph, setup->step, setup->weights);
    if (graph.of_file)
        shared->graph_digest = hr_digest64_text(gossip_graph_digest(&graph));
    status = gossip_graph_measure(&graph, &setup->reach);
out:
    free(graph.degree);
    return status;
}

void hr_gossip_describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    const struct setup *setup = shared->setup;
    char step[40] = "";
    if (setup->step != 1)
        snprintf(step, sizeof step, ", consensus-step %.3g", setup->step);
    snprintf(text, size, "gossip-graph %.48s, %zu link%s%s", shared->options->gossip_graph,
             setup->links, setup->links == 1 ? "" : "s", step);
}

void hr_gossip_average(const struct hr_shared_state *shared, const float *weights,
                       const float *const *x, size_t at, size_t count, float *out)
{
    bool first = true;
    for (size_t j = 0; j < shared->workers; j++) {
        if (weights[j] > 0 && !first)
            hr_vec()->axpy(out, weights[j], x[j] + at, count);
        if (weights[j] > 0 && first) {
            memcpy(out, x[j] + at, count * sizeof *out);
            hr_vec()->scale(out, weights[j], count);
            first = false;
        }
    }
}
