#include "session/kept.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "checkpoint/safetensors.h"
#include "hogring/sparse.h"
#include "options/train_options.h"
#include "session/machine_bits.h"

enum { OTHERS = 8 };

size_t hr_kept_entries(void)
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
        put(file, HR_KEPT_OPTION, row->name, text);
}

void hr_kept_put(const struct hr_train_options *options, const struct hr_dataset *dataset,
                 struct hr_tensor_file *file)
{
    const struct hr_option *row;
    json_t *machine = hr_machine_bits_json(), *value;
    const char *name;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (hr_option_is_kept(row, hr_sparse_is_model(options->model)))
            put_row(file, options, row);
    put(file, HR_KEPT_OPTION, "data", dataset->name);
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        if (hr_option_is_recipe(row, false))
            put_row(file, &dataset->options, row);
    json_object_foreach(machine, name, value) put(file, HR_KEPT_MACHINE, name,
                                                  json_is_string(value) ? json_string_value(value)
                                                  : json_is_true(value) ? "on"
                                                                        : "off");
    json_decref(machine);
}

bool hr_kept_is(const struct hr_checkpoint *checkpoint, const char *option, const char *value)
{
    char key[sizeof((struct hr_metadata *)0)->key];
    snprintf(key, sizeof key, HR_KEPT_OPTION "%s", option);
    const char *kept = checkpoint ? hr_metadata_get(&checkpoint->trainer, key) : NULL;
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

static enum hr_status tell_difference(const char *path, bool promised, const char *name,
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
                       "--resume %s: %s; expected the same, since --reduce repro promises bits%s",
                       path, text, cure);
    hr_log(HR_LOG_WARNING, "--resume %s: %s: bits may change from here%s", path, text, cure);
    return HR_OK;
}

enum hr_status hr_kept_check(const struct hr_checkpoint *checkpoint, struct hr_kept_run run)
{
    enum hr_status status = HR_OK;
    const char *was = hr_metadata_get(&checkpoint->trainer, HR_KEPT_OPTION "precision");
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
        status = tell_difference(checkpoint->path, run.promised, name, there, here);
    else if (!there)
        hr_log(HR_LOG_WARNING,
               "--resume %s: does not say with which kernels it was trained: bits may change from "
               "here",
               checkpoint->path);
    json_decref(there);
    json_decref(here);
    return status;
}
