/* The JSON document of hogring bench, parsed back. */
#include <math.h>

#include "bench/bench.h"
#include "json/value.h"
#include "support/check.h"
#include "support/json_file.h"

static void bench_rows_have_every_field(void **state)
{
    (void)state;
    static const struct field fields[] = {{"op", "\"allreduce\""},
                                          {"algorithm", "\"ring\""},
                                          {"transport", "\"copy\""},
                                          {"launch", "\"thread\""},
                                          {"type", "\"float32\""},
                                          {"redop", "\"sum\""},
                                          {"buffers", "\"arena\""},
                                          {"loop", "\"barrier\""},
                                          {"bytes", "4096"},
                                          {"count", "1024"},
                                          {"ranks", "2"},
                                          {"time_us", "{\"p10\":1.5,\"p50\":2.5,\"p90\":null}"},
                                          {"algbw_gbs", "4.5"},
                                          {"busbw_gbs", "5.5"},
                                          {"wrong", "6"}};
    const struct hr_bench_row row = {.op = "allreduce",
                                     .algorithm = "ring",
                                     .transport = "copy",
                                     .launch = "thread",
                                     .type = "float32",
                                     .redop = "sum",
                                     .buffers = "arena",
                                     .loop = "barrier",
                                     .bytes = 4096,
                                     .count = 1024,
                                     .ranks = 2,
                                     .p10_us = 1.5,
                                     .p50_us = 2.5,
                                     .p90_us = NAN,
                                     .algbw_gbs = 4.5,
                                     .busbw_gbs = 5.5,
                                     .wrong = 6};
    static const struct field calibrated[] = {{"handoff_us", "4.5"}, {"message_ns", "null"},
                                              {"threads", "2"},      {"memory_gbs", "40.0"},
                                              {"l2_bytes", "0"},     {"l3_bytes", "0"}};
    const struct hr_machine_speed calibration = {
        .handoff_us = 4.5, .message_ns = NAN, .threads = 2, .memory_gbs = 40};
    CHECK_OK(hr_json_write(json_file_path, hr_json_rows(&calibration, &row, 1)));
    json_t *document = json_load_file(json_file_path, 0, NULL);
    EXPECT_FIELDS(json_array_get(json_object_get(document, "rows"), 0), fields);
    EXPECT_FIELDS(json_object_get(document, "calibration"), calibrated);
    assert_int_equal(json_object_size(document), 6);
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bench_rows_have_every_field, json_file_setup,
                                        json_file_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
