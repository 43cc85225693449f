/* Hogwild on each of several machines, and averaging between them (--strategy hogwild
 * --sync-every H).
 *
 *   Story    the workers of a machine read and update that machine's shared weights without locks,
 *            as hogwild.c says. Every H steps of each worker, and at the end of an epoch, all come
 *            to a meeting: the weights of the n machines become their mean, and all go on. So it is
 *            local SGD of machines, each of which is a Hogwild. States of optimizers are each
 *            worker's own, and are not averaged.
 *   Promise  all machines' weights are bit-equal after each averaging, which is checked at cuts
 *            there. Within a machine no value is torn, and updates may be lost.
 *   Batches  batch i is of the machine on which active worker i mod W lives; which of its
 *            workers takes it is decided as it comes. A round is the H W batches behind the last
 *            averaging, fewer where an epoch ends: so all know without messages when to meet, and
 *            each sample is trained on once.
 *   Order    T(n) over machines, then one multiplication by 1 / n: machines count alike.
 *   Meeting  a worker that finds no more batches comes. The last one of its machine lets the leader
 *            (hr_leaders) copy the weights out, add them up with the other leaders', and
 *            store the mean where all of the machine read it.
 *   Cuts     one that comes in the middle of a round is a meeting, too, whose mean is the model,
 *            which is evaluated and saved; but no machine stores it: their weights stay apart, and
 *            the round goes on. A run that is resumed there begins with the mean, and a new round.
 *   Stop     requests to stop or save wait for the next averaging, since machines exchange nothing
 *            before.
 *   Staleness, skew, lost updates  are those of a machine's workers among themselves.
 *   Source   Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019; Zinkevich et
 *            al., "Parallelized Stochastic Gradient Descent", NIPS 2010; and hogwild.c's.
 */
#include "strategies/hogwild_averaged.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "strategies/buckets.h"
#include "strategies/hogwild.h"

/* What the workers of this machine share: [hogwild's | a node]. Other machines have their own. */
struct node {
    alignas(HR_LINE) struct hr_atom32 came; /* workers, to all meetings together */
    alignas(HR_LINE) struct hr_atom32 met;  /* meetings that are over. Writer: the leader */
    uint64_t at, begins; /* index of the last meeting; of the round. Published by met */
};

static const struct hr_hogwild *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

static struct node *node_of(const struct hr_worker *worker)
{
    return own_of(worker)->weights.end;
}

size_t hr_averaging_bytes(const struct hr_shared_state *shared)
{
    return hr_shared_is_multinode(shared) ? sizeof(struct node) : 0;
}

void hr_averaging_init(const struct hr_shared_state *shared, void *memory)
{
    struct node *node = memory;
    if (hr_shared_is_multinode(shared))
        node->at = node->begins = shared->active->index;
}

struct hr_averaging {
    uint32_t meetings; /* that it has come to */
    uint64_t meets_at; /* index of the last of them */
    bool stored;       /* there the mean became the weights */
    bool leads;        /* its machine; then: */
    struct hr_member leaders;
    struct hr_traffic counted; /* of its traffic: what stats have */
    struct hr_buckets sum;     /* of weights */
};

static size_t leader_of(const struct hr_worker *worker)
{
    return worker->shared->leaders.rank[worker->shared->leaders.here];
}

enum hr_status hr_averaging_start(struct hr_worker *worker, struct hr_averaging **out)
{
    const struct hr_shared_state *shared = worker->shared;
    if (!hr_shared_is_multinode(shared))
        return HR_OK;
    struct hr_averaging *it = calloc(1, sizeof *it);
    if (!it)
        return hr_fail(HR_E_NOMEM, "no memory for a worker");
    if (worker->rank == leader_of(worker)) {
        it->sum = (struct hr_buckets){
            .member = &it->leaders,
            .grads = worker->weights,
            .params = shared->params,
            .least = shared->params,
        };
        const enum hr_status status = hr_leaders_join(shared, worker->waiter, &it->leaders);
        if (status != HR_OK) {
            free(it);
            return status;
        }
        it->leads = true;
    }
    *out = it;
    return HR_OK;
}

void hr_averaging_stop(struct hr_averaging *it)
{
    if (it && it->leads)
        hr_member_fini(&it->leaders);
    free(it);
}

/* --- which batch comes next --- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Where the weights are to be averaged next. */
static uint64_t due_of(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const uint64_t begins = node_of(worker)->begins;
    return min_u64(begins + (uint64_t)shared->options->sync_every * shared->active->n,
                   hr_batch_schedule_next_end(&shared->schedule, begins));
}

/* Where all meet next: there, or at a cut before. */
static uint64_t meets_at(const struct hr_worker *worker)
{
    const struct hr_dispenser *dispenser = worker->shared->dispenser;
    /* Partners: the leader of the run, at a cut; ask_to_quiesce. */
    const uint64_t cut = min_u64(hr_atom64_load_acquire(&dispenser->cut),
                                 hr_atom64_load_acquire(&dispenser->stop_at));
    return min_u64(due_of(worker), cut);
}

/* The first batch of this machine from `index` on. */
static uint64_t first_here(const struct hr_shared_state *shared, uint64_t index)
{
    const uint64_t all = shared->active->n, each = shared->leaders.each;
    const uint64_t first = shared->leaders.first, place = index % all;
    if (place < first)
        return index + (first - place);
    return place < first + each ? index : index + (all - place) + first;
}

static bool draw(const struct hr_worker *worker, uint64_t end, uint64_t *index)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_atom64 *next = &shared->dispenser->next;
    uint64_t seen;
    if (shared->hosts.self == 0 && hr_returned_take(shared->returned, index))
        return true;
    do {
        seen = hr_atom64_load_acquire(next); /* partners: the others here */
        *index = first_here(shared, seen);
        if (*index >= end)
            return false;
    } while (!hr_atom64_replace_acq_rel(next, seen, *index + 1));
    return true;
}

/* A batch, or a cut, or nothing before a meeting. Behind one there is always either. */
static bool decide(const struct hr_worker *worker, uint64_t *index, bool *batch)
{
    const uint64_t end = meets_at(worker);
    *batch = draw(worker, end, index);
    if (!*batch)
        *index = end;
    return *batch || node_of(worker)->at == end;
}

/* --- a meeting --- */

/* The whole run rests at the next averaging, if somebody asks. */
static void ask_to_quiesce(const struct hr_worker *worker, uint64_t due)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_atom64 *stop_at = &shared->dispenser->stop_at;
    /* Partner: meets_at, in every worker, behind the sum, which needs what we send after this. */
    if (worker->group_rank == 0 && hr_atom64_load_acquire(stop_at) == UINT64_MAX &&
        hr_shared_quiesces(shared, due))
        hr_atom64_store_release(stop_at, due);
}

static void come(struct hr_averaging *it, struct hr_worker *worker)
{
    it->meetings++;
    it->meets_at = meets_at(worker);
    it->stored = it->meets_at == due_of(worker);
    if (it->stored)
        ask_to_quiesce(worker, it->meets_at);
    hr_stragglers_arrive(worker, hr_arrival_key(it->meets_at), hr_clock_ns());
    /* Partner: all_came, in the leader: it has all pushes. */
    hr_atom32_fetch_add_acq_rel(&node_of(worker)->came, 1);
    hr_bell_ring(&worker->shared->control->rank[leader_of(worker)].bell);
}

/* (hr_ready_fn) */
static bool all_came(void *arg)
{
    const struct hr_worker *worker = arg;
    const uint32_t all =
        own_of(worker)->averaging->meetings * (uint32_t)worker->shared->leaders.each;
    return hr_atom32_load_acquire(&node_of(worker)->came) == all; /* partner: come */
}

static void count_traffic(struct hr_averaging *it, struct hr_worker *worker)
{
    const struct hr_traffic traffic = hr_member_traffic(&it->leaders);
    worker->stats->bytes_sent += traffic.bytes_sent - it->counted.bytes_sent;
    worker->stats->bytes_received += traffic.bytes_received - it->counted.bytes_received;
    it->counted = traffic;
}

/* The mean stands in the leader's copy, and where it is due in the weights. What is frozen has
 * their bits. */
static void end_sum(struct hr_averaging *it, struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_hogwild_weights *live = &own_of(worker)->weights;
    struct node *node = live->end;
    hr_vec()->scale(worker->weights, 1.0f / (float)shared->leaders.options.nranks, shared->params);
    hr_keep_frozen(&shared->optimizer, 0, shared->params, worker->weights,
                   (const float *)(const void *)live->pairs); /* all are quiescent */
    count_traffic(it, worker);
    if (it->stored) {
        hr_hogwild_store(live, 0, shared->params, worker->weights);
        node->begins = it->meets_at;
    }
    node->at = it->meets_at;
    hr_atom64_store_release(&shared->dispenser->next, it->meets_at); /* nobody here draws now */
    hr_atom32_store_release(&node->met, it->meetings);               /* partner: is_over */
    for (size_t s = worker->group_rank + 1; s < worker->group_rank + shared->leaders.each; s++)
        hr_bell_ring(&shared->control->rank[shared->active->rank[s]].bell);
}

/* (hr_ready_fn) */
static bool is_over(void *arg)
{
    const struct hr_worker *worker = arg;
    /* Partner: end_sum. */
    return hr_atom32_load_acquire(&node_of(worker)->met) == own_of(worker)->averaging->meetings;
}

static enum hr_status add_up(struct hr_averaging *it, struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    HR_TRY(hr_rank_await(rank, NULL, all_came, worker));
    hr_hogwild_load(&own_of(worker)->weights, 0, worker->shared->params, worker->weights);
    HR_TRY(hr_buckets_sum(rank, &it->sum, 0));
    end_sum(it, worker);
    return HR_OK;
}

enum hr_status hr_averaging_draw(struct hr_averaging *it, struct hr_rank *rank, uint64_t *index,
                                 bool *batch, bool *met)
{
    struct hr_worker *worker = rank->worker;
    while (!decide(worker, index, batch)) {
        come(it, worker);
        HR_TRY(it->leads ? add_up(it, rank) : hr_rank_await(rank, NULL, is_over, worker));
        *met = true;
    }
    return HR_OK;
}

/* It is the machine's weights, or the leader's copy alone, which stays as it is until all go on. */
void hr_averaging_take_mean(const struct hr_averaging *it, struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    if (it->stored)
        hr_hogwild_load(&own_of(worker)->weights, 0, shared->params, worker->weights);
    else if (!it->leads)
        memcpy(worker->weights, shared->weights[leader_of(worker)],
               shared->params * sizeof *worker->weights);
}
