#include "verify/orders.h"

#include <string.h>

#include "base/size.h"

enum { RUN = 16384, MOST = 64 }; /* elements that are dealt out together; ranks */

/* T(n): of the first numbers, as many as the largest power of two below n, and of the rest. */
static float tree_sum(const float *x, size_t n)
{
    size_t first = 1;
    if (n == 1)
        return x[0];
    while (2 * first < n)
        first *= 2;
    const float left = tree_sum(x, first), right = tree_sum(x + first, n - first);
    return left + right;
}

/* From rank `first`, n times one on (or, backward, one back). */
static float round_the_ring(const float *x, size_t n, size_t first, int backward)
{
    float sum = x[first];
    for (size_t k = 1; k < n; k++) {
        const float next = x[(first + (backward ? n - k : k)) % n];
        sum = sum + next;
    }
    return sum;
}

static float from_the_last(const float *x, size_t n)
{
    float reversed[MOST];
    for (size_t i = 0; i < n; i++)
        reversed[i] = x[n - 1 - i];
    return tree_sum(reversed, n);
}

/* Leaves x_r + x_(r+p), p the largest power of two up to n. */
static float halved(const float *x, size_t n)
{
    float leaf[MOST];
    size_t p = 1;
    while (2 * p <= n)
        p *= 2;
    for (size_t r = 0; r < p; r++)
        leaf[r] = r + p < n ? x[r] + x[r + p] : x[r];
    return tree_sum(leaf, p);
}

static float by_nodes(const float *x, size_t n, size_t size)
{
    float node[MOST];
    size_t nodes = 0;
    for (size_t first = 0; first < n; first += size)
        node[nodes++] = tree_sum(x + first, hr_min_size(size, n - first));
    return tree_sum(node, nodes);
}

float hr_order_sum(const char *algorithm, const float *x, size_t n, size_t index, size_t group_size)
{
    const size_t run = index / RUN;
    if (!strcmp(algorithm, "ring"))
        return round_the_ring(x, n, run % n, 0);
    if (!strcmp(algorithm, "bidirectional-ring")) {
        const size_t chunk = run % (2 * n), half = chunk / 2;
        return chunk % 2 ? round_the_ring(x, n, n - 1 - half, 1) : round_the_ring(x, n, half, 0);
    }
    if (!strcmp(algorithm, "double-tree") && run % 2)
        return from_the_last(x, n);
    if (!strcmp(algorithm, "halving-doubling"))
        return halved(x, n);
    if (!strcmp(algorithm, "hierarchical"))
        return by_nodes(x, n, group_size);
    return tree_sum(x, n);
}
