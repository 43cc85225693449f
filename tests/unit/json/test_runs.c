/* The JSON document, parsed back: every field of a run by name and value. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/documents.h"
#include "json/value.h"
#include "support/capture.h"
#include "support/check.h"
#include "support/json_file.h"
#include "support/sample_runs.h"

static const struct hr_train_options options = {.strategy = "ssp"};
static const struct hr_dataset dataset = {.name = "digits"};

static struct hr_curve_point points[] = {
    {.samples = 640,
     .seconds = 0.1,
     .epoch = 0.5,
     .train_loss = 1.1,
     .test_loss = 1.2,
     .test_accuracy = 0.6,
     .fit = {.balanced_accuracy = 0.5, .macro_f1 = 0.25, .roc_auc = NAN}},
    {.samples = 1280,
     .seconds = 0.2,
     .epoch = 1,
     .train_loss = NAN,
     .test_loss = INFINITY,
     .test_accuracy = NAN,
     .validated = true,
     .validation_loss = 1.5,
     .validation_accuracy = 0.1,
     .values = true,
     .fit = {.rmse = 3, .mae = 2, .r2 = NAN}}};

static uint64_t counts[] = {1, 3, 0, 0, 0, 0, 2};
static struct hr_staleness parts[] = {
    {.updates = 4, .sum = 3, .max = 1, .first = 0, .n = 2},
    {.name = "1.bias", .updates = 2, .sum = 8, .max = 4, .first = 2, .n = 5},
};
static uint64_t dropped_by[] = {4, 1};
static struct hr_worker_time times[] = {{0.125, 0.75, 0.25, 0.0625}, {0.5, 0.75, 0, 0.25}};
static struct hr_waited_for waited_for[] = {
    {.stage = 0}, {0.25, 0.03125, 0.0625, 0.125, 0.0078125, 0.015625, 0.0078125, 1}};
static double waited[] = {0, 0.25, 0, 0};
static struct hr_loss losses[] = {
    {.rank = 0,
     .step = 100,
     .seconds = 0.5,
     .pause_s = 0.125,
     .lost_samples = 32,
     .again_samples = 16,
     .partial = 1,
     .back = true,
     .how = "killed"},
    {.server = true,
     .rolled_back = true,
     .rank = 2,
     .seconds = 1.25,
     .pause_s = -1,
     .lost_samples = 8,
     .how = "gone",
     .host = "m1"},
};

static struct hr_stage_span span = {1, 3, 0, 'F', 0.25, 0.5};
static struct hr_stage_report stages[] = {
    {"0 to 2", 500, 0.75, 1.5, 0.25, 4096, 2, 0.125, 1, 0, 1},
    {"3 to 5", 150, 0.25, 0.5, NAN, 2048, 1, 0, 0, 0, 1},
};

static struct hr_step_digest digests[] = {
    {4, 255, "0.weight"}, {4, 1, "0.bias"}, {8, 0, "0.weight"}};

static struct hr_machine_report machines[] = {{"node-a", 0, 3, 1, 8, "v4", 0, 0},
                                              {"node-b", 3, 3, 0, 4, "v3", -0.5, 0.125}};

static struct hr_tensor_layer split[] = {{"1", "dense 9", "by columns"}};

static struct hr_run_result full_run(void)
{
    struct hr_run_result run = sample_run("ssp", 7, 1.0 / 3);
    run.test_samples = 359;
    run.frozen_params = 64;
    run.saves = (struct hr_saves){3, 1, 0.125, 0.25, 0.5};
    run.stale_updates = 100, run.stale_sum = 65;
    run.stale_max = 7;
    run.stale[0] = 60;
    run.stale[1] = 38;
    run.stale[3] = run.stale[7] = 1;
    run.nstale_workers = run.nstale_keys = 1;
    run.stale_parts = parts;
    run.stale_counts = counts;
    run.asynchrony = (struct hr_asynchrony){0.125, 0.5, 0.75, 0.875, false};
    run.watched_lines = 100, run.watched_pairs = 800, run.lost_pairs = 400;
    run.max_skew = 5;
    run.waited_for_others_s = 0.25, run.stalled_s = 0.125;
    run.nwaited = 2, run.waited_for = waited_for, run.waited_s = waited;
    run.dropped = 5, run.dropped_samples = 80;
    run.dropped_by = dropped_by, run.ndropped_by = 2;
    snprintf(run.manner, sizeof run.manner, "sync-every 4");
    snprintf(run.setting, sizeof run.setting, "model cnn");
    snprintf(run.cure, sizeof run.cure, "the step");
    run.first_samples = 64;
    run.first_loss = 4;
    run.threads_per_worker = 2;
    run.micro_shards = 8;
    run.repro_cost = 1.25;
    run.load_s = 0.125;
    run.nworker_times = 2, run.worker_time = times;
    run.prefetch_hits = 40, run.prefetch_misses = 2;
    run.losses = losses, run.nlosses = 2, run.restarts = 1;
    run.resent = 7, run.duplicates = 3;
    run.pipeline = (struct hr_pipeline_report){
        2,  4, 1, "1f1b", 0.25, 0.2, 6144, true, 40, 3, stages, 1, &span, {true, 300, 700, 0.125},
        NAN};
    run.tensor = (struct hr_tensor_report){4, 2, 512, 1, split};
    run.target_seconds = 0.75;
    run.bytes_sent = 1ull << 40;
    run.bytes_uncompressed = 1ull << 41;
    run.bytes_received = 12, run.wall_s = 2.5;
    run.resumed = true, run.resumed_step = 40;
    run.past_samples = 1000, run.past_updates = 40, run.past_seconds = 0.5;
    snprintf(run.clock, sizeof run.clock, "virtual");
    run.curve = points, run.ncurve = 2;
    run.validation_samples = 288;
    run.validation_loss = 1.5, run.validation_accuracy = 0.75;
    run.targets = 1, run.nmachines = 2, run.machines = machines;
    run.node_step = (struct hr_node_step){2, 0.5, 4, 0.25, 0.125, 1, 0.0625, 2};
    run.cpu_s = 3.25, run.repeats = true;
    run.digests = digests, run.ndigests = 3;
    run.test_fit = (struct hr_fit){.rmse = 4, .mae = 3, .r2 = 0.5};
    run.validation_fit = (struct hr_fit){.rmse = 3, .mae = 2, .r2 = NAN};
    run.test_evaluations = 1;
    run.best = (struct hr_best_evaluation){
        .metric = "loss", .value = 1.5, .epoch = 2, .restored = true, .ended = 3};
    snprintf(run.weights_digest, sizeof run.weights_digest, "0123456789abcdef0123456789abcdef");
    run.conflicts = (struct hr_conflicts){411, 0.75, 0.5, 0.125, 3, 900};
    snprintf(run.checkpoint, sizeof run.checkpoint, "ck/step-00000460");
    return run;
}

static json_t *write_and_read(const struct hr_run_result *runs, size_t n)
{
    json_error_t error;
    CHECK_OK(
        hr_json_write(json_file_path, hr_json_runs(&options, &dataset,
                                                   &(struct hr_endings){.runs = runs, .n = n})));
    json_t *document = json_load_file(json_file_path, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        fail_msg("%s:%d: %s", json_file_path, error.line, error.text);
    return document;
}

static const struct field run_fields[] = {
    {"label", "\"ssp s=3\""},
    {"warnings",
     "[\"ssp s=3: the training loss ended at 0.1250, above the 0.0625 it began with; try "
     "first: the step\"]"},
    {"strategy", "\"ssp\""},
    {"algorithm", "null"},
    {"manner", "\"sync-every 4\""},
    {"setting", "\"model cnn\""},
    {"divergence", "{\"first_loss\":0.0625,\"first_epoch_loss\":1.1000000000000001,\"rose\":true,"
                   "\"diverged\":false,\"cure\":\"the step\"}"},
    {"optimizer", "\"lamb\""},
    {"loss_function", "\"cross-entropy\""},
    {"order", "\"as gradients arrive\""},
    {"launch", "\"thread\""},
    {"placement", "\"colocated\""},
    {"kernels", "\"OpenBLAS 0.3.21 Haswell\""},
    {"precision", "\"bf16\""},
    {"model", "\"flatten, dense 10\""},
    {"params", "650"},
    {"frozen_params", "64"},
    {"saves", "{\"written\":3,\"failed\":1,\"rest_seconds\":0.125,\"copy_seconds\":0.25,"
              "\"write_seconds\":0.5}"},
    {"pipeline", "{\"schedule\":\"1f1b\",\"micro_batches\":4,\"chunks\":1,\"bubble\":0.25,"
                 "\"bubble_formula\":0.20000000000000001,\"bytes\":6144,"
                 "\"recompute\":{\"activation_bytes\":300,\"activation_bytes_without\":700,"
                 "\"madds_share\":0.125,\"compute_seconds_without\":null},"
                 "\"staleness\":{\"gradients\":40,\"filling\":3},\"stages\":["
                 "{\"layers\":\"0 to 2\",\"params\":500,\"madds_share\":0.75,\"busy_seconds\":1.5,"
                 "\"wait_seconds\":0.25,\"bytes\":4096,\"peak_micro_batches\":2,"
                 "\"recompute_seconds\":0.125,"
                 "\"staleness\":{\"forward\":1.0,\"backward\":0.0,\"versions\":1}},"
                 "{\"layers\":\"3 to 5\",\"params\":150,\"madds_share\":0.25,\"busy_seconds\":0.5,"
                 "\"wait_seconds\":null,\"bytes\":2048,\"peak_micro_batches\":1,"
                 "\"recompute_seconds\":0.0,"
                 "\"staleness\":{\"forward\":0.0,\"backward\":0.0,\"versions\":1}}],\"step\":[[1,"
                 "\"F\",3,0,0.25,0.5]]}"},
    {"tensor", "{\"shards\":4,\"ranks\":2,\"bytes\":512,\"layers\":[{\"layer\":\"1\",\"text\":"
               "\"dense 9\",\"cut\":\"by columns\"}]}"},
    {"machines", "[{\"host\":\"node-a\",\"first_worker\":0,\"workers\":3,\"servers\":1,"
                 "\"processors\":8,\"isa\":\"v4\",\"clock_offset_seconds\":0.0,"
                 "\"clock_error_seconds\":0.0},"
                 "{\"host\":\"node-b\",\"first_worker\":3,\"workers\":3,\"servers\":0,"
                 "\"processors\":4,\"isa\":\"v3\",\"clock_offset_seconds\":-0.5,"
                 "\"clock_error_seconds\":0.125}]"},
    {"node_step", "{\"workers\":2,\"load\":0.5,\"compute\":4.0,\"aggregate\":0.25,\"push\":0.125,"
                  "\"update\":1.0,\"distribute\":0.0625,\"rest\":2.0}"},
    {"workers", "2"},
    {"servers", "1"},
    {"batch_size", "32"},
    {"global_batch", "64"},
    {"seed", "7"},
    {"event_order", "null"},
    {"staleness_bound", "3"},
    {"lr", "0.050000000000000003"},
    {"threads_per_worker", "2"},
    {"micro_shards", "8"},
    {"repro_cost", "1.25"},
    {"steps", "460"},
    {"updates", "460"},
    {"applied", "null"},
    {"samples", "14700"},
    {"seconds", "1.5"},
    {"samples_per_s", "9800.0"},
    {"tokens_per_s", "null"},
    {"train_loss", "0.125"},
    {"test_samples", "359"},
    {"test_loss", "0.25"},
    {"test_accuracy", "0.33333333333333331"},
    {"test_fit", "{\"rmse\":4.0,\"mae\":3.0,\"r2\":0.5}"},
    {"targets", "1"},
    {"tokens", "null"},
    {"test_text", "null"},
    {"validation_text", "null"},
    {"target_seconds", "0.75"},
    {"max_skew", "5"},
    {"weights_digest", "\"0123456789abcdef0123456789abcdef\""},
    {"checkpoint", "\"ck/step-00000460\""},
    {"clock", "\"virtual\""},
    {"cpu_seconds", "3.25"},
    {"repeats", "true"},
    {"step_digests", "[{\"step\":4,\"parts\":{\"0.weight\":\"00000000000000ff\",\"0.bias\":"
                     "\"0000000000000001\"}},{\"step\":8,\"parts\":{\"0.weight\":"
                     "\"0000000000000000\"}}]"},
    {"wall_seconds", "2.5"},
    {"recorded_digest", "null"},
    {"trace", "null"},
    {"record_cost", "null"},
    {"resumed_step", "40"},
    {"total_samples", "15700"},
    {"total_updates", "500"},
    {"total_seconds", "2.0"},
    {"interrupted", "false"},
    {"classes", "null"},
    {"conflicts", "{\"omega\":411,\"delta\":0.75,\"rho\":0.5,\"overlap\":0.125,"
                  "\"lost_sampled\":3,\"writes_sampled\":900}"},
    {"staleness", "{\"mean\":0.65000000000000002,\"p50\":0,\"p99\":3,\"max\":7,"
                  "\"histogram\":[60,38,0,1,0,0,0,1],\"exact_below\":4095,\"workers\":["
                  "{\"mean\":0.75,\"p50\":1,\"p99\":1,\"max\":1,\"histogram\":[1,3],"
                  "\"rank\":0,\"updates\":4}],\"keys\":["
                  "{\"mean\":4.0,\"p50\":4,\"p99\":4,\"max\":4,\"histogram\":[0,0,0,0,2],"
                  "\"name\":\"1.bias\",\"updates\":2}]}"},
    {"dropped", "{\"gradients\":5,\"samples\":80,\"by_worker\":[4,1]}"},
    {"resent", "7"},
    {"duplicates", "3"},
    {"asynchrony", "{\"effective_lr\":0.125,\"explicit_momentum\":0.5,\"implicit_momentum\":0.75,"
                   "\"total_momentum\":0.875}"},
    {"lost_updates", "{\"sampled_lines\":100,\"sampled_pairs\":800,\"lost_pairs\":400,"
                     "\"fraction\":0.5,\"low\":0.40383153036599562,"
                     "\"high\":0.59616846963400438}"},
    {"time", "{\"load\":0.125,\"compute\":2.1000000000000001,\"communicate\":0.29999999999999999,"
             "\"wait\":0.45000000000000001,\"forward\":0.5,\"backward\":0.75,"
             "\"absent\":0.3125,\"workers\":["
             "{\"load\":0.125,\"compute\":0.75,\"communicate\":0.25,\"wait\":0.0625,"
             "\"absent\":0.3125},"
             "{\"load\":0.5,\"compute\":0.75,\"communicate\":0.0,\"wait\":0.25,"
             "\"absent\":0.0}]}"},
    {"waiting", "{\"for_others\":0.25,\"stalled\":0.125,\"otherwise\":0.075000000000000011,"
                "\"by_rank\":[{\"rank\":0,\"cost_s\":0.0,\"share\":0.0,\"load\":0.0,"
                "\"compute\":0.0,\"stalled\":0.0,\"preempted\":0.0,\"communicate\":0.0,"
                "\"wait\":0.0,\"stage\":0,\"dropped\":4},"
                "{\"rank\":1,\"cost_s\":0.25,\"share\":1.0,\"load\":0.03125,\"compute\":0.0625,"
                "\"stalled\":0.125,\"preempted\":0.0078125,\"communicate\":0.015625,"
                "\"wait\":0.0078125,\"stage\":1,\"dropped\":1}],"
                "\"matrix\":[[0.0,0.25],[0.0,0.0]]}"},
    {"losses",
     "[{\"rank\":0,\"server\":false,\"host\":null,\"step\":100,\"seconds\":0.5,"
     "\"pause_s\":0.125,"
     "\"samples_lost\":32,\"samples_again\":16,\"partial\":1,\"back\":true,\"followed\":null,"
     "\"how\":\"killed\"},"
     "{\"rank\":2,\"server\":true,\"host\":\"m1\",\"step\":0,\"seconds\":1.25,\"pause_s\":null,"
     "\"samples_lost\":8,\"samples_again\":0,\"partial\":0,\"back\":false,\"followed\":"
     "\"rollback\","
     "\"how\":\"gone\"}]"},
    {"restarts", "1"},
    {"samples_lost", "40"},
    {"prefetch", "{\"hits\":40,\"misses\":2}"},
    {"bytes", "{\"sent\":1099511627776,\"received\":12,\"uncompressed\":2199023255552}"},
    {"curve",
     "[{\"samples\":640,\"seconds\":0.10000000000000001,\"epoch\":0.5,"
     "\"train_loss\":1.1000000000000001,\"test_loss\":1.2,\"test_accuracy\":"
     "0.59999999999999998,\"validation_loss\":null,\"validation_accuracy\":null,"
     "\"test_fit\":null,\"validation_fit\":null,\"test_scores\":{\"balanced_accuracy\":0.5,"
     "\"macro_f1\":0.25,\"roc_auc\":null},\"validation_scores\":null,"
     "\"test_text\":null,\"validation_text\":null},"
     "{\"samples\":1280,\"seconds\":0.20000000000000001,\"epoch\":1.0,"
     "\"train_loss\":null,\"test_loss\":null,\"test_accuracy\":null,"
     "\"validation_loss\":1.5,\"validation_accuracy\":0.10000000000000001,"
     "\"test_fit\":null,\"validation_fit\":{\"rmse\":3.0,\"mae\":2.0,\"r2\":null},"
     "\"test_scores\":null,\"validation_scores\":null,\"test_text\":null,"
     "\"validation_text\":null}]"},
    {"test_scores", "null"},
    {"validation_scores", "null"},
    {"validation_samples", "288"},
    {"validation_loss", "1.5"},
    {"validation_accuracy", "0.75"},
    {"validation_fit", "{\"rmse\":3.0,\"mae\":2.0,\"r2\":null}"},
    {"test_evaluations", "1"},
    {"at_chance", "null"},
    {"best", "{\"metric\":\"loss\",\"value\":1.5,\"epoch\":2.0,\"restored\":true,"
             "\"stopped\":false,\"ended\":3.0,\"checkpoint\":null}"},
};

static void a_run_has_every_field(void **state)
{
    (void)state;
    const struct hr_run_result run = full_run();
    json_t *document = write_and_read(&run, 1);
    expect_values(json_array_get(json_object_get(document, "runs"), 0), run_fields,
                  sizeof run_fields / sizeof *run_fields); /* their number: the test below */
    json_decref(document);
}

/* Is a value what the row's kind makes; null stands for what there is not. */
static bool is_of_kind(const struct hr_field *row, const json_t *value)
{
    switch (row->kind) {
    case HR_FIELD_TEXT:
    case HR_FIELD_TEXT_AT:
        return json_is_string(value) || json_is_null(value);
    case HR_FIELD_COUNT:
    case HR_FIELD_LONG:
        return json_is_integer(value) || json_is_null(value);
    case HR_FIELD_NUMBER:
        return json_is_real(value) || json_is_null(value);
    case HR_FIELD_FLAG:
        return json_is_boolean(value);
    case HR_FIELD_OBJECT:
        return json_is_object(value) ? json_object_size(value) == row->nrows : json_is_null(value);
    case HR_FIELD_LIST:
        return json_is_array(value);
    case HR_FIELD_MADE:
        return value != NULL;
    }
    return false;
}

/* One row is enough: the document, the log and the help have what stands in the table. */
static void every_row_of_the_table_is_in_document_log_and_help(void **state)
{
    (void)state;
    const struct hr_run_result run = full_run();
    json_t *document = write_and_read(&run, 1), *log;
    const json_t *object = json_array_get(json_object_get(document, "runs"), 0);
    struct capture capture;
    size_t keys = 0, logged = 0;
    capture_begin(&capture);
    hr_results_describe(capture.out, "run");
    hr_results_describe(capture.out, "end");
    char *told = capture_end(&capture);
    log = hr_fields_log(hr_result_rows, hr_result_nrows, &run, NULL);
    for (size_t i = 0; i < hr_result_nrows; i++) {
        const struct hr_field *row = &hr_result_rows[i];
        if (row->log && ++logged && (!json_object_get(log, row->log) || !strstr(told, row->log)))
            fail_msg("%s is not in the log, or not told", row->log);
        if (!row->name)
            continue;
        keys++;
        if (!is_of_kind(row, json_object_get(object, row->name)))
            fail_msg("%s is not in the document, or of another type", row->name);
        if (!strstr(told, row->name) || (i + 1 == hr_result_nrows && !row->meaning))
            fail_msg("%s is not told", row->name);
    }
    assert_int_equal(json_object_size(object), keys);
    assert_int_equal(json_object_size(log), logged);
    free(told);
    json_decref(log);
    json_decref(document);
}

static void what_there_is_not_is_null(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.5), sample_run("hogwild", 1, 0.5)};
    runs[0].test_loss = NAN;
    runs[0].lr = -INFINITY;
    runs[0].interrupted = true;
    json_t *document = write_and_read(runs, 2);
    const json_t *run = json_array_get(json_object_get(document, "runs"), 0);
    static const char *const nulls[] = {
        "test_loss",      "lr",        "target_seconds", "checkpoint", "staleness_bound",
        "weights_digest", "conflicts", "lost_updates",   "machines",   "node_step"};
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        assert_true(json_is_null(json_object_get(run, nulls[i])));
    assert_true(json_is_true(json_object_get(run, "interrupted")));
    assert_int_equal(json_array_size(json_object_get(run, "losses")), 0);
    assert_true(json_is_array(json_object_get(run, "losses")));
    assert_string_equal(json_string_value(json_object_get(run, "algorithm")), "direct");
    static const struct field nothing[] = {
        {"mean", "null"},  {"p50", "null"},     {"p99", "null"},         {"max", "0"},
        {"workers", "[]"}, {"histogram", "[]"}, {"exact_below", "4095"}, {"keys", "[]"}};
    EXPECT_FIELDS(json_object_get(run, "staleness"), nothing);
    json_decref(document);
}

static void a_full_histogram_keeps_its_last_bucket(void **state)
{
    (void)state;
    struct hr_run_result run = full_run();
    run.stale[HR_RESULT_STALENESS_BUCKETS - 1] = 1000;
    json_t *document = write_and_read(&run, 1);
    const json_t *staleness =
        json_object_get(json_array_get(json_object_get(document, "runs"), 0), "staleness");
    assert_int_equal(json_array_size(json_object_get(staleness, "histogram")),
                     HR_RESULT_STALENESS_BUCKETS);
    assert_int_equal(json_integer_value(json_object_get(staleness, "p50")),
                     HR_RESULT_STALENESS_BUCKETS - 1);
    json_decref(document);
}

static void doubles_survive_the_round_trip(void **state)
{
    static const double values[] = {
        1.0 / 3, 0.1, 1e-308, 5e-324, 1.7976931348623157e308, 123456789.123456789};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct hr_run_result run = sample_run("ssp", 1, values[i]);
        json_t *document = write_and_read(&run, 1);
        const json_t *read =
            json_object_get(json_array_get(json_object_get(document, "runs"), 0), "test_accuracy");
        assert_true(json_real_value(read) == values[i]);
        json_decref(document);
    }
}

static void odd_texts_and_huge_seeds_make_valid_json(void **state)
{
    (void)state;
    struct hr_run_result run = sample_run("ssp", UINT64_MAX, 0.5);
    snprintf(run.checkpoint, sizeof run.checkpoint, "d\xff\"\\\n/x");
    json_t *document = write_and_read(&run, 1);
    const json_t *read = json_array_get(json_object_get(document, "runs"), 0);
    assert_string_equal(json_string_value(json_object_get(read, "checkpoint")), "d\\xFF\"\\\n/x");
    assert_string_equal(json_string_value(json_object_get(read, "seed")), "18446744073709551615");
    json_decref(document);
}

static void the_machine_is_described(void **state)
{
    (void)state;
    json_t *document = write_and_read(NULL, 0);
    const json_t *machine = json_object_get(document, "machine");
    assert_string_equal(json_string_value(json_object_get(document, "hogring")), HR_VERSION);
    assert_true(json_integer_value(json_object_get(machine, "processors")) >= 1);
    assert_true(json_integer_value(json_object_get(machine, "memory_bytes")) > 1 << 20);
    static const char *const texts[] = {"isa", "architecture", "kernel", "os"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(json_string_length(json_object_get(machine, texts[i])) > 0);
    assert_non_null(json_object_get(machine, "cpu"));
    assert_int_equal(json_object_size(machine), 7);
    json_decref(document);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, json_file_setup, json_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(every_row_of_the_table_is_in_document_log_and_help),
        IN_FOLDER(a_run_has_every_field),
        IN_FOLDER(what_there_is_not_is_null),
        IN_FOLDER(a_full_histogram_keeps_its_last_bucket),
        IN_FOLDER(doubles_survive_the_round_trip),
        IN_FOLDER(odd_texts_and_huge_seeds_make_valid_json),
        IN_FOLDER(the_machine_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
