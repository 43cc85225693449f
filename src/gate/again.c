#include "gate/again.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "options/budget.h"
#include "options/command_line.h"
#include "options/entries.h"
#include "options/sweep.h"

/* Of the command's own: where it writes, and what it looks like. A save changes no bit. */
static bool is_output(const char *name)
{
    static const char *const names[] = {
        "json",        "plot",          "report",         "timeline",  "timeline-steps",
        "log",         "log-every",     "tensorboard",    "export",    "quiet",
        "wide",        "color",         "checkpoint-dir", "keep",      "checkpoint-every",
        "keep-best",   "overwrite",     "calibrate",      "config",    "expect-accuracy",
        "expect-rmse", "expect-digest", "stall-warn",     "concurrent"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static const struct never {
    const char *name, *why;
} never[] = {
    {"resume", "it went on from a checkpoint, which is not in it"},
    {"orders", "a seed has several runs in it"},
    {"record", "it was recorded, and hogring replay repeats it"},
    {"max-seconds", "the clock ended it; expected --max-steps"},
};
static const size_t nnever = sizeof never / sizeof *never;

/* An entry of --strategies has settings of its own, behind colons. */
static enum hr_status check_entry(const struct hr_gate_document *document, char *entry)
{
    char *settings = entry, *setting;
    HR_TRY(hr_entry_cut(&settings, ':', &setting));
    while (settings) {
        HR_TRY(hr_entry_cut(&settings, ':', &setting));
        for (size_t i = 0; i < nnever; i++) {
            const size_t length = strlen(never[i].name);
            if (!strncmp(setting, never[i].name, length) && setting[length] == '=')
                return hr_fail(HR_E_USAGE,
                               "%s: an entry of --strategies has %s: %s; no gate runs it again",
                               document->name, hr_printable(setting).text, never[i].why);
        }
    }
    return HR_OK;
}

static enum hr_status check_entries(const struct hr_gate_document *document, const char *strategies)
{
    char *const copy = strdup(strategies), *rest = copy, *entry;
    enum hr_status status = copy ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a gate");
    while (rest && status == HR_OK) {
        status = hr_entry_cut(&rest, ',', &entry);
        if (status == HR_OK)
            status = check_entry(document, entry);
    }
    free(copy);
    return status;
}

static enum hr_status check_repeatable(const struct hr_gate_document *document, const json_t *given)
{
    for (size_t i = 0; i < nnever; i++)
        if (json_object_get(given, never[i].name))
            return hr_fail(HR_E_USAGE, "%s: was made with --%s: %s; no gate runs it again",
                           document->name, never[i].name, never[i].why);
    HR_TRY(check_entries(document, hr_gate_text(given, "strategies")));
    const bool real = strcmp(hr_gate_text(given, "clock"), "virtual") != 0;
    struct hr_budget budget = {HR_BUDGET_NONE, 0};
    if (hr_budget_parse(hr_gate_text(given, "budget"), &budget) && real &&
        budget.unit == HR_BUDGET_SECONDS)
        return hr_fail(HR_E_USAGE,
                       "%s: was made with --budget in seconds: the clock ended it; "
                       "no gate runs it again",
                       document->name);
    return HR_OK;
}

static enum hr_status add_word(struct hr_gate_words *words, char *word)
{
    if (!word)
        return hr_fail(HR_E_NOMEM, "no memory for a command line");
    if (words->n == HR_GATE_WORDS_MAX) {
        free(word);
        return hr_fail(HR_E_FORMAT, "more than %d options were given", HR_GATE_WORDS_MAX);
    }
    words->word[words->n++] = word;
    return HR_OK;
}

/* "--lr=0.1"; of a switch "--normalize", which NULL stands for "off" of. */
static char *spell(const char *name, const char *value)
{
    const struct hr_option *row = hr_cli_option_at(hr_cli_option_find(name, HR_COMPARE)).row;
    const bool is_switch = row && row->kind == HR_OPTION_FLAG;
    char *text = NULL;
    if (asprintf(&text, is_switch ? "--%s" : "--%s=%s", name, value) < 0)
        return NULL;
    return text;
}

static bool is_named(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return !strncmp(word, "--", 2) && !strncmp(word + 2, name, length) &&
           (word[2 + length] == '=' || word[2 + length] == '\0');
}

enum hr_status hr_gate_words_set(struct hr_gate_words *words, const char *name, const char *value)
{
    size_t kept = 0;
    for (size_t i = 0; i < words->n; i++)
        if (is_named(words->word[i], name))
            free(words->word[i]);
        else
            words->word[kept++] = words->word[i];
    words->n = kept;
    return value ? add_word(words, spell(name, value)) : HR_OK;
}

/* As many workers as there were: else it is as many as there are processors. */
static enum hr_status set_workers(const struct hr_gate_document *document, const json_t *given,
                                  struct hr_gate_words *out)
{
    char text[32];
    const double workers = hr_gate_number(hr_gate_run_at(document, 0), "workers");
    if (json_object_get(given, "workers") || !(workers >= 1))
        return HR_OK;
    for (size_t i = 1; i < hr_gate_nruns(document); i++)
        if (hr_gate_number(hr_gate_run_at(document, i), "workers") < workers ||
            hr_gate_number(hr_gate_run_at(document, i), "workers") > workers)
            return HR_OK; /* entries of compare have their own */
    snprintf(text, sizeof text, "%.0f", workers);
    return hr_gate_words_set(out, "workers", text);
}

static enum hr_status fill(const struct hr_gate_document *document, const json_t *given,
                           struct hr_gate_words *out)
{
    const char *name;
    json_t *value;
    HR_TRY(add_word(out, strdup(hr_gate_command(document))));
    json_object_foreach((json_t *)given, name, value)
    {
        const char *text = json_string_value(value);
        if (!text)
            return hr_fail(HR_E_FORMAT, "%s: given: %s is no text", document->name,
                           hr_printable(name).text);
        const struct hr_option *row = hr_cli_option_at(hr_cli_option_find(name, HR_COMPARE)).row;
        const bool is_off = row && row->kind == HR_OPTION_FLAG && !strcmp(text, "off");
        if (!is_output(name) && !is_off)
            HR_TRY(hr_gate_words_set(out, name, text));
    }
    return set_workers(document, given, out);
}

enum hr_status hr_gate_words_of(const struct hr_gate_document *document, struct hr_gate_words *out)
{
    const json_t *given = json_object_get(document->json, "given");
    *out = (struct hr_gate_words){0};
    if (!json_is_object(given) || !hr_gate_command(document)[0])
        return hr_fail(HR_E_FORMAT,
                       "%s: does not say what was given (earlier versions did not): make it again, "
                       "or give the new runs' JSON, too",
                       document->name);
    HR_TRY(check_repeatable(document, given));
    const enum hr_status status = fill(document, given, out);
    if (status != HR_OK)
        hr_gate_words_free(out);
    return status;
}

enum hr_status hr_gate_words_cut(struct hr_gate_words *words, const char *seed, uint64_t step,
                                 uint64_t every)
{
    char text[32];
    HR_TRY(hr_gate_words_set(words, "seed", seed));
    HR_TRY(hr_gate_words_set(words, "seeds", NULL));
    snprintf(text, sizeof text, "%" PRIu64, step);
    if (step)
        HR_TRY(hr_gate_words_set(words, "max-steps", text));
    snprintf(text, sizeof text, "%" PRIu64, every);
    return hr_gate_words_set(words, "digest-every", every ? text : NULL);
}

void hr_gate_words_free(struct hr_gate_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->word[i]);
    words->n = 0;
}
