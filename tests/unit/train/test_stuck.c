/* A thread that does not end when its run does goes on to use what the run has: nothing of that is
 * given back. (launch/test_launch.c has such a thread.) */
#include <string.h>

#include "support/memory_calls.h"
#include "support/runs.h"
#include "train/shared_memory.h"
#include "train/run.h"

static void what_a_stuck_thread_uses_stays(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("ps-sync", 2);
    options.normalize = true;
    const long before = memory_blocks;
    struct hr_run *run = calloc(1, sizeof *run);
    hr_run_begin(run, &(struct hr_train_call){.options = &options, .dataset = run_digits()});
    CHECK_OK(hr_run_prepare(run));
    CHECK_OK(hr_run_needs(run, NULL, &run->needs));
    CHECK_OK(hr_scaling_measure(run->job.dataset, &run->job.scaling));
    CHECK_OK(hr_memory_take(run));
    const long blocks = memory_blocks;
    run->drive.stuck = true;
    hr_run_finish(run);
    assert_int_equal(memory_blocks, blocks);
    memset(run->segment.base, 1, 1);
    run->drive.stuck = false;
    hr_run_finish(run);
    assert_int_equal(memory_blocks, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_stuck_thread_uses_stays),
    };
    run_digits();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
