#include "session/option_rows.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/printable.h"
#include "checkpoint/safetensors.h"

#define ROW(flag, type, use, field)                                                                \
    {                                                                                              \
        flag, HR_OPTION_##type, HR_##use, offsetof(struct hr_train_options, field),                \
            sizeof(((struct hr_train_options *)0)->field)                                          \
    }

static const struct hr_train_row rows[] = {
    ROW("strategy", TEXT, DECIDES, strategy),
    ROW("algorithm", TEXT, DECIDES, algorithm),
    ROW("model", TEXT, DECIDES, model),
    ROW("task", TEXT, DECIDES, task),
    ROW("loss", TEXT, DECIDES, loss),
    ROW("label-smoothing", NUMBER, DECIDES, label_smoothing),
    ROW("init-weights", TEXT, BEGINS, init_weights),
    ROW("launch", TEXT, DECIDES, launch),
    ROW("schedule", TEXT, AROUND, schedule),
    ROW("clock", TEXT, AROUND, clock),
    ROW("compute-time", TEXT, AROUND, compute_time),
    ROW("inject", TEXT, AROUND, inject),
    ROW("server-time", TEXT, AROUND, server_time),
    ROW("topology", TEXT, AROUND, topology),
    ROW("calibrate", TEXT, ONCE, calibrate),
    ROW("kernels", TEXT, DECIDES, kernels),
    ROW("workers", SIZE, DECIDES, workers),
    ROW("servers", SIZE, DECIDES, servers),
    ROW("staleness", COUNT, DECIDES, staleness),
    ROW("sync-every", SIZE, DECIDES, sync_every),
    ROW("adaptive-sync", TRUTH, DECIDES, adaptive_sync),
    ROW("moving-rate", NUMBER, DECIDES, moving_rate),
    ROW("backups", SIZE, DECIDES, backups),
    ROW("staleness-lr", TEXT, DECIDES, staleness_lr),
    ROW("delay-compensation", NUMBER, DECIDES, delay_compensation),
    ROW("batch-size", SIZE, DECIDES, batch_size),
    ROW("global-batch-size", SIZE, DECIDES, global_batch_size),
    ROW("overlap", TEXT, DECIDES, overlap),
    ROW("bucket-size", TEXT, DECIDES, bucket_size),
    ROW("transport", TEXT, AROUND, transport),
    ROW("link", TEXT, AROUND, link),
    ROW("reduce", TEXT, DECIDES, reduce),
    ROW("micro-shards", SIZE, DECIDES, micro_shards),
    ROW("threads-per-worker", SIZE, AROUND, threads_per_worker),
    ROW("epochs", SIZE, DECIDES, epochs),
    ROW("epoch-size", SIZE, DECIDES, epoch_size),
    ROW("augment", TEXT, DECIDES, augment),
    ROW("normalize", TRUTH, DECIDES, normalize),
    ROW("prefetch", SIZE, AROUND, prefetch),
    ROW("optimizer", TEXT, DECIDES, optimizer),
    ROW("lr", NUMBER, DECIDES, lr),
    ROW("momentum", NUMBER, DECIDES, momentum),
    ROW("nesterov", TRUTH, DECIDES, nesterov),
    ROW("beta1", NUMBER, DECIDES, beta1),
    ROW("beta2", NUMBER, DECIDES, beta2),
    ROW("eps", NUMBER, DECIDES, eps),
    ROW("weight-decay", NUMBER, DECIDES, weight_decay),
    ROW("trust-coefficient", NUMBER, DECIDES, trust_coefficient),
    ROW("clip-norm", NUMBER, DECIDES, clip_norm),
    ROW("lr-schedule", TEXT, DECIDES, lr_schedule),
    ROW("warmup-epochs", NUMBER, DECIDES, warmup_epochs),
    ROW("lr-step-epochs", NUMBER, DECIDES, lr_step_epochs),
    ROW("lr-gamma", NUMBER, DECIDES, lr_gamma),
    ROW("scale-lr", TEXT, DECIDES, scale_lr),
    ROW("base-batch-size", SIZE, DECIDES, base_batch_size),
    ROW("async-lr", TEXT, DECIDES, async_lr),
    ROW("seed", COUNT, DECIDES, seed),
    ROW("max-steps", COUNT, BEGINS, max_steps),
    ROW("max-seconds", NUMBER, ONCE, max_seconds),
    ROW("timeout", NUMBER, ONCE, timeout),
    ROW("target-accuracy", NUMBER, AROUND, target_accuracy),
    ROW("checkpoint-dir", TEXT, ONCE, checkpoint_dir),
    ROW("checkpoint-every", COUNT, DECIDES, checkpoint_every),
    ROW("keep", SIZE, AROUND, keep),
    ROW("overwrite", TRUTH, ONCE, overwrite),
    ROW("resume", TEXT, BEGINS, resume),
    ROW("record", TEXT, ONCE, record),
    ROW("record-block", TEXT, DECIDES, record_block),
    ROW("ranks-beside", SIZE, ONCE, ranks_beside),
    ROW("solver", TEXT, SPARSE, solver),
    ROW("cost", NUMBER, SPARSE, cost),
    ROW("factors", SIZE, SPARSE, factors),
    ROW("hot-copies", SIZE, SPARSE, hot_copies),
};

enum { NROWS = sizeof rows / sizeof *rows };

const struct hr_train_row *hr_train_row_at(size_t i)
{
    return i < NROWS ? &rows[i] : NULL;
}

static bool decides(const struct hr_train_row *row)
{
    return row->use == HR_DECIDES || row->use == HR_BEGINS;
}

bool hr_train_row_is_kept(const struct hr_train_row *row)
{
    return row->use == HR_DECIDES || row->use == HR_AROUND;
}

/* --- to text --- */

/* The shortest that reads back as the same number: 0.05, not 0.050000000000000003. */
static void write_number(double number, char *text, size_t size)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, number);
        const double read = strtod(text, NULL);
        if (!memcmp(&read, &number, sizeof number))
            return;
    }
}

void hr_train_row_text(const void *options, const struct hr_train_row *row, char *text, size_t size)
{
    const void *field = (const char *)options + row->offset;
    switch (row->type) {
    case HR_OPTION_TEXT:
        snprintf(text, size, "%s", (const char *)field);
        break;
    case HR_OPTION_SIZE:
        snprintf(text, size, "%zu", *(const size_t *)field);
        break;
    case HR_OPTION_COUNT:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)field);
        break;
    case HR_OPTION_NUMBER:
        write_number(*(const double *)field, text, size);
        break;
    case HR_OPTION_TRUTH:
        snprintf(text, size, "%s", *(const bool *)field ? "on" : "off");
        break;
    }
}

/* --- to JSON --- */

static json_t *count_json(uint64_t n)
{
    return n <= INT64_MAX ? json_integer((json_int_t)n)
                          : json_sprintf("%llu", (unsigned long long)n);
}

static json_t *value_json(const struct hr_train_options *options, const struct hr_train_row *row)
{
    const void *field = (const char *)options + row->offset;
    switch (row->type) {
    case HR_OPTION_TEXT:
        return json_string(field);
    case HR_OPTION_SIZE:
        return count_json(*(const size_t *)field);
    case HR_OPTION_COUNT:
        return count_json(*(const uint64_t *)field);
    case HR_OPTION_NUMBER:
        return json_real(*(const double *)field);
    case HR_OPTION_TRUTH:
        return json_boolean(*(const bool *)field);
    }
    return NULL;
}

json_t *hr_train_options_json(const struct hr_train_options *options)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < NROWS; i++) {
        if (!decides(&rows[i]))
            continue;
        if (json_object_set_new(object, rows[i].flag, value_json(options, &rows[i])) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* --- from JSON --- */

static bool read_count(const json_t *value, uint64_t *out)
{
    if (json_is_string(value))
        return hr_parse_count(json_string_value(value), out);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_text(const json_t *value, char *field, size_t size)
{
    if (!json_is_string(value) || json_string_length(value) >= size ||
        strlen(json_string_value(value)) != json_string_length(value))
        return false;
    snprintf(field, size, "%s", json_string_value(value));
    return true;
}

static bool read_value(const json_t *value, const struct hr_train_row *row, void *field)
{
    uint64_t count;
    switch (row->type) {
    case HR_OPTION_TEXT:
        return read_text(value, field, row->size);
    case HR_OPTION_SIZE:
    case HR_OPTION_COUNT:
        if (!read_count(value, &count))
            return false;
        if (row->type == HR_OPTION_SIZE)
            *(size_t *)field = count;
        else
            *(uint64_t *)field = count;
        return true;
    case HR_OPTION_NUMBER:
        if (json_is_number(value))
            *(double *)field = json_number_value(value);
        return json_is_number(value);
    case HR_OPTION_TRUTH:
        if (json_is_boolean(value))
            *(bool *)field = json_is_true(value);
        return json_is_boolean(value);
    }
    return false;
}

static const struct hr_train_row *find(const char *flag)
{
    for (size_t i = 0; i < NROWS; i++)
        if (!strcmp(rows[i].flag, flag) && decides(&rows[i]))
            return &rows[i];
    return NULL;
}

enum hr_status hr_train_options_from_json(const json_t *object, struct hr_train_options *options)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return hr_fail(HR_E_FORMAT, "\"options\" is missing, or no object");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct hr_train_row *row = find(name);
        if (!row)
            return hr_fail(HR_E_FORMAT, "option \"%s\" is not known", hr_printable(name).text);
        if (!read_value(value, row, (char *)options + row->offset))
            return hr_fail(HR_E_FORMAT, "option \"%s\" has no fitting value", name);
    }
    return HR_OK;
}
