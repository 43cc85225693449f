/* What is said and taken up before a run begins. */
#include "watch/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "checkpoint/claim.h"
#include "checkpoint/safetensors.h"
#include "data/bytes.h"
#include "data/look.h"
#include "formats/formats.h"
#include "hogring/checkpoint.h"
#include "options/choices.h"
#include "options/nearest.h"
#include "options/train_options.h"

/* --- data that train worse than they could, or as something else --- */

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

enum hr_status hr_hints_print_classes(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    if (dataset->targets.count)
        return HR_OK;
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
               "%s: missing values among the labels are taken for a class like any other: %s%s",
               dataset->name, names,
               strcmp(dataset->format, "csv") || strcmp(dataset->options.missing, "refuse")
                   ? ""
                   : " (--missing drop leaves such rows out)");
}

void hr_hints_print_notes(const struct hr_dataset *dataset)
{
    for (size_t i = 0; i < sizeof dataset->notes / sizeof *dataset->notes; i++)
        if (dataset->notes[i][0]) /* of text they are no doubts */
            hr_log(dataset->tokens.context ? HR_LOG_INFO : HR_LOG_WARNING, "%s", dataset->notes[i]);
}

/* Who chooses by what the test set says has looked at it. */
static void hint_at_looking(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    const struct hr_train_options *o = &cli->train;
    const char *who = o->early_stop[0] ? "early-stop" : o->keep_best[0] ? "keep best" : NULL;
    if (who && !(o->validation_fraction > 0) && !dataset->validation.count)
        hr_log(HR_LOG_WARNING,
               "--%s chooses by the test set, so the test %s flatters what it chose; "
               "--validation 0.2 would hold out training samples for that",
               who, dataset->targets.count ? "rmse" : "accuracy");
}

static void hint_at_split(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    const struct hr_data_options *o = &dataset->options;
    if (o->split[0] && o->test_data[0] && !(cli->train.validation_fraction > 0) && !cli->tune[0])
        hr_log(HR_LOG_WARNING,
               "--split %s holds nothing out: --test FILE names the test samples, and there is no "
               "--validation X",
               hr_shown(o->split, strlen(o->split)).text);
}

/* What was given otherwise than the checkpoint has it, one line each. */
static void say_otherwise(const struct hr_cli *cli)
{
    const char *line = cli->otherwise;
    for (size_t length; (length = strcspn(line, "\n")) > 0; line += length + (line[length] != 0))
        hr_log(HR_LOG_INFO, "%.*s", (int)length, line);
}

void hr_hints_print(const struct hr_cli *cli, const struct hr_dataset *dataset)
{
    say_otherwise(cli);
    hr_hints_print_notes(dataset);
    hint_at_looking(cli, dataset);
    hint_at_split(cli, dataset);
    if (hr_sparse_is_model(cli->train.model))
        return; /* what follows is of networks */
    hint_at_missing(cli, dataset);
    if (!cli->train.normalize)
        hr_hints_print_rounding(dataset);
    enum hr_status status = hr_hints_print_classes(cli, dataset);
    if (status == HR_OK && !cli->quiet)
        status = hint_at_scales(cli, dataset);
    if (status != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
}

/* --- a run that goes on --- */

static const char prefix[] = "option."; /* of keys: session/saved.c */

/* Where these differ, the run is refused, in words of their own. */
static bool is_refused_later(const char *name)
{
    static const char *const names[] = {
        "model",  "loss", "data",    "normalize",           "optimizer", "seed",
        "solver", "cost", "factors", "validation-fraction", "freeze"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* Before there was --precision. */
static const char earlier_precision[] = "float32";

/* Was another value given in its place: --clock real in that of explore:7? */
static bool is_decided(const struct hr_cli *cli, const struct hr_option *row)
{
    const struct hr_option *part;
    if (row->part && !hr_option_is_keyed(row) && hr_cli_was_given(cli, row->with[0].option))
        return true;
    for (size_t i = 0; (part = hr_train_option_at(i)) != NULL; i++)
        if (part->part && !hr_option_is_keyed(part) && hr_cli_was_given(cli, part->name) &&
            !strcmp(part->with[0].option, row->name))
            return true;
    return false;
}

/* One option of the checkpoint, which somebody else may have written. */
static void adopt(struct hr_cli *cli, const char *name, const char *value,
                  struct hr_passed_over *over)
{
    static struct hr_cli saved;
    const size_t number = hr_cli_option_find(name, HR_TRAIN);
    const struct hr_cli_option option = hr_cli_option_at(number);
    const struct hr_option *row = option.row;
    char *mine = (char *)cli + option.base, *theirs = (char *)&saved + option.base;
    if (!row && hr_gone_says_nothing(name, value))
        return;
    saved = *cli;
    const bool read = row && hr_option_store(row, theirs, value);
    if (!read || !hr_option_is_recipe(row, false)) {
        if (!read || (value[0] && !hr_option_equal(row, mine, theirs))) /* some once were kept */
            hr_passed_over_add(over, name);
        return;
    }
    if (!hr_cli_was_given(cli, name) && is_decided(cli, row)) {
        cli->kept[number] = hr_option_equal(row, mine, theirs);
    } else if (!hr_cli_was_given(cli, name)) {
        memcpy(mine + row->offset, theirs + row->offset, row->size);
        cli->kept[number] = true;
    } else if (hr_option_equal(row, mine, theirs)) {
        cli->kept[number] = true;
    } else if (!is_refused_later(name)) {
        char text[256];
        hr_option_text(row, mine, text, sizeof text);
        const size_t used = strlen(cli->otherwise);
        snprintf(cli->otherwise + used, sizeof cli->otherwise - used, "%s: previously %s\n",
                 hr_option_said(row, text).text, value[0] ? hr_printable(value).text : "none");
    }
}

static void adopt_all(struct hr_cli *cli, const struct hr_checkpoint *checkpoint)
{
    const size_t length = sizeof prefix - 1;
    struct hr_passed_over over = {.of = checkpoint->path, .level = HR_LOG_WARNING};
    size_t found = 0;
    for (size_t i = 0; i < checkpoint->trainer.nmetadata; i++) {
        const struct hr_metadata *entry = &checkpoint->trainer.metadata[i];
        if (strncmp(entry->key, prefix, length) != 0)
            continue;
        adopt(cli, entry->key + length, entry->value, &over);
        found++;
    }
    if (!hr_metadata_get(&checkpoint->trainer, "option.precision"))
        adopt(cli, "precision", earlier_precision, &over);
    hr_passed_over_say(&over);
    if (found == 0)
        hr_log(HR_LOG_WARNING,
               "--resume %s: is of an earlier version and does not say its options: what is not "
               "given is the default",
               checkpoint->path);
}

/* Sets cli->train.resume to a checkpoint, or to "". */
static enum hr_status choose_auto(struct hr_cli *cli)
{
    struct hr_train_options *o = &cli->train;
    if (!hr_choices_of(o).resumes_if_any)
        return HR_OK;
    if (!o->checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--resume auto: from where? give --checkpoint-dir too");
    if (o->overwrite)
        return hr_fail(HR_E_USAGE,
                       "--overwrite: is not supported with --resume auto, which goes on "
                       "with what is there");
    o->finished_ok = true;
    memcpy(o->resume, o->checkpoint_dir, sizeof o->resume);
    if (!hr_checkpoint_any(o->checkpoint_dir))
        o->resume[0] = '\0';
    return HR_OK;
}

/* --data of another format than the checkpoint's: what it does not take, nobody typed. */
static enum hr_status check_kept_reading(const struct hr_cli *cli,
                                         const struct hr_data_options *typed)
{
    char why[400];
    struct hr_data_options own = *typed;
    own.values = cli->data_options.values;
    if (!hr_cli_was_given(cli, "data") ||
        hr_data_options_check(cli->data, &cli->data_options) != HR_E_USAGE)
        return HR_OK;
    snprintf(why, sizeof why, "%.399s", hr_error_message());
    if (hr_data_options_check(cli->data, &own) != HR_OK)
        return HR_OK; /* it is refused where it is read */
    return hr_fail(HR_E_USAGE,
                   "--resume %s: was trained with options of its data that --data %s does not "
                   "take; expected the data in their own format (%s)",
                   cli->train.resume, cli->data, why);
}

enum hr_status hr_cli_resume(struct hr_cli *cli)
{
    const struct hr_data_options typed = cli->data_options;
    HR_TRY(choose_auto(cli));
    if (!cli->train.resume[0])
        return HR_OK;
    if (cli->train.checkpoint_dir[0]) /* nor are its steps there to be read: they come and go */
        HR_TRY(hr_claim_check_free(cli->train.checkpoint_dir));
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    enum hr_status status = hr_checkpoint_load(cli->train.resume, checkpoint);
    if (status == HR_OK) {
        if (strlen(checkpoint->path) < sizeof cli->train.resume)
            strcpy(cli->train.resume, checkpoint->path);
        adopt_all(cli, checkpoint);
        hr_task_resolve(&cli->train, &cli->data_options);
        hr_checkpoint_free(checkpoint);
        status = check_kept_reading(cli, &typed);
    }
    free(checkpoint);
    return status;
}
