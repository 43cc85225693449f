/* What a rank tells of its time: stretches, named and blamed before they are told. */
#include "observe/spans.h"

#include <stdlib.h>
#include <string.h>

#include "shm/control.h"
#include "support/check.h"

enum { SLOTS = 256 };

struct scene {
    struct hr_feed feed;
    struct hr_bell launcher;
    struct hr_atom32 abort;
    struct hr_waiter waiter;
    struct hr_spans spans;
    struct hr_span_record told[SLOTS];
    size_t n;
};

static int64_t no_clock(const void *clock)
{
    return *(const int64_t *)clock;
}

static void open_scene(struct scene *scene)
{
    static int64_t now = 5;
    memset(scene, 0, sizeof *scene);
    scene->feed = (struct hr_feed){
        .nranks = 1, .slots = SLOTS, .launcher = &scene->launcher, .spans_to = UINT64_MAX};
    void *memory = aligned_alloc(HR_LINE, hr_feed_bytes(1, SLOTS));
    memset(memory, 0, hr_feed_bytes(1, SLOTS));
    hr_feed_init(&scene->feed, memory);
    scene->waiter.abort = &scene->abort;
    hr_spans_open(&scene->spans, &scene->feed, 0, &scene->waiter, no_clock, &now);
}

static bool take(void *arg, size_t rank, const struct hr_message *record)
{
    struct scene *scene = arg;
    assert_int_equal(rank, 0);
    memcpy(&scene->told[scene->n++], record, sizeof *record);
    return true;
}

static void drain(struct scene *scene)
{
    hr_spans_close(&scene->spans);
    hr_feed_drain(&scene->feed, take, scene);
}

static void close_scene(struct scene *scene)
{
    free(scene->feed.memory);
}

static void expect(const struct hr_span_record *told, enum hr_span_kind kind,
                   enum hr_span_part part, int64_t begin, int64_t end, uint64_t peer)
{
    assert_int_equal(told->what & 0xff, kind);
    assert_int_equal(told->what >> 8, part);
    assert_int_equal(told->begin_ns, begin);
    assert_int_equal(told->end_ns, end);
    assert_true(told->peer == peer);
}

static void parts_are_named_and_waits_blamed(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    hr_spans_step(&scene.spans, 3, 1000);
    hr_spans_add(&scene.spans, HR_SPAN_COMPUTE, HR_SPAN_WHOLE, 1000, 1100);
    hr_spans_name(&scene.spans, HR_SPAN_COMPUTE, HR_SPAN_FORWARD, 1010, 1040);
    hr_spans_name(&scene.spans, HR_SPAN_COMPUTE, HR_SPAN_BACKWARD, 1040, 1100);
    hr_spans_add(&scene.spans, HR_SPAN_WAIT, HR_SPAN_WHOLE, 1100, 1200);
    hr_spans_blame(&scene.spans, 7, 1050, 1180);
    drain(&scene);
    assert_int_equal(scene.n, 6);
    expect(&scene.told[0], HR_SPAN_STEP, HR_SPAN_WHOLE, 1000, 1000, HR_NO_PEER);
    expect(&scene.told[1], HR_SPAN_COMPUTE, HR_SPAN_WHOLE, 1000, 1010, HR_NO_PEER);
    expect(&scene.told[2], HR_SPAN_COMPUTE, HR_SPAN_FORWARD, 1010, 1040, HR_NO_PEER);
    expect(&scene.told[3], HR_SPAN_COMPUTE, HR_SPAN_BACKWARD, 1040, 1100, HR_NO_PEER);
    expect(&scene.told[4], HR_SPAN_WAIT, HR_SPAN_WHOLE, 1100, 1180, 7);
    expect(&scene.told[5], HR_SPAN_WAIT, HR_SPAN_WHOLE, 1180, 1200, HR_NO_PEER);
    close_scene(&scene);
}

static void an_account_tells_every_stretch_of_it(void **state)
{
    (void)state;
    struct scene scene;
    struct hr_account account = {0};
    int64_t told = 0;
    open_scene(&scene);
    hr_account_watch = &scene.spans.watch;
    hr_account_open(&account, hr_clock_ns());
    for (int i = 0; i < 20; i++) {
        hr_account_turn(&account, HR_COMPUTE);
        hr_account_turn(&account, HR_COMMUNICATE);
        hr_account_turn(&account, HR_WAIT);
    }
    hr_account_close(&account, hr_clock_ns());
    hr_account_watch = NULL;
    drain(&scene);
    for (size_t i = 0; i < scene.n; i++) {
        told += scene.told[i].end_ns - scene.told[i].begin_ns;
        if (i)
            assert_int_equal(scene.told[i].begin_ns, scene.told[i - 1].end_ns);
    }
    assert_int_equal(told, account.spent_ns[HR_LOAD] + account.spent_ns[HR_COMPUTE] +
                               account.spent_ns[HR_COMMUNICATE] + account.spent_ns[HR_WAIT]);
    close_scene(&scene);
}

static void short_ones_that_take_turns_become_one_of_each(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    for (int64_t at = 0; at < 100; at += 10) {
        hr_spans_add(&scene.spans, HR_SPAN_COMMUNICATE, HR_SPAN_WHOLE, at, at + 3);
        hr_spans_add(&scene.spans, HR_SPAN_COMPUTE, HR_SPAN_UPDATE, at + 3, at + 10);
    }
    drain(&scene);
    assert_int_equal(scene.n, 2);
    expect(&scene.told[0], HR_SPAN_COMMUNICATE, HR_SPAN_WHOLE, 0, 30, HR_NO_PEER);
    expect(&scene.told[1], HR_SPAN_COMPUTE, HR_SPAN_UPDATE, 30, 100, HR_NO_PEER);
    close_scene(&scene);
}

static void only_steps_that_are_wanted_are_told(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    scene.feed.spans_from = 2;
    scene.feed.spans_to = 3;
    hr_spans_open(&scene.spans, &scene.feed, 0, &scene.waiter, scene.spans.now_ns,
                  scene.spans.clock);
    for (int64_t step = 0; step < 5; step++) {
        hr_spans_step(&scene.spans, (uint64_t)step, 100 * step + 1);
        hr_spans_add(&scene.spans, HR_SPAN_LOAD, HR_SPAN_WHOLE, 100 * step + 1, 100 * step + 101);
        hr_spans_message(&scene.spans, true, 1, 4);
    }
    drain(&scene);
    assert_int_equal(scene.n, 4);
    expect(&scene.told[0], HR_SPAN_STEP, HR_SPAN_WHOLE, 201, 201, HR_NO_PEER);
    expect(&scene.told[1], HR_SPAN_SENT, HR_SPAN_WHOLE, 5, 5, 1);
    expect(&scene.told[2], HR_SPAN_LOAD, HR_SPAN_WHOLE, 201, 301, HR_NO_PEER);
    expect(&scene.told[3], HR_SPAN_STEP, HR_SPAN_WHOLE, 301, 0, HR_NO_PEER); /* it ends */
    close_scene(&scene);
}

static void nobody_who_looks_on_is_nothing_to_do(void **state)
{
    (void)state;
    hr_spans_step(NULL, 1, 2);
    hr_spans_add(NULL, HR_SPAN_LOAD, HR_SPAN_WHOLE, 1, 2);
    hr_spans_message(NULL, true, 1, 4);
    hr_spans_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_named_and_waits_blamed),
        cmocka_unit_test(an_account_tells_every_stretch_of_it),
        cmocka_unit_test(short_ones_that_take_turns_become_one_of_each),
        cmocka_unit_test(only_steps_that_are_wanted_are_told),
        cmocka_unit_test(nobody_who_looks_on_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
