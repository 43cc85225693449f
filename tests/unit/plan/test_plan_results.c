/* Plans as data: a world that runs them by hand gets the result, for the bytes they promise. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"
#include "support/tasks.h"

enum { MAX_RANKS = 17, OPERATIONS = 3, LINE = 32, MESSAGES = 128 };

static bool receives(const struct hr_row *row)
{
    return row->action == HR_ROW_RECV || row->action == HR_ROW_ADD || row->action == HR_ROW_COPY;
}

/* Ranks do one row at a time, in an order drawn from a seed. A message says where the data lies in
 * the sender's buffer, and is read when the receiver gets there, by the sum when it was kept: so it
 * is seen when somebody overwrites too early what another has still to read. */
struct world {
    struct task task;
    struct hr_layout layout;
    struct hr_plan plan[MAX_RANKS];
    size_t row[MAX_RANKS], operation[MAX_RANKS];
    size_t sent[MAX_RANKS][MAX_RANKS], taken[MAX_RANKS][MAX_RANKS]; /* messages, [from][to] */
    const float *message[MAX_RANKS][MAX_RANKS][MESSAGES * OPERATIONS];
    const float *kept[MAX_RANKS][MAX_RANKS]; /* [rank][peer] */
    size_t kept_count[MAX_RANKS];
    uint64_t bytes_from[MAX_RANKS];
    float *buffer[MAX_RANKS][HR_BUFFERS]; /* where chunk 0 is, or would be */
    float *memory;
};

static size_t elems(const struct world *world)
{
    return hr_layout_bytes(&world->layout) / sizeof(float);
}

/* Element i of rank's input, counted from block 0. */
static float input(size_t rank, size_t operation, size_t i)
{
    return (float)((rank * 31 + operation * 17 + i * 7) % 101) - 50;
}

static float sum_of_inputs(const struct world *world, size_t operation, size_t i)
{
    float sum = 0;
    for (size_t r = 0; r < world->task.n; r++)
        sum += input(r, operation, i);
    return sum;
}

static bool holds(const struct world *world, enum hr_extent extent, size_t rank, size_t i)
{
    const struct hr_layout *l = &world->layout;
    return !l->blocks || extent == HR_ALL_BLOCKS || i / l->count == rank;
}

/* What element i of rank's output should be; false when it is not written. */
static bool wanted(const struct world *world, size_t rank, size_t i, float *want)
{
    const struct task *task = &world->task;
    const struct hr_operation_facts *facts = hr_operation_facts(task->operation);
    const size_t operation = world->operation[rank], count = task->count;
    if (!holds(world, facts->out, rank, i))
        return false;
    if (facts->reduces) {
        *want = sum_of_inputs(world, operation, i);
        return task->operation != HR_OP_REDUCE || rank == task->root;
    }
    if (task->operation == HR_OP_ALL_TO_ALL)
        *want = input(i / count, operation, rank * count + i % count);
    else if (task->operation == HR_OP_BROADCAST || task->operation == HR_OP_SCATTER)
        *want = input(task->root, operation, i);
    else
        *want = input(i / count, operation, i);
    return task->operation != HR_OP_GATHER || rank == task->root;
}

static void begin_operation(struct world *world, size_t rank)
{
    const struct hr_operation_facts *facts = hr_operation_facts(world->task.operation);
    for (size_t i = 0; i < elems(world); i++) {
        if (holds(world, facts->out, rank, i))
            world->buffer[rank][HR_OUT][i] = -7;
        if (holds(world, facts->in, rank, i))
            world->buffer[rank][HR_IN][i] = input(rank, world->operation[rank], i);
    }
}

static void end_operation(struct world *world, size_t rank)
{
    float want;
    for (size_t i = 0; i < elems(world); i++)
        if (wanted(world, rank, i, &want) && world->buffer[rank][HR_OUT][i] != want)
            fail_msg("%s of %zu ranks, root %zu, %s: rank %zu, element %zu is %g, not %g",
                     name_of(&world->task), world->task.n, world->task.root,
                     world->task.in_place ? "in place" : "out of place", rank, i,
                     (double)world->buffer[rank][HR_OUT][i], (double)want);
    assert_int_equal(world->kept_count[rank], 0);
    world->row[rank] = 0;
    if (++world->operation[rank] < OPERATIONS)
        begin_operation(world, rank);
}

static void send_by_hand(struct world *world, size_t rank, const struct hr_row *row)
{
    const size_t number = world->sent[rank][row->peer]++;
    assert_true(number < MESSAGES * OPERATIONS);
    const struct hr_pieces pieces = hr_layout_pieces(&world->layout, row->chunk, row->span);
    world->message[rank][row->peer][number] =
        world->buffer[rank][row->buffer] + pieces.begin / sizeof(float);
    world->bytes_from[rank] += pieces.left;
}

static bool receive_by_hand(struct world *world, size_t rank, const struct hr_row *row)
{
    const size_t number = world->taken[row->peer][rank];
    if (world->sent[row->peer][rank] == number)
        return false;
    const float *theirs = world->message[row->peer][rank][number];
    struct hr_pieces piece = hr_layout_pieces(&world->layout, row->chunk, row->span);
    const size_t first = piece.begin;
    if (row->action == HR_ROW_RECV) {
        world->kept[rank][row->peer] = theirs;
        world->kept_count[rank]++;
        return true; /* it is taken when it is summed */
    }
    for (; piece.bytes; hr_pieces_next(&piece)) {
        float *mine = world->buffer[rank][row->buffer] + piece.begin / sizeof(float);
        const float *there = theirs + (piece.begin - first) / sizeof(float);
        for (size_t i = 0; i < piece.bytes / sizeof(float); i++)
            mine[i] = there[i] + (row->action == HR_ROW_ADD ? mine[i] : 0);
    }
    world->taken[row->peer][rank]++;
    return true;
}

static void sum_by_hand(struct world *world, size_t rank, const struct hr_row *row)
{
    const struct hr_region region = hr_layout_region(&world->layout, row->chunk, row->span);
    const size_t begin = region.begin / sizeof(float);
    for (size_t i = 0; i < region.bytes / sizeof(float); i++) {
        float sum = world->buffer[rank][row->peer][begin + i];
        for (size_t r = 0; r < world->task.n; r++)
            sum += world->kept[rank][r] ? world->kept[rank][r][i] : 0;
        world->buffer[rank][row->buffer][begin + i] = sum;
    }
    for (size_t r = 0; r < world->task.n; r++)
        world->taken[r][rank] += world->kept[rank][r] != NULL;
    memset(world->kept[rank], 0, sizeof world->kept[rank]);
    world->kept_count[rank] = 0;
}

static void take_by_hand(struct world *world, size_t rank, const struct hr_row *row)
{
    const struct hr_region region = hr_layout_region(&world->layout, row->chunk, row->span);
    const size_t begin = region.begin / sizeof(float);
    memmove(world->buffer[rank][HR_OUT] + begin, world->buffer[rank][row->buffer] + begin,
            region.bytes);
}

static bool drained(const struct world *world, size_t rank)
{
    return memcmp(world->sent[rank], world->taken[rank], sizeof world->sent[rank]) == 0;
}

/* One row of one rank; false when it has to wait. */
static bool step_by_hand(struct world *world, size_t rank)
{
    const struct hr_plan *plan = &world->plan[rank];
    if (world->row[rank] == plan->nrows) {
        if (drained(world, rank))
            end_operation(world, rank);
        return drained(world, rank);
    }
    const struct hr_row *row = &plan->rows[world->row[rank]];
    if (receives(row) && !receive_by_hand(world, rank, row))
        return false;
    if (row->action == HR_ROW_DRAIN && !drained(world, rank))
        return false;
    if (row->action == HR_ROW_SEND)
        send_by_hand(world, rank, row);
    if (row->action == HR_ROW_SUM)
        sum_by_hand(world, rank, row);
    if (row->action == HR_ROW_TAKE)
        take_by_hand(world, rank, row);
    world->row[rank]++;
    return true;
}

/* Some rank that can go on does; false when all are through. Nobody able to go on is a deadlock. */
static bool step_somebody(struct world *world, uint32_t random)
{
    size_t waiting = 0;
    for (size_t hop = 0; hop < world->task.n; hop++) {
        const size_t rank = (random + hop) % world->task.n;
        if (world->operation[rank] == OPERATIONS)
            continue;
        if (step_by_hand(world, rank))
            return true;
        waiting++;
    }
    if (waiting)
        fail_msg("%s of %zu ranks, root %zu: %zu ranks wait for ever", name_of(&world->task),
                 world->task.n, world->task.root, waiting);
    return false;
}

static struct world *world_create(const struct task *task)
{
    const struct hr_operation_facts *facts = hr_operation_facts(task->operation);
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->task = *task;
    plan_all(world->plan, task);
    world->layout = (struct hr_layout){.count = task->count,
                                       .elem_bytes = sizeof(float),
                                       .blocks = facts->blocks,
                                       .nchunks = world->plan[0].nchunks,
                                       .run = world->plan[0].run ? LINE : 0,
                                       .first = 1000};
    world->memory = calloc(task->n * HR_BUFFERS * (elems(world) + 1), sizeof(float));
    assert_non_null(world->memory);
    for (size_t r = 0; r < task->n; r++)
        for (size_t b = 0; b < HR_BUFFERS; b++)
            world->buffer[r][b] =
                world->memory +
                (r * HR_BUFFERS + (b == HR_IN && task->in_place ? HR_OUT : b)) * (elems(world) + 1);
    return world;
}

static void world_free(struct world *world)
{
    plan_fini_all(world->plan, world->task.n);
    free(world->memory);
    free(world);
}

static void run_by_hand(struct world *world, uint32_t seed)
{
    for (size_t r = 0; r < world->task.n; r++)
        begin_operation(world, r);
    for (uint64_t k = 0;; k++) {
        const struct hr_philox random = hr_random_block(check_seed(), HR_STREAM_TEST, k, seed);
        /* Often the same rank again: far ahead of the others is where the danger lies. */
        if (!step_somebody(world, random.v[0] % 4 ? (uint32_t)(k / 64) : random.v[1]))
            break;
    }
    for (size_t r = 0; r < world->task.n; r++)
        assert_true(drained(world, r)); /* nothing is left in the queues */
}

static void check_result(const struct task *task)
{
    for (uint32_t seed = 0; seed < check_count(1, 20); seed++) {
        struct world *world = world_create(task);
        run_by_hand(world, seed);
        world_free(world);
    }
}

static void every_plan_gives_the_result(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MAX_RANKS; n += n < 9 ? 1 : 4) {
        each_task(n, 37 * n % 500, check_result);
        each_task(n, 2, check_result);
    }
}

/* --- bytes: every algorithm has its formula, S being whole lines a chunk ---------------------- */

static uint64_t log2_up(uint64_t n)
{
    uint64_t depth = 0;
    while (1ull << depth < n)
        depth++;
    return depth;
}

/* Sent by all ranks together. */
static uint64_t total_formula(const struct hr_algorithm *algorithm, uint64_t n, uint64_t S)
{
    uint64_t p = 1;
    while (2 * p <= n)
        p *= 2;
    if (algorithm == &hr_allreduce_one_shot)
        return n * (n - 1) * S;
    if (algorithm == &hr_allreduce_halving_doubling)
        return 2 * (p - 1) * S + 2 * (n - p) * S;
    return 2 * (n - 1) * S;
}

/* Of hierarchical with one-shot among the leaders. */
static uint64_t total_by_one_shot(const struct task *task, uint64_t S)
{
    const uint64_t nodes = (task->n + task->group_size - 1) / task->group_size;
    return 2 * (task->n - nodes) * S + nodes * (nodes - 1) * S;
}

/* Sent by the rank that sends most. */
static uint64_t most_formula(const struct hr_algorithm *algorithm, uint64_t n, uint64_t S)
{
    if (algorithm == &hr_allreduce_one_shot || algorithm == &hr_allreduce_master_worker)
        return (n - 1) * S;
    if (algorithm == &hr_allreduce_tree)
        return log2_up(n) * S;
    return 2 * (n - 1) * S / n;
}

static void check_bytes(const struct task *task)
{
    const struct hr_algorithm *algorithm = task->algorithm;
    uint64_t total = 0, most = 0;
    if (!algorithm)
        return;
    struct world *world = world_create(task);
    run_by_hand(world, 1);
    for (size_t r = 0; r < task->n; r++) {
        total += world->bytes_from[r];
        most = world->bytes_from[r] > most ? world->bytes_from[r] : most;
    }
    const uint64_t S = task->count * sizeof(float);
    assert_int_equal(total, OPERATIONS * (task->upper == &hr_allreduce_one_shot
                                              ? total_by_one_shot(task, S)
                                              : total_formula(algorithm, task->n, S)));
    if (algorithm == &hr_allreduce_direct || algorithm == &hr_allreduce_ring ||
        algorithm == &hr_allreduce_bidirectional_ring || algorithm == &hr_allreduce_one_shot ||
        algorithm == &hr_allreduce_master_worker || algorithm == &hr_allreduce_tree)
        assert_int_equal(most, OPERATIONS * most_formula(algorithm, task->n, S));
    world_free(world);
}

static void bytes_moved_are_the_algorithms_cost(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MAX_RANKS; n += n < 9 ? 1 : 4)
        each_task(n, LINE * n * (n < 16 ? 8 : 16), check_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_gives_the_result),
        cmocka_unit_test(bytes_moved_are_the_algorithms_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
