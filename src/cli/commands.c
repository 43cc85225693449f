#include "cli/commands.h"

#include <string.h>

#include "options/nearest.h"

static const struct hr_command *const commands[] = {
    &hr_command_train,   &hr_command_compare, &hr_command_simulate, &hr_command_eval,
    &hr_command_predict, &hr_command_replay,  &hr_command_inspect,  &hr_command_data,
    &hr_command_bench,   &hr_command_doctor,  &hr_command_top,      &hr_command_report,
    &hr_command_gate,    &hr_command_verify,  &hr_command_forecast,
};

enum { NCOMMANDS = sizeof commands / sizeof *commands };

const struct hr_command *hr_command_at(size_t i)
{
    return i < NCOMMANDS ? commands[i] : NULL;
}

const struct hr_command *hr_command_find(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(name, commands[i]->name))
            return commands[i];
    return NULL;
}

int hr_command_unknown(const char *name)
{
    const char *names[NCOMMANDS];
    for (size_t i = 0; i < NCOMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = hr_nearest(name, names, NCOMMANDS);
    fprintf(stderr, "hogring: %s: no such command%s%s (hogring help lists them)\n", name,
            near ? "; did you mean " : "", near ? near : "");
    return 2;
}
