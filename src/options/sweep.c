#include "options/sweep.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/printable.h"
#include "hogring/sparse.h"
#include "options/entries.h"
#include "options/meaning.h"
#include "options/tune.h"

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
    for (size_t i = 0; row->name_at && (name = row->name_at(i)) != NULL; i++)
        if (!strcmp(name, value))
            return true;
    const size_t length = strlen(value);
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
            HR_TRY(hr_cli_set(&other, command, name, axis_value(axis, i, again), where));
            if (hr_option_equal(option.row, (char *)&one + option.base,
                                (char *)&other + option.base))
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
    HR_TRY(hr_cli_set(cli, command, name, axis_value(&axis, 0, copy), where));
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

enum hr_status hr_sweep_set(struct hr_cli *cli, enum hr_command_bit command, const char *name,
                            const char *value, const char *where)
{
    const size_t i = hr_cli_option_find(name, command);
    const struct hr_option *row = hr_cli_option_at(i).row;
    if (row)
        HR_TRY(hr_cli_refuse_empty(row, value, where));
    if (row && row->kind == HR_OPTION_OPTIONAL_TEXT && !strcmp(row->name, "tune"))
        return add_tune(cli, value ? value : HR_TUNE_USUAL, where); /* may be given several times */
    const bool list = row && is_list(row, value);
    if (row)
        drop_axis(cli, i);
    if (list && command & (HR_COMPARE | HR_BENCH_TRAIN | HR_FORECAST))
        return hr_sweep_add(cli, command, i, value, where);
    const enum hr_status status = hr_cli_set(cli, command, name, value, where);
    if (status != HR_OK && list && command == HR_TRAIN)
        return hr_fail(status, "%s (hogring compare takes several)", hr_error_message());
    return status;
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
        if (cli->given[i] && json_object_set_new(given, row->name, given_json(&copy, i)) != 0) {
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
    const size_t used = strlen(text);
    snprintf(text + used, size - used, ":%s=%s", name,
             hr_printable(axis_value(axis, k, copy)).text);
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
    hr_cli_settle_model(own, command, cli->given);
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
