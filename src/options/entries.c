#include "options/entries.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "checkpoint/safetensors.h"
#include "options/meaning.h"
#include "options/command_line.h"

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
    static const char *const shared[] = {
        "seed",   "clock", "task", "target-accuracy", "target-rmse", "validation-fraction",
        "budget", NULL};
    const struct hr_option *row = hr_cli_option_at(hr_cli_option_find(name, HR_COMPARE)).row;
    return row && (row != hr_train_option_find(name) || is_listed(name, shared));
}

static enum hr_status read_setting(char *setting, struct hr_cli *own)
{
    char *equals = strchr(setting, '=');
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
    hr_cli_settle_model(own, HR_COMPARE, cli->given);
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
    const bool chosen = row->kind != HR_OPTION_NUMBER || value[0] != '-';
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
        const size_t used = strlen(text);
        if (value[0])
            snprintf(text + used, size - used, "%s%s %s", used ? ", " : "", row->name, value);
    }
}
