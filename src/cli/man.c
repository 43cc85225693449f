#include "cli/help.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "manual/manual.h"
#include "options/pairs.h"

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

char *hr_man_body(const char *page)
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

static void print_page(FILE *out, const struct man_page *page)
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
    char *body = page->topic ? hr_man_body(page->topic) : NULL;
    if (body)
        hr_manual_roff(out, body);
    free(body);
    print_see_also(out, page->file);
}

int hr_man(const char *file)
{
    struct man_page page;
    for (size_t i = 0; page_at(i, &page); i++) {
        if (!file)
            fprintf(stdout, "%s\n", page.file);
        else if (!strcmp(file, page.file)) {
            print_page(stdout, &page);
            return 0;
        }
    }
    if (!file)
        return 0;
    fprintf(stderr, "hogring: %s: no such page (hogring help --man lists them)\n", file);
    return 2;
}
