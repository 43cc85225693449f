/* server.h - parameter servers: the messages between workers and shards, and where they travel.
 *
 *   Worker w and shard s are joined by two rings (shm/pair.h): requests w -> s, replies s -> w.
 *   Parameters are cut over shards by hr_slice_begin. Bulk data does not travel: on PULL the shard
 *   copies its slice into the worker's weights (so it is never torn), on PUSH it reads the worker's
 *   gradient in place. A worker sends PUSH and then one PULL or CUT, and waits: three slots would
 *   do.
 *
 *     request            words                     effect at the shard
 *     PULL               step                      copy the slice out; reply WEIGHTS or NO_BATCH
 *     PUSH               index, samples, step, ns  asynchronous: update at once
 *                                                  synchronous: when all are in, update with T(n)
 *     PART               begin, end                none: that much of the PUSH to come is there
 *     CUT                                          when all are in: export, reply CUT_DONE to all
 *     PUSHPULL           step, ns                  elastic-averaging: exchange the slice with the
 *                                                  worker's; reply WEIGHTS (to a PULL: RANGE)
 *     DONE                                         this worker sends no more
 *     JOIN               step                      it was lost, and is back: see below
 *     reply              words
 *     WEIGHTS            staleness of the last push, index of the batch (shard 0), skew; and
 *                        backup-workers: what became of the last push, its share of the batch;
 *                        elastic-averaging: how many batches;
 *                        with a gate: who opened it
 *     RANGE              as WEIGHTS, without any
 *     NO_BATCH           staleness of the last push      nothing left before the cut (shard 0)
 *     CUT_DONE           staleness of the last push
 *
 *   Owners   dedicated: each shard has a rank of its own, after the workers. colocated: shard s
 *            belongs to worker s, which drains it only while it waits in the training loop (for its
 *            replies, and at cuts until all have arrived): it takes every message it may, then
 *            looks whether it can go on. So a colocated shard needs no processor of its own, but
 *            others wait for it while its worker computes. Where ranks are threads and more than
 *            the processors, a dedicated shard rests: whoever waits for its reply holds it
 *            meanwhile, and takes messages (drive/serve.h). A shard's effects are the same
 *            everywhere.
 *   Numbers  requests of a worker to a shard are numbered from 1 in hr_message.sequence, anew in
 *            each life of the worker and when all begin again from the snapshot. A shard takes them
 *            in turn: one that skips a number is a defect (asserted), and one whose number it has
 *            taken already was sent twice. Such a DUPLICATE has no effect, and stands in no trace;
 *            so a worker may repeat what it does not know to have arrived (server_worker.h).
 *   Parts    (--overlap on) of a push go ahead of it: server_worker.h.
 *   Gate     a PULL is taken when the gate lets its worker read.
 *   Stale    an asynchronous update may have a smaller rate (--async-lr) or a gradient that is
 *            carried over to the weights it meets (LAMBDA of --async-lr), by the staleness that the
 *            shard sees.
 *   State    the optimiser's is split like the weights.
 *   Norms    of a tensor (lars, lamb) are its shard's, who has all of it (hr_slice_begin). Of the
 *            whole gradient (--clip-norm): where a push is an update, its worker, who has it,
 *            sends the scale with it, as it is before it is carried over. Where all are added, each
 *            shard also adds up what others have, and keeps none of it: a worker has written its
 *            whole gradient before its first PUSH, and no shard replies before it has updated. On
 *            several machines a shard sees only its slice, and needs --servers 1.
 *   Store    these servers and the store (hogring/store.h) are two on purpose. A server of training
 *            never waits and chooses its input by pick(), so that a run can be recorded, replayed
 *            and run in virtual time; it keeps the optimizer's state, hands out batches, and
 *            quiesces at cuts. The store is for any program: keys, tickets, buffers of the
 *            caller's, several operations under way; nothing of it is recorded. They share the
 *            pairs of rings (shm/pair.h), the waiting, the cut into stripes and the sums in T(n).
 *   Safety   a worker overwrites its gradient only after the reply to a PULL, which its ring puts
 *            behind its PUSH; the shard overwrites a worker's weights only while it waits for them.
 */
#ifndef HR_SERVER_SERVER_H
#define HR_SERVER_SERVER_H

#include <string.h>

#include "machines/bridge.h"
#include "strategy/rank.h"
#include "strategy/shared.h"
#include "strategy/shared_state.h"
#include "strategy/strategy.h"
#include "trace/pick.h"

/* --- a shard, and what it knows of its workers; private memory of its rank --- */

enum { HR_LOSS_ROUNDS = 4 };

/* Has a worker left, and how? */
enum hr_left { HR_LEFT_NOT, HR_LEFT_DONE, HR_LEFT_GONE /* it was lost */ };

/* What a shard has to say of a worker that was lost, as it was then. */
struct hr_last_words {
    uint64_t pushes;                               /* that it had taken in this life */
    uint64_t counted, pushed, staleness, max_skew; /* as in struct hr_client */
};

/* What a shard knows of a worker. */
struct hr_client {
    uint64_t clock;   /* pushes taken since an epoch's end; of one that joined: those of the slowest
                           when it did, and its own */
    uint64_t applied; /* of them, those in the weights */
    uint64_t number;  /* of its last request that was taken */
    uint64_t read;    /* version it read last; UINT64_MAX: it is gone */
    uint64_t handed;  /* version that lies in its memory since its push; 0: none */
    uint64_t staleness;        /* of its last push */
    bool aside;                /* left out of the slowest clock: at a cut, has left, or another of
                                  its machine pushes for it */
    bool arrived;              /* at a cut */
    bool rests;                /* since a cut: it has asked for nothing */
    unsigned char left;        /* enum hr_left */
    bool in;                   /* backup-workers: its gradient of the current step is in */
    bool fresh;                /* it has joined, and has no weights yet */
    uint64_t index;            /* of the last push: synchronous, backup-workers */
    uint64_t outcome;          /* backup-workers: of its last push */
    struct hr_dropped dropped; /* backup-workers: what it was too late for */
    size_t samples;
    /* In its hands, shard 0: handed out, and no push of them taken. */
    uint64_t batch, batches; /* [batch, batch + batches) */
    size_t share;            /* backup-workers: samples of its share of it */
    bool shares;             /* backup-workers: it has a share of the current step, */
    size_t nth_share;        /* this one, from 0 */
    /* For the day it is lost. */
    uint64_t step;     /* of its last message */
    uint64_t began;    /* its clock when it joined, or at the last cut */
    uint64_t pushes;   /* taken before the last cut, since it joined */
    uint64_t made;     /* updates that it made before it joined; backup-workers: all it made */
    uint32_t lost;     /* how often it was */
    uint64_t counted;  /* pushes that count as updates, in the whole run; */
    uint64_t pushed;   /* gradients that it had computed at the last of this life; 0: none */
    uint64_t max_skew; /* clocks ahead of the slowest when it was granted a read */
    struct hr_last_words before[HR_LOSS_ROUNDS]; /* before loss k, in k % HR_LOSS_ROUNDS */
    bool held; /* it was lost with a batch in its hands: `batch` */
};

/* Its gradient has become an update. */
static inline void hr_client_pushed(struct hr_client *client)
{
    client->counted++;
    client->pushed = client->step;
}

static inline void hr_client_leave(struct hr_client *client, enum hr_left left)
{
    client->left = (unsigned char)left;
    client->aside = left != HR_LEFT_NOT;
}

/* What a shard took last, for a trace of the run. */
struct hr_taken {
    uint32_t kind; /* the strategy's own */
    uint32_t worker;
    uint64_t step;   /* of the worker: gradients it had computed */
    uint64_t value;  /* batch index of a pull's answer, staleness of a push, or how many batches a
                        lost worker had in its hands */
    int64_t took_ns; /* a push: how long its gradient took */
};

/* A parameter server's shard. */
struct hr_shard {
    struct hr_shared_state *shared;
    size_t number, first, count; /* parameters [first, first + count) */
    float *weights;              /* (count) in the segment */
    float *state;                /* (nstates, params) in the segment: that of all shards */
    float *ratio;                /* (tensors) for hr_step_measure */
    float *sum;                  /* (count) scratch for T(n); NULL: nothing is summed */
    uint64_t version;            /* updates applied in this run */
    uint64_t before;             /* updates made to state before it */
    size_t ndone, ngone;
    bool loses;               /* losses are inputs: below */
    size_t notified;          /* shared->repeats: of whose loss, + 1; 0: of none */
    bool joined;              /* some worker came back */
    uint64_t exported;        /* 1 + the version in the snapshot; 0: it was not exported yet */
    size_t nin;               /* backup-workers: gradients of the current step that are in */
    size_t shares, expected;  /* backup-workers: shares of the current step; those that are in, or
                                 may come */
    bool open;                /* backup-workers: there is a current step */
    struct hr_client *worker; /* (workers) owned */
    const float **grads;      /* (workers) owned; scratch of a sum */
    struct hr_taken taken;
    struct hr_picker picker;
    uint64_t opened;            /* its gate, last: hr_opened_by; 0: nobody has */
    uint64_t next;              /* shard 0: the batch after those that were handed out */
    uint64_t cut;               /* batches before it may be handed out for the message in hand */
    struct hr_account *account; /* colocated: of the worker whose time it takes; else NULL */
};

enum { HR_SERVER_SLOTS = 4, HR_SERVER_SLOTS_OF_PARTS = 16 /* where PARTs are sent */ };

enum hr_server_message {
    HR_PULL = 0x100,
    HR_PUSH,
    HR_PUSHPULL,
    HR_CUT,
    HR_DONE,
    HR_WEIGHTS,
    HR_NO_BATCH,
    HR_RANGE,
    HR_CUT_DONE,
    HR_GONE, /* no message, but an input: the worker was lost */
    HR_JOIN,
    HR_DUPLICATE, /* no message, but what hr_shard_next makes of a number that was taken before */
    HR_PART = HR_DUPLICATE + 2, /* between them: "again", of traces of earlier versions */
};

/* "pull", "push", "exchange", "cut", "done", "gone", "join" or "part", as they are shown;
 * or "unknown". The numbers of inputs stand in traces, so they stay. */
const char *hr_server_request_name(uint32_t kind);

static inline bool hr_server_carries_slice(uint32_t kind)
{
    return kind == HR_PUSH || kind == HR_PUSHPULL;
}

/* Words of a reply. */
enum {
    HR_REPLY_STALENESS,
    HR_REPLY_INDEX,
    HR_REPLY_SKEW,
    HR_REPLY_OUTCOME,
    HR_REPLY_COUNT,
    HR_REPLY_GROUP_RANK =
        HR_REPLY_COUNT, /* backup-workers: the share, and in the upper half of how many */
    HR_REPLY_OPENED = HR_REPLY_COUNT, /* where there is a gate: who opened it last (stragglers.h) */
    HR_REPLY_BATCHES                  /* from INDEX on; of machines that push as one, else 1 */
};
/* Words of a request. */
enum {
    HR_REQUEST_INDEX,
    HR_REQUEST_SAMPLES,
    HR_REQUEST_STEP,
    HR_REQUEST_TOOK,
    HR_REQUEST_LIFE, /* of its sender: how often that was lost before; and in the upper half, of a
                        PUSH that is an update of its own, its scale (optimizer.h), as a float */
    HR_REQUEST_AHEAD /* of a PUSH: parameters at the end of all that went ahead of it */
};
enum { HR_PART_BEGIN, HR_PART_END }; /* words of a PART: parameters of the whole gradient */

/* HR_REQUEST_LIFE, and what it says. */
static inline uint64_t hr_request_life(uint32_t lost, float scale)
{
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    return (uint64_t)bits << 32 | lost;
}

static inline uint32_t hr_request_lost(const struct hr_message *request)
{
    return (uint32_t)request->word[HR_REQUEST_LIFE];
}

static inline float hr_request_scale(const struct hr_message *request)
{
    const uint32_t bits = (uint32_t)(request->word[HR_REQUEST_LIFE] >> 32);
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

/* The rank of a shard: a worker, or one behind the workers. */
static inline size_t hr_shard_rank(const struct hr_shared_state *shared, size_t shard)
{
    return shared->colocated ? shard : shared->workers + shard;
}

/* Is there a shard in that worker? */
static inline bool hr_owns_shard(const struct hr_shared_state *shared, size_t worker)
{
    return shared->colocated && worker < shared->servers;
}

/* Does that worker push and pull? Where a machine's workers push as one, the first of them does. */
static inline bool hr_server_pushes(const struct hr_shared_state *shared, size_t worker)
{
    return shared->node_workers == 0 || worker % shared->node_workers == 0;
}

/* The rank of a party of a message. */
size_t hr_party_rank(const struct hr_shared_state *shared, size_t party);

/* Memory (server_memory.c). What they share; what a shard takes for itself. */
size_t hr_server_bytes(const struct hr_shared_state *shared);
size_t hr_shard_bytes(const struct hr_shared_state *shared);
size_t hr_server_slots(const struct hr_shared_state *shared); /* of a ring */
void hr_server_init(struct hr_shared_state *shared);

struct hr_ring *hr_server_requests(const struct hr_shared_state *shared, size_t worker,
                                   size_t shard);
struct hr_ring *hr_server_replies(const struct hr_shared_state *shared, size_t worker,
                                  size_t shard);

/* Where the packet of worker's compressed push to a shard on another machine lies. */
struct hr_server_packet {
    uint64_t bytes; /* of values that are in use */
    unsigned char values[];
};

/* The servers' arrays: weights (params); scratch (params), or NULL where no shard needs
 * any; ratio (tensors), used where there is one shard; state (nstates, params). */
float *hr_server_weights(const struct hr_shared_state *shared);
/* Of strategies whose servers hold weights and state. */
#define HR_SERVED_ROWS                                                                             \
    {                                                                                              \
        HR_KEPT_SERVED, HR_KEPT_SERVED, .memory = hr_server_weights                                \
    }
float *hr_server_scratch(const struct hr_shared_state *shared);
float *hr_server_ratio(const struct hr_shared_state *shared);
float *hr_server_state(const struct hr_shared_state *shared);

/* What of parameters [begin, end) is in a shard's slice. */
struct hr_range hr_server_share(const struct hr_shared_state *shared, size_t shard, size_t begin,
                                size_t end);

/* Send to or from a shard: the ring has room by construction (asserted), and the peer's bell is
 * rung. rank: the sender's own. */
void hr_server_send(const struct hr_shared_state *shared, size_t rank, const struct hr_posted *what,
                    const struct hr_message *message);
/* For who looks on: rank has just taken the oldest request, or reply, of worker and shard. */
void hr_server_report_taken(const struct hr_shared_state *shared, size_t rank, size_t worker,
                            size_t shard, bool request);
/* A shard's reply; it says who and what version sends it, and how stale the worker's push was. */
void hr_shard_reply(struct hr_shard *shard, size_t worker, struct hr_message message);

/* For drivers: strategy->take, and what was taken goes into the log of a recorded run. A duplicate
 * changed nothing: there is nothing to repeat. */
void hr_shard_take_and_note(struct hr_shard *shard, size_t worker);

/* The worker's half (server_worker.c): functions of the table, and what spans are made of. */
enum hr_status hr_server_start(struct hr_worker *worker);
void hr_server_leave(struct hr_worker *worker);
/* Ask every shard (took_ns: for gradients that it stands for), and wait for all. *reply: shard 0's.
 * The same of weights, and a batch. */
HR_CHECKED enum hr_status hr_server_exchange(struct hr_rank *rank, enum hr_server_message kind,
                                             int64_t took_ns, struct hr_message *reply);
HR_CHECKED enum hr_status hr_server_pull(struct hr_rank *rank, struct hr_message *reply);
/* At a cut: until the shards have exported (hr_rank_come_to_cut). */
HR_CHECKED enum hr_status hr_server_cut(struct hr_rank *rank, uint64_t index);
/* What these are made of. Has every shard replied? (hr_ready_fn) */
bool hr_server_ready(void *worker);
/* Take one reply of each shard; returns shard 0's. The staleness of the push before, which each
 * tells, goes to where hr_staleness_count finds it. */
struct hr_message hr_server_collect(struct hr_worker *worker);
/* Send a message of that kind to every shard. took_ns: of the gradients that it stands for. */
void hr_server_ask(struct hr_worker *worker, enum hr_server_message kind, int64_t took_ns);
/* Send the worker's gradient, of batch `index`; or what it has made of it, of so many samples. */
void hr_server_push(struct hr_worker *worker, uint64_t index);
void hr_server_push_sum(struct hr_worker *worker, uint64_t index, size_t samples);

/* The shard's half (server_shard.c). */
enum hr_status hr_shard_start(struct hr_shard *shard, struct hr_shared_state *shared,
                              size_t number);
void hr_shard_stop(struct hr_shard *shard); /* harmless on a zeroed one */
void hr_shard_enabled(struct hr_shard *shard, unsigned char *enabled);
void hr_shard_take(struct hr_shard *shard, size_t worker);
/* Is nobody left to be served? Where all are gone, one may come back. */
bool hr_shard_over(const struct hr_shard *shard);
/* What it is made of. Take a worker's oldest message, and note it in shard->taken. */
struct hr_message hr_shard_next(struct hr_shard *shard, size_t worker);
/* What is left: CUT, DONE, GONE, JOIN, PART and DUPLICATE. */
void hr_shard_end(struct hr_shard *shard, size_t worker, enum hr_server_message kind);
/* Copy its slice, and state. */
void hr_shard_copy_to(const struct hr_shard *shard, const struct hr_snapshot *to);
/* Is there a batch to be handed out before the cut? Shard 0 only. One that came back goes out even
 * after a request to stop: the cut has all before it. */
bool hr_shard_has_batch(const struct hr_shard *shard);
/* Batches before `next` have been handed out. */
void hr_shard_handed_out(struct hr_shard *shard, uint64_t next);
/* Shard 0: the next batches are in the worker's hands, at most so many: those that came back, as
 * many as follow each other, or new ones. False: there are none. */
bool hr_shard_hand_out(struct hr_shard *shard, size_t worker, size_t most);
/* Copy the slice to a worker that waits. */
void hr_shard_copy_out(struct hr_shard *shard, size_t worker);
/* The one update expression, with the sum of the first n of shard->grads, which are whole
 * gradients, of batch `index` and so many samples together; the number of the next update. */
void hr_shard_apply_sum(struct hr_shard *shard, size_t n, uint64_t index, size_t samples);
uint64_t hr_shard_next_number(const struct hr_shard *shard);

/* Between two events (strategy/pause.h): strategy->pause of ps-async and ssp. */
bool hr_server_pause(const struct hr_standing *at, struct hr_pause *to);

/* The gate of Stale Synchronous Parallel: who may read weights now.
 *
 *   Clock    of a worker: its pushes since the last end of an epoch.
 *   Gate     a worker may read when its clock is at most `s` ahead of the slowest. s is
 *            shared->staleness_bound: 0 for ps-sync, --staleness for ssp, any number for ps-async.
 *   Slowest  among live workers: those that neither stand at the cut nor have left.
 *            (From the first return on a worker stands at the cut until it asks again.)
 *   Promise  fastest - slowest <= s, and a reader's weights have all updates that are older than
 *            its clock - s. Builds with HR_DEBUG_CHECKS (the sanitizers') check that on every read.
 *   Source   Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
 *            Server", NIPS 2013.
 *
 * Threads: the shard's.
 * Test: tests/unit/server/test_staleness.c
 */

/* The slowest clock of live workers; UINT64_MAX: there is none. */
uint64_t hr_ssp_slowest_clock(const struct hr_shard *shard);

/* Parameter servers outlive workers: a loss is an input of each shard, and so is
 * a return.
 *
 *   GONE     of worker w: enabled when the launcher's word (shm/roster.h) says that w was lost more
 *            often than the shard has taken, and no gradient of w is left in its ring. Other
 *            messages of the dead are dropped: a batch handed out to it would only come back. From
 *            then on w is left out of gates, clocks, cuts and averages. If all others have arrived
 *            at a cut, the cut is complete now.
 *   Batches  shard 0 knows what it handed out and whether the push of it was taken. What was not
 *            pushed is handed out again, or is lost (lost_batches.h), and counters that w had
 *            changed for it are taken back. So the counters of a lost worker are exact. The
 *            staleness of its last push, if shard 0 has taken it, is counted at the next cut, or
 *            when it comes back: by then all shards have said what they know.
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

/* Is the worker's next input its loss? */
bool hr_shard_sees_loss(const struct hr_shard *shard, size_t worker);
/* The parts of taking GONE. begin: drop its messages, note the input; end: it has left. */
void hr_shard_lose_begin(struct hr_shard *shard, size_t worker);
void hr_shard_lose_end(struct hr_shard *shard, size_t worker);
/* Its counters, as if it had never begun what it did not push, and so many updates. Of one that
 * died at a cut they are right already, and the leader may be reading them: nothing is written. */
void hr_shard_settle_counters(struct hr_shard *shard, size_t worker, uint64_t updates);

/* It asks for weights: it rests no more. */
void hr_shard_wake(struct hr_shard *shard, size_t worker);
static inline void hr_shard_asks(struct hr_shard *shard, size_t worker)
{
    shard->worker[worker].rests = false;
    if (shard->worker[worker].aside)
        hr_shard_wake(shard, worker);
}

/* All shards have taken the worker's losses: count what it was told last, or would have been, and
 * did not come to count. May be repeated. By the launcher while all are quiescent (of all who are
 * gone; nothing where shards take no losses), or by its next life. */
void hr_server_count_last(const struct hr_shared_state *shared, size_t worker);
void hr_server_missing(const struct hr_shared_state *shared);

/* May a worker that was started again begin: have all shards, if they take losses, taken its last?
 * Nor may the others leave a cut before it may, or they would leave without what it did last. */
bool hr_server_may_join(const struct hr_shared_state *shared, size_t worker);

/* Compressed pushes to servers on other machines: where their packets lie.
 *
 * On one machine a worker's gradient takes the values that a server would decode, and the server
 * reads them there. To another machine the slice's packet travels (strategy/compression.h): the
 * worker packs it, it is carried with the PUSH, and the server that takes the PUSH unpacks it into
 * its own machine's copy of that gradient.
 *
 * Memory:   hr_server_packet_at (server_memory.c); none where nothing is packed.
 * Threads:  a packet's writer is its worker, until it has sent the PUSH; then its server.
 * Test:     tests/unit/train/test_multinode_compress.c
 */

/* Do this worker's pushes to that shard travel in packets? */
bool hr_server_packs(const struct hr_shared_state *shared, size_t worker, size_t shard);
/* Before the PUSH is sent: its packet. */
void hr_server_pack(const struct hr_worker *worker, size_t shard);
/* When the PUSH is taken: the shard's slice of that worker's gradient, here. */
void hr_server_unpack(const struct hr_shared_state *shared, size_t worker, size_t shard);

/* Servers and workers on several machines: what goes with their messages.
 *
 *     PUSH, to a shard       the shard's slice of the worker's gradient, or its packet; but for
 *     PART, to a shard       what went ahead of it (server.h)
 *     PUSHPULL, to a shard   the slice of its weights
 *     WEIGHTS, to a worker   the same, as the shard has left it
 *
 * With all of them goes the index that shard 0 hands out next: at a cut, which each worker comes to
 * behind its last batch, all shards have to know whether it is an epoch's end.
 *
 * The shard writes into the worker's weights as ever, in the segment of its own machine; they are
 * the worker's when they arrive. Shard 0 lives with worker 0, who leads: what the leader stores at
 * a cut (dispenser->cut) it sees before any message of the span behind.
 *
 * Test: tests/unit/server/test_server_carried.c
 */

/* Add the rings between workers and shards, which are initialised, and that index. shared is read
 * until the bridge is closed. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_server_carry(const struct hr_shared_state *shared,
                                          struct hr_bridge *bridge);

#endif
