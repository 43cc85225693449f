/* Plans as data: their rows fit together, chunks cover buffers, names are found. */
#include <string.h>

#include "support/check.h"
#include "support/tasks.h"

enum { MAX_RANKS = 17, LINE = 32, MESSAGES = 128 };

static bool receives(const struct hr_row *row)
{
    return row->action == HR_ROW_RECV || row->action == HR_ROW_ADD || row->action == HR_ROW_COPY;
}

/* --- rows against rows -------------------------------------------------------------------------
 */

struct exchange {
    size_t step, chunk, span;
};

/* What `plan` exchanges with `peer`, in order; how many. */
static size_t exchanges_with(const struct hr_plan *plan, size_t peer, bool sending,
                             struct exchange *out)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->nrows; i++) {
        const struct hr_row *row = &plan->rows[i];
        if (row->peer != peer || !(sending ? row->action == HR_ROW_SEND : receives(row)))
            continue;
        assert_true(count < MESSAGES);
        out[count++] = (struct exchange){row->step, row->chunk, row->span};
    }
    return count;
}

static void check_row(const struct task *task, const struct hr_plan *plan, size_t rank, size_t i)
{
    const struct hr_row *row = &plan->rows[i];
    assert_in_range(row->peer, 0, row->action == HR_ROW_SUM ? HR_BUFFERS - 1 : task->n - 1);
    assert_in_range(row->chunk + row->span, 1, plan->nchunks);
    assert_true(i == 0 || row->step >= row[-1].step);
    assert_false((row->action == HR_ROW_SEND || receives(row)) && row->peer == rank);
    assert_true(plan->uses_scratch || row->buffer != HR_SCRATCH);
}

static void check_rows_fit(const struct task *task)
{
    struct hr_plan plan[MAX_RANKS];
    plan_all(plan, task);
    for (size_t a = 0; a < task->n; a++) {
        assert_int_equal(plan[a].nchunks, plan[0].nchunks);
        for (size_t i = 0; i < plan[a].nrows; i++)
            check_row(task, &plan[a], a, i);
        for (size_t b = 0; b < task->n; b++) {
            struct exchange sent[MESSAGES], received[MESSAGES];
            const size_t count = exchanges_with(&plan[a], b, true, sent);
            assert_int_equal(exchanges_with(&plan[b], a, false, received), count);
            for (size_t k = 0; k < count && task->operation != HR_OP_ALL_TO_ALL; k++)
                assert_memory_equal(&sent[k], &received[k], sizeof sent[k]);
        }
    }
    plan_fini_all(plan, task->n);
}

static void sends_and_receives_match_pairwise(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MAX_RANKS; n++)
        each_task(n, 100, check_rows_fit);
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
            assert_int_equal(hr_chunk_begin(count, LINE, nchunks, 0), 0);
            assert_int_equal(hr_chunk_begin(count, LINE, nchunks, nchunks), count);
            for (size_t chunk = 0; chunk < nchunks; chunk++) {
                const size_t begin = hr_chunk_begin(count, LINE, nchunks, chunk);
                const size_t end = hr_chunk_begin(count, LINE, nchunks, chunk + 1);
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
        assert_int_equal(hr_algorithm_number(algorithm), i);
    }
    CHECK_FAILS(hr_algorithm_find("rign", &found), HR_E_USAGE);
    assert_string_equal(hr_error_message(),
                        "--algorithm rign: there is no such algorithm (there are: auto, direct, "
                        "one-shot, ring, bidirectional-ring, tree, double-tree, halving-doubling, "
                        "master-worker, hierarchical)");
    CHECK_FAILS(hr_algorithm_find("", &found), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_and_receives_match_pairwise),
        cmocka_unit_test(chunks_cover_the_buffer_without_gaps),
        cmocka_unit_test(algorithms_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
