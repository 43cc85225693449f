/* Every collective and message between ranks of several machines, from memory inside and outside of
 * the segment. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "group/p2p.h"
#include "support/check.h"
#include "support/machines.h"
#include "support/ranks.h"

enum { COUNT = 3001, SLOT = 1024 };

static void fill(float *x, size_t rank, size_t count, size_t salt)
{
    for (size_t i = 0; i < count; i++)
        x[i] = hr_random_unit(
            hr_random_block(check_seed() + salt, HR_STREAM_TEST, i, (uint32_t)rank).v[0]);
}

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

static size_t elements(enum hr_extent extent, size_t n, size_t count)
{
    return extent == HR_ALL_BLOCKS ? n * count : extent == HR_ONE_BLOCK ? count : 0;
}

/* One call of each operation, with roots in turn; in and out are (n, COUNT). */
static enum hr_status call_all(struct far_rank *me, float *in, float *out, size_t count,
                               size_t *kept)
{
    const size_t n = me->member.options.nranks;
    for (enum hr_operation op = HR_OP_BARRIER; op < HR_OP_REDUCE_APPLY; op++) {
        const struct hr_operation_facts *facts = hr_operation_facts(op);
        const size_t root = (op + count) % n;
        const bool vector = op == HR_OP_BROADCAST;
        const struct hr_job job = {.operation = op,
                                   .in = vector ? out : in,
                                   .out = out,
                                   .count = op == HR_OP_BARRIER ? 0 : count,
                                   .root = root};
        fill(in, me->rank, n * COUNT, op);
        fill(out, me->rank, n * COUNT, op + 100);
        hr_member_start(&me->member, &job);
        HR_TRY(hr_member_wait(&me->member));
        if (!facts->rooted || vector || me->rank == root || op == HR_OP_SCATTER)
            keep(me, kept, out, elements(facts->out, n, count));
    }
    return HR_OK;
}

/* To all others at a time, and from them; sizes differ. */
static enum hr_status exchange(struct far_rank *me, float *in, float *out, size_t *kept)
{
    const size_t n = me->member.options.nranks;
    struct hr_request *request[2 * HR_MAX_RANKS];
    fill(in, me->rank, n * COUNT, 55);
    for (size_t r = 0; r < n; r++) {
        HR_TRY(hr_p2p_receive(&me->member, out + r * COUNT, COUNT - r - me->rank, HR_FLOAT32, r,
                              &request[2 * r]));
        HR_TRY(hr_p2p_send(&me->member, in + r * COUNT, COUNT - r - me->rank, HR_FLOAT32, r,
                           &request[2 * r + 1]));
    }
    for (size_t i = 0; i < 2 * n; i++)
        HR_TRY(hr_p2p_wait(request[i]));
    for (size_t r = 0; r < n; r++)
        keep(me, kept, out + r * COUNT, COUNT - r - me->rank);
    return HR_OK;
}

static enum hr_status call_with(struct far_rank *me, float *in, float *out, size_t *kept)
{
    static const size_t counts[] = {0, 1, 17, COUNT};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        HR_TRY(call_all(me, in, out, counts[c], kept));
    return exchange(me, in, out, kept);
}

static enum hr_status body(struct far_rank *me)
{
    const size_t floats = me->member.options.nranks * COUNT;
    size_t kept = 0;
    float *own = malloc(2 * floats * sizeof *own);
    if (!own)
        return hr_fail(HR_E_NOMEM, "no memory");
    enum hr_status status = call_with(me, me->floats, me->floats + floats, &kept);
    if (status == HR_OK)
        status = call_with(me, own, own + floats, &kept);
    free(own);
    return status;
}

static struct machines run(size_t n, size_t each, bool forked, uint32_t trouble)
{
    struct machines m = {.machines = n,
                         .each = each,
                         .fork = forked,
                         .carries = !trouble,
                         .floats = 2 * n * each * COUNT,
                         .results = 128,
                         .options = {.any_operation = true, .slot_bytes = SLOT},
                         .trouble = trouble,
                         .part_bytes = trouble ? 777 : 0,
                         .body = body};
    CHECK_OK(machines_run(&m));
    return m;
}

static void every_call_has_the_result_of_one_machine(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{2, 1}, {2, 2}, {3, 1}, {2, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint32_t trouble = 0; trouble <= 30; trouble += 30) {
            const size_t n = shapes[s][0], each = shapes[s][1];
            struct machines far = run(n, each, trouble && ranks_can_fork(), trouble);
            struct machines one = run(1, n * each, false, 0);
            for (size_t i = 0; i < n * each * far.results; i++)
                if (memcmp(&far.result[i], &one.result[i], sizeof *far.result) != 0)
                    fail_msg("%zu machines of %zu: rank %zu, result %zu differs", n, each,
                             i / far.results, i % far.results);
            machines_close(&far);
            machines_close(&one);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_has_the_result_of_one_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
