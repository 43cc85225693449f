#include "options/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/printable.h"
#include "options/entries.h"
#include "options/meaning.h"
#include "options/sweep.h"

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
        const size_t used = strlen(list);
        const double value = k == 0 ? from : k + 1 == n ? to : from * pow(ratio, (double)k);
        const bool end = k == 0 || k + 1 == n;
        snprintf(text, sizeof text, "%.*g", end ? 15 : digits, value);
        if (whole)
            snprintf(text, sizeof text, "%.0f", value);
        else if (!end)
            snprintf(text, sizeof text, "%.15g", strtod(text, NULL));
        if (strcmp(text, before) != 0)
            snprintf(list + used, size - used, "%s%s", used ? "," : "", text);
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
