/* Elastic averaging between two events. An exchange that one shard has made and another has not is
 * made on the copy; one that nobody has made is made first where the run goes on. */
#include "strategies/elastic_pause.h"

#include <string.h>

#include "base/vec.h"
#include "server/server.h"

static const struct hr_elastic_range *range_of(const struct hr_standing *at, size_t worker)
{
    return at->worker[worker]->own;
}

static bool has_batches(const struct hr_elastic_range *range)
{
    return range->next < range->end;
}

static bool awaits_range(const struct hr_standing *at, size_t worker)
{
    return at->stands[worker] == HR_STANDS_ASKED && !has_batches(range_of(at, worker));
}

static bool has_taken(const struct hr_standing *at, size_t worker, size_t s)
{
    return at->shard[s]->worker[worker].number >= at->worker[worker]->requests.sent;
}

/* But for what is frozen. */
void hr_elastic_draw_together(const struct hr_shard *shard, float *x, float *c)
{
    const struct hr_shared_state *shared = shard->shared;
    const float rate = hr_elastic_rate(shared);
    const size_t first = shard->first, end = first + shard->count;
    struct hr_range moves = hr_range_next(&shared->optimizer, false, first, end);
    for (; moves.count;
         moves = hr_range_next(&shared->optimizer, false, moves.begin + moves.count, end)) {
        const size_t at = moves.begin - first;
        hr_vec()->exchange(x + at, c + at, rate, moves.count);
    }
}

/* Has some shard taken the exchange that this worker waits for? */
static bool exchanges(const struct hr_standing *at, size_t worker)
{
    bool begun = false;
    for (size_t s = 0; s < at->shared->servers; s++)
        begun |= has_taken(at, worker, s);
    return begun && awaits_range(at, worker) && range_of(at, worker)->steps;
}

/* A worker that is lost, or has just joined, begins at the center. */
static bool begins(const struct hr_standing *at, size_t worker, size_t s)
{
    const struct hr_client *client = &at->shard[s]->worker[worker];
    return !at->worker[worker] || client->left || client->fresh;
}

/* An exchange that one shard has made and another has not is made on the copy. */
static void pause_replica(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    const bool exchanging = at->worker[worker] && exchanges(at, worker);
    for (size_t s = 0; s < shared->servers; s++) {
        const struct hr_shard *shard = at->shard[s];
        float *x = to->snapshot.replicas + worker * shared->params + shard->first;
        float *c = to->snapshot.weights + shard->first;
        memcpy(x, begins(at, worker, s) ? c : shared->weights[worker] + shard->first,
               shard->count * sizeof *x);
        if (exchanging && !has_taken(at, worker, s))
            hr_elastic_draw_together(shard, x, c);
    }
    to->snapshot.since[worker] =
        at->worker[worker] && !exchanging ? (double)range_of(at, worker)->steps : 0;
}

/* The batches of its range that are not in its replica. */
static void pause_range(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_elastic_range *range = range_of(at, worker);
    const struct hr_client *client = &at->shard[0]->worker[worker];
    const bool has = at->stands[worker] == HR_STANDS_HAS;
    if (has)
        to->worker[worker].undone = at->worker[worker]->index;
    if (!awaits_range(at, worker))
        hr_pause_add_hand(to, range->next - has, range->end - range->next + has);
    else if (has_taken(at, worker, 0))
        hr_pause_add_hand(to, client->batch, client->batches);
}

bool hr_elastic_pause(const struct hr_standing *at, struct hr_pause *to)
{
    for (size_t s = 0; s < at->shared->servers; s++)
        hr_shard_copy_to(at->shard[s], &to->snapshot);
    for (size_t w = 0; w < at->shared->workers; w++) {
        pause_replica(at, w, to);
        hr_pause_copy_state(at, w, to);
        if (at->worker[w])
            pause_range(at, w, to);
    }
    return true;
}
