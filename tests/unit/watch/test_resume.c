/* What a command takes from the checkpoint that it goes on from. */
#include "watch/watch.h"

#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "support/check.h"
#include "support/scratch.h"

/* As versions before --precision wrote them. */
static void save_of_an_earlier_version(void)
{
    struct hr_metadata kept = {.key = "option.lr", .value = "0.25"};
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    assert_non_null(checkpoint);
    checkpoint->step = 1;
    checkpoint->trainer.metadata = &kept;
    checkpoint->trainer.nmetadata = 1;
    CHECK_OK(hr_checkpoint_save(scratch(""), checkpoint, 0));
    free(checkpoint);
}

static void resume_with(struct hr_cli *cli, const char *precision)
{
    hr_cli_defaults(cli);
    CHECK_OK(hr_cli_set(cli, HR_TRAIN, "resume", scratch(""), ""));
    CHECK_OK(hr_cli_set(cli, HR_TRAIN, "precision", precision, ""));
    hr_cli_mark_given(cli, "precision");
    CHECK_OK(hr_cli_resume(cli));
}

static void a_precision_that_is_not_said_was_float32(void **state)
{
    static struct hr_cli cli;
    (void)state;
    save_of_an_earlier_version();
    resume_with(&cli, "bf16");
    assert_string_equal(cli.otherwise, "--precision bf16: previously float32\n");
    assert_true(hr_cli_was_saved(&cli, "lr") && cli.train.lr > 0.2);
    assert_false(hr_cli_was_saved(&cli, "precision") || hr_cli_was_saved(&cli, "sync-every"));
    resume_with(&cli, "float32");
    assert_string_equal(cli.otherwise, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_precision_that_is_not_said_was_float32, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
