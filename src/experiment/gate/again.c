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

/* What a baseline decides of the runs that repeat it: what its options decide, but for those that
 * mean nothing without one that it does not decide, as --keep (a save changes no bit). Digests of
 * steps write nothing, and find the step where bits part. */
static bool is_taken(const struct hr_option *row)
{
    const struct hr_option *needed =
        row->needs.option ? hr_train_option_find(row->needs.option) : NULL;
    return (hr_option_is_recipe(row, true) && (!needed || hr_option_is_recipe(needed, true))) ||
           !strcmp(row->name, "digest-every");
}

/* Its option of that name. HR_E_FORMAT: there is none, and what a command line would make of the
 * word is nobody's to guess. */
static enum hr_status find_option(const struct hr_gate_document *document, const char *name,
                                  const struct hr_option **out)
{
    const bool several = !strcmp(hr_gate_command(document), "compare");
    *out = hr_cli_option_at(hr_cli_option_find(name, several ? HR_COMPARE : HR_TRAIN)).row;
    if (*out)
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: \"given\" has \"%s\", which is no option of hogring %s",
                   document->name, hr_printable(name).text, hr_gate_command(document));
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

static enum hr_status check_setting(const struct hr_gate_document *document, const char *name,
                                    const char *setting)
{
    for (size_t i = 0; i < nnever; i++)
        if (!strcmp(name, never[i].name))
            return hr_fail(HR_E_USAGE,
                           "%s: an entry of --strategies has %s: %s; no gate runs it again",
                           document->name, hr_printable(setting).text, never[i].why);
    return HR_OK;
}

/* An entry of --strategies, with those of its settings, behind colons, that are taken. */
static enum hr_status copy_entry(const struct hr_gate_document *document, char *entry, FILE *out,
                                 struct hr_passed_over *over)
{
    char *settings = entry, *setting;
    const struct hr_option *row;
    HR_TRY(hr_entry_cut(&settings, ':', &setting));
    fputs(setting, out);
    while (settings) {
        char name[64];
        HR_TRY(hr_entry_cut(&settings, ':', &setting));
        snprintf(name, sizeof name, "%.*s", (int)strcspn(setting, "="), setting);
        HR_TRY(find_option(document, name, &row));
        HR_TRY(check_setting(document, name, setting));
        if (is_taken(row))
            fprintf(out, ":%s", setting);
        else
            hr_passed_over_add(over, name);
    }
    return HR_OK;
}

static enum hr_status copy_entries(const struct hr_gate_document *document, char *entries,
                                   FILE *out, struct hr_passed_over *over)
{
    for (char *rest = entries, *entry; rest;) {
        HR_TRY(hr_entry_cut(&rest, ',', &entry));
        if (entry != entries)
            fputc(',', out);
        HR_TRY(copy_entry(document, entry, out, over));
    }
    return HR_OK;
}

static enum hr_status take_entries(const struct hr_gate_document *document, json_t *given,
                                   struct hr_passed_over *over)
{
    char *const entries = strdup(hr_gate_text(given, "strategies")), *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    enum hr_status status =
        entries && out ? copy_entries(document, entries, out, over) : HR_E_NOMEM;
    if ((out && fclose(out) != 0) || status == HR_E_NOMEM ||
        (status == HR_OK && json_object_set_new(given, "strategies", json_string(text))))
        status = hr_fail(HR_E_NOMEM, "no memory for a gate");
    free(entries);
    free(text);
    return status;
}

static enum hr_status check_repeatable(const struct hr_gate_document *document, const json_t *given)
{
    for (size_t i = 0; i < nnever; i++)
        if (json_object_get(given, never[i].name))
            return hr_fail(HR_E_USAGE, "%s: was made with --%s: %s; no gate runs it again",
                           document->name, never[i].name, never[i].why);
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
        HR_TRY(hr_gate_words_set(out, name, json_string_value(value)));
    return set_workers(document, given, out);
}

/* Switches that are off, and texts that are empty, are as nothing that was given. */
static bool says_nothing(const struct hr_option *row, const char *value)
{
    return !value[0] || (row->kind == HR_OPTION_FLAG && !strcmp(value, "off"));
}

/* Nearly every baseline has these. */
static bool is_usual(const char *name)
{
    return !strcmp(name, "json") || !strcmp(name, "quiet") || !strcmp(name, "wide") ||
           !strcmp(name, "color");
}

static enum hr_status take_given(const struct hr_gate_document *document, json_t *given, bool quiet,
                                 struct hr_passed_over *over)
{
    const struct hr_option *row;
    const char *name;
    json_t *value;
    void *next;
    if (json_object_get(given, "strategies"))
        HR_TRY(take_entries(document, given, over));
    json_object_foreach_safe(given, next, name, value)
    {
        HR_TRY(find_option(document, name, &row));
        if (!json_is_string(value))
            return hr_fail(HR_E_FORMAT, "%s: given: %s is no text", document->name, name);
        const bool nothing = says_nothing(row, json_string_value(value)), taken = is_taken(row);
        if (!nothing && !taken && !(quiet && is_usual(name)))
            hr_passed_over_add(over, name);
        if (nothing || !taken)
            json_object_del(given, row->name); /* its own name is gone with it */
    }
    return HR_OK;
}

enum hr_status hr_gate_take_given(struct hr_gate_document *document, const json_t *limits,
                                  bool quiet)
{
    json_t *given = json_object_get(document->json, "given");
    /* No warning: a baseline always says where its own JSON went. */
    struct hr_passed_over over = {.of = document->name, .level = HR_LOG_INFO};
    if (!json_is_object(given) || !hr_gate_command(document)[0])
        return hr_fail(HR_E_FORMAT,
                       "%s: does not say what was given (earlier versions did not): make it again, "
                       "or give the new runs' JSON, too",
                       document->name);
    HR_TRY(check_repeatable(document, given));
    HR_TRY(take_given(document, given, quiet, &over));
    hr_passed_over_say(&over);
    return limits && json_object_update(given, (json_t *)(uintptr_t)limits)
               ? hr_fail(HR_E_NOMEM, "no memory for a gate")
               : HR_OK;
}

enum hr_status hr_gate_words_of(const struct hr_gate_document *document, struct hr_gate_words *out)
{
    *out = (struct hr_gate_words){0};
    const enum hr_status status = fill(document, json_object_get(document->json, "given"), out);
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
