/* Ranks that call different collectives: nobody hangs, everybody is told, both calls are shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/ranks.h"

enum { FLOATS = 6000, MAX_RANKS = 5 };

enum operation { REDUCE, BROADCAST, BARRIER };

struct call {
    enum operation operation;
    size_t count, root;
};

/* One rank, the odd one, calls something else than all others. */
struct case_ {
    const struct hr_algorithm *algorithm;
    bool plan_only;
    struct call all, odd;
    const char *texts[2]; /* what the message says of both */
};

#define DIRECT &hr_allreduce_direct, false
#define DIRECT_PLAN &hr_allreduce_direct, true
#define RING &hr_allreduce_ring, false
#define MASTER_WORKER &hr_allreduce_master_worker, false

static const struct case_ cases[] = {
    {DIRECT, {REDUCE, 100, 0}, {REDUCE, 200, 0}, {"all_reduce direct number 3 of 100", "of 200"}},
    {DIRECT, {REDUCE, 5000, 0}, {REDUCE, 100, 0}, {"of 5000 float32", "of 100 float32"}},
    {DIRECT, {REDUCE, 100, 0}, {BARRIER, 0, 0}, {"all_reduce direct number 3", "barrier number 3"}},
    {DIRECT, {REDUCE, 0, 0}, {BARRIER, 0, 0}, {"all_reduce direct number 3", "barrier number 3"}},
    {DIRECT, {REDUCE, 99, 0}, {BROADCAST, 99, 1}, {"all_reduce direct number 3", "broadcast"}},
    {DIRECT, {BROADCAST, 99, 0}, {BARRIER, 0, 0}, {"broadcast number 3", "barrier number 3"}},
    {DIRECT, {BARRIER, 0, 0}, {BROADCAST, 99, 0}, {"broadcast number 3", "barrier number 3"}},
    {DIRECT, {BROADCAST, 99, 0}, {BROADCAST, 99, 1}, {"root 0", "root 1"}},
    {DIRECT, {BROADCAST, 99, 0}, {BROADCAST, 98, 0}, {"of 99 float32", "of 98 float32"}},
    {DIRECT_PLAN, {REDUCE, 100, 0}, {REDUCE, 200, 0}, {"of 100 float32", "of 200 float32"}},
    {DIRECT_PLAN, {REDUCE, 100, 0}, {BARRIER, 0, 0}, {"all_reduce direct", "barrier"}},
    {RING, {REDUCE, 100, 0}, {REDUCE, 101, 0}, {"all_reduce ring number 3 of 100", "of 101"}},
    {RING, {REDUCE, 100, 0}, {BROADCAST, 100, 0}, {"all_reduce ring", "broadcast"}},
    {RING, {BROADCAST, 100, 1}, {REDUCE, 100, 0}, {"all_reduce ring", "broadcast"}},
    {RING, {REDUCE, 100, 0}, {BARRIER, 0, 0}, {"all_reduce ring", "barrier"}},
    {RING, {BARRIER, 0, 0}, {REDUCE, 100, 0}, {"all_reduce ring", "barrier"}},
    {MASTER_WORKER,
     {REDUCE, 9, 0},
     {REDUCE, 8, 0},
     {"master-worker number 3 of 9", "of 8 float32"}},
    {MASTER_WORKER, {REDUCE, 9, 0}, {BROADCAST, 9, 1}, {"all_reduce master-worker", "broadcast"}},
    {MASTER_WORKER, {REDUCE, 9, 0}, {BARRIER, 0, 0}, {"all_reduce master-worker", "barrier"}},
    {MASTER_WORKER, {BARRIER, 0, 0}, {REDUCE, 9, 0}, {"all_reduce master-worker", "barrier"}},
};

enum { CASES = sizeof cases / sizeof *cases };

struct odd {
    const struct case_ *what;
    size_t rank;
};

static enum hr_status do_call(struct rank *me, const struct call *call)
{
    switch (call->operation) {
    case REDUCE:
        return member_all_reduce(&me->member, me->floats, call->count);
    case BROADCAST:
        return member_broadcast(&me->member, me->floats, call->count, call->root);
    case BARRIER:
        return hr_member_barrier(&me->member);
    }
    return HR_OK;
}

/* Two operations that agree, then the one that does not; what came of it stays in the last float.
 * Who does not need the odd one gets through, and is told in the next operation. */
static enum hr_status disagree(struct rank *me)
{
    const struct odd *odd = me->ranks->arg;
    HR_TRY(member_all_reduce(&me->member, me->floats, 10));
    HR_TRY(hr_member_barrier(&me->member));
    enum hr_status status = do_call(me, me->rank == odd->rank ? &odd->what->odd : &odd->what->all);
    if (status == HR_OK)
        status = hr_member_barrier(&me->member);
    me->floats[FLOATS - 1] = (float)status;
    return status;
}

static void check_everybody_is_told(const struct case_ *what, size_t n, size_t odd_rank,
                                    enum hr_launch launch)
{
    struct odd odd = {what, odd_rank};
    struct ranks ranks = {.nranks = n, .floats = FLOATS, .body = disagree, .arg = &odd};
    ranks.algorithm = what->algorithm;
    ranks.plan_only = what->plan_only;
    ranks.launch = launch;
    ranks_open(&ranks);
    const enum hr_status status = ranks_run(&ranks);
    if (status != HR_E_MISMATCH)
        print_error("case %zu, %zu ranks, odd one %zu\n", (size_t)(what - cases), n, odd_rank);
    CHECK_FAILS(status, HR_E_MISMATCH);
    CHECK_MESSAGE(what->texts[0]);
    CHECK_MESSAGE(what->texts[1]);
    for (size_t r = 0; r < n; r++) {
        const float told = ranks_floats(&ranks, r)[FLOATS - 1];
        assert_true(told == (float)HR_E_MISMATCH || told == (float)HR_E_ABORTED);
    }
    ranks_close(&ranks);
}

static void threads_that_disagree_are_told_both_calls(void **state)
{
    (void)state;
    const size_t most = check_count(3, MAX_RANKS);
    for (size_t c = 0; c < CASES; c++)
        for (size_t n = 2; n <= most; n++)
            for (size_t odd = 0; odd < n; odd++)
                check_everybody_is_told(&cases[c], n, odd, HR_LAUNCH_THREAD);
}

static void processes_that_disagree_are_told_both_calls(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    for (size_t c = 0; c < CASES; c += 3)
        check_everybody_is_told(&cases[c], 3, c % 3, HR_LAUNCH_PROCESS);
    assert_true(no_children_left());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_disagree_are_told_both_calls),
        cmocka_unit_test(processes_that_disagree_are_told_both_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
