/* hogring bench OPERATION - how fast collectives are, in the columns that nccl-tests uses. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hogring/group.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/fpenv.h"
#include "base/median.h"
#include "base/signals.h"
#include "base/size.h"
#include "group/world.h"
#include "options/meaning.h"
#include "options/nearest.h"
#include "shm/ring.h"
#include "shm/wait.h"
#include "terminal/grid.h"
#include "watch/watch.h"

enum {
    MOST_ITERATIONS = 2000,
    LEAST_ITERATIONS = 20,
    WARMUP = 20,
    VOLUME = 512 << 20,
    PATIENCE_NS = 500 * 1000 * 1000, /* for a measurement's iterations, behind its warm-up */
    CHECK_EVERY = 8
};

/* What the ranks of one measurement share. */
struct bench {
    const struct hr_bench_case *what;
    size_t count, iterations, warmup;
    double *seconds; /* (nranks, iterations) of each rank's own operations */
    uint64_t *wrong; /* (nranks) */
    uint64_t *done;  /* iterations that patience allows: rank 0's word, behind a barrier */
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

/* The k-th of all; its time to `seconds`, if that is wanted. */
static enum hr_status iterate_once(const struct loop *loop, size_t k, double *seconds)
{
    const struct bench *bench = loop->bench;
    const bool barriers = !bench->what->back_to_back;
    fill(bench->what->type, loop->in, loop->in_count, value_of(bench, loop->rank, k));
    if (barriers)
        HR_TRY(hr_barrier(loop->world));
    const int64_t began = hr_clock_ns();
    HR_TRY(operate(loop));
    const int64_t took = hr_clock_ns() - began;
    if (seconds)
        *seconds = hr_seconds(took);
    if (k % CHECK_EVERY == 0)
        bench->wrong[loop->rank] += count_wrong(loop, k);
    if (barriers) /* nobody rewrites a buffer that a peer still checks */
        HR_TRY(hr_barrier(loop->world));
    return HR_OK;
}

static enum hr_status iterate(const struct loop *loop)
{
    const struct bench *bench = loop->bench;
    double *seconds = bench->seconds + loop->rank * bench->iterations;
    const int64_t began = hr_clock_ns();
    for (size_t k = 0; k < bench->warmup; k++)
        HR_TRY(iterate_once(loop, k, NULL));
    if (loop->rank == 0 && !bench->what->iterations) {
        const size_t each = hr_max_size((size_t)(hr_clock_ns() - began) / bench->warmup, 1);
        const size_t allowed = hr_max_size(PATIENCE_NS / each, LEAST_ITERATIONS);
        *bench->done = hr_min_size(allowed, bench->iterations);
    }
    HR_TRY(hr_barrier(loop->world));
    for (size_t k = 0; k < *bench->done; k++)
        HR_TRY(iterate_once(loop, bench->warmup + k, &seconds[k]));
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
    const size_t iterations = *bench->done, n = bench->what->world.nranks;
    double *slowest = bench->seconds; /* rank 0's line takes the maxima */
    for (size_t r = 0; r < n; r++) {
        row->wrong += bench->wrong[r];
        for (size_t k = 0; k < iterations; k++)
            slowest[k] = fmax(slowest[k], bench->seconds[r * bench->iterations + k]);
    }
    hr_sort(slowest, iterations);
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
    const size_t bytes =
        n * (bench.iterations * sizeof *bench.seconds + sizeof *bench.wrong) + sizeof *bench.done;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "no memory for %zu times", n * bench.iterations);
    bench.seconds = shared;
    bench.wrong = (uint64_t *)(bench.seconds + n * bench.iterations);
    bench.done = bench.wrong + n;
    *bench.done = bench.iterations;
    const enum hr_status status = hr_world_run(&world, rank_main, &bench);
    if (status == HR_OK)
        fill_row(&bench, row);
    munmap(shared, bytes);
    return status;
}

/* --- the machine's own times --- */

enum {
    TRIPS = 2000,
    PASSES = 5,
    SLOTS = 8,
    MOST_POLLS = 100 * 1000 * 1000,
    MEMORY_BYTES = 64 << 20
};

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
    float *x = malloc(MEMORY_BYTES);
    if (!x)
        return hr_fail(HR_E_NOMEM, "no memory");
    for (size_t i = 0; i < MEMORY_BYTES / sizeof *x; i++)
        x[i] = 1;
    for (int pass = 0; pass < PASSES; pass++) {
        HR_TRY(hr_barrier(world));
        const int64_t began = hr_clock_ns();
        for (size_t i = 0; i < MEMORY_BYTES / sizeof *x; i++)
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
    return 2 * (double)MEMORY_BYTES * (double)nranks / best_s * 1e-9;
}

static void bench_calibrate(size_t nranks, struct hr_machine_speed *calibration)
{
    const size_t threads = nranks < hr_cpus_allowed() ? nranks : hr_cpus_allowed();
    *calibration = (struct hr_machine_speed){.handoff_us = (double)hr_handoff_ns() * 1e-3,
                                             .message_ns = message_ns(),
                                             .threads = threads,
                                             .memory_gbs = memory_gbs(threads),
                                             .l2_bytes = hr_cpus_cache_bytes(2),
                                             .l3_bytes = hr_cpus_cache_bytes(3)};
}

static void bench_print_calibration(const struct hr_machine_speed *c)
{
    printf("# %zu processors; L2 %zu KiB, L3 %zu MiB; pages of %ld bytes\n", hr_cpus_allowed(),
           c->l2_bytes >> 10, c->l3_bytes >> 20, sysconf(_SC_PAGESIZE));
    printf("# a message one way %.0f ns; a hand-off through the kernel %.1f us; %zu threads read, "
           "multiply and write 64 MiB each at %.1f GB/s\n",
           c->message_ns, c->handoff_us, c->threads, c->memory_gbs);
}

/* --- sizes, algorithms, operations --- */

enum { MAX_ROWS = 512, STEP = 4 };

struct rows {
    struct hr_bench_row row[MAX_ROWS];
    size_t n;
    uint64_t low, high; /* bytes to measure */
    struct hr_grid table;
};

/* "all_reduce", "all-reduce" and "allreduce" are one. */
static void squeeze(char *out, size_t size, const char *name)
{
    size_t used = 0;
    for (; *name && used + 1 < size; name++)
        if (*name != '_' && *name != '-')
            out[used++] = *name;
    out[used] = 0;
}

static const char *bench_name(enum hr_operation operation)
{
    return operation == HR_OP_SEND ? "sendrecv" : hr_operation_facts(operation)->name;
}

static bool is_measured(enum hr_operation operation)
{
    return operation != HR_OP_NONE && operation != HR_OP_REDUCE_APPLY;
}

static enum hr_status find_operation(const char *asked, enum hr_operation *out)
{
    char wanted[64], known[64];
    squeeze(wanted, sizeof wanted, asked);
    for (enum hr_operation operation = 0; operation < HR_OPERATIONS; operation++) {
        squeeze(known, sizeof known, bench_name(operation));
        if (is_measured(operation) && !strcmp(known, wanted)) {
            *out = operation;
            return HR_OK;
        }
    }
    return hr_fail(
        HR_E_USAGE,
        "bench %s: expected all_reduce, reduce, broadcast, reduce_scatter, all_gather, "
        "gather, scatter, all_to_all, barrier, sendrecv, or all; or layers, train, links, "
        "store, pipeline",
        asked);
}

static enum hr_status read_case(const struct hr_cli *cli, struct hr_bench_case *what)
{
    if (!hr_type_parse(cli->type, &what->type))
        return hr_fail(HR_E_USAGE, "--type %s: expected float32, float64, int32 or int64",
                       cli->type);
    if (!hr_redop_parse(cli->redop, &what->redop))
        return hr_fail(HR_E_USAGE, "--redop %s: expected sum, product, min, max or mean",
                       cli->redop);
    HR_TRY(hr_bench_parse_either("buffers", cli->buffers, "arena", "private", &what->own_memory));
    HR_TRY(
        hr_bench_parse_either("loop", cli->loop, "barrier", "back-to-back", &what->back_to_back));
    what->world = (struct hr_world_options){
        .nranks = cli->ranks,
        .launch = cli->train.launch,
        .transport = cli->transport,
        .link = cli->link[0] ? cli->link : NULL,
        .topology = cli->topology[0] ? cli->topology : NULL,
        .group_size = cli->group_size,
        .timeout = cli->train.timeout > 0 ? cli->train.timeout : -1,
        .pin = 1,
    };
    return HR_OK;
}

/* What means nothing to this operation; to all of them, that is what means nothing to any. */
static enum hr_status check_meaning(const struct hr_cli *cli, bool all, enum hr_operation operation)
{
    const char *algorithm = cli->train.algorithm;
    const bool reduced = all || operation == HR_OP_ALL_REDUCE;
    const bool carries = all || operation != HR_OP_BARRIER;
    const bool grouped = !strcmp(algorithm, "all") || !strcmp(algorithm, "hierarchical");
    const struct {
        const char *option;
        bool fits;
    } rules[] = {{"algorithm", reduced},
                 {"group-size", reduced && grouped},
                 {"redop", all || hr_operation_facts(operation)->reduces},
                 {"type", carries},
                 {"sizes", carries},
                 {"buffers", carries},
                 {"plot", carries}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (hr_cli_was_given(cli, rules[i].option) && !rules[i].fits)
            return hr_fail(HR_E_USAGE, "--%s: is not supported with bench %s%s%s", rules[i].option,
                           cli->positional[0], reduced ? " --algorithm " : "",
                           reduced ? algorithm : "");
    return hr_meaning_check_link(cli, cli->topology);
}

/* --- the table --- */

static void print_row(struct hr_grid *table, const struct hr_bench_row *row)
{
    fprintf(table->cells, "%zu\t%s\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%zu\n", row->bytes,
            row->algorithm, row->p50_us, row->p10_us, row->p90_us, row->algbw_gbs, row->busbw_gbs,
            row->wrong);
    hr_grid_flush(table, stdout);
    fflush(stdout);
}

static void begin_table(struct hr_grid *table, const struct hr_bench_case *what,
                        const char *operation)
{
    const bool reduces = hr_operation_facts(what->operation)->reduces;
    printf("# %s%s%s of %s: %zu rank%s (%s, %s, %s buffers%s)\n", operation, reduces ? ", " : "",
           reduces ? hr_redop_name(what->redop) : "", hr_type_name(what->type), what->world.nranks,
           what->world.nranks == 1 ? "" : "s", what->world.launch, what->world.transport,
           what->own_memory ? "private" : "arena", what->back_to_back ? ", back to back" : "");
    hr_grid_begin(table,
                  "size (B)\t-algorithm \ttime (us)\t    p10\t    p90\t algbw\t busbw\t#wrong");
    hr_grid_flush(table, stdout);
}

static json_t *bench_row(const void *rows, size_t i)
{
    const struct hr_bench_row *row = (const struct hr_bench_row *)rows + i;
    return hr_json_object(HR_OF(row, op), HR_OF(row, algorithm), HR_OF(row, transport),
                          HR_OF(row, launch), HR_OF(row, type), HR_OF(row, redop),
                          HR_OF(row, buffers), HR_OF(row, loop), HR_OF(row, bytes),
                          HR_OF(row, count), HR_OF(row, ranks), "time_us",
                          hr_bench_times(row->p10_us, row->p50_us, row->p90_us),
                          HR_OF(row, algbw_gbs), HR_OF(row, busbw_gbs), HR_OF(row, wrong), NULL);
}

static json_t *calibration_object(const struct hr_machine_speed *c)
{
    return hr_json_object(HR_OF(c, handoff_us), HR_OF(c, message_ns), HR_OF(c, threads),
                          HR_OF(c, memory_gbs), HR_OF(c, l2_bytes), HR_OF(c, l3_bytes), NULL);
}

json_t *hr_json_rows(const struct hr_machine_speed *calibration, const struct hr_bench_row *rows,
                     size_t n)
{
    return hr_json_object("calibration", calibration_object(calibration), "rows",
                          hr_json_list(n, bench_row, rows), NULL);
}

/* --- measuring --- */

static enum hr_status measure_sizes(const struct hr_cli *cli, struct hr_bench_case *what,
                                    struct rows *rows)
{
    const struct hr_operation_facts *facts = hr_operation_facts(what->operation);
    const bool sized = what->operation != HR_OP_BARRIER;
    const uint64_t low = sized ? rows->low : 0, high = sized ? rows->high : 0;
    for (uint64_t bytes = low; bytes <= high && rows->n < MAX_ROWS; bytes *= STEP) {
        struct hr_bench_row *row = &rows->row[rows->n];
        what->bytes = bytes;
        *row = (struct hr_bench_row){
            .op = bench_name(what->operation),
            .algorithm = what->operation == HR_OP_ALL_REDUCE ? what->world.algorithm : "direct",
            .transport = what->world.transport,
            .launch = what->world.launch,
            .type = hr_type_name(what->type),
            .redop = facts->reduces ? hr_redop_name(what->redop) : "none",
            .buffers = cli->buffers,
            .loop = cli->loop,
            .ranks = what->world.nranks};
        HR_TRY(hr_signals_check());
        HR_TRY(hr_bench_measure(what, row));
        rows->n++;
        if (hr_cli_speaks(cli))
            print_row(&rows->table, row);
        if (bytes == 0)
            break;
    }
    return HR_OK;
}

/* With one algorithm, or with all of them: NULL. */
static enum hr_status measure_operation(const struct hr_cli *cli, const struct hr_algorithm *only,
                                        struct hr_bench_case *what, struct rows *rows)
{
    const bool speaks = hr_cli_speaks(cli);
    enum hr_status status = HR_OK;
    if (speaks)
        begin_table(&rows->table, what, bench_name(what->operation));
    for (size_t i = 0; status == HR_OK && hr_algorithm_at(i); i++) {
        if (only ? hr_algorithm_at(i) != only : i == 0)
            continue; /* auto is one of the others */
        what->world.algorithm = hr_algorithm_at(i)->name;
        status = measure_sizes(cli, what, rows);
        if (what->operation != HR_OP_ALL_REDUCE)
            break;
    }
    if (speaks)
        hr_grid_end(&rows->table, NULL, 0);
    return status;
}

static enum hr_status refuse_wrong_sums(const struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].wrong)
            return hr_fail(HR_E_FAILED, "%s %s of %zu bytes: %zu elements are wrong",
                           rows->row[i].op, rows->row[i].algorithm, rows->row[i].bytes,
                           rows->row[i].wrong);
    return HR_OK;
}

static enum hr_status publish(const struct hr_cli *cli, const struct hr_bench_case *what,
                              const struct hr_machine_speed *calibration, const struct rows *rows)
{
    char title[200], links[100] = "";
    if (cli->link[0] || cli->topology[0])
        snprintf(links, sizeof links, ", emulated links %.50s %.30s", cli->topology, cli->link);
    snprintf(title, sizeof title, "%s: %zu ranks on %zu processors (%s, %s%s)", cli->positional[0],
             what->world.nranks, hr_cpus_allowed(), what->world.launch, what->world.transport,
             links);
    return hr_publish(cli, title, hr_json_rows(calibration, rows->row, rows->n));
}

enum hr_status hr_bench_collectives(struct hr_cli *cli)
{
    static struct rows all_rows;
    struct rows *rows = &all_rows;
    struct hr_bench_case what = {0};
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "bench: expected an operation, as \"hogring bench all_reduce\", "
                                   "or layers, train, links, store or pipeline");
    const bool all = !strcmp(cli->positional[0], "all");
    const struct hr_algorithm *only = NULL;
    HR_TRY(read_case(cli, &what));
    if (strcmp(cli->train.algorithm, "all") != 0)
        HR_TRY(hr_algorithm_find(cli->train.algorithm, &only));
    HR_TRY(hr_bench_parse_sizes(cli->sizes, &rows->low, &rows->high));
    if (!all)
        HR_TRY(find_operation(cli->positional[0], &what.operation));
    HR_TRY(check_meaning(cli, all, what.operation));
    const bool apart = all || hr_operation_facts(what.operation)->blocks;
    HR_TRY(hr_bench_check_memory((apart ? 2 : 1) * what.world.nranks, rows->low, rows->high, STEP));
    hr_fp_flush_denormals();
    struct hr_machine_speed calibration;
    bench_calibrate(cli->ranks, &calibration);
    if (hr_cli_speaks(cli)) {
        bench_print_calibration(&calibration);
        printf("# auto: one-shot up to %zu bytes, direct above, as measured (%s)\n",
               hr_tune_one_shot_bytes(cli->ranks), hr_tune_file());
    }
    for (enum hr_operation o = all ? HR_OP_BARRIER : what.operation;
         o < (all ? HR_OPERATIONS : what.operation + 1); o++) {
        what.operation = o;
        if (is_measured(o))
            HR_TRY(measure_operation(cli, only, &what, rows));
    }
    HR_TRY(publish(cli, &what, &calibration, rows));
    return refuse_wrong_sums(rows);
}
