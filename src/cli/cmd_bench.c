/* hogring bench - how fast the collectives are, in the columns that nccl-tests uses.
 *
 * The loop: every rank rewrites its whole buffer; barrier; time one all_reduce; check one element
 * of each line. The time of an iteration is that of the slowest rank; what is printed is the median
 * over iterations, with the 10th and 90th percentile.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/fpenv.h"
#include "base/size.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "group/group.h"
#include "group/launch.h"
#include "report/report.h"

enum { MAX_ROWS = 128, MOST_ITERATIONS = 2000, STEP = 4 };

/* What the ranks of one measurement share. */
struct bench {
    struct hr_group_options options;
    struct hr_control *control;
    void *segment, *group;
    float *buffer[HR_MAX_RANKS]; /* (count) */
    double *seconds;             /* (nranks, iterations) of each rank's own all_reduce */
    uint64_t *wrong;             /* (nranks) */
    size_t count, iterations, warmup;
    int64_t timeout_ns, spin_ns;
};

/* --- in the ranks --- */

/* Integers, so that the sum is exact in any order. */
static float value_of(size_t rank, size_t iteration)
{
    return (float)(1 + (rank * 7 + iteration * 3) % 64);
}

static uint64_t count_wrong(const struct bench *bench, size_t rank, size_t iteration)
{
    float want = 0;
    uint64_t wrong = 0;
    for (size_t r = 0; r < bench->options.nranks; r++)
        want += value_of(r, iteration);
    for (size_t i = 0; i < bench->count; i++)
        wrong += bench->buffer[rank][i] != want;
    return wrong;
}

static enum hr_status iterate(struct bench *bench, struct hr_member *member, size_t rank)
{
    float *buffer = bench->buffer[rank];
    for (size_t k = 0; k < bench->warmup + bench->iterations; k++) {
        const float value = value_of(rank, k);
        for (size_t i = 0; i < bench->count; i++)
            buffer[i] = value;
        HR_TRY(hr_member_barrier(member));
        const int64_t began = hr_clock_ns();
        HR_TRY(hr_member_all_reduce(member, buffer, bench->count));
        const int64_t took = hr_clock_ns() - began;
        if (k >= bench->warmup)
            bench->seconds[rank * bench->iterations + k - bench->warmup] = hr_seconds(took);
        if (k % 8 == 0)
            bench->wrong[rank] += count_wrong(bench, rank, k);
        HR_TRY(hr_member_barrier(member)); /* nobody rewrites a buffer that a peer still checks */
    }
    return HR_OK;
}

/* A rank a processor, where there are enough: two ranks that only ever wake one another may be left
 * on one processor for a whole measurement. */
static void pin(size_t rank, size_t nranks)
{
    cpu_set_t all, mine;
    size_t seen = 0;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || (size_t)CPU_COUNT(&all) < nranks)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ == rank)
            CPU_SET(cpu, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct bench *bench = arg;
    struct hr_member member;
    struct hr_waiter waiter = {.abort = &bench->control->abort,
                               .spin_ns = bench->spin_ns,
                               .timeout_ns = bench->timeout_ns};
    const struct hr_place place = {.group = bench->group,
                                   .segment = bench->segment,
                                   .control = bench->control,
                                   .waiter = &waiter};
    pin(rank, bench->options.nranks);
    HR_TRY(hr_member_init(&member, &bench->options, &place, rank));
    const enum hr_status status = iterate(bench, &member, rank);
    hr_member_fini(&member);
    return status;
}

/* --- one measurement --- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fill_row(const struct bench *bench, struct hr_bench_row *row)
{
    const size_t iterations = bench->iterations;
    const double n = (double)bench->options.nranks;
    double *slowest = bench->seconds; /* rank 0's line takes the maxima */
    for (size_t r = 0; r < bench->options.nranks; r++) {
        row->wrong += bench->wrong[r];
        for (size_t k = 0; k < iterations; k++)
            slowest[k] = fmax(slowest[k], bench->seconds[r * iterations + k]);
    }
    qsort(slowest, iterations, sizeof *slowest, compare_doubles);
    row->p10_us = 1e6 * slowest[iterations / 10];
    row->p50_us = 1e6 * slowest[iterations / 2];
    row->p90_us = 1e6 * slowest[iterations * 9 / 10];
    row->algbw_gbs = (double)row->bytes / slowest[iterations / 2] * 1e-9;
    row->busbw_gbs = row->algbw_gbs * 2 * (n - 1) / n;
}

static size_t iterations_for(size_t bytes)
{
    const size_t by_volume = ((size_t)512 << 20) / bytes;
    return by_volume < 20 ? 20 : by_volume > MOST_ITERATIONS ? MOST_ITERATIONS : by_volume;
}

static enum hr_status take_memory(struct bench *bench, struct hr_segment *segment)
{
    const size_t n = bench->options.nranks,
                 arena = hr_round_up(bench->count * sizeof(float), 4096) + 9 * HR_LINE;
    size_t group_bytes;
    HR_TRY(hr_group_bytes(&bench->options, &group_bytes));
    group_bytes = hr_round_up(group_bytes, HR_LINE);
    const size_t times = hr_round_up(n * bench->iterations * sizeof(double), HR_LINE);
    HR_TRY(
        hr_segment_create(group_bytes + n * arena + times + n * sizeof(uint64_t), false, segment));
    unsigned char *at = segment->base;
    bench->segment = bench->group = at;
    for (size_t r = 0; r < n; r++)
        bench->buffer[r] = (float *)(void *)(at + group_bytes + r * arena);
    bench->seconds = (double *)(void *)(at + group_bytes + n * arena);
    bench->wrong = (uint64_t *)(void *)((unsigned char *)bench->seconds + times);
    return hr_group_init(bench->group, &bench->options);
}

static enum hr_status measure(struct bench *bench, enum hr_launch launch, struct hr_bench_row *row)
{
    struct hr_segment control = {0}, segment = {0};
    enum hr_status status;
    bool stuck = false;
    bench->count = row->bytes / sizeof(float);
    bench->iterations = iterations_for(row->bytes);
    bench->warmup = 20;
    HR_TRY_GOTO(hr_segment_create(hr_control_bytes(row->ranks), false, &control), status, out);
    HR_TRY_GOTO(take_memory(bench, &segment), status, out);
    bench->control = control.base;
    hr_control_init(bench->control, row->ranks);
    const struct hr_launch_options options = {.launch = launch,
                                              .nranks = row->ranks,
                                              .control = bench->control,
                                              .main = rank_main,
                                              .tick_ns = HR_NS_PER_SECOND / 10,
                                              .arg = bench};
    HR_TRY_GOTO(hr_launch_run(&options, &stuck), status, out);
    fill_row(bench, row);
out:
    if (!stuck) {
        hr_segment_destroy(&segment);
        hr_segment_destroy(&control);
    }
    return status;
}

/* --- the command --- */

static void print_row(const struct hr_bench_row *row)
{
    printf("%12zu %12zu  float   sum  %-14s %10.2f %10.2f %10.2f %8.3f %8.3f %7zu\n", row->bytes,
           row->bytes / sizeof(float), row->algorithm, row->p50_us, row->p10_us, row->p90_us,
           row->algbw_gbs, row->busbw_gbs, row->wrong);
    fflush(stdout);
}

static void print_head(const struct hr_cli *cli)
{
    printf("# hogring bench allreduce: %zu ranks (%s) on %zu processors; hand-off through the "
           "kernel %.1f us\n",
           cli->ranks, cli->train.launch, hr_cpus_allowed(), (double)hr_handoff_ns() * 1e-3);
    printf("%12s %12s  %-7s %-4s %-14s %10s %10s %10s %8s %8s %7s\n", "size (B)", "count", "type",
           "op", "algorithm", "time (us)", "p10", "p90", "algbw", "busbw", "#wrong");
}

static enum hr_status parse_sizes(const char *text, uint64_t *low, uint64_t *high)
{
    char first[64];
    const char *colon = strchr(text, ':');
    snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
    if (hr_parse_size(first, low) && hr_parse_size(colon ? colon + 1 : first, high) &&
        *low >= sizeof(float) && *low <= *high && *high <= (uint64_t)1 << 33)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--sizes %s: expected LO:HI in bytes, as 4:64M, from 4 to 8G", text);
}

struct rows {
    struct hr_bench_row row[MAX_ROWS];
    size_t n;
    uint64_t low, high; /* bytes */
    enum hr_launch launch;
};

static enum hr_status measure_algorithm(const struct hr_cli *cli,
                                        const struct hr_algorithm *algorithm, struct rows *rows)
{
    for (uint64_t bytes = rows->low; bytes <= rows->high && rows->n < MAX_ROWS; bytes *= STEP) {
        struct bench bench = {
            .options = {.nranks = cli->ranks,
                        .algorithm = algorithm,
                        .plan_only = cli->plan,
                        .crowded = cli->ranks > hr_cpus_allowed(),
                        .helpers = hr_cpus_allowed() - 1},
            .timeout_ns = (int64_t)(cli->train.timeout * (double)HR_NS_PER_SECOND),
            .spin_ns = hr_spin_budget_ns(cli->ranks),
        };
        struct hr_bench_row *row = &rows->row[rows->n];
        *row = (struct hr_bench_row){.op = "allreduce",
                                     .algorithm = algorithm->name,
                                     .transport = "zero-copy",
                                     .launch = cli->train.launch,
                                     .bytes = bytes / sizeof(float) * sizeof(float),
                                     .ranks = cli->ranks};
        HR_TRY(measure(&bench, rows->launch, row));
        rows->n++;
        if (strcmp(cli->json, "-") != 0)
            print_row(row);
    }
    return HR_OK;
}

static enum hr_status bench(struct hr_cli *cli, struct rows *rows)
{
    if (cli->npositional != 1 || strcmp(cli->positional[0], "allreduce") != 0)
        return hr_fail(HR_E_USAGE, "bench: expected \"hogring bench allreduce\"");
    if (cli->ranks < 1 || cli->ranks > HR_MAX_RANKS)
        return hr_fail(HR_E_USAGE, "--ranks %zu: expected 1 to %d", cli->ranks, HR_MAX_RANKS);
    HR_TRY(parse_sizes(cli->sizes, &rows->low, &rows->high));
    HR_TRY(hr_launch_parse(cli->train.launch, &rows->launch));
    const bool all = !strcmp(cli->train.algorithm, "all");
    const struct hr_algorithm *only = NULL;
    if (!all)
        HR_TRY(hr_algorithm_find(cli->train.algorithm, &only));
    hr_fp_flush_denormals();
    if (strcmp(cli->json, "-") != 0)
        print_head(cli);
    for (size_t i = 0; hr_algorithm_at(i); i++)
        if (all || hr_algorithm_at(i) == only)
            HR_TRY(measure_algorithm(cli, hr_algorithm_at(i), rows));
    if (cli->json[0])
        HR_TRY(hr_json_write_rows(cli->json, rows->row, rows->n));
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].wrong)
            return hr_fail(HR_E_FAILED, "%s of %zu bytes: %zu elements are wrong",
                           rows->row[i].algorithm, rows->row[i].bytes, rows->row[i].wrong);
    return HR_OK;
}

static int run(struct hr_cli *cli)
{
    static struct rows rows;
    const enum hr_status status = bench(cli, &rows);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_bench = {
    .name = "bench",
    .summary = "measure a collective over sizes",
    .bit = HR_BENCH,
    .usage = "allreduce [OPTIONS]",
    .story =
        "Every rank rewrites its buffer before each all-reduce; an iteration takes as long as its\n"
        "slowest rank; the time is the median. algbw is size / time, busbw algbw x 2 (n - 1) / n,\n"
        "in GB/s, as nccl-tests prints them. Each rank has a processor of its own where there are\n"
        "enough. Every eighth result is checked, element by element.\n",
    .examples = "  hogring bench allreduce\n"
                "  hogring bench allreduce --algorithm all --ranks 4 --sizes 1K:16M --launch "
                "process --json -\n",
    .run = run,
};
