/* Topologies: what the text says, every message for what it should not say, and the routes. */
#include "netsim/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static const char pair[] = "gpu a b\nlink a b 16GB/s\n";

static void parse(const char *text, struct hr_topology *out)
{
    CHECK_OK(hr_topology_parse("t", text, out));
}

/* --- the text --- */

static void a_link_has_bandwidth_latency_lanes_and_medium(void **state)
{
    (void)state;
    struct hr_topology t;
    parse("# a comment\n\n  gpu a b # two\r\nnode\tcpu\nlink a b 16GB/s\n"
          "link a cpu 100Gb/s 5us x2 shared host\nlink b cpu 1GB/s shared host#\n"
          "gpu c\nlink c cpu 1GB/s x3 shared disk",
          &t);
    assert_int_equal(t.nnodes, 4);
    assert_int_equal(t.nranks, 3);
    assert_int_equal(t.rank_node[2], 3);
    assert_int_equal(t.nwires, 4);
    assert_int_equal(t.nmedia, 2);
    assert_string_equal(t.medium[0].name, "host");
    assert_int_equal(t.wire[0].medium, HR_TOPOLOGY_NONE);
    assert_int_equal(t.wire[0].link.latency_ps, 0);
    CHECK_NEAR(t.wire[0].link.bandwidth, 16e9, 0, 0);
    CHECK_NEAR(hr_wire_bandwidth(&t.wire[1]), 25e9, 0, 0);
    assert_int_equal(t.wire[1].link.latency_ps, 5000000);
    assert_int_equal(t.wire[1].medium, t.wire[2].medium);
    assert_int_equal(t.wire[3].lanes, 3);
    assert_string_equal(t.medium[t.wire[3].medium].name, "disk");
    assert_int_equal(hr_topology_node(&t, "cpu"), 2);
    assert_int_equal(hr_topology_node(&t, "gpu"), HR_TOPOLOGY_NONE);
    hr_topology_fini(&t);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"lnik a b 1GB/s\n", "t:1: \"lnik\": expected gpu, node or link"},
        {"gpu a\ngpu # none\n", "t:2: gpu: expected names behind it"},
        {"node", "t:1: node: expected names behind it"},
        {"gpu a,b\n", "t:1: \"a,b\": expected a name of 1 to 31 letters"},
        {"gpu a\x01\n", "t:1: \"a?\": expected a name"},
        {"gpu abcdefghijabcdefghijabcdefghijab\n", "expected a name"},
        {"gpu a b\n\nnode a\n", "t:3: a: there is a node of that name already"},
        {"gpu a b\nlink\n", "t:2: link: expected \"link A B BANDWIDTH"},
        {"gpu a b\nlink a\n", "t:2: link: expected \"link A B BANDWIDTH"},
        {"gpu a b\nlink a c 1GB/s\n", "t:2: c: no such node"},
        {"gpu a b\nlink a a 1GB/s\n", "t:2: link a a: expected two different nodes"},
        {"gpu a b\nlink a b\n", "t:2: link: expected a bandwidth"},
        {"gpu a b\nlink a b 16\n", "t:2: 16: expected BANDWIDTH[,LATENCY]"},
        {"gpu a b\nlink a b 0GB/s\n", "t:2: 0GB/s: expected BANDWIDTH[,LATENCY]"},
        {"gpu a b\nlink a b 1e9TB/s\n", "expected BANDWIDTH[,LATENCY]"},
        {"gpu a b\nlink a b 1GB/s 5miles\n", "t:2: 1GB/s,5miles: expected BANDWIDTH"},
        {"gpu a b\nlink a b 1GB/s 5us 6us\n", "\"6us\": expected [LATENCY] [xN] [shared NAME]"},
        {"gpu a b\nlink a b 1GB/s x0\n", "t:2: x0: expected x1 to x64 lanes"},
        {"gpu a b\nlink a b 1GB/s x65\n", "t:2: x65: expected x1 to x64 lanes"},
        {"gpu a b\nlink a b 1GB/s shared\n", "t:2: \"\": expected a name"},
        {"gpu a b\nlink a b 1GB/s shared m x2\n", "\"x2\": expected [LATENCY] [xN]"},
        {"gpu a b\nlink a b 1GB/s\nlink b a 1GB/s\n", "t:3: link b a: there is one already"},
        {"", "t: 0 gpus: expected 2 to 1024"},
        {"gpu a\nnode b\nlink a b 1GB/s\n", "t: 1 gpus: expected 2 to 1024"},
        {"gpu a b\nlink a b 1GB/s shared "
         "abcdefghijabcdefghijabcdefghijababcdefghijabcdefghijabcdefghijabcdefghij\n",
         "expected a name"},
        {"gpu a b c d\nlink a b 1GB/s shared m\nlink b c 1GB/s shared n\nlink c d 1GB/s shared n\n"
         "link b a 1GB/s shared n\n",
         "t:5: link b a: there is one already"},
        {"gpu a b c\nlink a c 1GB/s\nlink b c 1GB/s\nlink c b 1GB/s\n",
         "t:4: link c b: there is one already"},
        {"gpu a b c\nlink a b 1GB/s\n", "t: no links lead from a to c"},
        {"gpu a b\nnode s\nlink a b 1GB/s\n", "t: no links lead from a to s"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hr_topology t;
        CHECK_FAILS(hr_topology_parse("t", bad[i].text, &t), HR_E_FORMAT);
        CHECK_MESSAGE(bad[i].message);
        assert_null(t.node);
    }
}

static char *many(const char *word, size_t n)
{
    char *text = malloc(n * 16 + 64), *at = text;
    at += sprintf(at, "%s", word);
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, " n%zu", i);
    return text;
}

static void limits_are_checked(void **state)
{
    (void)state;
    struct hr_topology t;
    char *ranks = many("gpu", HR_TOPOLOGY_RANKS + 1), *nodes = many("node", HR_TOPOLOGY_NODES + 1);
    CHECK_FAILS(hr_topology_parse("t", ranks, &t), HR_E_FORMAT);
    CHECK_MESSAGE("t:1: n1024: more than 1024 ranks");
    CHECK_FAILS(hr_topology_parse("t", nodes, &t), HR_E_FORMAT);
    CHECK_MESSAGE("t:1: n2048: more than 2048 nodes");
    free(ranks);
    free(nodes);
    t = (struct hr_topology){0};
    for (size_t i = 0; i < HR_TOPOLOGY_WIRES; i++)
        CHECK_OK(hr_topology_add_wire(&t, &(struct hr_topology_wire){.lanes = 1}));
    CHECK_FAILS(hr_topology_add_wire(&t, &(struct hr_topology_wire){.lanes = 1}), HR_E_FORMAT);
    CHECK_MESSAGE("more than 16384 links");
    hr_topology_fini(&t);
}

/* Every prefix of a good text, and every text with one byte changed, is read or refused. */
static void damaged_text_is_refused_or_read(void **state)
{
    (void)state;
    const char good[] = "gpu a b\nnode s\nlink a s 1GB/s 5us x2 shared m\nlink b s 1Gb/s\n";
    char text[sizeof good];
    for (size_t i = 0; i < sizeof good; i++)
        for (int c = 0; c < 256; c += 5) {
            struct hr_topology t;
            memcpy(text, good, sizeof good);
            text[i] = (char)c;
            text[sizeof good - 1] = 0;
            const enum hr_status status = hr_topology_parse("t", text, &t);
            assert_true(status == HR_OK || status == HR_E_FORMAT);
            hr_topology_fini(&t);
        }
}

/* --- routes --- */

static void check_route(const struct hr_topology *t, size_t from, size_t to, const char *want)
{
    char got[256] = "";
    while (from != to) {
        strcat(strcat(got, t->node[from].name), " ");
        from = hr_wire_across(&t->wire[t->next[from * t->nnodes + to]], from);
    }
    strcat(got, t->node[to].name);
    assert_string_equal(got, want);
}

static void routes_are_short_then_wide_then_first(void **state)
{
    (void)state;
    struct hr_topology t;
    parse("gpu a b\nnode slow fast same long1 long2\n"
          "link a slow 1GB/s\nlink slow b 9GB/s\n"
          "link a fast 2GB/s\nlink fast b 1GB/s x2\n"
          "link a same 2GB/s\nlink same b 2GB/s\n"
          "link a long1 9GB/s\nlink long1 long2 9GB/s\nlink long2 b 9GB/s\n",
          &t);
    check_route(&t, 0, 1, "a fast b");
    check_route(&t, 1, 0, "b fast a");
    check_route(&t, 0, 6, "a long1 long2");
    hr_topology_fini(&t);
}

static void a_direct_link_is_preferred_to_a_wider_detour(void **state)
{
    (void)state;
    struct hr_topology t;
    parse("gpu a b c\nlink a c 9GB/s\nlink c b 9GB/s\nlink a b 1GB/s\n", &t);
    check_route(&t, 0, 1, "a b");
    hr_topology_fini(&t);
}

/* --- families and files --- */

static void families_are_wired_as_they_are_called(void **state)
{
    (void)state;
    const struct hr_link link = {.bandwidth = 16e9, .latency_ps = 7};
    struct hr_topology t;
    CHECK_OK(hr_topology_open("star:1024", &link, &t));
    assert_int_equal(t.nranks, 1024);
    check_route(&t, 0, 1023, "gpu0 switch gpu1023");
    assert_int_equal(t.wire[1000].link.latency_ps, 7);
    hr_topology_fini(&t);
    CHECK_OK(hr_topology_open("ring:5", &link, &t));
    assert_int_equal(t.nwires, 5);
    check_route(&t, 0, 3, "gpu0 gpu4 gpu3");
    hr_topology_fini(&t);
    CHECK_OK(hr_topology_open("ring:2", &link, &t));
    assert_int_equal(t.nwires, 1);
    hr_topology_fini(&t);
    static const char *const bad[] = {"star:1", "star:1025", "star:", "ring:x", "ring:8 "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_FAILS(hr_topology_open(bad[i], &link, &t), HR_E_USAGE);
        CHECK_MESSAGE("expected 2 to 1024 ranks, as star:8");
    }
    CHECK_FAILS(hr_topology_open("no/such/file", &link, &t), HR_E_IO);
    CHECK_MESSAGE("no/such/file");
}

static const char long_bandwidth[] =
    "0000000000000000000000000000000000000000000000000000000000000001GB/s,1us";

static void link_text_is_bandwidth_and_latency(void **state)
{
    (void)state;
    struct hr_link link;
    CHECK_OK(hr_link_parse("--link ", "16GB/s,5us", &link));
    CHECK_NEAR(link.bandwidth, 16e9, 0, 0);
    assert_int_equal(link.latency_ps, 5000000);
    CHECK_OK(hr_link_parse("--link ", "1GB/s", &link));
    assert_int_equal(link.latency_ps, 0);
    static const char *const bad[] = {
        "", ",", "1GB/s,", "1GB/s,x", ",5us", "1GB/s,5us,6us", "5us", long_bandwidth};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_FAILS(hr_link_parse("--link ", bad[i], &link), HR_E_USAGE);
        CHECK_MESSAGE("expected BANDWIDTH[,LATENCY], as 16GB/s");
    }
    assert_int_equal(hr_link_busy_ps(160000000, 16e9), 10000000000);
    assert_int_equal(hr_link_busy_ps(4, 16e9), 250);
    assert_true(hr_link_busy_ps(UINT64_MAX, 1) == HR_PS_NEVER);
    assert_true(hr_ps_add(HR_PS_NEVER, HR_PS_NEVER) == HR_PS_NEVER);
}

/* Lanes between GPUs of the known machine (as nvidia-smi topo -m prints them). */
static const unsigned char cube_mesh[8][8] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

static void the_nvlink_file_is_the_hybrid_cube_mesh_renumbered(void **state)
{
    (void)state;
    static const size_t name[8] = {2, 5, 4, 3, 1, 6, 7, 0}; /* of the machine's GPU here */
    struct hr_topology t;
    size_t lanes = 0;
    CHECK_OK(hr_topology_open("data/topologies/nvlink-8.txt", NULL, &t));
    for (size_t w = 0; w < t.nwires; w++)
        lanes += t.wire[w].lanes;
    assert_int_equal(lanes, 24);
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++) {
            size_t here = 0;
            for (size_t w = 0; w < t.nwires; w++)
                if ((t.wire[w].a == name[i] && t.wire[w].b == name[j]) ||
                    (t.wire[w].b == name[i] && t.wire[w].a == name[j]))
                    here = t.wire[w].lanes;
            assert_int_equal(here, cube_mesh[i][j]);
        }
    hr_topology_fini(&t);
}

static void a_parsed_topology_is_freed_twice_harmlessly(void **state)
{
    (void)state;
    struct hr_topology t;
    parse(pair, &t);
    hr_topology_fini(&t);
    hr_topology_fini(&t);
    assert_int_equal(t.nnodes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_has_bandwidth_latency_lanes_and_medium),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(limits_are_checked),
        cmocka_unit_test(damaged_text_is_refused_or_read),
        cmocka_unit_test(routes_are_short_then_wide_then_first),
        cmocka_unit_test(a_direct_link_is_preferred_to_a_wider_detour),
        cmocka_unit_test(families_are_wired_as_they_are_called),
        cmocka_unit_test(link_text_is_bandwidth_and_latency),
        cmocka_unit_test(the_nvlink_file_is_the_hybrid_cube_mesh_renumbered),
        cmocka_unit_test(a_parsed_topology_is_freed_twice_harmlessly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
