#include "cli/help.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "manual/manual.h"
#include "strategies/strategies.h"

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

void hr_help_print(FILE *out)
{
    const struct hr_command *command;
    fputs("hogring trains a neural network with data-parallel workers, on one machine or\n"
          "over MPI on several, and shows in numbers how synchronous and asynchronous\n"
          "training differ.\n\n"
          "usage: hogring COMMAND [OPTIONS]\n\ncommands:\n",
          out);
    for (size_t i = 0; (command = hr_command_at(i)) != NULL; i++)
        fprintf(out, "  %-15s %s\n", command->name, command->summary);
    fprintf(out, "  %-15s on a command, a topic, an option; other words are searched\n", "help");
    print_topics(out);
    fputs("\ntry this first:\n"
          "  hogring compare                    five strategies, built-in data, in seconds\n"
          "  hogring compare --plot curves.svg  the same, with a picture\n"
          "  hogring help save the best model   options and pages that have these words\n\n"
          "exit codes: 0 done, 1 the run failed or missed an --expect, 2 wrong use, 3 files\n"
          "            or memory, 4 a worker was lost or a wait timed out, 130 and 143\n"
          "            interrupted\n",
          out);
}

void hr_help_print_command(FILE *out, const struct hr_command *command, bool all)
{
    const size_t width = hr_manual_width(STDOUT_FILENO);
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
            hr_manual_print(stdout, last, hr_manual_width(STDOUT_FILENO));
        }
        printf("%s%s", !last ? "" : strcmp(text, last) ? "\n" : ", ", command->name);
        free(last);
        last = text;
    }
    if (!last)
        return false;
    fputs(":\n", stdout);
    hr_manual_print(stdout, last, hr_manual_width(STDOUT_FILENO));
    free(last);
    return true;
}

static void print_page(const char *page)
{
    char *text = hr_man_body(page);
    if (text)
        hr_manual_print(stdout, text, hr_manual_width(STDOUT_FILENO));
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
                strategy->losses_are_inputs ? "input" : "term");
    return 0;
}

int hr_help(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[0], "strategies") && !strcmp(argv[1], "--list"))
        return list_strategies(stdout);
    if (argc > 0 && !strcmp(argv[0], "--man"))
        return hr_man(argc > 1 ? argv[1] : NULL);
    if (argc > 0 && !strcmp(argv[0], "--completion"))
        return hr_completion_print(stdout);
    if (argc == 0) {
        hr_help_print(stdout);
        return 0;
    }
    const bool all = !strcmp(argv[argc - 1], "--all");
    const size_t words = (size_t)argc - all;
    if ((words == 1 && help_with(argv[0], all)) || hr_help_search(words, argv))
        return 0;
    return hr_command_unknown(argv[0], true);
}
