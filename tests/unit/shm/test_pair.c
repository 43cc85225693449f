/* Pairs of rings lie side by side: what one is sent comes out of it, whole, and out of no other. */
#include "shm/pair.h"

#include <stdlib.h>

#include "support/check.h"

enum { SLOTS = 2, PAIRS = 3 };

static const enum hr_pair_way ways[] = {HR_REQUESTS, HR_REPLIES};

static void what_is_sent_comes_out_of_its_own_ring(void **state)
{
    (void)state;
    struct hr_bell bell = {0};
    void *pairs = aligned_alloc(HR_LINE, PAIRS * hr_pair_bytes(SLOTS));
    assert_non_null(pairs);
    hr_pairs_init(pairs, SLOTS, PAIRS);
    for (uint32_t n = 0; n < 2 * PAIRS * SLOTS; n++) { /* all full */
        const struct hr_message message = {.kind = n, .word = {n, n + 1, n + 2, n + 3, n + 4, n}};
        hr_pair_send(hr_pair_ring(pairs, SLOTS, n / 2 % PAIRS, ways[n % 2]), &bell, &message);
    }
    for (uint32_t n = 0; n < 2 * PAIRS * SLOTS; n++) {
        struct hr_ring *ring = hr_pair_ring(pairs, SLOTS, n / 2 % PAIRS, ways[n % 2]);
        const struct hr_message *message = hr_ring_peek_spsc(ring);
        assert_non_null(message);
        assert_int_equal(message->kind, n);
        assert_int_equal(message->word[4], n + 4);
        hr_ring_release_spsc(ring);
    }
    for (size_t number = 0; number < PAIRS; number++)
        for (size_t i = 0; i < 2; i++)
            assert_null(hr_ring_peek_spsc(hr_pair_ring(pairs, SLOTS, number, ways[i])));
    free(pairs);
}

static void whoever_takes_it_is_rung(void **state)
{
    (void)state;
    struct hr_bell bell = {0}, quiet = {0};
    void *pairs = aligned_alloc(HR_LINE, hr_pair_bytes(SLOTS));
    assert_non_null(pairs);
    hr_pairs_init(pairs, SLOTS, 1);
    hr_pair_send(hr_pair_ring(pairs, SLOTS, 0, HR_REPLIES), &bell, &(struct hr_message){0});
    assert_true(hr_bell_has_rung(&bell, 1));
    assert_false(hr_bell_has_rung(&quiet, 1));
    free(pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent_comes_out_of_its_own_ring),
        cmocka_unit_test(whoever_takes_it_is_rung),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
