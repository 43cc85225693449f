/* Documents of runs: what was asked for, each run (results.c), and what all of them say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/documents.h"
#include "json/results.h"
#include "json/value.h"
#include "options/train_options.h"
#include "report/groups.h"
#include "report/details.h"
#include "report/report.h"
#include "session/machine_bits.h"

/* --- runs */

/* What each run goes by in the table: labels[i], borrowed of groups. */
static void find_labels(const struct hr_groups *groups, const struct hr_run_result *runs,
                        const char **labels)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            labels[groups->group[g].run[i] - runs] = groups->group[g].label;
}

static json_t *run_array(const struct hr_run_result *runs, size_t n,
                         const struct hr_dataset *dataset)
{
    struct hr_groups groups;
    const char **labels = calloc(n + 1, sizeof *labels);
    json_t *array = labels && hr_groups_make(&groups, runs, n) == HR_OK ? json_array() : NULL;
    bool good = array != NULL;
    if (good)
        find_labels(&groups, runs, labels);
    for (size_t i = 0; good && i < n; i++) {
        const struct hr_run_about about = {labels[i], dataset};
        good = json_array_append_new(
                   array, hr_fields_json(hr_result_rows, hr_result_nrows, &runs[i], &about)) == 0;
    }
    if (array)
        hr_groups_free(&groups);
    free(labels);
    if (good)
        return array;
    json_decref(array);
    return NULL;
}

/* --- the configuration */

/* An option's value: null when it was not chosen; text made valid UTF-8. */
static json_t *option_value(const struct hr_option *row, const void *base)
{
    const void *field = (const char *)base + row->offset;
    switch (row->kind) {
    case HR_OPTION_TEXT:
    case HR_OPTION_OPTIONAL_TEXT:
        return hr_json_text_or_null(field);
    case HR_OPTION_NUMBER:
    case HR_OPTION_SECONDS:
    case HR_OPTION_DURATION: {
        const double number = *(const double *)field;
        return number < 0 ? json_null() : hr_json_number(number);
    }
    default:
        return hr_option_json(row, base);
    }
}

static json_t *data_options(const struct hr_data_options *options)
{
    const struct hr_option *row;
    json_t *object = json_object();
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        json_object_set_new(object, row->name, option_value(row, options));
    return object;
}

static json_t *data_object(const struct hr_dataset *dataset)
{
    return json_pack(
        "{so so so so so so so}", "name", hr_json_text(dataset->name), "format",
        hr_json_text_or_null(dataset->format), "digest", hr_json_text_or_null(dataset->digest),
        "train", hr_json_count(dataset->train.count), "test", hr_json_count(dataset->test.count),
        "classes", hr_json_count(dataset->classes), "options", data_options(&dataset->options));
}

/* Takes config. */
static json_t *with_options(json_t *config, const struct hr_train_options *options)
{
    const struct hr_option *row;
    int failed = config == NULL;
    for (size_t i = 0; (row = hr_train_option_at(i)); i++)
        failed |= json_object_set_new(config, row->name, option_value(row, options));
    if (failed) {
        json_decref(config);
        return NULL;
    }
    return config;
}

json_t *hr_json_config(const struct hr_train_options *options, const struct hr_dataset *dataset,
                       json_t *lists)
{
    json_t *config = with_options(json_pack("{so}", "data", data_object(dataset)), options);
    if (config && lists && json_object_update(config, lists) != 0) {
        json_decref(config);
        return NULL;
    }
    return config;
}

json_t *hr_json_default_options(void)
{
    struct hr_train_options *options = calloc(1, sizeof *options);
    if (!options)
        return NULL;
    hr_train_defaults(options);
    if (hr_train_complete(options) != HR_OK) /* the optimizer's own rates */
        hr_train_defaults(options);
    json_t *object = with_options(json_object(), options);
    free(options);
    return object;
}

/* --- documents */

#define FAILED struct hr_failed_run
static const struct hr_field failed_rows[] = {
    {HR_FIELD(FAILED, "label", label)},
    {HR_FIELD(FAILED, "strategy", strategy)},
    {HR_FIELD(FAILED, "seed", seed)},
    {HR_FIELD(FAILED, "message", message)},
};

json_t *hr_json_runs(const struct hr_train_options *options, const struct hr_dataset *dataset,
                     const struct hr_endings *endings)
{
    struct hr_verdict_wish wish = endings->wish ? *endings->wish : (struct hr_verdict_wish){0};
    wish.target = hr_target_asked(options);
    return json_pack("{so sO? so so so so sO? sO*}", "bits", hr_machine_bits_json(), "given",
                     endings->given, "config", hr_json_config(options, dataset, endings->lists),
                     "runs", run_array(endings->runs, endings->n, dataset), "failed",
                     hr_fields_list(HR_ROWS(failed_rows), endings->failed, endings->nfailed,
                                    sizeof *endings->failed, NULL),
                     "comparison", hr_json_comparison(endings->runs, endings->n, wish), "forecast",
                     endings->forecast, "tuning", endings->tuning);
}
