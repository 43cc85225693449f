/* hogring - the command: finds the subcommand, and prints help. */
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/sparse.h"
#include "cli/topics.h"
#include "kernels/gemm.h"

static const struct hr_command *const commands[] = {
    &hr_command_train,  &hr_command_compare, &hr_command_simulate, &hr_command_eval,
    &hr_command_replay, &hr_command_inspect, &hr_command_data,     &hr_command_bench,
};

enum { NCOMMANDS = sizeof commands / sizeof *commands };

int hr_cli_failed(enum hr_status status)
{
    fprintf(stderr, "hogring: %s\n", hr_error_message());
    if (status == HR_E_INTERRUPTED && hr_signals_exit_code())
        return hr_signals_exit_code();
    return hr_status_exit_code(status);
}

static void print_help(FILE *out)
{
    fputs(
        "hogring trains a neural network with data-parallel workers on this machine, and shows in\n"
        "numbers how synchronous and asynchronous training differ.\n\n"
        "usage: hogring COMMAND [OPTIONS]\n\ncommands:\n",
        out);
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fputs("  help      this text, or that of a command or topic: hogring help compare\n\n"
          "topics:\n",
          out);
    for (size_t i = 0; hr_topic_at(i); i++)
        fprintf(out, "  %-9s %s\n", hr_topic_at(i)->name, hr_topic_at(i)->summary);
    fputs("\ntry this first:\n"
          "  hogring compare                     five strategies on built-in data, in seconds\n"
          "  hogring compare --plot curves.svg   the same, with a picture\n\n"
          "exit codes: 0 done, 1 the run failed or missed an --expect, 2 wrong use, 3 files or "
          "memory,\n"
          "            4 a worker was lost or a wait timed out, 130 and 143 interrupted\n",
          out);
}

static void print_command_help(FILE *out, const struct hr_command *command)
{
    fprintf(out, "hogring %s - %s\n\nusage: hogring %s %s\n\n%s", command->name, command->summary,
            command->name, command->usage, command->story);
    hr_cli_print_options(out, command->bit);
    fprintf(out, "\nexamples:\n%s", command->examples);
}

static const struct hr_command *find_command(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(name, commands[i]->name))
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[NCOMMANDS];
    for (size_t i = 0; i < NCOMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = hr_nearest(name, names, NCOMMANDS);
    fprintf(stderr, "hogring: %s: no such command%s%s (hogring help lists them)\n", name,
            near ? "; did you mean " : "", near ? near : "");
    return 2;
}

static int help(const char *name)
{
    const struct hr_command *command = name ? find_command(name) : NULL;
    const struct hr_topic *topic = name ? hr_topic_find(name) : NULL;
    if (name && !command && !topic)
        return unknown_command(name);
    if (topic) {
        for (const char *const *part = topic->text; *part; part++)
            fputs(*part, stdout);
    } else if (command)
        print_command_help(stdout, command);
    else
        print_help(stdout);
    return 0;
}

static int run_command(const struct hr_command *command, int argc, char **argv)
{
    static struct hr_cli cli;
    hr_cli_defaults(&cli);
    enum hr_status status = hr_cli_parse(&cli, command->bit, argc, argv);
    if (status != HR_OK)
        return hr_cli_failed(status);
    if (cli.help) {
        print_command_help(stdout, command);
        return 0;
    }
    hr_memory_limit_set(cli.max_memory);
    status = hr_outcome_check(&cli);
    if (status != HR_OK)
        return hr_cli_failed(status);
    if (hr_cli_is_sparse(&cli) && command != &hr_command_train)
        return hr_cli_failed(hr_fail(HR_E_USAGE,
                                     "--model %s: sparse models are for hogring train, on the real "
                                     "clock; hogring %s expects a network",
                                     cli.train.model, command->name));
    return command->run(&cli);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--version")) {
        printf("hogring %s (%s, vector kernels %s)\n", HR_VERSION, hr_kernels_name(),
               hr_isa_name());
        return 0;
    }
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return help(argc > 2 ? argv[2] : NULL);
    const struct hr_command *command = find_command(name);
    return command ? run_command(command, argc - 1, argv + 1) : unknown_command(name);
}

int main(int argc, char **argv)
{
    hr_signals_catch();
    hr_output_begin();
    return hr_output_end(run(argc, argv));
}
