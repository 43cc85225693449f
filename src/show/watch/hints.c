#include "watch/hints.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "options/choices.h"
#include "watch/resume.h"
#include "data/bytes.h"
#include "data/look.h"

static enum hr_status hint_at_labels(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    struct hr_label_look look;
    HR_TRY(hr_look_at_labels(dataset, &look));
    if (look.distinct == 1)
        hr_log(HR_LOG_WARNING, "%s: all %zu samples have the same label: there is nothing to learn",
               dataset->name, look.samples);
    if (hr_choices_of(&cli->train).task == HR_TASK_CLASSIFY || cli->data_options.classes[0])
        return HR_OK;
    if (look.kind == HR_LABELS_DOUBT)
        hr_log(HR_LOG_WARNING,
               "%s: %zu different numbers label %zu samples: each is taken for a class; if they "
               "are values, --task regress predicts them",
               dataset->name, look.distinct, look.samples);
    return HR_OK;
}

static enum hr_status hint_at_splits(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    size_t untaught, example;
    char name[64];
    if (cli->data_options.classes[0])
        return HR_OK;
    HR_TRY(hr_look_at_splits(dataset, &untaught, &example));
    if (!untaught)
        return HR_OK;
    snprintf(name, sizeof name, "%zu", example);
    if (dataset->class_names)
        snprintf(
            name, sizeof name, "%s",
            hr_shown(dataset->class_names[example], strlen(dataset->class_names[example])).text);
    hr_log(HR_LOG_WARNING,
           "%s: %zu of %zu classes have test samples and no training samples, such as \"%s\"",
           dataset->name, untaught, dataset->classes, name);
    return HR_OK;
}

static enum hr_status hint_at_classes(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    HR_TRY(hint_at_labels(cli, dataset));
    return hint_at_splits(cli, dataset);
}

static enum hr_status hint_at_scales(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    struct hr_scale_look look;
    if (cli->train.normalize)
        return HR_OK;
    HR_TRY(hr_look_at_scales(dataset, &look));
    if (look.unlike)
        hr_log(HR_LOG_INFO, "%s: %s has maximum %g, %s %g: --normalize would put them on one scale",
               dataset->name, hr_look_at_name(dataset, look.small).text, (double)look.scales[0],
               hr_look_at_name(dataset, look.large).text, (double)look.scales[1]);
    else if (look.all_large)
        hr_log(HR_LOG_INFO,
               "%s: features have maximum %g and more: --normalize would bring them to about 1",
               dataset->name, (double)look.scales[0]);
    return HR_OK;
}

void hr_hints_print_rounding(const struct hr_dataset *dataset)
{
    const struct hr_rounding *rounding = dataset->rounding;
    size_t first = 0, others = 0;
    char more[48] = "", name[64] = "";
    if (!rounding)
        return;
    while (!rounding[first].distinct)
        first++;
    for (size_t c = first + 1; c < dataset->shape.channels; c++)
        others += rounding[c].distinct > 0;
    if (others)
        snprintf(more, sizeof more, " (and %zu more features)", others);
    if (dataset->feature_names)
        snprintf(
            name, sizeof name, ", %s,",
            hr_shown(dataset->feature_names[first], strlen(dataset->feature_names[first])).text);
    hr_log(HR_LOG_WARNING,
           "%s: %zu different values of feature %zu%s fall together into %zu as float32%s: "
           "--normalize subtracts the mean before they are rounded",
           dataset->name, rounding[first].distinct, first + 1, name, rounding[first].left, more);
}

/* pandas, R and SQL write so what is not there. */
static bool is_missing(const char *name)
{
    static const char *const forms[] = {"NA",   "N/A",  "NaN", "nan", "<NA>", "null",
                                        "NULL", "None", "inf", "Inf", "-inf", "-Inf"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(name, forms[i]))
            return true;
    return false;
}

static void hint_at_missing(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    char names[120] = "";
    size_t used = 0;
    if (!dataset->class_names || dataset->classes < 2 || cli->data_options.classes[0])
        return;
    for (size_t c = 0; c < dataset->classes; c++)
        if (is_missing(dataset->class_names[c]))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     dataset->class_names[c]);
    if (used)
        hr_log(HR_LOG_WARNING,
               "%s: missing values among the labels are taken for a class like any other: %s",
               dataset->name, names);
}

void hr_hints_print_notes(const struct hr_dataset *dataset)
{
    for (size_t i = 0; i < sizeof dataset->notes / sizeof *dataset->notes; i++)
        if (dataset->notes[i][0])
            hr_log(HR_LOG_WARNING, "%s", dataset->notes[i]);
}

/* Who chooses by what the test set says has looked at it. */
static void hint_at_looking(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    const struct hr_train_options *o = &cli->train;
    const char *who = o->early_stop[0] ? "early-stop" : o->keep_best[0] ? "keep-best" : NULL;
    if (who && !(o->validation_fraction > 0) && !dataset->validation.count)
        hr_log(HR_LOG_WARNING,
               "--%s chooses by the test set, so the test %s flatters what it chose; "
               "--validation-fraction 0.2 would hold out training samples for that",
               who, dataset->targets.count ? "rmse" : "accuracy");
}

void hr_hints_print(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    hr_cli_resume_say(cli);
    hr_hints_print_notes(dataset);
    hint_at_looking(cli, dataset);
    if (hr_sparse_is_model(cli->train.model))
        return; /* what follows is of networks */
    hint_at_missing(cli, dataset);
    if (!cli->train.normalize)
        hr_hints_print_rounding(dataset);
    enum hr_status status = dataset->targets.count ? HR_OK : hint_at_classes(cli, dataset);
    if (status == HR_OK && !cli->quiet)
        status = hint_at_scales(cli, dataset);
    if (status != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
}
