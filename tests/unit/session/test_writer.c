/* A piece of work is done beside its launcher, and tells how it ended. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "session/launcher.h"
#include "support/check.h"

/* Work that waits until it may end. */
struct gate {
    struct hr_atom32 open, entered; /* partners: the work, and who started it */
    struct hr_bell bell;            /* either way */
    enum hr_status status;
    sigset_t blocked;
    pthread_t by;
};

static const struct hr_atom32 no_abort;

static bool is_set(void *word)
{
    return hr_atom32_load_acquire(word);
}

static void wait_for(struct gate *gate, struct hr_atom32 *word)
{
    struct hr_waiter waiter = {.abort = &no_abort, .timeout_ns = 10 * HR_NS_PER_SECOND};
    CHECK_OK(hr_wait_until(&waiter, &gate->bell, is_set, word, "the other"));
}

static void set(struct gate *gate, struct hr_atom32 *word)
{
    hr_atom32_store_release(word, 1);
    hr_bell_ring(&gate->bell);
}

static enum hr_status work(void *arg)
{
    struct gate *gate = arg;
    gate->by = pthread_self();
    pthread_sigmask(SIG_BLOCK, NULL, &gate->blocked);
    set(gate, &gate->entered);
    wait_for(gate, &gate->open);
    return gate->status == HR_OK ? HR_OK : hr_fail(gate->status, "the disk is full");
}

static bool is_done(void *writer)
{
    return hr_writer_is_done(writer);
}

static void it_works_beside_its_launcher_and_rings_when_it_is_done(void **state)
{
    (void)state;
    struct gate gate = {0};
    struct hr_bell bell = {0};
    struct hr_writer writer = {0};
    assert_false(hr_writer_is_busy(&writer));
    hr_writer_start(&writer, work, &gate, &bell);
    wait_for(&gate, &gate.entered);
    assert_true(hr_writer_is_busy(&writer) && !hr_writer_is_done(&writer));
    assert_false(pthread_equal(gate.by, pthread_self()));
    assert_int_equal(sigismember(&gate.blocked, SIGTERM), 1); /* signals are not for it */
    set(&gate, &gate.open);
    struct hr_waiter waiter = {.abort = &no_abort, .timeout_ns = 10 * HR_NS_PER_SECOND};
    CHECK_OK(hr_wait_until(&waiter, &bell, is_done, &writer, "its end"));
    assert_true(hr_bell_has_rung(&bell, 1));
    CHECK_OK(hr_writer_finish(&writer));
    assert_false(hr_writer_is_busy(&writer) || hr_writer_is_done(&writer));
    assert_true(writer.took_ns > 0);
}

static void what_went_wrong_is_told_in_its_launchers_thread(void **state)
{
    (void)state;
    struct gate gate = {.status = HR_E_IO};
    struct hr_bell bell = {0};
    struct hr_writer writer = {0};
    set(&gate, &gate.open);
    hr_writer_start(&writer, work, &gate, &bell);
    CHECK_FAILS(hr_writer_finish(&writer), HR_E_IO); /* waits for it */
    assert_string_equal(hr_error_message(), "the disk is full");
    gate.status = HR_OK;
    hr_writer_start(&writer, work, &gate, &bell); /* and once more */
    CHECK_OK(hr_writer_finish(&writer));
}

static void where_no_thread_is_to_be_had_its_launcher_does_the_work(void **state)
{
    (void)state;
    struct gate gate = {0};
    struct hr_bell bell = {0};
    struct hr_writer writer = {0};
    pthread_attr_t usual, huge;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    set(&gate, &gate.open);
    hr_writer_start(&writer, work, &gate, &bell);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_true(hr_writer_is_done(&writer) && pthread_equal(gate.by, pthread_self()));
    CHECK_OK(hr_writer_finish(&writer));
    pthread_attr_destroy(&usual);
    pthread_attr_destroy(&huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_works_beside_its_launcher_and_rings_when_it_is_done),
        cmocka_unit_test(what_went_wrong_is_told_in_its_launchers_thread),
        cmocka_unit_test(where_no_thread_is_to_be_had_its_launcher_does_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
