#include "options/command_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inputs.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/text.h"
#include "checkpoint/claim.h"
#include "formats/formats.h"
#include "options/nearest.h"
#include "options/train_options.h"

struct hr_cli_option hr_cli_option_at(size_t i)
{
    const struct {
        const struct hr_option_list *lists;
        size_t nlists, base;
    } tables[] = {{hr_command_lists, hr_command_nlists, 0},
                  {hr_data_lists, hr_data_nlists, offsetof(struct hr_cli, data_options)},
                  {hr_train_lists, hr_train_nlists, offsetof(struct hr_cli, train)}};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t k = 0; k < tables[t].nlists; k++) {
            const struct hr_option_list *list = &tables[t].lists[k];
            if (i < list->count)
                return (struct hr_cli_option){&list->rows[i], list->section, tables[t].base};
            i -= list->count;
        }
    return (struct hr_cli_option){0};
}

/* What stands behind a colon goes wherever people may write the value before it. */
bool hr_option_is_of(const struct hr_option *row, unsigned command)
{
    unsigned commands = row->commands ? row->commands : HR_TRAIN | HR_COMPARE;
    if (row->parameter && !row->part && !row->commands)
        commands |= hr_train_option_find(row->with[0].option)->commands;
    return commands & command;
}

size_t hr_cli_option_find(const char *name, unsigned command)
{
    const struct hr_option *row;
    for (size_t i = 0;; i++)
        if (!(row = hr_cli_option_at(i).row) ||
            (!strcmp(row->name, name) && hr_option_is_of(row, command)))
            return i;
}

void hr_cli_defaults(struct hr_cli *cli)
{
    memset(cli, 0, sizeof *cli);
    hr_train_defaults(&cli->train);
    hr_data_defaults(&cli->data_options);
    hr_option_defaults(hr_command_lists, hr_command_nlists, cli);
}

enum hr_status hr_cli_option_unknown(const char *name, unsigned command, const char *where)
{
    const char *names[HR_CLI_OPTIONS], *near = hr_name_here(name), *why = hr_why_not_here(name);
    const char *instead = hr_instead_of_gone(name);
    if (instead)
        return hr_fail(HR_E_USAGE, "%s--%s: is no longer there; %s", where, name, instead);
    if (why)
        return hr_fail(HR_E_USAGE, "%s--%s: unknown option; %s", where, name, why);
    const struct hr_option *row;
    size_t n = 0;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (hr_option_is_of(row, command) && !row->parameter)
            names[n++] = row->name;
    if (!near || !hr_cli_option_at(hr_cli_option_find(near, command)).row)
        near = hr_nearest(name, names, n);
    if (near)
        return hr_fail(HR_E_USAGE, "%s--%s: unknown option; did you mean --%s?", where, name, near);
    return hr_fail(HR_E_USAGE, "%s--%s: unknown option (--help lists them)", where, name);
}

enum hr_status hr_cli_refuse_empty(const struct hr_option *row, const char *value,
                                   const char *where)
{
    if (!value || value[0])
        return HR_OK;
    const bool has_default = row->usual || row->kind != HR_OPTION_TEXT;
    return hr_fail(HR_E_USAGE, "%s%s \"\": expected %s; without the option %s", where,
                   hr_option_name(row).text,
                   !row->metavar             ? "on or off"
                   : hr_option_is_keyed(row) ? "a value behind its ="
                                             : row->metavar,
                   has_default ? "it is as by default" : "there is none");
}

bool hr_cli_is_none(const struct hr_option *row, const char *value)
{
    return !strcmp(value, "none") && row == hr_train_option_find(row->name) && !row->usual &&
           row->kind != HR_OPTION_FLAG && hr_option_is_recipe(row, false);
}

/* As where it is not given. */
static void set_none(const struct hr_option *row, struct hr_train_options *options)
{
    struct hr_train_options usual;
    hr_train_defaults(&usual);
    memcpy((char *)options + row->offset, (char *)&usual + row->offset, row->size);
}

/* What a value names is read, perhaps when outputs are open already. */
static enum hr_status note_inputs(const struct hr_option *row, const char *value)
{
    const bool text = row->kind == HR_OPTION_TEXT || row->kind == HR_OPTION_OPTIONAL_TEXT;
    const bool folder = (!strcmp(row->name, "data") || strstr(row->name, "-data")) &&
                        !hr_dataset_is_built_in(value);
    if (!text || row->written || row->words)
        return HR_OK;
    if (!strcmp(row->name, "init-weights") || !strcmp(row->name, "resume"))
        hr_checkpoint_note(value);
    return hr_input_named(value, folder);
}

enum hr_status hr_cli_set(struct hr_cli *cli, enum hr_command_bit command, const char *name,
                          const char *value, const char *where)
{
    const size_t i = hr_cli_option_find(name, command);
    const struct hr_cli_option option = hr_cli_option_at(i);
    const struct hr_option *row = option.row;
    if (!row)
        return hr_cli_option_unknown(name, command, where);
    HR_TRY(hr_cli_refuse_empty(row, value, where));
    if (row->kind == HR_OPTION_CONFIG)
        return hr_fail(HR_E_USAGE, "%s--config: not inside a configuration file", where);
    if (!value)
        value = row->kind == HR_OPTION_FLAG ? "on" : "";
    if (hr_cli_is_none(row, value)) {
        set_none(row, &cli->train);
        cli->given[i] = true;
        return HR_OK;
    }
    struct hr_parameters parameters;
    HR_TRY(hr_parameters_cut(row, value, where, &parameters));
    HR_TRY(hr_option_set(row, (char *)cli + option.base, parameters.value, where));
    HR_TRY(note_inputs(row, parameters.value));
    cli->given[i] = true;
    const size_t of = row->part ? hr_cli_option_find(row->with[0].option, command) : i;
    if (hr_cli_option_at(of).row->kind == HR_OPTION_PARTS)
        cli->given[of] = true;
    for (size_t k = 0; k < parameters.n; k++) {
        if (!hr_option_is_of(parameters.row[k], command))
            return hr_fail(HR_E_USAGE,
                           "%s--%s %s: expected %s, with nothing behind it in this "
                           "command",
                           where, row->name, hr_printable(value).text, parameters.value);
        if (parameters.text[k][0])
            HR_TRY(hr_cli_set(cli, command, parameters.row[k]->name, parameters.text[k], where));
    }
    return HR_OK;
}

/* --- parts --- */

/* The last part "KEY=..." of the value, or KEY of a switch; else the part that reads all of it, or
 * what it begins with. *from: where it begins. NULL: there is none. */
static const struct hr_option *part_of(const struct hr_option *of, unsigned command,
                                       const char *value, const char **from)
{
    const struct hr_option *row, *last = NULL, *all = NULL;
    double number;
    *from = value;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        if (!row->part || strcmp(row->with[0].option, of->name) != 0 ||
            !hr_option_is_of(row, command))
            continue;
        const bool keyed = hr_option_is_keyed(row), is_switch = row->kind == HR_OPTION_FLAG;
        const char *begin = row->with[0].values;
        const size_t length = strlen(row->metavar);
        if (!keyed && (row->kind == HR_OPTION_NUMBER ? hr_parse_number(value, &number)
                       : begin[0]                    ? !strncmp(value, begin, strlen(begin))
                                                     : !all))
            all = row;
        for (const char *key = keyed ? *from : NULL, *end; key; key = *end ? end + 1 : NULL) {
            end = key + strcspn(key, ",;");
            if (strncmp(key, row->metavar, length) != 0 || key[length] != (is_switch ? '\0' : '='))
                continue;
            *from = key;
            last = row;
        }
    }
    return last ? last : all;
}

enum hr_status hr_option_part_cut(const struct hr_option *of, unsigned command, const char *value,
                                  struct hr_option_part *out)
{
    const char *from;
    out->row = value ? part_of(of, command, value, &from) : NULL;
    if (!out->row)
        return HR_OK;
    const bool keyed = hr_option_is_keyed(out->row);
    if (from == value + 1)
        return hr_fail(HR_E_USAGE, "--%s %s: expected %s before the %c", of->name,
                       hr_printable(value).text, of->metavar, value[0]);
    out->value = out->row->kind == HR_OPTION_FLAG ? "on"
                 : keyed                          ? from + strlen(out->row->metavar) + 1
                                                  : value;
    return hr_path(out->before, "%.*s", (int)(from > value ? from - value - 1 : 0), value);
}

bool hr_option_has_part_first(const struct hr_option *of, unsigned command, const char *value)
{
    char first[64];
    const char *from;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(value, ",;"), value);
    return part_of(of, command, first, &from) != NULL;
}

/* --- options of the library --- */

enum hr_status hr_train_set(struct hr_train_options *options, const char *name, const char *value)
{
    const struct hr_option *row = hr_train_option_find(name);
    const struct hr_option *typed = hr_cli_option_at(hr_cli_option_find(name, HR_TRAIN)).row;
    struct hr_option_part part = {.value = NULL};
    if (typed)
        HR_TRY(hr_option_part_cut(typed, HR_TRAIN, value, &part));
    if (part.row)
        HR_TRY(hr_train_set(options, part.row->name, part.value));
    if (part.row)
        return part.before[0] ? hr_train_set(options, name, part.before) : HR_OK;
    if (!row && typed)
        return hr_fail(HR_E_USAGE,
                       "--%s: is of the command alone, and no field of "
                       "struct hr_train_options",
                       name);
    if (!row)
        return hr_cli_option_unknown(name, HR_TRAIN, "");
    if (row->offset + row->size > options->size)
        return hr_fail(HR_E_USAGE,
                       "--%s: struct hr_train_options has %zu bytes here and ends "
                       "before it; expected hr_train_defaults first, and a program "
                       "compiled with this library's headers",
                       name, options->size);
    if (hr_cli_is_none(row, value)) {
        set_none(row, options);
        return HR_OK;
    }
    struct hr_parameters parameters;
    HR_TRY(hr_parameters_cut(row, value, "", &parameters));
    HR_TRY(hr_option_set(row, options, parameters.value, ""));
    for (size_t k = 0; k < parameters.n; k++)
        if (parameters.text[k][0])
            HR_TRY(hr_train_set(options, parameters.row[k]->name, parameters.text[k]));
    return row->words ? hr_option_check(row, options, false) : HR_OK;
}

enum hr_status hr_cli_check(const struct hr_cli *cli, enum hr_command_bit command, const char *name)
{
    const struct hr_cli_option option = hr_cli_option_at(hr_cli_option_find(name, command));
    return option.row ? hr_option_check(option.row, (const char *)cli + option.base, false) : HR_OK;
}

static bool is_marked(const bool *marks, const char *name)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (marks[i] && !strcmp(row->name, name))
            return true;
    return false;
}

bool hr_cli_was_given(const struct hr_cli *cli, const char *name)
{
    return is_marked(cli->given, name);
}

bool hr_cli_was_saved(const struct hr_cli *cli, const char *name)
{
    return is_marked(cli->kept, name);
}

void hr_cli_mark_given(struct hr_cli *cli, const char *name)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        cli->given[i] |= !strcmp(row->name, name);
}

const struct hr_option *hr_cli_given_beyond(const struct hr_cli *cli, unsigned part)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (cli->given[i] && !hr_option_is_of(row, part))
            return row;
    return NULL;
}

/* --- the tables of options as --help and man pages show them --- */

static const char *const titles[HR_SECTIONS] = {
    [HR_IN_DATA] = "Data and model",
    [HR_IN_SAMPLING] = "The text",
    [HR_IN_MAKING] = "Synthetic data (data make sparse)",
    [HR_IN_WORKERS] = "Workers and synchronisation",
    [HR_IN_TRAINING] = "Training",
    [HR_IN_GRADIENTS] = "Communication",
    [HR_IN_PIPELINES] = "Pipelines",
    [HR_IN_TIME] = "Simulated time and faults",
    [HR_IN_UPDATES] = "Updates",
    [HR_IN_SPARSE] = "Sparse models (logistic, svm, linear, mf; strategy hogwild or locked)",
    [HR_IN_LIMITS] = "Limits",
    [HR_IN_CHECKPOINTS] = "Checkpoints",
    [HR_IN_RESULTS] = "Results",
    [HR_IN_MEASUREMENT] = "Measurement",
    [HR_IN_PAPER] = "On paper (bench links)",
    [HR_IN_LOOKING] = "Running processes",
    [HR_IN_SEARCHING] = "Policy search, in virtual time",
    [HR_IN_VERIFYING] = "What is verified",
    [HR_IN_EXPERT] = "For tests and experts",
};

/* Append; what does not fit is cut. */
static void add(char *text, size_t size, const char *before, const char *more)
{
    hr_append(text, size, "%s%s", before, more);
}

/* "sgd 0.05, adagrad 0.01, adam and adamw 0.001" */
static void add_by_optimizer(char *text, size_t size, const struct hr_option *row)
{
    const struct hr_rule *rule, *next;
    for (size_t i = 0; (rule = hr_rule_at(i)) != NULL; i++) {
        char value[32];
        next = hr_rule_at(i + 1);
        add(text, size, i ? ", " : "", rule->name);
        if (next && row->by_optimizer(next) == row->by_optimizer(rule))
            continue;
        snprintf(value, sizeof value, " %g", row->by_optimizer(rule));
        add(text, size, value, "");
    }
}

/* Only train, compare and forecast have such models. */
static void add_others(char *text, size_t size, const struct hr_option *row, unsigned command)
{
    const char *said = row->sparse_said ? row->sparse_said : row->sparse_usual;
    if (!(command & (HR_TRAIN | HR_COMPARE | HR_FORECAST)))
        return;
    if (row->gpt_usual)
        add(text, size, "; gpt-*: ", row->gpt_usual);
    if (said && row->models == HR_OF_ALL_MODELS)
        add(text, size, "; sparse models: ", said);
}

/* What it is to this command, the names that there are, and the default. */
static void describe(const struct hr_option *row, unsigned command, char *text, size_t size)
{
    const char *said = row->said ? row->said : row->usual, *help = row->help;
    for (size_t i = 0; i < sizeof row->other / sizeof *row->other; i++)
        if (command & row->other[i].commands) {
            said = row->other[i].said ? row->other[i].said : said;
            help = row->other[i].help ? row->other[i].help : help;
        }
    snprintf(text, size, "%s", help);
    for (size_t i = 0; row->name_at && row->name_at(i); i++)
        add(text, size, i ? ", " : "", row->name_at(i));
    if (!said && !row->by_optimizer)
        return;
    add(text, size, " [", said ? said : "");
    if (row->by_optimizer)
        add_by_optimizer(text, size, row);
    add_others(text, size, row, command);
    add(text, size, "]", "");
}

static void write_option(FILE *out, const struct hr_option *row, unsigned command)
{
    char text[1024];
    describe(row, command, text, sizeof text);
    fprintf(out, "--%s%s%s :: %s\n", row->name, row->metavar ? " " : "",
            row->metavar ? row->metavar : "", text);
}

size_t hr_cli_write_options(FILE *out, enum hr_command_bit command, bool all)
{
    size_t left = 0;
    for (enum hr_option_section section = 0; section < HR_SECTIONS; section++) {
        struct hr_cli_option option;
        bool any = false;
        for (size_t i = 0; (option = hr_cli_option_at(i)).row != NULL; i++) {
            if (option.section != section || !hr_option_is_of(option.row, command) ||
                option.row->parameter)
                continue;
            left += !all && !option.row->first;
            if (!all && !option.row->first)
                continue;
            if (!any)
                fprintf(out, "\n## %s\n", titles[section]);
            any = true;
            write_option(out, option.row, command);
        }
    }
    return left;
}

bool hr_cli_write_option(FILE *out, enum hr_command_bit command, const char *name)
{
    const struct hr_option *row = hr_cli_option_at(hr_cli_option_find(name, command)).row;
    if (row && row->parameter)
        row = hr_cli_option_at(hr_cli_option_find(row->with[0].option, command)).row;
    if (row)
        write_option(out, row, command);
    return row != NULL;
}
