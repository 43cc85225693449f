/* Event files have the bytes that TensorBoard's own writer gives; a board's values come in the
 * order of steps. */
#include "metrics/metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/scratch.h"

/* The name of the only event file in the scratch folder. */
static void the_event_file(char name[300])
{
    name[0] = '\0';
    DIR *folder = opendir(scratch("."));
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strstr(entry->d_name, "events.out.tfevents."))
            memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
    closedir(folder);
}

static unsigned char *read_events(size_t *bytes)
{
    char name[300];
    the_event_file(name);
    return scratch_read(name, bytes);
}

/* Records of tensorboard 2.21's EventFileWriter. */
static void records_have_their_known_bytes(void **state)
{
    (void)state;
    static const unsigned char want[] =
        "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d"
        "brain.Event:2\x86\xbf\x57\x7a"
        "\x1b\0\0\0\0\0\0\0\x1a\x0d\x9e\x13\x09\0\0\0\0\0\0\0\x40\x10\xac\x02\x2a\x0d\x0a\x0b\x0a"
        "\x04"
        "loss\x15\0\0\0\x3f\xdf\xc5\x2b\x60";
    struct hr_event_file events;
    size_t bytes;
    CHECK_OK(hr_event_file_open(&events, scratch("."), 1.0));
    hr_event_begin(&events, 2.0, 300);
    hr_event_scalar(&events, "loss", 0.5);
    hr_event_end(&events);
    CHECK_OK(hr_event_file_close(&events));
    unsigned char *got = read_events(&bytes);
    assert_int_equal(bytes, sizeof want - 1);
    assert_memory_equal(got, want, bytes);
    free(got);
}

/* --- a decoder of what is written here --- */

struct reader {
    const unsigned char *at, *end;
};

static uint64_t varint(struct reader *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; in->at < in->end; shift += 7) {
        value |= (uint64_t)(*in->at & 0x7f) << shift;
        if (!(*in->at++ & 0x80))
            break;
    }
    return value;
}

/* The next field of a message; part: its bytes where it has a length, else its number's. */
static unsigned next_field(struct reader *in, struct reader *part)
{
    const unsigned key = (unsigned)varint(in);
    const size_t bytes = key % 8 == 1 ? 8 : key % 8 == 5 ? 4 : key % 8 == 2 ? varint(in) : 0;
    part->at = in->at;
    if (key % 8 == 0)
        varint(in);
    in->at += bytes;
    part->end = in->at;
    return key / 8;
}

struct value {
    uint64_t step;
    char tag[40];
    float value;
    bool histogram, restart;
};

/* All values of all events, in order. */
static size_t read_values(const unsigned char *data, size_t bytes, struct value *out)
{
    size_t n = 0;
    for (const unsigned char *end = data + bytes; data < end;) {
        uint64_t length, step = 0;
        memcpy(&length, data, sizeof length);
        struct reader event = {data + 12, data + 12 + length}, part, summary = {NULL, NULL};
        while (event.at < event.end) {
            const unsigned field = next_field(&event, &part);
            if (field == 2)
                step = varint(&part);
            if (field == 5)
                summary = part;
            if (field == 7)
                out[n++] = (struct value){.step = step, .restart = true};
        }
        while (summary.at < summary.end) {
            struct value *it = &out[n++];
            *it = (struct value){.step = step};
            struct reader value, of;
            next_field(&summary, &value);
            while (value.at < value.end) {
                const unsigned field = next_field(&value, &of);
                if (field == 1)
                    memcpy(it->tag, of.at, (size_t)(of.end - of.at));
                if (field == 2)
                    memcpy(&it->value, of.at, 4);
                it->histogram |= field == 5;
            }
        }
        data += 16 + length;
    }
    return n;
}

static void tell(struct hr_board *board, size_t worker, uint64_t step, double loss)
{
    hr_board_step(board, &(struct hr_step_report){.worker = worker,
                                                  .step = step,
                                                  .epoch = 1,
                                                  .samples = step * 8,
                                                  .seconds = (double)step,
                                                  .batch = 4 + 4 * worker,
                                                  .loss = loss,
                                                  .lr = 0.5,
                                                  .norm = (double)NAN,
                                                  .staleness = (int64_t)worker});
}

/* Two workers share a step, of 4 and 8 samples; the second tells before the first. */
static void a_board_has_one_value_a_step(void **state)
{
    (void)state;
    struct hr_board board;
    struct value value[40];
    size_t bytes;
    const struct hr_run_info info = {.workers = 2, .resumed = true, .begins = 5};
    CHECK_OK(hr_board_open(&board, scratch("."), 1, &info));
    tell(&board, 1, 6, 1);
    tell(&board, 1, 7, 2);
    hr_board_flush(&board, 0); /* step 6 of the other may come */
    tell(&board, 0, 6, 4);
    tell(&board, 0, 7, 5);
    hr_board_point(&board,
                   &(struct hr_curve_point){
                       .step = 7, .samples = 60, .seconds = 8, .train_loss = 3, .test_loss = 2.5});
    CHECK_OK(hr_board_close(&board));
    unsigned char *data = read_events(&bytes);
    const size_t n = read_values(data, bytes, value);
    assert_int_equal(n, 11);
    assert_true(value[0].restart && value[0].step == 6);
    assert_true(value[1].step == 6 && value[3].step == 7);
    assert_string_equal(value[1].tag, "loss/train");
    CHECK_NEAR(value[1].value, (1 * 8 + 4 * 4) / 12.0, 1e-7, 0);
    CHECK_NEAR(value[3].value, (2 * 8 + 5 * 4) / 12.0, 1e-7, 0);
    assert_string_equal(value[2].tag, "lr");
    assert_string_equal(value[5].tag, "loss/train_epoch");
    assert_string_equal(value[6].tag, "loss/test");
    CHECK_NEAR(value[6].value, 2.5, 0, 0);
    assert_string_equal(value[8].tag, "throughput/samples_per_s");
    CHECK_NEAR(value[8].value, (60 - 48) / 2.0, 0, 0);
    assert_string_equal(value[9].tag, "staleness/mean");
    CHECK_NEAR(value[9].value, 0.5, 0, 0);
    assert_true(value[10].histogram && value[10].step == 7);
    free(data);
}

/* Whoever kills the run then: one that goes on from there does not make them again. */
static void a_save_has_its_steps_in_the_file(void **state)
{
    (void)state;
    struct hr_metrics metrics = {.begun = true};
    struct value value[40];
    size_t bytes;
    const struct hr_run_info info = {.workers = 2};
    CHECK_OK(hr_board_open(&metrics.board, scratch("."), 1, &info));
    tell(&metrics.board, 1, 1, 1);
    tell(&metrics.board, 1, 2, 2);
    tell(&metrics.board, 1, 3, 2);
    hr_metrics_saving(&metrics, 2);
    hr_metrics_writing(&metrics);
    unsigned char *data = read_events(&bytes);
    assert_int_equal(read_values(data, bytes, value), 4);
    assert_true(value[0].step == 1 && value[2].step == 2);
    free(data);
    CHECK_OK(hr_metrics_end(&metrics, NULL, NULL, 0));
}

/* Steps 3 and 5 were in somebody's hands when 6 was saved; the file before has all up to 8. */
static void a_run_that_goes_on_begins_behind_its_checkpoint(void **state)
{
    (void)state;
    const uint64_t redone[] = {5, 3};
    struct hr_board board;
    struct value value[80];
    size_t bytes;
    const struct hr_run_info first = {.workers = 1};
    const struct hr_run_info then = {
        .workers = 1, .resumed = true, .begins = 6, .redone = redone, .nredone = 2};
    CHECK_OK(hr_board_open(&board, scratch("."), 1, &first));
    for (uint64_t step = 1; step <= 8; step++)
        tell(&board, 0, step, (double)step);
    CHECK_OK(hr_board_close(&board));
    char old[300];
    the_event_file(old);
    CHECK_OK(hr_board_open(&board, scratch("."), 1, &then));
    assert_int_equal(unlink(scratch(old)), 0);
    tell(&board, 0, 3, 30);
    tell(&board, 0, 5, 50);
    tell(&board, 0, 4, 40); /* the file before has that */
    tell(&board, 0, 7, 70);
    CHECK_OK(hr_board_close(&board));
    unsigned char *data = read_events(&bytes);
    const size_t n = read_values(data, bytes, value);
    static const float want[][2] = {{3, 30}, {5, 50}, {7, 70}};
    assert_true(value[0].restart && value[0].step == 7);
    assert_int_equal(n, 1 + 2 * 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(value[1 + 2 * i].step, (uint64_t)want[i][0]);
        CHECK_NEAR(value[1 + 2 * i].value, want[i][1], 0, 0);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_have_their_known_bytes, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_board_has_one_value_a_step, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_save_has_its_steps_in_the_file, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_run_that_goes_on_begins_behind_its_checkpoint,
                                        scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
