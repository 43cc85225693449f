/* How the runs were made: the command that makes them again, what was chosen, and on what machine.
 *
 * What was chosen is what differs from the defaults of this version; everything is listed too. */
#include "page/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "json/documents.h"
#include "page/html.h"

bool hr_settings_there(const struct hr_view *view)
{
    return view->nsources > 0;
}

/* --- the command --- */

static void write_word(FILE *out, const char *word)
{
    char *text = malloc(HR_SHELL_WORD(strlen(word)));
    if (text)
        hr_html_text(out, hr_shell_word(word, text));
    free(text);
}

static void write_command(FILE *out, const json_t *document)
{
    size_t i;
    const json_t *word, *command = hr_field_list(document, "command");
    if (!json_array_size(command))
        return;
    fputs("<div class=\"command\">\n<pre tabindex=\"0\"><code>", out);
    json_array_foreach(command, i, word)
    {
        if (i)
            fputc(' ', out);
        write_word(out, json_is_string(word) ? json_string_value(word) : "");
    }
    fputs("</code></pre>\n</div>\n", out);
}

/* --- options --- */

static void say_value(FILE *out, const json_t *value)
{
    char number[HR_NUMBER_MAX];
    if (json_is_string(value))
        hr_html_text(out, json_string_value(value));
    else if (json_is_number(value))
        hr_html_text(out, hr_number_text(number, json_number_value(value), 10));
    else
        hr_html_text(out, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "–");
}

/* Several values: of compare, where an option is a list. */
static void write_value(FILE *out, const json_t *value)
{
    size_t i;
    const json_t *one;
    fputs("<td>", out);
    json_array_foreach(value, i, one)
    {
        fputs(i ? ", " : "", out);
        say_value(out, one);
    }
    if (!json_is_array(value))
        say_value(out, value);
    fputs("</td>", out);
}

/* 1 and 1.0 are one number. */
static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static void begin_options(FILE *out, const char *caption, bool with_default)
{
    hr_html_table(out, caption, "text");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "option", false);
    hr_html_column(out, "value", false);
    if (with_default)
        hr_html_column(out, "default", false);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
}

static void write_option(FILE *out, const char *key, const json_t *value, const json_t *by_default,
                         bool with_default)
{
    char name[128];
    snprintf(name, sizeof name, "--%s", key);
    fputs("<tr>", out);
    hr_html_row_head(out, name);
    write_value(out, value);
    if (with_default)
        write_value(out, by_default);
    fputs("</tr>\n", out);
}

static void write_options(FILE *out, const json_t *config, const json_t *defaults)
{
    const char *key;
    const json_t *value;
    bool begun = false;
    json_object_foreach((json_t *)config, key, value)
    {
        const json_t *by_default = json_object_get(defaults, key);
        if (json_is_object(value) || (by_default && same(value, by_default)) ||
            (!by_default && json_is_null(value)))
            continue;
        if (!begun)
            begin_options(out, "Options that differ from their defaults", true);
        begun = true;
        write_option(out, key, value, by_default, true);
    }
    if (begun)
        hr_html_table_end(out);
    hr_html_details(out, "All options");
    begin_options(out, "All options", false);
    json_object_foreach((json_t *)config, key, value)
    {
        if (!json_is_object(value))
            write_option(out, key, value, NULL, false);
    }
    hr_html_table_end(out);
    hr_html_details_end(out);
}

/* --- lists of terms --- */

static void write_term(FILE *out, const char *name, const json_t *value)
{
    char number[HR_NUMBER_MAX];
    if (!json_is_string(value) && !json_is_number(value))
        return;
    fputs("<div><dt>", out);
    for (const char *c = name; *c && strcmp(c, "_bytes") != 0; c++) {
        const char one[] = {*c == '_' ? ' ' : *c, 0};
        if ((unsigned char)*c < 0x80)
            hr_html_text(out, one);
    }
    fputs("</dt><dd>", out);
    if (json_is_string(value))
        hr_html_text(out, json_string_value(value));
    else if (!strcmp(name, "memory_bytes"))
        fprintf(out, "%.1f GiB", json_number_value(value) / 1073741824.0);
    else
        fputs(hr_number_text(number, json_number_value(value), 6), out);
    fputs("</dd></div>\n", out);
}

static void write_terms(FILE *out, const char *title, const json_t *object)
{
    const char *key;
    const json_t *value;
    if (!json_is_object(object))
        return;
    fputs("<h3>", out);
    hr_html_text(out, title);
    fputs("</h3>\n<dl>\n", out);
    json_object_foreach((json_t *)object, key, value)
    {
        write_term(out, key, value);
    }
    fputs("</dl>\n", out);
}

/* What runs have in common: of the first. */
static void write_run(FILE *out, const json_t *document)
{
    static const char *const keys[] = {"model",   "params", "optimizer",
                                       "kernels", "launch", "clock"};
    const json_t *run = json_array_get(json_object_get(document, "runs"), 0);
    if (!run)
        return;
    fputs("<h3>Model</h3>\n<dl>\n", out);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        write_term(out, keys[k], json_object_get(run, keys[k]));
    fputs("</dl>\n", out);
}

static void write_source(FILE *out, const struct hr_view *view, size_t s, const json_t *defaults)
{
    const json_t *document = view->source[s].document;
    const json_t *config = hr_field_object(document, "config");
    if (view->nsources > 1) {
        hr_html_details(out, "%s", view->source[s].name);
    }
    write_command(out, document);
    write_run(out, document);
    write_terms(out, "Data", hr_field_object(config, "data"));
    if (config)
        write_options(out, config, defaults);
    write_terms(out, "Machine", hr_field_object(document, "machine"));
    fputs("<p class=\"note\">", out);
    hr_html_say(out, "hogring %s%s%s", hr_field_text(document, "hogring"),
                hr_field_text(document, "date")[0] ? ", " : "", hr_field_text(document, "date"));
    fputs("</p>\n", out);
    if (view->nsources > 1)
        hr_html_details_end(out);
}

enum hr_status hr_settings_write(FILE *out, const struct hr_view *view)
{
    json_t *defaults = hr_json_default_options();
    if (!defaults)
        return hr_fail(HR_E_NOMEM, "no memory for the defaults of options");
    hr_html_section(out, "settings", "How it was made");
    for (size_t s = 0; s < view->nsources; s++)
        write_source(out, view, s, defaults);
    hr_html_section_end(out);
    json_decref(defaults);
    return HR_OK;
}
