/* The tables of options as --help and man pages show them. */
#include "options/command_line.h"

#include <string.h>

static const char *const titles[HR_SECTIONS] = {
    [HR_IN_DATA] = "Data and model",
    [HR_IN_MAKING] = "Made-up data (data make sparse)",
    [HR_IN_WORKERS] = "Workers and how they are kept in step",
    [HR_IN_TRAINING] = "Training",
    [HR_IN_GRADIENTS] = "How gradients travel",
    [HR_IN_PIPELINES] = "Pipelines",
    [HR_IN_TIME] = "Time and trouble",
    [HR_IN_UPDATES] = "Updates",
    [HR_IN_SPARSE] = "Sparse models (logistic, svm, linear, mf; strategy hogwild or locked)",
    [HR_IN_LIMITS] = "Limits",
    [HR_IN_CHECKPOINTS] = "Checkpoints",
    [HR_IN_RESULTS] = "Results",
    [HR_IN_MEASUREMENT] = "Measurement",
    [HR_IN_PAPER] = "On paper (bench links)",
    [HR_IN_LOOKING] = "At runs",
    [HR_IN_SEARCHING] = "Search among policies, in virtual time",
    [HR_IN_VERIFYING] = "What is verified",
    [HR_IN_EXPERT] = "For tests and experts",
};

/* Append; what does not fit is cut. */
static void add(char *text, size_t size, const char *before, const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", before, more);
}

/* "sgd 0.05, adagrad 0.01, adam and adamw 0.001" */
static void add_by_optimizer(char *text, size_t size, const struct hr_option *row)
{
    const struct hr_rule *rule, *next;
    for (size_t i = 0; (rule = hr_rule_at(i)) != NULL; i++) {
        char value[32];
        next = hr_rule_at(i + 1);
        add(text, size, i ? ", " : "", rule->name);
        if (next && row->by_optimizer(next) == row->by_optimizer(rule))
            continue;
        snprintf(value, sizeof value, " %g", row->by_optimizer(rule));
        add(text, size, value, "");
    }
}

/* Only train, compare and forecast have sparse models. */
static void add_sparse(char *text, size_t size, const struct hr_option *row, unsigned command)
{
    const char *said = row->sparse_said ? row->sparse_said : row->sparse_usual;
    if (said && row->models == HR_OF_ALL_MODELS && command & (HR_TRAIN | HR_COMPARE | HR_FORECAST))
        add(text, size, "; sparse models: ", said);
}

/* What it is to this command, the names that there are, and the default. */
static void describe(const struct hr_option *row, unsigned command, char *text, size_t size)
{
    const bool bench = command & HR_BENCH;
    const char *said = bench && row->bench_said ? row->bench_said
                       : row->said              ? row->said
                                                : row->usual;
    snprintf(text, size, "%s", bench && row->bench_help ? row->bench_help : row->help);
    for (size_t i = 0; row->name_at && row->name_at(i); i++)
        add(text, size, i ? ", " : "", row->name_at(i));
    if (!said && !row->by_optimizer)
        return;
    add(text, size, " [", said ? said : "");
    if (row->by_optimizer)
        add_by_optimizer(text, size, row);
    add_sparse(text, size, row, command);
    add(text, size, "]", "");
}

static void write_option(FILE *out, const struct hr_option *row, unsigned command)
{
    char text[1024];
    describe(row, command, text, sizeof text);
    fprintf(out, "--%s%s%s :: %s\n", row->name, row->metavar ? " " : "",
            row->metavar ? row->metavar : "", text);
}

size_t hr_cli_write_options(FILE *out, enum hr_command_bit command, bool all)
{
    size_t left = 0;
    for (enum hr_option_section section = 0; section < HR_SECTIONS; section++) {
        struct hr_cli_option option;
        bool any = false;
        for (size_t i = 0; (option = hr_cli_option_at(i)).row != NULL; i++) {
            if (option.section != section || !hr_option_is_of(option.row, command))
                continue;
            left += !all && !option.row->first;
            if (!all && !option.row->first)
                continue;
            if (!any)
                fprintf(out, "\n## %s\n", titles[section]);
            any = true;
            write_option(out, option.row, command);
        }
    }
    return left;
}

bool hr_cli_write_option(FILE *out, enum hr_command_bit command, const char *name)
{
    const struct hr_option *row = hr_cli_option_at(hr_cli_option_find(name, command)).row;
    if (row)
        write_option(out, row, command);
    return row != NULL;
}
