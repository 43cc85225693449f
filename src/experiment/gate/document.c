#include "gate/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "options/budget.h"
#include "options/command_line.h"
#include "options/nearest.h"
#include "options/sweep.h"
#include "options/train_options.h"

static const size_t cap = (size_t)1 << 28; /* bytes of a document */

/* --- fields --- */

void hr_gate_seed(const json_t *run, char text[24])
{
    const json_t *seed = json_object_get(run, "seed");
    if (json_is_integer(seed))
        snprintf(text, 24, "%" PRId64, (int64_t)json_integer_value(seed));
    else
        snprintf(text, 24, "%.20s", json_is_string(seed) ? json_string_value(seed) : "");
}

const char *hr_gate_command(const struct hr_gate_document *document)
{
    const char *word =
        json_string_value(json_array_get(json_object_get(document->json, "command"), 1));
    static const char *const known[] = {"train", "compare", "simulate"};
    for (size_t i = 0; word && i < sizeof known / sizeof *known; i++)
        if (!strcmp(word, known[i]))
            return known[i];
    return "";
}

/* --- runs --- */

size_t hr_gate_nruns(const struct hr_gate_document *document)
{
    return json_array_size(json_object_get(document->json, "runs"));
}

const json_t *hr_gate_run_at(const struct hr_gate_document *document, size_t i)
{
    return json_array_get(json_object_get(document->json, "runs"), i);
}

const json_t *hr_gate_runs_of(const struct hr_gate_document *document, const char *label)
{
    return json_object_get(document->labels, label);
}

const json_t *hr_gate_run_find(const struct hr_gate_document *document, const char *label,
                               const char *seed)
{
    return json_object_get(hr_gate_runs_of(document, label), seed);
}

const char *hr_gate_failure(const struct hr_gate_document *document, const char *label,
                            const char *seed)
{
    const json_t *failed = json_object_get(document->json, "failed");
    const char *message = NULL;
    for (size_t i = 0; i < json_array_size(failed); i++) {
        const json_t *one = json_array_get(failed, i);
        char own[24];
        hr_gate_seed(one, own);
        if (!strcmp(own, seed) &&
            !strncmp(hr_json_text_at(one, "label"), label, strcspn(label, " ")))
            message = hr_json_text_at(one, "message");
    }
    return message;
}

/* --- checks --- */

/* Three numbers with points between, as far as they are there. */
static bool is_later(const char *version, const char *than)
{
    unsigned a[3] = {0}, b[3] = {0};
    if (sscanf(version, "%u.%u.%u", &a[0], &a[1], &a[2]) < 1 ||
        sscanf(than, "%u.%u.%u", &b[0], &b[1], &b[2]) < 1)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] > b[i];
    return false;
}

static enum hr_status check_kind(const struct hr_gate_document *document)
{
    const json_t *json = document->json;
    const char *version = hr_json_text_at(json, "hogring"), *name = document->name;
    if (!json_is_object(json) || !version[0])
        return hr_fail(HR_E_FORMAT, "%s: not a document of hogring's --json", name);
    if (is_later(version, HR_VERSION))
        return hr_fail(HR_E_FORMAT,
                       "%s: was written by hogring %s, which is later than this, %s; expected one "
                       "of this version or an earlier one",
                       name, hr_printable(version).text, HR_VERSION);
    if (!json_is_array(json_object_get(json, "runs")) ||
        !json_is_object(json_object_get(json, "config")))
        return hr_fail(HR_E_FORMAT,
                       "%s: has no runs of training; expected --json of train, compare or simulate",
                       name);
    if (json_is_object(json_object_get(json, "search")))
        return hr_fail(HR_E_FORMAT,
                       "%s: was written by simulate --search: its runs are the search's own; "
                       "expected --json of train, compare, or simulate without --search",
                       name);
    const char *word = json_string_value(json_array_get(json_object_get(json, "command"), 1));
    if (word && !hr_gate_command(document)[0])
        return hr_fail(
            HR_E_FORMAT,
            "%s: was written by hogring %s; expected --json of train, compare or simulate", name,
            hr_printable(word).text);
    return HR_OK;
}

/* Among those of its label. */
static enum hr_status note_run(struct hr_gate_document *document, const char *label,
                               const char *seed, json_t *run)
{
    json_t *seeds = json_object_get(document->labels, label);
    if (!seeds && !json_object_set_new(document->labels, label, json_object()))
        seeds = json_object_get(document->labels, label);
    if (json_object_get(seeds, seed))
        return hr_fail(HR_E_FORMAT,
                       hr_json_number_at(run, "event_order") > 1
                           ? "%s: was made with --orders: %s has several runs with seed %s, and a "
                             "gate judges one; expected runs without --orders"
                           : "%s: has %s, seed %s, twice",
                       document->name, hr_printable(label).text, hr_printable(seed).text);
    return json_object_set(seeds, seed, run) ? hr_fail(HR_E_NOMEM, "no memory for a gate") : HR_OK;
}

static enum hr_status check_run(struct hr_gate_document *document, size_t i)
{
    json_t *run = json_array_get(json_object_get(document->json, "runs"), i);
    static const char *const texts[] = {"label", "strategy", "weights_digest"};
    char seed[24];
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        if (!hr_json_text_at(run, texts[t])[0])
            return hr_fail(HR_E_FORMAT,
                           "%s: runs[%zu] has no \"%s\", so it cannot be judged (earlier versions "
                           "had none): make it again",
                           document->name, i, texts[t]);
    hr_gate_seed(run, seed);
    if (!seed[0])
        return hr_fail(HR_E_FORMAT, "%s: runs[%zu] has no \"seed\"", document->name, i);
    const char *label = hr_json_text_at(run, "label");
    if (json_is_true(json_object_get(run, "interrupted")))
        return hr_fail(HR_E_FORMAT, "%s: %s, seed %s, was interrupted; expected whole runs",
                       document->name, hr_printable(label).text, hr_printable(seed).text);
    return note_run(document, label, seed, run);
}

enum hr_status hr_gate_check(struct hr_gate_document *document, bool fresh)
{
    HR_TRY(check_kind(document));
    const json_t *failed = json_array_get(json_object_get(document->json, "failed"), 0);
    const size_t n = hr_gate_nruns(document);
    char seed[24];
    hr_gate_seed(failed, seed);
    if (failed && !fresh)
        return hr_fail(HR_E_FORMAT, "%s: %s, seed %s, failed; expected runs that ended well",
                       document->name, hr_printable(hr_json_text_at(failed, "label")).text,
                       hr_printable(seed).text);
    if (n == 0 && !fresh)
        return hr_fail(HR_E_FORMAT, "%s: has no runs, so there is nothing to judge by",
                       document->name);
    if (n > HR_GATE_RUNS_MAX)
        return hr_fail(HR_E_FORMAT, "%s: has %zu runs; expected at most %d", document->name, n,
                       HR_GATE_RUNS_MAX);
    json_decref(document->labels);
    document->labels = json_object();
    for (size_t i = 0; i < n; i++)
        HR_TRY(check_run(document, i));
    return HR_OK;
}

enum hr_status hr_gate_read(const char *path, bool fresh, struct hr_gate_document *out)
{
    *out = (struct hr_gate_document){.name = path};
    HR_TRY(hr_json_read(path, cap, &out->json));
    return hr_gate_check(out, fresh);
}

void hr_gate_document_free(struct hr_gate_document *document)
{
    json_decref(document->labels);
    json_decref(document->json);
    document->json = document->labels = NULL;
}

/* --- the command line again --- */

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
    {"folds", "each of its runs has other test samples"},
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
    char *const entries = strdup(hr_json_text_at(given, "strategies")), *text = NULL;
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
    const bool real = strcmp(hr_json_text_at(given, "clock"), "virtual") != 0;
    struct hr_budget budget = {HR_BUDGET_NONE, 0};
    if (hr_budget_parse(hr_json_text_at(given, "budget"), &budget) && real &&
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

/* What the words say of an option, of a switch ""; NULL: nothing. */
static const char *value_of(const struct hr_gate_words *words, const char *name)
{
    for (size_t i = 0; i < words->n; i++)
        if (is_named(words->word[i], name)) {
            const char *behind = words->word[i] + strlen("--") + strlen(name);
            return behind + (behind[0] == '=');
        }
    return NULL;
}

/* ":1,0.1" behind "--lr-schedule=step": what parameters of the value were given, up to the last. */
static void add_parameters(const struct hr_gate_words *words, const struct hr_option *row,
                           char *text, size_t size)
{
    const struct hr_option *parameter;
    const char *value = value_of(words, row->name);
    size_t n = 0;
    for (size_t k = 0; (parameter = hr_parameter_at(row, value, k)) != NULL; k++)
        n = value_of(words, parameter->name) ? k + 1 : n;
    for (size_t k = 0; k < n; k++) {
        parameter = hr_parameter_at(row, value, k);
        const char *said = value_of(words, parameter->name);
        const char *is = said && parameter->kind == HR_OPTION_FLAG ? parameter->metavar : said;
        hr_append(text, size, "%s%s", k ? "," : ":", is ? is : "");
    }
}

void hr_gate_words_say(const struct hr_gate_words *words, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < words->n; i++) {
        char name[64];
        const char *word = words->word[i];
        const size_t dashes = strspn(word, "-");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + dashes, "="), word + dashes);
        const struct hr_option *row =
            dashes ? hr_cli_option_at(hr_cli_option_find(name, HR_TRAIN | HR_COMPARE)).row : NULL;
        if (row && row->part)
            hr_append(text, size, " %s", hr_option_said(row, value_of(words, name)).text);
        if (row && row->parameter)
            continue;
        hr_append(text, size, "%s%s", i ? " " : "", word);
        if (row)
            add_parameters(words, row, text, size);
    }
}

static enum hr_status fill(const struct hr_gate_document *document, const json_t *given,
                           struct hr_gate_words *out)
{
    const char *name;
    json_t *value;
    HR_TRY(add_word(out, strdup(hr_gate_command(document))));
    json_object_foreach((json_t *)given, name, value)
        HR_TRY(hr_gate_words_set(out, name, json_string_value(value)));
    return HR_OK;
}

/* Switches that are off, texts that are empty, and a 0 that is what is had without, are as nothing
 * that was given. */
static bool says_nothing(const struct hr_option *row, const char *value)
{
    return !value[0] || (row->kind == HR_OPTION_FLAG && !strcmp(value, "off")) ||
           (hr_option_zero_is_none(row) && !strcmp(value, "0"));
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
        if (hr_gone_says_nothing(name, json_is_string(value) ? json_string_value(value) : "")) {
            json_object_del(given, name);
            continue;
        }
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

/* What a tuned comparison chose stands in its entries: nobody tunes again to judge it. */
static enum hr_status put_choices(json_t *given, const json_t *tuning)
{
    char *text = NULL;
    size_t bytes, e;
    const json_t *entry;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return hr_fail(HR_E_NOMEM, "no memory for a gate");
    json_array_foreach(json_object_get(tuning, "entries"), e, entry)
    {
        fprintf(out, "%s%s", e ? "," : "", hr_json_text_at(entry, "setting"));
    }
    const bool put =
        fclose(out) == 0 && json_object_set_new(given, "strategies", json_string(text)) == 0;
    free(text);
    json_object_del(given, "tune");
    json_object_del(given, "tune-budget");
    return put ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a gate");
}

/* As many workers as there were, else it is as many as there are processors. Where runs have
 * workers of their own, those of the others were as many as their machine had. */
static void put_workers(const struct hr_gate_document *document, json_t *given)
{
    const json_t *first = json_object_get(hr_gate_run_at(document, 0), "workers");
    const json_t *usual = json_object_get(json_object_get(document->json, "config"), "workers");
    bool differ = false;
    char text[32];
    for (size_t i = 1; i < hr_gate_nruns(document); i++)
        differ |= !json_equal(json_object_get(hr_gate_run_at(document, i), "workers"), first);
    const json_t *workers = differ ? usual : first;
    if (!json_is_integer(workers) || json_object_get(given, "workers"))
        return;
    snprintf(text, sizeof text, "%" PRId64, (int64_t)json_integer_value(workers));
    json_object_set_new(given, "workers", json_string(text));
}

enum hr_status hr_gate_take_given(struct hr_gate_document *document, const json_t *limits,
                                  bool quiet)
{
    json_t *given = json_object_get(document->json, "given");
    const json_t *tuning = json_object_get(document->json, "tuning");
    /* No warning: a baseline always says where its own JSON went. */
    struct hr_passed_over over = {.of = document->name, .level = HR_LOG_INFO};
    if (!json_is_object(given) || !hr_gate_command(document)[0])
        return hr_fail(HR_E_FORMAT,
                       "%s: does not say what was given (earlier versions did not): make it again, "
                       "or give the new runs' JSON, too",
                       document->name);
    put_workers(document, given);
    if (json_array_size(json_object_get(tuning, "entries")))
        HR_TRY(put_choices(given, tuning));
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
