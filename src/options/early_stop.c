#include "options/early_stop.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/printable.h"

/* Cuts the next piece off *rest; NULL: there is none. */
static char *next(char **rest)
{
    char *piece = *rest, *comma = piece ? strchr(piece, ',') : NULL;
    *rest = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return piece;
}

static bool parse(char *text, struct hr_early_stop *out)
{
    const char *metric = next(&text), *patience = next(&text), *delta = next(&text);
    uint64_t count;
    if (text || !patience || !hr_metric_parse(metric, &out->metric) ||
        !hr_parse_count(patience, &count) || count < 1)
        return false;
    out->patience = count;
    return !delta || hr_parse_number(delta, &out->min_delta);
}

enum hr_status hr_early_stop_parse(const char *text, struct hr_early_stop *out)
{
    char copy[sizeof((struct hr_train_options *)0)->early_stop];
    *out = (struct hr_early_stop){.asked = text[0]};
    snprintf(copy, sizeof copy, "%s", text);
    if (!out->asked || parse(copy, out))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--early-stop %s: expected METRIC,PATIENCE or METRIC,PATIENCE,MIN-DELTA: loss "
                   "or accuracy (of values rmse, mae or r2), epochs from 1, a number that is not "
                   "negative",
                   hr_printable(text).text);
}

enum hr_status hr_keep_best_parse(const char *text, struct hr_early_stop *out)
{
    *out = (struct hr_early_stop){.asked = text[0], .patience = SIZE_MAX};
    if (!out->asked || hr_metric_parse(text, &out->metric))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--keep-best %s: expected loss or accuracy (of values rmse, mae or r2)",
                   hr_printable(text).text);
}

enum hr_status hr_check_early_stop(const struct hr_train_options *options)
{
    struct hr_early_stop rule;
    return hr_early_stop_parse(options->early_stop, &rule);
}

enum hr_status hr_check_keep_best(const struct hr_train_options *options)
{
    struct hr_early_stop rule;
    return hr_keep_best_parse(options->keep_best, &rule);
}

enum hr_status hr_early_stop_fits(const struct hr_early_stop *rule, const char *option, bool values)
{
    const struct hr_metric_kind *kind = hr_metric_kind(rule->metric);
    if (!rule->asked || (values ? kind->of_values : kind->of_classes))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s: there is no %s where %s are predicted; expected %s", option,
                   kind->name, values ? "values" : "classes",
                   values ? "rmse, mae, r2 or loss" : "accuracy or loss");
}
