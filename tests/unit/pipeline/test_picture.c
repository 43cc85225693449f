/* Pictures to the letter, and what holds for all of them: width, bands, a line a rank. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/picture.h"
#include "pipeline/schedule.h"
#include "support/check.h"

enum { PARTS = 128, WIDTH = 80 };

static int64_t later(void *arg, size_t from, size_t to, int64_t now)
{
    const int64_t *message = arg;
    (void)from;
    (void)to;
    return now + *message;
}

/* Every part takes `time` for each of the three. */
static char *draw(const struct hr_pipeline_schedule *schedule, struct hr_pipeline_shape shape,
                  int64_t time, int64_t message, size_t width)
{
    struct hr_part_cost part[PARTS];
    const struct hr_pipeline_costs costs = {.part = part, .arrival = later, .arg = &message};
    struct hr_pipeline_walk walk;
    char *text;
    for (size_t p = 0; p < PARTS; p++)
        part[p] = (struct hr_part_cost){time, time, time};
    CHECK_OK(schedule->check(&shape));
    CHECK_OK(hr_pipeline_walk(schedule, &shape, &costs, &walk));
    CHECK_OK(hr_pipeline_picture(&walk, width, &text));
    hr_pipeline_walk_fini(&walk);
    return text;
}

static void check_drawn(const struct hr_pipeline_schedule *schedule, struct hr_pipeline_shape shape,
                        int64_t message, const char *picture)
{
    char *text = draw(schedule, shape, 6, message, 60);
    assert_string_equal(text, picture);
    free(text);
}

static void schedules_are_drawn(void **state)
{
    (void)state;
    check_drawn(&hr_schedule_gpipe, (struct hr_pipeline_shape){2, 3, 1}, 0,
                "rank 0  F0--F1--F2--............B0------B1------B2------\n"
                "rank 1  ....F0--F1--F2--B0------B1------B2------........\n");
    check_drawn(&hr_schedule_1f1b, (struct hr_pipeline_shape){3, 4, 1}, 0,
                "rank 0  F0F1F2........B0--F3B1--..B2--..B3--\n"
                "rank 1  ..F0F1....B0--F2B1--F3B2--..B3--....\n"
                "rank 2  ....F0B0--F1B1--F2B2--F3B3--........\n");
    check_drawn(&hr_schedule_zero_bubble, (struct hr_pipeline_shape){2, 4, 1}, 0,
                "rank 0  F0--F1--....D0--W0--F2--D1--W1--F3--D2--W2--D3--W3--\n"
                "rank 1  ....F0--D0--F1--D1--W0--F2--D2--W1--F3--D3--W2--W3--\n");
    check_drawn(&hr_schedule_interleaved, (struct hr_pipeline_shape){2, 2, 2}, 0,
                "rank 0  F0-F1-f0-f1-......b0----...b1----B0----B1----\n"
                "rank 1  ...F0-F1-f0-b0----f1-b1----B0----B1----......\n");
    check_drawn(&hr_schedule_1f1b, (struct hr_pipeline_shape){2, 2, 1}, 3,
                "rank 0  F0--F1--............B0------....B1------\n"
                "rank 1  ......F0--B0------F1--B1------..........\n");
}

static size_t count_lines(const char *text, size_t width)
{
    size_t lines = 0;
    for (; *text; text += strcspn(text, "\n") + 1, lines++)
        assert_true(strcspn(text, "\n") <= width);
    return lines;
}

static void pictures_keep_to_their_width_and_bands(void **state)
{
    (void)state;
    for (size_t K = 1; K <= 64; K *= 2)
        for (size_t M = 1; M <= 1024; M *= 4)
            for (size_t width = 40; width <= 100; width += 20) {
                const struct hr_pipeline_shape shape = {K, M, 1};
                char *text = draw(&hr_schedule_zero_bubble, shape, 7, 2, width);
                const size_t lines = count_lines(text, width);
                assert_int_equal((lines + 1) % (K + 1), 0); /* an empty one between bands */
                assert_in_range((lines + 1) / (K + 1), 1, HR_PICTURE_BANDS);
                free(text);
            }
}

static void long_pictures_go_on_below(void **state)
{
    char *text = draw(&hr_schedule_1f1b, (struct hr_pipeline_shape){2, 12, 1}, 6, 0, WIDTH);
    (void)state;
    assert_string_equal(
        text, "rank 0  F0-F1-......B0----F2-B1----F3-B2----F4-B3----F5-B4----F6-B5----F7-B6----\n"
              "rank 1  ...F0-B0----F1-B1----F2-B2----F3-B3----F4-B4----F5-B5----F6-B6----F7-B7-\n"
              "\n"
              "rank 0  F8-B7----F9-B8----F10B9----F11B10---...B11---\n"
              "rank 1  ---F8-B8----F9-B9----F10B10---F11B11---......\n");
    free(text);
}

static void what_takes_no_time_is_not_drawn(void **state)
{
    char *text = draw(&hr_schedule_gpipe, (struct hr_pipeline_shape){2, 2, 1}, 0, 0, 40);
    (void)state;
    assert_string_equal(text, "rank 0  ................................\n"
                              "rank 1  ................................\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_drawn),
        cmocka_unit_test(pictures_keep_to_their_width_and_bands),
        cmocka_unit_test(long_pictures_go_on_below),
        cmocka_unit_test(what_takes_no_time_is_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
