/* Waiting for what nobody rings for: the waiter fetches it, and lets the processor alone. */
#include <time.h>

#include "base/clock.h"
#include "shm/wait.h"
#include "support/check.h"

enum { MS = 1000 * 1000 };

static const struct hr_atom32 no_abort;

static int64_t cpu_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

struct mailbox {
    struct hr_atom64 arrived;
    struct hr_bell bell;
    uint64_t polls, due;          /* the message comes with that poll */
    int64_t longest, last, began; /* between two, later than 100 ms */
};

static void fetch(void *arg)
{
    struct mailbox *mailbox = arg;
    const int64_t now = hr_clock_ns(), apart = now - mailbox->last;
    if (now - mailbox->began > 100 * MS && apart > mailbox->longest)
        mailbox->longest = apart;
    mailbox->last = now;
    if (++mailbox->polls == mailbox->due)
        hr_atom64_store_release(&mailbox->arrived, 1); /* partner: has_arrived */
}

static bool has_arrived(void *arg)
{
    const struct mailbox *mailbox = arg;
    return hr_atom64_load_acquire(&mailbox->arrived) != 0; /* partner: fetch */
}

/* Nobody rings for what comes from elsewhere: who waits for it fetches it, whether it spins, yields
 * or parks. */
static void waiter_polls_for_what_nobody_rings_for(void **state)
{
    (void)state;
    static const struct hr_waiter ways[] = {
        {.spin_ns = 20 * MS}, {.yield_ns = 20 * MS}, {.spin_ns = 0}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (uint64_t due = 1; due < 200; due += 66) {
            struct mailbox mailbox = {.due = due};
            struct hr_waiter waiter = ways[w];
            waiter.abort = &no_abort;
            waiter.timeout_ns = 10 * HR_NS_PER_SECOND;
            waiter.poll = fetch;
            waiter.poll_arg = &mailbox;
            CHECK_OK(hr_wait_until(&waiter, &mailbox.bell, has_arrived, &mailbox, "a message"));
            assert_in_range(mailbox.polls, due, due + 1);
            assert_int_equal(waiter.missed, 0);
        }
}

/* It sleeps between two polls, longer and longer, and never for long. */
static void polling_leaves_most_of_the_processor_alone(void **state)
{
    (void)state;
    struct mailbox mailbox = {.began = hr_clock_ns()};
    struct hr_waiter waiter = {.abort = &no_abort,
                               .timeout_ns = HR_NS_PER_SECOND / 2,
                               .poll = fetch,
                               .poll_arg = &mailbox};
    const int64_t before = cpu_ns();
    CHECK_FAILS(hr_wait_until(&waiter, &mailbox.bell, has_arrived, &mailbox, "a message"),
                HR_E_TIMEOUT);
    const int64_t used = cpu_ns() - before;
    assert_in_range(used, 0, HR_NS_PER_SECOND / 20);
    assert_in_range(mailbox.polls, 400, 2000); /* two a park of 1 ms */
    assert_in_range(mailbox.longest, MS, 200 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiter_polls_for_what_nobody_rings_for),
        cmocka_unit_test(polling_leaves_most_of_the_processor_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
