/* Which shard has what: every element once, in order, in shares as equal as keys allow. */
#include "base/philox.h"
#include "shm/atom.h"
#include "store/partition.h"
#include "support/check.h"

enum { LINE = HR_LINE / sizeof(float) };

static struct hr_partition partition_of(const size_t *counts, size_t nkeys, size_t nshards)
{
    struct hr_store_key keys[32];
    struct hr_partition p;
    for (size_t k = 0; k < nkeys; k++)
        keys[k] = (struct hr_store_key){.name = "k", .count = counts[k]};
    CHECK_OK(hr_partition_make(&p, keys, nkeys, nshards));
    return p;
}

/* Parts follow each other without a gap, by key and by shard. */
static void check_covers(const struct hr_partition *p, const size_t *counts)
{
    size_t i = 0, shard = 0;
    for (size_t k = 0; k < p->nkeys; k++) {
        size_t next = 0;
        assert_int_equal(p->of_key[k], i);
        for (; i < p->nparts && p->part[i].key == k; i++) {
            assert_int_equal(p->part[i].first, next);
            assert_true(p->part[i].count > 0 && p->part[i].shard >= shard);
            shard = p->part[i].shard;
            assert_true(i >= p->of_shard[shard] && i < p->of_shard[shard + 1]);
            next += p->part[i].count;
        }
        assert_int_equal(next, counts[k]);
    }
    assert_int_equal(i, p->nparts);
    assert_int_equal(p->of_key[p->nkeys], p->nparts);
    assert_int_equal(p->of_shard[p->nshards], p->nparts);
}

static void a_big_key_is_cut_at_lines_into_equal_parts(void **state)
{
    (void)state;
    const size_t count = 1000 * LINE + 5;
    struct hr_partition p = partition_of(&count, 1, 4);
    check_covers(&p, &count);
    assert_int_equal(p.nparts, 4);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(p.part[i].first % LINE, 0);
    for (size_t s = 0; s < 4; s++)
        assert_true(hr_partition_elems(&p, s) + LINE >= count / 4 &&
                    hr_partition_elems(&p, s) <= count / 4 + 2 * LINE);
    hr_partition_fini(&p);
}

static void a_small_key_goes_whole_to_the_shard_that_has_more_of_it(void **state)
{
    (void)state;
    const size_t later[] = {1000, 4000, 2000}; /* the middle, 3500, is nearer to the second's end */
    struct hr_partition p = partition_of(later, 3, 2);
    check_covers(&p, later);
    assert_int_equal(p.nparts, 3);
    assert_int_equal(p.part[1].shard, 0);
    assert_int_equal(hr_partition_elems(&p, 0), 5000);
    hr_partition_fini(&p);
    const size_t sooner[] = {2000, 4000, 1000};
    p = partition_of(sooner, 3, 2);
    check_covers(&p, sooner);
    assert_int_equal(p.part[1].shard, 1);
    assert_int_equal(hr_partition_elems(&p, 0), 2000);
    hr_partition_fini(&p);
}

static void keys_up_to_the_documented_size_are_not_cut_and_larger_ones_are(void **state)
{
    (void)state;
    const size_t small = HR_STORE_SMALL, big = HR_STORE_SMALL + 1;
    struct hr_partition p = partition_of(&small, 1, 2);
    assert_int_equal(p.nparts, 1);
    hr_partition_fini(&p);
    p = partition_of(&big, 1, 2);
    assert_int_equal(p.nparts, 2);
    hr_partition_fini(&p);
}

static void more_shards_than_floats_leave_some_empty(void **state)
{
    (void)state;
    const size_t counts[] = {1, 2, 3};
    struct hr_partition p = partition_of(counts, 3, 8);
    check_covers(&p, counts);
    size_t elems = 0;
    for (size_t s = 0; s < 8; s++)
        elems += hr_partition_elems(&p, s);
    assert_int_equal(elems, 6);
    hr_partition_fini(&p);
}

static void any_keys_are_covered_and_balanced(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < check_count(2000, 50000); trial++) {
        size_t counts[20], total = 0;
        const struct hr_philox shape = hr_random_block(check_seed(), HR_STREAM_TEST, 0, trial);
        const size_t nkeys = 1 + shape.v[0] % 20, nshards = 1 + shape.v[1] % 16;
        for (size_t k = 0; k < nkeys; k++) {
            const struct hr_philox random =
                hr_random_block(check_seed(), HR_STREAM_TEST, 1 + k, trial);
            total += counts[k] = 1 + random.v[0] % (random.v[1] % 2 ? 30000 : 3000);
        }
        struct hr_partition p = partition_of(counts, nkeys, nshards);
        check_covers(&p, counts);
        for (size_t s = 0; s < nshards; s++)
            assert_true(hr_partition_elems(&p, s) <= total / nshards + HR_STORE_SMALL + 2 * LINE);
        hr_partition_fini(&p);
    }
}

static void the_balance_names_bytes_and_how_uneven_they_are(void **state)
{
    (void)state;
    char text[100], cut[9];
    const size_t counts[] = {3 * 256, 256};
    struct hr_partition p = partition_of(counts, 2, 2);
    hr_partition_balance(&p, text, sizeof text);
    assert_string_equal(text, "2 shards: 3.0 KiB, 1.0 KiB; largest / mean 1.50");
    hr_partition_balance(&p, cut, sizeof cut);
    assert_string_equal(cut, "2 shards");
    hr_partition_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_big_key_is_cut_at_lines_into_equal_parts),
        cmocka_unit_test(a_small_key_goes_whole_to_the_shard_that_has_more_of_it),
        cmocka_unit_test(keys_up_to_the_documented_size_are_not_cut_and_larger_ones_are),
        cmocka_unit_test(more_shards_than_floats_leave_some_empty),
        cmocka_unit_test(any_keys_are_covered_and_balanced),
        cmocka_unit_test(the_balance_names_bytes_and_how_uneven_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
