/* Parameter servers between two events (strategy/pause.h). A push that one shard has taken and
 * another has not is finished on the copy of the other; one that nobody has taken is in hand. */
#include "server/server_requests.h"
#include "strategy/pause.h"

/* Has shard s not taken a worker's last push? It lies in its ring, or was lost on its way. */
static bool awaits(const struct hr_standing *at, size_t worker, size_t s, struct hr_message *push)
{
    const struct hr_worker *w = at->worker[worker];
    const struct hr_client *client = &at->shard[s]->worker[worker];
    const struct hr_message *oldest =
        hr_ring_peek_spsc(hr_server_requests(at->shared, worker, at->shard[s]->number));
    if (w && hr_requests_unanswered(w))
        *push = w->requests.push;
    else if (w && oldest)
        *push = *oldest;
    else
        return false;
    return push->kind == HR_PUSH && push->sequence > client->number;
}

static bool is_begun(const struct hr_standing *at, size_t worker, const struct hr_message *push)
{
    for (size_t s = 0; s < at->shared->servers; s++)
        if (at->shard[s]->worker[worker].number >= push->sequence)
            return true;
    return false;
}

static void copy_shard(const struct hr_standing *at, size_t s, struct hr_pause *to)
{
    struct hr_shard copy = *at->shard[s];
    struct hr_message push;
    hr_shard_copy_to(&copy, &to->snapshot);
    copy.weights = to->snapshot.weights + copy.first;
    copy.state = to->snapshot.state;
    copy.account = NULL; /* nobody's time */
    for (size_t w = 0; w < at->shared->workers; w++)
        if (awaits(at, w, s, &push) && is_begun(at, w, &push))
            hr_shard_apply_push(&copy, w, &push, copy.version - copy.worker[w].read, NULL);
    if (s == 0)
        to->snapshot.applied[0] = copy.before + copy.version;
}

/* As shard 0 knows it, which hands out batches. */
static void copy_account(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_client *client = &at->shard[0]->worker[worker];
    struct hr_paused_worker *paused = &to->worker[worker];
    struct hr_message push;
    const bool finished = awaits(at, worker, 0, &push) && is_begun(at, worker, &push);
    paused->updates = client->made + client->pushes + (client->clock - client->began) + finished;
    if (!client->batches || finished)
        return;
    paused->undone = client->batch;
    hr_pause_add_hand(to, client->batch, client->batches);
}

bool hr_server_pause(const struct hr_standing *at, struct hr_pause *to)
{
    for (size_t s = 0; s < at->shared->servers; s++)
        copy_shard(at, s, to);
    for (size_t w = 0; w < at->shared->workers; w++)
        copy_account(at, w, to);
    return true;
}
