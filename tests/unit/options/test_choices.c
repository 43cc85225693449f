/* Words of options as enums: every row's words, in turn, are its numbers. */
#include <stdio.h>
#include <string.h>

#include "options/choices.h"
#include "options/train_options.h"
#include "support/check.h"

static unsigned number_at(const struct hr_option *row, const struct hr_choices *choices)
{
    unsigned number;
    memcpy(&number, (const char *)choices + row->choice - 1, sizeof number);
    return number;
}

static void words_are_numbers(void **state)
{
    (void)state;
    const struct hr_option *row;
    size_t rows = 0;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        struct hr_train_options options;
        char words[200], *rest = words, *word;
        hr_train_defaults(&options);
        if (!row->choice)
            continue;
        rows++;
        snprintf(words, sizeof words, "%s", row->words);
        for (unsigned n = 0; (word = strsep(&rest, "|")) != NULL; n++) {
            assert_true(hr_option_store(row, &options, word));
            const struct hr_choices choices = hr_choices_of(&options);
            assert_int_equal(number_at(row, &choices), n);
        }
    }
    assert_int_equal(rows * sizeof(enum hr_clock_choice), offsetof(struct hr_choices, explored));
}

static void some_by_name(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    struct hr_choices choices = hr_choices_of(&options);
    assert_int_equal(choices.clock, HR_CLOCK_REAL);
    assert_int_equal(choices.overlap, HR_OVERLAP_OFF);
    assert_int_equal(choices.scale_lr, HR_SCALE_LR_NONE);
    assert_false(choices.explored);
    snprintf(options.on_loss, sizeof options.on_loss, "restart");
    snprintf(options.schedule, sizeof options.schedule, "explore:3");
    choices = hr_choices_of(&options);
    assert_int_equal(choices.on_loss, HR_ON_LOSS_RESTART);
    assert_true(choices.explored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_numbers),
        cmocka_unit_test(some_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
