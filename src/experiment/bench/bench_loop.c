#include "bench/bench_loop.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/size.h"
#include "hogring/group.h"

enum {
    MOST_ITERATIONS = 2000,
    LEAST_ITERATIONS = 20,
    WARMUP = 20,
    VOLUME = 512 << 20,
    CHECK_EVERY = 8
};

/* What the ranks of one measurement share. */
struct bench {
    const struct hr_bench_case *what;
    size_t count, iterations, warmup;
    double *seconds; /* (nranks, iterations) of each rank's own operations */
    uint64_t *wrong; /* (nranks) */
};

/* One rank's. */
struct loop {
    const struct bench *bench;
    struct hr_group *world;
    size_t rank, n;
    void *in, *out;
    size_t in_count, out_count;
};

/* --- elements --- */

/* Small integers, so that every operator is exact in every type; a product of them is 2. */
static double value_of(const struct bench *bench, size_t rank, size_t iteration)
{
    if (bench->what->redop == HR_PRODUCT)
        return rank == iteration % bench->what->world.nranks ? 2 : 1;
    return (double)(1 + (rank * 7 + iteration * 3) % 64);
}

static void fill(enum hr_type type, void *buffer, size_t count, double value)
{
#define FILL(c_type)                                                                               \
    for (size_t i = 0; i < count; i++)                                                             \
        ((c_type *)buffer)[i] = (c_type)value;                                                     \
    return
    switch (type) {
    case HR_FLOAT32:
        FILL(float);
    case HR_FLOAT64:
        FILL(double);
    case HR_INT32:
        FILL(int32_t);
    default:
        FILL(int64_t);
    }
#undef FILL
}

static size_t count_others(enum hr_type type, const void *buffer, size_t count, double value)
{
    size_t wrong = 0;
#define COMPARE(c_type)                                                                            \
    for (size_t i = 0; i < count; i++)                                                             \
        wrong += ((const c_type *)buffer)[i] != (c_type)value;                                     \
    return wrong
    switch (type) {
    case HR_FLOAT32:
        COMPARE(float);
    case HR_FLOAT64:
        COMPARE(double);
    case HR_INT32:
        COMPARE(int32_t);
    default:
        COMPARE(int64_t);
    }
#undef COMPARE
}

static double reduced(const struct bench *bench, size_t iteration)
{
    const size_t n = bench->what->world.nranks;
    double result = value_of(bench, 0, iteration);
    for (size_t r = 1; r < n; r++) {
        const double x = value_of(bench, r, iteration);
        switch (bench->what->redop) {
        case HR_PRODUCT:
            result *= x;
            break;
        case HR_MIN:
            result = fmin(result, x);
            break;
        case HR_MAX:
            result = fmax(result, x);
            break;
        default:
            result += x;
        }
    }
    const bool whole = bench->what->type == HR_INT32 || bench->what->type == HR_INT64;
    if (bench->what->redop != HR_MEAN)
        return result;
    return whole                             ? trunc(result / (double)n)
           : bench->what->type == HR_FLOAT32 ? (double)((float)result / (float)n)
                                             : result / (double)n;
}

/* How many elements of the output are not what they have to be. The root is rank 0. */
static size_t count_wrong(const struct loop *loop, size_t iteration)
{
    const struct bench *bench = loop->bench;
    const struct hr_bench_case *what = bench->what;
    const struct hr_operation_facts *facts = hr_operation_facts(what->operation);
    const size_t block_bytes = bench->count * hr_type_bytes(what->type);
    size_t wrong = 0;
    if (facts->reduces)
        return facts->rooted && loop->rank != 0
                   ? 0
                   : count_others(what->type, loop->out, loop->out_count,
                                  reduced(bench, iteration));
    if (what->operation == HR_OP_BROADCAST || what->operation == HR_OP_SCATTER)
        return count_others(what->type, loop->out, loop->out_count, value_of(bench, 0, iteration));
    if (what->operation == HR_OP_SEND)
        return count_others(what->type, loop->out, loop->out_count,
                            value_of(bench, (loop->rank + loop->n - 1) % loop->n, iteration));
    if (what->operation == HR_OP_GATHER && loop->rank != 0)
        return 0;
    for (size_t r = 0; r < loop->n && what->operation != HR_OP_BARRIER; r++)
        wrong += count_others(what->type, (const unsigned char *)loop->out + r * block_bytes,
                              bench->count, value_of(bench, r, iteration));
    return wrong;
}

/* --- the loop of one rank --- */

/* Everybody sends to the next, and receives from the one before. */
static enum hr_status pass_on(const struct loop *loop)
{
    const enum hr_type type = loop->bench->what->type;
    struct hr_request *sent, *received;
    HR_TRY(
        hr_isend(loop->world, loop->in, loop->in_count, type, (loop->rank + 1) % loop->n, &sent));
    HR_TRY(hr_irecv(loop->world, loop->out, loop->out_count, type,
                    (loop->rank + loop->n - 1) % loop->n, &received));
    HR_TRY(hr_wait(received));
    return hr_wait(sent);
}

static enum hr_status operate(const struct loop *loop)
{
    const struct hr_bench_case *what = loop->bench->what;
    const size_t count = loop->bench->count;
    switch (what->operation) {
    case HR_OP_BROADCAST:
        return hr_broadcast(loop->world, loop->out, count, what->type, 0);
    case HR_OP_ALL_REDUCE:
        return hr_all_reduce(loop->world, loop->in, loop->out, count, what->type, what->redop);
    case HR_OP_REDUCE:
        return hr_reduce(loop->world, loop->in, loop->out, count, what->type, what->redop, 0);
    case HR_OP_REDUCE_SCATTER:
        return hr_reduce_scatter(loop->world, loop->in, loop->out, count, what->type, what->redop);
    case HR_OP_ALL_GATHER:
        return hr_all_gather(loop->world, loop->in, loop->out, count, what->type);
    case HR_OP_GATHER:
        return hr_gather(loop->world, loop->in, loop->out, count, what->type, 0);
    case HR_OP_SCATTER:
        return hr_scatter(loop->world, loop->in, loop->out, count, what->type, 0);
    case HR_OP_ALL_TO_ALL:
        return hr_all_to_all(loop->world, loop->in, loop->out, count, what->type);
    case HR_OP_SEND:
        return pass_on(loop);
    default:
        return hr_barrier(loop->world);
    }
}

static enum hr_status iterate(const struct loop *loop)
{
    const struct bench *bench = loop->bench;
    const bool barriers = !bench->what->back_to_back;
    double *seconds = bench->seconds + loop->rank * bench->iterations;
    for (size_t k = 0; k < bench->warmup + bench->iterations; k++) {
        fill(bench->what->type, loop->in, loop->in_count, value_of(bench, loop->rank, k));
        if (barriers)
            HR_TRY(hr_barrier(loop->world));
        const int64_t began = hr_clock_ns();
        HR_TRY(operate(loop));
        const int64_t took = hr_clock_ns() - began;
        if (k >= bench->warmup)
            seconds[k - bench->warmup] = hr_seconds(took);
        if (k % CHECK_EVERY == 0)
            bench->wrong[loop->rank] += count_wrong(loop, k);
        if (barriers) /* nobody rewrites a buffer that a peer still checks */
            HR_TRY(hr_barrier(loop->world));
    }
    return HR_OK;
}

static enum hr_status take_buffer(const struct loop *loop, size_t count, void **buffer)
{
    const size_t bytes = count * hr_type_bytes(loop->bench->what->type) + 1;
    if (!loop->bench->what->own_memory)
        return hr_group_alloc(loop->world, bytes, buffer);
    *buffer = aligned_alloc(128, hr_round_up(bytes, 128)); /* lives as long as the rank */
    return *buffer ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a buffer of %zu bytes", bytes);
}

static size_t extent_count(const struct bench *bench, enum hr_extent extent)
{
    return extent == HR_ALL_BLOCKS ? bench->what->world.nranks * bench->count : bench->count;
}

/* All-reduce, reduce and broadcast work in place, as training does; the others apart. */
static enum hr_status rank_main(struct hr_group *world, void *arg)
{
    const struct bench *bench = arg;
    const struct hr_operation_facts *facts = hr_operation_facts(bench->what->operation);
    struct loop loop = {.bench = bench,
                        .world = world,
                        .rank = hr_group_rank(world),
                        .n = hr_group_size(world),
                        .in_count = extent_count(bench, facts->in),
                        .out_count = extent_count(bench, facts->out)};
    HR_TRY(take_buffer(&loop, loop.in_count, &loop.in));
    loop.out = loop.in;
    if (facts->blocks || bench->what->operation == HR_OP_SEND)
        HR_TRY(take_buffer(&loop, loop.out_count, &loop.out));
    const enum hr_status status = iterate(&loop);
    if (bench->what->own_memory) {
        if (loop.out != loop.in)
            free(loop.out);
        free(loop.in);
    }
    return status;
}

/* --- one measurement --- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How busy a link is in the best algorithm, per byte of the buffer: nccl-tests' bus bandwidth. */
static double bus_factor(enum hr_operation operation, double n)
{
    switch (operation) {
    case HR_OP_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case HR_OP_BROADCAST:
    case HR_OP_REDUCE:
    case HR_OP_SEND:
        return 1;
    default:
        return (n - 1) / n;
    }
}

static void fill_row(const struct bench *bench, struct hr_bench_row *row)
{
    const size_t iterations = bench->iterations, n = bench->what->world.nranks;
    double *slowest = bench->seconds; /* rank 0's line takes the maxima */
    for (size_t r = 0; r < n; r++) {
        row->wrong += bench->wrong[r];
        for (size_t k = 0; k < iterations; k++)
            slowest[k] = fmax(slowest[k], bench->seconds[r * iterations + k]);
    }
    qsort(slowest, iterations, sizeof *slowest, compare_doubles);
    row->p10_us = 1e6 * slowest[iterations / 10];
    row->p50_us = 1e6 * slowest[iterations / 2];
    row->p90_us = 1e6 * slowest[iterations * 9 / 10];
    row->algbw_gbs = (double)row->bytes / slowest[iterations / 2] * 1e-9;
    row->busbw_gbs = row->algbw_gbs * bus_factor(bench->what->operation, (double)n);
}

static size_t iterations_for(size_t bytes, bool slow)
{
    const size_t by_volume = (size_t)VOLUME / (bytes ? bytes : 1) / (slow ? 64 : 1);
    return by_volume < LEAST_ITERATIONS  ? LEAST_ITERATIONS
           : by_volume > MOST_ITERATIONS ? MOST_ITERATIONS
                                         : by_volume;
}

enum hr_status hr_bench_measure(const struct hr_bench_case *what, struct hr_bench_row *row)
{
    const struct hr_operation_facts *facts = hr_operation_facts(what->operation);
    const size_t n = what->world.nranks, elem = hr_type_bytes(what->type);
    const size_t blocks = facts->blocks ? n : 1;
    struct bench bench = {.what = what, .count = what->bytes / elem / blocks};
    struct hr_world_options world = what->world;
    row->count = bench.count * blocks;
    row->bytes = row->count * elem;
    const bool emulated = what->world.link || what->world.topology;
    bench.iterations =
        what->iterations ? what->iterations : iterations_for(row->bytes, emulated || n > 2);
    bench.warmup = what->iterations ? 1 : WARMUP;
    const bool apart = facts->blocks || what->operation == HR_OP_SEND;
    world.arena_bytes = what->own_memory ? 1 : (apart ? 2 : 1) * row->bytes + 4096;
    world.max_groups = 1;
    /* Processes write their times here as well. */
    const size_t bytes = n * (bench.iterations * sizeof *bench.seconds + sizeof *bench.wrong);
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "no memory for %zu times", n * bench.iterations);
    bench.seconds = shared;
    bench.wrong = (uint64_t *)(bench.seconds + n * bench.iterations);
    const enum hr_status status = hr_world_run(&world, rank_main, &bench);
    if (status == HR_OK)
        fill_row(&bench, row);
    munmap(shared, bytes);
    return status;
}
