#include "strategies/gossip_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "checkpoint/digest.h"
#include "strategies/gossip_graph.h"
#include "strategy/shared.h"

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
    const struct hr_seats *seats = shared->seats;
    const float *all = weights_of(shared, worker);
    memset(row, 0, shared->workers * sizeof *row);
    row[worker] = all[worker];
    for (size_t w = 0, s = 0; w < shared->workers; w++) {
        const bool seated = s < seats->n && seats->rank[s] == w;
        s += seated;
        if (w != worker && seated)
            row[w] = all[w];
        else if (w != worker)
            row[worker] += all[w];
    }
}

uint64_t hr_gossip_reach(const struct hr_shared_state *shared)
{
    const struct hr_seats *seats = shared->seats;
    uint64_t links[HR_VEC_MAX_INPUTS] = {0}; /* from the first seat, by seats */
    size_t found[HR_VEC_MAX_INPUTS], known = 1;
    found[0] = 0;
    if (seats->n == shared->workers)
        return ((const struct setup *)shared->setup)->reach;
    for (size_t k = 0; k < known; k++)
        for (size_t s = 1; s < seats->n; s++)
            if (!links[s] && hr_gossip_neighbours(shared, seats->rank[found[k]], seats->rank[s])) {
                links[s] = links[found[k]] + 1;
                found[known++] = s;
            }
    return known < seats->n ? UINT64_MAX : known > 1 ? links[found[known - 1]] : 1;
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
    HR_TRY_GOTO(hr_gossip_graph_make(&graph, shared->options->gossip_graph), status, out);
    HR_TRY_GOTO(hr_setup_take(shared, sizeof *setup + n * n * sizeof(float)), status, out);
    setup = shared->setup;
    HR_TRY_GOTO(hr_compress_parse(shared->options->compress, &how), status, out);
    setup->step = hr_consensus_step(shared->options, &how);
    setup->links = hr_gossip_graph_weigh(&graph, setup->step, setup->weights);
    if (graph.of_file)
        shared->graph_digest = hr_digest64_text(hr_gossip_graph_digest(&graph));
    status = hr_gossip_graph_measure(&graph, &setup->reach);
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
