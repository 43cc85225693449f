/* Hogwild's blocks, taken by ticket: whose they are, and what becomes of those of a lost worker. */
#include <stdio.h>

#include "strategies/hogwild.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"

static void a_block_of_the_dead_is_free_again(void **state)
{
    (void)state;
    static struct script script;
    struct hr_ticket_word *words;
    uint64_t ticket;
    struct hr_train_options options;
    hr_train_defaults(&options);
    snprintf(options.record_block, sizeof options.record_block, "4K");
    snprintf(options.record, sizeof options.record, "x.trace");
    script_open(
        &script, &hr_strategy_hogwild,
        (struct script_plan){
            .workers = 3, .batches = 9, .params = 3000, .options = &options, .outlives = true});
    words = hr_hogwild_weights_of(&script.shared).words;
    assert_true(hr_hogwild_weights_of(&script.shared).blocks == 3);
    assert_true(hr_ticket_try_take(&words[1], 1, &ticket));
    assert_true(hr_ticket_try_take(&words[2], 2, &ticket));
    script_ask(&script, 0);
    assert_false(script_look(&script, 0)); /* wants both */
    script_lose(&script, 1);
    assert_false(hr_ticket_is_of(&words[1], 1));
    assert_true(hr_ticket_is_of(&words[2], 2));
    assert_false(script_look(&script, 0));
    script_lose(&script, 2);
    assert_int_equal(script_get(&script, 0).index, 0);
    for (size_t i = 0; i < 3; i++) /* one ticket for the dead, one for worker 0 */
        assert_int_equal(hr_ticket_count(&words[i]), i == 0 ? 1 : 2);
    script_close(&script);
}

static void a_word_of_tickets_knows_its_owner(void **state)
{
    (void)state;
    struct hr_ticket_word word = {.word.word = 0};
    uint64_t ticket;
    for (uint64_t i = 0; i < 3; i++) {
        const size_t owner = i == 1 ? 1023 : i;
        assert_true(hr_ticket_try_take(&word, owner, &ticket));
        assert_int_equal(ticket, i);
        assert_true(hr_ticket_is_of(&word, owner));
        assert_false(hr_ticket_is_of(&word, 5));
        assert_false(hr_ticket_try_take(&word, 7, &ticket));
        assert_true(hr_ticket_is_of(&word, owner));
        assert_true(hr_ticket_give_back(&word, owner)); /* it was wanted */
        assert_false(hr_ticket_is_of(&word, owner));
        assert_int_equal(hr_ticket_count(&word), i + 1);
    }
    assert_true(hr_ticket_try_take(&word, 3, &ticket));
    assert_false(hr_ticket_give_back(&word, 3)); /* it was not */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_of_the_dead_is_free_again),
        cmocka_unit_test(a_word_of_tickets_knows_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
