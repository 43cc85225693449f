/* Waiting for what nobody rings for: the waiter fetches it, and lets the processor alone. */
#include <sys/resource.h>

#include "shm/wait.h"
#include "support/check.h"

enum { MS = 1000 * 1000 };

static const struct hr_atom32 no_abort;

/* How often this thread has gone to sleep: unlike its time no busy machine changes that. */
static size_t slept(void)
{
    struct rusage use;
    assert_int_equal(getrusage(RUSAGE_THREAD, &use), 0);
    return (size_t)use.ru_nvcsw;
}

struct mailbox {
    struct hr_atom64 arrived;
    struct hr_bell bell;
    uint64_t polls, due; /* the message comes with that poll */
};

static void fetch(void *arg)
{
    struct mailbox *mailbox = arg;
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

/* It sleeps between two polls, but for a few. */
static void polling_leaves_most_of_the_processor_alone(void **state)
{
    (void)state;
    struct mailbox mailbox = {.polls = 0};
    struct hr_waiter waiter = {.abort = &no_abort,
                               .timeout_ns = HR_NS_PER_SECOND / 2,
                               .poll = fetch,
                               .poll_arg = &mailbox};
    const size_t before = slept();
    CHECK_FAILS(hr_wait_until(&waiter, &mailbox.bell, has_arrived, &mailbox, "a message"),
                HR_E_TIMEOUT);
    assert_in_range(mailbox.polls, 1, 2000); /* at most two a park of 1 ms */
    assert_in_range(mailbox.polls, 1, 2 * (slept() - before) + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiter_polls_for_what_nobody_rings_for),
        cmocka_unit_test(polling_leaves_most_of_the_processor_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
