/* A shard on two ranks: who leads and who speaks, and the log between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "checkpoint/digest.h"
#include "shm/control.h"
#include "server/server_replica.h"
#include "trace/trace_log.h"

/* --- begin and end --- */

/* What it hands out and takes back nobody sees. */
static enum hr_status keep_own_fates(struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    const size_t bytes = hr_fates_bytes(shared->fates->workers, shared->fates->room);
    shard->own_fates = aligned_alloc(HR_LINE, hr_round_up(bytes, HR_LINE));
    if (!shard->own_fates)
        return HR_E_NOMEM;
    memcpy(shard->own_fates, shared->fates, bytes);
    shard->fates = shard->own_fates;
    return HR_OK;
}

enum hr_status hr_replica_start(struct hr_shard *shard)
{
    struct hr_shared_state *shared = shard->shared;
    shard->leads = shard->speaks = true;
    shard->fates = shared->fates;
    if (shared->copies < 2 || *hr_server_log(shared, shard->number).alone)
        return HR_OK;
    const struct hr_server_log log = hr_server_log(shared, shard->number);
    shard->leads = shard->owner == shard->number;
    shard->speaks = !shard->leads;
    shard->log = log.ring;
    shard->notes = log.notes;
    if (shard->speaks || (!shard->loses && !hr_fates_waiting(shared->fates)))
        return HR_OK;
    if (shared->strategy->private_state)
        shard->given = calloc(shared->workers, shard->count * sizeof *shard->given);
    return shared->strategy->private_state && !shard->given ? HR_E_NOMEM : keep_own_fates(shard);
}

void hr_replica_stop(struct hr_shard *shard)
{
    free(shard->own_fates);
    free(shard->given);
    shard->own_fates = NULL;
    shard->given = NULL;
}

/* --- the log --- */

static struct hr_log_note *note_at(const struct hr_shard *shard, uint64_t place)
{
    return &shard->notes[place & shard->log->mask];
}

/* On its way it is as long as what the worker had sent. */
static void post(const struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    const bool carries = hr_server_carries_slice(shard->in_hand.kind);
    const struct hr_posted what = {
        .from = shared->workers + shard->number,
        .to = shared->workers + shared->servers + shard->number,
        .bytes = sizeof shard->in_hand + (carries ? shard->count * sizeof(float) : 0),
    };
    if (shared->posted)
        shared->posted(shared->posted_arg, &what);
}

void hr_replica_write(struct hr_shard *shard, size_t worker)
{
    const struct hr_shared_state *shared = shard->shared;
    post(shard);
    struct hr_message *entry = hr_ring_try_reserve_spsc(shard->log);
    HR_ASSERT(entry);
    shard->note.place = hr_ring_taken_spsc(hr_server_requests(shared, worker, shard->number));
    if (shared->logs)
        shard->note.noted = hr_trace_log_entries(&shared->logs[shard->number]);
    *entry = shard->in_hand;
    *note_at(shard, hr_ring_committed_spsc(shard->log)) = shard->note;
    hr_ring_commit_spsc(shard->log);
    hr_bell_ring(
        &shared->control->rank[hr_shard_rank(shared, shared->servers + shard->number)].bell);
}

struct hr_message hr_replica_next(struct hr_shard *shard)
{
    const struct hr_message entry = *hr_ring_peek_spsc(shard->log);
    shard->note = *note_at(shard, hr_ring_taken_spsc(shard->log));
    shard->worker[entry.from].place = shard->note.place;
    hr_ring_release_spsc(shard->log);
    return entry;
}

uint64_t hr_replica_untold(const struct hr_shared_state *shared, size_t shard)
{
    const struct hr_server_log log = hr_server_log(shared, shard);
    const uint64_t entries = hr_trace_log_entries(&shared->logs[shard]);
    if (shared->copies < 2 || !hr_ring_peek_spsc(log.ring))
        return 0;
    return entries - log.notes[hr_ring_taken_spsc(log.ring) & log.ring->mask].noted;
}

/* --- at a cut --- */

static uint64_t digest_of(const struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    const size_t bytes = shard->count * sizeof(float);
    const size_t states = shared->strategy->private_state ? 0 : hr_state_floats(shared);
    uint64_t digest = hr_digest64(shard->weights, bytes);
    for (size_t at = shard->first; at < states; at += shared->params)
        digest = digest * 31 + hr_digest64(shard->state + at, bytes);
    return digest;
}

bool hr_replica_agrees(struct hr_shard *shard)
{
    char text[200];
    if (!shard->log)
        return true;
    const uint64_t digest = digest_of(shard);
    if (shard->leads) {
        shard->note.digest = digest;
        return true;
    }
    if (shard->note.digest == digest)
        return true;
    snprintf(text, sizeof text,
             "server %zu and its replica differ at the cut before batch %llu: one of them has been "
             "altered",
             shard->number, (unsigned long long)shard->next);
    hr_control_abort(shard->shared->control, hr_shard_rank(shard->shared, shard->owner),
                     HR_E_FAILED, text);
    return false;
}
