/* The file of a timeline, word for word; full, killed, and where it cannot be written. */
#include "timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/server.h"
#include "support/check.h"

static const struct hr_run_info info = {.workers = 2, .servers = 1, .processors = 8};

static char path[64];

static int use_folder(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/hogring-timeline-%d.json", (int)getpid());
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static char *text_of_file(void)
{
    static char text[4096];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

static struct hr_timeline *open_run(void)
{
    struct hr_timeline *timeline;
    assert_int_equal(hr_timeline_open(path, "hogring \"x\\y\"\n", &timeline), HR_OK);
    hr_timeline_run(timeline, "ssp, seed 1", "real", &info, 1000);
    return timeline;
}

static void say(struct hr_timeline *timeline, struct hr_span_report span)
{
    hr_timeline_span(timeline, &span);
}

static void every_event_is_a_line(void **state)
{
    (void)state;
    struct hr_timeline *timeline = open_run();
    say(timeline, (struct hr_span_report){.rank = 1,
                                          .kind = HR_SPAN_STEP,
                                          .step = 7,
                                          .begin_ns = 1000,
                                          .end_ns = 1000,
                                          .peer = -1});
    say(timeline, (struct hr_span_report){.rank = 1,
                                          .kind = HR_SPAN_COMPUTE,
                                          .part = HR_SPAN_FORWARD,
                                          .begin_ns = 1000,
                                          .end_ns = 2234567,
                                          .peer = -1});
    say(timeline,
        (struct hr_span_report){
            .rank = 1, .kind = HR_SPAN_WAIT, .begin_ns = 2234567, .end_ns = 2234568, .peer = 0});
    say(timeline,
        (struct hr_span_report){
            .rank = 2, .kind = HR_SPAN_CAME, .begin_ns = 3000, .peer = 1, .note = 1ull << 40 | 5});
    say(timeline, (struct hr_span_report){.rank = 2,
                                          .kind = HR_SPAN_SERVE,
                                          .begin_ns = 3000,
                                          .end_ns = 4000,
                                          .peer = 1,
                                          .note = HR_PUSH});
    say(timeline,
        (struct hr_span_report){
            .rank = 1, .kind = HR_SPAN_SENT, .begin_ns = 2000, .peer = 2, .note = 1ull << 40 | 5});
    hr_timeline_run_ends(timeline);
    assert_int_equal(hr_timeline_close(timeline), HR_OK);
    const char *text = strstr(text_of_file(), "{\"ph\":\"B\"");
    assert_non_null(text);
    assert_string_equal(
        text,
        "{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":0.000,\"name\":\"step 7\",\"cat\":\"step\"},\n"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":0.000,\"dur\":2233.567,\"name\":\"forward\","
        "\"cat\":"
        "\"compute\"},\n"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":2233.567,\"dur\":0.001,\"name\":\"wait for "
        "worker "
        "0\",\"cat\":\"wait\"},\n"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"server "
        "0\"}},\n"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":3,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":"
        "2}},\n"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":2.000,\"dur\":1.000,\"name\":\"push of worker "
        "1\",\"cat\":\"serve\"},\n"
        "{\"ph\":\"s\",\"pid\":1,\"tid\":2,\"ts\":1.000,\"id\":\"1.1099511627781\",\"name\":"
        "\"request\","
        "\"cat\":\"message\"},\n"
        "{\"ph\":\"f\",\"pid\":1,\"tid\":3,\"ts\":2.000,\"id\":\"1.1099511627781\",\"name\":"
        "\"request\","
        "\"cat\":\"message\",\"bp\":\"e\"},\n"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":2233.568}\n]\n");
}

static void what_was_asked_for_is_a_label_without_quotes(void **state)
{
    (void)state;
    struct hr_timeline *timeline = open_run();
    assert_int_equal(hr_timeline_close(timeline), HR_OK);
    assert_non_null(strstr(text_of_file(), "\"args\":{\"name\":\"ssp, seed 1\"}},\n"));
    assert_non_null(strstr(text_of_file(), ", real time, 8 processors: hogring  x y  \"}},\n"));
}

static void a_full_file_says_so_and_ends(void **state)
{
    (void)state;
    struct hr_timeline *timeline = open_run();
    uint64_t step;
    assert_false(hr_timeline_is_full(timeline, &step));
    for (int64_t i = 0; i < HR_TIMELINE_EVENTS + 10; i++)
        say(timeline, (struct hr_span_report){.kind = HR_SPAN_LOAD,
                                              .step = 42,
                                              .begin_ns = 1000 + i,
                                              .end_ns = 1001 + i,
                                              .peer = -1});
    assert_true(hr_timeline_is_full(timeline, &step));
    assert_int_equal(step, 42);
    assert_int_equal(hr_timeline_close(timeline), HR_OK);
}

static void a_folder_that_is_missing_is_named(void **state)
{
    (void)state;
    struct hr_timeline *timeline;
    assert_int_equal(hr_timeline_open("/tmp/none/x.json", "", &timeline), HR_E_IO);
    assert_null(timeline);
    assert_int_equal(hr_timeline_close(NULL), HR_OK);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    struct hr_timeline *timeline;
    assert_int_equal(hr_timeline_open("/dev/full", "", &timeline), HR_OK);
    hr_timeline_flush(timeline);
    assert_int_not_equal(hr_timeline_close(timeline), HR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_a_line),
        cmocka_unit_test(what_was_asked_for_is_a_label_without_quotes),
        cmocka_unit_test(a_full_file_says_so_and_ends),
        cmocka_unit_test(a_folder_that_is_missing_is_named),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, use_folder, remove_file);
}
