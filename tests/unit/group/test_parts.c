/* Sums in parts: whatever the cuts, the launch and the transport, they have the bits of one sum of
 * the whole, with ranks of their own and with ranks that one thread plays. */
#include <string.h>

#include "group/local_group.h"
#include "support/check.h"
#include "support/ranks.h"

enum { WHOLE = 11 * HR_RUN_ELEMS + 777, MAX_RANKS = 5, MAX_PARTS = 8 };

/* Where parts begin; the last ends where the whole does. */
struct cuts {
    size_t n, begin[MAX_PARTS];
};

static const struct cuts cuts[] = {
    {1, {0}},
    {2, {0, HR_RUN_ELEMS}},
    {4, {0, 1, 2 * HR_RUN_ELEMS - 1, 2 * HR_RUN_ELEMS + 1}},
    {8, {0, 300, 301, 5000, 70000, 70000, 7 * HR_RUN_ELEMS + 5, WHOLE - 3}},
};
enum { CUTS = sizeof cuts / sizeof *cuts };

static float input(size_t rank, size_t i)
{
    return (float)((i * 7919 + rank * 104729) % 10007) / 10007 - 0.5f;
}

static void fill(float *buffer, size_t rank)
{
    for (size_t i = 0; i < WHOLE; i++)
        buffer[i] = input(rank, i);
}

static size_t part_count(const struct cuts *of, size_t part)
{
    return (part + 1 < of->n ? of->begin[part + 1] : WHOLE) - of->begin[part];
}

/* --- with ranks of their own --- */

static enum hr_status sum_parts(struct rank *me)
{
    const struct cuts *of = me->ranks->arg;
    fill(me->floats, me->rank);
    for (size_t p = of->n; p-- > 0;) { /* from the last on, as backward goes */
        hr_member_all_reduce_start(&me->member, me->floats + of->begin[p], of->begin[p],
                                   part_count(of, p));
        HR_TRY(hr_member_wait(&me->member));
    }
    return HR_OK;
}

static void sum_by(const struct hr_algorithm *algorithm, size_t n, const struct cuts *of,
                   size_t slot_bytes, float *result)
{
    struct ranks ranks = {.nranks = n,
                          .floats = WHOLE,
                          .algorithm = algorithm,
                          .plan_only = true,
                          .slot_bytes = slot_bytes,
                          .timeout_ns = (int64_t)60 * 1000 * 1000 * 1000,
                          .body = sum_parts,
                          .arg = (void *)(uintptr_t)of};
    ranks_open(&ranks);
    CHECK_OK(ranks_run(&ranks));
    memcpy(result, ranks_floats(&ranks, 0), WHOLE * sizeof *result);
    for (size_t r = 1; r < n; r++)
        CHECK_SAME_FLOATS(ranks_floats(&ranks, r), result, WHOLE);
    ranks_close(&ranks);
}

static void parts_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    static float whole[WHOLE], got[WHOLE];
    const struct hr_algorithm *algorithm;
    for (size_t n = 2; n <= MAX_RANKS; n++)
        for (size_t i = 1; (algorithm = hr_algorithm_at(i)); i++) {
            sum_by(algorithm, n, &cuts[0], 0, whole);
            for (size_t c = 0; c < CUTS; c++) {
                sum_by(algorithm, n, &cuts[c], c % 2 ? 0 : 30000, got);
                CHECK_SAME_FLOATS(got, whole, WHOLE);
            }
        }
}

/* --- with ranks that one thread plays --- */

static void sum_in_local_group(const struct hr_algorithm *algorithm, size_t n,
                               const struct cuts *of, float buffer[MAX_RANKS][WHOLE])
{
    struct hr_member member[MAX_RANKS];
    struct hr_local_group *local;
    CHECK_OK(hr_local_group_create(&(struct hr_group_options){.nranks = n, .algorithm = algorithm},
                                   &local));
    for (size_t r = 0; r < n; r++) {
        hr_member_init_local(&member[r], local, r);
        fill(buffer[r], r);
    }
    for (size_t p = 0; p < of->n; p++) {
        for (size_t r = 0; r < n; r++)
            hr_member_all_reduce_start(&member[r], buffer[r] + of->begin[p], of->begin[p],
                                       part_count(of, p));
        for (size_t r = 0; r < n; r++) {
            assert_true(hr_member_test(&member[r]));
            CHECK_OK(hr_member_finish(&member[r]));
        }
    }
    for (size_t r = 0; r < n; r++)
        hr_member_fini(&member[r]);
    hr_local_group_destroy(local);
}

static void played_ranks_add_as_real_ones(void **state)
{
    (void)state;
    static float whole[WHOLE], buffer[MAX_RANKS][WHOLE];
    const struct hr_algorithm *algorithm;
    for (size_t n = 2; n <= MAX_RANKS; n++)
        for (size_t i = 1; (algorithm = hr_algorithm_at(i)); i++) {
            sum_by(algorithm, n, &cuts[0], 0, whole);
            for (size_t c = 0; c < CUTS; c++) {
                sum_in_local_group(algorithm, n, &cuts[c], buffer);
                for (size_t r = 0; r < n; r++)
                    CHECK_SAME_FLOATS(buffer[r], whole, WHOLE);
            }
        }
}

/* --- the order that is promised --- */

/* The second circle counts ranks from the other end. */
static float twin(const struct hr_algorithm *algorithm, size_t n, size_t i)
{
    const bool both = algorithm == &hr_allreduce_bidirectional_ring;
    const size_t chunk = i / HR_RUN_ELEMS % (both ? 2 * n : n);
    const size_t place = both ? chunk / 2 : chunk;
    float sum = 0;
    for (size_t k = 0; k < n; k++) {
        const size_t at = (place + k) % n;
        const float x = input(both && chunk % 2 ? n - 1 - at : at, i);
        sum = k ? sum + x : x;
    }
    return sum;
}

static void rings_add_from_the_rank_that_the_index_names(void **state)
{
    (void)state;
    static const struct hr_algorithm *const rings[] = {&hr_allreduce_ring,
                                                       &hr_allreduce_bidirectional_ring};
    static float got[WHOLE], want[WHOLE];
    for (size_t a = 0; a < 2; a++)
        for (size_t n = 2; n <= MAX_RANKS; n++) {
            for (size_t i = 0; i < WHOLE; i++)
                want[i] = twin(rings[a], n, i);
            sum_by(rings[a], n, &cuts[3], 0, got);
            CHECK_SAME_FLOATS(got, want, WHOLE);
        }
}

/* --- pieces --- */

static void check_pieces(const struct hr_layout *layout, size_t chunk, unsigned char *seen)
{
    const struct hr_pieces all = hr_layout_pieces(layout, chunk, 1);
    const size_t round = layout->run * layout->nchunks;
    size_t from = 0;
    for (struct hr_pieces p = all; p.bytes; hr_pieces_next(&p)) {
        for (size_t b = p.begin; b < p.begin + p.bytes; b++, from++) {
            const struct hr_pieces one = hr_pieces_part(&all, from, 1);
            assert_int_equal(one.begin, b);
            assert_int_equal(one.bytes, 1);
            const size_t flat = b / layout->elem_bytes + layout->first;
            assert_int_equal(flat % round / layout->run, chunk);
            assert_int_equal(seen[b]++, 0);
        }
    }
    assert_int_equal(from, all.left);
}

static void dealt_chunks_cover_the_vector_once(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 31, 32, 33, 100, 1000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t first = 0; first < 300; first += 37)
            for (size_t nchunks = 2; nchunks <= 9; nchunks++) {
                const struct hr_layout layout = {.count = counts[c],
                                                 .elem_bytes = 1 + first % 2 * 3,
                                                 .nchunks = nchunks,
                                                 .run = 32,
                                                 .first = first};
                const size_t bytes = layout.count * layout.elem_bytes;
                unsigned char seen[4000] = {0};
                for (size_t chunk = 0; chunk < nchunks; chunk++)
                    check_pieces(&layout, chunk, seen);
                assert_true(!bytes || (seen[0] && !memcmp(seen, seen + 1, bytes - 1)));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_bits_of_the_whole),
        cmocka_unit_test(played_ranks_add_as_real_ones),
        cmocka_unit_test(rings_add_from_the_rank_that_the_index_names),
        cmocka_unit_test(dealt_chunks_cover_the_vector_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
