/* served_twin.h - a plain serial model of parameter servers that lose workers. It is told which
 * inputs the shards took, in their order, and what the workers pushed; it works out the weights in
 * double, and counts what was trained on. Every parameter of a shard's slice is the same number.
 */
#ifndef HR_TESTS_STRATEGY_SERVED_TWIN_H
#define HR_TESTS_STRATEGY_SERVED_TWIN_H

#include "server/server.h"
#include "support/script.h"

#include "support/check.h"

enum {
    TWIN_BATCHES = 24,
    TWIN_HANDS = 3 /* most batches between two exchanges */
};

/* What a worker has under way. */
struct twin_worker {
    uint64_t batch[TWIN_HANDS]; /* of its gradients since the last exchange; else of the last one */
    size_t n;
    double given;                   /* the last gradient */
    double replica[SCRIPT_SERVERS]; /* exchanges: what the shard will find */
    bool fresh[SCRIPT_SERVERS];     /* it is back: the next answer has the center */
    uint64_t pushes[SCRIPT_SERVERS];
    size_t taken; /* shards that have taken its present loss */
};

struct twin {
    size_t servers;
    bool exchanges, shares; /* elastic-averaging; backup-workers */
    double weights[SCRIPT_SERVERS];
    double sum;                      /* shares: of the step in hand, */
    uint64_t samples, step, version; /* so many, that step; updates so far */
    uint64_t trained[TWIN_BATCHES];  /* how often, by shard 0's word; shares: samples */
    double loss;                     /* of all trained on */
    uint64_t partial;
    struct twin_worker worker[SCRIPT_WORKERS];
};

static inline float twin_gradient(uint64_t index)
{
    return (float)(1 + index * 5 % 7);
}

/* The worker computes the gradient of a batch; an exchange is of all since the last. */
static inline void twin_compute(struct twin *twin, size_t w, uint64_t index)
{
    struct twin_worker *worker = &twin->worker[w];
    if (!twin->exchanges)
        worker->n = 0;
    assert_true(worker->n < TWIN_HANDS);
    worker->batch[worker->n++] = index;
    worker->given = (double)twin_gradient(index);
}

static inline void twin_offer(struct twin *twin, size_t w)
{
    for (size_t s = 0; s < twin->servers && twin->exchanges; s++)
        twin->worker[w].replica[s] -= twin->worker[w].given;
}

/* At a cut all begin at the center. */
static inline void twin_leave_cut(struct twin *twin, size_t w)
{
    twin->worker[w].n = 0;
    for (size_t s = 0; s < twin->servers; s++)
        twin->worker[w].replica[s] = twin->weights[s];
}

/* What made the update, or was dropped: the shard says. */
static inline void twin_take_share(struct twin *twin, const struct hr_shard *shard, size_t w)
{
    const struct hr_client *client = &shard->worker[w];
    const double g = twin->worker[w].given;
    if (client->outcome == 2)
        return;
    if (client->index != twin->step)
        twin->sum = (double)(twin->samples = 0);
    twin->step = client->index;
    twin->sum += g * (double)client->samples;
    twin->loss += g;
    twin->samples += client->samples;
    twin->trained[client->index] += client->samples;
}

static inline void twin_take_push(struct twin *twin, const struct hr_shard *shard, size_t w)
{
    struct twin_worker *worker = &twin->worker[w];
    const size_t s = shard->number;
    const double d = 0.5 * (worker->replica[s] - twin->weights[s]);
    worker->pushes[s]++;
    if (twin->shares) {
        twin_take_share(twin, shard, w);
        return;
    }
    twin->weights[s] += twin->exchanges ? d : -worker->given;
    worker->replica[s] -= d;
    for (size_t i = 0; s == 0 && i < worker->n; i++) {
        twin->trained[worker->batch[i]]++;
        twin->loss += (double)twin_gradient(worker->batch[i]);
    }
}

static inline void twin_take_gone(struct twin *twin, size_t w)
{
    struct twin_worker *worker = &twin->worker[w];
    bool differ = false;
    if (++worker->taken < twin->servers)
        return;
    for (size_t s = 0; s < twin->servers; s++)
        differ = differ || worker->pushes[s] != worker->pushes[0];
    twin->partial += differ;
    *worker = (struct twin_worker){.n = 0};
    for (size_t s = 0; s < twin->servers; s++)
        worker->fresh[s] = true;
}

/* The shard has taken an input: repeat it, and compare. */
static inline void twin_take(struct twin *twin, const struct hr_shard *shard)
{
    const size_t s = shard->number, w = shard->taken.worker;
    const uint32_t kind = shard->taken.kind;
    if (hr_server_carries_slice(kind))
        twin_take_push(twin, shard, w);
    else if (kind == HR_GONE)
        twin_take_gone(twin, w);
    else if (kind == HR_PULL && twin->worker[w].fresh[s]) {
        twin->worker[w].replica[s] = twin->weights[s];
        twin->worker[w].fresh[s] = false;
    }
    if (twin->shares && shard->version > twin->version) {
        twin->weights[0] -= twin->sum / (double)twin->samples;
        twin->version++;
    }
    CHECK_NEAR((double)shard->weights[0], twin->weights[s], 1e-4, 1e-3);
    CHECK_NEAR((double)shard->weights[shard->count - 1], twin->weights[s], 1e-4, 1e-3);
}

#endif
