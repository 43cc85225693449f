#include "cli/commands.h"

#include <string.h>

#include "manual/manual.h"
#include "options/nearest.h"

static const struct hr_command *const commands[] = {
    &hr_command_train,   &hr_command_compare, &hr_command_simulate, &hr_command_eval,
    &hr_command_predict, &hr_command_sample,  &hr_command_replay,   &hr_command_inspect,
    &hr_command_data,    &hr_command_bench,   &hr_command_doctor,   &hr_command_top,
    &hr_command_report,  &hr_command_gate,    &hr_command_verify,   &hr_command_forecast,
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

int hr_command_unknown(const char *name, bool or_topic)
{
    enum { MOST = NCOMMANDS + 64 };
    struct hr_manual_title title[MOST];
    const char *names[MOST], *page;
    size_t n = 0;
    for (; n < NCOMMANDS; n++)
        names[n] = commands[n]->name;
    for (size_t i = 0; or_topic && n < MOST && (page = hr_manual_page(i)) != NULL; i++, n++) {
        title[n] = hr_manual_title(page);
        names[n] = title[n].name;
    }
    const char *near = hr_nearest(name, names, n);
    fprintf(stderr, "hogring: %s: no such command%s%s%s%s (hogring help lists them)\n", name,
            or_topic ? " or topic" : "", near ? "; did you mean " : "", near ? near : "",
            near ? "?" : "");
    return 2;
}
