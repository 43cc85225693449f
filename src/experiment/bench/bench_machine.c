#include "bench/bench_loop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "hogring/group.h"
#include "shm/ring.h"
#include "shm/wait.h"

enum { TRIPS = 2000, PASSES = 5, SLOTS = 8, MOST_POLLS = 100 * 1000 * 1000, BYTES = 64 << 20 };

/* --- a message one way: half of there and back, between two processors --- */

struct trips {
    struct hr_ring *way[2]; /* from rank 0, from rank 1 */
    double ns;
};

static bool receive(struct hr_ring *ring)
{
    for (int poll = 0; poll < MOST_POLLS; poll++)
        if (hr_ring_peek_spsc(ring)) {
            hr_ring_release_spsc(ring);
            return true;
        }
    return false;
}

static void send(struct hr_ring *ring, uint64_t number)
{
    struct hr_message *message = hr_ring_try_reserve_spsc(ring); /* never full: one is under way */
    if (message)
        message->sequence = number;
    hr_ring_commit_spsc(ring);
}

static enum hr_status go_to_and_fro(struct hr_group *world, void *arg)
{
    struct trips *trips = arg;
    const size_t rank = hr_group_rank(world);
    HR_TRY(hr_barrier(world));
    const int64_t began = hr_clock_ns();
    for (uint64_t trip = 0; trip < TRIPS; trip++) {
        if (rank == 0)
            send(trips->way[0], trip);
        if (!receive(trips->way[1 - rank]))
            return hr_fail(HR_E_TIMEOUT, "a message was lost");
        if (rank == 1)
            send(trips->way[1], trip);
    }
    if (rank == 0)
        trips->ns = (double)(hr_clock_ns() - began) / (2 * TRIPS);
    return HR_OK;
}

static double message_ns(void)
{
    const struct hr_world_options options = {.nranks = 2, .arena_bytes = 1, .pin = 1};
    struct trips trips = {.ns = NAN};
    if (hr_cpus_allowed() < 2)
        return NAN;
    for (size_t way = 0; way < 2; way++) {
        trips.way[way] = aligned_alloc(HR_LINE, hr_ring_bytes(SLOTS));
        if (trips.way[way])
            hr_ring_init(trips.way[way], SLOTS, 0);
    }
    if (trips.way[0] && trips.way[1] && hr_world_run(&options, go_to_and_fro, &trips) != HR_OK)
        trips.ns = NAN;
    free(trips.way[0]);
    free(trips.way[1]);
    return trips.ns;
}

/* --- what memory carries: every rank reads, multiplies and writes 64 MiB of its own --- */

static enum hr_status multiply(struct hr_group *world, void *arg)
{
    double *best_s = arg;
    float *x = malloc(BYTES);
    if (!x)
        return hr_fail(HR_E_NOMEM, "no memory");
    for (size_t i = 0; i < BYTES / sizeof *x; i++)
        x[i] = 1;
    for (int pass = 0; pass < PASSES; pass++) {
        HR_TRY(hr_barrier(world));
        const int64_t began = hr_clock_ns();
        for (size_t i = 0; i < BYTES / sizeof *x; i++)
            x[i] *= 1.5f;
        HR_TRY(hr_barrier(world));
        if (hr_group_rank(world) == 0)
            *best_s = fmin(*best_s, hr_seconds(hr_clock_ns() - began));
    }
    free(x);
    return HR_OK;
}

static double memory_gbs(size_t nranks)
{
    const struct hr_world_options options = {.nranks = nranks, .arena_bytes = 1, .pin = 1};
    double best_s = INFINITY;
    if (hr_world_run(&options, multiply, &best_s) != HR_OK)
        return NAN;
    return 2 * (double)BYTES * (double)nranks / best_s * 1e-9;
}

void hr_bench_calibrate(size_t nranks, struct hr_calibration *calibration)
{
    const size_t threads = nranks < hr_cpus_allowed() ? nranks : hr_cpus_allowed();
    *calibration = (struct hr_calibration){.handoff_us = (double)hr_handoff_ns() * 1e-3,
                                           .message_ns = message_ns(),
                                           .threads = threads,
                                           .memory_gbs = memory_gbs(threads),
                                           .l2_bytes = (long)hr_cpus_cache_bytes(2),
                                           .l3_bytes = (long)hr_cpus_cache_bytes(3)};
}

void hr_bench_print_calibration(const struct hr_calibration *c)
{
    printf("# %zu processors; L2 %ld KiB, L3 %ld MiB; pages of %ld bytes\n", hr_cpus_allowed(),
           c->l2_bytes >> 10, c->l3_bytes >> 20, sysconf(_SC_PAGESIZE));
    printf("# a message one way %.0f ns; a hand-off through the kernel %.1f us; %zu threads read, "
           "multiply and write 64 MiB each at %.1f GB/s\n",
           c->message_ns, c->handoff_us, c->threads, c->memory_gbs);
}
