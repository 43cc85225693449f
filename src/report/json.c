/* Results for programs. Fields are only ever added; what is not finite is null, since JSON has no
 * NaN. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/isa.h"
#include "report/json_write.h"
#include "report/report.h"
#include "report/stats.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* Text, or null where it is empty. */
static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

/* --- machine --- */

static void cpu_model(char *model, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(model, size, "unknown");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %255[^\n]", line) == 1) {
            snprintf(model, size, "%s", line);
            break;
        }
    if (file)
        fclose(file);
}

static json_t *machine_json(void)
{
    char model[256];
    struct utsname system = {0};
    uname(&system);
    cpu_model(model, sizeof model);
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:s, s:s}", "cpu", model, "architecture",
                     system.machine, "processors", count(hr_cpus_allowed()), "vector_kernels",
                     hr_isa_name(), "memory_bytes", count(memory), "os", system.sysname, "kernel",
                     system.release);
}

/* --- configuration --- */

static json_t *data_json(const struct hr_dataset *data)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", data->name, "digest", data->digest,
                     "train", count(data->train.count), "test", count(data->test.count), "classes",
                     count(data->classes));
}

static json_t *config_json(const struct hr_train_options *o, const struct hr_dataset *data)
{
    json_t *config =
        json_pack("{s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "data", data_json(data), "model",
                  o->model, "algorithm", o->algorithm, "launch", o->launch, "schedule", o->schedule,
                  "kernels", o->kernels, "lr-schedule", o->lr_schedule, "async-lr", o->async_lr);
    const struct {
        const char *name;
        json_t *value;
    } rest[] = {
        {"workers", count(o->workers)},
        {"servers", count(o->servers)},
        {"staleness", count(o->staleness)},
        {"batch-size", count(o->batch_size)},
        {"epochs", count(o->epochs)},
        {"seed", count(o->seed)},
        {"max-steps", count(o->max_steps)},
        {"checkpoint-every", count(o->checkpoint_every)},
        {"keep", count(o->keep)},
        {"lr", number(o->lr)},
        {"momentum", number(o->momentum)},
        {"weight-decay", number(o->weight_decay)},
        {"warmup-epochs", number(o->warmup_epochs)},
        {"max-seconds", number(o->max_seconds)},
        {"timeout", number(o->timeout)},
        {"target-accuracy", number(o->target_accuracy)},
        {"checkpoint-dir", text_or_null(o->checkpoint_dir)},
        {"resume", text_or_null(o->resume)},
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        json_object_set_new(config, rest[i].name, rest[i].value);
    return config;
}

/* --- runs --- */

/* The histogram ends at its last update; bucket 255 holds all of 255 and more. */
static json_t *staleness_json(const struct hr_run_result *run)
{
    json_t *histogram = json_array();
    unsigned long long counts[HR_RESULT_STALENESS_BUCKETS];
    size_t used = 0;
    for (size_t i = 0; i < HR_RESULT_STALENESS_BUCKETS; i++) {
        counts[i] = run->stale[i];
        used = counts[i] ? i + 1 : used;
    }
    for (size_t i = 0; i < used; i++)
        json_array_append_new(histogram, count(run->stale[i]));
    const double mean =
        run->stale_updates ? (double)run->stale_sum / (double)run->stale_updates : 0;
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean", number(mean), "p50",
                     count(hr_histogram_quantile(counts, used, 0.5)), "p99",
                     count(hr_histogram_quantile(counts, used, 0.99)), "max", count(run->stale_max),
                     "histogram", histogram);
}

static json_t *curve_json(const struct hr_run_result *run)
{
    json_t *curve = json_array();
    for (size_t i = 0; i < run->ncurve; i++) {
        const struct hr_curve_point *p = &run->curve[i];
        json_array_append_new(
            curve, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "samples", count(p->samples),
                             "seconds", number(p->seconds), "epoch", number(p->epoch), "train_loss",
                             number(p->train_loss), "test_loss", number(p->test_loss),
                             "test_accuracy", number(p->test_accuracy)));
    }
    return curve;
}

static json_t *run_json(const struct hr_run_result *run)
{
    const bool bounded = !strcmp(run->strategy, "ssp");
    json_t *object = json_pack("{s:s, s:o, s:s, s:s, s:s, s:s}", "strategy", run->strategy,
                               "algorithm", text_or_null(run->algorithm), "launch", run->launch,
                               "order", run->order, "kernels", run->kernels, "model", run->model);
    const struct {
        const char *name;
        json_t *value;
    } rest[] = {
        {"workers", count(run->workers)},
        {"servers", count(run->servers)},
        {"batch_size", count(run->batch_size)},
        {"global_batch", count(run->global_batch)},
        {"params", count(run->params)},
        {"seed", count(run->seed)},
        {"steps", count(run->steps)},
        {"samples", count(run->samples)},
        {"seconds", number(run->seconds)},
        {"samples_per_s", number(run->samples_per_s)},
        {"train_loss", number(run->train_loss)},
        {"test_loss", number(run->test_loss)},
        {"test_accuracy", number(run->test_accuracy)},
        {"target_seconds", run->target_seconds > 0 ? number(run->target_seconds) : json_null()},
        {"staleness", staleness_json(run)},
        {"staleness_bound", bounded ? count(run->staleness_bound) : json_null()},
        {"max_skew", count(run->max_skew)},
        {"time", json_pack("{s:o, s:o, s:o}", "compute", number(run->compute_s), "communicate",
                           number(run->communicate_s), "wait", number(run->wait_s))},
        {"updates", count(run->updates)},
        {"lr", number(run->lr)},
        {"bytes", json_pack("{s:o, s:o}", "sent", count(run->bytes_sent), "received",
                            count(run->bytes_received))},
        {"curve", curve_json(run)},
        {"weights_digest", json_string(run->weights_digest)},
        {"checkpoint", text_or_null(run->checkpoint)},
        {"interrupted", json_boolean(run->interrupted)},
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        json_object_set_new(object, rest[i].name, rest[i].value);
    return object;
}

/* --- documents --- */

static enum hr_status replace_file(const char *path, json_t *document, size_t flags)
{
    char temporary[1100];
    snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    if (json_dump_file(document, temporary, flags) != 0 || rename(temporary, path) != 0) {
        const enum hr_status status = hr_fail_errno(HR_E_IO, "--json %s: cannot be written", path);
        unlink(temporary);
        return status;
    }
    return HR_OK;
}

enum hr_status hr_json_write(const char *path, json_t *document)
{
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(17);
    enum hr_status status = HR_OK;
    if (!document)
        return hr_fail(HR_E_NOMEM, "no memory for a JSON document, or a text in it is not UTF-8");
    if (strcmp(path, "-") != 0)
        status = replace_file(path, document, flags);
    else if (json_dumpf(document, stdout, flags) != 0 || putchar('\n') == EOF ||
             fflush(stdout) != 0)
        status = hr_fail_errno(HR_E_IO, "stdout cannot be written");
    json_decref(document);
    return status;
}

enum hr_status hr_json_write_runs(const char *path, const struct hr_train_options *options,
                                  const struct hr_dataset *dataset,
                                  const struct hr_run_result *runs, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, run_json(&runs[i]));
    return hr_json_write(path, json_pack("{s:s, s:o, s:o, s:o}", "hogring", HR_VERSION, "machine",
                                         machine_json(), "config", config_json(options, dataset),
                                         "runs", array));
}

static json_t *row_json(const struct hr_bench_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:s, s:s, s:s, s:{s:o, s:o, s:o}, s:o, s:o, s:o}", "op",
                     row->op, "bytes", count(row->bytes), "ranks", count(row->ranks), "algorithm",
                     row->algorithm, "transport", row->transport, "launch", row->launch, "time_us",
                     "p10", number(row->p10_us), "p50", number(row->p50_us), "p90",
                     number(row->p90_us), "algbw_gbs", number(row->algbw_gbs), "busbw_gbs",
                     number(row->busbw_gbs), "wrong", count(row->wrong));
}

enum hr_status hr_json_write_rows(const char *path, const struct hr_bench_row *rows, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, row_json(&rows[i]));
    return hr_json_write(path, json_pack("{s:s, s:o, s:o}", "hogring", HR_VERSION, "machine",
                                         machine_json(), "rows", array));
}
