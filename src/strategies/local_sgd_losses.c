#include "strategies/local_sgd_losses.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "base/vec.h"
#include "strategy/settle.h"

/* --- memory --- */

/* Indices are stored + 1; 0: none in this term. */
struct line {
    alignas(HR_LINE) struct hr_atom64 begun; /* batch after a meeting; partner: settle */
    struct hr_atom64 period;                 /* batch after an averaging; partner: settle */
    struct hr_atom64 left[2];              /* what image i is for, see left_for; partner: settle */
    struct hr_gradient_counters counters;  /* before `begun`, */
    struct hr_gradient_counters of_period; /* and before `period` */
    uint64_t applied;                      /* updates ever made to its state */
};

/* A word of `left`: before which batch, and whether that is an averaging. */
static uint64_t left_for(uint64_t index, bool averages)
{
    return 2 * (index + 1) + averages;
}

static size_t images_floats(const struct hr_shared_state *shared)
{
    return 2 * shared->workers * shared->params;
}

size_t hr_local_losses_bytes(const struct hr_shared_state *shared)
{
    return shared->outlives ? hr_term_record_bytes(shared) + shared->workers * sizeof(struct line) +
                                  images_floats(shared) * sizeof(float)
                            : 0;
}

static struct hr_term_record *record_of(const struct hr_shared_state *shared)
{
    return shared->own;
}

static struct line *line_of(const struct hr_shared_state *shared, size_t worker)
{
    unsigned char *lines = (unsigned char *)shared->own + hr_term_record_bytes(shared);
    return (struct line *)(void *)lines + worker;
}

static float *image_of(const struct hr_shared_state *shared, size_t worker, size_t turn)
{
    float *images = (float *)(void *)line_of(shared, shared->workers);
    return images + (2 * worker + turn) * shared->params;
}

void hr_local_losses_init(struct hr_shared_state *shared)
{
    if (shared->outlives)
        hr_term_record_begin(shared, record_of(shared));
}

/* --- a worker --- */

/* Has anybody begun that batch? */
static bool somebody_begins(const struct hr_shared_state *shared, uint64_t index)
{
    const struct hr_seats *seats = shared->seats;
    for (size_t s = 0; s < seats->n; s++) /* partner: hr_local_begin */
        if (hr_atom64_load_acquire(&line_of(shared, seats->rank[s])->begun) == index + 1)
            return true;
    return false;
}

enum hr_status hr_local_begin(struct hr_worker *worker, uint64_t index, bool averaged)
{
    const struct hr_worker_stats *stats = worker->stats;
    if (!worker->shared->outlives)
        return HR_OK;
    if (hr_worker_is_recalled(worker) && !somebody_begins(worker->shared, index))
        return hr_fail(HR_E_RECALLED, "recalled after a meeting");
    struct line *line = line_of(worker->shared, worker->rank);
    line->counters = hr_stats_gradients(stats);
    /* Partner: the launcher, and somebody_begins. */
    hr_atom64_store_release(&line->begun, index + 1);
    if (averaged) {
        line->of_period = line->counters;
        hr_atom64_store_release(&line->period, index + 1); /* partner: the launcher */
    }
    hr_fence_of_death();
    return HR_OK;
}

void hr_local_updated(const struct hr_worker *worker)
{
    if (worker->shared->outlives)
        line_of(worker->shared, worker->rank)->applied = worker->applied;
}

void hr_local_leave_replica(const struct hr_worker *worker, uint64_t meet, bool averages)
{
    const struct hr_shared_state *shared = worker->shared;
    if (!shared->outlives)
        return;
    struct hr_atom64 *left = line_of(shared, worker->rank)->left; /* our own words */
    const size_t older = hr_atom64_load_relaxed(&left[0]) > hr_atom64_load_relaxed(&left[1]);
    memcpy(image_of(shared, worker->rank, older), worker->weights, shared->params * sizeof(float));
    hr_atom64_store_release(&left[older], left_for(meet, averages)); /* partner: settle */
}

/* --- the launcher --- */

/* A term that is being settled. */
struct settling {
    struct hr_shared_state *shared;
    const struct hr_term_record *record;
    uint64_t meet; /* the meeting at which all go on, + 1; 0: all go back to where they began */
};

static size_t worker_at(const struct settling *it, size_t seat)
{
    return it->record->seat[seat].worker;
}

static struct line *line_at(const struct settling *it, size_t seat)
{
    return line_of(it->shared, worker_at(it, seat));
}

/* Partner of both loads: hr_local_leave_replica. */
static uint64_t left_last(const struct line *line)
{
    const uint64_t a = hr_atom64_load_acquire(&line->left[0]);
    const uint64_t b = hr_atom64_load_acquire(&line->left[1]);
    return (a > b ? a : b) / 2;
}

/* The last averaging that it has left its replica for. */
static uint64_t averaged_last(const struct line *line)
{
    uint64_t last = hr_atom64_load_acquire(&line->period); /* partner: hr_local_begin */
    for (size_t turn = 0; turn < 2; turn++) {
        const uint64_t left = hr_atom64_load_acquire(&line->left[turn]); /* partner: the same */
        if (left % 2 && left / 2 > last)
            last = left / 2;
    }
    return last;
}

/* Its replica for the meeting; NULL: it left none. */
static const float *replica_left(const struct settling *it, size_t seat)
{
    const struct line *line = line_at(it, seat);
    for (size_t turn = 0; it->meet && turn < 2; turn++)
        if (hr_atom64_load_acquire(&line->left[turn]) / 2 == it->meet)
            return image_of(it->shared, worker_at(it, seat), turn);
    return NULL;
}

static uint64_t farthest_meeting(const struct settling *it)
{
    uint64_t living = 0, any = 0;
    bool some_live = false;
    for (size_t s = 0; s < it->record->n; s++) {
        const uint64_t left = left_last(line_at(it, s));
        const bool lives = hr_term_lives(it->shared, it->record, s);
        some_live = some_live || lives;
        living = lives && left > living ? left : living;
        any = left > any ? left : any;
    }
    return some_live ? living : any;
}

/* Has the worker of that seat lived, and ended the averaging? */
static bool has_the_mean(const struct settling *it, size_t seat)
{
    return hr_term_lives(it->shared, it->record, seat) &&
           hr_term_done(it->shared, it->record, seat) + 1 >= it->meet;
}

static void take_mean(const struct settling *it)
{
    struct hr_shared_state *shared = it->shared;
    const float *in[HR_VEC_MAX_INPUTS];
    float *out = shared->snapshot.weights;
    size_t n = 0;
    for (size_t s = 0; s < it->record->n; s++) {
        if (has_the_mean(it, s)) {
            memcpy(out, shared->weights[worker_at(it, s)], shared->params * sizeof *out);
            return;
        }
        const float *replica = replica_left(it, s);
        if (replica)
            in[n++] = replica;
    }
    hr_fp_flush_denormals(); /* as in workers */
    hr_vec()->tree_sum(&out, 1, in, n, shared->params);
    hr_vec()->scale(out, 1.0f / (float)n, shared->params);
    hr_keep_frozen(&shared->optimizer, 0, shared->params, out, in[0]);
}

/* Who lives keeps its state. */
static void take_state(const struct settling *it, size_t seat)
{
    const struct hr_shared_state *shared = it->shared;
    const size_t w = worker_at(it, seat), floats = hr_state_floats(shared);
    const struct line *line = line_at(it, seat);
    if (!hr_term_lives(shared, it->record, seat) || !line->applied)
        return;
    memcpy(shared->snapshot.state + w * floats, hr_state_of(shared, w), floats * sizeof(float));
    shared->snapshot.applied[w] = line->applied;
}

/* --- the account --- */

/* Samples of the seat's shares of batches from `from` to the averaging. */
static uint64_t shares(const struct settling *it, size_t seat, uint64_t from)
{
    uint64_t samples = 0;
    for (uint64_t k = from; k + 1 < it->meet; k++) {
        const uint64_t count = hr_batch_schedule_batch(&it->shared->schedule, k).count;
        samples += hr_split_begin(count, it->record->n, seat + 1) -
                   hr_split_begin(count, it->record->n, seat);
    }
    return samples;
}

/* The fate that counts what a seat has lost: its own, or if it lives that of one who is dead. */
static struct hr_fate *fate_of(const struct settling *it, size_t seat)
{
    struct hr_fates *fates = it->shared->fates;
    if (!hr_term_lives(it->shared, it->record, seat))
        return hr_fate_of(fates, worker_at(it, seat));
    for (size_t s = 0; s < it->record->n; s++)
        if (!hr_term_lives(it->shared, it->record, s))
            return hr_fate_of(fates, worker_at(it, s));
    return hr_fate_of(fates, worker_at(it, seat));
}

static void count(const struct settling *it, size_t seat)
{
    struct hr_worker_stats *stats = &it->shared->stats[worker_at(it, seat)];
    const struct line *line = line_at(it, seat);
    const uint64_t begun = hr_atom64_load_acquire(&line->begun);   /* partner: hr_local_begin */
    const uint64_t period = hr_atom64_load_acquire(&line->period); /* partner: the same */
    const bool beyond = begun >= it->meet && begun > 0, in = replica_left(it, seat) != NULL;
    const uint64_t from = averaged_last(line) ? averaged_last(line) - 1 : it->shared->seats->index;
    struct hr_fate *fate = fate_of(it, seat);
    hr_stats_mend(stats);
    if (beyond)
        fate->again_samples += hr_stats_go_back(stats, &line->counters);
    else if (!in && period == from + 1)
        hr_stats_go_back(stats, &line->of_period);
    if (in || !it->meet)
        return;
    fate->lost_samples += shares(it, seat, from);
    fate->lost_batches += it->meet - 1 - from;
}

uint64_t hr_local_left(const struct hr_shared_state *shared, size_t worker, bool *ended)
{
    const uint64_t left = left_last(line_of(shared, worker));
    const struct line *line = line_of(shared, worker);
    /* Partners: hr_worker_says, hr_local_begin. */
    *ended = left && (hr_atom64_load_acquire(&shared->stats[worker].done) + 1 >= left ||
                      hr_atom64_load_acquire(&line->begun) >= left);
    return left;
}

uint64_t hr_local_settle(struct hr_shared_state *shared)
{
    struct settling it = {.shared = shared, .record = record_of(shared)};
    it.meet = farthest_meeting(&it);
    const uint64_t index = it.meet ? it.meet - 1 : shared->seats->index;
    if (it.meet)
        take_mean(&it);
    for (size_t s = 0; s < it.record->n; s++) {
        take_state(&it, s);
        count(&it, s);
    }
    *shared->snapshot.apart = 0;
    hr_term_settled(shared, it.record, index);
    return index;
}
