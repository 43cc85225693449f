/* A local group: other jobs than sums of floats, calls that differ, and when a sum is seen. */
#include "unit/group/party.h"

/* --- other jobs ------------------------------------------------------------------------------- */

struct model {
    float weight[9000];
    size_t applied;
};

static void apply(void *arg, size_t begin, size_t count, const float *sum)
{
    struct model *model = arg;
    for (size_t i = 0; i < count; i++)
        model->weight[begin + i] -= 0.1f * sum[i];
    model->applied += count;
}

static void a_fused_sum_is_a_stored_one_and_an_update(void **state)
{
    (void)state;
    enum { N = 70, COUNT = 9000 };
    static struct model fused, apart;
    struct party party;
    party_open(&party, &(struct hr_group_options){.nranks = N, .algorithm = &hr_allreduce_direct},
               COUNT);
    for (size_t r = 0; r < N; r++) {
        fill(party.buffer[r], r, COUNT);
        hr_member_reduce_apply_start(&party.member[r], party.buffer[r], 0, COUNT, apply, &fused);
    }
    for (size_t r = 0; r < N; r++)
        assert_true(hr_member_test(&party.member[r]));
    const struct hr_traffic once = hr_member_traffic(&party.member[3]);
    reduce_all(&party, 0, 0, COUNT);
    const struct hr_traffic twice = hr_member_traffic(&party.member[3]);
    apply(&apart, 0, COUNT, party.buffer[N - 1]);
    assert_int_equal(fused.applied, COUNT);
    CHECK_SAME_FLOATS(fused.weight, apart.weight, COUNT);
    assert_int_equal(twice.bytes_sent, 2 * once.bytes_sent);
    assert_int_equal(twice.messages_received, 2 * once.messages_received);
    party_close(&party);
}

static void check_mean_of_integers(const struct hr_algorithm *algorithm)
{
    enum { N = 5, COUNT = 300 };
    static int32_t in[N][COUNT], out[N][COUNT];
    struct party party;
    party_open(&party, &(struct hr_group_options){.nranks = N, .algorithm = algorithm}, 0);
    for (size_t r = 0; r < N; r++) {
        for (size_t i = 0; i < COUNT; i++)
            in[r][i] = (int32_t)(r * i);
        hr_member_start(&party.member[r], &(struct hr_job){.operation = HR_OP_ALL_REDUCE,
                                                           .kind = {HR_INT32, HR_MEAN},
                                                           .in = in[r],
                                                           .out = out[r],
                                                           .count = COUNT});
    }
    for (size_t r = 0; r < N; r++) {
        CHECK_OK(hr_member_wait(&party.member[r]));
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(out[r][i], 2 * i);
            assert_int_equal(in[r][i], r * i);
        }
    }
    party_close(&party);
}

static void other_types_operators_and_outputs_work_as_well(void **state)
{
    (void)state;
    check_mean_of_integers(&hr_allreduce_direct);
    check_mean_of_integers(&hr_allreduce_ring);
    check_mean_of_integers(&hr_allreduce_hierarchical);
}

static void ranks_that_call_different_sums_are_all_told_both(void **state)
{
    (void)state;
    struct party party;
    const struct hr_group_options options = {.nranks = 3, .algorithm = &hr_allreduce_direct};
    for (int other_kind = 0; other_kind < 2; other_kind++) {
        party_open(&party, &options, 100);
        struct hr_member *m = party.member;
        reduce_all(&party, 0, 0, 100);
        hr_member_all_reduce_start(&m[1], party.buffer[1], 0, 100);
        assert_false(hr_member_test(&m[1]));
        if (other_kind)
            hr_member_reduce_apply_start(&m[2], party.buffer[2], 0, 100, apply, NULL);
        else
            hr_member_all_reduce_start(&m[2], party.buffer[2], 0, 99);
        CHECK_FAILS(hr_member_wait(&m[2]), HR_E_MISMATCH);
        CHECK_MESSAGE("rank 2 called ");
        CHECK_MESSAGE(other_kind ? "reduce_apply number 2 of 100"
                                 : "direct number 2 of 99 float32");
        CHECK_MESSAGE("; rank 1 called all_reduce direct number 2 of 100 float32 sum");
        assert_true(hr_member_test(&m[1]));
        CHECK_FAILS(hr_member_finish(&m[1]), HR_E_MISMATCH);
        CHECK_MESSAGE(
            "rank 1 called all_reduce direct number 2 of 100 float32 sum; rank 2 called ");
        hr_member_all_reduce_start(&m[0], party.buffer[0], 0, 100); /* the last, and it is told */
        CHECK_FAILS(hr_member_wait(&m[0]), HR_E_MISMATCH);
        party_close(&party);
    }
}

/* --- the driver's time ------------------------------------------------------------------------ */

static void summed(void *arg, const struct hr_local_group_sum *what)
{
    struct party *party = arg;
    assert_false(party->unreleased);
    assert_int_equal(what->number, ++party->told);
    party->last = *what;
    party->unreleased = true;
}

static void a_sum_is_seen_when_the_driver_releases_it(void **state)
{
    (void)state;
    struct party party;
    party_open(&party, &(struct hr_group_options){.nranks = 2, .algorithm = &hr_allreduce_auto}, 8);
    struct hr_member *m = party.member;
    hr_local_group_on_sum(party.local, summed, &party);
    hr_member_all_reduce_start(&m[1], party.buffer[1], 0, 8);
    hr_local_group_release(party.local); /* too early: nothing has been summed */
    assert_int_equal(party.told, 0);
    hr_member_all_reduce_start(&m[0], party.buffer[0], 0, 8);
    assert_int_equal(party.told, 1);
    assert_int_equal(party.last.bytes, 8 * sizeof(float));
    assert_int_equal(party.last.last_rank, 0);
    assert_ptr_equal(party.last.algorithm, &hr_allreduce_direct);
    assert_false(hr_member_test(&m[0]) || hr_member_test(&m[1]));
    hr_local_group_release(party.local);
    assert_true(hr_member_test(&m[1]) && hr_member_test(&m[0]));
    party_close(&party);
}

static uint32_t word(size_t from, size_t to, size_t i)
{
    return (uint32_t)(from * 10000 + to * 100 + i);
}

/* Of all_to_all each block once, of all_gather each rank's own, in place. */
static void blocks_go_where_they_belong_and_are_counted(void **state)
{
    (void)state;
    enum { N = 5, EACH = 7 };
    static uint32_t in[N][N * EACH], out[N][N * EACH];
    struct party party;
    party_open(&party, &(struct hr_group_options){.nranks = N, .algorithm = &hr_allreduce_ring}, 8);
    hr_local_group_on_sum(party.local, summed, &party);
    for (size_t r = 0; r < N; r++) {
        for (size_t k = 0; k < N * EACH; k++)
            in[r][k] = word(r, k / EACH, k % EACH);
        hr_member_all_to_all_start(&party.member[r], in[r], out[r], EACH);
    }
    assert_ptr_equal(party.last.plan, hr_plan_all_to_all);
    assert_int_equal(party.last.bytes, N * EACH * sizeof(uint32_t));
    assert_false(hr_member_test(&party.member[0]));
    party.unreleased = false;
    hr_local_group_release(party.local);
    for (size_t r = 0; r < N; r++) {
        CHECK_OK(hr_member_wait(&party.member[r]));
        for (size_t k = 0; k < N * EACH; k++)
            assert_int_equal(out[r][k], word(k / EACH, r, k % EACH));
        hr_member_all_gather_start(&party.member[r], in[r] + r * EACH, in[r], EACH);
    }
    assert_ptr_equal(party.last.plan, hr_plan_all_gather);
    hr_local_group_release(party.local);
    for (size_t r = 0; r < N; r++) {
        CHECK_OK(hr_member_wait(&party.member[r]));
        for (size_t k = 0; k < N * EACH; k++)
            assert_int_equal(in[r][k], word(k / EACH, k / EACH, k % EACH));
        assert_int_equal(hr_member_traffic(&party.member[r]).bytes_sent,
                         2 * (N - 1) * EACH * sizeof(uint32_t));
        assert_int_equal(hr_member_traffic(&party.member[r]).messages_received, 2 * (N - 1));
    }
    party_close(&party);
}

/* One step of a rank: look whether its sum is there, check it, begin the next. */
static void play_rank(struct party *party, size_t rank, uint64_t *finished)
{
    struct hr_member *member = &party->member[rank];
    const size_t n = party->options.nranks;
    if (member->call.sequence) {
        if (!hr_member_test(member))
            return;
        CHECK_OK(hr_member_finish(member));
        assert_int_equal(++*finished, member->call.sequence);
        const float want = (float)(n * (n - 1) / 2 + n * *finished);
        for (size_t i = 0; i < *finished % 50; i++)
            assert_true(party->buffer[rank][i] == want);
    }
    for (size_t i = 0; i < 50; i++)
        party->buffer[rank][i] = (float)(rank + *finished + 1);
    hr_member_all_reduce_start(member, party->buffer[rank], 0, (*finished + 1) % 50);
}

static void ranks_run_ahead_into_the_next_sum_in_any_order(void **state)
{
    (void)state;
    enum { N = 6, SUMS = 300 };
    struct party party;
    uint64_t finished[N] = {0};
    size_t ahead = 0;
    party_open(&party, &(struct hr_group_options){.nranks = N, .algorithm = &hr_allreduce_ring},
               50);
    hr_local_group_on_sum(party.local, summed, &party);
    for (uint64_t k = 0; party.told < SUMS; k++) {
        const uint32_t random = hr_random_block(check_seed(), HR_STREAM_TEST, k, 7).v[0];
        if (random % (N + 1) < N) {
            play_rank(&party, random % (N + 1), &finished[random % (N + 1)]);
        } else if (party.unreleased) {
            party.unreleased = false;
            hr_local_group_release(party.local);
        }
        for (size_t r = 1; r < N; r++)
            ahead += finished[r] > finished[0];
    }
    assert_true(ahead > SUMS); /* it was looked at */
    party_close(&party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fused_sum_is_a_stored_one_and_an_update),
        cmocka_unit_test(other_types_operators_and_outputs_work_as_well),
        cmocka_unit_test(ranks_that_call_different_sums_are_all_told_both),
        cmocka_unit_test(a_sum_is_seen_when_the_driver_releases_it),
        cmocka_unit_test(blocks_go_where_they_belong_and_are_counted),
        cmocka_unit_test(ranks_run_ahead_into_the_next_sum_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
