#include "cli/help.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/commands.h"
#include "manual/manual.h"
#include "options/nearest.h"

enum { WORDS = 12, STEM = 24, PAGES = 64, HITS = 4096, SHOWN_OPTIONS = 5, SHOWN_PLACES = 5 };

/* What is looked for: stems in small letters; of each, the option that others call so. */
struct query {
    size_t n;
    char stem[WORDS][STEM];
    const char *option[WORDS];
};

/* An option, or a place in the manual: a paragraph, an item or an example under its heading. */
struct hit {
    double has[WORDS]; /* how well it has each of the words, 0: not at all */
    double score;
    size_t at;                   /* the order in which they were met, so that equals keep it */
    const struct hr_option *row; /* or else */
    const char *page;            /* a page or a command's name */
    struct hr_span heading, term, text;
};

/* --- words --- */

static bool says_nothing(const char *word)
{
    static const char *const list[] = {
        "a",    "an",    "the",  "is",    "are",  "it",   "its",  "to",   "of",    "on",  "in",
        "for",  "with",  "and",  "or",    "do",   "does", "how",  "what", "why",   "can", "i",
        "my",   "me",    "be",   "at",    "from", "by",   "this", "that", "there", "not", "use",
        "when", "which", "will", "would", "so",   "get",  "has",  "have", "should"};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!strcmp(word, list[i]))
            return true;
    return false;
}

/* In small letters, without what only bends it: "evaluated" and "evaluation" are "evaluat". */
static void stem_of(const char *word, size_t length, char *stem)
{
    static const char *const ends[] = {"ations", "ation", "ings", "ing", "ions", "ion",
                                       "ers",    "er",    "ed",   "es",  "s",    "e"};
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < STEM; i++)
        if (isalnum((unsigned char)word[i]) || (word[i] == '-' && n))
            stem[n++] = (char)tolower((unsigned char)word[i]);
    stem[n] = '\0';
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t m = strlen(ends[i]);
        if (n >= m + 3 && !strcmp(stem + n - m, ends[i])) {
            stem[n - m] = '\0';
            return;
        }
    }
}

static struct query query_of(size_t nwords, char *const *words)
{
    struct query query = {0};
    for (size_t i = 0; i < nwords; i++) {
        struct hr_span rest = {words[i], strlen(words[i])}, word;
        while (query.n < WORDS && hr_span_word(&rest, &word)) {
            char small[64];
            size_t skipped = strspn(word.text, "-"), n = 0;
            skipped = skipped < word.length ? skipped : word.length;
            for (size_t k = skipped; k < word.length && n + 1 < sizeof small; k++)
                if (!strchr("?!.,;:\"'", word.text[k]))
                    small[n++] = (char)tolower((unsigned char)word.text[k]);
            small[n] = '\0';
            if (!n || says_nothing(small))
                continue;
            query.option[query.n] = hr_name_here(small);
            stem_of(small, n, query.stem[query.n++]);
        }
    }
    return query;
}

/* How well a text has a stem: a word that is it, or begins with it; 0: not at all. */
static double match(struct hr_span text, const char *stem)
{
    const size_t length = strlen(stem);
    struct hr_span word;
    double best = 0;
    while (best < 1 && hr_span_word(&text, &word)) {
        char other[STEM];
        while (word.length && !isalnum((unsigned char)*word.text)) {
            word.text++;
            word.length--;
        }
        stem_of(word.text, word.length, other);
        if (!strcmp(other, stem))
            best = 1;
        else if (length >= 4 && !strncmp(other, stem, length))
            best = 0.7;
        else if (strchr(other, '-') && length >= 3 && strstr(other, stem))
            best = best > 0.6 ? best : 0.6; /* a part of "early-stop" */
    }
    return best;
}

/* --- what there is --- */

struct search {
    const struct query *query;
    struct hr_manual_title title[PAGES]; /* hits point into them */
    struct hit hit[HITS];
    size_t n;
};

/* Add what has any of the words: in a name, a title, or a text; a long text has many words. */
static void consider(struct search *search, struct hit hit, struct hr_span name)
{
    const struct query *query = search->query;
    bool any = false;
    for (size_t i = 0; i < query->n; i++) {
        const double found[] = {
            hit.row && query->option[i] && !strcmp(query->option[i], hit.row->name) ? 10 : 0,
            8 * match(name, query->stem[i]), 5 * match(hit.heading, query->stem[i]),
            4 * match(hit.term, query->stem[i]),
            (hit.text.length < 400 ? 3 : 2) * match(hit.text, query->stem[i])};
        for (size_t k = 0; k < sizeof found / sizeof *found; k++)
            hit.has[i] = hit.has[i] > found[k] ? hit.has[i] : found[k];
        any = any || hit.has[i] > 0;
    }
    hit.at = search->n;
    if (!any)
        return;
    HR_ASSERT(search->n < HITS); /* of some thousand places */
    search->hit[search->n++] = hit;
}

/* Its fields are looked up, and not read. */
static bool is_reference(const char *page)
{
    return !strcmp(page, "json") || !strcmp(page, "log");
}

/* A word that few places have says more than one that many have. */
static void weigh(struct search *search)
{
    double weight[WORDS] = {0};
    for (size_t w = 0; w < search->query->n; w++) {
        size_t having = 0;
        for (size_t i = 0; i < search->n; i++)
            having += search->hit[i].has[w] > 0;
        weight[w] = log2(2 + (double)search->n / (double)(1 + having));
    }
    for (size_t i = 0; i < search->n; i++) {
        struct hit *hit = &search->hit[i];
        size_t found = 0;
        for (size_t w = 0; w < search->query->n; w++) {
            hit->score += weight[w] * hit->has[w];
            found += hit->has[w] > 0;
        }
        hit->score *= 0.5 + 0.5 * (double)found / (double)search->query->n;
        hit->score *= !hit->row && is_reference(hit->page) ? 0.5 : 1;
    }
}

static struct hr_span span_of(const char *text)
{
    return (struct hr_span){text, text ? strlen(text) : 0};
}

static void consider_options(struct search *search)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        struct hit hit = {.row = row, .text = span_of(row->help)};
        if (strcmp(row->name, "help") != 0)
            consider(search, hit, span_of(row->name));
    }
}

/* What people ask, in words that a page need not have. */
static struct hr_span asked_of(const char *page)
{
    static const char *const asked[][2] = {
        {"checkpoints", "save best model load resume continue stop interrupted"},
        {"compare", "fair significant seeds which better faster"},
        {"doctor", "slow hang hung stuck deadlock waiting kill leftover"},
        {"forecast", "more workers scaling speedup scale faster"},
        {"models", "layers network architecture library c++ pretrained"},
        {"platforms", "gpu cuda macos windows wsl docker arm install"},
        {"python", "pip numpy pandas jupyter notebook dataframe sklearn install"},
        {"report", "html page chart plot picture share"},
        {"reproducibility", "deterministic repeat same result seed bitwise"},
        {"timeline", "slow profile trace bottleneck"},
        {"top", "slow progress monitor watch"},
        {"tune", "fair learning rate hyperparameter search grid"},
        {"virtual-time", "simulate many workers slow network cluster"},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (!strcmp(page, asked[i][0]))
            return span_of(asked[i][1]);
    return span_of(NULL);
}

static void consider_page(struct search *search, const char *name, const char *summary,
                          const char *body)
{
    struct hr_block block;
    struct hit hit = {.page = name, .heading = asked_of(name), .text = span_of(summary)};
    consider(search, hit, span_of(name));
    hit.heading = span_of(NULL);
    while (hr_block_next(&body, &block)) {
        if (block.kind == HR_BLOCK_HEADING)
            hit.heading = block.text;
        if (block.kind == HR_BLOCK_HEADING || block.kind == HR_BLOCK_LITERAL)
            continue;
        hit.term = block.kind == HR_BLOCK_ITEM ? block.term : (struct hr_span){0};
        hit.text = block.text;
        consider(search, hit, span_of(NULL));
    }
}

static void consider_pages(struct search *search)
{
    const char *page;
    const struct hr_command *command;
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        consider_page(search, command->name, command->summary, command->story);
    for (size_t i = 0; (page = hr_manual_page(i)) != NULL; i++) {
        HR_ASSERT(i < PAGES);
        search->title[i] = hr_manual_title(page);
        consider_page(search, search->title[i].name, search->title[i].summary,
                      search->title[i].body);
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    if (x->score < y->score || x->score > y->score)
        return x->score < y->score ? 1 : -1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* --- shown --- */

/* The sentence that has most of the words; "..." behind what is cut off. */
static void write_sentence(FILE *out, const struct query *query, struct hr_span text, size_t most)
{
    struct hr_span best = text, word;
    double least = -1;
    const char *end = text.text + text.length;
    for (const char *at = text.text; at < end;) {
        const char *stop = at;
        while (stop < end && !(*stop == '.' && stop + 2 < end && isspace((unsigned char)stop[1]) &&
                               isupper((unsigned char)stop[2])))
            stop++;
        double score = 0;
        for (size_t i = 0; i < query->n; i++)
            score += match((struct hr_span){at, (size_t)(stop - at)}, query->stem[i]);
        if (score > least) {
            least = score;
            best = (struct hr_span){at, (size_t)(stop - at)};
        }
        at = stop + 2 < end ? stop + 2 : end;
    }
    for (size_t n = 0; hr_span_word(&best, &word); n += word.length + 1) {
        if (n + word.length > most) {
            fputs(" ...", out);
            return;
        }
        fprintf(out, "%s%.*s", n ? " " : "", (int)word.length, word.text);
    }
}

static void say_commands(FILE *out, const struct hr_option *row)
{
    const struct hr_command *command;
    size_t n = 0;
    if (!hr_option_is_of(row, HR_TRAIN))
        for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
            if (hr_option_is_of(row, command->bit))
                fprintf(out, "%s%s", n++ ? ", " : " (", command->name);
    fputs(n ? ")\n" : "\n", out);
}

static void write_option(FILE *out, const struct query *query, const struct hit *hit)
{
    const struct hr_option *row = hit->row;
    fprintf(out, "--%s%s%s :: ", row->name, row->metavar ? " " : "",
            row->metavar ? row->metavar : "");
    write_sentence(out, query, hit->text, 120);
    say_commands(out, row);
}

static void write_place(FILE *out, const struct query *query, const struct hit *hit)
{
    fprintf(out, "help %s :: ", hit->page);
    if (hit->term.length)
        fprintf(out, "%.*s: ", (int)hit->term.length, hit->term.text);
    write_sentence(out, query, hit->text, 180);
    fputc('\n', out);
}

/* Of a page once. */
static bool is_new(const struct search *search, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (search->hit[k].row ? search->hit[k].row == search->hit[i].row
                               : !search->hit[i].row && search->hit[k].page &&
                                     !strcmp(search->hit[k].page, search->hit[i].page))
            return false;
    return true;
}

static void write_kind(FILE *out, const struct search *search, bool options, size_t most)
{
    size_t shown = 0;
    for (size_t i = 0; i < search->n && shown < most; i++) {
        const struct hit *hit = &search->hit[i];
        if ((hit->row != NULL) != options || hit->score < 0.4 * search->hit[0].score ||
            !is_new(search, i))
            continue;
        if (!shown++)
            fputs(options ? "## Options\n" : "\n## In the manual\n", out);
        (options ? write_option : write_place)(out, search->query, hit);
    }
}

/* Why there is nothing of one of these words; NULL: nothing is known of that. */
static const char *why_not(size_t nwords, char *const *words)
{
    for (size_t i = 0; i < nwords; i++)
        if (hr_why_not_here(words[i]))
            return hr_why_not_here(words[i]);
    return NULL;
}

bool hr_help_search(size_t nwords, char *const *words)
{
    const struct query query = query_of(nwords, words);
    const char *why = why_not(nwords, words);
    struct search *search = calloc(1, sizeof *search);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = search && query.n ? open_memstream(&text, &bytes) : NULL;
    if (out) {
        search->query = &query;
        consider_options(search);
        consider_pages(search);
        weigh(search);
        qsort(search->hit, search->n, sizeof *search->hit, by_rank);
        if (why)
            fprintf(out, "%c%s.\n\n", toupper((unsigned char)*why), why + 1);
        write_kind(out, search, true, SHOWN_OPTIONS);
        write_kind(out, search, false, SHOWN_PLACES);
        fclose(out);
    }
    const bool any = bytes > 0;
    if (any)
        hr_manual_print(stdout, text, hr_manual_width(STDOUT_FILENO));
    free(text);
    free(search);
    return any;
}
