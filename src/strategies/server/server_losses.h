/* server_losses.h - parameter servers outlive workers: a loss is an input of each shard, and so is
 * a return.
 *
 *   GONE     of worker w: enabled when the launcher's word (shm/roster.h) says that w was lost more
 *            often than the shard has taken, and no gradient of w is left in its ring. Other
 *            messages of the dead are dropped: a batch handed out to it would only come back. From
 *            then on w is left out of gates, clocks, cuts and averages. If all others have arrived
 *            at a cut, the cut is complete now.
 *   Batches  shard 0 knows what it handed out and whether the push of it was taken. What was not
 *            pushed is handed out again, or is lost (fate.h), and counters that w had changed for
 *            it are taken back. So the counters of a lost worker are exact. The staleness of its
 *            last push, if shard 0 has taken it, is counted at the next cut, or when it comes back:
 *            by then all shards have said what they know.
 *   Partial  a push may have reached some shards and not others. Those that have it keep it. It is
 *            shard 0's word that counts: did it get there, the batch is trained on; did it not, the
 *            batch goes back, and the others will apply it twice. Either is counted as partial.
 *   JOIN     the first message of a worker that was started again; it is sent when all shards have
 *            taken the loss. Its clock begins with the slowest, so no gate opens or closes by it.
 *   Cut      from the first JOIN on a cut is complete when each who lives has arrived, or rests
 *            since the one before: the others may rest after a cut already, and wait for the worker
 *            that has joined. So they hold up nobody's clock until they ask again; then they begin
 *            with the slowest, as who joins does. They may leave the cut when all shards have taken
 *            all losses (may_join): the dead may have worked while they rested.
 *
 * Memory:  a line for each worker, and for each of its shards, in the servers' memory; none where
 *          losses are no inputs.
 * Threads: a shard's; who is the last to take a loss writes struct hr_server_loss.
 * Test:    tests/unit/server/test_served_losses.c, test_served_orders.c
 */
#ifndef HR_SERVER_SERVER_LOSSES_H
#define HR_SERVER_SERVER_LOSSES_H

#include "server/server.h"

/* Do shards take losses? */
static inline bool hr_server_takes_losses(const struct hr_shared_state *shared)
{
    return shared->outlives && shared->servers && hr_shared_takes_losses(shared);
}

/* What all shards know of a worker's losses. */
struct hr_server_loss {
    alignas(HR_LINE) struct hr_atom32 taken; /* losses that all shards have taken. Writer: the last;
                                                partner: hr_server_may_join */
    struct hr_atom32 looks; /* at who is the last. Changed by all shards; partner: itself */
    bool gone;              /* when servers began. Writer: the launcher */
};

/* What one shard says of them. Writer: the shard; partner: the last to take a loss. */
struct hr_loss_at_shard {
    alignas(HR_LINE) struct hr_atom32 taken;
    struct hr_last_words words[HR_LOSS_ROUNDS]; /* before loss k, in k % HR_LOSS_ROUNDS */
};

/* (workers) lines; behind them (workers, servers) of shards (server_memory.c). */
struct hr_server_loss *hr_server_losses(const struct hr_shared_state *shared);
struct hr_loss_at_shard *hr_loss_at_shard(const struct hr_shared_state *shared, size_t worker,
                                          size_t shard);

/* --- a shard's; only where shard->loses --- */

/* What it knows of workers when it begins. */
void hr_shard_know(struct hr_shard *shard);
/* Is the worker's next input its loss? */
bool hr_shard_sees_loss(const struct hr_shard *shard, size_t worker);
/* Take GONE, where workers push every gradient; and the parts of that. begin: drop its messages,
 * note the input; give_back: what shard 0 handed out; end: it has left. */
void hr_shard_lose(struct hr_shard *shard, size_t worker);
void hr_shard_lose_begin(struct hr_shard *shard, size_t worker);
void hr_shard_give_back(struct hr_shard *shard, size_t worker);
void hr_shard_lose_end(struct hr_shard *shard, size_t worker);
/* Its counters, as if it had never begun what it did not push, and so many updates. Of one that
 * died at a cut they are right already, and the leader may be reading them: nothing is written. */
void hr_shard_settle_counters(struct hr_shard *shard, size_t worker, uint64_t updates);
/* It has joined. */
void hr_shard_join(struct hr_shard *shard, size_t worker);

/* It asks for weights: it rests no more. */
void hr_shard_wake(struct hr_shard *shard, size_t worker);
static inline void hr_shard_asks(struct hr_shard *shard, size_t worker)
{
    shard->worker[worker].rests = false;
    if (shard->worker[worker].aside)
        hr_shard_wake(shard, worker);
}

/* All shards have taken the worker's losses: count what it was told last, or would have been, and
 * did not come to count. May be repeated. By the launcher while all rest (of all who are gone;
 * nothing where shards take no losses), or by its next life. */
void hr_server_count_last(const struct hr_shared_state *shared, size_t worker);
void hr_server_missing(const struct hr_shared_state *shared);

/* May a worker that was started again begin: have all shards, if they take losses, taken its last?
 * Nor may the others leave a cut before it may, or they would leave without what it did last.
 * (hr_ready_fn) */
bool hr_server_may_join(void *worker);

#endif
