/* The text of injected trouble: what it may say and what not. */
#include <string.h>

#include "netsim/inject.h"
#include "support/check.h"

static const int64_t ms = 1000000000;

static void blanks_between_entries_are_allowed(void **state)
{
    (void)state;
    struct hr_inject inject;
    CHECK_OK(hr_inject_parse("--inject ", "slow:3x2, stall:1@step=50+3s", 8, 2, &inject));
    assert_int_equal(inject.n, 2);
    assert_int_equal(inject.entry[1].rank, 1);
}

static void check_refused(const char *text, const char *why)
{
    struct hr_inject inject = {.n = 77};
    CHECK_FAILS(hr_inject_parse("--inject ", text, 8, 2, &inject), HR_E_USAGE);
    CHECK_MESSAGE(why);
    assert_int_equal(inject.n, 77);
}

static const char *const wrong_texts[][2] = {
    {"fast:3x2", "--inject fast:3x2: expected a comma list of slow:"},
    {"slow:3x2,,", "--inject : expected a comma list"},
    {"slow:3x2,", "--inject : expected an entry behind the last comma"},
    {"slow:3", "--inject slow:3: expected slow:RANKxFACTOR[@P%], as slow:3x2"},
    {"slow:3x", "expected slow:RANKxFACTOR"},
    {"slow:stage:3x2", "expected slow:stage:RANK:STAGExFACTOR[@P%], as slow:stage:0:1x3"},
    {"slow:stage:8:1x2", "expected a worker from 0 to 7, or * for all"},
    {"slow:x2", "expected slow:RANKxFACTOR"},
    {"slow:-1x2", "expected slow:RANKxFACTOR"},
    {"slow:3x0", "factor 0.001 to 1000"},
    {"slow:3x1001", "factor 0.001 to 1000"},
    {"slow:3x2@10", "expected slow:RANKxFACTOR"},
    {"slow:3x2@101%", "expected slow:RANKxFACTOR"},
    {"slow:3x2@x%", "expected slow:RANKxFACTOR"},
    {"stall:1", "expected stall:RANK@step=N+TIME"},
    {"stall:x@step=1+1s", "expected stall:RANK@step=N+TIME"},
    {"load:1", "expected load:RANK+TIME, as load:1+5ms"},
    {"load:x+1s", "expected load:RANK+TIME"},
    {"load:1+1", "expected load:RANK+TIME"},
    {"kill:any@p=x", "expected kill:any@p=P[xN]"},
    {"kill:any@p=-0.1", "p from 0 to less than 1"},
    {"drop-push:p=x", "expected drop-push:p=P[+TIME]"},
    {"nan:x@step=1", "expected nan:RANK@step=N"},
    {"slow:8x2", "--inject slow:8x2: expected a worker from 0 to 7, or * for all"},
    {"slow:18446744073709551615x2", "expected slow:RANKxFACTOR"},
    {"slow:1x2,stall:1@step=50", "--inject stall:1@step=50: expected stall:RANK@step=N+TIME"},
    {"stall:1@50+3s", "expected stall:RANK@step=N+TIME"},
    {"stall:1@step=+3s", "expected stall:RANK@step=N+TIME"},
    {"stall:1@step=50+25h", "at most 24h"},
    {"kill:2", "--inject kill:2: expected kill:RANK@step=N|time=T, as kill:2@step=100"},
    {"kill:2@100", "expected kill:RANK@step=N|time=T"},
    {"kill:2@step=", "expected kill:RANK@step=N|time=T"},
    {"kill:2@time=3", "expected kill:RANK@step=N|time=T"},
    {"kill:2@step=1x", "expected kill:RANK@step=N|time=T"},
    {"kill:8@step=1", "--inject kill:8@step=1: expected a worker from 0 to 7"},
    {"kill:*@step=1", "expected a worker from 0 to 7, not *: when all workers die"},
    {"kill:server:@step=1", "expected kill:server:SERVER@step=N|time=T, as kill:server:1@"},
    {"kill:server:2@step=1", "expected a server from 0 to 1"},
    {"kill:server:*@time=1s", "expected a server from 0 to 1, not *: when all servers die"},
    {"kill:server:1", "expected kill:server:SERVER@step=N|time=T"},
    {"kill:any", "expected kill:RANK@step=N|time=T"},
    {"kill:any@0.1", "--inject kill:any@0.1: expected kill:any@p=P[xN], as kill:any@p=0.01"},
    {"kill:any@p=1", "p from 0 to less than 1"},
    {"kill:any@p=0.1x", "expected kill:any@p=P[xN]"},
    {"kill:any@p=0.1,kill:any@p=0.1x2", "expected kill:any once, it is of every worker"},
    {"kill:server:any@p=0.1x-2", "expected kill:server:any@p=P[xN]"},
    {"drop-push:0.1", "expected drop-push:p=P[+TIME], as drop-push:p=0.01 or"},
    {"drop-push:p=1", "p from 0 to less than 1"},
    {"drop-push:p=-0.1", "p from 0 to less than 1"},
    {"drop-push:p=0.1+", "expected drop-push:p=P[+TIME]"},
    {"drop-push:p=0.1+5", "expected drop-push:p=P[+TIME]"},
    {"drop-push:p=0.1,drop-push:p=0.2", "expected drop-push once"},
    {"nan:1", "expected nan:RANK@step=N, as nan:1@step=7"},
    {"nan:1@time=3s", "expected nan:RANK@step=N"},
    {"nan:*@step=7", "expected a worker from 0 to 7, not *: the message is to name"},
    {"nan:9@step=7", "expected a worker from 0 to 7"},
    {"flip-bit:1@step=9", "expected a comma list of slow:stage:RANK:STAGExFACTOR[@P%], "
                          "slow:RANKxFACTOR[@P%], stall:"},
    {"flip-bit:weights:1", "expected flip-bit:weights:RANK@step=N, as flip-bit:weights:1@"},
    {"flip-bit:weights:*@step=9", "not *: replicas that are all altered"},
    {"slow:1x2222222222222222222222222222222222222222222222222222222222222222222222",
     "expected entries of at most 63 characters"},
};

static void wrong_text_is_refused_in_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_texts / sizeof *wrong_texts; i++)
        check_refused(wrong_texts[i][0], wrong_texts[i][1]);
}

static void servers_are_refused_where_there_are_none(void **state)
{
    (void)state;
    struct hr_inject inject;
    CHECK_FAILS(hr_inject_parse("", "kill:server:0@step=1", 8, 0, &inject), HR_E_USAGE);
    CHECK_MESSAGE("kill:server:0@step=1: this strategy has no servers");
    CHECK_OK(hr_inject_parse("", "kill:server:0@step=1", 8, 1, &inject));
}

static void failures_are_read_as_they_are_written(void **state)
{
    (void)state;
    struct hr_inject inject;
    CHECK_OK(hr_inject_parse("",
                             "kill:2@step=100,kill:3@time=500ms,kill:server:1@step=7,"
                             "drop-push:p=0.01+20ms,nan:1@step=7,flip-bit:weights:0@step=9",
                             8, 2, &inject));
    const struct hr_inject_entry *e = inject.entry;
    assert_int_equal(inject.n, 6);
    assert_true(e[0].kind == HR_INJECT_KILL && e[0].rank == 2 && e[0].step == 100 && !e[0].timed);
    assert_true(e[1].kind == HR_INJECT_KILL && e[1].rank == 3 && e[1].timed);
    assert_true(e[1].ps == 500 * ms);
    assert_true(e[2].kind == HR_INJECT_KILL_SERVER && e[2].rank == 1 && e[2].step == 7);
    assert_true(e[3].kind == HR_INJECT_DROP_PUSH && e[3].ps == 20 * ms);
    CHECK_NEAR(e[3].probability, 0.01, 0, 0);
    assert_true(e[4].kind == HR_INJECT_NAN && e[4].rank == 1 && e[4].step == 7);
    assert_true(e[5].kind == HR_INJECT_FLIP_BIT && e[5].rank == 0 && e[5].step == 9);
    for (size_t i = 0; i < inject.n; i++)
        assert_true(hr_inject_has(&inject, e[i].kind));
    assert_false(hr_inject_has(&inject, HR_INJECT_SLOW));
}

static void what_is_about_time_is_told_from_what_is_not(void **state)
{
    (void)state;
    assert_string_equal(hr_inject_timed("nan:1@step=7,slow:3x2"), "slow:");
    assert_string_equal(hr_inject_timed("stall:1@step=7+3s"), "stall:");
    assert_string_equal(hr_inject_timed("load:*+3ms"), "load:");
    assert_string_equal(hr_inject_timed("kill:1@time=3s"), "kill:");
    assert_string_equal(hr_inject_timed("kill:1@step=3,kill:server:700@time=3s"), "kill:server:");
    assert_null(hr_inject_timed("kill:1@step=3,nan:9@step=7,flip-bit:weights:3@step=2"));
    assert_null(hr_inject_timed("drop-push:p=0.1"));
    assert_null(hr_inject_timed(""));
    assert_null(hr_inject_timed("slow:1x2,nonsense"));
    assert_string_equal(hr_inject_explored("kill:any@p=0.1"), "kill:any");
    assert_string_equal(hr_inject_explored("kill:server:any@p=0.1"), "kill:server:any");
    assert_string_equal(hr_inject_explored("nan:0@step=1,stall:any@p=0.1"), "stall:any");
    assert_null(hr_inject_explored("nan:0@step=1"));
    assert_null(hr_inject_explored("stall:any@p=0.1,nonsense"));
}

static void a_list_to_repeat_has_neither_delays_nor_deaths(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"", ""},
        {"slow:3x2", ""},
        {"nan:1@step=7", "nan:1@step=7"},
        {"slow:3x2, nan:1@step=7,stall:*@step=3+1s,kill:1@time=3s,load:1+1ms", "nan:1@step=7"},
        {"kill:1@step=3,kill:server:0@step=7,kill:any@p=0.1,kill:server:any@p=0.1,nan:1@step=7",
         "nan:1@step=7"},
        {"nan:1@step=7,slow:3x2,drop-push:p=0.1+2ms", "nan:1@step=7"},
        {"stall:any@p=0.1x2,nan:1@step=7", "nan:1@step=7"},
        {"nonsense,slow:1x2", "nonsense"},
        {"nan:1@step=7,slow:1x2, nan:2@step=8", "nan:1@step=7,nan:2@step=8"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char out[100];
        hr_inject_to_repeat(texts[i][0], out, sizeof out);
        assert_string_equal(out, texts[i][1]);
    }
    char small[40] = "........................";
    hr_inject_to_repeat("nan:1@step=7,nan:2@step=8,nan:3@step=9", small, 8);
    assert_string_equal(small, "nan:1@s"); /* cut */
    assert_string_equal(small + 8, "................");
}

static void no_more_entries_are_taken_than_there_is_room_for(void **state)
{
    (void)state;
    char text[16 * (HR_INJECT_ENTRIES + 1)] = "slow:0x2";
    struct hr_inject inject;
    for (size_t i = 1; i < HR_INJECT_ENTRIES; i++)
        strcat(text, ",slow:0x2");
    CHECK_OK(hr_inject_parse("", text, 8, 2, &inject));
    assert_int_equal(inject.n, HR_INJECT_ENTRIES);
    assert_true(hr_inject_ps(&inject, 1, 0, 0, ms) == HR_PS_NEVER);
    strcat(text, ",slow:0x2");
    CHECK_FAILS(hr_inject_parse("", text, 8, 2, &inject), HR_E_USAGE);
    CHECK_MESSAGE("at most 64 entries");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_between_entries_are_allowed),
        cmocka_unit_test(failures_are_read_as_they_are_written),
        cmocka_unit_test(wrong_text_is_refused_in_one_line),
        cmocka_unit_test(servers_are_refused_where_there_are_none),
        cmocka_unit_test(what_is_about_time_is_told_from_what_is_not),
        cmocka_unit_test(a_list_to_repeat_has_neither_delays_nor_deaths),
        cmocka_unit_test(no_more_entries_are_taken_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
