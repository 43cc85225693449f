/* Events come in the order of (time, insertion). */
#include "netsim/events.h"

#include <stdlib.h>

#include "base/philox.h"
#include "support/check.h"

enum { MANY = 3000 };

static int compare(const void *a, const void *b)
{
    const struct hr_event *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->number > y->number) - (x->number < y->number);
}

static void events_come_by_time_then_insertion(void **state)
{
    (void)state;
    static struct hr_event want[MANY];
    struct hr_events events = {0};
    int64_t time;
    uint64_t what;
    for (uint64_t i = 0; i < MANY; i++) {
        const uint32_t drawn = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0).v[0];
        want[i] = (struct hr_event){drawn % 50, i, drawn};
        CHECK_OK(hr_events_push(&events, drawn % 50, drawn));
    }
    qsort(want, MANY, sizeof *want, compare);
    for (size_t i = 0; i < MANY; i++) {
        assert_true(hr_events_pop(&events, &time, &what));
        assert_int_equal(time, want[i].time);
        assert_int_equal(what, want[i].what);
    }
    assert_false(hr_events_pop(&events, &time, &what));
    hr_events_fini(&events);
}

/* A clock never goes back, whatever is inserted on the way. */
static void time_goes_forward_while_events_are_made(void **state)
{
    (void)state;
    struct hr_events events = {0};
    int64_t now = 0, time;
    uint64_t what, popped = 0;
    CHECK_OK(hr_events_push(&events, 0, 0));
    while (hr_events_pop(&events, &time, &what)) {
        assert_true(time >= now);
        now = time;
        popped++;
        for (uint32_t k = 0; k < 2 && events.inserted < MANY; k++)
            CHECK_OK(hr_events_push(
                &events, now + hr_random_block(check_seed(), HR_STREAM_TEST, popped, k).v[0] % 9,
                0));
    }
    assert_int_equal(popped, MANY);
    hr_events_fini(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_by_time_then_insertion),
        cmocka_unit_test(time_goes_forward_while_events_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
