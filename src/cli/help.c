#include "cli/help.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fold.h"
#include "cli/commands.h"
#include "manual/manual.h"
#include "options/nearest.h"
#include "options/pairs.h"
#include "strategies/strategies.h"

/* --- man pages ---
 * The manual for make install: hogring(1), one page a command (1) and one a topic (7). What a
 * command's page says comes from where its --help comes from. */

/* A page is a command, a topic, or both; neither is hogring itself. */
struct man_page {
    char file[48];
    const struct hr_command *command;
    const char *topic;
};

/* The i-th page; false past the end. Topics that have a command's name stand on its page. */
static bool page_at(size_t i, struct man_page *out)
{
    size_t n = 0;
    const char *topic;
    *out = (struct man_page){.file = "hogring.1"};
    if (i == 0)
        return true;
    for (; (out->command = hr_command_at(n)) != NULL; n++) {
        if (n + 1 < i)
            continue;
        snprintf(out->file, sizeof out->file, "hogring-%s.1", out->command->name);
        out->topic = hr_manual_find(out->command->name);
        return true;
    }
    for (size_t t = 0; (topic = hr_manual_page(t)) != NULL; t++) {
        const struct hr_manual_title title = hr_manual_title(topic);
        if (hr_command_find(title.name) || ++n < i)
            continue;
        snprintf(out->file, sizeof out->file, "hogring-%s.7", title.name);
        out->topic = topic;
        return true;
    }
    return false;
}

static void print_title(FILE *out, const char *file, const char *summary)
{
    const char *dot = strchr(file, '.');
    fputs(".TH ", out);
    for (const char *c = file; c < dot; c++)
        fputc(toupper((unsigned char)*c), out);
    fprintf(out, " %s %s \"hogring %s\" \"hogring\"\n", dot + 1, HR_DATE, HR_VERSION);
    fprintf(out, ".SH NAME\n%.*s \\- %s\n", (int)(dot - file), file, summary);
}

/* The other pages. */
static void print_see_also(FILE *out, const char *file)
{
    struct man_page page;
    const char *comma = "";
    fputs(".SH SEE ALSO\n", out);
    for (size_t i = 0; page_at(i, &page); i++) {
        const char *dot = strchr(page.file, '.');
        if (!strcmp(page.file, file))
            continue;
        fprintf(out, "%s.BR %.*s (%s)", comma, (int)(dot - page.file), page.file, dot + 1);
        comma = " ,\n";
    }
    fputc('\n', out);
}

/* Text of the manual (manual.h), written by `write` and printed as man's. */
static void print_text(FILE *out, void (*write)(FILE *, const struct hr_command *),
                       const struct hr_command *command)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return;
    write(memory, command);
    fclose(memory);
    hr_manual_roff(out, text);
    free(text);
}

static void write_command(FILE *out, const struct hr_command *command)
{
    fprintf(out, "# SYNOPSIS\nhogring %s %s\n\n# DESCRIPTION\n%s", command->name, command->usage,
            command->story);
    fputs("\n# OPTIONS\n", out);
    hr_cli_write_options(out, command->bit, true);
    fprintf(out, "\n# EXAMPLES\n%s", command->examples);
}

static void write_hogring(FILE *out, const struct hr_command *none)
{
    const struct hr_command *command;
    const char *page;
    (void)none;
    fputs("# SYNOPSIS\nhogring COMMAND [OPTIONS]\n\n# DESCRIPTION\n"
          "hogring trains a neural network with data-parallel workers, on one machine or over "
          "MPI on several, and shows in numbers how synchronous and asynchronous training "
          "differ.\n\n# COMMANDS\n",
          out);
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        fprintf(out, "%s :: %s\n", command->name, command->summary);
    fputs("\n# TOPICS\n", out);
    for (size_t i = 0; (page = hr_manual_page(i)) != NULL; i++) {
        const struct hr_manual_title title = hr_manual_title(page);
        if (!hr_command_find(title.name))
            fprintf(out, "%s :: %s\n", title.name, title.summary);
    }
}

/* A page's body, with what is written from tables behind it: allocated. NULL: no memory. */
static char *man_body(const char *page)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    const struct hr_manual_title title = hr_manual_title(page);
    if (!memory)
        return NULL;
    fputs(title.body, memory);
    if (!strcmp(title.name, "combinations"))
        hr_pairs_write(memory);
    return fclose(memory) ? NULL : text;
}

static void print_man_page(FILE *out, const struct man_page *page)
{
    const struct hr_manual_title title =
        page->topic ? hr_manual_title(page->topic) : (struct hr_manual_title){0};
    print_title(out, page->file,
                page->command ? page->command->summary
                : page->topic ? title.summary
                              : "data-parallel training on one machine");
    if (!page->topic || page->command)
        print_text(out, page->command ? write_command : write_hogring, page->command);
    if (page->topic && title.body[0] != '#') /* else its text would stand in the section before */
        fprintf(out, ".SH %s\n", page->command ? "NOTES" : "DESCRIPTION");
    char *body = page->topic ? man_body(page->topic) : NULL;
    if (body)
        hr_manual_roff(out, body);
    free(body);
    print_see_also(out, page->file);
}

/* Print the source of a page named like its file ("hogring-train.1"), or, of NULL, the names of
 * all; the exit code. */
static int hr_man(const char *file)
{
    struct man_page page;
    for (size_t i = 0; page_at(i, &page); i++) {
        if (!file)
            fprintf(stdout, "%s\n", page.file);
        else if (!strcmp(file, page.file)) {
            print_man_page(stdout, &page);
            return 0;
        }
    }
    if (!file)
        return 0;
    fprintf(stderr, "hogring: %s: no such page (hogring help --man lists them)\n", file);
    return 2;
}

/* --- what bash offers behind "hogring train --lo<Tab>" ---
 * A script of its, made of the rows of options, so that a new one needs nothing here. make install
 * puts it where bash looks. */

/* bash cuts words at "=", so --loss=mse is three of them. */
static const char begin[] =
    "# Completion of hogring for bash; hogring help --completion printed it.\n"
    "_hogring() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= files=\n"
    "  COMPREPLY=()\n"
    "  if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then "
    "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "  case $prev in\n";

static const char middle[] = "  *) case ${COMP_WORDS[1]} in\n";

static const char script_end[] = "help --help --version'\n"
                                 "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                                 "  [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
                                 "}\n"
                                 "complete -o filenames -F _hogring hogring\n";

static bool takes_file(const struct hr_option *row)
{
    return strstr(row->metavar, "FILE") || strstr(row->metavar, "DIR");
}

/* What may stand behind an option: its words, its names, files, or nothing that is known. */
static void print_values(FILE *out, const struct hr_option *row)
{
    fprintf(out, "  --%s) words='", row->name);
    for (const char *c = row->words ? row->words : ""; *c; c++)
        fputc(*c == '|' ? ' ' : *c, out);
    for (size_t i = 0; row->name_at && row->name_at(i); i++)
        fprintf(out, "%s%s", i ? " " : "", row->name_at(i));
    fprintf(out, "'%s ;;\n", takes_file(row) ? " files=1" : "");
}

static void print_options(FILE *out, const struct hr_command *command)
{
    const struct hr_option *row;
    fprintf(out, "    %s) words='", command->name);
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (hr_option_is_of(row, command->bit) && !row->parameter)
            fprintf(out, "--%s ", row->name);
    /* these take no files */
    fprintf(out, "'%s ;;\n",
            command->bit & (HR_TRAIN | HR_COMPARE | HR_DOCTOR | HR_TOP) ? "" : " files=1");
}

static void print_names(FILE *out, bool pages)
{
    const struct hr_command *command;
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        fprintf(out, "%s ", command->name);
    for (size_t i = 0; pages && hr_manual_page(i); i++)
        fprintf(out, "%s ", hr_manual_title(hr_manual_page(i)).name);
}

/* Print the script; the exit code. */
static int completion_print(FILE *out)
{
    const struct hr_option *row;
    const struct hr_command *command;
    fputs(begin, out);
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (row->metavar && !row->parameter &&
            hr_cli_option_find(row->name, ~(unsigned)HR_LIBRARY) == i)
            print_values(out, row);
    fputs(middle, out);
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        print_options(out, command);
    fputs("    help) words='", out);
    print_names(out, true);
    fputs("' ;;\n", out);
    fputs("    esac ;;\n  esac\n  [ \"$COMP_CWORD\" = 1 ] && files= words='", out);
    print_names(out, false);
    fputs(script_end, out);
    return 0;
}

/* --- the options and the places of the manual that tell of some words ---
 * A word is found where a word of the text begins with it, or is another form of it ("evaluated",
 * "evaluation"); and by what other programs call an option (options/nearest.h). What has more of
 * the words stands first, then what has them in its name, its title, its text. */

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
    struct hr_text_span heading, term, text;
};

/* --- words --- */

static bool says_nothing(const char *word)
{
    static const char *const list[] = {
        "a",     "an",   "the",   "is",    "are", "it",   "its",  "to",     "of",
        "on",    "in",   "for",   "with",  "and", "or",   "do",   "does",   "how",
        "what",  "why",  "can",   "i",     "my",  "me",   "be",   "at",     "from",
        "by",    "this", "that",  "there", "not", "use",  "when", "which",  "only",
        "every", "will", "would", "so",    "get", "has",  "have", "should", "many",
        "much",  "own",  "after", "one",   "two", "some", "take", "see"};
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
        struct hr_text_span rest = {words[i], strlen(words[i])}, word;
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
static double match(struct hr_text_span text, const char *stem)
{
    const size_t length = strlen(stem);
    struct hr_text_span word;
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
static void consider(struct search *search, struct hit hit, struct hr_text_span name)
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

static struct hr_text_span span_of(const char *text)
{
    return (struct hr_text_span){text, text ? strlen(text) : 0};
}

static void consider_options(struct search *search)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        struct hit hit = {.row = row, .text = span_of(row->help)};
        if (strcmp(row->name, "help") != 0 && !row->parameter)
            consider(search, hit, span_of(row->name));
    }
}

/* What people ask, in words that a page need not have. */
static struct hr_text_span asked_of(const char *page)
{
    static const char *const asked[][2] = {
        {"checkpoints", "save best model load resume continue stop interrupted crash"},
        {"compare", "fair significant seeds which better faster models"},
        {"doctor", "slow hang hung stuck deadlock waiting kill leftover"},
        {"forecast", "more workers scaling speedup scale faster long time hours duration estimate"},
        {"machines", "run two several computers hosts nodes cluster mpi"},
        {"models", "layers network architecture library c++ pretrained load pytorch"},
        {"platforms", "gpu cuda macos windows wsl docker arm install"},
        {"python", "pip numpy pandas jupyter notebook dataframe sklearn install"},
        {"report", "html page chart plot picture share"},
        {"optimizers",
         "learning rate schedule warmup adam momentum batch size low bad accuracy nan"},
        {"reproducibility", "deterministic repeat same result seed bitwise"},
        {"start", "first begin tutorial example data"},
        {"timeline", "slow profile trace bottleneck"},
        {"text", "language model words gpt transformer"},
        {"top", "slow progress monitor watch"},
        {"tune", "fair learning rate hyperparameter search grid"},
        {"predict", "inference apply score samples"},
        {"validation", "test set split overfitting held out cross-validation"},
        {"virtual-time", "simulate slow network cluster"},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (!strcmp(page, asked[i][0]))
            return span_of(asked[i][1]);
    return span_of(NULL);
}

static void consider_page(struct search *search, const char *name, const char *summary,
                          const char *body)
{
    struct hr_page_block block;
    struct hit hit = {.page = name, .heading = asked_of(name), .text = span_of(summary)};
    consider(search, hit, span_of(name));
    hit.heading = span_of(NULL);
    while (hr_block_next(&body, &block)) {
        if (block.kind == HR_BLOCK_HEADING)
            hit.heading = block.text;
        if (block.kind == HR_BLOCK_HEADING || block.kind == HR_BLOCK_LITERAL)
            continue;
        hit.term = block.kind == HR_BLOCK_ITEM ? block.term : (struct hr_text_span){0};
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
static void write_sentence(FILE *out, const struct query *query, struct hr_text_span text,
                           size_t most)
{
    struct hr_text_span best = text, word;
    double least = -1;
    const char *end = text.text + text.length;
    for (const char *at = text.text; at < end;) {
        const char *stop = at;
        while (stop < end && !(*stop == '.' && stop + 2 < end && isspace((unsigned char)stop[1]) &&
                               isupper((unsigned char)stop[2])))
            stop++;
        double score = 0;
        for (size_t i = 0; i < query->n; i++)
            score += match((struct hr_text_span){at, (size_t)(stop - at)}, query->stem[i]);
        if (score > least) {
            least = score;
            best = (struct hr_text_span){at, (size_t)(stop - at)};
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

/* Print what there is on these words; false: nothing, and nothing was printed. */
static bool help_search(size_t nwords, char *const *words)
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
        hr_manual_print(stdout, text, hr_text_columns(STDOUT_FILENO));
    free(text);
    free(search);
    return any;
}

static void print_topics(FILE *out)
{
    const char *page;
    fputs("\ntopics:\n", out);
    for (size_t i = 0; (page = hr_manual_page(i)) != NULL; i++) {
        const struct hr_manual_title title = hr_manual_title(page);
        if (!hr_command_find(title.name)) /* with the command's help */
            fprintf(out, "  %-15s %s\n", title.name, title.summary);
    }
}

static const char about[] =
    "hogring trains a neural network with data-parallel workers, on one machine or\n"
    "over MPI on several, and shows in numbers how synchronous and asynchronous\n"
    "training differ.\n\n"
    "usage: hogring COMMAND [OPTIONS]\n\n";

/* In the 24 lines of a terminal. */
void hr_help_print(FILE *out)
{
    fputs(about, out);
    fputs("try this first:\n"
          "  hogring compare                     five strategies, built-in data, in seconds\n"
          "  hogring compare --report page.html  the same, with a page to open in a browser\n"
          "  hogring help start                  your own data, a model, a comparison\n"
          "  hogring help save the best model    options and pages that have these words\n"
          "  hogring help                        all commands, and the topics of the manual\n\n",
          out);
    char *names = NULL;
    size_t bytes;
    FILE *list = open_memstream(&names, &bytes);
    if (!list)
        return;
    fputs("commands: help ", list);
    print_names(list, false);
    fputc('\n', list);
    if (fclose(list) == 0)
        hr_fold_print(out, names, 80);
    free(names);
}

static void print_everything(FILE *out)
{
    const struct hr_command *command;
    fprintf(out, "%scommands:\n", about);
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        fprintf(out, "  %-15s %s\n", command->name, command->summary);
    fprintf(out, "  %-15s on a command, a topic or an option; searches for other words\n", "help");
    print_topics(out);
    fputs("\nexit codes: 0 done, 1 the run failed or missed an --expect, 2 wrong use, 3 files\n"
          "            or memory, 4 a worker was lost or a wait timed out, 130 and 143\n"
          "            interrupted\n",
          out);
}

void hr_help_print_command(FILE *out, const struct hr_command *command, bool all)
{
    const size_t width = hr_text_columns(STDOUT_FILENO);
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    fprintf(out, "hogring %s - %s\n\nusage: hogring %s %s\n\n", command->name, command->summary,
            command->name, command->usage);
    if (!memory)
        return;
    fputs(command->story, memory);
    const size_t left = hr_cli_write_options(memory, command->bit, all);
    fclose(memory);
    hr_manual_print(out, text, width);
    free(text);
    if (left)
        fprintf(out, "\nand %zu more: hogring help %s --all\n", left, command->name);
    fprintf(out, "\nexamples:\n%s", command->examples);
}

/* What a command's help says of an option, allocated; NULL: it has none of that name. */
static char *option_text(const struct hr_command *command, const char *name)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    const bool has = memory && hr_cli_write_option(memory, command->bit, name);
    if (memory)
        fclose(memory);
    if (!has) {
        free(text);
        return NULL;
    }
    return text;
}

/* An option, under the commands that have it; those that say the same of it stand together.
 * false: none has it. */
static bool help_with_option(const char *name)
{
    const struct hr_command *command = hr_command_at(0);
    char *last = NULL;
    for (size_t i = 0; command; command = hr_command_at(++i)) {
        char *text = option_text(command, name);
        if (!text)
            continue;
        if (last && strcmp(text, last) != 0) {
            fputs(":\n", stdout);
            hr_manual_print(stdout, last, hr_text_columns(STDOUT_FILENO));
        }
        printf("%s%s", !last ? "" : strcmp(text, last) ? "\n" : ", ", command->name);
        free(last);
        last = text;
    }
    if (!last)
        return false;
    fputs(":\n", stdout);
    hr_manual_print(stdout, last, hr_text_columns(STDOUT_FILENO));
    free(last);
    return true;
}

static void print_page(const char *page)
{
    char *text = man_body(page);
    if (text)
        hr_manual_print(stdout, text, hr_text_columns(STDOUT_FILENO));
    free(text);
}

/* A command, a page, or both: there is more to say of data than how to call the command. Or else an
 * option; false: it is none of these. */
static bool help_with(const char *name, bool all)
{
    const struct hr_command *command = hr_command_find(name);
    const char *page = hr_manual_find(name);
    if (!command && !page)
        return help_with_option(name + strspn(name, "-"));
    if (command)
        hr_help_print_command(stdout, command, all);
    if (command && page)
        fputc('\n', stdout);
    if (page)
        print_page(page);
    return true;
}

/* For programs: a line each; hogring help strategies says what its words are. */
static int list_strategies(FILE *out)
{
    const struct hr_strategy *strategy;
    for (size_t i = 0; (strategy = hr_strategy_at(i)); i++)
        fprintf(out, "%s %s %s %s\n", strategy->name,
                strategy->shares_batch ? "synchronous" : "asynchronous",
                !hr_strategy_is_served(strategy) ? "none"
                : strategy->one_shard            ? "one"
                                                 : "any",
                strategy->synchronous ? "term" : "input");
    return 0;
}

int hr_help(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[0], "strategies") && !strcmp(argv[1], "--list"))
        return list_strategies(stdout);
    if (argc > 0 && !strcmp(argv[0], "--man"))
        return hr_man(argc > 1 ? argv[1] : NULL);
    if (argc > 0 && !strcmp(argv[0], "--completion"))
        return completion_print(stdout);
    if (argc == 0) {
        print_everything(stdout);
        return 0;
    }
    const bool all = !strcmp(argv[argc - 1], "--all");
    const size_t words = (size_t)argc - all;
    if ((words == 1 && help_with(argv[0], all)) || help_search(words, argv))
        return 0;
    return hr_command_unknown(argv[0], true);
}
