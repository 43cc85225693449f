#include "group/reduce_barrier.h"

#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "group/member.h"
#include "plan/plan.h"

enum {
    BLOCK_BYTES = 16384,   /* claimed at a time: an input's block stays in L1 and L2 */
    WORTH_A_WAKE = 131072, /* bytes; for larger sums parked ranks are woken to help */
    ALONE = 8192,          /* bytes; up to here the last to arrive does it all */
    APPLY_FLOATS = BLOCK_BYTES / sizeof(float),
};

size_t hr_reduce_barrier_bytes(size_t nranks)
{
    return sizeof(struct hr_reduce_barrier) + nranks * sizeof(struct hr_barrier_entry);
}

/* A seqlock: the number is zeroed before the other words change, and set when they are complete. A
 * reader that saw a word of the next call (acquire) then also sees that the number has changed. The
 * zeroing is ordered by the release stores after it, the reader's second look by its acquires
 * before it. */
void hr_barrier_entry_write(struct hr_barrier_entry *entry, const struct hr_call *call)
{
    hr_atom64_store_relaxed(&entry->said[0], 0);
    hr_atom64_store_release(&entry->said[1], call->count);
    hr_atom64_store_release(&entry->said[2], (uint64_t)call->root << 32 | call->kind);
    hr_atom64_store_release(&entry->said[0],
                            call->sequence); /* partner of all: hr_barrier_entry_read */
}

bool hr_barrier_entry_read(const struct hr_barrier_entry *entry, uint64_t sequence,
                           struct hr_call *call)
{
    if (hr_atom64_load_acquire(&entry->said[0]) !=
        sequence) /* partner of all: hr_barrier_entry_write */
        return false;
    call->sequence = sequence;
    call->count = hr_atom64_load_acquire(&entry->said[1]);
    const uint64_t packed = hr_atom64_load_acquire(&entry->said[2]);
    call->kind = (uint32_t)packed;
    call->root = (uint32_t)(packed >> 32);
    return hr_atom64_load_relaxed(&entry->said[0]) == sequence;
}

/* What lies `offset` from the segment; in integers, because threads' own memory lies anywhere. */
static void *address_of(const struct hr_barrier_view *a, size_t offset)
{
    return (void *)((uintptr_t)a->segment + offset);
}

/* Reduce elements [begin, end) of everybody's input, at most a block. */
static void reduce_range(const struct hr_barrier_view *a, size_t begin, size_t end)
{
    float sum[APPLY_FLOATS];
    void *out[HR_MAX_RANKS];
    const void *in[HR_MAX_RANKS];
    const size_t at = begin * hr_type_bytes(a->kind.type);
    for (size_t r = 0; r < a->nranks; r++) {
        in[r] = address_of(a, a->shared->entry[r].in + at);
        out[r] = address_of(a, a->shared->entry[r].out + at);
    }
    if (!a->apply) {
        hr_element_tree(a->kind, out, a->nranks, in, a->nranks, end - begin);
        return;
    }
    out[0] = sum;
    hr_element_tree(a->kind, out, 1, in, a->nranks, end - begin);
    a->apply(a->apply_arg, a->first + begin, end - begin, sum);
}

static size_t block_elems(const struct hr_barrier_view *a)
{
    return BLOCK_BYTES / hr_type_bytes(a->kind.type);
}

/* All of it, by one rank. */
static void reduce_alone(const struct hr_barrier_view *a)
{
    for (size_t begin = 0; begin < a->count; begin += block_elems(a))
        reduce_range(a, begin, hr_min_size(begin + block_elems(a), a->count));
}

static void close_barrier(struct hr_barrier_view *a)
{
    hr_atom64_store_release(&a->shared->closed, a->number); /* partner: hr_reduce_barrier_test */
    hr_bell_ring(&a->shared->bell);
}

static void open_to_all(struct hr_barrier_view *a)
{
    struct hr_reduce_barrier *m = a->shared;
    hr_atom64_store_relaxed(&m->done, 0); /* published by open */
    for (size_t r = 0; r < a->nranks; r++)
        hr_atom64_store_relaxed(&m->entry[r].claim, 0);
    hr_atom64_store_release(&m->open, a->number); /* partner: hr_reduce_barrier_test */
    if (!a->crowded)
        hr_bell_ring(&m->bell);
    else if (a->count * hr_type_bytes(a->kind.type) >= WORTH_A_WAKE)
        hr_bell_ring_some(&m->bell, a->helpers);
}

/* Chunks are those of the direct plan. */
static size_t chunk_begin(const struct hr_barrier_view *a, size_t chunk)
{
    return hr_chunk_begin(a->count, HR_LINE / hr_type_bytes(a->kind.type), a->nranks, chunk);
}

static size_t blocks_of_chunk(const struct hr_barrier_view *a, size_t chunk)
{
    const size_t elems = chunk_begin(a, chunk + 1) - chunk_begin(a, chunk);
    return (elems + block_elems(a) - 1) / block_elems(a);
}

/* Claim and reduce blocks of one chunk until none is left; how many were ours. */
static size_t work_on_chunk(struct hr_barrier_view *a, size_t chunk)
{
    const size_t begin = chunk_begin(a, chunk), end = chunk_begin(a, chunk + 1);
    const size_t blocks = blocks_of_chunk(a, chunk);
    size_t mine = 0;
    for (;; mine++) {
        const size_t block = hr_atom64_fetch_add_relaxed(&a->shared->entry[chunk].claim, 1);
        if (block >= blocks)
            return mine;
        const size_t at = begin + block * block_elems(a);
        reduce_range(a, at, hr_min_size(at + block_elems(a), end));
    }
}

static void help(struct hr_barrier_view *a)
{
    const int64_t start = hr_clock_ns();
    size_t mine = 0, all = 0;
    hr_account_turn(a->account, HR_COMMUNICATE);
    a->helped = true;
    for (size_t hop = 0; hop < a->nranks; hop++) {
        const size_t chunk = (a->rank + hop) % a->nranks;
        mine += work_on_chunk(a, chunk);
        all += blocks_of_chunk(a, chunk);
    }
    /* Release our outputs, acquire the others': whoever completes the count has seen them all. */
    if (mine && hr_atom64_fetch_add_acq_rel(&a->shared->done, mine) + mine == all)
        close_barrier(a);
    a->worked_ns += hr_clock_ns() - start;
}

static bool calls_agree(struct hr_barrier_view *a)
{
    const struct hr_barrier_entry *entry = a->shared->entry;
    for (size_t r = 0; HR_SAFETY && r < a->nranks; r++)
        if (!hr_call_equal(&entry[r].call, &entry[a->rank].call)) {
            a->odd_one_out = (long)r;
            return false;
        }
    return true;
}

bool hr_reduce_barrier_enter(struct hr_barrier_view *a, const struct hr_call *call, const void *in,
                             void *out)
{
    struct hr_barrier_entry *entry = &a->shared->entry[a->rank];
    a->number++;
    a->helped = false;
    a->odd_one_out = -1;
    entry->call = *call;
    entry->in = (uint64_t)((uintptr_t)in - (uintptr_t)a->segment);
    entry->out = (uint64_t)((uintptr_t)out - (uintptr_t)a->segment);
    const uint64_t before = hr_atom64_fetch_add_acq_rel(&a->shared->arrived, 1);
    if (before + 1 < a->number * a->nranks)
        return true;
    if (!calls_agree(a))
        return false;
    if (a->count * hr_type_bytes(a->kind.type) > ALONE && a->nranks > 1) {
        open_to_all(a);
        return true;
    }
    reduce_alone(a);
    close_barrier(a);
    return true;
}

bool hr_reduce_barrier_test(struct hr_barrier_view *a)
{
    struct hr_reduce_barrier *m = a->shared;
    if (hr_atom64_load_acquire(&m->closed) >= a->number) /* partner: close_barrier */
        return true;
    if (a->helped || hr_atom64_load_acquire(&m->open) < a->number) /* partner: open_to_all */
        return false;
    help(a);
    return hr_atom64_load_acquire(&m->closed) >= a->number;
}

/* --- the method --- */

static void start(struct hr_member *member)
{
    const struct hr_job *job = &member->job;
    struct hr_barrier_view *barrier = &member->barrier;
    barrier->kind = job->kind;
    barrier->count = job->operation == HR_OP_BARRIER ? 0 : job->count;
    barrier->first = job->first;
    barrier->apply = job->apply;
    barrier->apply_arg = job->apply_arg;
    if (job->operation != HR_OP_BARRIER)
        hr_member_account_direct(member, job->count);
    if (hr_reduce_barrier_enter(barrier, &member->call, job->in, job->out))
        return;
    const size_t peer = (size_t)barrier->odd_one_out;
    member->status =
        hr_member_mismatch(member, &member->call, peer, &barrier->shared->entry[peer].call);
}

static bool test(struct hr_member *member)
{
    return hr_reduce_barrier_test(&member->barrier);
}

static struct hr_bell *bell(const struct hr_member *member)
{
    return &member->barrier.shared->bell;
}

const struct hr_method hr_by_reduce_barrier = {start, test, bell};
