/* Plans as data: their rows fit together, and a world that runs them by hand gets the sum. */
#include "group/plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/size.h"
#include "support/check.h"

enum { MAX_RANKS = 17, MAX_COUNT = 32 * MAX_RANKS * 2, OPERATIONS = 3, LINE = 32 };

/* Plans of all ranks; `root` only matters to a broadcast. */
static void plan_all(struct hr_plan *plan, const struct hr_algorithm *algorithm, size_t n,
                     size_t root)
{
    memset(plan, 0, n * sizeof *plan);
    for (size_t r = 0; r < n; r++)
        CHECK_OK(algorithm->plan(&plan[r], r, n, root));
}

static void plan_fini_all(struct hr_plan *plan, size_t n)
{
    for (size_t r = 0; r < n; r++)
        hr_plan_fini(&plan[r]);
}

static bool receives(const struct hr_row *row)
{
    return row->action == HR_RECV || row->action == HR_ADD || row->action == HR_COPY;
}

/* --- rows against rows -------------------------------------------------------------------------
 */

/* The chunks of what `plan` does with `peer`, in order; how many. */
static size_t chunks_with(const struct hr_plan *plan, size_t peer, bool sending, size_t *chunk)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->nrows; i++) {
        const struct hr_row *row = &plan->rows[i];
        if (row->peer == peer && (sending ? row->action == HR_SEND : receives(row)))
            chunk[count++] = row->chunk;
    }
    return count;
}

static void check_rows_fit(const struct hr_plan *plan, size_t n)
{
    for (size_t a = 0; a < n; a++) {
        assert_int_equal(plan[a].nchunks, plan[0].nchunks);
        for (size_t i = 0; i < plan[a].nrows; i++) {
            const struct hr_row *row = &plan[a].rows[i];
            assert_in_range(row->peer, 0, n - 1);
            assert_in_range(row->chunk, 0, plan[a].nchunks - 1);
            assert_true(i == 0 || row->step >= row[-1].step);
            assert_false((row->action == HR_SEND || receives(row)) && row->peer == a);
        }
        for (size_t b = 0; b < n; b++) {
            size_t sent[4 * MAX_RANKS], received[4 * MAX_RANKS];
            const size_t count = chunks_with(&plan[a], b, true, sent);
            assert_int_equal(chunks_with(&plan[b], a, false, received), count);
            assert_memory_equal(sent, received, count * sizeof *sent);
        }
    }
}

static void sends_and_receives_match_pairwise(void **state)
{
    (void)state;
    struct hr_plan plan[MAX_RANKS];
    const struct hr_algorithm *algorithm;
    for (size_t n = 1; n <= MAX_RANKS; n++) {
        for (size_t i = 0; (algorithm = hr_algorithm_at(i)); i++) {
            plan_all(plan, algorithm, n, 0);
            check_rows_fit(plan, n);
            plan_fini_all(plan, n);
        }
        for (size_t root = 0; root < n; root++) {
            plan_all(plan, &hr_broadcast_flat, n, root);
            check_rows_fit(plan, n);
            plan_fini_all(plan, n);
        }
    }
}

/* --- a world that runs plans by hand -----------------------------------------------------------
 */

/* Ranks do one row at a time, in an order drawn from a seed. A message is a chunk's number in a
 * queue; the data stays in the sender's buffer, and is read when the receiver gets there: so it is
 * seen when somebody overwrites too early what another has still to read. */
struct world {
    size_t n, count, root;
    bool broadcast;
    struct hr_plan plan[MAX_RANKS];
    size_t row[MAX_RANKS], operation[MAX_RANKS];
    size_t sent[MAX_RANKS][MAX_RANKS], taken[MAX_RANKS][MAX_RANKS]; /* messages, [from][to] */
    uint64_t bytes_from[MAX_RANKS]; /* of this rank's data, or writes, to others */
    float buffer[MAX_RANKS][MAX_COUNT];
};

static float input(size_t rank, size_t operation, size_t i)
{
    return (float)((rank * 31 + operation * 17 + i * 7) % 101) - 50;
}

static float wanted(const struct world *world, size_t operation, size_t i)
{
    float sum = 0;
    if (world->broadcast)
        return input(world->root, operation, i);
    for (size_t r = 0; r < world->n; r++)
        sum += input(r, operation, i);
    return sum;
}

static void begin_operation(struct world *world, size_t rank)
{
    for (size_t i = 0; i < world->count; i++)
        world->buffer[rank][i] = input(rank, world->operation[rank], i);
}

static void end_operation(struct world *world, size_t rank)
{
    for (size_t i = 0; i < world->count; i++)
        CHECK_NEAR(world->buffer[rank][i], wanted(world, world->operation[rank], i), 0, 0);
    world->row[rank] = 0;
    if (++world->operation[rank] < OPERATIONS)
        begin_operation(world, rank);
}

static void sum_by_hand(struct world *world, size_t rank, bool share, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        float sum = 0;
        for (size_t r = 0; r < world->n; r++)
            sum += world->buffer[r][i];
        for (size_t r = 0; r < world->n; r++)
            if (share || r == rank)
                world->buffer[r][i] = sum;
    }
    for (size_t r = 0; r < world->n; r++)
        if (r != rank) {
            world->bytes_from[r] += (end - begin) * sizeof(float);
            world->bytes_from[rank] += share ? (end - begin) * sizeof(float) : 0;
        }
}

static bool receive_by_hand(struct world *world, size_t rank, const struct hr_row *row,
                            size_t begin, size_t end)
{
    if (world->sent[row->peer][rank] == world->taken[row->peer][rank])
        return false;
    for (size_t i = begin; i < end && row->action != HR_RECV; i++)
        world->buffer[rank][i] =
            world->buffer[row->peer][i] + (row->action == HR_ADD ? world->buffer[rank][i] : 0);
    if (row->action != HR_RECV)
        world->bytes_from[row->peer] += (end - begin) * sizeof(float);
    world->taken[row->peer][rank]++;
    return true;
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
        end_operation(world, rank);
        return true;
    }
    const struct hr_row *row = &plan->rows[world->row[rank]];
    const size_t begin = hr_chunk_begin(world->count, plan->nchunks, row->chunk);
    const size_t end = hr_chunk_begin(world->count, plan->nchunks, row->chunk + 1u);
    if (receives(row) && !receive_by_hand(world, rank, row, begin, end))
        return false;
    if (row->action == HR_DRAIN && !drained(world, rank))
        return false;
    if (row->action == HR_SEND)
        world->sent[rank][row->peer]++;
    if (row->action == HR_SUM || row->action == HR_SHARE)
        sum_by_hand(world, rank, row->action == HR_SHARE, begin, end);
    world->row[rank]++;
    return true;
}

/* Some rank that can go on does; false when all are through. Nobody able to go on is a deadlock. */
static bool step_somebody(struct world *world, uint32_t random)
{
    size_t waiting = 0;
    for (size_t hop = 0; hop < world->n; hop++) {
        const size_t rank = (random + hop) % world->n;
        if (world->operation[rank] == OPERATIONS)
            continue;
        if (step_by_hand(world, rank))
            return true;
        waiting++;
    }
    assert_int_equal(waiting, 0);
    return false;
}

static void run_by_hand(struct world *world, const struct hr_algorithm *algorithm, uint32_t seed)
{
    plan_all(world->plan, algorithm, world->n, world->root);
    for (size_t r = 0; r < world->n; r++)
        begin_operation(world, r);
    for (uint64_t k = 0;; k++) {
        const struct hr_philox random = hr_random_block(check_seed(), HR_STREAM_TEST, k, seed);
        /* Often the same rank again: far ahead of the others is where the danger lies. */
        if (!step_somebody(world, random.v[0] % 4 ? (uint32_t)(k / 64) : random.v[1]))
            break;
    }
    for (size_t r = 0; r < world->n; r++)
        assert_true(drained(world, r)); /* nothing is left in the queues */
    plan_fini_all(world->plan, world->n);
}

static struct world *world_create(size_t n, size_t count)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->n = n;
    world->count = count;
    return world;
}

static void every_plan_gives_everybody_the_sum(void **state)
{
    (void)state;
    const struct hr_algorithm *algorithm;
    for (size_t n = 1; n <= MAX_RANKS; n++)
        for (size_t i = 0; (algorithm = hr_algorithm_at(i)); i++)
            for (uint32_t seed = 0; seed < check_count(5, 100); seed++) {
                struct world *world = world_create(n, seed ? 37 * n % MAX_COUNT : LINE * n);
                run_by_hand(world, algorithm, seed);
                free(world);
            }
}

static void broadcast_gives_everybody_the_roots(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MAX_RANKS; n += 3)
        for (size_t root = 0; root < n; root++) {
            struct world *world = world_create(n, 100);
            world->broadcast = true;
            world->root = root;
            run_by_hand(world, &hr_broadcast_flat, (uint32_t)root);
            free(world);
        }
}

static uint64_t total_bytes(const struct world *world)
{
    uint64_t total = 0;
    for (size_t r = 0; r < world->n; r++)
        total += world->bytes_from[r];
    return total;
}

static void bytes_moved_are_the_algorithms_cost(void **state)
{
    (void)state;
    const struct hr_algorithm *algorithm;
    for (size_t n = 1; n <= MAX_RANKS; n++)
        for (size_t i = 0; (algorithm = hr_algorithm_at(i)); i++) {
            const size_t count = LINE * n * 2, bytes = count * sizeof(float);
            struct world *world = world_create(n, count);
            run_by_hand(world, algorithm, 1);
            assert_int_equal(total_bytes(world), OPERATIONS * 2 * (n - 1) * bytes);
            for (size_t r = 0; r < n && algorithm != &hr_allreduce_master_worker; r++)
                assert_int_equal(world->bytes_from[r], OPERATIONS * 2 * (n - 1) * (bytes / n));
            free(world);
        }
}

/* --- chunks and names --------------------------------------------------------------------------
 */

static void chunks_cover_the_buffer_without_gaps(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 31, 32, 33, 63, 64, 65, 1000, 2048, 10007, 70001};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t nchunks = 1; nchunks <= 64; nchunks++) {
            const size_t count = counts[c], lines = (count + LINE - 1) / LINE;
            assert_int_equal(hr_chunk_begin(count, nchunks, 0), 0);
            assert_int_equal(hr_chunk_begin(count, nchunks, nchunks), count);
            for (size_t chunk = 0; chunk < nchunks; chunk++) {
                const size_t begin = hr_chunk_begin(count, nchunks, chunk);
                const size_t end = hr_chunk_begin(count, nchunks, chunk + 1);
                assert_true(begin <= end);
                assert_true(begin % LINE == 0 || begin == count);
                assert_true(end - begin <= (lines / nchunks + 1) * LINE); /* shared fairly */
                assert_true(end - begin + LINE > lines / nchunks * LINE);
            }
        }
}

static void algorithms_are_found_by_name(void **state)
{
    (void)state;
    const struct hr_algorithm *algorithm, *found;
    for (size_t i = 0; (algorithm = hr_algorithm_at(i)); i++) {
        CHECK_OK(hr_algorithm_find(algorithm->name, &found));
        assert_ptr_equal(found, algorithm);
    }
    CHECK_OK(hr_algorithm_find("auto", &found));
    assert_ptr_equal(found, &hr_allreduce_direct);
    CHECK_FAILS(hr_algorithm_find("rign", &found), HR_E_USAGE);
    assert_string_equal(hr_error_message(),
                        "--algorithm rign: there is no such algorithm (there are: auto, direct, "
                        "ring, master-worker)");
    CHECK_FAILS(hr_algorithm_find("", &found), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_and_receives_match_pairwise),
        cmocka_unit_test(every_plan_gives_everybody_the_sum),
        cmocka_unit_test(broadcast_gives_everybody_the_roots),
        cmocka_unit_test(bytes_moved_are_the_algorithms_cost),
        cmocka_unit_test(chunks_cover_the_buffer_without_gaps),
        cmocka_unit_test(algorithms_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
