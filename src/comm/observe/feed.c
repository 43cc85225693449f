#include "observe/feed.h"

#include <string.h>

#include "base/size.h"

/* A rank's, in the segment; its ring stands behind it. */
struct line {
    alignas(HR_LINE) struct hr_bell room; /* rung when the launcher has drained the ring */
};

static size_t line_bytes(size_t slots)
{
    return sizeof(struct line) + hr_round_up(hr_ring_bytes(slots), HR_LINE);
}

static struct line *line_of(const struct hr_feed *feed, size_t rank)
{
    HR_ASSERT(rank < feed->nranks);
    return (void *)((unsigned char *)feed->memory + rank * line_bytes(feed->slots));
}

static struct hr_ring *ring_of(struct line *line)
{
    return (void *)(line + 1);
}

size_t hr_feed_bytes(size_t nranks, size_t slots)
{
    return nranks * line_bytes(slots);
}

void hr_feed_init(struct hr_feed *feed, void *memory)
{
    feed->memory = memory;
    for (size_t r = 0; r < feed->nranks; r++)
        hr_ring_init(ring_of(line_of(feed, r)), feed->slots, 0);
}

struct hr_ring *hr_feed_ring(const struct hr_feed *feed, size_t rank)
{
    return ring_of(line_of(feed, rank));
}

static bool has_room(void *ring)
{
    return hr_ring_try_reserve_spsc(ring) != NULL;
}

static enum hr_status wait_for_room(const struct hr_feed *feed, struct line *line,
                                    struct hr_waiter *waiter)
{
    struct hr_ring *ring = ring_of(line);
    if (feed->make_room) {
        feed->make_room(feed->arg);
        HR_ASSERT(has_room(ring));
        return HR_OK;
    }
    const struct hr_atom32 *revoke = waiter->revoke;
    hr_bell_ring(feed->launcher);
    waiter->revoke = NULL;
    const enum hr_status status =
        hr_wait_until(waiter, &line->room, has_room, ring, "the writer of the log");
    waiter->revoke = revoke;
    return status;
}

enum hr_status hr_feed_put(const struct hr_feed *feed, size_t rank, struct hr_waiter *waiter,
                           const void *record)
{
    struct line *line = line_of(feed, rank);
    struct hr_ring *ring = ring_of(line);
    const uint64_t half = feed->slots / 2;
    struct hr_message *slot = hr_ring_try_reserve_spsc(ring);
    if (!slot) {
        HR_TRY(wait_for_room(feed, line, waiter));
        slot = hr_ring_try_reserve_spsc(ring);
    }
    memcpy(slot, record, sizeof *slot);
    hr_ring_commit_spsc(ring);
    const uint64_t put = hr_ring_committed_spsc(ring);
    if (put % half == 0 && !hr_ring_released_spsc(ring, put - half + 1))
        hr_bell_ring(feed->launcher);
    return HR_OK;
}

/* Not those that are put meanwhile: a fast rank must not keep the launcher. */
static void drain_line(struct line *line, size_t rank, hr_take_record_fn take, void *arg)
{
    struct hr_ring *ring = ring_of(line);
    const struct hr_message *record;
    const uint64_t there = hr_ring_committed_spsc(ring) - hr_ring_taken_spsc(ring);
    size_t left = (size_t)there, run, took;
    do {
        run = hr_ring_peek_run_spsc(ring, left, &record);
        for (took = 0; took < run && take(arg, rank, &record[took]); took++)
            ;
        hr_ring_release_run_spsc(ring, took);
        left -= took;
    } while (took && took == run);
    if (there)
        hr_bell_ring(&line->room);
}

void hr_feed_drain(const struct hr_feed *feed, hr_take_record_fn take, void *arg)
{
    for (size_t r = 0; r < feed->nranks; r++)
        drain_line(line_of(feed, r), r, take, arg);
}
