/* The template (page.html) is copied, and what stands in {{braces}} is written in its place. What
 * is here besides is for readers without JavaScript: the conclusion, which script.js leaves as it
 * is, and a table, instead of which it draws everything. */
#include "page/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "json/documents.h"
#include "json/value.h"
#include "report/human.h"

/* assets.S: files of this folder, each ending in a 0 */
extern const char hr_page_template[], hr_page_style[], hr_page_script[];

/* --- what is shown of a run: the first of the scores that there is is the one to compare --- */

enum { SCORES = 5, SECONDS = 5, RATE, UPDATES, FIGURES };

static const struct {
    const char *key, *name;
    bool share; /* 0 to 1, shown as %, and more of it is better */
} figures[FIGURES] = {
    {"test_accuracy", "test accuracy", true}, {"validation_accuracy", "validation accuracy", true},
    {"test_rmse", "test RMSE", false},        {"test_loss", "test loss", false},
    {"train_loss", "train loss", false},      {"seconds", "seconds", false},
    {"samples_per_s", "samples/s", false},    {"updates", "updates", false}};

struct page {
    const struct hr_page_source *source;
    size_t nsources, nruns, nrows;
    const json_t **row; /* (nrows) what comparisons say of a strategy's runs, or the runs */
    bool text;          /* it is trained on: its speed is in tokens (report/human.h) */
    size_t score, best; /* the figure to compare; who has the best, nrows: nobody */
    char *data;         /* of all documents, as JSON */
    FILE *out;
};

/* --- documents may be anybody's: what is missing, or of another type, is read as nothing --- */

static const json_t *list_of(const struct page *page, size_t source, const char *key)
{
    const json_t *value = json_object_get(page->source[source].document, key);
    return json_is_array(value) ? value : NULL;
}

enum hr_status hr_page_check(const struct hr_page_source *source)
{
    const json_t *document = source->document;
    if (!json_is_object(document) || !json_is_string(json_object_get(document, "hogring")))
        return hr_fail(HR_E_FORMAT, "%s: not a document of hogring's --json", source->name);
    if ((json_is_object(json_object_get(document, "config")) && /* else they are doctor's */
         json_is_array(json_object_get(document, "runs"))) ||
        json_is_array(json_object_get(document, "rows")) ||
        json_is_array(json_object_get(document, "classes")))
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: has no runs, measurements or classes: no page", source->name);
}

/* Of a run, or the mean over those of a strategy. */
static double number_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    if (!value && !strcmp(key, "test_rmse"))
        return hr_json_number_at(json_object_get(row, "test_fit"), "rmse");
    return json_is_object(value) ? hr_json_number_at(value, "mean") : hr_json_number_at(row, key);
}

static double figure_of(const struct page *page, size_t row, size_t figure)
{
    return number_of(page->row[row],
                     figure == RATE && page->text ? "tokens_per_s" : figures[figure].key);
}

static const char *name_of(const struct page *page, size_t row)
{
    const char *label = hr_json_text_at(page->row[row], "label");
    label = label[0] ? label : hr_json_text_at(page->row[row], "strategy");
    return label[0] ? label : "run";
}

/* Into page->row, which has room for all runs. */
static void read_rows(struct page *page)
{
    for (size_t s = 0, i; s < page->nsources; s++) {
        const json_t *runs = list_of(page, s, "runs"), *row,
                     *rows = json_object_get(
                         json_object_get(page->source[s].document, "comparison"), "strategies");
        const bool compared =
            json_array_size(rows) && json_array_size(rows) <= json_array_size(runs);
        page->nruns += json_array_size(runs);
        json_array_foreach(compared ? rows : runs, i, row) page->row[page->nrows++] = row;
    }
    page->best = page->nrows;
    for (size_t r = 0; r < page->nrows; r++)
        page->text = page->text || number_of(page->row[r], "tokens_per_s") > 0;
    for (size_t f = SCORES; f-- > 0;)
        for (size_t r = 0; r < page->nrows; r++)
            page->score = isnan(figure_of(page, r, f)) ? page->score : f;
    for (size_t r = 0; r < page->nrows; r++) {
        const double x = figure_of(page, r, page->score);
        const double best =
            page->best < page->nrows ? figure_of(page, page->best, page->score) : NAN;
        if (!isnan(x) && (isnan(best) || (figures[page->score].share ? x > best : x < best)))
            page->best = r;
    }
}

/* --- text that breaks out of nothing --- */

/* Bytes of a character that HTML forbids or that turns the direction of what follows: U+0000 to
 * U+001F but tab and newline, U+007F to U+009F, U+202A to U+202E, U+2066 to U+2069; else 0. */
static size_t forbidden(const unsigned char *at)
{
    if (at[0] < ' ' || at[0] == 0x7f)
        return at[0] != '\n' && at[0] != '\t';
    if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
        return 2;
    if (at[0] == 0xe2 && at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae)
        return 3;
    return at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9 ? 3 : 0;
}

static void write_text(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        const size_t bytes = forbidden(at);
        if (bytes)
            fputs("\xef\xbf\xbd", out);
        else if (strchr("&<>\"'", *at))
            fprintf(out, "&#%d;", *at);
        else
            fputc(*at, out);
        at += bytes > 1 ? bytes - 1 : 0;
    }
}

/* As fprintf, escaped as a whole. */
__attribute__((format(printf, 2, 3))) static void say(FILE *out, const char *format, ...)
{
    char *text = NULL;
    va_list values;
    va_start(values, format);
    if (vasprintf(&text, format, values) >= 0)
        write_text(out, text);
    va_end(values);
    free(text);
}

/* "94.76", "0.1454", "2157"; a dash for what is no number */
static void say_figure(FILE *out, size_t figure, double x)
{
    char text[HR_HUMAN_MAX];
    if (isnan(x))
        fputs("–", out);
    else if (figures[figure].share)
        fprintf(out, "%.2f", 100 * x);
    else if (figure == RATE)
        fputs(hr_human_short(text, x), out);
    else if (x == floor(x) && fabs(x) < 1e15)
        fprintf(out, "%.0f", x);
    else
        fprintf(out, "%.4g", x);
}

/* --- title and conclusion --- */

/* "5 strategies on digits, 15 runs" */
static void write_title(const struct page *page)
{
    const json_t *first = page->source[0].document, *rows = list_of(page, 0, "rows");
    const char *data =
        hr_json_text_at(json_object_get(json_object_get(first, "config"), "data"), "name");
    const char *op = hr_json_text_at(json_array_get(rows, 0), "op");
    const char *of = page->nsources > 1 ? "settings" : "strategies";
    for (size_t r = 1; r < page->nrows; r++)
        of = strcmp(hr_json_text_at(page->row[r - 1], "strategy"),
                    hr_json_text_at(page->row[r], "strategy"))
                 ? of
                 : "settings";
    data = data[0] ? data : hr_json_text_at(first, "data"); /* eval's */
    const char *slash = strrchr(data, '/');
    if (page->nrows > 1)
        say(page->out, "%zu %s", page->nrows, of);
    else if (page->nrows)
        say(page->out, "%.200s", name_of(page, 0));
    else
        say(page->out, "%s%s%.200s", rows ? "Measurements" : "Results", op[0] ? " of " : "", op);
    if (page->nsources > 1)
        say(page->out, ", %zu documents", page->nsources);
    else if (data[0])
        say(page->out, " on %s", slash && slash[1] ? slash + 1 : data); /* without its folders */
    if (page->nruns > page->nrows)
        say(page->out, ", %zu runs", page->nruns);
}

/* What the document concludes, line by line; earlier versions had it among their sentences: that of
 * the score, and the one behind it. Returns how many lines that is. */
static size_t say_verdict(const struct page *page)
{
    static const char *const heads[] = {"Not like for like", "Accuracy:", "RMSE:", "Loss:"};
    const json_t *comparison = json_object_get(page->source[0].document, "comparison"), *line,
                 *conclusion = json_object_get(comparison, "conclusion");
    const bool concludes = json_is_array(conclusion);
    size_t i, n = 0;
    json_array_foreach(concludes ? conclusion : json_object_get(comparison, "sentences"), i, line)
    {
        const char *text = json_is_string(line) ? json_string_value(line) : "";
        const size_t length = strlen(text);
        bool said = length && (concludes || (n == 1 && text[length - 1] == '.'));
        for (size_t h = 0; h < 4 && n == 0 && length && !concludes; h++)
            said = said || !strncmp(text, heads[h], strlen(heads[h]));
        if (said)
            say(page->out, "%s%s", !n++ ? "" : concludes ? "\n" : " ", text);
    }
    return n;
}

static void write_conclusion(const struct page *page)
{
    const json_t *first = page->source[0].document;
    const size_t measured = json_array_size(list_of(page, 0, "rows"));
    const size_t score = page->score;
    const double accuracy = hr_json_number_at(first, "test_accuracy"); /* eval's */
    FILE *out = page->out;
    if (page->nrows > 1 && page->nsources == 1 && say_verdict(page))
        return;
    if (page->nrows > 1) {
        say(out, "%s: differences are not tested. ",
            page->nsources > 1           ? "Documents side by side"
            : page->nruns == page->nrows ? "One seed"
                                         : "Without a test");
        if (page->best < page->nrows)
            say(out, "The %s %s is that of %.200s, ", figures[score].share ? "highest" : "lowest",
                figures[score].name, name_of(page, page->best));
    } else if (page->nrows == 1) {
        const double seconds = figure_of(page, 0, SECONDS);
        const bool interrupted = json_is_true(json_object_get(page->row[0], "interrupted"));
        say(out, interrupted ? "Interrupted: %.200s" : "%.200s", name_of(page, 0));
        say(out, isnan(seconds) ? " ended" : " ended after %.3g s of training", seconds);
        say(out, page->best ? "." : " with a %s of ", figures[score].name);
    } else if (!isnan(accuracy)) {
        say(out, "Test accuracy: %.2f %%.", 100 * accuracy);
    } else {
        say(out, measured ? "%zu measurements." : "No run ended well.", measured);
    }
    if (page->best < page->nrows) {
        say_figure(out, score, figure_of(page, page->best, score));
        fputs(figures[score].share ? " %." : ".", out);
    }
}

/* --- for readers without JavaScript --- */

static void write_table(const struct page *page)
{
    const size_t columns[] = {page->score, SECONDS, RATE, UPDATES};
    FILE *out = page->out;
    if (page->nrows == 0)
        return;
    fputs("<table>\n<caption>At the end of training, means over seeds</caption>\n<thead>\n<tr>"
          "<th scope=\"col\">strategy</th>",
          out);
    for (size_t c = 0; c < 4; c++)
        fprintf(out, "<th scope=\"col\">%s%s</th>",
                columns[c] == RATE ? hr_rate_unit(page->text) : figures[columns[c]].name,
                figures[columns[c]].share ? ", %" : "");
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t r = 0; r < page->nrows; r++) {
        fputs("<tr><th scope=\"row\">", out);
        write_text(out, name_of(page, r));
        fputs("</th>", out);
        for (size_t c = 0; c < 4; c++) {
            fputs("<td>", out);
            say_figure(out, columns[c], figure_of(page, r, columns[c]));
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n", out);
}

/* --- colours of strategies --- */

/* The first five, which compare has by default, are the furthest apart for all kinds of colour
 * vision. */
const struct hr_colour hr_colours[HR_COLOURS] = {
    {"allreduce", "#0a6ab0", "#5db0f0"},
    {"ps-sync", "#c04a00", "#ff8f52"},
    {"ps-async", "#00775a", "#3fc79c"},
    {"ssp", "#a03c8c", "#e08fce"},
    {"hogwild", "#8a6500", "#dcb13c"},
    {"local-sgd", "#4a56c8", "#a3abff"},
    {"elastic-averaging", "#b02348", "#ff7f95"},
    {"backup-workers", "#5a6068", "#b5bcc3"},
    {"gossip", "#4f7a1e", "#a8d05f"},
    {"diloco", "#007f9e", "#5fd0e8"},
    {"locked", "#7a4a2b", "#d3a07c"},
    {"other", "#1c1f23", "#e7e9ea"},
};

const struct hr_colour *hr_colour_of(const char *strategy)
{
    size_t i = 0;
    while (i + 1 < HR_COLOURS && strcmp(hr_colours[i].strategy, strategy) != 0)
        i++;
    return &hr_colours[i];
}

/* --- what script.js draws from --- */

static void write_style(const struct page *page)
{
    fputs(hr_page_style, page->out);
    for (int dark = 0; dark < 2; dark++) {
        fputs(dark ? "@media (prefers-color-scheme: dark) { :root {" : ":root {", page->out);
        for (size_t i = 0; i < HR_COLOURS; i++)
            fprintf(page->out, " --s-%s: %s;", hr_colours[i].strategy,
                    dark ? hr_colours[i].on_dark : hr_colours[i].on_light);
        fputs(dark ? " } }\n" : " }\n", page->out);
    }
}

static char *data_of(const struct hr_page_source *sources, size_t n)
{
    json_t *documents = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            documents, hr_json_object("name", HR_JSON(n > 1 ? sources[i].name : ""), "document",
                                      json_incref((json_t *)sources[i].document), NULL));
    json_t *data = hr_json_object("documents", documents, NULL);
    char *text =
        json_array_size(documents) == n
            ? hr_json_dump(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17))
            : NULL;
    json_decref(data);
    return text;
}

/* "<" stands in strings alone: as \u003c it begins no tag, no comment and no end of the script. */
static void write_data(const struct page *page)
{
    const char *at = page->data;
    for (size_t plain; *at; at += plain + (at[plain] != '\0')) {
        plain = strcspn(at, "<");
        fwrite(at, 1, plain, page->out);
        fputs(at[plain] ? "\\u003c" : "", page->out);
    }
}

/* --- the page --- */

static void write_page(const struct page *page)
{
    static const struct {
        const char *name;
        void (*write)(const struct page *page); /* NULL: `text` */
        const char *text;
    } parts[] = {{"{{title}}", write_title, NULL},    {"{{conclusion}}", write_conclusion, NULL},
                 {"{{style}}", write_style, NULL},    {"{{table}}", write_table, NULL},
                 {"{{data}}", write_data, NULL},      {"{{version}}", NULL, HR_VERSION},
                 {"{{script}}", NULL, hr_page_script}};
    const size_t n = sizeof parts / sizeof *parts;
    for (const char *at = hr_page_template; *at;) {
        size_t p = 0;
        while (p < n && strncmp(at, parts[p].name, strlen(parts[p].name)) != 0)
            p++;
        if (p == n) {
            fputc(*at++, page->out);
            continue;
        }
        if (parts[p].write)
            parts[p].write(page);
        else
            fputs(parts[p].text, page->out);
        at += strlen(parts[p].name);
    }
}

enum hr_status hr_page_make(const struct hr_page_source *sources, size_t n, char **text,
                            size_t *bytes)
{
    size_t room = 1;
    struct page page = {.source = sources, .nsources = n, .data = data_of(sources, n)};
    *text = NULL;
    for (size_t s = 0; s < n; s++)
        room += json_array_size(list_of(&page, s, "runs"));
    page.row = calloc(room, sizeof *page.row);
    if (page.row)
        read_rows(&page);
    page.out = page.row && page.data ? open_memstream(text, bytes) : NULL;
    if (page.out)
        write_page(&page);
    const bool good = page.out && fclose(page.out) == 0;
    free(page.row);
    free(page.data);
    if (good)
        return HR_OK;
    free(*text);
    *text = NULL;
    return hr_fail(HR_E_NOMEM, "no memory for a page of %zu document%s", n, n == 1 ? "" : "s");
}
