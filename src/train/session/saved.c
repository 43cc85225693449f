#include "session/saved.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "checkpoint/safetensors.h"
#include "hogring/sparse.h"
#include "options/train_options.h"
#include "session/machine_bits.h"

void hr_saved_put(struct hr_tensor_file *file, const char *key, const char *format, ...)
{
    struct hr_metadata *entry = &file->metadata[file->nmetadata++];
    va_list args;
    snprintf(entry->key, sizeof entry->key, "%s", key);
    va_start(args, format);
    vsnprintf(entry->value, sizeof entry->value, format, args);
    va_end(args);
}

enum hr_status hr_saved_count(const struct hr_checkpoint *checkpoint, const char *key,
                              uint64_t *out)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    char *end = NULL;
    *out = text ? strtoull(text, &end, 10) : 0;
    if (!text || text[0] < '0' || text[0] > '9' || *end)
        return hr_fail(HR_E_FORMAT, "%s: trainer metadata \"%s\" is %s, expected a number",
                       checkpoint->path, key, text ? text : "missing");
    return HR_OK;
}

enum hr_status hr_saved_amount(const struct hr_checkpoint *checkpoint, const char *key, double *out)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    char *end = NULL;
    *out = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !(*out >= 0) || isinf(*out))
        return hr_fail(HR_E_FORMAT,
                       "%s: trainer metadata \"%s\" is %s, expected a finite number of at least 0",
                       checkpoint->path, key, text ? text : "missing");
    return HR_OK;
}

double hr_saved_number(const struct hr_checkpoint *checkpoint, const char *key)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    return text ? strtod(text, NULL) : 0;
}

void hr_saved_put_table(struct hr_tensor_file *file, const char *name, size_t rows, size_t width,
                        double *numbers)
{
    if (rows == 0)
        return;
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){.dtype = HR_F64,
                                 .ndim = 2,
                                 .shape = {rows, width},
                                 .bytes = rows * width * sizeof(double),
                                 .data = numbers};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

enum hr_status hr_saved_table(const struct hr_checkpoint *checkpoint, const char *name,
                              size_t width, size_t *rows, const double **numbers)
{
    const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->trainer, name);
    *rows = 0;
    *numbers = NULL;
    if (!tensor)
        return HR_OK;
    if (tensor->dtype != HR_F64 || tensor->ndim != 2 || tensor->shape[1] != width)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s is not rows of %zu numbers of float64",
                       checkpoint->path, name, width);
    *rows = tensor->shape[0];
    *numbers = tensor->data;
    return HR_OK;
}

enum hr_status hr_saved_samples(const struct hr_checkpoint *checkpoint, const char *name,
                                double number, uint64_t *out)
{
    if (!(number >= 0 && number <= 0x1p53))
        return hr_fail(HR_E_FORMAT, "%s: tensor %s counts %g samples", checkpoint->path, name,
                       number);
    *out = (uint64_t)number;
    return HR_OK;
}

enum hr_status hr_saved_same(const struct hr_checkpoint *checkpoint, const char *what,
                             const char *saved, const char *ours)
{
    if (saved && !strcmp(saved, ours))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--resume %s: it was trained with %s %s, this run has %s",
                   checkpoint->path, what, saved ? saved : "(unknown)", ours);
}

static size_t file_bytes(const struct hr_tensor_file *file)
{
    size_t bytes = 0;
    for (size_t i = 0; i < file->ntensors; i++)
        bytes += file->tensors[i].bytes;
    return bytes;
}

size_t hr_saved_bytes(const struct hr_checkpoint *checkpoint)
{
    return file_bytes(&checkpoint->model) + file_bytes(&checkpoint->trainer);
}

static bool is_single_file(const char *path)
{
    static const char suffix[] = ".safetensors";
    const size_t length = strlen(path), end = sizeof suffix - 1;
    return length > end && !strcmp(path + length - end, suffix);
}

enum hr_status hr_saved_read(const char *path, struct hr_checkpoint *out)
{
    if (!is_single_file(path))
        return hr_checkpoint_load(path, out);
    HR_TRY(hr_safetensors_read(path, &out->model));
    snprintf(out->path, sizeof out->path, "%s", path);
    return HR_OK;
}

enum { OTHERS = 8 };

size_t hr_saved_options_entries(void)
{
    size_t rows = 0, data_rows = 0;
    while (hr_train_option_at(rows))
        rows++;
    while (hr_data_option_at(data_rows))
        data_rows++;
    return rows + data_rows + OTHERS;
}

/* --- saved --- */

/* Metadata cannot hold text that is too long: who resumes gives it again. */
static void put(struct hr_tensor_file *file, const char *prefix, const char *name, const char *text)
{
    struct hr_metadata *entry = &file->metadata[file->nmetadata];
    if (strlen(text) >= sizeof entry->value)
        return;
    snprintf(entry->key, sizeof entry->key, "%s%s", prefix, name);
    snprintf(entry->value, sizeof entry->value, "%s", text);
    file->nmetadata++;
}

static void put_row(struct hr_tensor_file *file, const void *options, const struct hr_option *row)
{
    char text[sizeof((struct hr_data_options *)0)->classes];
    hr_option_text(row, options, text, sizeof text);
    if (row->kind != HR_OPTION_NUMBER || text[0] != '-') /* negative: not chosen */
        put(file, HR_SAVED_OPTION, row->name, text);
}

void hr_saved_options_put(const struct hr_train_options *options, const struct hr_dataset *dataset,
                          struct hr_tensor_file *file)
{
    const struct hr_option *row;
    json_t *machine = hr_machine_bits_json(), *value;
    const char *name;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (hr_option_is_saved(row, hr_sparse_is_model(options->model)))
            put_row(file, options, row);
    put(file, HR_SAVED_OPTION, "data", dataset->name);
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        if (hr_option_is_recipe(row, false))
            put_row(file, &dataset->options, row);
    json_object_foreach(machine, name, value) put(file, HR_KEPT_MACHINE, name,
                                                  json_is_string(value) ? json_string_value(value)
                                                  : json_is_true(value) ? "on"
                                                                        : "off");
    json_decref(machine);
}

const char *hr_saved_option(const struct hr_checkpoint *checkpoint, const char *option)
{
    char key[sizeof((struct hr_metadata *)0)->key];
    snprintf(key, sizeof key, HR_SAVED_OPTION "%s", option);
    return hr_metadata_get(&checkpoint->trainer, key);
}

bool hr_saved_option_is(const struct hr_checkpoint *checkpoint, const char *option,
                        const char *value)
{
    const char *kept = checkpoint ? hr_saved_option(checkpoint, option) : NULL;
    return kept && !strcmp(kept, value);
}

/* --- compared --- */

/* The machine of the checkpoint, a new reference; NULL: it does not say. */
static json_t *machine_of(const struct hr_checkpoint *checkpoint)
{
    const size_t length = sizeof HR_KEPT_MACHINE - 1;
    json_t *machine = json_object();
    for (size_t i = 0; i < checkpoint->trainer.nmetadata; i++) {
        const struct hr_metadata *entry = &checkpoint->trainer.metadata[i];
        if (strncmp(entry->key, HR_KEPT_MACHINE, length) != 0)
            continue;
        const bool truth = !strcmp(entry->key + length, "reference");
        json_object_set_new(machine, entry->key + length,
                            truth ? json_boolean(!strcmp(entry->value, "on"))
                                  : json_string(entry->value));
    }
    if (json_object_size(machine) > 0)
        return machine;
    json_decref(machine);
    return NULL;
}

static enum hr_status report_difference(const char *path, bool promised, const char *name,
                                        const json_t *there, const json_t *here)
{
    const char *was = json_string_value(json_object_get(there, name));
    char text[400];
    snprintf(text, sizeof text, "its %s %s \"%s\", here \"%s\"", name,
             strcmp(name, "kernels") ? "was" : "were", hr_printable(was ? was : "").text,
             json_string_value(json_object_get(here, name)));
    const bool direct = strcmp(hr_machine_bits_kernels(there, "fast"), "fast") &&
                        !strcmp(hr_machine_bits_kernels(here, "fast"), "fast");
    const char *cure = direct ? " (--kernels direct has the old ones)" : "";
    if (promised)
        return hr_fail(HR_E_USAGE,
                       "--resume %s: %s; expected the same, since --reduce repro guarantees bits%s",
                       path, text, cure);
    hr_log(HR_LOG_WARNING, "--resume %s: %s: bits may change from here%s", path, text, cure);
    return HR_OK;
}

enum hr_status hr_saved_check(const struct hr_checkpoint *checkpoint, struct hr_saved_run run)
{
    enum hr_status status = HR_OK;
    const char *was = hr_metadata_get(&checkpoint->trainer, HR_SAVED_OPTION "precision");
    if (hr_machine_bits_are_bf16(was ? was : "") != run.bf16)
        return HR_OK; /* another precision, which is told as an option that differs */
    json_t *there = machine_of(checkpoint), *here = hr_machine_bits_json();
    const bool avoided = run.direct && !strcmp(hr_machine_bits_kernels(here, "fast"), "fast");
    if (avoided && there) { /* not by --kernels: the model has none that could be another */
        hr_machine_bits_make_direct(there);
        hr_machine_bits_make_direct(here);
    }
    const char *name = there ? hr_machine_bits_difference(there, here, run.bf16) : NULL;
    if (name)
        status = report_difference(checkpoint->path, run.promised, name, there, here);
    else if (!there)
        hr_log(HR_LOG_WARNING,
               "--resume %s: does not say with which kernels it was trained: bits may change from "
               "here",
               checkpoint->path);
    json_decref(there);
    json_decref(here);
    return status;
}
