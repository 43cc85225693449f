/* All-reduce over the bridge between machines of bed.py, beside MPI's own or beside a flat ring.
 *
 *     reduce_link 1 [ROUNDS] [LARGEST]   a rank a machine: auto, and MPI_Allreduce of floats
 *     reduce_link 2 [ROUNDS] [LARGEST]   two: auto (hierarchical), and a ring over all ranks
 *
 * The two take turns, behind a barrier; medians of rank 0's times, in us; the sums are looked at.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "machines/bridge.h"
#include "machines/start.h"

enum { MOST = 4096, SMALLEST = 4 };

static struct hr_wire *wire;
static struct hr_bridge *bridge;
static struct hr_control *control;
static struct hr_group_options options[2];
static struct hr_carried_group carried[2];
static unsigned char *segment, *group[2], *arena;
static size_t segment_bytes, each, nranks, rounds = 400, largest = 1 << 20;
static double took[2][MOST];

static struct hr_place place_of(int which, struct hr_waiter *waiter)
{
    return (struct hr_place){.group = group[which],
                             .segment = segment,
                             .segment_bytes = segment_bytes,
                             .control = control,
                             .waiter = waiter};
}

static enum hr_status take_memory(size_t group_bytes)
{
    segment_bytes = group_bytes + nranks * largest;
    segment = aligned_alloc(4096, hr_round_up(segment_bytes, 4096));
    control = aligned_alloc(4096, hr_round_up(hr_control_bytes(nranks), 4096));
    if (!segment || !control)
        return hr_fail(HR_E_NOMEM, "no memory");
    memset(segment, 0, segment_bytes);
    memset(control, 0, hr_control_bytes(nranks));
    hr_control_init(control, nranks);
    arena = segment + group_bytes;
    return HR_OK;
}

static enum hr_status lay_out(void)
{
    size_t bytes[2];
    for (int which = 0; which < 2; which++) {
        options[which] = (struct hr_group_options){
            .nranks = nranks, .algorithm = which ? &hr_allreduce_ring : &hr_allreduce_auto};
        hr_hosts_deal(&options[which].hosts, nranks, wire->machines, wire->self);
        HR_TRY(hr_group_bytes(&options[which], &bytes[which]));
        bytes[which] = hr_round_up(bytes[which], HR_LINE);
    }
    HR_TRY(take_memory(bytes[0] + bytes[1]));
    group[0] = segment;
    group[1] = segment + bytes[0];
    const struct hr_bridge_options it = {.wire = wire,
                                         .hosts = options[0].hosts,
                                         .control = control,
                                         .segment = segment,
                                         .segment_bytes = segment_bytes};
    HR_TRY(hr_bridge_open(&it, &bridge));
    for (int which = 0; which < 2; which++) {
        const struct hr_place place = place_of(which, NULL);
        HR_TRY(hr_group_init(group[which], &options[which]));
        HR_TRY(hr_bridge_add_group(bridge, &carried[which], &options[which], &place));
    }
    return HR_OK;
}

static enum hr_status reduce(struct hr_member *member, int which, float *buffer, size_t count)
{
    if (which == 0 || each > 1)
        hr_member_all_reduce_start(&member[which], buffer, 0, count);
    return hr_member_wait(&member[which]);
    MPI_Allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return HR_OK;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* One all-reduce; how long it took. */
static enum hr_status time_one(struct hr_member *member, size_t rank, int which, float *buffer,
                               size_t count, double *us)
{
    const float all = (float)(nranks * (nranks + 1) / 2);
    for (size_t i = 0; i < count; i++)
        buffer[i] = (float)(rank + 1);
    HR_TRY(hr_member_barrier(&member[0]));
    const int64_t began = hr_clock_ns();
    HR_TRY(reduce(member, which, buffer, count));
    *us = (double)(hr_clock_ns() - began) / 1e3;
    for (size_t i = 0; i < count; i++)
        if (buffer[i] != all)
            return hr_fail(HR_E_FAILED, "element %zu of %zu is %g, not %g", i, count,
                           (double)buffer[i], (double)all);
    return HR_OK;
}

static enum hr_status measure(struct hr_member *member, size_t rank, float *buffer)
{
    for (size_t bytes = SMALLEST; bytes <= largest; bytes *= 4) {
        const size_t n = bytes < 65536 ? rounds : rounds / 8 + 1;
        double us;
        for (size_t i = 0; i < 2 * n; i++) {
            HR_TRY(time_one(member, rank, i % 2, buffer, bytes / sizeof *buffer, &us));
            if (rank == 0)
                took[i % 2][i / 2] = us;
        }
        if (rank)
            continue;
        for (int which = 0; which < 2; which++)
            qsort(took[which], n, sizeof **took, compare);
        printf("%9zu %12.1f %12.1f %8.2f\n", bytes, took[0][n / 2], took[1][n / 2],
               took[1][n / 2] / took[0][n / 2]);
    }
    return HR_OK;
}

static enum hr_status run_rank(size_t rank)
{
    struct hr_member member[2];
    struct hr_waiter waiter = {.abort = &control->abort,
                               .spin_ns = hr_spin_budget_ns(each),
                               .timeout_ns = 20 * HR_NS_PER_SECOND,
                               .poll = hr_bridge_poll,
                               .poll_arg = bridge};
    for (int which = 0; which < 2; which++) {
        const struct hr_place place = place_of(which, &waiter);
        HR_TRY(hr_member_init(&member[which], &options[which], &place, rank));
    }
    const enum hr_status status = measure(member, rank, (float *)(void *)(arena + rank * largest));
    hr_member_fini(&member[0]);
    hr_member_fini(&member[1]);
    return status;
}

static void *rank_main(void *arg)
{
    const size_t rank = *(size_t *)arg;
    const enum hr_status status = run_rank(rank);
    if (status != HR_OK)
        hr_control_abort(control, rank, status, hr_error_message());
    return NULL;
}

static enum hr_status run(void)
{
    pthread_t thread[HR_MAX_RANKS];
    size_t rank[HR_MAX_RANKS];
    nranks = each * wire->machines;
    HR_TRY(lay_out());
    if (wire->self == 0)
        printf("%s, %zu machines of %zu\n%9s %12s %12s %8s\n", wire->table->name, wire->machines,
               each, "bytes", "auto us", each > 1 ? "ring us" : "MPI us", "times");
    for (size_t i = 0; i < each; i++) {
        rank[i] = wire->self * each + i;
        if (pthread_create(&thread[i], NULL, rank_main, &rank[i]) != 0)
            return hr_fail(HR_E_FAILED, "no thread");
    }
    for (size_t i = 0; i < each; i++)
        pthread_join(thread[i], NULL);
    hr_bridge_leave(bridge);
    const int64_t began = hr_clock_ns();
    while (!hr_bridge_is_over(bridge) && hr_clock_ns() - began < 5 * HR_NS_PER_SECOND)
        hr_bridge_poll(bridge);
    const enum hr_status status = hr_control_failure(control);
    hr_bridge_close(bridge);
    return status;
}

int main(int argc, char **argv)
{
    int code = 2;
    each = argc > 1 ? (size_t)atol(argv[1]) : 1;
    rounds = argc > 2 ? (size_t)atol(argv[2]) : rounds;
    largest = argc > 3 ? (size_t)atol(argv[3]) : largest;
    if (!each || rounds >= MOST || hr_mpi_open(10 * HR_NS_PER_SECOND, &wire) != HR_OK ||
        run() != HR_OK)
        fprintf(stderr, "reduce_link: %s\n", hr_error_message());
    else
        code = 0;
    hr_wire_close(wire);
    return hr_mpi_leave(code);
}
