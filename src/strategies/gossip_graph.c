#include "strategies/gossip_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "checkpoint/digest.h"

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
        return hr_fail(HR_E_USAGE, "--gossip-graph hypercube: %zu workers; expected a power of two",
                       n);
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
    return hr_fail(HR_E_USAGE,
                   "--gossip-graph %s:%zu: expected a link as two different workers of 0 to %zu, "
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
                       "--gossip-graph %s: expected ring, torus, hypercube, complete, or a file "
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

enum hr_status hr_gossip_graph_make(struct hr_gossip_graph *graph, const char *text)
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

size_t hr_gossip_graph_weigh(const struct hr_gossip_graph *graph, double step, float *weights)
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
enum hr_status hr_gossip_graph_measure(const struct hr_gossip_graph *graph, uint64_t *reach)
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
                   "--gossip-graph: worker 0 reaches %zu of %zu workers; expected a "
                   "graph that joins all",
                   known, n);
}

uint64_t hr_gossip_graph_digest(const struct hr_gossip_graph *graph)
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
