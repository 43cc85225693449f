#include "options/sweep.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/sparse.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/text.h"
#include "checkpoint/safetensors.h"
#include "options/command_line.h"
#include "options/meaning.h"
#include "options/train_options.h"

/* --- entries of --strategies --- */

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(name, *list))
            return true;
    return false;
}

/* --- reading one --- */

/* Behind this character, or behind all that it opens; NULL: that is not closed. */
static char *skip(char *text)
{
    char *close = *text == '"' ? strchr(text + 1, '"') : text;
    if (*text == '(')
        for (close++; close && *close != ')'; close = *close ? skip(close) : NULL)
            continue;
    return close ? close + 1 : NULL;
}

enum hr_status hr_entry_cut(char **rest, char separator, char **piece)
{
    char *end = *rest;
    while (*end && *end != separator) {
        char *behind = skip(end);
        if (!behind)
            return hr_fail(HR_E_USAGE, "--strategies: %s: expected a %c that closes the first %c",
                           hr_printable(end).text, *end == '(' ? ')' : '"', *end);
        end = behind;
    }
    *piece = *rest;
    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    return HR_OK;
}

char *hr_entry_bare(char *value)
{
    char *behind = *value == '"' || *value == '(' ? skip(value) : NULL;
    if (!behind || *behind)
        return value;
    behind[-1] = '\0';
    return value + 1;
}

bool hr_entry_is_for_all(const char *name)
{
    static const char *const shared[] = {"seed",
                                         "clock",
                                         "task",
                                         "target-accuracy",
                                         "target-rmse",
                                         "target-loss",
                                         "validation-fraction",
                                         "budget",
                                         NULL};
    const struct hr_option *row = hr_cli_option_at(hr_cli_option_find(name, HR_COMPARE)).row;
    return row && (row != hr_train_option_find(name) || is_listed(name, shared));
}

/* "torus" of gossip:torus, as --strategy has it. */
static enum hr_status read_parameters(char *setting, struct hr_cli *own)
{
    char named[sizeof own->train.gossip_graph + sizeof own->train.strategy];
    struct hr_parameters cut;
    snprintf(named, sizeof named, "%s:%s", own->train.strategy, hr_entry_bare(setting));
    HR_TRY(hr_parameters_cut(hr_train_option_find("strategy"), named, "--strategies: ", &cut));
    for (size_t k = 0; k < cut.n; k++)
        if (cut.text[k][0])
            HR_TRY(hr_cli_set(own, HR_COMPARE, cut.row[k]->name, cut.text[k], "--strategies: "));
    return HR_OK;
}

static enum hr_status read_setting(char *setting, struct hr_cli *own)
{
    char *equals = strchr(setting, '=');
    if (!equals && hr_parameter_at(hr_train_option_find("strategy"), own->train.strategy, 0))
        return read_parameters(setting, own);
    if (!equals)
        return hr_fail(HR_E_USAGE, "--strategies: %s:%s: expected name=value behind the colon",
                       own->train.strategy, setting);
    *equals = '\0';
    if (hr_entry_is_for_all(setting))
        return hr_fail(HR_E_USAGE,
                       "--strategies: %s:%s=%s: --%s is one for all that are compared; expected "
                       "outside of the list",
                       own->train.strategy, setting, equals + 1, setting);
    return hr_cli_set(own, HR_COMPARE, setting, hr_entry_bare(equals + 1), "--strategies: ");
}

enum hr_status hr_entry_parse(const struct hr_cli *cli, char *entry, struct hr_cli *own)
{
    char *settings = entry, *setting, *strategy;
    HR_TRY(hr_entry_cut(&settings, ':', &strategy));
    *own = *cli;
    memset(own->given, 0, sizeof own->given); /* by this entry */
    if (strlen(strategy) >= sizeof own->train.strategy)
        return hr_fail(HR_E_USAGE, "--strategies: %s: there is no such strategy", strategy);
    snprintf(own->train.strategy, sizeof own->train.strategy, "%s", strategy);
    while (settings) {
        HR_TRY(hr_entry_cut(&settings, ':', &setting));
        HR_TRY(read_setting(setting, own));
    }
    hr_cli_resolve_model(own, HR_COMPARE, cli->given);
    return HR_OK;
}

/* --- telling them apart --- */

/* As the flag would have it; "" for what was not chosen. */
static void write_value(const struct hr_train_options *options, const struct hr_option *row,
                        char *text, size_t size)
{
    enum { MOST = 60 }; /* a layer list may be long */
    char value[sizeof options->model];
    hr_option_text(row, options, value, sizeof value);
    const bool is_text = row->kind == HR_OPTION_TEXT, cut = is_text && strlen(value) > MOST;
    const bool none = hr_option_zero_is_none(row) && !strcmp(value, "0");
    const bool chosen = !none && (row->kind != HR_OPTION_NUMBER || value[0] != '-');
    snprintf(text, size, "%.*s%s", cut ? MOST : (int)size, chosen ? hr_printable(value).text : "",
             cut ? "..." : "");
}

static bool differs(const struct hr_train_options *options, size_t n, size_t i,
                    const struct hr_option *row)
{
    for (size_t k = 0; k < n; k++)
        if (!hr_option_equal(row, &options[i], &options[k]))
            return true;
    return false;
}

/* Would it be taken if it stood in the entry? */
static bool means_something(const struct hr_train_options *options, const char *flag)
{
    static struct hr_cli alone;
    memset(alone.given, 0, sizeof alone.given);
    alone.given[hr_cli_option_find(flag, HR_COMPARE)] = true;
    return hr_meaning_check(&alone, options) == HR_OK;
}

void hr_entry_setting(const struct hr_train_options *options, size_t n, size_t i, char *text,
                      size_t size)
{
    static const char *const told[] = {
        "strategy",    "algorithm",          "launch",    "kernels",    "workers",
        "servers",     "placement",          "staleness", "sync-every", "gossip-graph",
        "moving-rate", "adaptive-sync",      "backups",   "batch-size", "staleness-lr",
        "optimizer",   "delay-compensation", "lr",        "async-lr",   "resume",
        "keep",        "global-batch-size",  "solver",    "outer-lr",   "outer-momentum",
        NULL};
    const struct hr_option *row;
    text[0] = '\0';
    for (size_t r = 0; (row = hr_train_option_at(r)) != NULL; r++) {
        char value[80];
        if (row->use == HR_ONCE || is_listed(row->name, told) || !differs(options, n, i, row) ||
            !means_something(&options[i], row->name))
            continue;
        write_value(&options[i], row, value, sizeof value);
        if (value[0])
            hr_append(text, size, "%s%s %s", text[0] ? ", " : "", row->name, value);
    }
}

/* --- values of a list --- */

/* Cut the next value from a list; false: there is none, or its quotes are not closed. */
static bool next_value(char **rest, char **value)
{
    if (!*rest || hr_entry_cut(rest, ',', value) != HR_OK)
        return false;
    *value += strspn(*value, " ");
    return true;
}

static bool is_quoted(const char *value)
{
    return value[0] == '"' || value[0] == '(';
}

static bool is_name(const struct hr_option *row, const char *value)
{
    const char *name;
    if (hr_cli_is_none(row, value))
        return true;
    const size_t length = hr_parameter_at(row, value, 0) ? strcspn(value, ":") : strlen(value);
    for (size_t i = 0; row->name_at && (name = row->name_at(i)) != NULL; i++)
        if (!strncmp(name, value, length) && !name[length])
            return true;
    for (const char *word = row->words; word && length; word = strchr(word, '|'))
        if (word += *word == '|', !strncmp(word, value, length) && strchr("|", word[length]))
            return true;
    return false;
}

/* The value itself may have commas: only what is quoted, or one of the names, is a value of a list.
 */
static bool may_stand_in_list(const struct hr_option *row, const char *value)
{
    return row->kind != HR_OPTION_TEXT || is_quoted(value) || is_name(row, value);
}

static bool is_for_all(const struct hr_option *row)
{
    return row->kind == HR_OPTION_FLAG || row->kind == HR_OPTION_CONFIG ||
           row->kind == HR_OPTION_OPTIONAL_TEXT || row != hr_train_option_find(row->name) ||
           hr_entry_is_for_all(row->name);
}

/* Is this a list of values of that option? Of what is one for all points there is none. */
static bool is_list(const struct hr_option *row, const char *value)
{
    char copy[HR_AXIS_BYTES], *rest = copy, *piece;
    size_t n = 0;
    if (!value || is_for_all(row) || !strchr(value, ','))
        return false;
    snprintf(copy, sizeof copy, "%s", value);
    for (; next_value(&rest, &piece); n++)
        if (!may_stand_in_list(row, piece))
            return false;
    return n > 1;
}

/* --- axes --- */

static struct hr_axis *find_axis(struct hr_cli *cli, size_t option)
{
    for (size_t a = 0; a < cli->naxes; a++)
        if (cli->axes[a].option == option)
            return &cli->axes[a];
    return NULL;
}

/* It was given a single value after all. */
static void drop_axis(struct hr_cli *cli, size_t i)
{
    struct hr_axis *axis = find_axis(cli, i);
    if (!axis)
        return;
    const size_t behind = cli->naxes-- - 1 - (size_t)(axis - cli->axes);
    memmove(axis, axis + 1, behind * sizeof *axis);
}

/* Value k of an axis, without its quotes, in `copy`. */
static const char *axis_value(const struct hr_axis *axis, size_t k, char copy[HR_AXIS_BYTES])
{
    char *rest = copy, *value = copy;
    memcpy(copy, axis->values, HR_AXIS_BYTES);
    for (size_t i = 0; i <= k; i++)
        if (!next_value(&rest, &value))
            return "";
    return hr_entry_bare(value);
}

/* Each value is one of the option, and another than those before it: the field says. */
static enum hr_status check_values(const struct hr_cli *cli, enum hr_command_bit command,
                                   struct hr_axis *axis, const char *where)
{
    static struct hr_cli one, other;
    const struct hr_cli_option option = hr_cli_option_at(axis->option);
    const char *name = option.row->name;
    char copy[HR_AXIS_BYTES], again[HR_AXIS_BYTES];
    one = other = *cli;
    for (size_t k = 0; k < axis->n; k++) {
        const char *value = axis_value(axis, k, copy);
        if (!value[0])
            return hr_fail(HR_E_USAGE, "%s--%s %s: a value of the list is missing", where, name,
                           hr_printable(axis->values).text);
        HR_TRY(hr_cli_set(&one, command, name, value, where));
        HR_TRY(hr_option_check(option.row, (char *)&one + option.base,
                               hr_sparse_is_model(one.train.model)));
        for (size_t i = 0; i < k; i++) {
            const char *before = axis_value(axis, i, again);
            HR_TRY(hr_cli_set(&other, command, name, before, where));
            if (hr_option_equal(option.row, (char *)&one + option.base,
                                (char *)&other + option.base) &&
                (!strcmp(value, before) || !(strchr(value, ':') || strchr(before, ':'))))
                return hr_fail(HR_E_USAGE, "%s--%s %s: %s is in it twice", where, name,
                               hr_printable(axis->values).text, hr_printable(value).text);
        }
    }
    return HR_OK;
}

enum hr_status hr_sweep_add(struct hr_cli *cli, enum hr_command_bit command, size_t i,
                            const char *list, const char *where)
{
    const char *name = hr_cli_option_at(i).row->name;
    struct hr_axis axis = {.option = i};
    char copy[HR_AXIS_BYTES], *rest = copy, *value;
    if (strlen(list) >= sizeof axis.values)
        return hr_fail(HR_E_USAGE, "%s--%s: the list is too long; expected less than %d characters",
                       where, name, HR_AXIS_BYTES);
    snprintf(axis.values, sizeof axis.values, "%s", list);
    memcpy(copy, axis.values, sizeof copy);
    while (next_value(&rest, &value))
        axis.n++;
    if (cli->naxes == HR_AXES)
        return hr_fail(HR_E_USAGE, "%s--%s %s: expected at most %d options with a list", where,
                       name, hr_printable(list).text, HR_AXES);
    HR_TRY(check_values(cli, command, &axis, where));
    /* Each point says its own parameters. */
    struct hr_parameters parameters;
    HR_TRY(
        hr_parameters_cut(hr_cli_option_at(i).row, axis_value(&axis, 0, copy), where, &parameters));
    HR_TRY(hr_cli_set(cli, command, name, parameters.value, where));
    cli->axes[cli->naxes++] = axis;
    return HR_OK;
}

/* One --tune beside those given before (tune.h). */
static enum hr_status add_tune(struct hr_cli *cli, const char *value, const char *where)
{
    const size_t used = strlen(cli->tune);
    const int length =
        snprintf(cli->tune + used, sizeof cli->tune - used, "%s%s", used ? ";" : "", value);
    hr_cli_mark_given(cli, "tune");
    if ((size_t)length < sizeof cli->tune - used)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s--tune %s: too long; expected less than %zu characters in all",
                   where, hr_printable(value).text, sizeof cli->tune);
}

/* What was taken for no part may have been meant as one. */
static enum hr_status refuse_value(const struct hr_option *of, unsigned command,
                                   enum hr_status status)
{
    const struct hr_option *row;
    char parts[200] = "";
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (row->part && row->with[0].values[0] && of->kind != HR_OPTION_PARTS &&
            !strcmp(row->with[0].option, of->name) && hr_option_is_of(row, command))
            hr_append(parts, sizeof parts, "%s%s%s", parts[0] ? ", " : "", row->metavar,
                      !hr_option_is_keyed(row) || row->kind == HR_OPTION_FLAG ? "" : "=");
    return parts[0] ? hr_fail(status, "%s (its parts: %s)", hr_error_message(), parts) : status;
}

enum hr_status hr_sweep_set(struct hr_cli *cli, enum hr_command_bit command, const char *name,
                            const char *value, const char *where)
{
    const size_t i = hr_cli_option_find(name, command);
    const struct hr_option *row = hr_cli_option_at(i).row;
    if (row)
        HR_TRY(hr_cli_refuse_empty(row, value, where));
    if (row && row->kind == HR_OPTION_OPTIONAL_TEXT && !strcmp(row->name, "tune"))
        return add_tune(cli, value ? value : HR_TUNE_USUAL, where); /* may be given several times */
    struct hr_option_part part = {.value = NULL};
    if (row)
        HR_TRY(hr_option_part_cut(row, command, value, &part));
    if (part.row)
        HR_TRY(hr_sweep_set(cli, command, part.row->name, part.value, where));
    if (part.row)
        return part.before[0] ? hr_sweep_set(cli, command, name, part.before, where) : HR_OK;
    const bool list = row && is_list(row, value);
    if (row)
        drop_axis(cli, i);
    if (list && command & (HR_COMPARE | HR_BENCH_TRAIN | HR_FORECAST))
        return hr_sweep_add(cli, command, i, value, where);
    const enum hr_status status = hr_cli_set(cli, command, name, value, where);
    if (status != HR_OK && list && command == HR_TRAIN && !strchr(value, '='))
        return hr_fail(status, "%s (hogring compare takes several)", hr_error_message());
    return status == HR_E_USAGE && row && value && strpbrk(value, ",;:=")
               ? refuse_value(row, command, status)
               : status;
}

bool hr_sweep_has(const struct hr_cli *cli, const char *name)
{
    for (size_t a = 0; a < cli->naxes; a++)
        if (!strcmp(hr_cli_option_at(cli->axes[a].option).row->name, name))
            return true;
    return false;
}

static json_t *axis_json(const struct hr_cli *cli, enum hr_command_bit command,
                         const struct hr_axis *axis)
{
    static struct hr_cli one;
    const struct hr_cli_option option = hr_cli_option_at(axis->option);
    json_t *values = json_array();
    char copy[HR_AXIS_BYTES];
    one = *cli;
    for (size_t k = 0; k < axis->n; k++)
        if (hr_cli_set(&one, command, option.row->name, axis_value(axis, k, copy), "") != HR_OK ||
            json_array_append_new(values, hr_option_json(option.row, (char *)&one + option.base))) {
            json_decref(values);
            return NULL;
        }
    return values;
}

json_t *hr_sweep_json(const struct hr_cli *cli, enum hr_command_bit command)
{
    json_t *lists = json_object();
    for (size_t a = 0; a < cli->naxes; a++)
        if (json_object_set_new(lists, hr_cli_option_at(cli->axes[a].option).row->name,
                                axis_json(cli, command, &cli->axes[a])) != 0) {
            json_decref(lists);
            return NULL;
        }
    return lists;
}

/* As hr_option_text, but that a duration has its unit, and a list all its values. */
static json_t *given_json(struct hr_cli *cli, size_t i)
{
    const struct hr_cli_option option = hr_cli_option_at(i);
    const struct hr_axis *axis = find_axis(cli, i);
    const bool unit = option.row->kind == HR_OPTION_DURATION;
    char text[HR_AXIS_BYTES + 2048];
    if (axis)
        return hr_json_text(axis->values);
    hr_option_text(option.row, (const char *)cli + option.base, text, sizeof text);
    if (unit)
        strcat(text, "s");
    return hr_json_text(text);
}

json_t *hr_sweep_given(const struct hr_cli *cli)
{
    static struct hr_cli copy;
    const struct hr_option *row;
    json_t *given = json_object();
    copy = *cli;
    for (size_t i = 0; given && (row = hr_cli_option_at(i).row) != NULL; i++)
        if (cli->given[i] && row->kind != HR_OPTION_PARTS &&
            json_object_set_new(given, row->name, given_json(&copy, i)) != 0) {
            json_decref(given);
            given = NULL;
        }
    return given;
}

size_t hr_sweep_points(const struct hr_cli *cli)
{
    size_t points = 1;
    for (size_t a = 0; a < cli->naxes; a++)
        points *= cli->axes[a].n; /* lists are short: no overflow in HR_AXES of them */
    return points;
}

static void append_value(char *text, size_t size, const char *name, const struct hr_axis *axis,
                         size_t k)
{
    char copy[HR_AXIS_BYTES];
    const char *value = axis_value(axis, k, copy), *quote = strchr(value, ':') ? "\"" : "";
    hr_append(text, size, ":%s=%s%s%s", name, quote, hr_printable(value).text, quote);
}

enum hr_status hr_sweep_point(const struct hr_cli *cli, enum hr_command_bit command, size_t k,
                              struct hr_cli *own, bool *wanted, char *text, size_t size)
{
    size_t index[HR_AXES];
    bool fixed[HR_AXES];
    for (size_t a = cli->naxes; a-- > 0; k /= cli->axes[a].n) {
        char copy[HR_AXIS_BYTES];
        const struct hr_axis *axis = &cli->axes[a];
        index[a] = k % axis->n;
        fixed[a] = own->given[axis->option];
        if (!fixed[a])
            HR_TRY(hr_cli_set(own, command, hr_cli_option_at(axis->option).row->name,
                              axis_value(axis, index[a], copy), ""));
    }
    hr_cli_resolve_model(own, command, cli->given);
    *wanted = true;
    text[0] = '\0';
    for (size_t a = 0; a < cli->naxes; a++) {
        const size_t option = cli->axes[a].option;
        const struct hr_option *row = hr_cli_option_at(option).row;
        const bool obeyed = !fixed[a] && hr_option_is_obeyed(row, &own->train);
        own->given[option] = fixed[a] || obeyed;
        if (obeyed)
            append_value(text, size, row->name, &cli->axes[a], index[a]);
        *wanted = *wanted && (obeyed || index[a] == 0);
    }
    return HR_OK;
}

/* --- what --tune asks for --- */

enum { USUAL = 8, MOST = 32 }; /* values of a range */

/* --- which options --- */

static bool counts(const struct hr_option *row)
{
    return row->kind == HR_OPTION_COUNT || row->kind == HR_OPTION_COUNT64;
}

static bool may_be_tuned(const struct hr_option *row)
{
    static const char *const lengths[] = {"epochs", "epoch-size", "max-steps", "max-seconds"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!strcmp(row->name, lengths[i]))
            return false;
    return row == hr_train_option_find(row->name) && !hr_entry_is_for_all(row->name) &&
           (counts(row) || row->kind == HR_OPTION_NUMBER) && row->use != HR_ONCE;
}

static enum hr_status find_row(const struct hr_cli *cli, const char *name, size_t *option)
{
    *option = hr_cli_option_find(name, HR_COMPARE);
    const struct hr_option *row = hr_cli_option_at(*option).row;
    if (!row)
        return hr_cli_option_unknown(name, HR_COMPARE, "--tune: ");
    if (!may_be_tuned(row))
        return hr_fail(HR_E_USAGE,
                       "--tune %s: cannot be tuned; expected an option that takes a number and "
                       "that an entry of --strategies may have, and not the length of a run",
                       row->name);
    if (cli->given[*option])
        return hr_fail(HR_E_USAGE,
                       "--%s: is tuned (--tune %s=...); expected one of the two, or "
                       "STRATEGY:%s=VALUE for a strategy that has its own",
                       row->name, row->name, row->name);
    return HR_OK;
}

/* --- ranges --- */

static bool parse_range(const char *values, double *from, double *to, uint64_t *n)
{
    char copy[HR_AXIS_BYTES], *high, *count;
    snprintf(copy, sizeof copy, "%s", values);
    high = strchr(copy, ':');
    *high++ = '\0';
    count = strchr(high, ':');
    *n = USUAL;
    if (count)
        *count++ = '\0';
    return hr_parse_number(copy, from) && hr_parse_number(high, to) &&
           (!count || hr_parse_count(count, n)) && *from > 0 && *to > *from && *n >= 2 &&
           *n <= MOST;
}

/* from * (to / from)^(k / (n - 1)), with two digits, or three where two would not tell them apart;
 * the ends as they are. What has become the same is left out. */
static void write_range(double from, double to, uint64_t n, bool whole, char *list, size_t size)
{
    char before[32] = "";
    const double ratio = pow(to / from, 1 / (double)(n - 1));
    const int digits = ratio < 1.1 ? 4 : 2;
    list[0] = '\0';
    for (uint64_t k = 0; k < n; k++) {
        char text[32];
        const double value = k == 0 ? from : k + 1 == n ? to : from * pow(ratio, (double)k);
        const bool end = k == 0 || k + 1 == n;
        snprintf(text, sizeof text, "%.*g", end ? 15 : digits, value);
        if (whole)
            snprintf(text, sizeof text, "%.0f", value);
        else if (!end)
            snprintf(text, sizeof text, "%.15g", strtod(text, NULL));
        if (strcmp(text, before) != 0)
            hr_append(list, size, "%s%s", list[0] ? "," : "", text);
        snprintf(before, sizeof before, "%s", text);
    }
}

static enum hr_status list_of(const struct hr_option *row, const char *values, char *list,
                              size_t size)
{
    double from, to;
    uint64_t n;
    if (!strchr(values, ':')) {
        snprintf(list, size, "%s", values);
        return HR_OK;
    }
    if (!parse_range(values, &from, &to, &n))
        return hr_fail(HR_E_USAGE,
                       "--tune %s=%s: expected LOW:HIGH, as 0.005:0.5, LOW above 0 and below HIGH, "
                       "or LOW:HIGH:COUNT with 2 to %d values",
                       row->name, hr_printable(values).text, MOST);
    write_range(from, to, n, counts(row), list, size);
    return HR_OK;
}

/* --- axes --- */

static enum hr_status add_axis(const struct hr_cli *cli, char *text, struct hr_cli *tuned)
{
    char list[HR_AXIS_BYTES * 2];
    char *values = strchr(text, '=');
    size_t option;
    text += strspn(text, " ");
    if (!strcmp(text, HR_TUNE_USUAL))
        return hr_fail(HR_E_USAGE,
                       "--tune: given with values and without: expected one of the two");
    if (!values || values == text)
        return hr_fail(HR_E_USAGE, "--tune %s: expected NAME=VALUES, as lr=0.005:0.5",
                       hr_printable(text).text);
    *values++ = '\0';
    HR_TRY(find_row(cli, text, &option));
    const struct hr_option *row = hr_cli_option_at(option).row;
    if (hr_sweep_has(tuned, row->name))
        return hr_fail(HR_E_USAGE, "--tune %s: given twice; expected one list or range", row->name);
    if (strlen(values) >= HR_AXIS_BYTES)
        return hr_fail(HR_E_USAGE, "--tune %s: the list is too long", row->name);
    HR_TRY(list_of(row, values, list, sizeof list));
    HR_TRY(hr_sweep_set(tuned, HR_COMPARE, row->name, list, "--tune: "));
    if (hr_sweep_has(tuned, row->name))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--tune %s=%s: a single value leaves nothing to choose; expected a range or a "
                   "list",
                   row->name, hr_printable(values).text);
}

/* --- a bare --tune --- */

/* The rate that a run of these options has; not above 0: none that can be multiplied. */
static double rate_of(const struct hr_train_options *options)
{
    struct hr_train_options whole = *options;
    if (options->lr < 0 && hr_sparse_is_model(options->model))
        return hr_sparse_usual_rate(options->model);
    return options->lr > 0 || hr_train_complete(&whole) != HR_OK ? options->lr : whole.lr;
}

/* Large batches want larger rates, and so does momentum 0; staleness wants smaller ones. nesterov
 * is nothing without momentum. */
enum hr_status hr_tune_usual_axes(const struct hr_cli *cli, const struct hr_train_options *options,
                                  struct hr_cli *tuned)
{
    char list[HR_AXIS_BYTES] = "";
    const double rate = rate_of(options);
    *tuned = *cli;
    tuned->naxes = 0;
    for (int k = -3; k <= 4; k++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%.15g", k > -3 ? "," : "",
                 ldexp(rate, k));
    if (rate > 0)
        HR_TRY(hr_sweep_set(tuned, HR_COMPARE, "lr", list, "--tune: "));
    snprintf(list, sizeof list, "0,%.15g", options->momentum);
    if (rate > 0 && options->momentum > 0 && !options->nesterov &&
        hr_option_is_obeyed(hr_train_option_find("momentum"), options))
        HR_TRY(hr_sweep_set(tuned, HR_COMPARE, "momentum", list, "--tune: "));
    return HR_OK;
}

/* --- all that is asked --- */

enum hr_status hr_tune_axes(const struct hr_cli *cli, struct hr_cli *tuned)
{
    char copy[sizeof cli->tune], *rest = copy;
    *tuned = *cli;
    tuned->naxes = 0;
    if (hr_tune_is_usual(cli)) { /* which they are; the values are each entry's own */
        HR_TRY(hr_sweep_set(tuned, HR_COMPARE, "lr", "1,2", ""));
        return hr_sweep_set(tuned, HR_COMPARE, "momentum", "0,0.9", "");
    }
    memcpy(copy, cli->tune, sizeof copy);
    while (rest) {
        char *text = rest, *end = strchr(rest, ';');
        rest = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        HR_TRY(add_axis(cli, text, tuned));
    }
    return HR_OK;
}
