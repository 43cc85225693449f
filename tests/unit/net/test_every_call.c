/* Networks opened, trained, saved and read while each call for memory or on files fails in turn. */
#include <stdio.h>
#include <stdlib.h>

#include "hogring/model.h"
#include "support/every_call.h"
#include "support/scratch.h"

static const struct hr_net_options options = {
    .layers = "conv 2 3x3, batchnorm, relu, flatten, dense 3", .input = {1, 5, 4}};

/* One update by a rule that needs norms, in memory of the caller's. */
static enum hr_status update(const struct hr_net *net, float *arrays, size_t n, float *state,
                             size_t floats)
{
    static const float x[2 * 20] = {1, 2, 3};
    static const uint32_t labels[2] = {0, 2};
    const struct hr_net_batch batch = {.count = 2, .x = x, .labels = labels};
    static _Alignas(64) unsigned char memory[1 << 20];
    struct hr_net_space *space;
    struct hr_net_rule lars;
    HR_TRY(hr_net_rule_defaults("lars", &lars));
    HR_TRY(hr_net_space_open(net, 2, NULL, memory, sizeof memory, &space));
    HR_TRY(hr_net_init(net, 1, arrays, n));
    HR_TRY(hr_net_gradient(space, arrays, n, &batch, arrays + n, NULL));
    return hr_net_update(net, &lars, 1, 2, arrays, arrays + n, n, state, floats);
}

static enum hr_status save_and_read(const struct hr_net *net)
{
    enum { MOST = 1000 };
    static float arrays[2 * MOST], state[MOST], again[MOST];
    const size_t n = hr_net_params(net);
    struct hr_net *same;
    assert_true(n <= MOST);
    memset(state, 0, sizeof state);
    HR_TRY(update(net, arrays, n, state, n));
    HR_TRY(hr_net_save(net, scratch("saved"), 7, arrays, n));
    HR_TRY(hr_net_open_saved(scratch("saved"), (struct hr_shape){0}, &same));
    const enum hr_status status = hr_net_load(same, scratch("saved"), again, n);
    hr_net_close(same);
    if (status == HR_OK)
        CHECK_SAME_FLOATS(again, arrays, n);
    return status;
}

static enum hr_status all(void)
{
    struct hr_net *net;
    HR_TRY(hr_net_open(&options, &net));
    const enum hr_status status = save_and_read(net);
    hr_net_close(net);
    return status;
}

static const struct task task = {"net", all, NULL};

static void without_memory_a_status_says_so(void **state)
{
    (void)state;
    run_once(&task);
    print_message("%zu allocations have failed\n", fail_every_call(&task, OF_MEMORY, ENOMEM, 1));
}

static void a_failed_call_on_a_file_is_said(void **state)
{
    (void)state;
    print_message("%zu calls on files have failed\n", fail_every_call(&task, OF_FILES, EIO, 1));
}

static void pieces_and_interruptions_change_nothing(void **state)
{
    (void)state;
    do_in_pieces(&task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_memory_a_status_says_so, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_failed_call_on_a_file_is_said, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(pieces_and_interruptions_change_nothing, scratch_setup,
                                        scratch_teardown),
    };
    scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
