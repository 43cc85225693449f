/* The first step and part that differ, and whose they are. */
#include "gate/place.h"
#include "support/check.h"

/* Steps 10, 20, 30; in step 30 of the second some parts differ. */
static json_t *run_of(const char *weight, const char *own1, const char *loss0, const char *loss1)
{
    json_t *steps = json_array();
    for (int step = 10; step <= 30; step += 10) {
        const bool last = step == 30;
        json_array_append_new(
            steps, json_pack("{si s{ss ss ss ss ss ss}}", "step", step, "parts", "0.weight",
                             last ? weight : "a", "worker.0.0.weight", "b", "worker.1.0.weight",
                             last ? own1 : "c", "worker.1.0.bias", "c", "worker.0.loss",
                             last ? loss0 : "d", "worker.1.loss", last ? loss1 : "e"));
    }
    return json_pack("{so}", "step_digests", steps);
}

static void expect(const char *weight, const char *own1, const char *loss0, const char *loss1,
                   const char *want)
{
    json_t *there = run_of("a", "c", "d", "e"), *here = run_of(weight, own1, loss0, loss1);
    const struct hr_gate_place place = hr_gate_place_of(there, here);
    char text[400];
    assert_string_equal(hr_gate_place_text(&place, text, sizeof text), want);
    assert_int_equal(place.known, want[0] != '\0');
    json_decref(there);
    json_decref(here);
}

static void the_first_part_is_named_and_its_rank(void **state)
{
    (void)state;
    expect("a", "c", "d", "e", "");
    expect("x", "c", "d", "e",
           "equal at step 20, different at step 30: first in 0.weight (1 of 6 parts); all ranks "
           "hold the same there, and no rank's loss differs: it is in a backward pass, a sum or an "
           "update");
    expect("x", "c", "d", "x",
           "equal at step 20, different at step 30: first in 0.weight (2 of 6 parts); all ranks "
           "hold the same there, and rank 1's loss differs");
    expect("x", "c", "x", "x",
           "equal at step 20, different at step 30: first in 0.weight (3 of 6 parts); all ranks "
           "hold the same there, and the losses of all differ");
    expect("a", "x", "d", "e",
           "equal at step 20, different at step 30: first in worker.1.0.weight (1 of 6 parts); "
           "rank 1's part differs, 1 of 2 ranks' are equal");
}

static void steps_that_one_has_are_passed_over(void **state)
{
    (void)state;
    json_t *there = run_of("a", "c", "d", "e"), *here = run_of("x", "c", "d", "e");
    json_array_remove(json_object_get(here, "step_digests"), 1);
    struct hr_gate_place place = hr_gate_place_of(there, here);
    assert_true(place.known && place.step == 30 && place.equal_until == 10 && place.compared == 2);
    assert_int_equal(place.own_ranks, 2);
    json_array_remove(json_object_get(here, "step_digests"), 0);
    place = hr_gate_place_of(there, here);
    assert_true(place.known && place.step == 30 && place.equal_until == 0);
    json_object_set_new(here, "step_digests", json_null());
    assert_false(hr_gate_place_of(there, here).known);
    assert_false(hr_gate_place_of(NULL, here).known);
    json_decref(there);
    json_decref(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_part_is_named_and_its_rank),
        cmocka_unit_test(steps_that_one_has_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
