/* Collectives of ranks on several machines: the bits of one machine, over any wire. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/machines.h"
#include "support/check.h"
#include "support/ranks.h"

enum { LARGEST = 33001 };

static const size_t counts[] = {0, 1, 3, 33, 1000, 4099, LARGEST};

static const struct way {
    const struct hr_algorithm *algorithm;
    bool same_bits; /* as direct, where each machine has a power of two of ranks */
} ways[] = {
    {&hr_allreduce_auto, true},          {&hr_allreduce_direct, true},
    {&hr_allreduce_one_shot, true},      {&hr_allreduce_ring, false},
    {&hr_allreduce_tree, true},          {&hr_allreduce_bidirectional_ring, false},
    {&hr_allreduce_double_tree, false},  {&hr_allreduce_halving_doubling, true},
    {&hr_allreduce_master_worker, true}, {&hr_allreduce_hierarchical, true},
};

enum { WAYS = sizeof ways / sizeof *ways };

static void fill(float *x, size_t rank, size_t count, uint32_t salt)
{
    struct hr_philox block = {0};
    for (size_t i = 0; i < count; i++) {
        if (i % 4 == 0)
            block = hr_random_block(check_seed() + salt, HR_STREAM_TEST, i / 4, (uint32_t)rank);
        x[i] = 0.5f + hr_random_unit(block.v[i % 4]);
    }
}

/* A digest of bits that fits into a float's place. */
static void keep(struct far_rank *me, size_t *kept, const float *x, size_t count)
{
    uint32_t digest = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        digest = (digest ^ bits) * 16777619u;
    }
    memcpy(&me->result[*kept], &digest, sizeof digest);
    ++*kept;
}

/* Sums, broadcasts and barriers, each begun as soon as the one before is over. */
static enum hr_status reduce_and_broadcast(struct far_rank *me)
{
    size_t kept = 0;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint32_t again = 0; again < 3; again++) {
            fill(me->floats, me->rank, counts[c], again);
            HR_TRY(member_all_reduce(&me->member, me->floats, counts[c]));
            keep(me, &kept, me->floats, counts[c]);
            fill(me->floats, me->rank, counts[c], again + 10);
            HR_TRY(member_broadcast(&me->member, me->floats, counts[c],
                                    again % me->member.options.nranks));
            keep(me, &kept, me->floats, counts[c]);
            if (again == 1)
                HR_TRY(hr_member_barrier(&me->member));
        }
    return HR_OK;
}

static struct machines run_way(const struct way *way, size_t n, size_t each, bool forked,
                               uint32_t trouble)
{
    struct machines m = {.machines = n,
                         .each = each,
                         .fork = forked,
                         .carries = trouble % 2,
                         .floats = LARGEST,
                         .results = 64,
                         .options = {.algorithm = way->algorithm, .group_size = n == 1 ? 2 : 0},
                         .trouble = trouble,
                         .part_bytes = trouble ? 5000 : 0,
                         .body = reduce_and_broadcast};
    const enum hr_status status = machines_run(&m);
    if (status != HR_OK)
        print_error("%s, %zu machines of %zu\n", way->algorithm->name, n, each);
    CHECK_OK(status);
    return m;
}

static void check_same(const struct machines *a, const struct machines *b, const char *name)
{
    const size_t n = a->machines * a->each;
    if (memcmp(a->result, b->result, n * a->results * sizeof *a->result) != 0)
        fail_msg("%s: %zu machines of %zu ranks differ from one of %zu", name, a->machines, a->each,
                 b->each);
}

static void several_machines_have_the_bits_of_one(bool forked)
{
    static const size_t shapes[][2] = {{2, 1}, {2, 2}, {4, 1}, {3, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t w = 0; w < WAYS; w++) {
            const size_t n = shapes[s][0], each = shapes[s][1];
            struct machines one = run_way(&ways[w], 1, n * each, false, 0);
            for (uint32_t trouble = 0; trouble <= 31; trouble += 31) {
                struct machines far = run_way(&ways[w], n, each, forked, trouble);
                check_same(&far, &one, ways[w].algorithm->name);
                machines_close(&far);
            }
            machines_close(&one);
        }
}

static void threads_as_machines_have_the_bits_of_one(void **state)
{
    (void)state;
    several_machines_have_the_bits_of_one(false);
}

/* As where ranks are processes, and their launcher carries for them. */
static void thread_that_carries_does_for_ranks_that_do_not(void **state)
{
    (void)state;
    struct machines m = {.machines = 2,
                         .each = 2,
                         .carries = true,
                         .alone = true,
                         .floats = LARGEST,
                         .results = 64,
                         .body = reduce_and_broadcast};
    struct machines one = run_way(&ways[0], 1, 4, false, 0);
    CHECK_OK(machines_run(&m));
    check_same(&m, &one, "auto");
    machines_close(&m);
    machines_close(&one);
}

static void processes_as_machines_have_the_bits_of_one(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    several_machines_have_the_bits_of_one(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_as_machines_have_the_bits_of_one),
        cmocka_unit_test(thread_that_carries_does_for_ranks_that_do_not),
        cmocka_unit_test(processes_as_machines_have_the_bits_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
