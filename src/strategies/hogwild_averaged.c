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
 *   Batches  batch i is of the machine on which worker i mod W lives; which of its workers takes it
 *            is decided as it comes. A round is the H W batches behind the last averaging, fewer
 *            where an epoch ends: so all know without messages when to meet, and each sample is
 *            trained on once.
 *   Order    T(n) over machines, then one multiplication by 1 / n: machines count alike.
 *   Meeting  a worker that finds no more batches comes. The last one of its machine lets the leader
 *            (strategy/leaders.h) copy the weights out, add them up with the other leaders', and
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
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "strategies/buckets.h"
#include "strategies/hogwild_live.h"
#include "strategies/pushes.h"
#include "strategies/strategies.h"

/* What the workers of this machine share: [hogwild's | a node]. Other machines have their own. */
struct node {
    alignas(HR_LINE) struct hr_atom32 came; /* workers, to all meetings together */
    alignas(HR_LINE) struct hr_atom32 met;  /* meetings that are over. Writer: the leader */
    uint64_t at, begins; /* index of the last meeting; of the round. Published by met */
};

static size_t before_node(const struct hr_shared_state *shared)
{
    return hr_round_up(hr_hogwild_bytes(shared), HR_LINE);
}

static size_t bytes(const struct hr_shared_state *shared)
{
    return before_node(shared) + sizeof(struct node);
}

static struct node *node_of(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    return (void *)((unsigned char *)shared->own + before_node(shared));
}

static void init(struct hr_shared_state *shared)
{
    struct node *node = (void *)((unsigned char *)shared->own + before_node(shared));
    hr_hogwild_init(shared);
    node->at = node->begins = shared->schedule.first;
}

enum stage { DRAWING, COMING, ADDING, DECIDED };

/* A worker's own. */
struct own {
    struct hr_hogwild_own hogwild; /* first */
    enum stage stage;
    struct hr_task task; /* as it was decided */
    uint32_t meetings;   /* that it has come to */
    uint64_t meets_at;   /* index of the last of them */
    bool stored;         /* there the mean became the weights */
    bool pulls;          /* its copy is not what it was, or the weights are not */
    /* The leader's: */
    struct hr_member leaders;
    struct hr_traffic counted; /* of its traffic: what stats have */
    struct hr_buckets sum;     /* of weights */
    enum hr_status status;
};

static struct own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

static size_t leader_of(const struct hr_worker *worker)
{
    return worker->shared->leaders.rank[worker->shared->homes.self];
}

static bool leads(const struct hr_worker *worker)
{
    return worker->rank == leader_of(worker);
}

static enum hr_status start(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    HR_TRY(hr_hogwild_start(worker));
    if (!leads(worker))
        return HR_OK;
    own->sum = (struct hr_buckets){
        .member = &own->leaders,
        .grads = worker->weights,
        .params = worker->shared->params,
        .least = worker->shared->params,
    };
    const enum hr_status status = hr_leaders_join(worker->shared, worker->waiter, &own->leaders);
    if (status != HR_OK)
        hr_state_stop(worker);
    return status;
}

static void stop(struct hr_worker *worker)
{
    if (leads(worker))
        hr_member_fini(&own_of(worker)->leaders);
    hr_state_stop(worker);
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
    return min_u64(begins + (uint64_t)shared->options->sync_every * shared->workers,
                   hr_batch_schedule_next_end(&shared->schedule, begins));
}

/* Where all meet next: there, or at a cut before. */
static uint64_t meets_at(const struct hr_worker *worker)
{
    const struct hr_dispenser *dispenser = worker->shared->dispenser;
    /* Partners: the leader of the run, at a cut; ask_to_rest. */
    const uint64_t cut = min_u64(hr_atom64_load_acquire(&dispenser->cut),
                                 hr_atom64_load_acquire(&dispenser->stop_at));
    return min_u64(due_of(worker), cut);
}

/* The first batch of this machine from `index` on. */
static uint64_t first_here(const struct hr_shared_state *shared, uint64_t index)
{
    const uint64_t all = shared->workers, each = shared->leaders.each;
    const uint64_t first = shared->homes.self * each, place = index % all;
    if (place < first)
        return index + (first - place);
    return place < first + each ? index : index + (all - place) + first;
}

static bool draw(const struct hr_worker *worker, uint64_t end, uint64_t *index)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_atom64 *next = &shared->dispenser->next;
    uint64_t seen;
    if (shared->homes.self == 0 && hr_fates_take(shared->fates, index))
        return true;
    do {
        seen = hr_atom64_load_acquire(next); /* partners: the others here */
        *index = first_here(shared, seen);
        if (*index >= end)
            return false;
    } while (!hr_atom64_replace_acq_rel(next, seen, *index + 1));
    return true;
}

/* A task, or nothing before a meeting. Behind one there is always either. */
static bool decide(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    const uint64_t end = meets_at(worker);
    if (draw(worker, end, &own->task.index))
        own->task.kind = HR_TASK_BATCH;
    else if (node_of(worker)->at == end)
        own->task = (struct hr_task){HR_TASK_CUT, end};
    else
        return false;
    return true;
}

/* --- a meeting --- */

/* The whole run rests at the next averaging, if somebody asks. */
static void ask_to_rest(const struct hr_worker *worker, uint64_t due)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_atom64 *stop_at = &shared->dispenser->stop_at;
    /* Partner: meets_at, in every worker, behind the sum, which needs what we send after this. */
    if (worker->seat == 0 && hr_atom64_load_acquire(stop_at) == UINT64_MAX &&
        hr_shared_rests(shared, due))
        hr_atom64_store_release(stop_at, due);
}

static void come(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    own->meetings++;
    own->meets_at = meets_at(worker);
    own->stored = own->meets_at == due_of(worker);
    if (own->stored)
        ask_to_rest(worker, own->meets_at);
    hr_arrivals_come(worker, hr_arrival_key(own->meets_at), hr_clock_ns());
    /* Partner: all_came, in the leader: it has all pushes. */
    hr_atom32_fetch_add_acq_rel(&node_of(worker)->came, 1);
    hr_bell_ring(&worker->shared->control->rank[leader_of(worker)].bell);
    own->stage = COMING;
}

static bool all_came(const struct hr_worker *worker)
{
    const uint32_t all = own_of(worker)->meetings * (uint32_t)worker->shared->leaders.each;
    return hr_atom32_load_acquire(&node_of(worker)->came) == all; /* partner: come */
}

/* Messages to it come by others' threads, which may ring another bell than the one that it parks
 * on: then it looks up now and then. */
static void begin_sum(struct hr_worker *worker)
{
    struct hr_buckets *sum = &own_of(worker)->sum;
    hr_hogwild_pull(worker);
    hr_buckets_reset(sum);
    sum->bell = worker->bell;
    hr_buckets_final(sum, 0);
    own_of(worker)->stage = ADDING;
}

static void count_traffic(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    const struct hr_traffic traffic = hr_member_traffic(&own->leaders);
    worker->stats->bytes_sent += traffic.bytes_sent - own->counted.bytes_sent;
    worker->stats->bytes_received += traffic.bytes_received - own->counted.bytes_received;
    own->counted = traffic;
}

/* The mean stands in the leader's copy, and where it is due in the weights. What is frozen has
 * their bits. */
static void end_sum(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct own *own = own_of(worker);
    struct node *node = node_of(worker);
    hr_vec()->scale(worker->weights, 1.0f / (float)shared->homes.machines, shared->params);
    hr_keep_frozen(&shared->optimizer, 0, shared->params, worker->weights,
                   hr_hogwild_at_rest(shared));
    count_traffic(worker);
    if (own->stored) {
        hr_hogwild_store(shared, worker->weights);
        node->begins = own->meets_at;
    }
    node->at = own->meets_at;
    hr_atom64_store_release(&shared->dispenser->next, own->meets_at); /* nobody here draws now */
    hr_atom32_store_release(&node->met, own->meetings);               /* partner: is_over */
    for (size_t w = worker->rank + 1; w < worker->rank + shared->leaders.each; w++)
        hr_bell_ring(&shared->control->rank[w].bell);
}

static bool is_over(const struct hr_worker *worker)
{
    /* Partner: end_sum. */
    return hr_atom32_load_acquire(&node_of(worker)->met) == own_of(worker)->meetings;
}

/* Nothing of it waits; true: the meeting is over. */
static bool meet(struct hr_worker *worker)
{
    struct own *own = own_of(worker);
    if (!leads(worker))
        return is_over(worker);
    if (own->stage == COMING && all_came(worker))
        begin_sum(worker);
    if (own->stage != ADDING || !hr_buckets_test(&own->sum))
        return false;
    own->status = hr_buckets_finish(&own->sum);
    if (own->status == HR_OK)
        end_sum(worker);
    return true;
}

/* --- a worker --- */

static bool ready(void *arg)
{
    struct hr_worker *worker = arg;
    struct own *own = own_of(worker);
    while (own->stage != DECIDED && own->status == HR_OK) {
        if (own->stage == DRAWING && decide(worker)) {
            own->stage = DECIDED;
        } else if (own->stage == DRAWING) {
            come(worker);
        } else if (meet(worker)) {
            own->pulls = true;
            own->stage = DRAWING;
        } else {
            return false;
        }
    }
    return true;
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    struct own *own = own_of(worker);
    if (own->status != HR_OK)
        return own->status;
    *task = own->task;
    worker->index = task->index;
    own->stage = DRAWING;
    if (task->kind == HR_TASK_CUT)
        return HR_OK;
    if (own->pulls)
        hr_hogwild_pull(worker);
    own->pulls = false;
    hr_hogwild_count_batch(worker);
    return HR_OK;
}

/* Behind the meeting at the cut: the mean is the machine's weights, or the leader's copy alone,
 * which stays as it is until all go on. */
static void export_part(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    hr_pushes_go_on(worker);
    if (own_of(worker)->stored)
        hr_hogwild_pull(worker);
    else if (!leads(worker))
        memcpy(worker->weights, shared->weights[leader_of(worker)],
               shared->params * sizeof *worker->weights);
    hr_export_stripe(worker);
    hr_export_own_state(worker);
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    snprintf(text, size, "sync-every %zu, machines averaged", shared->options->sync_every);
    const size_t used = strlen(text);
    char stale[64] = "";
    hr_stale_describe(shared, stale, sizeof stale);
    if (stale[0])
        snprintf(text + used, size - used, ", %s", stale);
}

const struct hr_strategy hr_strategy_hogwild_averaged = {
    .name = "hogwild",
    .guarantee =
        "machines' weights bit-equal after each averaging; on each no torn values, updates "
        "may be lost; staleness unbounded, measured",
    .options =
        (const char *const[]){"async-lr", "staleness-lr", "delay-compensation", "sync-every", NULL},
    .order = hr_order_of_arrival,
    .private_state = true,
    .losses_are_inputs = true,
    .prepare = hr_hogwild_prepare,
    .describe = describe,
    .bytes = bytes,
    .init = init,
    .reported = hr_pushes_bytes,
    .report = hr_pushes_report,
    .worker_own = sizeof(struct own),
    .worker_bytes = hr_state_bytes,
    .start = start,
    .stop = stop,
    .request = hr_tell_nobody,
    .ready = ready,
    .accept = accept,
    .offer = hr_hogwild_offer,
    .arrive = hr_pushes_arrive,
    .arrived = hr_always_ready,
    .export_part = export_part,
    .verify = hr_verify_replica,
};
