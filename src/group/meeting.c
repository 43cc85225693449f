#include "group/meeting.h"

#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "group/plan.h"

enum {
    BLOCK = 4096, /* floats claimed at a time: 16 KiB an input stay in L1 and L2 */
    WORTH_A_WAKE =
        32768,    /* from here a parked rank is woken to help: it takes longer than waking */
    ALONE = 2048, /* up to here the last to arrive does the whole sum */
};

size_t hr_meeting_bytes(size_t nranks)
{
    return sizeof(struct hr_meeting) + nranks * sizeof(struct hr_seat);
}

/* The number is taken away before the rest changes, and set when all is there. Whoever read a word
 * of the next call (acquire) also sees (release) that the number is no longer the one it asked for.
 */
void hr_seat_say(struct hr_seat *seat, const struct hr_call *call)
{
    hr_atom64_store_release(&seat->said[0], 0);
    hr_atom64_store_release(&seat->said[1], call->kind);
    hr_atom64_store_release(&seat->said[2], call->count);
    hr_atom64_store_release(&seat->said[3], call->root);
    hr_atom64_store_release(&seat->said[0], call->sequence); /* partner of all: hr_seat_said */
}

bool hr_seat_said(const struct hr_seat *seat, uint64_t sequence, struct hr_call *call)
{
    if (hr_atom64_load_acquire(&seat->said[0]) != sequence) /* partner of all: hr_seat_say */
        return false;
    call->sequence = sequence;
    call->kind = hr_atom64_load_acquire(&seat->said[1]);
    call->count = hr_atom64_load_acquire(&seat->said[2]);
    call->root = hr_atom64_load_acquire(&seat->said[3]);
    return hr_atom64_load_acquire(&seat->said[0]) == sequence;
}

static float *buffer_of(const struct hr_attendance *a, size_t rank)
{
    return (float *)(void *)(a->segment + a->meeting->seat[rank].offset);
}

/* Sum elements [begin, end) of everybody's buffer, at most a block. */
static void sum_range(const struct hr_attendance *a, size_t begin, size_t end)
{
    float *out[HR_VEC_MAX_INPUTS], sum[BLOCK];
    const float *in[HR_VEC_MAX_INPUTS];
    for (size_t r = 0; r < a->nranks; r++)
        in[r] = out[r] = buffer_of(a, r) + begin;
    if (!a->apply) {
        hr_vec_tree_sum(out, a->nranks, in, a->nranks, end - begin);
        return;
    }
    out[0] = sum;
    hr_vec_tree_sum(out, 1, in, a->nranks, end - begin);
    a->apply(a->apply_arg, begin, end - begin, sum);
}

/* All of it, by one rank. */
static void sum_alone(const struct hr_attendance *a)
{
    if (a->nranks == 1 && !a->apply)
        return;
    for (size_t begin = 0; begin < a->count; begin += BLOCK)
        sum_range(a, begin, hr_min_size(begin + BLOCK, a->count));
}

static void close_meeting(struct hr_attendance *a)
{
    hr_atom64_store_release(&a->meeting->closed, a->number); /* partner: hr_meeting_test */
    hr_bell_ring(&a->meeting->bell);
}

static void open_meeting(struct hr_attendance *a)
{
    struct hr_meeting *m = a->meeting;
    hr_atom64_store_relaxed(&m->done, 0); /* published by open */
    for (size_t r = 0; r < a->nranks; r++)
        hr_atom64_store_relaxed(&m->seat[r].claim, 0);
    hr_atom64_store_release(&m->open, a->number); /* partner: hr_meeting_test */
    if (!a->crowded)
        hr_bell_ring(&m->bell);
    else if (a->count >= WORTH_A_WAKE)
        hr_bell_ring_some(&m->bell, a->helpers);
}

static size_t blocks_of_stripe(const struct hr_attendance *a, size_t stripe)
{
    const size_t elems = hr_chunk_begin(a->count, a->nranks, stripe + 1) -
                         hr_chunk_begin(a->count, a->nranks, stripe);
    return (elems + BLOCK - 1) / BLOCK;
}

/* Claim and sum blocks of one stripe until none is left; how many were ours. */
static size_t work_on_stripe(struct hr_attendance *a, size_t stripe)
{
    const size_t begin = hr_chunk_begin(a->count, a->nranks, stripe);
    const size_t end = hr_chunk_begin(a->count, a->nranks, stripe + 1);
    const size_t blocks = blocks_of_stripe(a, stripe);
    size_t mine = 0;
    for (;; mine++) {
        const size_t block = hr_atom64_fetch_add_relaxed(&a->meeting->seat[stripe].claim, 1);
        if (block >= blocks)
            return mine;
        const size_t at = begin + block * BLOCK;
        sum_range(a, at, hr_min_size(at + BLOCK, end));
    }
}

static void help(struct hr_attendance *a)
{
    const int64_t start = hr_clock_ns();
    size_t mine = 0, all = 0;
    a->helped = true;
    for (size_t hop = 0; hop < a->nranks; hop++) {
        const size_t stripe = (a->rank + hop) % a->nranks;
        mine += work_on_stripe(a, stripe);
        all += blocks_of_stripe(a, stripe);
    }
    /* Release our outputs, acquire the others': whoever completes the count has seen them all. */
    if (mine && hr_atom64_fetch_add_acq_rel(&a->meeting->done, mine) + mine == all)
        close_meeting(a);
    a->worked_ns += hr_clock_ns() - start;
}

static bool calls_agree(struct hr_attendance *a)
{
    const struct hr_seat *seat = a->meeting->seat;
    for (size_t r = 0; r < a->nranks; r++)
        if (memcmp(&seat[r].call, &seat[a->rank].call, sizeof seat[r].call) != 0) {
            a->odd_one_out = (long)r;
            return false;
        }
    return true;
}

bool hr_meeting_enter(struct hr_attendance *a, const struct hr_call *call, float *buffer,
                      size_t count)
{
    struct hr_seat *seat = &a->meeting->seat[a->rank];
    a->number++;
    a->count = count;
    a->helped = false;
    a->odd_one_out = -1;
    seat->call = *call;
    seat->offset = buffer ? (uint64_t)((unsigned char *)buffer - a->segment) : 0;
    const uint64_t before = hr_atom64_fetch_add_acq_rel(&a->meeting->arrived, 1);
    if (before + 1 < a->number * a->nranks)
        return true;
    if (!calls_agree(a))
        return false;
    if (count > ALONE && a->nranks > 1) {
        open_meeting(a);
        return true;
    }
    sum_alone(a);
    close_meeting(a);
    return true;
}

bool hr_meeting_test(struct hr_attendance *a)
{
    struct hr_meeting *m = a->meeting;
    if (hr_atom64_load_acquire(&m->closed) >= a->number) /* partner: close_meeting */
        return true;
    if (a->helped || hr_atom64_load_acquire(&m->open) < a->number) /* partner: open_meeting */
        return false;
    help(a);
    return hr_atom64_load_acquire(&m->closed) >= a->number;
}
