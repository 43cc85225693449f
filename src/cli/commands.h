/* commands.h - the subcommands, one per file. Each parses its own arguments, prints its results and
 * returns the exit code. */
#ifndef HR_CLI_COMMANDS_H
#define HR_CLI_COMMANDS_H

#include "options/command_line.h"
#include "hogring/replay.h"

struct hr_command {
    const char *name;
    const char *summary; /* one line */
    enum hr_command_bit bit;
    const char *usage;    /* behind "hogring NAME " */
    const char *story;    /* what it does, for --help */
    const char *examples; /* lines to paste */
    /* Run with parsed options; the exit code. */
    int (*run)(struct hr_cli *cli);
};

extern const struct hr_command hr_command_train, hr_command_compare, hr_command_eval,
    hr_command_predict, hr_command_sample, hr_command_inspect, hr_command_bench, hr_command_data,
    hr_command_simulate, hr_command_replay, hr_command_doctor, hr_command_top, hr_command_report,
    hr_command_gate, hr_command_verify, hr_command_forecast;

/* The i-th of them, NULL past the end; the one of that name, NULL: there is none. */
const struct hr_command *hr_command_at(size_t i);
const struct hr_command *hr_command_find(const char *name);
/* Say that there is no such command, nor, where help is asked for, such a topic, and which is
 * nearest; the exit code. */
int hr_command_unknown(const char *name, bool or_topic);

/* One run as the options say: what train does, and simulate. The exit code. */
int hr_cli_train(struct hr_cli *cli);

/* simulate --search: which policy is first. The exit code. */
int hr_cli_search(struct hr_cli *cli);

/* Print what a data set holds, or write it as JSON (hogring data info, hogring inspect FILE). */
HR_CHECKED enum hr_status hr_cli_data_info(const struct hr_cli *cli, const char *name);

/* Does the file begin as a trace does? And print what it holds, or write it as JSON
 * (inspect_trace.c). */
bool hr_is_trace(const char *path);
HR_CHECKED enum hr_status hr_inspect_trace(const struct hr_cli *cli, const char *path);

#endif
