#include "session/reading.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/printable.h"
#include "base/text.h"
#include "data/hold_out.h"
#include "formats/formats.h"
#include "options/train_options.h"
#include "session/saved.h"
#include "session/model_input.h"

/* --- how --- */

unsigned hr_reading_given(const struct hr_data_options *options)
{
    const struct hr_option *row;
    struct hr_data_options defaults;
    unsigned given = 0;
    hr_data_defaults(&defaults);
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        given |= (unsigned)!hr_option_equal(row, options, &defaults) << i;
    return given;
}

static size_t row_of(const char *name)
{
    size_t i = 0;
    while (strcmp(hr_data_option_at(i)->name, name) != 0)
        i++;
    return i;
}

static bool is_given(const struct hr_reading *reading, const char *name)
{
    return reading->given >> row_of(name) & 1;
}

/* Somebody else may have written it. */
static const char *kept_text(const struct hr_checkpoint *checkpoint, const struct hr_option *row)
{
    return hr_option_is_recipe(row, false) ? hr_saved_option(checkpoint, row->name) : NULL;
}

static void adopt(const char *data, const struct hr_option *row, const char *text,
                  struct hr_data_options *out)
{
    struct hr_data_options trial = *out;
    if (hr_option_store(row, &trial, text) && hr_data_options_check(data, &trial) == HR_OK)
        *out = trial;
}

/* Columns of a table may stand in another order, beside others: then the label is found by its name
 * alone, and be it that a number told it in training. */
static bool names_label(const struct hr_model_input *input)
{
    enum { WHOLE = 40 }; /* longer ones are cut */
    return input->recipe && input->label_name[0] && strlen(input->label_name) <= WHOLE;
}

static bool places_label(const struct hr_option *row, const char *text)
{
    return !strcmp(row->name, "label-column") ||
           (!strcmp(row->name, "target") && !strchr(text, ','));
}

enum hr_status hr_reading_options(const struct hr_checkpoint *checkpoint,
                                  const struct hr_reading *reading, struct hr_data_options *out)
{
    const struct hr_option *row;
    struct hr_model_input input;
    const bool fraction = is_given(reading, "test-fraction");
    const bool tests = is_given(reading, "test-data"); /* perhaps what validated then */
    *out = *reading->options;
    out->values = out->values || hr_metadata_get(&checkpoint->model, "hogring.targets");
    const enum hr_status status = hr_model_input_get(checkpoint, &input);
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++) {
        const char *text = kept_text(checkpoint, row);
        const bool other_split = (!strcmp(row->name, "test-data") && fraction) ||
                                 (!strcmp(row->name, "validation-data") && tests) ||
                                 (!strcmp(row->name, "split") && (fraction || tests) && text &&
                                  hr_split_fold(text).folds);
        const bool by_name = status == HR_OK && names_label(&input);
        if (text && !other_split && !(reading->given >> i & 1) &&
            !(by_name && places_label(row, text)))
            adopt(reading->data, row, text, out);
    }
    row = hr_data_option_at(row_of("index-base"));
    if (status == HR_OK && input.index_base >= 0 && !is_given(reading, "index-base"))
        adopt(reading->data, row, input.index_base ? "1" : "0", out);
    hr_model_input_free(&input);
    return status;
}

/* --- what is said of it --- */

void hr_reading_say(const struct hr_reading *reading)
{
    const char *line = reading->said;
    for (size_t length; (length = strcspn(line, "\n")) > 0; line += length + (line[length] != 0))
        hr_log(HR_LOG_INFO, "%.*s", (int)length, line);
}

/* --- which samples --- */

/* The column of labels is the one that the model was trained with, where the data have it and
 * nothing else is said. */
static enum hr_status open_labelled(const char *data, const struct hr_data_options *options,
                                    const struct hr_model_input *input, struct hr_dataset *out)
{
    struct hr_data_options plain = *options, named;
    enum hr_status status = HR_E_USAGE;
    plain.recipe = input->recipe;
    named = plain;
    snprintf(named.label_column, sizeof named.label_column, "%s", input->label_name);
    const bool by_name = input->label_name[0] && !options->label_column[0] && !options->target[0];
    if (by_name)
        status = hr_dataset_open_with(data, &named, out);
    if (status == HR_E_USAGE)
        status = hr_dataset_open_with(data, &plain, out);
    /* Another column of a table is no label: the first refusal stands. */
    if (status == HR_OK && by_name && names_label(input) && !strcmp(out->format, "csv") &&
        !out->options.label_column[0]) {
        hr_dataset_close(out);
        status = hr_dataset_open_with(data, &named, out);
    }
    /* Features that these rows happen not to have. */
    if (status == HR_OK && out->features == HR_FEATURES_SPARSE &&
        out->shape.channels < input->shape.channels)
        out->shape.channels = input->shape.channels;
    return status;
}

static enum hr_status open_data(const struct hr_checkpoint *checkpoint, const char *data,
                                const struct hr_data_options *options, struct hr_dataset *out)
{
    struct hr_model_input input;
    enum hr_status status = hr_model_input_get(checkpoint, &input);
    if (status == HR_OK)
        status = open_labelled(data, options, &input, out);
    hr_model_input_free(&input);
    return status;
}

/* The digest is over labels as the model numbers them. */
static bool is_own(const struct hr_checkpoint *checkpoint, const struct hr_dataset *dataset,
                   const char *digest)
{
    struct hr_class_view view;
    if (!strcmp(dataset->digest, digest))
        return true;
    if (dataset->targets.count || !hr_metadata_get(&checkpoint->model, "hogring.classes"))
        return false;
    const bool same = hr_class_view_open(checkpoint, dataset, false, &view) == HR_OK &&
                      !strcmp(view.dataset.digest, digest);
    hr_class_view_close(&view);
    return same;
}

/* Options that are given otherwise than in training; how many there are. */
static size_t say_others(const struct hr_checkpoint *checkpoint, struct hr_reading *reading)
{
    const struct hr_option *row;
    size_t others = 0;
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++) {
        struct hr_data_options theirs = *reading->options;
        const char *was = kept_text(checkpoint, row);
        char text[256];
        if (!was || !(reading->given >> i & 1) || !hr_option_store(row, &theirs, was) ||
            hr_option_equal(row, reading->options, &theirs))
            continue;
        hr_option_text(row, reading->options, text, sizeof text);
        hr_append(reading->said, sizeof reading->said,
                  "%s: %s was trained with %s, so figures may be others than its own\n",
                  hr_option_said(row, text).text, checkpoint->path,
                  was[0] ? hr_printable(was).text : "none");
        others++;
    }
    return others;
}

/* Are they the data that it was trained on, when they are read as they were then? */
static bool were_own(const struct hr_checkpoint *checkpoint, const struct hr_reading *reading,
                     const char *digest)
{
    struct hr_data_options plain, options;
    struct hr_dataset dataset;
    hr_data_defaults(&plain);
    const struct hr_reading then = {.data = reading->data, .options = &plain};
    if (hr_reading_options(checkpoint, &then, &options) != HR_OK ||
        open_data(checkpoint, reading->data, &options, &dataset) != HR_OK)
        return false;
    const bool own = is_own(checkpoint, &dataset, digest);
    hr_dataset_close(&dataset);
    return own;
}

bool hr_reading_is_whole(const struct hr_dataset *dataset)
{
    const struct hr_split *train = &dataset->train, *test = &dataset->test;
    return test->pixels == train->pixels && test->values == train->values &&
           test->first == train->first && test->end == train->end;
}

/* What was said of a split was said of other data. */
static enum hr_status open_other(const struct hr_checkpoint *checkpoint, struct hr_reading *reading,
                                 struct hr_data_options *options, struct hr_dataset *out)
{
    struct hr_data_options defaults;
    hr_data_defaults(&defaults);
    options->test_fraction = defaults.test_fraction;
    options->test_data[0] = options->validation_data[0] = options->split[0] = '\0';
    options->test_all = 1;
    HR_TRY(open_data(checkpoint, reading->data, options, out));
    hr_append(
        reading->said, sizeof reading->said,
        "%s: is not the data that %s was trained on: all its %zu%s samples are taken, and some may "
        "have been trained on\n",
        reading->data, checkpoint->path, out->test.count, hr_reading_is_whole(out) ? "" : " test");
    return HR_OK;
}

enum hr_status hr_reading_open(const struct hr_checkpoint *checkpoint, struct hr_reading *reading,
                               struct hr_dataset *out)
{
    const char *digest = hr_metadata_get(&checkpoint->trainer, "data");
    const char *name = hr_saved_option(checkpoint, "data");
    struct hr_data_options options;
    HR_TRY(hr_reading_options(checkpoint, reading, &options));
    const enum hr_status status = open_data(checkpoint, reading->data, &options, out);
    if (!digest || (status == HR_OK && is_own(checkpoint, out, digest)))
        return status;
    const bool beside = options.test_data[0] || options.validation_data[0];
    if (status != HR_OK && beside && name && !strcmp(name, reading->data))
        return status; /* that may be what is missing */
    const size_t others = say_others(checkpoint, reading);
    if (is_given(reading, "test-data") || is_given(reading, "test-fraction") ||
        (others && were_own(checkpoint, reading, digest)))
        return status;
    if (status == HR_OK)
        hr_dataset_close(out);
    return open_other(checkpoint, reading, &options, out);
}
