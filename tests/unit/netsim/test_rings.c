/* Rings: those of the documents, what no ring leads through, and that every answer is one. */
#include "netsim/rings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"

enum { LOOKS = 1000000 };

static void open_topology(const char *what, struct hr_topology *t)
{
    const struct hr_link link = {.bandwidth = 10e9};
    CHECK_OK(hr_topology_open(what, &link, t));
}

static void check_order(const struct hr_rings *rings, size_t i, const uint16_t *want)
{
    for (size_t k = 0; k < rings->nranks; k++)
        assert_int_equal(hr_rings_order(rings, i)[k] + 1, want[k]);
}

static void the_nvlink_server_has_the_two_rings_of_the_documents(void **state)
{
    (void)state;
    static const uint16_t twice[] = {1, 2, 3, 4, 5, 6, 7, 8}, once[] = {1, 4, 6, 3, 5, 8, 2, 7};
    struct hr_topology t;
    struct hr_rings rings;
    open_topology("data/topologies/nvlink-8.txt", &t);
    CHECK_OK(hr_rings_find(&t, LOOKS, &rings));
    assert_int_equal(rings.n, 2);
    assert_true(rings.complete);
    check_order(&rings, 0, twice);
    check_order(&rings, 1, once);
    assert_int_equal(rings.lanes[0], 2);
    assert_int_equal(rings.lanes[1], 1);
    CHECK_NEAR(rings.bandwidth[0], 36e9, 0, 0);
    CHECK_NEAR(rings.bandwidth[1], 18e9, 0, 0);
    CHECK_NEAR(rings.total, 54e9, 0, 0);
    hr_rings_fini(&rings);
    hr_topology_fini(&t);
}

static void a_long_ring_is_found_at_once(void **state)
{
    (void)state;
    struct hr_topology t;
    struct hr_rings rings;
    open_topology("ring:1024", &t);
    CHECK_OK(hr_rings_find(&t, 2 * LOOKS, &rings));
    assert_int_equal(rings.n, 1);
    for (size_t k = 0; k < 1024; k++)
        assert_int_equal(hr_rings_order(&rings, 0)[k], k);
    hr_rings_fini(&rings);
    hr_topology_fini(&t);
}

static void where_there_is_none_it_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } none[] = {
        {"gpu a b\nlink a b 1GB/s x2\n", "no ring: 2 ranks, expected 3 or more"},
        {"gpu a b c\nlink a b 1GB/s\nlink b c 1GB/s\n",
         "no ring: a has links to 1 other ranks, expected 2 or more"},
        {"gpu a b c\nnode s\nlink a s 1GB/s\nlink b s 1GB/s\nlink c s 1GB/s\n",
         "no ring: a has links to 0 other ranks"},
        {"gpu a b c\nlink a b 1GB/s\nlink b c 1GB/s\nlink c a 1GB/s shared m\n",
         "no ring: a has links to 1 other ranks"},
        {"gpu a b c d e\nlink a b 1GB/s\nlink b c 1GB/s\nlink c a 1GB/s\nlink c d 1GB/s\n"
         "link d e 1GB/s\nlink e c 1GB/s\n",
         "no ring leads through all 5 ranks"},
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct hr_topology t;
        struct hr_rings rings;
        CHECK_OK(hr_topology_parse("t", none[i].text, &t));
        CHECK_FAILS(hr_rings_find(&t, LOOKS, &rings), HR_E_FAILED);
        CHECK_MESSAGE(none[i].message);
        assert_null(rings.order);
        hr_topology_fini(&t);
    }
}

static void the_search_ends_with_its_looks(void **state)
{
    (void)state;
    struct hr_topology t;
    struct hr_rings rings;
    open_topology("data/topologies/nvlink-8.txt", &t);
    CHECK_FAILS(hr_rings_find(&t, 10, &rings), HR_E_FAILED);
    CHECK_MESSAGE("no ring was found through all 8 ranks");
    CHECK_OK(hr_rings_find(&t, 50, &rings));
    assert_int_equal(rings.n, 1);
    assert_false(rings.complete);
    hr_rings_fini(&rings);
    hr_topology_fini(&t);
}

/* Beside the first ring that one comes upon, 0-1-3-5-2-4-6, there is no second. */
static void the_first_ring_is_given_up_for_two(void **state)
{
    (void)state;
    struct hr_topology t;
    struct hr_rings rings;
    static const char links[][3] = {"01", "02", "03", "06", "13", "14", "15",
                                    "24", "25", "26", "35", "36", "45", "46"};
    char text[1024] = "gpu 0 1 2 3 4 5 6\n";
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        snprintf(text + strlen(text), 64, "link %c %c 1GB/s\n", links[i][0], links[i][1]);
    CHECK_OK(hr_topology_parse("t", text, &t));
    CHECK_OK(hr_rings_find(&t, LOOKS, &rings));
    assert_int_equal(rings.n, 2);
    CHECK_NEAR(rings.total, 2e9, 0, 0);
    hr_rings_fini(&rings);
    hr_topology_fini(&t);
}

/* --- whatever the links: what is found are rings --- */

static void check_is_ring(const struct hr_topology *t, const struct hr_rings *rings, size_t i,
                          uint16_t *spare)
{
    const uint16_t *order = hr_rings_order(rings, i);
    bool seen[16] = {false};
    for (size_t k = 0; k < t->nranks; k++) {
        const size_t a = order[k], b = order[(k + 1) % t->nranks];
        size_t w = 0;
        assert_false(seen[a]);
        seen[a] = true;
        while (w < t->nwires && !((t->wire[w].a == a && t->wire[w].b == b) ||
                                  (t->wire[w].a == b && t->wire[w].b == a)))
            w++;
        assert_true(w < t->nwires && spare[w] >= rings->lanes[i]);
        spare[w] = (uint16_t)(spare[w] - rings->lanes[i]);
    }
}

static void draw_links(char *text, size_t n, uint64_t number)
{
    text += sprintf(text, "gpu");
    for (size_t r = 0; r < n; r++)
        text += sprintf(text, " g%zu", r);
    text += sprintf(text, "\n");
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            const struct hr_philox drawn =
                hr_random_block(check_seed(), HR_STREAM_TEST, number, (uint32_t)(a * n + b));
            if (drawn.v[0] % 4 || b == a + 1)
                text += sprintf(text, "link g%zu g%zu 1GB/s x%u\n", a, b, 1 + drawn.v[1] % 3);
        }
}

static void every_answer_is_rings_without_a_common_lane(void **state)
{
    (void)state;
    static char text[8192];
    for (uint64_t number = 0; number < check_count(200, 5000); number++) {
        const size_t n = 3 + number % 7;
        struct hr_topology t;
        struct hr_rings rings;
        uint16_t spare[64];
        draw_links(text, n, number);
        CHECK_OK(hr_topology_parse("t", text, &t));
        for (size_t w = 0; w < t.nwires; w++)
            spare[w] = t.wire[w].lanes;
        if (hr_rings_find(&t, 20000, &rings) == HR_OK) {
            for (size_t i = 0; i < rings.n; i++)
                check_is_ring(&t, &rings, i, spare);
            hr_rings_fini(&rings);
        }
        hr_topology_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nvlink_server_has_the_two_rings_of_the_documents),
        cmocka_unit_test(a_long_ring_is_found_at_once),
        cmocka_unit_test(where_there_is_none_it_is_said),
        cmocka_unit_test(the_search_ends_with_its_looks),
        cmocka_unit_test(the_first_ring_is_given_up_for_two),
        cmocka_unit_test(every_answer_is_rings_without_a_common_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
