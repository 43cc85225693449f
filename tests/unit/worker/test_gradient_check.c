/* Gradients are checked before they are handed over: wherever a NaN or an infinity stands, whatever
 * pieces it is handed over in. */
#include "worker/outcome.h"

#include <float.h>
#include <math.h>

#include "support/check.h"
#include "worker/worker.h"

enum { PARAMS = 1000, PIECES = 4 };

static const size_t begin_of[PIECES] = {900, 500, 499, 0};

/* How many pieces are handed over, in the order of backward. */
static size_t pieces_handed_over(struct hr_gradient_check *check, float *grads, size_t nan_at)
{
    size_t n = 0;
    hr_gradient_check_begin(check, grads, PARAMS, nan_at);
    for (size_t i = 0; i < PIECES; i++)
        n += hr_gradient_check_from(check, begin_of[i]);
    return n;
}

static size_t piece_of(size_t element)
{
    size_t i = 0;
    while (element < begin_of[i])
        i++;
    return i;
}

static void a_finite_gradient_is_handed_over_whole(void **state)
{
    (void)state;
    static float grads[PARAMS];
    struct hr_gradient_check check;
    for (size_t i = 0; i < PARAMS; i++)
        grads[i] = i % 2 ? FLT_MAX : -1e-44f;
    assert_int_equal(pieces_handed_over(&check, grads, SIZE_MAX), PIECES);
    assert_true(check.found == SIZE_MAX);
    assert_true(hr_gradient_check_from(&check, 0)); /* once more: nothing is left to look at */
    hr_gradient_check_begin(&check, grads, 0, SIZE_MAX);
    assert_true(hr_gradient_check_from(&check, 0));
}

static void nothing_is_handed_over_from_the_piece_on_that_is_not_finite(void **state)
{
    (void)state;
    static const float strange[] = {INFINITY, -INFINITY, NAN};
    static float grads[PARAMS];
    struct hr_gradient_check check;
    for (size_t i = 0; i < PARAMS; i++) {
        grads[i] = strange[i % 3];
        assert_int_equal(pieces_handed_over(&check, grads, SIZE_MAX), piece_of(i));
        assert_int_equal(check.found, i);
        assert_false(hr_gradient_check_from(&check, 0));
        grads[i] = 0;
    }
}

/* As an injected one is: it appears when its piece is final, and only then. */
static void a_nan_on_purpose_is_found_like_any_other(void **state)
{
    (void)state;
    static float grads[PARAMS];
    struct hr_gradient_check check;
    for (size_t i = 0; i < PARAMS; i++) {
        assert_int_equal(pieces_handed_over(&check, grads, i), piece_of(i));
        assert_int_equal(check.found, i);
        assert_true(isnan(grads[i]));
        grads[i] = 0;
        hr_gradient_check_begin(&check, grads, PARAMS, i);
        assert_int_equal(hr_gradient_check_from(&check, i + 1), true);
        assert_true(!isnan(grads[i]));
    }
}

/* Pieces of several rows: what is found is said by its place in the whole, with its value. */
static void pieces_of_rows_are_checked_too(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 7, STEP = 20, BEGIN = 100, STRIDE = 9 };
    float run[ROWS * COLUMNS] = {0};
    struct hr_gradient_check check;
    for (size_t i = 0; i < ROWS * COLUMNS; i++) { /* without gaps */
        run[i] = NAN;
        hr_gradient_check_begin(&check, NULL, PARAMS, SIZE_MAX);
        assert_false(hr_gradient_check_piece(
            &check, &(struct hr_final_piece){BEGIN, ROWS, COLUMNS, COLUMNS, run, COLUMNS}));
        assert_int_equal(check.found, BEGIN + i);
        run[i] = 0;
    }
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        float values[ROWS * STRIDE] = {0};
        const struct hr_final_piece piece = {BEGIN, ROWS, COLUMNS, STEP, values, STRIDE};
        const size_t at = BEGIN + i / COLUMNS * STEP + i % COLUMNS;
        values[COLUMNS] = NAN; /* between rows */
        hr_gradient_check_begin(&check, NULL, PARAMS, SIZE_MAX);
        assert_true(hr_gradient_check_piece(&check, &piece));
        values[i / COLUMNS * STRIDE + i % COLUMNS] = i % 2 ? -INFINITY : NAN;
        assert_false(hr_gradient_check_piece(&check, &piece));
        assert_int_equal(check.found, at);
        assert_true(i % 2 ? isinf(check.value) : isnan(check.value));
        values[i / COLUMNS * STRIDE + i % COLUMNS] = 0;
        assert_false(hr_gradient_check_piece(&check, &piece)); /* nothing more is handed over */
        assert_false(hr_gradient_check_from(&check, 0));
        values[(ROWS - 1) * STRIDE + COLUMNS - 1] = NAN; /* the first counts */
        hr_gradient_check_begin(&check, NULL, PARAMS, at);
        assert_false(hr_gradient_check_piece(&check, &piece));
        assert_int_equal(check.found, at);
        assert_true(isnan(values[i / COLUMNS * STRIDE + i % COLUMNS]));
    }
}

/* What else is wrong later does not hide the first. */
static void the_first_that_was_found_is_kept(void **state)
{
    (void)state;
    static float grads[PARAMS];
    struct hr_gradient_check check;
    grads[3] = grads[950] = NAN;
    assert_int_equal(pieces_handed_over(&check, grads, SIZE_MAX), 0);
    assert_int_equal(check.found, 950);
}

static void count_up(struct hr_worker *worker, size_t offset)
{
    (void)offset;
    ++*(size_t *)worker->own;
}

/* In the middle of backward, as --overlap has it. */
static void a_strategy_hears_of_finite_pieces_alone(void **state)
{
    (void)state;
    static float grads[PARAMS];
    static struct hr_worker_stats stats;
    size_t heard = 0;
    const struct hr_gradient_hooks hooks = {.final = count_up};
    struct hr_shared_state shared = {.params = PARAMS};
    struct hr_train_worker self = {
        .worker = {
            .shared = &shared, .stats = &stats, .grads = grads, .own = &heard, .hooks = &hooks}};
    struct hr_compute_buffers buffers = {0};
    hr_train_worker_borrow(&self, &buffers);
    for (size_t i = 0; i < PARAMS; i++) {
        heard = 0;
        grads[i] = NAN;
        hr_gradient_check_begin(&self.check, grads, PARAMS, SIZE_MAX);
        for (size_t piece = 0; piece < PIECES; piece++)
            hr_hand_over(&self, begin_of[piece]);
        assert_int_equal(heard, piece_of(i));
        grads[i] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finite_gradient_is_handed_over_whole),
        cmocka_unit_test(nothing_is_handed_over_from_the_piece_on_that_is_not_finite),
        cmocka_unit_test(a_nan_on_purpose_is_found_like_any_other),
        cmocka_unit_test(pieces_of_rows_are_checked_too),
        cmocka_unit_test(the_first_that_was_found_is_kept),
        cmocka_unit_test(a_strategy_hears_of_finite_pieces_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
