/* Plans over links: the documents' figures to the picosecond, formulas, and every algorithm. */
#include "netsim/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "netsim/rings.h"
#include "support/check.h"

static const int64_t MS = 1000000000; /* in ps */
static const uint64_t MB = 1000000;

/* What a ring deals out: over 16 GB/s it takes RUN_PS. */
static const uint64_t RUN = HR_RUN_ELEMS * sizeof(float);
static const int64_t RUN_PS = 4096000;

static void open_topology(const char *what, struct hr_topology *t)
{
    const struct hr_link link = {.bandwidth = 16e9};
    CHECK_OK(hr_topology_open(what, &link, t));
}

static struct hr_walk_options all_ranks(const struct hr_topology *t,
                                        const struct hr_algorithm *algorithm, uint64_t bytes)
{
    return (struct hr_walk_options){.topology = t,
                                    .node = t->rank_node,
                                    .n = t->nranks,
                                    .plan = algorithm->plan,
                                    .bytes = bytes};
}

static int64_t time_of(const char *what, const struct hr_algorithm *algorithm, uint64_t bytes)
{
    struct hr_topology t;
    struct hr_walk walk;
    open_topology(what, &t);
    const struct hr_walk_options options = all_ranks(&t, algorithm, bytes);
    CHECK_OK(hr_walk(&options, &walk));
    const int64_t ps = walk.ps;
    hr_walk_fini(&walk);
    hr_topology_fini(&t);
    return ps;
}

/* --- the documents --- */

static void everything_to_one_gpu_and_back_is_60_ms(void **state)
{
    (void)state;
    assert_int_equal(time_of("data/topologies/pcie-4.txt", &hr_allreduce_master_worker, 160 * MB),
                     60 * MS);
}

static void four_parts_each_on_a_gpu_are_15_ms(void **state)
{
    (void)state;
    assert_int_equal(time_of("data/topologies/pcie-4.txt", &hr_allreduce_direct, 160 * MB),
                     15 * MS);
}

/* The processor is one more rank, that gives nothing. */
static void everything_to_the_processor_and_back_is_80_ms(void **state)
{
    (void)state;
    char name[HR_CHANNEL_NAME];
    struct hr_topology t;
    struct hr_walk walk;
    open_topology("data/topologies/pcie-4.txt", &t);
    const uint16_t node[] = {0, 1, 2, 3, (uint16_t)hr_topology_node(&t, "cpu")};
    const struct hr_walk_options options = {.topology = &t,
                                            .node = node,
                                            .n = 5,
                                            .plan = hr_allreduce_master_worker.plan,
                                            .root = 4,
                                            .bytes = 160 * MB};
    CHECK_OK(hr_walk(&options, &walk));
    assert_int_equal(walk.ps, 80 * MS);
    const size_t busiest = hr_links_busiest(&walk.links);
    assert_string_equal(hr_channel_name(&t, busiest, name), "host (shared)");
    assert_int_equal(walk.links.channel[busiest].busy_ps, 80 * MS);
    assert_int_equal(walk.links.channel[busiest].bytes, 8 * 160 * MB);
    assert_int_equal(walk.step_ps[0], 40 * MS);
    hr_walk_fini(&walk);
    hr_topology_fini(&t);
}

/* --- formulas --- */

static void a_ring_takes_2_n_minus_1_steps_of_a_chunk(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 64; n *= 2) {
        struct hr_topology t;
        struct hr_walk walk;
        char what[16];
        snprintf(what, sizeof what, "ring:%zu", n);
        open_topology(what, &t);
        for (size_t w = 0; w < t.nwires; w++)
            t.wire[w].link.latency_ps = 5000;
        const struct hr_walk_options options = all_ranks(&t, &hr_allreduce_ring, n * 250 * RUN);
        CHECK_OK(hr_walk(&options, &walk));
        assert_int_equal(walk.nsteps, 2 * (n - 1));
        assert_int_equal(walk.ps, (int64_t)(2 * (n - 1)) * (250 * RUN_PS + 5000));
        assert_int_equal(walk.step_ps[0], 250 * RUN_PS + 5000);
        assert_int_equal(walk.messages, 2 * (n - 1) * n);
        assert_int_equal(walk.bytes, 2 * (n - 1) * n * 250 * RUN);
        hr_walk_fini(&walk);
        hr_topology_fini(&t);
    }
}

/* Up the tree 1 and 3 send, then 2, and down again the other way round: of 40 ms everybody has his
 * own messages' time on the move, and waits for the rest. */
static void in_a_tree_a_leaf_moves_less_than_the_root(void **state)
{
    (void)state;
    static const int64_t ms[] = {40, 20, 40, 20};
    struct hr_topology t;
    struct hr_walk walk;
    open_topology("star:4", &t);
    const struct hr_walk_options options = all_ranks(&t, &hr_allreduce_tree, 160 * MB);
    CHECK_OK(hr_walk(&options, &walk));
    assert_int_equal(walk.ps, 40 * MS);
    for (size_t r = 0; r < 4; r++)
        assert_int_equal(walk.moving_ps[r], ms[r] * MS);
    hr_walk_fini(&walk);
    hr_topology_fini(&t);
}

static void two_rings_of_half_the_bytes_take_half_the_time(void **state)
{
    (void)state;
    assert_int_equal(time_of("ring:8", &hr_allreduce_ring, 16 * 150 * RUN), 14 * 300 * RUN_PS);
    assert_int_equal(time_of("ring:8", &hr_allreduce_bidirectional_ring, 16 * 150 * RUN),
                     14 * 150 * RUN_PS);
}

static void a_star_makes_the_master_wait_for_all(void **state)
{
    (void)state;
    for (int64_t n = 2; n <= 33; n++) {
        char what[16];
        snprintf(what, sizeof what, "star:%d", (int)n);
        assert_int_equal(time_of(what, &hr_allreduce_master_worker, 16 * MB), 2 * (n - 1) * MS);
    }
}

/* The double ring carries two thirds: 14 steps of N / 24 over 18 GB/s, on all 24 lanes at once. */
static void the_rings_of_the_nvlink_server_take_5_2_ms(void **state)
{
    (void)state;
    struct hr_topology t;
    struct hr_rings rings;
    struct hr_walk walk;
    open_topology("data/topologies/nvlink-8.txt", &t);
    CHECK_OK(hr_rings_find(&t, 1000000, &rings));
    const uint64_t bytes =
        (uint64_t)3 * 8 * 102 * RUN; /* 160 MB, in runs for each of three lanes */
    CHECK_OK(hr_walk_rings(&t, &rings, bytes, &walk));
    CHECK_NEAR(hr_ps_seconds(walk.ps), 2 * 7.0 / 8 * (double)bytes / 54e9, 1e-4, 0);
    assert_int_equal(walk.nsteps, 14);
    assert_int_equal(walk.messages, 2 * 14 * 8);
    assert_int_equal(walk.bytes, 14 * bytes);
    assert_ptr_equal(walk.links.topology, &t);
    assert_int_equal(walk.step_ps[13], walk.ps);
    for (size_t w = 0; w < t.nwires; w++) { /* each ring goes round one way only */
        assert_int_equal(
            walk.links.channel[2 * w].messages + walk.links.channel[2 * w + 1].messages, 14);
        CHECK_NEAR((double)(walk.links.channel[2 * w].bytes + walk.links.channel[2 * w + 1].bytes) /
                       (t.wire[w].lanes * 14.0 / 8 * (double)bytes / 3),
                   1, 1e-4, 0);
    }
    hr_walk_fini(&walk);
    hr_rings_fini(&rings);
    hr_topology_fini(&t);
}

/* --- the model --- */

static enum hr_status send_twice_and_back(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = 1;
    if (of->rank == 0) {
        HR_TRY(hr_plan_send(plan, 0, HR_OUT, 1, 0));
        HR_TRY(hr_plan_send(plan, 0, HR_OUT, 2, 0));
        HR_TRY(hr_plan_local(plan, 1, HR_ROW_DRAIN, HR_OUT, 0));
        return hr_plan_local(plan, 2, HR_ROW_SUM, HR_OUT, 0);
    }
    if (of->rank == 1)
        HR_TRY(hr_plan_receive(plan, 3, HR_ROW_RECV, 2, 0));
    HR_TRY(hr_plan_receive(plan, 3, HR_ROW_COPY, 0, 0));
    return of->rank == 2 ? hr_plan_send(plan, 3, HR_OUT, 1, 0) : HR_OK;
}

/* 0 -> 1 and 0 -> 2 leave one after the other over one link, at once over two; rank 1 takes the
 * first only when 2 has sent, and 0's drain waits for that. */
static void sends_queue_for_a_link_and_drains_wait_for_the_reader(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int64_t ms;
    } cases[] = {{"star:3", 3}, {"ring:3", 2}};
    for (size_t i = 0; i < 2; i++) {
        struct hr_topology t;
        struct hr_walk walk;
        open_topology(cases[i].topology, &t);
        struct hr_walk_options options = all_ranks(&t, &hr_allreduce_ring, 16 * MB);
        options.plan = send_twice_and_back;
        CHECK_OK(hr_walk(&options, &walk));
        assert_int_equal(walk.ps, cases[i].ms * MS);
        assert_int_equal(walk.step_ps[0], 0);
        assert_int_equal(walk.step_ps[1], cases[i].ms * MS);
        assert_int_equal(walk.step_ps[2], cases[i].ms * MS);
        assert_int_equal(walk.last_rank, 1);
        hr_walk_fini(&walk);
        hr_topology_fini(&t);
    }
}

static enum hr_status wait_for_nobody(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = 1;
    return of->rank == 1 ? hr_plan_receive(plan, 3, HR_ROW_RECV, 0, 0) : HR_OK;
}

static void rows_that_wait_for_ever_are_named(void **state)
{
    (void)state;
    struct hr_topology t;
    struct hr_walk walk;
    open_topology("star:2", &t);
    struct hr_walk_options options = all_ranks(&t, &hr_allreduce_ring, 4);
    options.plan = wait_for_nobody;
    CHECK_FAILS(hr_walk(&options, &walk), HR_E_FAILED);
    CHECK_MESSAGE("rank 1 waits in step 3");
    assert_null(walk.step_ps);
    hr_topology_fini(&t);
}

static void what_takes_for_ever_is_refused(void **state)
{
    (void)state;
    const struct hr_link slow = {.bandwidth = 1};
    struct hr_topology t;
    struct hr_walk walk;
    CHECK_OK(hr_topology_open("star:2", &slow, &t));
    const struct hr_walk_options options = all_ranks(&t, &hr_allreduce_direct, 1ull << 40);
    CHECK_FAILS(hr_walk(&options, &walk), HR_E_FAILED);
    CHECK_MESSAGE("more than 53 days");
    hr_topology_fini(&t);
}

/* --- every algorithm, every topology --- */

static void check_channels(const struct hr_walk *walk)
{
    for (size_t c = 0; c < walk->links.nchannels; c++)
        assert_true(walk->links.channel[c].busy_ps <= walk->ps);
    for (size_t s = 0; s < walk->nsteps; s++)
        assert_true(walk->step_ps[s] <= walk->ps);
}

static void every_algorithm_ends_on_every_topology(void **state)
{
    (void)state;
    static const char *const where[] = {"data/topologies/pcie-4.txt",
                                        "data/topologies/nvlink-8.txt",
                                        "data/topologies/cluster-2x4.txt",
                                        "data/topologies/ring-8.txt",
                                        "star:2",
                                        "star:7",
                                        "ring:2",
                                        "ring:13"};
    static const uint64_t sizes[] = {0, 4, 128, 10007 * 4, 160 * MB};
    for (size_t w = 0; w < sizeof where / sizeof *where; w++) {
        struct hr_topology t;
        open_topology(where[w], &t);
        for (size_t i = 0; hr_algorithm_at(i); i++)
            for (size_t s = 0; s < 5 && hr_algorithm_at(i)->plan; s++) {
                struct hr_walk walk, again;
                const struct hr_walk_options options = all_ranks(&t, hr_algorithm_at(i), sizes[s]);
                CHECK_OK(hr_walk(&options, &walk));
                CHECK_OK(hr_walk(&options, &again));
                check_channels(&walk);
                assert_int_equal(walk.ps, again.ps);
                assert_int_equal(walk.last_rank, again.last_rank);
                assert_true(walk.ps > 0 || sizes[s] == 0);
                hr_walk_fini(&walk);
                hr_walk_fini(&again);
            }
        hr_topology_fini(&t);
    }
}

/* A step in which nobody sends would be counted, and cost nothing. */
static void every_step_that_is_counted_takes_time(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 17; n++) {
        struct hr_topology t;
        struct hr_walk walk;
        char what[16];
        snprintf(what, sizeof what, "star:%zu", n);
        open_topology(what, &t);
        for (size_t i = 0; hr_algorithm_at(i); i++) {
            const struct hr_walk_options options = all_ranks(&t, hr_algorithm_at(i), 160 * MB);
            if (!options.plan)
                continue;
            CHECK_OK(hr_walk(&options, &walk));
            for (size_t s = 0; s < walk.nsteps; s++)
                if (walk.step_ps[s] == 0)
                    fail_msg("%s, %zu ranks: step %zu", hr_algorithm_at(i)->name, n, s);
            hr_walk_fini(&walk);
        }
        hr_topology_fini(&t);
    }
}

static void a_thousand_ranks_are_walked_in_seconds(void **state)
{
    (void)state;
    const clock_t began = clock();
    const int64_t direct = time_of("star:1024", &hr_allreduce_direct, 1024 * 3 * RUN);
    const int64_t ring = time_of("ring:1024", &hr_allreduce_ring, 1024 * 3 * RUN);
    assert_int_equal(ring, 2046 * 3 * RUN_PS);
    assert_int_equal(direct, ring);
    if (!CHECK_SANITIZED)
        assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_to_one_gpu_and_back_is_60_ms),
        cmocka_unit_test(four_parts_each_on_a_gpu_are_15_ms),
        cmocka_unit_test(everything_to_the_processor_and_back_is_80_ms),
        cmocka_unit_test(a_ring_takes_2_n_minus_1_steps_of_a_chunk),
        cmocka_unit_test(in_a_tree_a_leaf_moves_less_than_the_root),
        cmocka_unit_test(two_rings_of_half_the_bytes_take_half_the_time),
        cmocka_unit_test(a_star_makes_the_master_wait_for_all),
        cmocka_unit_test(the_rings_of_the_nvlink_server_take_5_2_ms),
        cmocka_unit_test(sends_queue_for_a_link_and_drains_wait_for_the_reader),
        cmocka_unit_test(rows_that_wait_for_ever_are_named),
        cmocka_unit_test(what_takes_for_ever_is_refused),
        cmocka_unit_test(every_algorithm_ends_on_every_topology),
        cmocka_unit_test(every_step_that_is_counted_takes_time),
        cmocka_unit_test(a_thousand_ranks_are_walked_in_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
