#include "schedule/wires.h"

#include "base/clock.h"

/* Take a link from `earliest` on, or from when it is free; when the message has passed. */
static uint64_t hold(struct hr_atom64 *free_at, uint64_t earliest, uint64_t duration)
{
    for (;;) {
        const uint64_t free = hr_atom64_load_acquire(free_at); /* partner: the replacing below */
        const uint64_t start = free > earliest ? free : earliest;
        if (hr_atom64_replace_acq_rel(free_at, free, start + duration))
            return start + duration;
    }
}

uint64_t hr_wires_send(const struct hr_wires *wires, size_t from, size_t to, size_t bytes)
{
    const struct hr_wire_path *path = &wires->path[from * wires->nranks + to];
    const uint64_t now = (uint64_t)hr_clock_ns();
    uint64_t start = now, passed = now;
    for (size_t i = 0; i < path->nlinks; i++) {
        const uint64_t duration = (uint64_t)((double)bytes * path->ns_per_byte[i]);
        passed = hold(&wires->free_at[path->link[i]], start, duration);
        start = passed - duration; /* cut through: the next link starts with the first byte */
    }
    return passed + (uint64_t)path->latency_ns;
}
