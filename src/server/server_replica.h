/* server_replica.h - a shard on two ranks (--server-replicas 2): when one is lost the other goes
 * on, and nothing that a worker was told is lost with it.
 *
 *     worker --request--> leader --log--> speaker --reply--> worker
 *
 *   Story    a chain of two. The leader takes the workers' messages: it picks their order, applies
 *            them to its copy of the slice, and writes them into a log; nobody else sees what it
 *            does. The speaker applies the log in its order to its own copy, and all that others
 *            see is its work: replies, weights copied out, what is handed out or given back, the
 *            export at a cut. So when a reply goes out both have what it answers, neither ever
 *            waits for the other, and a shard without a replica is both at once.
 *   Choices  what the leader knew from elsewhere when it took a message stands in the log with it
 *            (struct hr_log_note): the speaker decides the same.
 *   Leader   is lost: the speaker has all that anybody was told. It applies what is left in the
 *            log, and then leads as well. A message that the leader had taken and not logged is
 *            taken once more: its number is that of its place in the ring.
 *   Speaker  is lost: the leader has the same state, or a later one. It says what is owed: a worker
 *            is owed a reply when fewer lie in its ring than the leader counts. A reply with
 *            weights is given anew, with the weights as they are now. What shards write for others
 *            (batches handed out, counters of the lost) is written once more by value, so it does
 *            not matter how far the speaker had come.
 *   Record   (--record) of a shard there is one log, whoever writes it: who leads does, behind the
 *            ring; when it is lost, the speaker notes what it had taken last, unless the dead had,
 *            and goes on. Weights that are given anew (HR_AGAIN) are noted, too, where they differ:
 *            in a replay their worker waits for that. There, one rank does the work of both.
 *   Cuts     the entry that completes a cut carries the digest of the leader's weights and state.
 *            When the speaker's differs it ends the run, before it exports anything.
 *   Memory   of a rank that is dead is not read: each has its own copy; log and rings are what it
 *            had sent.
 *   Source   van Renesse, Schneider, "Chain Replication for Supporting High Throughput and
 *            Availability", OSDI 2004, with a chain of two: its head leads, its tail speaks.
 *
 * Owners:  shards [0, servers) lead; owner servers + s speaks for shard s.
 * Memory:  for each shard a line, the log's ring and its notes (server_memory.c). The log has room
 *          for all that workers send before they wait; while it is full nothing is taken.
 * Threads: a shard's; the launcher's where it says so.
 * Test:    tests/unit/server/test_server_replica.c, tests/unit/play/test_explored_replicas.c
 */
#ifndef HR_SERVER_SERVER_REPLICA_H
#define HR_SERVER_SERVER_REPLICA_H

#include "server/server.h"

/* What lies between the two. */
struct hr_server_log {
    bool *alone; /* one of them was gone when servers began. Writer: the launcher, while all rest */
    struct hr_ring *ring;      /* producer: who leads; consumer: who speaks */
    struct hr_log_note *notes; /* (slots of the ring) published and given back with them */
};
struct hr_server_log hr_server_log(const struct hr_shared_state *shared, size_t shard);

/* Is the other rank of the pair that `rank` belongs to there? (False: it has none.) */
bool hr_replica_lives(const struct hr_shared_state *shared, size_t rank);

/* Of its log in a recorded run: entries whose effects nobody has seen, as the one who led had taken
 * them, and the one who speaks had not. By the launcher, when both rest or are dead. */
uint64_t hr_replica_untold(const struct hr_shared_state *shared, size_t shard);

/* Of a gradient that is pushed now: what reaches the replicas that there are. */
uint64_t hr_replicated_bytes(const struct hr_shared_state *shared);

/* --- a shard's --- */

/* It begins, or ends: does it lead, does it speak? */
HR_CHECKED enum hr_status hr_replica_start(struct hr_shard *shard);
void hr_replica_stop(struct hr_shard *shard);

/* For drivers. Look before you ask what is enabled: when its partner is lost, it takes over. */
void hr_replica_look(struct hr_shard *shard);
/* strategy->enabled and take; what is taken is noted (hr_shard_note). */
void hr_replica_enabled(struct hr_shard *shard, unsigned char *enabled);
void hr_replica_take(struct hr_shard *shard, size_t worker);
/* A replay: is the worker owed the reply to a PULL? It is given, with the weights as they are. */
bool hr_replica_owes(const struct hr_shard *shard, size_t worker);
void hr_replica_give(struct hr_shard *shard, size_t worker);

/* What the leader has taken and applied goes into the log. */
void hr_replica_write(struct hr_shard *shard, size_t worker);
/* The oldest entry of the log, which is taken. */
struct hr_message hr_replica_next(struct hr_shard *shard);
/* The cut is complete: do the two agree? Else the run is ended. */
bool hr_replica_agrees(struct hr_shard *shard);

#endif
