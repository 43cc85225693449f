/* What is kept of how a machine was lost. */
#include <stdlib.h>
#include <string.h>

#include "drive/losses_multinode.h"
#include "support/check.h"

/* Machine 1 sees that machine 2 is lost. */
static void check_kept(struct hr_losses_multinode *it, const char *how, const char *kept)
{
    hr_losses_multinode_saw(it, 2, how);
    assert_string_equal(it->how[2], kept);
}

static void words_are_whole_and_brackets_closed(void **state)
{
    struct hr_losses_multinode *it = calloc(1, sizeof *it);
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(1));
    struct hr_hosts hosts = {.machines = 3, .self = 1};
    char longest[HR_LOSS_TEXT + 1];
    (void)state;
    assert_true(it && control);
    memset(control, 0, hr_control_bytes(1));
    hr_control_init(control, 1);
    it->control = control;
    it->hosts = &hosts;
    check_kept(it, "lost machine m2 (ranks 4, 5): connection closed",
               "lost machine m2 (ranks 4, 5): connection closed");
    check_kept(it,
               "lost machine m2 (ranks 4, 5): returned failed request in UCX netmod(ucx_send.h 83 "
               "MPIDI_UCX_send Endpoint timeout)",
               "lost machine m2 (ranks 4, 5): returned failed request in UCX netmod");
    check_kept(it,
               "lost machine m2 (rank 4): a text of words that has no brackets, and goes on for "
               "longer than there is place for it",
               "lost machine m2 (rank 4): a text of words that has no brackets, and goes on for "
               "longer than there is");
    memset(longest, 'x', HR_LOSS_TEXT);
    longest[HR_LOSS_TEXT] = '\0';
    hr_losses_multinode_saw(it, 2, longest);
    assert_int_equal(strlen(it->how[2]), HR_LOSS_TEXT - 1);
    free(control);
    free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_whole_and_brackets_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
